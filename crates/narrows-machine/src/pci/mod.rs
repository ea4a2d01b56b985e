//! PCI functions: who they are, where they sit, and the state of the link above each.
//!
//! Sources: `/sys/bus/pci/devices/*` (kernel `Documentation/ABI/testing/sysfs-bus-pci`), `/sys/bus/pci/slots/*`.

mod acs;
mod config;
mod read;
mod state;

pub use acs::{Acs, parse_acs, read_acs};
pub use config::{CONFIG_BYTES, NoExpress, parse_express};
pub use read::read;
pub(crate) use read::{id as id_of, parse_width, read_aer as aer_of, slot_names};
pub use state::{End, Ends, Told, role};

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

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
    pub speed: GtPerSec,
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PortType {
    /// An endpoint, or a legacy endpoint.
    #[default]
    Endpoint,
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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
    pub fn new(port: PortType, [max_payload_supported, max_payload, max_read_request]: [Bytes; 3]) -> Self {
        Self { port, max_payload_supported, max_payload, max_read_request, ..Self::default() }
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

/// A PCI address. The domain is wider than 16 bits because VMD makes domains from `10000` on.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "String"))]
#[serde(into = "String", try_from = "String")]
pub struct PciAddress {
    /// The PCI domain (segment).
    pub domain: u32,
    /// The bus, 0 to 255.
    pub bus: u8,
    /// The device, 0 to 31.
    pub device: u8,
    /// The function, 0 to 7.
    pub function: u8,
}

impl PciAddress {
    /// The address of the card or chip: that of function 0 beside this one.
    #[must_use]
    pub const fn card(self) -> Self {
        Self { function: 0, ..self }
    }

    /// Stands for a function of which a text does not say where it is, the `number`th of its kind. No real function has
    /// this domain: it would not fit the kernel's `int`.
    #[must_use]
    pub const fn unnamed(number: u8) -> Self {
        Self { domain: u32::MAX, bus: number, device: 0, function: 0 }
    }

    /// Whether it stands for a function of unknown place.
    #[must_use]
    pub const fn is_unnamed(self) -> bool {
        self.domain == u32::MAX
    }
}

/// A text that is no PCI address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a PCI address such as `0000:02:00.0`")]
pub struct NotAnAddress(String);

impl From<PciAddress> for String {
    fn from(address: PciAddress) -> Self {
        address.to_string()
    }
}

impl TryFrom<String> for PciAddress {
    type Error = NotAnAddress;

    fn try_from(text: String) -> Result<Self, NotAnAddress> {
        text.parse()
    }
}

impl FromStr for PciAddress {
    type Err = NotAnAddress;

    /// Reads `0000:02:00.0`, or `02:00.0` in domain 0.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).ok_or_else(|| NotAnAddress(text.chars().take(40).collect()))
    }
}

fn parse(text: &str) -> Option<PciAddress> {
    let (rest, function) = text.rsplit_once('.')?;
    let mut parts = rest.rsplit(':');
    let device = hex(parts.next()?, 2)?;
    let bus = hex(parts.next()?, 2)?;
    let domain = parts.next().map_or(Some(0), |domain| hex(domain, 8))?;
    if parts.next().is_some() || device > 31 {
        return None;
    }
    let function = hex(function, 1).filter(|function| *function < 8)?;
    Some(PciAddress {
        domain,
        bus: u8::try_from(bus).ok()?,
        device: u8::try_from(device).ok()?,
        function: u8::try_from(function).ok()?,
    })
}

fn hex(text: &str, most: usize) -> Option<u32> {
    let plain = !text.is_empty() && text.len() <= most && text.bytes().all(|b| b.is_ascii_hexdigit());
    plain.then(|| u32::from_str_radix(text, 16).ok()).flatten()
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_unnamed() {
            return write!(f, "unnamed-{}", self.bus);
        }
        write!(f, "{:04x}:{:02x}:{:02x}.{}", self.domain, self.bus, self.device, self.function)
    }
}

impl PciDevice {
    /// Base class and sub-class.
    fn kind(&self) -> Option<(u32, u32)> {
        self.class.value().map(|class| (class >> 16 & 0xff, class >> 8 & 0xff))
    }

    /// Whether it is a bridge to another PCI bus, as ports of PCI Express are.
    pub fn is_bridge(&self) -> bool {
        self.kind() == Some((0x06, 0x04))
    }

    /// Whether it is an NVMe controller.
    pub fn is_nvme(&self) -> bool {
        self.class.value() == Some(&0x01_08_02)
    }

    /// Whether it is a storage controller of any kind, be it one of Fibre Channel.
    pub fn is_storage(&self) -> bool {
        self.kind().is_some_and(|(base, sub)| base == 0x01 || (base, sub) == (0x0c, 0x04))
    }

