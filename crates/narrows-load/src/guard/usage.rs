//! Who uses a device, as the machine tells it. Plain data: whoever knows the machine fills it in.

use narrows_base::units::Bytes;

/// Everything that is known of a device and of what uses it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usage {
    /// The kernel name: `sdb`.
    pub device: String,
    /// Major and minor number; `None` when it is not known.
    pub number: Option<(u32, u32)>,
    /// The size, as the kernel reports it beside the device; `None` when it is not known.
    pub size: Option<Bytes>,
    /// Whether the kernel refuses writes; `None` when it is not known.
    pub read_only: Option<bool>,
    /// What the user must type to show that this is the device that is meant.
    pub identity: Option<Identity>,
    /// The device itself, its partitions, what is built on it, and what it is built on: each must be
    /// [examined](super::examine).
    pub family: Vec<String>,
    /// Who uses any of these.
    pub uses: Vec<Use>,
    /// What could not be looked at, as phrases: `the open files of 12 processes: needs root`.
    pub unseen: Vec<String>,
}

/// What tells a device from all others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// What it is: `serial number`, `backing file`.
    pub what: &'static str,
    /// The text itself.
    pub text: String,
}

/// One use of a device.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Use {
    /// The device that is used: the one asked about, or one that belongs to it.
    pub device: String,
    /// How it is used.
    pub kind: UseKind,
    /// By what: a mount point, a process, another device.
    pub by: String,
}

/// How a device is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum UseKind {
    /// A file system on it is mounted.
    Mount,
    /// The kernel swaps to it.
    Swap,
    /// Another device is built on it.
    Holder,
    /// It is built on another device.
    Component,
    /// It is divided into partitions.
    Partitioned,
    /// It is a partition of a disk.
    PartitionOf,
    /// A process has it open.
    OpenFile,
    /// A loop device reads and writes it.
    Loop,
    /// A process has it mapped.
    Mapped,
    /// A process has it registered with io_uring.
    Registered,
    /// The kernel exports it.
    Exported,
    /// The kernel has it open for a file system, mounted in sight or not.
    FileSystem,
    /// Another part of the kernel uses it.
    Kernel,
    /// A process has a lock on it.
    Locked,
    /// Another device has the same worldwide name.
    Path,
    /// It is a mapping that is suspended: whoever reads it waits.
    Suspended,
    /// Somebody reads or writes it.
    Traffic,
}

impl Usage {
    /// Whether all of the family can be read: whoever reads a suspended mapping waits until it is resumed.
    pub fn is_readable(&self) -> bool {
        !self.uses.iter().any(|used| used.kind == UseKind::Suspended)
    }

    /// Whether something may be over in a moment: udev, and tools that search for a free device, open each that is new and
    /// close it at once.
    pub fn may_pass(&self) -> bool {
        let passes = [UseKind::OpenFile, UseKind::Mapped, UseKind::Registered, UseKind::Locked];
        self.uses.iter().any(|used| passes.contains(&used.kind)) || !self.unseen.is_empty()
    }
}

impl UseKind {
    /// A sentence without its subject, which ends with what uses the device: `is mounted on`.
    pub const fn verb(self) -> &'static str {
        match self {
            Self::Mount => "is mounted on",
            Self::Swap => "is swap space:",
            Self::Holder => "is part of",
            Self::Component => "is built on",
            Self::Partitioned => "has the partition",
            Self::PartitionOf => "is a partition of",
            Self::OpenFile => "is open in",
            Self::Loop => "backs",
            Self::Mapped => "is mapped into memory by",
            Self::Registered => "is registered with io_uring by",
            Self::Exported => "is exported by",
            Self::FileSystem => "carries a file system that the kernel has open:",
            Self::Kernel => "is used by",
            Self::Locked => "is locked by",
            Self::Path => "has the same worldwide name as",
            Self::Suspended => "is suspended:",
            Self::Traffic => "is in use:",
        }
    }

    /// Whether it lasts until somebody ends it. A process that was killed, udev, and the kernel after the last of either let
    /// go by themselves.
    pub(super) const fn stays(self) -> bool {
        match self {
            Self::Swap
            | Self::Component
            | Self::Partitioned
            | Self::PartitionOf
            | Self::Exported
            | Self::Path
            | Self::Suspended => true,
            Self::Mount
            | Self::Holder
            | Self::OpenFile
            | Self::Loop
            | Self::Mapped
            | Self::Registered
            | Self::FileSystem
            | Self::Kernel
            | Self::Locked
            | Self::Traffic => false,
        }
    }

    /// What to do about it.
    pub(super) const fn hint(self) -> &'static str {
        match self {
            Self::Mount => "if it is not needed there: `umount` it",
            Self::Swap => "if the memory suffices without it: `swapoff` it",
            Self::Holder => {
                "stop what is built on it (mdadm --stop, vgchange -an, cryptsetup close, dmsetup remove)"
            }
            Self::Component => {
                "name a disk; narrows does not write to arrays and mappings that it did not build"
            }
            Self::Partitioned | Self::PartitionOf => "name a whole disk without partitions",
            Self::OpenFile => "end that process; `fuser -v` shows what has the device open",
            Self::Loop => "detach it with `losetup -d`",
            Self::Mapped | Self::Registered | Self::Locked => "end that process, or what it runs",
            Self::Exported => {
                "end the export (configfs below /sys/kernel/config; `nvmetcli`, `targetcli`, `exportfs -u`)"
            }
            Self::FileSystem => {
                "it is mounted out of sight (a container, `umount -l`); end what uses it, then `umount` it there"
            }
            Self::Kernel => "take it away from that use first (`zramctl --reset`, or the module's parameter)",
            Self::Path => "two paths to one drive: name the multipath device, or detach the other path",
            Self::Suspended => "resume it (`dmsetup resume`), then start again",
            Self::Traffic => "look who does that (`fatrace`, `iotop`, `blktrace`), and end it",
        }
    }
}
