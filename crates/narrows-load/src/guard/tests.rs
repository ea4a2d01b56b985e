//! Tests of the scan and of the decision, on sparse files. Headers are made by hand from the descriptions of the
//! formats, with arithmetic of their own rather than the table's.

use std::io;
use std::os::unix::fs::FileExt;

use proptest::prelude::*;

use super::scan::EDGE;
use super::signatures::formats;
use super::*;
use narrows_base::units::Bytes;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// A sparse file that is read as a medium.
struct Image {
    file: tempfile::NamedTempFile,
    size: u64,
}

impl Image {
    fn blank(size: u64) -> Self {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        file.as_file().set_len(size).expect("a sparse file");
        Self { file, size }
    }

    fn with(size: u64, pieces: &[(u64, Vec<u8>)]) -> Self {
        let image = Self::blank(size);
        for (offset, bytes) in pieces {
            image.file.as_file().write_all_at(bytes, *offset).expect("room");
        }
        image
    }

    fn examine(&self) -> Examined {
        examine("image", self)
    }

    fn names(&self) -> Vec<&'static str> {
        self.examine().signatures.iter().map(|signature| signature.name).collect()
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.size as usize];
        self.file.as_file().read_exact_at(&mut bytes, 0).expect("is readable");
        bytes
    }
}

impl Medium for Image {
    fn size(&self) -> Bytes {
        Bytes::new(self.size)
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        assert_eq!(offset % (64 * KIB), 0, "direct I/O needs aligned reads");
        self.file.as_file().read_exact_at(into, offset)
    }
}

/// Memory that is zero but for a few pieces, of any size.
struct Sparse {
    size: u64,
    pieces: Vec<(u64, Vec<u8>)>,
}

impl Medium for Sparse {
    fn size(&self) -> Bytes {
        Bytes::new(self.size)
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        assert!(offset + into.len() as u64 <= self.size, "reads past the end");
        let end = offset + into.len() as u64;
        let here =
            |(at, bytes): &&(u64, Vec<u8>)| *at < end && at.saturating_add(bytes.len() as u64) > offset;
        for (at, bytes) in self.pieces.iter().filter(here) {
            for (position, byte) in (*at..).zip(bytes) {
                if let Some(place) = position.checked_sub(offset).and_then(|n| into.get_mut(n as usize)) {
                    *place = *byte;
                }
            }
        }
        Ok(())
    }
}

/// Size of most images: larger than two ends, and no multiple of 64 KiB or 4 KiB, so that rounding matters.
const SIZE: u64 = 17 * MIB + 3 * 512;

fn le32(value: u32) -> Vec<u8> {
    value.to_le_bytes().to_vec()
}

fn be32(value: u32) -> Vec<u8> {
    value.to_be_bytes().to_vec()
}

/// A kind of content: its name, the name that the scan gives, and the bytes that a device of `SIZE` bytes holds.
type Kind = (&'static str, &'static str, Vec<(u64, Vec<u8>)>);

