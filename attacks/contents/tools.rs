//! Kinds that the real tools make.

use super::{Kind, Make};

const fn tool(name: &'static str, words: &'static [&'static str], script: &'static str) -> Kind {
    Kind { name, words, make: Make::Tool(script) }
}

/// A small tree, packed by a tool into `$1.packed`, and laid into `$1`.
macro_rules! packed {
    ($command:literal) => {
        concat!(
            "mkdir -p $1.d; head -c 3000000 /dev/urandom >$1.d/x; { ",
            $command,
            "; } >/dev/null 2>&1; dd if=$1.packed of=$1 conv=notrunc bs=1M status=none; rm -rf $1.d $1.packed"
        )
    };
}

/// All of them.
pub(super) const KINDS: &[Kind] = &[
    tool("ext2", &["ext2", "ext4"], "mkfs.ext2 -q -F $1"),
    tool("ext3", &["ext3", "ext4"], "mkfs.ext3 -q -F $1"),
    tool("ext4", &["ext4"], "mkfs.ext4 -q -F $1"),
    tool("xfs", &["xfs"], "mkfs.xfs -q -f $1"),
    tool("btrfs", &["btrfs"], "mkfs.btrfs -q -f $1"),
    tool("f2fs", &["f2fs"], "mkfs.f2fs -q -f $1"),
    tool("ntfs", &["ntfs"], "mkfs.ntfs -q -F -Q $1 2>/dev/null"),
    tool(
        "fat12",
        &["fat"],
        "truncate -s 8M $1.fat; mkfs.fat -F 12 $1.fat >/dev/null; dd if=$1.fat of=$1 conv=notrunc bs=1M status=none; rm $1.fat",
    ),
    tool("fat16", &["fat"], "mkfs.fat -F 16 $1 >/dev/null"),
    tool("fat32", &["fat"], "mkfs.fat -F 32 $1 >/dev/null"),
    tool("exfat", &["exfat"], "mkfs.exfat $1 >/dev/null"),
    tool("nilfs2", &["nilfs", "holds data at"], "mkfs.nilfs2 -q -f $1"),
    tool("minix", &["minix", "holds data at"], "mkfs.minix -3 $1 >/dev/null"),
    tool("udf", &["udf"], "mkudffs --new-file=no $1 >/dev/null 2>&1 || mkudffs $1 >/dev/null"),
    tool("squashfs", &["squashfs"], packed!("mksquashfs $1.d $1.packed -quiet -no-progress")),
    tool("erofs", &["erofs"], packed!("mkfs.erofs $1.packed $1.d")),
    tool("cramfs", &["cramfs"], packed!("mkfs.cramfs $1.d $1.packed")),
    tool(
        "luks1",
        &["luks"],
        "printf k | cryptsetup -q luksFormat --type luks1 --pbkdf-force-iterations 1000 $1 -",
    ),
    tool(
        "luks2",
        &["luks"],
        "printf k | cryptsetup -q luksFormat --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 $1 -",
    ),
    tool(
        "luks2 without its first header",
        &["luks", "data"],
        "printf k | cryptsetup -q luksFormat --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 $1 -; \
         dd if=/dev/zero of=$1 bs=4096 count=1 conv=notrunc status=none",
    ),
    tool("bcache", &["bcache"], "make-bcache -B $1 >/dev/null"),
    tool("bcache cache", &["bcache"], "make-bcache -C $1 >/dev/null"),
    tool("swap", &["swap"], "mkswap $1 >/dev/null"),
    tool(
        "mbr",
        &["partition table", "mbr", "holds data at"],
        "printf ',64M,\\n,,\\n' | sfdisk -q --label dos $1",
    ),
    tool(
        "gpt",
        &["gpt", "partition table", "holds data at"],
        "printf ',64M,\\n,,\\n' | sfdisk -q --label gpt $1",
    ),
    tool(
        "dm-verity",
        &["verity"],
        "dd if=/dev/urandom of=$1.v bs=1M count=8 status=none; veritysetup format $1.v $1.h >/dev/null; dd if=$1.h of=$1 conv=notrunc bs=1M status=none; rm -f $1.h $1.v",
    ),
    tool(
        "tar",
        &["tar", "data"],
        "mkdir $1.d; head -c 9000000 /dev/urandom >$1.d/x; tar -cf $1.t -C $1.d .; dd if=$1.t of=$1 conv=notrunc bs=1M status=none; rm -rf $1.d $1.t",
    ),
    tool(
        "gzip",
        &["gzip", "data"],
        "head -c 9000000 /dev/urandom | gzip -1 | dd of=$1 conv=notrunc bs=1M status=none",
    ),
];
