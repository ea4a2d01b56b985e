//! One hop of a path: who it is, what its law needs to know of it, and how much traffic crosses it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use narrows_base::fact::Fact;
use narrows_base::units::{BitsPerSec, Bytes, BytesPerSec};
use narrows_machine::block::{CryptTable, MdArray, Queue};
use narrows_machine::pci::{End, Ends, Express, LinkEnd, PciAddress, PciId};

/// A hop's identity within a machine, stable between runs: `link:0000:02:00.0`, `device:nvme0n1`, `raid:md0`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct HopId(String);

impl HopId {
    /// The id of a hop of `kind` that is named `name`.
    pub fn new(kind: HopKind, name: impl fmt::Display) -> Self {
        Self(format!("{}:{name}", kind.as_str()))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HopId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The kinds of hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HopKind {
    /// The program that reads and writes.
    Application,
    /// Main memory, where every byte arrives.
    Memory,
    /// A processor that works on the bytes.
    Cpu,
    /// The connection between processor sockets (UPI, QPI, xGMI).
    Socket,
    /// The uplink of the chipset (DMI, or the chipset's PCIe link on AMD).
    Chipset,
    /// A PCIe switch.
    Switch,
    /// A PCIe link.
    Link,
    /// A USB connection.
    Usb,
    /// A SATA link.
    Sata,
    /// A SAS link or wide port.
    Sas,
    /// A storage adapter between the bus and its disks.
    Hba,
    /// An NVMe controller, virtual adapter, or similar.
    Controller,
    /// The medium itself.
    Device,
    /// The kernel's request queue of a device.
    BlockQueue,
    /// A software RAID array.
    Raid,
    /// Encryption.
    Crypt,
    /// A cache device in front of a slower one.
    Cache,
    /// A logical volume or other mapping.
    LogicalVolume,
    /// A file system.
    Filesystem,
    /// A network interface and the wire behind it.
    Network,
    /// A server at the far end of a network.
    Remote,
    /// The load generator itself.
    Generator,
}

impl HopKind {
    /// The kind as it stands in hop ids and in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Application => "application",
            Self::Memory => "memory",
            Self::Cpu => "cpu",
            Self::Socket => "socket",
            Self::Chipset => "chipset",
            Self::Switch => "switch",
            Self::Link => "link",
            Self::Usb => "usb",
            Self::Sata => "sata",
            Self::Sas => "sas",
            Self::Hba => "hba",
            Self::Controller => "controller",
            Self::Device => "device",
            Self::BlockQueue => "block_queue",
            Self::Raid => "raid",
            Self::Crypt => "crypt",
            Self::Cache => "cache",
            Self::LogicalVolume => "logical_volume",
            Self::Filesystem => "filesystem",
            Self::Network => "network",
            Self::Remote => "remote",
            Self::Generator => "generator",
        }
    }

    /// The kind that is written so in hop ids and in JSON.
    pub fn from_word(word: &str) -> Option<Self> {
        use serde::de::IntoDeserializer;
        let text: serde::de::value::StrDeserializer<'_, serde::de::value::Error> = word.into_deserializer();
        Self::deserialize(text).ok()
    }
}

/// Bytes that cross a hop for one byte that the application moves.
///
/// A member of an n-way RAID-0 has 1/n; each member of a mirror has 1/n for reads (when streams are spread) and 1 for
/// writes; the uplink that both members of a two-way mirror share has 1 for reads and 2 for writes. Where each byte takes one of several
/// ways and it cannot be said which (a linear volume over two drives, a cache and what it caches), each way has all of the
/// traffic, since it may have to carry it, and what the ways share has no more than that.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Traffic {
    /// Bytes read across the hop per byte that the application reads.
    pub read: f64,
    /// Bytes written across the hop per byte that the application writes.
    pub write: f64,
}

impl Traffic {
    /// Every byte crosses the hop once.
    pub const ONE: Self = Self { read: 1.0, write: 1.0 };

    /// Nothing crosses the hop.
    pub const NONE: Self = Self { read: 0.0, write: 0.0 };

    /// The same traffic in both directions.
    pub const fn both(fraction: f64) -> Self {
        Self { read: fraction, write: fraction }
    }

    /// The traffic of a hop that gets `fraction` of what crosses this one.
    #[must_use]
    pub fn times(self, fraction: Self) -> Self {
        Self { read: self.read * fraction.read, write: self.write * fraction.write }
    }

    /// The traffic of a hop where this and `other` come together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { read: self.read + other.read, write: self.write + other.write }
    }
}

