//! What a file system carries.
//!
//! ext4 and XFS stay within 2 to 5 % of their device with direct I/O, so they are no hop of their own for the rate. File
//! systems that live in memory, compress, or run in user space have no ceiling that can be known from outside.

use super::Ceilings;
use crate::path::FilesystemHop;

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
}
