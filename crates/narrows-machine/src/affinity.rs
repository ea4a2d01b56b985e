//! Where GPUs and network cards are, in the words of `nvidia-smi topo -m`: which NUMA node and processors are near. It
//! names them by number or by RDMA device, not by address, so that this is known of captures only.

use std::collections::BTreeMap;
use std::fmt;

use super::fact::{Fact, Source};
use super::pci::PciAddress;

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