fn file_systems() -> Vec<Kind> {
    vec![
        ("ext4", "ext2, ext3 or ext4", vec![(1024 + 0x38, vec![0x53, 0xEF])]),
        (
            "ext4 group 1, 1 KiB",
            "a backup superblock of ext2, ext3 or ext4",
            vec![(8193 * 1024 + 0x38, vec![0x53, 0xEF])],
        ),
        ("xfs", "XFS", vec![(0, be32(0x5846_5342))]),
        ("xfs log", "XFS external log", vec![(0, be32(0xFEED_BABE))]),
        ("btrfs", "btrfs", vec![(0x10000 + 0x40, 0x4D5F_5366_5248_425F_u64.to_le_bytes().to_vec())]),
        ("f2fs", "F2FS", vec![(1024, le32(0xF2F5_2010))]),
        ("f2fs copy", "F2FS", vec![(4096 + 1024, le32(0xF2F5_2010))]),
        ("jfs", "JFS", vec![(32768, b"JFS1".to_vec())]),
        ("jfs log", "JFS external log", vec![(4096, le32(0x8765_4321))]),
        ("reiserfs", "ReiserFS", vec![(65536 + 52, b"ReIsEr2Fs".to_vec())]),
        ("nilfs2", "NILFS2", vec![(1024 + 6, vec![0x34, 0x34])]),
        ("nilfs2 copy", "NILFS2", vec![((((SIZE >> 12) - 1) << 12) + 6, vec![0x34, 0x34])]),
        ("gfs2", "GFS2", vec![(128 * 512, be32(0x0116_1970))]),
        ("ocfs2", "OCFS2", vec![(2 * 4096, b"OCFSV2".to_vec())]),
        ("ntfs", "NTFS", vec![(3, b"NTFS    ".to_vec())]),
        ("ntfs copy", "NTFS", vec![(SIZE - 512 + 3, b"NTFS    ".to_vec())]),
        ("exfat", "exFAT", vec![(3, b"EXFAT   ".to_vec())]),
        ("exfat copy", "exFAT", vec![(12 * 512 + 3, b"EXFAT   ".to_vec())]),
        ("fat16", "FAT", vec![(0x36, b"FAT16   ".to_vec())]),
        ("fat32", "FAT", vec![(0x52, b"FAT32   ".to_vec())]),
        ("squashfs", "squashfs", vec![(0, le32(0x7371_7368))]),
        ("erofs", "EROFS", vec![(1024, le32(0xE0F5_E1E2))]),
        ("cramfs", "cramfs", vec![(0, le32(0x28CD_3D45))]),
        ("iso9660", "ISO 9660", vec![(16 * 2048, b"\x01CD001\x01".to_vec())]),
        ("udf", "UDF", vec![(17 * 2048, b"\0NSR03\x01".to_vec())]),
        ("ufs1", "UFS1", vec![(8192 + 1372, le32(0x0001_1954))]),
        ("ufs2", "UFS2", vec![(65536 + 1372, le32(0x1954_0119))]),
        ("apfs", "APFS container", vec![(32, b"NXSB".to_vec())]),
        ("hfs+", "HFS or HFS+", vec![(1024, b"H+".to_vec())]),
        ("hfs+ copy", "HFS or HFS+", vec![(SIZE - 1024, b"H+".to_vec())]),
        ("minix 3", "Minix", vec![(1024 + 24, vec![0x5A, 0x4D])]),
        ("hpfs", "HPFS", vec![(16 * 512, le32(0xF995_E849))]),
        ("befs", "BeFS", vec![(512 + 32, le32(0x4246_5331))]),
        ("vxfs", "VxFS", vec![(1024, le32(0xA501_FCF5))]),
        ("vmfs", "VMFS", vec![(0x10_0000, le32(0xC001_D00D))]),
        ("vmfs data", "VMFS file system", vec![(0x20_0000, le32(0x2FAB_F15E))]),
    ]
}

