//! One hop of a path: who it is, what its law needs to know of it, and how much traffic crosses it.

mod spec;

pub use spec::{
    ControllerHop, CryptHop, DeviceHop, FilesystemHop, Flash, LinkHop, NetworkHop, RaidHop, RaidLevel,
    SocketHop, UplinkHop, VolumeHop, VolumeLayout, ZfsHop, ZfsLayout,
};

pub(super) use spec::is_virtual_disk;

use std::fmt;

use narrows_base::fact::Fact;
use narrows_base::units::{Bytes, BytesPerSec};
use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, IntoDeserializer};
use serde::{Deserialize, Serialize};

/// A hop's identity within a machine, stable between runs: `link:0000:02:00.0`, `device:nvme0n1`, `raid:md0`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct HopId(String);

impl HopId {
    /// The id of a hop of `kind` that is named `name`.
    pub fn new(kind: HopKind, name: impl fmt::Display) -> Self {
        Self(format!("{kind}:{name}"))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What tells it from others of its kind: `md0` of `raid:md0`.
    pub fn key(&self) -> &str {
        self.0.split_once(':').map_or(&self.0, |(_, key)| key)
    }
}

impl std::ops::Deref for HopId {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HopId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Bytes that cross a hop for one byte that the application moves.
///
/// A member of an n-way RAID-0 has 1/n; each member of a mirror has 1/n for reads (when streams are spread) and 1 for
/// writes; the uplink that both members of a two-way mirror share has 1 for reads and 2 for writes. Where each byte takes one of several
/// ways and it cannot be said which (a linear volume over two drives, a cache and what it caches), each way has all of the
/// traffic, since it may have to carry it, and what the ways share has no more than that.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    pub const fn kind(&self) -> HopKind {
        self.spec.kind()
    }

    pub fn link(&self) -> Option<&LinkHop> {
        if let HopSpec::Link(link) = &self.spec { Some(link) } else { None }
    }

    pub const fn device(&self) -> Option<&DeviceHop> {
        if let HopSpec::Device(device) = &self.spec { Some(device) } else { None }
    }

    /// The uplink of a switch or chipset.
    pub const fn uplink(&self) -> Option<&UplinkHop> {
        if let HopSpec::Switch(uplink) | HopSpec::Chipset(uplink) = &self.spec { Some(uplink) } else { None }
    }

    /// The kernel name of the block device that it is, if it is one (its counters are in `/proc/diskstats`).
    pub fn block_name(&self) -> Option<&str> {
        match &self.spec {
            HopSpec::Device(device) => Some(&device.block),
            HopSpec::BlockQueue(block) | HopSpec::Cache(block) => Some(block),
            HopSpec::Raid(raid) => Some(&raid.block),
            HopSpec::Crypt(crypt) => Some(&crypt.block),
            HopSpec::Volume(volume) => Some(&volume.block),
            _ => None,
        }
    }
}

/// What a hop is, with all that its law and the verdict rules need.
#[derive(Debug, Clone)]
pub enum HopSpec {
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
    Controller(ControllerHop),
    /// A medium.
    Device(DeviceHop),
    /// The request queue of a block device.
    BlockQueue(String),
    /// A RAID array.
    Raid(Box<RaidHop>),
    /// A ZFS pool, or a mirror or RAID-Z of it.
    Zfs(ZfsHop),
    /// An encrypted mapping.
    Crypt(Box<CryptHop>),
    /// A bcache device.
    Cache(String),
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

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HopKind {
    /// The program that reads and writes.
    #[default]
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
    /// Whether it is a medium, or what software makes of media: what load can be run at.
    pub const fn is_layer(self) -> bool {
        use HopKind::{Cache, Crypt, Device, Filesystem, LogicalVolume, Raid};
        matches!(self, Device | Raid | Crypt | Cache | LogicalVolume | Filesystem)
    }
}

impl fmt::Display for HopKind {
    /// The kind as it stands in hop ids and in JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The one of a few that serde writes as this word.
pub(crate) fn of_word<T: DeserializeOwned>(word: &str) -> Option<T> {
    let text: StrDeserializer<'_, serde::de::value::Error> = word.into_deserializer();
    T::deserialize(text).ok()
}
