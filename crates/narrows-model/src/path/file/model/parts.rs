//! The parts of a described system: what can be touched, what lies on drives, and what lies between hosts.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Name;
use crate::path::RaidLevel;
use narrows_base::catalog::SlotForm;
use narrows_base::units::{BitsPerSec, Bytes, BytesPerSec, Iops, Lanes, Nanos};

/// A computer.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Host {
    /// Its board, by its id in the catalogue: what its slots share, and what the firmware can set, is then known.
    pub board: Option<String>,
    /// Its processors, as the catalogue names the platform: `Intel Skylake-SP`.
    pub processor: Option<String>,
    /// The model of its processors, `Ryzen 5 2600`: what its cores do where nothing else says it.
    pub cpu: Option<String>,
    /// Sockets; 1 when nobody said.
    #[serde(default = "one")]
    pub sockets: u32,
    /// The socket on which programs run. `None`: on the one that their data comes to.
    pub reader_socket: Option<u32>,
    /// Cores of all sockets together.
    pub cores: Option<u32>,
    /// The connection between the sockets, where the catalogue does not know it or is wrong.
    #[serde(flatten)]
    pub interconnect: Option<Interconnect>,
    /// Main memory.
    pub memory: Option<Bytes>,
    /// What main memory carries, reads and writes together.
    pub memory_rate: Option<BytesPerSec>,
    /// I/Os that one core starts and completes in a second, whatever the engine.
    pub core_iops: Option<Iops>,
    /// How it translates the addresses that devices use; `None` counts as not at all.
    pub iommu: Option<Iommu>,
    /// The pages of these translations; 4 KiB when nobody said.
    pub iommu_pages: Option<Bytes>,
    /// What one core decrypts with the cipher of the encrypted mappings.
    pub decrypt: Option<BytesPerSec>,
    /// What one core encrypts.
    pub encrypt: Option<BytesPerSec>,
}

/// How a host translates the addresses that devices use (kernel options `iommu=pt`, `iommu.strict`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Iommu {
    /// Not at all.
    Off,
    /// Drivers of the kernel use addresses as they are.
    Passthrough,
    /// Translated; what is no longer mapped is forgotten later.
    Lazy,
    /// Translated; what is no longer mapped is forgotten at once.
    Strict,
}

impl Iommu {
    /// Whether addresses are translated.
    pub const fn translates(self) -> bool {
        matches!(self, Self::Lazy | Self::Strict)
    }
}

/// The connection between sockets.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interconnect {
    /// Links between two sockets.
    #[serde(rename = "interconnect_links")]
    pub links: u8,
    /// The rate of one link in one direction.
    #[serde(rename = "interconnect_rate")]
    pub rate: BytesPerSec,
}

/// Where lanes come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Attachment {
    /// From a chipset.
    Chipset { chipset: Name },
    /// From another slot, which the firmware splits (bifurcation).
    Slot {
        /// The other slot.
        slot: Name,
    },
    /// From a processor.
    Socket {
        host: Name,
        /// Its socket, from 0.
        #[serde(default)]
        socket: u32,
    },
}

impl Attachment {
    /// The name of the part that the lanes come from.
    pub const fn name(&self) -> &Name {
        match self {
            Self::Socket { host: name, .. } | Self::Chipset { chipset: name } | Self::Slot { slot: name } => {
                name
            }
        }
    }
}

/// One end of a PCIe link. What is `None` does not limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LinkGiven {
    /// The PCIe generation, 1 to 6.
    pub generation: Option<u8>,
    pub width: Option<Lanes>,
    /// Max_Payload_Size.
    pub payload: Option<Bytes>,
    /// Max_Read_Request_Size.
    pub read_request: Option<Bytes>,
}

/// A chipset and its uplink.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chipset {
    pub host: Name,
    /// The socket that it hangs on.
    #[serde(default)]
    pub socket: u32,
    /// The catalogue's name, `Intel X99 (C610)`, or a part of it that only one entry has.
    pub model: Option<String>,
    /// The uplink, where the catalogue does not know it or is wrong.
    #[serde(flatten)]
    pub uplink: LinkGiven,
}

/// A slot, or another place with PCIe lanes (M.2, U.2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Slot {
    /// Where its lanes come from.
    #[serde(flatten)]
    pub on: Attachment,
    /// Its lanes as wired and configured.
    #[serde(flatten)]
    pub link: LinkGiven,
    pub connector: Option<Lanes>,
    /// What fits into it.
    pub form: Option<SlotForm>,
    /// How the firmware can split it, `x4x4x4x4`; empty when it cannot, `None` when nobody said.
    pub bifurcation: Option<Vec<String>>,
}

/// The links that a slot is split into, in the order of its lanes: `x8x4x4`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SplitMode(pub Vec<Lanes>);

impl SplitMode {
    /// Reads `x8x4x4`; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let links: Option<Vec<Lanes>> = text.strip_prefix('x')?.split('x').map(Lanes::parse).collect();
        links.filter(|links| links.len() > 1).map(Self)
    }
}

