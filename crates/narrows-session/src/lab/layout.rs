//! What can be built: a cell is one layout with one encryption and one file system.

use std::fmt;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// How devices are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// The first device alone.
    Single,
    /// md striping.
    Raid0,
    /// md mirroring on all devices.
    Raid1,
    /// md striped mirrors; on two or three devices mirrors that share the requests of one stream.
    Raid10,
    /// md striping with one parity.
    Raid5,
    /// One logical volume over one device after the other.
    LvmLinear,
    /// One logical volume in stripes over all devices.
    LvmStriped,
    /// A ZFS pool striped over all devices, where ZFS is installed.
    ZfsStripe,
    /// A ZFS pool that mirrors all devices, where ZFS is installed.
    ZfsMirror,
}

/// How blocks are encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Encryption {
    /// Not at all.
    Plain,
    /// LUKS2 as cryptsetup makes it.
    Luks2,
    /// LUKS2 with sectors of 4096 bytes and without work queues for reads and writes.
    Luks2Tuned,
    /// VeraCrypt's way of data: dm-crypt, aes-xts-plain64, sectors of 512 bytes.
    #[value(name = "veracrypt")]
    VeraCrypt,
}

/// What is made on top.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileSystem {
    /// Nothing: the block device itself is measured.
    None,
    /// ext4.
    Ext4,
    /// XFS.
    Xfs,
    /// btrfs.
    Btrfs,
}

/// One thing to build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cell {
    /// How devices are put together.
    pub layout: Layout,
    /// How blocks are encrypted.
    pub encryption: Encryption,
    /// What is made on top.
    pub file_system: FileSystem,
}

impl Layout {
    /// What people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Raid0 => "RAID-0",
            Self::Raid1 => "RAID-1",
            Self::Raid10 => "RAID-10",
            Self::Raid5 => "RAID-5",
            Self::LvmLinear => "LVM linear",
            Self::LvmStriped => "LVM striped",
            Self::ZfsStripe => "ZFS stripe",
            Self::ZfsMirror => "ZFS mirror",
        }
    }

    /// The fewest devices that make one (md(4); lvmraid(7)).
    pub const fn fewest(self) -> usize {
        match self {
            Self::Single => 1,
            Self::Raid5 => 3,
            _ => 2,
        }
    }

    /// How many devices may fail, whichever they are, of `devices`.
    pub const fn survives(self, devices: usize) -> usize {
        match self {
            Self::Raid1 | Self::ZfsMirror => devices.saturating_sub(1),
            Self::Raid10 | Self::Raid5 => 1,
            _ => 0,
        }
    }
}

impl Encryption {
    /// What people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Luks2 => "LUKS2",
            Self::Luks2Tuned => "LUKS2 tuned",
            Self::VeraCrypt => "VeraCrypt",
        }
    }
}

impl FileSystem {
    /// What people call it; nothing for no file system.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Ext4 => "ext4",
            Self::Xfs => "XFS",
            Self::Btrfs => "btrfs",
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.layout.name(), self.encryption.name())?;
        if self.file_system == FileSystem::None { Ok(()) } else { write!(f, " {}", self.file_system.name()) }
    }
}
