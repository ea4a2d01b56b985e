//! PCI functions: who they are, where they sit, and the state of the link above each.
//!
//! Sources: `/sys/bus/pci/devices/*` (kernel `Documentation/ABI/testing/sysfs-bus-pci`), `/sys/bus/pci/slots/*`.

mod acs;
mod address;
mod aer;
mod class;
mod config;
mod read;
mod role;
mod state;

use std::collections::BTreeMap;

pub use acs::{Acs, parse_acs, read_acs};
pub use address::PciAddress;
pub(crate) use aer::read as aer_of;
pub use config::{CONFIG_BYTES, NoExpress, parse_express};
pub use read::read;
pub(crate) use read::slot_names;
pub use role::role;
pub use state::{End, Ends, Told};

use narrows_base::fact::{Fact, Source};
use narrows_base::units::{BitsPerSec, Bytes, GtPerSec, Lanes};

/// A vendor and device number pair, such as `8086:8d10`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PciId {
    /// The vendor, assigned by the PCI-SIG.
    pub vendor: u16,
    /// The device, assigned by the vendor.
    pub device: u16,
}

impl std::fmt::Display for PciId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:04x}:{:04x}", self.vendor, self.device)
    }
}

/// One PCI function.
#[derive(Debug, Clone, Default)]
pub struct PciDevice {
    /// Where it is.
    pub address: PciAddress,
    /// Vendor and device, `…/vendor` and `…/device`.
    pub id: Fact<PciId>,
    /// What it is called in words, vendor and device. sysfs has numbers only; `lspci` prints the name, often alone.
    pub name: Fact<String>,
    /// What the maker of the card calls it, `Subsystem:` of `lspci`: it often says which of several cards with one chip it is.
    pub board: Fact<String>,
    /// The rate of a Fibre Channel port's wire as a log of the kernel tells it.
    pub wire: Fact<BitsPerSec>,
    /// Base class, sub-class and programming interface in 24 bits, `…/class` (`0x010802` is NVMe).
    pub class: Fact<u32>,
    /// The bridge above, from the resolved sysfs path; `None` on a root bus.
    pub parent: Option<PciAddress>,
    /// The function that makes this function's PCI domain, such as Intel VMD above the domain `10000`; `None` for an
    /// ordinary domain. It is no bridge of the same tree, so that it is never [`PciDevice::parent`].
    pub domain_owner: Option<PciAddress>,
    /// The bound kernel driver, `…/driver`.
    pub driver: Fact<String>,
    /// This function's end of the link above it (for a bridge that faces down: of the link below it).
    pub link: LinkEnd,
    /// What config space says beyond sysfs; needs root past the first 64 bytes.
    pub express: Fact<Express>,
    /// Its role, where a text tells it and not the rest of [`PciDevice::express`]: `lspci -v`, and a log of the kernel
    /// from Linux 6.7 on.
    pub port: Fact<PortType>,
    /// What a port redirects of what is below it; asked only of ports that a graphics adapter is behind ([`read_acs`]).
    pub acs: Fact<Acs>,
    /// The NUMA node, `…/numa_node`; absent when the firmware does not say (`-1`).
    pub numa_node: Fact<u32>,
    /// The processors next to it, `…/local_cpulist`.
    pub local_cpus: Fact<Vec<u32>>,
    /// The IOMMU group, `…/iommu_group`.
    pub iommu_group: Fact<u32>,
    /// The numbers of its MSI or MSI-X interrupts, `…/msi_irqs/*`.
    pub interrupts: Vec<u32>,
    /// `D0` when awake, `…/power_state`.
    pub power_state: Fact<String>,
    /// Error counts of the link, `…/aer_dev_*`.
    pub aer: Fact<Aer>,
    /// The name of the physical slot it sits in, `/sys/bus/pci/slots/*/address`.
    pub slot: Fact<String>,
    /// The buses behind a bridge, as a capture says (`Bus: primary=00, secondary=01, subordinate=03`). Not read on a
    /// machine whose `/sys` is there, which names the bridge above each function itself.
    pub buses: Fact<Buses>,
    /// The best state of the link that was seen, where captures of one machine differ; better than [`PciDevice::link`].
    pub best_link: Option<LinkState>,
}

/// The buses behind a bridge (PCI-to-PCI Bridge Architecture Specification 1.2, section 3.2.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buses {
    /// The bus right behind it.
    pub secondary: u8,
    /// The highest bus behind it.
    pub subordinate: u8,
}

/// What a link ran at when it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkState {
    /// Its speed.
    pub speed: GtPerSec,
    /// Its width.
    pub width: Lanes,
    /// Where it was seen.
    pub source: Source,
}

/// One end's view of a link: what it runs at, and the most that this end can do.
#[derive(Debug, Clone, Default)]
pub struct LinkEnd {
    /// `…/current_link_speed`.
    pub current_speed: Fact<GtPerSec>,
    /// `…/max_link_speed`, from Link Capabilities.
    pub max_speed: Fact<GtPerSec>,
    /// `…/current_link_width`.
    pub current_width: Fact<Lanes>,
    /// `…/max_link_width`, from Link Capabilities.
    pub max_width: Fact<Lanes>,
    /// That this end can do more than the link runs at, where a text says so.
    pub downgraded: Downgraded,
}

