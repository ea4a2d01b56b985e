//! What lies on drives: arrays, encryption, caches, volumes, file systems.

use super::Name;
use crate::path::RaidLevel;
use narrows_base::units::{Bytes, BytesPerSec};

/// Who makes an array, and how it is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RaidKind {
    /// md, or an adapter that does the same.
    Md(RaidLevel),
    /// Mirrors and stripes of ZFS. Each top-level vdev is an array of its own and a pool stripes over them.
    Zfs {
        /// The level that it spreads its traffic as.
        level: RaidLevel,
        /// Drives' worth of parity.
        parity: u8,
    },
}

impl RaidKind {
    /// The level by which traffic is spread.
    pub const fn level(self) -> RaidLevel {
        match self {
            Self::Md(level) | Self::Zfs { level, .. } => level,
        }
    }
}

/// An array.
#[derive(Debug, Clone, PartialEq)]
pub struct Raid {
    /// Its level.
    pub kind: RaidKind,
    /// Its members, in order.
    pub members: Vec<Name>,
    /// The chunk.
    pub chunk: Option<Bytes>,
    /// Copies of each chunk in RAID-10; 2 when nobody said.
    pub copies: Option<u32>,
    /// What a running resync takes of each member.
    pub resync: Option<BytesPerSec>,
    /// Stripe threads of a parity array (`group_thread_cnt`).
    pub stripe_threads: Option<u32>,
}

/// An encrypted mapping.
#[derive(Debug, Clone, PartialEq)]
pub struct Crypt {
    /// What it lies on.
    pub on: Name,
    /// The cipher in the kernel's notation, `aes-xts-plain64`.
    pub cipher: Option<String>,
    /// The key in bits.
    pub key_bits: Option<u32>,
    /// What one core decrypts; the host's when `None`.
    pub decrypt: Option<BytesPerSec>,
    /// What one core encrypts; the host's when `None`.
    pub encrypt: Option<BytesPerSec>,
    /// Cores that may share the work; the host's when `None`.
    pub cores: Option<u32>,
    /// The encryption sector.
    pub sector_size: Option<Bytes>,
    /// Whether requests go through the kernel's workqueues (`true` unless `no_read_workqueue` and
    /// `no_write_workqueue` are set).
    pub workqueues: bool,
}

/// A cache (bcache, dm-cache) before something slower.
#[derive(Debug, Clone, PartialEq)]
pub struct Cache {
    /// The fast device.
    pub cache: Name,
    /// The slow one.
    pub backing: Name,
    /// The share of reads that find their data in the cache, 0 to 1.
    pub hit: f64,
    /// Whether writes end in the cache.
    pub writeback: bool,
}

/// How a volume lies on its devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VolumeKind {
    /// One device, or one after another.
    #[default]
    Linear,
    /// Striped in chunks.
    Striped {
        /// The chunk.
        chunk: Bytes,
    },
}

/// A logical volume.
#[derive(Debug, Clone, PartialEq)]
pub struct Volume {
    /// How it lies on its devices.
    pub kind: VolumeKind,
    /// The devices.
    pub members: Vec<Name>,
}

/// A file system.
#[derive(Debug, Clone, PartialEq)]
pub struct Filesystem {
    /// `ext4`, `xfs`, `zfs`…
    pub kind: String,
    /// What it lies on.
    pub members: Vec<Name>,
    /// Mount options.
    pub options: Vec<String>,
    /// What it carries at best by itself, where that was measured.
    pub rate: Option<BytesPerSec>,
    /// ZFS: the size of its records (`recordsize`, of volumes `volblocksize`).
    pub recordsize: Option<Bytes>,
    /// ZFS: bytes before compression for each after it (`compressratio`), at least 1.
    pub compression: Option<f64>,
    /// ZFS: how much of its files the ARC may hold (`zfs_arc_max`).
    pub arc: Option<Bytes>,
}
