//! A step makes one thing. What makes it and what takes it away again are command lines, and nothing else.
//!
//! The command lines are pure functions of the step and of [`Names`], in which nothing stands that a user typed but the
//! directory of the scratch files; that is made absolute, so no tool takes it for an option.

use serde::{Deserialize, Serialize};

use super::call::Call;
use super::command::{
    array, destroy_pool, detach, file_system, group, header, mapping, mount_type, physical, pool, pool_nodes,
    remove_mapping, remove_pool_nodes, stop_array, true_crypt_header, true_crypt_mapping, volume, zero, zvol,
};
use super::layout::{Encryption, FileSystem};
use super::names::{Names, argument, node};
use super::slice::{Extent, PARTITION};

/// What another thing is made on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum On {
    /// The named device with this index.
    Device(usize),
    /// The md array.
    Array,
    /// The logical volume.
    Volume,
    /// The encrypted mapping.
    Mapping,
    /// The target that takes no time.
    Zero,
    /// The ZFS volume.
    Zvol,
}

/// How md puts devices together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Striping.
    Raid0,
    /// Mirroring.
    Raid1,
    /// Striped mirrors.
    Raid10,
    /// Striping with one parity.
    Raid5,
}

/// One thing that is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "thing")]
pub enum Step {
    /// The directory of the scratch files.
    Directory,
    /// A scratch file.
    File {
        /// Its place among the devices.
        index: usize,
        /// Its size in bytes.
        bytes: u64,
    },
    /// The loop device over a scratch file.
    Loop {
        /// Its place among the devices.
        index: usize,
    },
    /// The slice of a device, a partition that is written nowhere, and another of the rest.
    Slice {
        /// Its place among the devices.
        index: usize,
        /// The part of the device.
        extent: Extent,
    },
    /// Nothing, but the slice is discarded.
    Discard {
        /// Its place among the devices.
        index: usize,
    },
    /// Nothing, but the slice is written between its ends.
    Load {
        /// Its place among the devices.
        index: usize,
    },
    /// An md array of all devices.
    Array {
        /// How.
        level: Level,
    },
    /// A physical volume of LVM.
    Physical {
        /// The device's place.
        index: usize,
    },
    /// The volume group of all devices.
    Group,
    /// The logical volume.
    Volume {
        /// Whether it is striped over all devices, or has one after the other.
        striped: bool,
    },
    /// A target of the device mapper that stands on nothing, reads as zeros and forgets what is written.
    Zero {
        /// Its size in sectors of 512 bytes.
        sectors: u64,
    },
    /// Nodes of the devices, for the pool.
    PoolNodes,
    /// The ZFS pool of all devices.
    Pool {
        /// Whether it mirrors; else it is striped.
        mirror: bool,
    },
    /// The volume in the pool.
    Zvol {
        /// Its size in bytes.
        bytes: u64,
    },
    /// The header of an encrypted container.
    Header {
        /// Where.
        on: On,
        /// Which.
        encryption: Encryption,
    },
    /// The mapping that encrypts.
    Mapping {
        /// On what.
        on: On,
        /// How.
        encryption: Encryption,
    },
    /// The header of a TrueCrypt volume, which tcplay writes at the beginning and, as a backup, near the end.
    TrueCryptHeader {
        /// Where.
        on: On,
    },
    /// The mapping of a TrueCrypt volume, which encrypts.
    TrueCryptMapping {
        /// On what.
        on: On,
    },
    /// A file system.
    FileSystem {
        /// On what.
        on: On,
        /// Which.
        kind: FileSystem,
    },
    /// The directory that a file system is mounted on.
    MountPoint,
    /// The mount.
    Mount {
        /// Of what.
        on: On,
        /// Which file system.
        kind: FileSystem,
    },
}

impl On {
    /// The node by which tools are told of it.
    pub fn node(self, names: &Names) -> String {
        match self {
            Self::Device(index) => names.device(index),
            Self::Array => format!("/dev/{}", names.array),
            Self::Volume => format!("/dev/mapper/{}", names.mapped_volume()),
            Self::Mapping => format!("/dev/mapper/{}", names.mapping()),
            Self::Zero => format!("/dev/mapper/{}", names.zero()),
            Self::Zvol => node(names.zvol.as_deref().unwrap_or("zd0")),
        }
    }
}