fn stacked() -> Vec<Kind> {
    let sectors = SIZE / 512;
    let label = |start: u64| vec![(start + 128 * KIB + 4 * KIB, 0x00BA_B10C_u64.to_le_bytes().to_vec())];
    let rounded = SIZE / (256 * KIB) * (256 * KIB);
    vec![
        ("swap, 4 KiB pages", "swap space", vec![(4096 - 10, b"SWAPSPACE2".to_vec())]),
        ("swap, 64 KiB pages", "swap space", vec![(65536 - 10, b"SWAPSPACE2".to_vec())]),
        ("hibernation", "suspended system", vec![(4096 - 10, b"S1SUSPEND\0".to_vec())]),
        ("mbr", "MBR partition table or boot sector", vec![(0x1FE, vec![0x55, 0xAA])]),
        ("protective mbr", "protective MBR", vec![(0x1BE + 4, vec![0xEE]), (0x1FE, vec![0x55, 0xAA])]),
        ("gpt", "GPT", vec![(512, b"EFI PART".to_vec())]),
        ("gpt, 4 KiB sectors", "GPT", vec![(4096, b"EFI PART".to_vec())]),
        ("backup gpt", "backup GPT", vec![((sectors - 1) * 512, b"EFI PART".to_vec())]),
        ("apm", "Apple partition map", vec![(512, b"PM\0\0".to_vec())]),
        ("bsd", "BSD disklabel", vec![(512, le32(0x8256_4557))]),
        ("sun", "Sun disk label", vec![(508, vec![0xDA, 0xBE])]),
        ("sgi", "SGI disk label", vec![(0, be32(0x0BE5_A941))]),
        ("ldm", "Windows dynamic disk", vec![(6 * 512, b"PRIVHEAD".to_vec())]),
        ("md 0.90", "Linux md 0.90", vec![((SIZE / 65536 - 1) * 65536, le32(0xA92B_4EFC))]),
        ("md 1.0", "Linux md 1.0", vec![(((sectors - 16) & !7) * 512, le32(0xA92B_4EFC))]),
        ("md 1.1", "Linux md 1.1", vec![(0, le32(0xA92B_4EFC))]),
        ("md 1.2", "Linux md 1.2", vec![(8 * 512, le32(0xA92B_4EFC))]),
        ("ddf", "DDF RAID", vec![((sectors - 1) * 512, be32(0xDE11_DE11))]),
        ("imsm", "Intel Matrix RAID", vec![((sectors - 2) * 512, b"Intel Raid ISM Cfg Sig. ".to_vec())]),
        (
            "promise",
            "Promise FastTrak RAID",
            vec![((sectors - 63) * 512, b"Promise Technology, Inc.".to_vec())],
        ),
        ("nvidia", "NVIDIA RAID", vec![((sectors - 2) * 512, b"NVIDIA  ".to_vec())]),
        ("jmicron", "JMicron RAID", vec![((sectors - 1) * 512, b"JM".to_vec())]),
        ("lsi", "LSI MegaRAID software", vec![((sectors - 1) * 512, b"$XIDE$".to_vec())]),
        ("highpoint", "HighPoint RAID", vec![(9 * 512 + 32, le32(0x5A78_16F0))]),
        ("lvm2, sector 1", "LVM2 physical volume", vec![(512, b"LABELONE".to_vec())]),
        ("lvm2, sector 3", "LVM2 physical volume", vec![(3 * 512, b"LABELONE".to_vec())]),
        ("zfs label 0", "ZFS uberblock", label(0)),
        ("zfs label 1", "ZFS uberblock", label(256 * KIB)),
        ("zfs label 2", "ZFS uberblock", label(rounded - 512 * KIB)),
        ("zfs label 3", "ZFS uberblock", label(rounded - 256 * KIB)),
        (
            "zfs name-value list",
            "ZFS label",
            vec![(128 * KIB - 40, 0x0210_DA7A_B10C_7A11_u64.to_le_bytes().to_vec())],
        ),
        ("drbd 8", "DRBD", vec![(SIZE / 4096 * 4096 - 4096 + 60, be32(0x8374_026B))]),
        ("drbd 9", "DRBD", vec![(SIZE / 4096 * 4096 - 4096 + 60, be32(0x8374_026D))]),
        ("bluestore", "Ceph BlueStore", vec![(0, b"bluestore block device\n".to_vec())]),
        ("stratis", "Stratis", vec![(512 + 4, b"!Stra0tis\x86\xff\x02^\x41rh".to_vec())]),
        ("vdo", "VDO", vec![(0, b"dmvdo001".to_vec())]),
        (
            "bcache",
            "bcache",
            vec![
                (8 * 512 + 24, 0xCA45_1A4E_F673_85C6_u64.to_le_bytes().to_vec()),
                (4096 + 32, vec![0x82, 0x65, 0xF5, 0x7F, 0x48, 0xBA, 0x6D, 0x81]),
            ],
        ),
        ("luks", "LUKS", vec![(0, b"LUKS\xba\xbe\0\x02".to_vec())]),
        ("luks2 copy", "secondary header of LUKS2", vec![(0x4000, b"SKUL\xba\xbe".to_vec())]),
        ("luks2 copy, 4 MiB", "secondary header of LUKS2", vec![(0x40_0000, b"SKUL\xba\xbe".to_vec())]),
        ("bitlocker", "BitLocker", vec![(3, b"-FVE-FS-".to_vec())]),
        ("verity", "dm-verity", vec![(0, b"verity\0\0".to_vec())]),
        ("integrity", "dm-integrity", vec![(0, b"integrt\0".to_vec())]),
    ]
}

#[test]
fn every_kind_of_content_is_named_and_not_a_byte_changes() {
    let kinds = [file_systems(), stacked()].concat();
    assert!(kinds.len() >= 35, "only {} kinds", kinds.len());
    for (kind, name, pieces) in kinds {
        let image = Image::with(SIZE, &pieces);
        let before = image.bytes();
        assert!(image.names().contains(&name), "{kind}: found {:?}", image.names());
        assert!(before == image.bytes(), "{kind}: the image changed");
    }
}

#[test]
fn copies_far_inside_are_found_when_both_ends_were_wiped() {
    for (kind, offset, bytes) in [
        ("btrfs", (64 << 20) + 64, b"_BHRfS_M".to_vec()),
        ("btrfs", (256 << 30) + 64, b"_BHRfS_M".to_vec()),
        ("a backup superblock of ext2, ext3 or ext4", 32768 * 4096 + 56, vec![0x53, 0xEF]),
        ("a backup superblock of ext2, ext3 or ext4", 9 * 32768 * 4096 + 56, vec![0x53, 0xEF]),
        ("a backup superblock of ext2, ext3 or ext4", 16384 * 2048 + 56, vec![0x53, 0xEF]),
        ("Ceph BlueStore", 1000 << 30, b"bluestore block device\n".to_vec()),
    ] {
        let size = 1001 << 30;
        let found = examine("image", &Sparse { size, pieces: vec![(offset, bytes)] }).signatures;
        assert_eq!(found.iter().map(|found| found.name).collect::<Vec<_>>(), [kind], "{offset}");
        assert_eq!(found[0].offsets, [Bytes::new(offset)]);
    }
}

