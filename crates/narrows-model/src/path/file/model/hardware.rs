//! What can be touched: hosts, slots, chipsets, switches, adapters and drives.

use super::Name;
use narrows_base::catalog::SlotForm;
use narrows_base::units::{BitsPerSec, Bytes, BytesPerSec, Iops, Lanes, Nanos};

/// A computer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Host {
    /// Its board, by its id in the catalogue: what its slots share, and what the firmware can set, is then known.
    pub board: Option<String>,
    /// Its processors, as the catalogue names the platform: `Intel Skylake-SP`.
    pub processor: Option<String>,
    /// The model of its processors, `Ryzen 5 2600`: what its cores do where nothing else says it.
    pub cpu: Option<String>,
    /// Sockets; 1 when nobody said.
    pub sockets: u32,
    /// The socket on which programs run. `None`: on the one that their data comes to.
    pub reader_socket: Option<u32>,
    /// Cores of all sockets together.
    pub cores: Option<u32>,
    /// The connection between the sockets, where the catalogue does not know it or is wrong.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// Every way.
    pub const ALL: [Self; 4] = [Self::Off, Self::Passthrough, Self::Lazy, Self::Strict];

    /// Its word in a file.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Passthrough => "passthrough",
            Self::Lazy => "lazy",
            Self::Strict => "strict",
        }
    }

    /// Whether addresses are translated.
    pub const fn translates(self) -> bool {
        matches!(self, Self::Lazy | Self::Strict)
    }
}

/// The connection between sockets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interconnect {
    /// Links between two sockets.
    pub links: u8,
    /// The rate of one link in one direction.
    pub rate: BytesPerSec,
}

/// Where lanes come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attachment {
    /// From a processor.
    Socket {
        /// The host.
        host: Name,
        /// Its socket, from 0.
        socket: u32,
    },
    /// From a chipset.
    Chipset(Name),
    /// From another slot, which the firmware splits (bifurcation).
    Slot(Name),
}

impl Attachment {
    /// The name of the part that the lanes come from.
    pub const fn name(&self) -> &Name {
        match self {
            Self::Socket { host, .. } => host,
            Self::Chipset(name) | Self::Slot(name) => name,
        }
    }
}

/// One end of a PCIe link. What is `None` does not limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkGiven {
    /// The PCIe generation, 1 to 6.
    pub generation: Option<u8>,
    /// The lanes.
    pub width: Option<Lanes>,
    /// Max_Payload_Size.
    pub payload: Option<Bytes>,
    /// Max_Read_Request_Size.
    pub read_request: Option<Bytes>,
}

/// A chipset and its uplink.
#[derive(Debug, Clone, PartialEq)]
pub struct Chipset {
    /// The host.
    pub host: Name,
    /// The socket that it hangs on.
    pub socket: u32,
    /// The catalogue's name, `Intel X99 (C610)`, or a part of it that only one entry has.
    pub model: Option<String>,
    /// The uplink, where the catalogue does not know it or is wrong.
    pub uplink: LinkGiven,
}

impl Chipset {
    /// What the catalogue says of it, with what was given in its place; `None` when neither says how wide its uplink is.
    /// `part` is the part that it is.
    ///
    /// # Errors
    /// The catalogue knows no such chipset.
    pub fn entry(
        &self,
        part: &super::Part,
    ) -> Result<Option<narrows_base::catalog::Chipset>, crate::path::file::BuildError> {
        crate::path::file::build::chipset_entry(part, self)
    }
}

impl Host {
    /// The catalogue's entry of its platform.
    pub fn platform(&self) -> Option<&'static narrows_base::catalog::Processor> {
        crate::path::file::build::processor_entry(self.processor.as_deref()?)
    }
}

/// A slot, or another place with PCIe lanes (M.2, U.2).
#[derive(Debug, Clone, PartialEq)]
pub struct Slot {
    /// Where its lanes come from.
    pub on: Attachment,
    /// Its lanes as wired and configured.
    pub link: LinkGiven,
    /// The lanes of its connector.
    pub connector: Option<Lanes>,
    /// What fits into it.
    pub form: Option<SlotForm>,
    /// How the firmware can split it, `x4x4x4x4`; empty when it cannot, `None` when nobody said.
    pub bifurcation: Option<Vec<String>>,
}

/// A PCIe switch.
#[derive(Debug, Clone, PartialEq)]
pub struct Switch {
    /// The slot or switch that its upstream port is in.
    pub upstream: Name,
    /// The catalogue's name, `PEX 8748`.
    pub model: Option<String>,
    /// Its upstream port.
    pub uplink: LinkGiven,
    /// Its downstream ports.
    pub port: LinkGiven,
    /// What it adds to the way of each packet.
    pub latency: Option<Nanos>,
}

/// A storage adapter.
#[derive(Debug, Clone, PartialEq)]
pub struct Adapter {
    /// The slot, switch or chipset that it is in.
    pub upstream: Name,
    /// The catalogue's name, `LSI SAS2008`.
    pub model: Option<String>,
    /// Its own end of the link.
    pub link: LinkGiven,
    /// What its chip carries, in each direction.
    pub rate: Option<BytesPerSec>,
    /// I/Os that its chip completes in a second.
    pub iops: Option<Iops>,
}

/// What a drive speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
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
#[derive(Debug, Clone, PartialEq)]
pub struct Device {
    /// What it speaks.
    pub kind: DeviceKind,
    /// The slot, switch, adapter, chipset or host that it is in.
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
    pub cache: Option<WriteCache>,
    /// Its own end of the PCIe link.
    pub link: LinkGiven,
    /// The line rate of SATA, SAS or USB.
    pub line_rate: Option<BitsPerSec>,
    /// Its size.
    pub size: Option<Bytes>,
}

impl Device {
    /// Its own end of its PCIe link: as given, or as the catalogue says of its model.
    pub fn end(&self) -> LinkGiven {
        crate::path::file::build::device_end(self)
    }

    /// A drive of which only its place is known.
    pub fn new(kind: DeviceKind, upstream: impl Into<String>) -> Self {
        Self {
            kind,
            upstream: Name::new(upstream),
            model: None,
            class: None,
            read: None,
            write: None,
            read_iops: None,
            write_iops: None,
            read_latency: None,
            write_latency: None,
            cache: None,
            link: LinkGiven::default(),
            line_rate: None,
            size: None,
        }
    }
}

/// A write cache that fills up: pseudo-SLC, or the like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WriteCache {
    /// How much it takes.
    pub size: Bytes,
    /// What is written after that.
    pub steady: BytesPerSec,
}