impl Step {
    /// The command lines that make it.
    pub fn build(&self, names: &Names) -> Vec<Call> {
        match *self {
            Self::Directory => {
                vec![Call::new("mkdir", ["-m", "700", "--", &argument(names.scratch_directory().as_deref())])]
            }
            Self::File { index, bytes } => {
                let file = argument(names.scratch_file(index).as_deref());
                vec![Call::new("fallocate", ["-l", &bytes.to_string(), "--", &file])]
            }
            Self::Loop { index } => {
                let file = argument(names.scratch_file(index).as_deref());
                vec![Call::new("losetup", ["--find", "--direct-io=on", "--", &file])]
            }
            Self::Discard { index } => vec![Call::new("blkdiscard", ["--", &names.device(index)])],
            // Not by a tool: `Slices` makes it while it holds the device.
            Self::Slice { .. } | Self::Load { .. } => Vec::new(),
            Self::Array { level } => vec![array(level, names)],
            Self::Physical { index } => vec![physical(index, names)],
            Self::Group => vec![group(names)],
            Self::Volume { striped } => vec![volume(striped, names)],
            Self::Zero { sectors } => vec![zero(sectors, names)],
            Self::Header { on, encryption } => vec![header(on, encryption, names)],
            Self::Mapping { on, encryption } => vec![mapping(on, encryption, names)],
            Self::PoolNodes => pool_nodes(names),
            Self::Pool { mirror } => vec![pool(mirror, names)],
            Self::Zvol { bytes } => vec![zvol(bytes, names)],
            Self::TrueCryptHeader { on } => vec![true_crypt_header(on, names)],
            Self::TrueCryptMapping { on } => vec![true_crypt_mapping(on, names)],
            Self::FileSystem { on, kind } => vec![file_system(on, kind, names)],
            Self::MountPoint => vec![Call::new("mkdir", ["-m", "700", "--", &names.mount_point()])],
            Self::Mount { on, kind } => {
                let options = "nosuid,nodev,noexec";
                let (kind, device) = (mount_type(kind), on.node(names));
                vec![Call::new("mount", ["-t", kind, "-o", options, "--", &device, &names.mount_point()])]
            }
        }
    }

    /// The command lines that take it away. What was only written onto a device or file goes when that is cleared.
    pub fn undo(&self, names: &Names) -> Vec<Call> {
        match *self {
            Self::Directory => {
                vec![Call::new("rmdir", ["--", &argument(names.scratch_directory().as_deref())])]
            }
            Self::File { index, .. } => {
                vec![Call::new("rm", ["-f", "--", &argument(names.scratch_file(index).as_deref())])]
            }
            Self::Loop { index } => vec![detach(&names.disk(index))],
            Self::Array { .. } => vec![stop_array(&names.array)],
            Self::Volume { .. } => vec![remove_mapping(&names.mapped_volume())],
            Self::Zero { .. } => vec![remove_mapping(&names.zero())],
            Self::Mapping { .. } | Self::TrueCryptMapping { .. } => {
                vec![remove_mapping(&names.mapping())]
            }
            Self::PoolNodes => remove_pool_nodes(names),
            Self::Pool { .. } => vec![destroy_pool(names)],
            Self::MountPoint => vec![Call::new("rmdir", ["--", &names.mount_point()])],
            Self::Mount { .. } => vec![Call::new("umount", ["--", &names.mount_point()])],
            Self::Slice { .. }
            | Self::Discard { .. }
            | Self::Load { .. }
            | Self::Physical { .. }
            | Self::Group
            | Self::Header { .. }
            | Self::TrueCryptHeader { .. }
            | Self::Zvol { .. }
            | Self::FileSystem { .. } => Vec::new(),
        }
    }

    /// The programs that making it and taking it away need.
    pub fn programs(&self, names: &Names) -> Vec<&'static str> {
        self.build(names).into_iter().chain(self.undo(names)).map(|call| call.program).collect()
    }

    /// Whether it is made once for all cells and not anew for each.
    pub const fn is_ground(&self) -> bool {
        matches!(self, Self::Directory | Self::File { .. } | Self::Loop { .. } | Self::Slice { .. })
    }

    /// The slices that making it writes to: that of one device, or `None` for all of them. No slice where it stands on something
    /// else that was made.
    pub const fn touches(&self) -> Option<Option<usize>> {
        match *self {
            Self::Array { .. } | Self::Group | Self::PoolNodes | Self::Pool { .. } => Some(None),
            Self::Physical { index } | Self::Discard { index } => Some(Some(index)),
            Self::Header { on: On::Device(index), .. }
            | Self::Mapping { on: On::Device(index), .. }
            | Self::TrueCryptHeader { on: On::Device(index) }
            | Self::TrueCryptMapping { on: On::Device(index) }
            | Self::FileSystem { on: On::Device(index), .. }
            | Self::Mount { on: On::Device(index), .. } => Some(Some(index)),
            _ => None,
        }
    }

    /// What else is done to make it, by no tool, in the words of one: for those who want to know every command.
    pub fn shown(&self, names: &Names) -> Option<Call> {
        let Self::Slice { index, extent } = *self else { return None };
        let sectors = [extent.start, extent.bytes].map(|bytes| (bytes / 512).to_string());
        let [start, length] = sectors;
        Some(Call::new("addpart", [names.disk(index), PARTITION.to_string(), start, length]))
    }

    /// The same for what takes it away.
    pub fn undo_shown(&self, names: &Names) -> Option<Call> {
        let Self::Slice { index, .. } = *self else { return None };
        Some(Call::new("delpart", [names.disk(index), PARTITION.to_string()]))
    }
}

#[cfg(test)]
#[path = "step_tests.rs"]
mod tests;