#[test]
fn every_entry_of_the_table_is_found_at_each_of_its_places() {
    let size = 1001 << 30;
    for (_, format) in formats() {
        assert!(format.source.len() > 10, "{} has no source", format.name);
        for offset in format.places.iter().flat_map(|place| place.offsets(size)) {
            for magic in format.magics {
                let medium = Sparse { size, pieces: vec![(offset, magic.to_vec())] };
                let found = examine("image", &medium).signatures;
                let hit = found.iter().find(|found| found.name == format.name);
                assert!(
                    hit.is_some_and(|hit| hit.offsets.contains(&Bytes::new(offset))),
                    "{} at {offset}",
                    format.name
                );
            }
        }
    }
}

#[test]
fn a_blank_device_holds_nothing_whatever_its_size() {
    for size in [0, 1, 511, 512, 4096, 65_535, MIB - 1, MIB, MIB + 1, 2 * MIB, SIZE, u64::MAX] {
        let found = examine("image", &Sparse { size: size.min(1 << 50), pieces: Vec::new() });
        assert_eq!(
            found,
            Examined { device: "image".to_owned(), signatures: Vec::new(), looks: None, unreadable: None },
            "{size}"
        );
    }
}

#[test]
fn data_outside_of_both_ends_and_of_every_known_place_is_no_reason() {
    let medium = Sparse { size: SIZE, pieces: vec![(MIB + 100, vec![7; 100]), (SIZE - MIB - 1, vec![7])] };
    assert_eq!(examine("image", &medium).signatures, []);
}

#[test]
fn what_cannot_be_read_is_said() {
    struct Broken;
    impl Medium for Broken {
        fn size(&self) -> Bytes {
            Bytes::from_mib(64)
        }
        fn read(&self, offset: u64, _: &mut [u8]) -> io::Result<()> {
            if offset >= 63 * MIB { Err(io::Error::from_raw_os_error(5)) } else { Ok(()) }
        }
    }
    let unreadable = examine("sdb", &Broken).unreadable.expect("the end cannot be read");
    assert!(unreadable.contains("Input/output error"), "{unreadable}");
}

/// Usage that nothing speaks against, of the image.
fn unused(image: &Image) -> (Device, Usage, Vec<Examined>) {
    let usage = Usage {
        device: "image".to_owned(),
        number: Some((259, 7)),
        size: Some(image.size()),
        read_only: Some(false),
        identity: Some(Identity { what: "serial number", text: "S3RIAL".to_owned() }),
        family: vec!["image".to_owned()],
        ..Usage::default()
    };
    (Device::pretend(image.file.path(), (259, 7)), usage, vec![image.examine()])
}

/// The codes of the reasons after `change` made something speak against a blank device.
fn refused(change: impl FnOnce(&mut Usage, &mut Vec<Examined>)) -> Vec<&'static str> {
    let image = Image::blank(SIZE);
    let (device, mut usage, mut examined) = unused(&image);
    change(&mut usage, &mut examined);
    let refusal = decide(device, &usage, &examined, Some("S3RIAL")).expect_err("something speaks against it");
    assert!(refusal.reasons.iter().all(|reason| !reason.hint().is_empty()));
    refusal.reasons.iter().map(Reason::code).collect()
}

#[test]
fn a_blank_unused_device_that_was_named_is_permitted() {
    let image = Image::blank(SIZE);
    let (device, usage, examined) = unused(&image);
    decide(device, &usage, &examined, Some("S3RIAL")).expect("nothing speaks against it");
}