/// What a text says of an end without a number: `(downgraded)` behind a speed or width. Each is where it says so. It means
/// something only while the most that the end can do is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Downgraded {
    /// The end could be faster.
    pub speed: Option<Source>,
    /// The end could be wider.
    pub width: Option<Source>,
}

impl Downgraded {
    /// What the text means, in words.
    pub const MEANING: &'static str = "more, for the link is downgraded";

    /// Takes from another text what this one does not say.
    pub fn fill(&mut self, other: Self) {
        self.speed = self.speed.take().or(other.speed);
        self.width = self.width.take().or(other.width);
    }
}

impl LinkEnd {
    /// Whether the kernel shows anything of a link, known or not. It does so for PCI Express functions only
    /// (`drivers/pci/pci-sysfs.c`, `pcie_dev_attrs_are_visible`).
    pub const fn is_present(&self) -> bool {
        !matches!(
            (&self.current_speed, &self.max_speed, &self.current_width, &self.max_width),
            (Fact::Absent { .. }, Fact::Absent { .. }, Fact::Absent { .. }, Fact::Absent { .. })
        )
    }
}

/// The role of a function in the PCI Express tree (PCIe Base Specification, PCI Express Capabilities Register,
/// Device/Port Type).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortType {
    /// An endpoint, or a legacy endpoint.
    Endpoint,
    /// A root port.
    RootPort,
    /// The upstream port of a switch.
    UpstreamPort,
    /// A downstream port of a switch.
    DownstreamPort,
    /// A PCI Express to PCI bridge, or the reverse.
    PciBridge,
    /// An endpoint or event collector inside the root complex: it has no link.
    RootComplexIntegrated,
}

impl PortType {
    /// Whether the link that this function describes is the one below it.
    pub const fn faces_down(self) -> bool {
        matches!(self, Self::RootPort | Self::DownstreamPort)
    }
}

/// The PCI Express capability, decoded from config space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Express {
    /// Device/Port Type.
    pub port: PortType,
    /// Max_Payload_Size Supported.
    pub max_payload_supported: Bytes,
    /// Max_Payload_Size in force.
    pub max_payload: Bytes,
    /// Max_Read_Request_Size in force.
    pub max_read_request: Bytes,
    /// Enable Relaxed Ordering.
    pub relaxed_ordering: bool,
    /// Extended Tag Field Enable (8-bit tags).
    pub extended_tags: bool,
    /// Max Link Speed, from LnkCap; `None` for a reserved code.
    pub max_speed: Option<GtPerSec>,
    /// Maximum Link Width, from LnkCap; `None` for zero.
    pub max_width: Option<Lanes>,
    /// Current Link Speed, from LnkSta.
    pub speed: Option<GtPerSec>,
    /// Negotiated Link Width, from LnkSta.
    pub width: Option<Lanes>,
    /// Target Link Speed, from LnkCtl2: a speed that software asked for.
    pub target_speed: Option<GtPerSec>,
    /// The speeds of Supported Link Speeds Vector, from LnkCap2, ascending.
    pub supported_speeds: Vec<GtPerSec>,
    /// ASPM Control: L0s and L1 in force.
    pub aspm_l0s: bool,
    /// See [`Express::aspm_l0s`].
    pub aspm_l1: bool,
    /// The port number of LnkCap.
    pub port_number: u8,
    /// Slot Implemented, of the PCI Express Capabilities Register.
    pub slot_implemented: bool,
}

impl Express {
    /// The capability of a function in this role with these sizes (supported payload, payload and read request in force).
    /// Nothing else is enabled, and nothing is known of its link.
    pub const fn new(
        port: PortType,
        [max_payload_supported, max_payload, max_read_request]: [Bytes; 3],
    ) -> Self {
        Self {
            port,
            max_payload_supported,
            max_payload,
            max_read_request,
            relaxed_ordering: false,
            extended_tags: false,
            max_speed: None,
            max_width: None,
            speed: None,
            width: None,
            target_speed: None,
            supported_speeds: Vec::new(),
            aspm_l0s: false,
            aspm_l1: false,
            port_number: 0,
            slot_implemented: false,
        }
    }
}

/// Error counts of Advanced Error Reporting since boot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Aer {
    /// Correctable errors by name (`RxErr`, `BadTLP`, `BadDLLP`, `Rollover`, `Timeout`…), without the total.
    pub correctable: BTreeMap<String, u64>,
    /// Non-fatal errors by name.
    pub nonfatal: BTreeMap<String, u64>,
    /// Fatal errors by name.
    pub fatal: BTreeMap<String, u64>,
    /// Whether these are the bits of status registers rather than counts: 1 means that the error came at least once since
    /// the bit was cleared.
    pub is_status: bool,
}
