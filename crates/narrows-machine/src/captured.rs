//! What is known of captured machines only: from which texts they were put together, and what tools tell that the kernel does not.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::fact::{self, Fact, Source};
use crate::pci::PciAddress;
use narrows_base::units::{BitsPerSec, Bytes, BytesPerSec, Nanos};

/// A text, and what it turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recognised {
    /// The name of the text: a file, or a path in a directory or archive.
    pub name: String,
    /// What is in it: `lspci -vv`, `dmesg`.
    pub kinds: Vec<&'static str>,
}

/// How a machine that was put together from texts came to be. What such a machine does not have may exist all the
/// same: nobody was asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// The texts that facts are from.
    pub texts: Vec<Recognised>,
    /// What the texts could have told and none of them does, sorted.
    pub gaps: Vec<Gap>,
}

impl Captured {
    /// Whether a fact is from a log: it was so when the line was written.
    pub fn is_past(&self, source: &Source) -> bool {
        let name = source.as_str().rsplit_once(':').map_or(source.as_str(), |(name, _)| name);
        self.texts.iter().any(|text| text.name == name && text.kinds == ["dmesg"])
    }
}

/// What is missing in a text, and how its owner gets it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    /// What could not be known: `the link registers of 0000:01:00.0`.
    pub what: String,
    /// What to run to get it: `sudo lspci -vvv`.
    pub run: String,
    /// The same for the program, so that it sees when another text tells it.
    pub lacks: Lacks,
}

/// What a text lacks.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lacks {
    /// Something that no other text is known to tell.
    #[default]
    Other,
    /// Link registers of some of its PCI functions.
    Links(Counted),
    /// Vendor and device numbers of some of its PCI functions.
    Numbers(Counted),
    /// The port above a function.
    Port(PciAddress),
    /// The link of a function, speed and width.
    Link(PciAddress),
    /// The links as they are now: it is a log.
    PresentLinks,
    /// How fast USB devices run.
    UsbRates,
    /// What a block device lies on.
    Below(String),
    /// A disk of which the name alone is known.
    Disk(String),
}

/// The functions that something is missing of, of how many.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Counted {
    /// Those.
    pub functions: Vec<PciAddress>,
    /// All that the text names.
    pub of: usize,
}

/// An adapter, as `storcli` or `perccli` in a capture tells of it. What is `null` its tool did not print.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Adapter {
    /// What it is called: `PERC H730 Mini`.
    #[serde(with = "fact::value")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub model: Fact<String>,
    /// Its function.
    pub pci: Option<PciAddress>,
    /// The drives behind it by enclosure and slot, `252:0`; the enclosure is empty where there is none.
    pub drives: BTreeMap<String, AdapterDrive>,
    /// Its volumes, by drive group and number, `0/1`.
    pub volumes: BTreeMap<String, AdapterVolume>,
    /// Why it keeps no writes in its cache.
    #[serde(skip)]
    pub lacks_cache: Fact<CacheLack>,
}

/// Why an adapter passes each write on to its drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheLack {
    /// It was made without one.
    NoMemory,
    /// Somebody turned it off, as is right for some drives.
    Off,
    /// What keeps it when the power fails does not work.
    Battery,
    /// It is set to write-back and does not do it.
    FellBack,
}

impl std::fmt::Display for CacheLack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NoMemory => "it has no cache memory",
            Self::Off => "its write cache is off",
            Self::Battery => "its battery or capacitor failed",
            Self::FellBack => "it is set to write-back and fell back to write-through",
        })
    }
}

/// A drive behind an adapter.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AdapterDrive {
    /// In the tool's words: `Onln`, `JBOD`, `UGood`, `Rbld`, `Failed`.
    #[serde(with = "fact::value")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub state: Fact<String>,
    /// The drive group that it is a member of.
    pub group: Option<String>,
    /// `SATA`, `SAS`, `NVMe`.
    pub interface: Option<String>,
    /// Whether it turns: the tool says `HDD` or `SSD`.
    #[serde(rename = "rotational")]
    pub turns: Option<bool>,
    /// Its model.
    pub model: Option<String>,
    #[serde(rename = "size_bytes")]
    pub size: Option<Bytes>,
    /// What it negotiated with what is next to it.
    #[serde(rename = "link_bits_per_second", with = "fact::value")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<BitsPerSec>"))]
    pub link: Fact<BitsPerSec>,
    /// The most that the drive can do.
    #[serde(rename = "most_bits_per_second", with = "fact::value")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<BitsPerSec>"))]
    pub most: Fact<BitsPerSec>,
    /// How often it said that it will fail.
    pub predicted_failures: Option<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AdapterVolume {
    /// `RAID5`.
    pub level: Option<String>,
    /// In the tool's words: `Optl`, `Dgrd`, `Pdgd`, `OfLn`.
    #[serde(with = "fact::value")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub state: Fact<String>,
    #[serde(rename = "size_bytes")]
    pub size: Option<Bytes>,
    /// The kernel's name of the disk that it is: `sda`.
    pub disk: Option<String>,
}