    /// Whether it is a network or InfiniBand adapter.
    pub fn is_network(&self) -> bool {
        self.kind().is_some_and(|(base, sub)| base == 0x02 || (base, sub) == (0x0c, 0x06))
    }

    /// Whether it is a graphics adapter, or an accelerator that saves power as one does.
    pub fn is_display(&self) -> bool {
        self.kind().is_some_and(|(base, _)| base == 0x03 || base == 0x12)
    }

    /// A short name of its class: `NVMe controller`. Every class has one, if only `PCI device`.
    pub fn class_name(&self) -> &'static str {
        match self.class.value().map(|class| (class >> 16 & 0xff, class >> 8 & 0xff, class & 0xff)) {
            Some((0x01, 0x08, 0x02)) => "NVMe controller",
            Some((0x01, sub, _)) => storage_name(sub),
            Some((0x02, 0x00, _)) => "Ethernet adapter",
            Some((0x02, 0x07, _) | (0x0c, 0x06, _)) => "InfiniBand adapter",
            Some((0x0c, 0x04, _)) => "Fibre Channel adapter",
            Some((0x02, _, _)) => "network adapter",
            Some((0x03, _, _)) => "graphics adapter",
            Some((0x04, 0x01 | 0x03, _)) => "audio device",
            Some((0x04, _, _)) => "multimedia device",
            Some((0x05, 0x02, _)) => "CXL memory device",
            Some((0x05, _, _)) => "memory controller",
            Some((0x06, sub, _)) => bridge_name(sub),
            Some((0x07, _, _)) => "communication controller",
            Some((0x08, 0x05, _)) => "SD host controller",
            Some((0x08, _, _)) => "system peripheral",
            Some((0x0c, 0x03, _)) => "USB controller",
            Some((0x0c, 0x05, _)) => "SMBus controller",
            Some((0x0d, _, _)) => "wireless adapter",
            Some((0x10, _, _)) => "encryption controller",
            Some((0x12, _, _)) => "accelerator",
            _ => "PCI device",
        }
    }
}

const fn storage_name(sub: u32) -> &'static str {
    match sub {
        0x00 => "SCSI controller",
        0x01 => "IDE controller",
        0x04 => "RAID controller",
        0x05 => "ATA controller",
        0x06 => "SATA controller",
        0x07 => "SAS controller",
        0x08 => "non-volatile memory controller",
        _ => "storage controller",
    }
}

const fn bridge_name(sub: u32) -> &'static str {
    match sub {
        0x00 => "host bridge",
        0x01 => "ISA bridge",
        0x04 => "PCI bridge",
        0x07 => "CardBus bridge",
        _ => "bridge",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_base::fact::Fact;
    use proptest::prelude::*;

    #[test]
    fn the_domain_may_be_left_out_and_may_be_one_of_vmd() {
        assert_eq!("02:00.0".parse::<PciAddress>().expect("valid").to_string(), "0000:02:00.0");
        assert_eq!("10000:e1:00.0".parse::<PciAddress>().expect("valid").to_string(), "10000:e1:00.0");
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "02:00", "02:00.8", "02:20.0", "g2:00.0", "0:0:0:0.0", "+2:00.0", "/dev/sda"] {
            assert!(text.parse::<PciAddress>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_address_survives_printing(domain in 0u32..0x20000, bus: u8, device in 0u8..32, function in 0u8..8) {
            let address = PciAddress { domain, bus, device, function };
            prop_assert_eq!(address.to_string().parse::<PciAddress>(), Ok(address));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,40}") {
            let _ = text.parse::<PciAddress>();
        }
    }

    fn of(class: u32) -> PciDevice {
        PciDevice { class: Fact::known(class, "test"), ..PciDevice::default() }
    }

    #[test]
    fn classes_are_recognised() {
        assert!(of(0x01_0802).is_nvme() && of(0x01_0802).is_storage());
        assert!(of(0x01_0601).is_storage() && !of(0x01_0601).is_nvme());
        assert!(of(0x0c_0400).is_storage() && !of(0x0c_0330).is_storage());
        assert!(of(0x06_0400).is_bridge() && of(0x06_0401).is_bridge() && !of(0x06_0000).is_bridge());
        assert!(of(0x02_0000).is_network() && of(0x0c_0600).is_network() && !of(0x0d_8000).is_network());
        assert!(of(0x03_0000).is_display() && of(0x03_0200).is_display());
    }

    #[test]
    fn every_class_has_a_name() {
        assert_eq!(of(0x01_0802).class_name(), "NVMe controller");
        assert_eq!(of(0x01_0107).class_name(), "IDE controller");
        assert_eq!(of(0x0c_0330).class_name(), "USB controller");
        assert_eq!(of(0xff_0000).class_name(), "PCI device");
        assert_eq!(PciDevice::default().class_name(), "PCI device");
    }
}