impl fmt::Display for SplitMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|lanes| write!(f, "{lanes}"))
    }
}

/// A PCIe switch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Switch {
    /// The slot or switch that its upstream port is in.
    #[serde(rename = "in")]
    pub upstream: Name,
    /// The catalogue's name, `PEX 8748`.
    pub model: Option<String>,
    /// Its upstream port.
    #[serde(flatten)]
    pub uplink: LinkGiven,
    /// The PCIe generation of its downstream ports.
    pub port_generation: Option<u8>,
    pub port_width: Option<Lanes>,
    /// What it adds to the way of each packet.
    pub latency: Option<Nanos>,
}

impl Switch {
    /// One of its downstream ports.
    pub fn port(&self) -> LinkGiven {
        let (generation, width) = (self.port_generation, self.port_width);
        LinkGiven { generation, width, payload: self.uplink.payload, read_request: None }
    }
}

/// A storage adapter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Adapter {
    /// The slot, switch or chipset that it is in.
    #[serde(rename = "in")]
    pub upstream: Name,
    /// The catalogue's name, `LSI SAS2008`.
    pub model: Option<String>,
    /// Its own end of the link.
    #[serde(flatten)]
    pub link: LinkGiven,
    /// What its chip carries, in each direction.
    pub rate: Option<BytesPerSec>,
    /// I/Os that its chip completes in a second.
    pub iops: Option<Iops>,
}

/// What a drive speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// NVM Express over PCIe.
    #[default]
    Nvme,
    /// A solid-state drive on SATA.
    Sata,
    /// A solid-state drive on SAS.
    Sas,
    /// A hard disk, on SATA.
    Hdd,
    /// A drive on USB.
    Usb,
    /// Main memory that looks like a drive.
    Ramdisk,
}

/// A drive. What is `None` comes from the catalogue by model, or else from its class.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// What it speaks.
    #[serde(default)]
    pub kind: DeviceKind,
    /// The slot, switch, adapter, chipset or host that it is in.
    #[serde(rename = "in")]
    pub upstream: Name,
    /// Its model as the kernel names it, `WD_BLACK SN770 2TB`.
    pub model: Option<String>,
    /// A class of media by which its latency and IOPS are guessed, `consumer-tlc`.
    pub class: Option<String>,
    /// Sequential reads at best.
    pub read: Option<BytesPerSec>,
    /// Sequential writes at best.
    pub write: Option<BytesPerSec>,
    /// Random reads of 4 KiB at best.
    pub read_iops: Option<Iops>,
    /// Random writes of 4 KiB at best.
    pub write_iops: Option<Iops>,
    /// From one read of 4 KiB to its answer, nothing else running.
    pub read_latency: Option<Nanos>,
    /// The same of a write.
    pub write_latency: Option<Nanos>,
    /// How writes go on when the fast cache is full.
    #[serde(flatten)]
    pub cache: Option<WriteCache>,
    /// Its own end of the PCIe link.
    #[serde(flatten)]
    pub link: LinkGiven,
    /// The line rate of SATA, SAS or USB.
    pub line_rate: Option<BitsPerSec>,
    pub size: Option<Bytes>,
}

impl Device {
    /// A drive of which only its place is known.
    pub fn new(kind: DeviceKind, upstream: impl Into<String>) -> Self {
        Self { kind, upstream: Name::new(upstream), ..Self::default() }
    }
}

/// A write cache that fills up: pseudo-SLC, or the like.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WriteCache {
    /// How much it takes.
    #[serde(rename = "cache_size")]
    pub size: Bytes,
    /// What is written after that.
    #[serde(rename = "steady_write")]
    pub steady: BytesPerSec,
}

/// Who makes an array, and how it is laid out: by md or an adapter that does the same, or mirrors and stripes of ZFS, of which
/// each top-level vdev is an array of its own and a pool stripes over them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RaidKind {
    Md(RaidLevel),
    Zfs(ZfsLevel),
}

/// The levels of ZFS, as its own words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ZfsLevel {
    /// Striping.
    Stripe,
    /// Mirroring.
    Mirror,
    /// One parity.
    Raidz1,
    /// Two parities.
    Raidz2,
    /// Three parities.
    Raidz3,
}

impl RaidKind {
    /// The level by which traffic is spread.
    pub const fn level(self) -> RaidLevel {
        match self {
            Self::Md(level) => level,
            Self::Zfs(ZfsLevel::Stripe) => RaidLevel::Raid0,
            Self::Zfs(ZfsLevel::Mirror) => RaidLevel::Raid1,
            Self::Zfs(ZfsLevel::Raidz1) => RaidLevel::Raid5,
            Self::Zfs(ZfsLevel::Raidz2 | ZfsLevel::Raidz3) => RaidLevel::Raid6,
        }
    }

    /// How many members hold no data of their own.
    pub const fn parity(self) -> u8 {
        match self {
            Self::Zfs(ZfsLevel::Raidz3) => 3,
            Self::Md(_) | Self::Zfs(_) => self.level().parity(),
        }
    }
}