impl AdapterDrive {
    /// Whether it serves data or waits to: it has not failed, is not lost, and is not being made whole.
    pub fn is_sound(&self) -> bool {
        let sound = ["Onln", "JBOD", "UGood", "DHS", "GHS", "Optl", "Conf", "Unconf"];
        self.state.value().is_none_or(|state| sound.iter().any(|known| state.eq_ignore_ascii_case(known)))
    }
}

impl AdapterVolume {
    /// Whether it lacks members, and whether it can still be read: `None` of a whole one.
    pub fn lack(&self) -> Option<Lack> {
        match self.state.value()?.as_str() {
            "Dgrd" | "Degraded" => Some(Lack::Degraded),
            "Pdgd" | "Partially Degraded" => Some(Lack::PartlyDegraded),
            "OfLn" | "Offline" => Some(Lack::Offline),
            _ => None,
        }
    }
}

/// What a volume lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// Another failure may lose data.
    Degraded,
    /// One more failure is survived (RAID 6 that lacks one member).
    PartlyDegraded,
    /// It cannot be used.
    Offline,
}

// Where GPUs and network cards are, in the words of `nvidia-smi topo -m`: which NUMA node and processors are near. It
// names them by number or by RDMA device, not by address, so that this is known of captures only.

/// What is near a device.
#[derive(Debug, Clone, Default)]
pub struct Affinity {
    /// The NUMA node.
    pub node: Fact<u32>,
    /// The processors.
    pub cpus: Fact<Vec<u32>>,
    /// How it is connected to others, by their names, and where that stands.
    pub connections: BTreeMap<String, (Connection, Source)>,
    /// Which function it is, where other texts tell all of them.
    pub address: Option<PciAddress>,
}

/// How two devices are connected, in the words of the legend of `nvidia-smi topo -m`; what comes later is farther.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Connection {
    /// At most a single PCIe bridge.
    Pix,
    /// Multiple PCIe bridges, without traversing the PCIe host bridge.
    Pxb,
    /// A PCIe host bridge (typically the CPU).
    Phb,
    /// The interconnect between PCIe host bridges within a NUMA node.
    Node,
    /// The interconnect between NUMA nodes.
    Sys,
}

impl Connection {
    const ALL: [(&'static str, Self); 5] = [
        ("PIX", Self::Pix),
        ("PXB", Self::Pxb),
        ("PHB", Self::Phb),
        ("NODE", Self::Node),
        ("SYS", Self::Sys),
    ];

    /// The connection that is written so. NVLink (`NV4`) is none of PCI Express.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(name, _)| *name == word).map(|(_, connection)| *connection)
    }
}

impl fmt::Display for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = Self::ALL.iter().find(|(_, connection)| connection == self).map_or("", |(word, _)| word);
        f.write_str(word)
    }
}

/// What a block device did in an interval, as `iostat -x` in a capture says; `None` where this version does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceLoad {
    /// The part of the time in which something was in flight. A device that serves many I/Os at once may be busy all the time
    /// and still be able to do more.
    pub busy: Option<f64>,
    /// I/Os in flight, the mean.
    pub depth: Option<f64>,
    /// Bytes that it read each second.
    #[serde(rename = "read_bytes_per_second")]
    pub read: Option<BytesPerSec>,
    /// Bytes that it wrote each second.
    #[serde(rename = "write_bytes_per_second")]
    pub write: Option<BytesPerSec>,
    /// The time that a read took from request to answer, the mean; `None` where nothing was read.
    #[serde(rename = "read_wait_ns")]
    pub read_wait: Option<Nanos>,
    /// The same of a write.
    #[serde(rename = "write_wait_ns")]
    pub write_wait: Option<Nanos>,
    /// Of how many intervals this was the busiest; 0 for the mean since the start.
    pub intervals: u32,
    /// Whether it is the mean since the machine started, which tells of no load.
    pub since_start: bool,
}