#[test]
fn each_thing_that_speaks_against_it_refuses_alone() {
    let used = |kind| Use { device: "image".to_owned(), kind, by: "x".to_owned() };
    for kind in [
        UseKind::Mount,
        UseKind::Swap,
        UseKind::Holder,
        UseKind::Component,
        UseKind::Partitioned,
        UseKind::PartitionOf,
        UseKind::OpenFile,
        UseKind::Loop,
        UseKind::Mapped,
        UseKind::Registered,
        UseKind::Exported,
        UseKind::FileSystem,
        UseKind::Kernel,
        UseKind::Locked,
        UseKind::Path,
        UseKind::Suspended,
        UseKind::Traffic,
    ] {
        assert_eq!(refused(|usage, _| usage.uses.push(used(kind))), ["in_use"], "{kind:?}");
    }
    assert_eq!(refused(|usage, _| usage.read_only = Some(true)), ["read_only"]);
    assert_eq!(refused(|usage, _| usage.read_only = None), ["unseen"]);
    assert_eq!(refused(|usage, _| usage.unseen.push("open files".to_owned())), ["unseen"]);
    assert_eq!(refused(|usage, _| usage.family.push("image1".to_owned())), ["unseen"]);
    assert_eq!(refused(|_, examined| examined.clear()), ["unseen"]);
    assert_eq!(refused(|usage, _| usage.number = Some((259, 8))), ["changed"]);
    assert_eq!(refused(|usage, _| usage.number = None), ["changed"]);
    assert_eq!(refused(|usage, _| usage.size = None), ["changed"]);
    assert_eq!(refused(|usage, _| usage.identity = None), ["no_identity"]);
    assert_eq!(refused(|_, examined| examined[0].unreadable = Some("EIO".to_owned())), ["unreadable"]);
    let blank_name = Identity { what: "serial number", text: " ".to_owned() };
    assert_eq!(refused(|usage, _| usage.identity = Some(blank_name)), ["no_identity"]);
}

#[test]
fn the_serial_number_must_be_typed_exactly() {
    for typed in [None, Some(""), Some("s3rial"), Some("S3RIAL "), Some("S3RIA")] {
        let image = Image::blank(SIZE);
        let (device, usage, examined) = unused(&image);
        let refusal = decide(device, &usage, &examined, typed).expect_err("is not the serial number");
        let code = if typed.is_none() { "not_named" } else { "other_named" };
        assert_eq!(refusal.reasons.iter().map(Reason::code).collect::<Vec<_>>(), [code]);
        assert!(!refusal.to_string().contains("`S3RIAL`"), "what must be typed is not given away");
    }
}

#[test]
fn a_refusal_lists_every_reason() {
    let image = Image::with(SIZE, &[(1080, vec![0x53, 0xEF]), (4086, b"SWAPSPACE2".to_vec())]);
    let (device, mut usage, examined) = unused(&image);
    usage.uses.push(Use { device: "image1".to_owned(), kind: UseKind::Mount, by: "/srv".to_owned() });
    let text = decide(device, &usage, &examined, None).expect_err("is occupied").to_string();
    for part in [
        "ext4",
        "at byte 1080",
        "swap space",
        "4086",
        "image1 is mounted on /srv",
        "serial number was not typed",
    ] {
        assert!(text.contains(part), "{part} is not in: {text}");
    }
}

#[test]
fn a_device_smaller_than_an_end_is_refused() {
    let image = Image::blank(EDGE.get() - 512);
    let (device, usage, examined) = unused(&image);
    let refusal = decide(device, &usage, &examined, Some("S3RIAL")).expect_err("is too small");
    assert_eq!(refusal.reasons, [Reason::TooSmall { size: image.size() }]);
}

#[test]
fn a_permit_does_not_open_what_is_no_block_device() {
    let image = Image::blank(SIZE);
    let (device, usage, examined) = unused(&image);
    let permit = decide(device, &usage, &examined, Some("S3RIAL")).expect("nothing speaks against it");
    let region = Region { start: EDGE, length: EDGE };
    let opened = open_for_writing(permit, region, &mut |_| std::ops::ControlFlow::Continue(()));
    assert!(matches!(opened, Err(WriteError::Open(_))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn one_byte_anywhere_in_the_first_or_last_mib_refuses(
        size in 2 * MIB..40 * MIB,
        at in 0..MIB,
        from_end: bool,
        byte in 1_u8..,
    ) {
        let offset = if from_end { size - 1 - at } else { at };
        let found = examine("image", &Sparse { size, pieces: vec![(offset, vec![byte])] }).signatures;
        let data = found.iter().find(|found| found.class == Class::Data);
        prop_assert_eq!(data.map(|data| data.offsets.clone()), Some(vec![Bytes::new(offset)]));
    }

    #[test]
    fn no_contents_and_no_size_panic(
        size in 0_u64..1 << 50,
        pieces in proptest::collection::vec((any::<u64>(), proptest::collection::vec(any::<u8>(), 0..64)), 0..8),
    ) {
        let pieces = pieces.into_iter().map(|(at, bytes)| (at % size.max(1), bytes)).collect();
        for found in examine("image", &Sparse { size, pieces }).signatures {
            prop_assert!(found.offsets.iter().all(|offset| offset.get() < size));
            prop_assert!(!found.offsets.is_empty());
        }
    }
}
