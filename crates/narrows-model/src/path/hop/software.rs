//! Hops of the software stack: what the laws of queues, arrays, encryption, caches, volumes and file systems need to know
//! of them.

use narrows_base::fact::Fact;
use narrows_base::units::Bytes;
use narrows_machine::block::{CryptTable, MdArray, Queue};

/// A request queue.
#[derive(Debug, Clone, Default)]
pub struct QueueHop {
    /// The kernel's name of the block device.
    pub block: String,
    /// How it is set.
    pub queue: Queue,
}

/// RAID levels that md knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RaidLevel {
    /// Striping.
    Raid0,
    /// Mirroring.
    Raid1,
    /// Striped mirrors.
    Raid10,
    /// One parity.
    Raid5,
    /// Two parities.
    Raid6,
    /// One after another.
    Linear,
}

/// A RAID array.
#[derive(Debug, Clone, Default)]
pub struct RaidHop {
    /// The kernel's name of the array.
    pub block: String,
    /// The level; `None` for one that narrows does not know.
    pub level: Option<RaidLevel>,
    /// The members, by kernel name, in order.
    pub members: Vec<String>,
    /// All that md says.
    pub md: MdArray,
}

/// How the devices of a ZFS pool or virtual device share its data (zpoolconcepts(7)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ZfsLayout {
    /// Not known.
    #[default]
    Unknown,
    /// Over all of them, as a pool does with its virtual devices.
    Stripe,
    /// Each holds all of it.
    Mirror,
    /// With so many parities in each record.
    RaidZ {
        /// 1 to 3.
        parity: u32,
    },
    /// With so many parities for so many data in each group, groups being spread over all devices.
    Draid {
        /// 1 to 3.
        parity: u32,
        /// Data devices of a group.
        data: u32,
    },
}

/// A ZFS pool, or one of its virtual devices that has devices of its own.
#[derive(Debug, Clone, Default)]
pub struct ZfsHop {
    /// The pool.
    pub pool: String,
    /// The virtual device, `mirror-0`; `None` for the pool itself.
    pub vdev: Option<String>,
    /// How its devices share its data.
    pub layout: ZfsLayout,
    /// What it lies on: virtual devices of a pool, devices of a virtual device.
    pub members: Vec<String>,
    /// `ONLINE`, `DEGRADED`…
    pub state: Fact<String>,
}

/// An encrypted mapping.
#[derive(Debug, Clone, Default)]
pub struct CryptHop {
    /// The kernel's name of the mapping.
    pub block: String,
    /// Its name below `/dev/mapper`.
    pub mapping: Fact<String>,
    /// Its table.
    pub table: Fact<CryptTable>,
    /// The measured rate of the cipher on one core.
    pub cipher: Fact<narrows_machine::cipher::CipherRate>,
    /// The number of cores that may share the work.
    pub cores: u32,
}

/// A bcache device.
#[derive(Debug, Clone, Default)]
pub struct CacheHop {
    /// The kernel's name of the device.
    pub block: String,
    /// All that bcache says.
    pub bcache: narrows_machine::block::Bcache,
}

/// How a logical volume lies on its devices.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum VolumeLayout {
    /// A range of one device, or of one device after another.
    #[default]
    Linear,
    /// Striped over several devices in chunks.
    Striped {
        /// The chunk.
        chunk: Bytes,
    },
    /// Several paths to one device.
    Multipath,
    /// Something else, by its target name.
    Other(String),
}

/// A logical volume or another mapping that moves no bytes itself.
#[derive(Debug, Clone, Default)]
pub struct VolumeHop {
    /// The kernel's name of the mapping.
    pub block: String,
    /// Its name below `/dev/mapper`.
    pub mapping: Fact<String>,
    /// How it lies on its devices.
    pub layout: VolumeLayout,
    /// The devices, by kernel name.
    pub members: Vec<String>,
}

/// A file system.
#[derive(Debug, Clone, Default)]
pub struct FilesystemHop {
    /// `ext4`, `xfs`, `btrfs`, `zfs`, `nfs4`, `tmpfs`…
    pub fstype: String,
    /// Where it is mounted.
    pub point: String,
    /// Mount options.
    pub options: Vec<String>,
}