/// One hop.
#[derive(Debug, Clone)]
pub struct Hop {
    /// Its identity.
    pub id: HopId,
    /// Its name for a person: `PCIe 2.0 x1 link of 0000:02:00.0, slot PCIEX16_2`.
    pub name: String,
    /// What its law needs to know.
    pub spec: HopSpec,
    /// How much of the application's traffic crosses it.
    pub traffic: Traffic,
    /// The part of its traffic that crosses it in the other direction than the application's: what a server sends is
    /// read by the application and written to the server's network card.
    pub against: Traffic,
    /// How far it is indented in the tree: members of an array are one deeper than the array.
    pub depth: usize,
    /// The hop next to it towards the application; `None` for the application.
    pub above: Option<HopId>,
    /// The hops next to it away from the application, where its data comes from: several where data is spread, one where
    /// branches meet again, none for main memory.
    pub below: Vec<HopId>,
    /// Other targets of this machine whose data crosses it too.
    pub shared_with: Vec<String>,
}

impl Hop {
    /// Its kind.
    pub const fn kind(&self) -> HopKind {
        self.spec.kind()
    }

    /// The kernel name of the block device that it is, if it is one (its counters are in `/proc/diskstats`).
    pub fn block_name(&self) -> Option<&str> {
        match &self.spec {
            HopSpec::Device(device) => Some(&device.block),
            HopSpec::BlockQueue(queue) => Some(&queue.block),
            HopSpec::Raid(raid) => Some(&raid.block),
            HopSpec::Crypt(crypt) => Some(&crypt.block),
            HopSpec::Cache(cache) => Some(&cache.block),
            HopSpec::Volume(volume) => Some(&volume.block),
            _ => None,
        }
    }
}

/// What a hop is, with all that its law and the verdict rules need.
#[derive(Debug, Clone)]
pub enum HopSpec {
    /// The application.
    Application,
    /// Main memory, and how much there is.
    Memory(Fact<Bytes>),
    /// The connection between two sockets.
    Socket(Box<SocketHop>),
    /// The chipset's uplink.
    Chipset(UplinkHop),
    /// A PCIe switch; its links are hops of their own.
    Switch(UplinkHop),
    /// A PCIe link.
    Link(Box<LinkHop>),
    /// A USB connection.
    Usb(narrows_machine::block::Usb),
    /// A SATA link.
    Sata(narrows_machine::block::Sata),
    /// A SAS port.
    Sas(narrows_machine::block::Sas),
    /// A storage adapter.
    Hba(ControllerHop),
    /// A controller.
    Controller(ControllerHop),
    /// A medium.
    Device(DeviceHop),
    /// A request queue.
    BlockQueue(Box<QueueHop>),
    /// A RAID array.
    Raid(Box<RaidHop>),
    /// A ZFS pool, or a mirror or RAID-Z of it.
    Zfs(Box<ZfsHop>),
    /// An encrypted mapping.
    Crypt(Box<CryptHop>),
    /// A bcache device.
    Cache(Box<CacheHop>),
    /// A logical volume.
    Volume(VolumeHop),
    /// A file system.
    Filesystem(FilesystemHop),
    /// A network interface.
    Network(NetworkHop),
    /// A server.
    Remote(narrows_machine::block::Remote),
    /// A hop of a described system whose rate is given.
    Given(GivenHop),
}

impl HopSpec {
    /// The kind of hop that this describes.
    pub const fn kind(&self) -> HopKind {
        match self {
            Self::Given(given) => given.kind,
            Self::Application => HopKind::Application,
            Self::Memory(_) => HopKind::Memory,
            Self::Socket(_) => HopKind::Socket,
            Self::Chipset(_) => HopKind::Chipset,
            Self::Switch(_) => HopKind::Switch,
            Self::Link(_) => HopKind::Link,
            Self::Usb(_) => HopKind::Usb,
            Self::Sata(_) => HopKind::Sata,
            Self::Sas(_) => HopKind::Sas,
            Self::Hba(_) => HopKind::Hba,
            Self::Controller(_) => HopKind::Controller,
            Self::Device(_) => HopKind::Device,
            Self::BlockQueue(_) => HopKind::BlockQueue,
            Self::Raid(_) | Self::Zfs(_) => HopKind::Raid,
            Self::Crypt(_) => HopKind::Crypt,
            Self::Cache(_) => HopKind::Cache,
            Self::Volume(_) => HopKind::LogicalVolume,
            Self::Filesystem(_) => HopKind::Filesystem,
            Self::Network(_) => HopKind::Network,
            Self::Remote(_) => HopKind::Remote,
        }
    }
}

/// One end of a PCIe link: the function there and its view of the link.
#[derive(Debug, Clone, Default)]
pub struct LinkPort {
    /// The function at this end.
    pub address: PciAddress,
    /// Who it is.
    pub id: Fact<PciId>,
    /// Its class.
    pub class: Fact<u32>,
    /// What it says of the link.
    pub link: LinkEnd,
    /// Its PCI Express capability.
    pub express: Fact<Express>,
    /// Its power state.
    pub power_state: Fact<String>,
    /// Its error counts.
    pub aer: Fact<narrows_machine::pci::Aer>,
    /// Whether a hypervisor made it up, so that what it says of the link is not of the hardware.
    pub is_virtual: bool,
}