/// An array.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Raid {
    /// Its level.
    #[serde(rename = "level")]
    pub kind: RaidKind,
    /// Its members, in order.
    pub members: Vec<Name>,
    pub chunk: Option<Bytes>,
    /// Copies of each chunk in RAID-10; 2 when nobody said.
    pub copies: Option<u32>,
    /// What a running resync takes of each member.
    pub resync: Option<BytesPerSec>,
    /// Stripe threads of a parity array (`group_thread_cnt`).
    pub stripe_threads: Option<u32>,
}

/// An encrypted mapping.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Crypt {
    /// What it lies on.
    pub on: Name,
    /// The cipher in the kernel's notation, `aes-xts-plain64`.
    pub cipher: Option<String>,
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
    #[serde(default = "yes")]
    pub workqueues: bool,
}

/// A cache (bcache, dm-cache) before something slower.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cache {
    /// The fast device.
    pub cache: Name,
    /// The slow one.
    pub backing: Name,
    /// The share of reads that find their data in the cache, 0 to 1.
    pub hit: f64,
    /// Whether writes end in the cache.
    #[serde(default)]
    pub writeback: bool,
}

/// A logical volume.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Volume {
    /// The chunk in which it is striped; `None` for one device, or one after another.
    pub stripe: Option<Bytes>,
    /// The devices.
    pub members: Vec<Name>,
}

/// A file system.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Filesystem {
    /// `ext4`, `xfs`, `zfs`…
    #[serde(default = "usual_filesystem")]
    pub kind: String,
    /// What it lies on.
    #[serde(rename = "on")]
    pub members: Vec<Name>,
    /// Mount options.
    #[serde(default)]
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

/// The kinds of wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Technology {
    #[default]
    Ethernet,
    /// InfiniBand.
    Infiniband,
}

/// A network interface and the wire behind it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Network {
    /// The wire.
    #[serde(default)]
    pub technology: Technology,
    /// The line rate of one port. InfiniBand: the rate after its line code, as `ibstat` prints it.
    pub rate: BitsPerSec,
    /// Ports that carry data together.
    #[serde(default = "one")]
    pub ports: u32,
    pub mtu: Option<Bytes>,
    /// What is carried: `tcp`, `iscsi`, `nvme-tcp`, `smb`, `rdma`, `iwarp`, `roce`.
    pub protocol: Option<String>,
    /// The slot or switch that the card is in; `None` when it is of no interest.
    #[serde(rename = "in")]
    pub upstream: Option<Name>,
    /// The card's own end of its link.
    #[serde(flatten)]
    pub link: LinkGiven,
    /// From a request on the one side to its answer from the other.
    pub latency: Option<Nanos>,
}

/// Storage that is used over a network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Remote {
    /// What is used.
    pub on: Name,
    /// The networks that its data crosses, from the client on.
    pub through: Vec<Name>,
    /// What is spoken, `iscsi`; that of the networks when `None`.
    pub protocol: Option<String>,
    /// What protocol and server add to each I/O, beside the networks.
    pub latency: Option<Nanos>,
    /// What server or protocol carry at best, where that was measured.
    pub rate: Option<BytesPerSec>,
}

/// Drives of several hosts that are used as one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cluster {
    /// The drives or arrays.
    pub members: Vec<Name>,
    /// So many whole copies are kept on different hosts.
    pub copies: Option<u32>,
    /// Erasure coding: parts that carry data, on different hosts.
    pub data: Option<u32>,
    /// Parts that make up for lost ones.
    pub parity: Option<u32>,
    /// One network interface for each host, in the order of the hosts.
    #[serde(default)]
    pub networks: Vec<Name>,
    /// The share of reads that the reading host serves itself, 0 to 1; one in so many as there are hosts when `None`.
    pub local_reads: Option<f64>,
    /// Whether the clients are hosts of the cluster (hyper-converged) or stand apart, behind the same networks.
    #[serde(default = "yes")]
    pub converged: bool,
    /// What the software adds to each I/O.
    pub latency: Option<Nanos>,
    /// I/Os that one core of a host handles in a second, both sides together.
    pub core_iops: Option<Iops>,
}

impl Cluster {
    /// Bytes that are written for each byte of data.
    pub fn amplification(&self) -> f64 {
        match self.data.zip(self.parity) {
            Some((data, parity)) => f64::from(data + parity) / f64::from(data.max(1)),
            None => self.copies.map_or(1.0, f64::from),
        }
    }
}

/// Virtual machines that use something together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Vm {
    /// What they use.
    pub on: Name,
    /// How many.
    #[serde(default = "one")]
    pub count: u32,
    /// I/Os in a second that each may do.
    pub iops: Option<Iops>,
    /// Bytes in a second that each may move.
    pub rate: Option<BytesPerSec>,
    /// What the hypervisor adds to each I/O.
    pub latency: Option<Nanos>,
    /// Virtual processors of each.
    pub cpus: Option<u32>,
}

const fn one() -> u32 {
    1
}

const fn yes() -> bool {
    true
}

fn usual_filesystem() -> String {
    "ext4".to_owned()
}
