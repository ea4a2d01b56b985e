//! What a file system carries, and what a file or block server makes of a network.

use super::Ceilings;
use crate::path::FilesystemHop;
use narrows_base::units::BytesPerSec;

// What a file system carries.
//
// ext4 and XFS stay within 2 to 5 % of their device with direct I/O, so they are no hop of their own for the rate. File
// systems that live in memory, compress, or run in user space have no ceiling that can be known from outside.

/// The ceilings of a file system.
pub fn of_filesystem(hop: &FilesystemHop) -> Ceilings {
    match hop.fstype.as_str() {
        "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs" => {
            Ceilings::unknown(format!("{} is memory; copying costs processor time only", hop.fstype))
        }
        "zfs" => Ceilings::unknown("ZFS caches and may compress: its bytes are not those of its devices"),
        kind if is_remote(kind) => Ceilings::transparent("the network and the server decide"),
        kind if kind.starts_with("fuse") => {
            Ceilings::unknown(format!("{kind} runs in user space; its program decides"))
        }
        kind if compresses(hop) => {
            Ceilings::unknown(format!("{kind} compresses here: its bytes are not those of its devices"))
        }
        kind => Ceilings::transparent(format!("{kind} passes direct I/O on; it costs a few percent")),
    }
}

fn is_remote(kind: &str) -> bool {
    kind.starts_with("nfs")
        || ["cifs", "smb3", "ceph", "9p", "virtiofs", "lustre", "glusterfs"].contains(&kind)
}

fn compresses(hop: &FilesystemHop) -> bool {
    hop.options.iter().any(|option| option.starts_with("compress") && !option.ends_with("=no"))
}

// What a file or block server makes of a network for large writes.
//
// A write waits for what a read need not: its acknowledgement, the round trip of an R2T, the page cache or the log of the
// server. No key of a description tells these, so this is no model but what was published, over what the network carries
// (`fabric.rs`): 0.44 and 0.63 (iSCSI), 0.67 and 0.85 (SMB) at 10 Gbit/s (github.com/XtremeOwnage/Web), 0.48
// (xtremeownage.com), 0.87 over iSCSI at 1 Gbit/s (sobrelinux.info 672647), 0.93 over SMB (github.com/dperson/samba, issue 70)
// and 0.42 over NFS to a board (github.com/armbian/build, pull 6368). `SERVED_WRITE_SHARE` is their middle; each lies between 0.65
// and 1.5 of it. Valid up to 10 Gbit/s and for writes that are not flushed one by one: above, 0.07 and 0.38 were published.

/// The share of a network that a server writes.
pub const SERVED_WRITE_SHARE: f64 = 0.65;

/// What is written over a `network` that carries so much.
pub fn written_by_server(network: BytesPerSec) -> BytesPerSec {
    network * SERVED_WRITE_SHARE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ceiling::Ceiling;

    fn hop(fstype: &str, options: &[&str]) -> FilesystemHop {
        FilesystemHop {
            fstype: fstype.to_owned(),
            options: options.iter().map(|option| (*option).to_owned()).collect(),
            ..FilesystemHop::default()
        }
    }

    #[test]
    fn disk_file_systems_pass_and_memory_or_compressing_ones_are_unknown() {
        for (fstype, options, passes) in [
            ("ext4", &["rw"][..], true),
            ("xfs", &[][..], true),
            ("btrfs", &["ssd"][..], true),
            ("btrfs", &["compress=zstd:3"][..], false),
            ("nfs4", &[][..], true),
            ("tmpfs", &[][..], false),
            ("zfs", &[][..], false),
            ("fuse.sshfs", &[][..], false),
        ] {
            let ceiling = of_filesystem(&hop(fstype, options)).read;
            assert_eq!(matches!(ceiling, Ceiling::Transparent(_)), passes, "{fstype} {options:?}");
        }
    }

    /// MB/s over 1177 at 10 Gbit/s, and over 117.7 at 1 Gbit/s.
    #[test]
    fn what_was_published_lies_around_the_middle_and_no_more_than_a_half_off() {
        let published = [
            (523.0, 1177.0),
            (742.0, 1177.0),
            (793.0, 1177.0),
            (998.0, 1177.0),
            (570.0, 1177.0),
            (102.0, 117.7),
            (110.0, 117.7),
            (49.5, 117.7),
        ];
        let off = published
            .map(|(got, network)| got / written_by_server(BytesPerSec::from_mb(network)).get() * 1e6);
        assert!(off.iter().all(|off| (0.6..1.5).contains(off)), "{off:?}");
        assert_eq!(off.iter().filter(|off| **off > 1.0).count(), 4, "{off:?}");
    }
}