impl LinkPort {
    /// What it says of the link, from whichever source tells.
    pub const fn end(&self) -> End<'_> {
        End::new(&self.link, &self.express)
    }
}

/// A PCIe link with both its ends.
#[derive(Debug, Clone, Default)]
pub struct LinkHop {
    /// The end away from the processor: a device, or the upstream port of a switch.
    pub device: LinkPort,
    /// The end towards the processor: a root port, or the downstream port of a switch. `None` when the kernel shows
    /// none (a device on a root bus, as in virtual machines).
    pub port: Option<LinkPort>,
    /// The slot's name: from `/sys/bus/pci/slots`, SMBIOS or the board's data.
    pub slot: Option<String>,
    /// The board's data for this slot, as a place in [`narrows_base::catalog::Board::slots`].
    pub board_slot: Option<narrows_base::catalog::BoardSlot>,
    /// Why the numbers of this link say nothing about its rate (a tunnel through Thunderbolt, a port inside the chip).
    pub not_a_wire: Option<String>,
    /// What the device end is a part of, where its class does not tell.
    pub part: super::LinkPart,
}

impl LinkHop {
    /// The end towards the processor, where what it says is true.
    pub fn true_port(&self) -> Option<&LinkPort> {
        self.port.as_ref().filter(|port| !port.is_virtual)
    }

    /// The state of the link as both ends tell it: the one answer that names, ceilings, findings and reports go by.
    pub fn state(&self) -> Ends<'_> {
        Ends { device: self.device.end(), port: self.true_port().map(LinkPort::end) }
    }
}

/// The connection between two sockets.
#[derive(Debug, Clone, Default)]
pub struct SocketHop {
    /// The node of the device.
    pub device_node: u32,
    /// The node of the processors that read.
    pub reader_node: u32,
    /// The relative distance, 10 = local.
    pub distance: u32,
    /// The catalogue's entry for these processors.
    pub platform: Option<narrows_base::catalog::Processor>,
}

/// The uplink of a chipset or switch.
#[derive(Debug, Clone, Default)]
pub struct UplinkHop {
    /// Its name, `Intel X99 (C610) chipset, DMI 2.0`.
    pub name: String,
    /// The function by which it was recognised.
    pub address: PciAddress,
    /// The catalogue's entry, for a chipset whose uplink cannot be seen in sysfs.
    pub chipset: Option<narrows_base::catalog::Chipset>,
    /// The addresses of everything behind it that can move data.
    pub behind: Vec<PciAddress>,
}

/// A controller or adapter.
#[derive(Debug, Clone, Default)]
pub struct ControllerHop {
    /// The kernel's name or driver, `nvme0`, `ahci`, `virtio-blk`.
    pub name: String,
    /// Its function, if it has one.
    pub address: Option<PciAddress>,
    /// Who it is.
    pub id: Fact<PciId>,
    /// Its NUMA node.
    pub numa_node: Fact<u32>,
    /// Whether it is paravirtual: what carries it is the host's secret.
    pub is_virtual: bool,
    /// `tcp`, `rdma`, `fc` for a fabric controller.
    pub fabric: Option<String>,
}

/// A medium.
#[derive(Debug, Clone, Default)]
pub struct DeviceHop {
    /// The kernel's name of the block device.
    pub block: String,
    /// Its model.
    pub model: Fact<String>,
    /// Its size.
    pub size: Fact<Bytes>,
    /// Whether it turns.
    pub rotational: Fact<bool>,
    /// Whether it is surely one hard disk: its model number says so, or it says that it turns, and no USB bridge, RAID controller
    /// or hypervisor that says so of anything stands before it.
    pub is_hard_disk: bool,
    /// What it is when it is no real medium: `virtio`, `null_blk`, `brd`, `zram`, `loop`.
    pub synthetic: Option<String>,
}

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

/// A network interface and the wire behind it.
#[derive(Debug, Clone, Default)]
pub struct NetworkHop {
    /// The interface.
    pub interface: String,
    /// Its line rate.
    pub speed: Fact<BitsPerSec>,
    /// Its MTU.
    pub mtu: Fact<Bytes>,
    /// Its function, if it has one.
    pub address: Option<PciAddress>,
    /// `nvme-tcp`, `iscsi`, `nfs`, `smb`…: what is carried.
    pub protocol: Option<String>,
    /// The number of interfaces bound together.
    pub members: u32,
    /// Whether reads and writes both use both directions, as between the hosts of a cluster, where each serves the
    /// others while it asks them.
    pub both_ways: bool,
}

/// A hop of a described system that has no law, or whose rate is given instead of worked out.
#[derive(Debug, Clone)]
pub struct GivenHop {
    /// What it is.
    pub kind: HopKind,
    /// What it carries towards the application; absent when nobody said.
    pub read: Fact<BytesPerSec>,
    /// What it carries towards the medium.
    pub write: Fact<BytesPerSec>,
    /// What it does to the data, for a hop without a rate: `copies of each byte on 3 hosts`.
    pub does: String,
}
