//! The state of a link: the one place that says which of several sources is believed.
//!
//! An end tells by sysfs (or the words of a text), and by its config space where sysfs is silent. A link runs at one speed
//! and width, so of two ends that differ the lower value is the safe one. A port that a hypervisor made up tells nothing.

use std::collections::BTreeMap;

use super::{Express, LinkEnd, PciAddress, PciDevice, PortType};
use narrows_base::fact::{Fact, Source};
use narrows_base::units::{GtPerSec, Lanes};

/// A value with the place where it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told<'a, T> {
    pub value: T,
    /// Where it was read.
    pub source: &'a Source,
}

/// One end of a link.
#[derive(Debug, Clone, Copy)]
pub struct End<'a> {
    link: &'a LinkEnd,
    express: &'a Fact<Express>,
}

impl<'a> End<'a> {
    /// An end of which both views are known.
    pub const fn new(link: &'a LinkEnd, express: &'a Fact<Express>) -> Self {
        Self { link, express }
    }

    /// The end that a function describes.
    pub const fn of(device: &'a PciDevice) -> Self {
        Self::new(&device.link, &device.express)
    }

    /// The speed now.
    pub fn speed(self) -> Option<Told<'a, GtPerSec>> {
        self.told(&self.link.current_speed, |express| express.speed)
    }

    /// The width now.
    pub fn width(self) -> Option<Told<'a, Lanes>> {
        self.told(&self.link.current_width, |express| express.width)
    }

    /// The fastest speed of this end.
    pub fn max_speed(self) -> Option<Told<'a, GtPerSec>> {
        self.told(&self.link.max_speed, |express| express.max_speed)
    }

    /// The most lanes of this end.
    pub fn max_width(self) -> Option<Told<'a, Lanes>> {
        self.told(&self.link.max_width, |express| express.max_width)
    }

    /// Speed and width now, where both are known.
    pub fn state(self) -> Option<(GtPerSec, Lanes)> {
        Some((self.speed()?.value, self.width()?.value))
    }

    /// The greatest speed and width, where both are known.
    pub fn most(self) -> Option<(GtPerSec, Lanes)> {
        Some((self.max_speed()?.value, self.max_width()?.value))
    }

    fn told<T: Copy>(
        self,
        sysfs: &'a Fact<T>,
        config: impl Fn(&Express) -> Option<T>,
    ) -> Option<Told<'a, T>> {
        if let Fact::Known { value, source } = sysfs {
            return Some(Told { value: *value, source });
        }
        let Fact::Known { value, source } = self.express else { return None };
        Some(Told { value: config(value)?, source })
    }
}

/// Both ends of a link, without one that is not seen or does not tell the truth.
#[derive(Debug, Clone, Copy)]
pub struct Ends<'a> {
    /// The end away from the processor.
    pub device: End<'a>,
    /// The end towards the processor.
    pub port: Option<End<'a>>,
}

impl<'a> Ends<'a> {
    /// The speed at which the link runs now.
    pub fn speed(self) -> Option<Told<'a, GtPerSec>> {
        self.lower(End::speed)
    }

    /// The width at which the link runs.
    pub fn width(self) -> Option<Told<'a, Lanes>> {
        self.lower(End::width)
    }

    /// The fastest speed that both ends can do, or the one that tells.
    pub fn max_speed(self) -> Option<Told<'a, GtPerSec>> {
        self.lower(End::max_speed)
    }

    /// The most lanes that both ends can do, or the one that tells.
    pub fn max_width(self) -> Option<Told<'a, Lanes>> {
        self.lower(End::max_width)
    }

    /// Speed and width now, where both are known.
    pub fn state(self) -> Option<(GtPerSec, Lanes)> {
        Some((self.speed()?.value, self.width()?.value))
    }

    fn lower<T: Ord>(self, value: impl Fn(End<'a>) -> Option<Told<'a, T>>) -> Option<Told<'a, T>> {
        let ends = std::iter::once(self.device).chain(self.port);
        ends.filter_map(value).min_by(|a, b| a.value.cmp(&b.value))
    }
}

/// No tree of bridges is deeper: every bridge starts a bus, and a domain has 256.
const DEEPEST: usize = 256;

/// The role of the function at `address`: what its config space says, else what follows from where it sits. `None` for
/// conventional PCI, for a function that is not in `devices`, and where neither tells.
///
/// A bridge on a root bus is a root port, unless all below it is conventional PCI. A bridge below a root port or
/// downstream port is the upstream port of a switch when it has bridges below it, and these are downstream ports;
/// without any it leads to conventional PCI, unless what is below it has a link: then it is a port beside others, as behind the
/// bridges that some processors (Loongson's) have on their root bus.
pub fn role(devices: &BTreeMap<PciAddress, PciDevice>, address: PciAddress) -> Option<PortType> {
    role_within(devices, address, DEEPEST)
}

fn role_within(
    devices: &BTreeMap<PciAddress, PciDevice>,
    address: PciAddress,
    depth: usize,
) -> Option<PortType> {
    let device = devices.get(&address)?;
    if let Some(express) = device.express.value() {
        return Some(express.port);
    }
    if let Some(port) = device.port.value() {
        return Some(*port);
    }
    if device.is_conventional() {
        return None;
    }
    let Some(parent) = device.parent else {
        return Some(match device.is_bridge() {
            true if leads_to_pci(devices, address) => PortType::PciBridge,
            true => PortType::RootPort,
            false => PortType::RootComplexIntegrated,
        });
    };
    let above = role_within(devices, parent, depth.checked_sub(1)?)?;
    match (above, device.is_bridge()) {
        (PortType::RootPort | PortType::DownstreamPort, false) => Some(PortType::Endpoint),
        (PortType::RootPort | PortType::DownstreamPort, true) if has_ports_below(devices, address) => {
            Some(PortType::UpstreamPort)
        }
        (PortType::RootPort | PortType::DownstreamPort, true) => {
            let has_link = below(devices, address).any(|device| device.link.is_present());
            Some(if has_link { PortType::DownstreamPort } else { PortType::PciBridge })
        }
        (PortType::UpstreamPort, true) => Some(PortType::DownstreamPort),
        // A switch may carry an endpoint (a management function, a DMA engine) beside its downstream ports.
        (PortType::UpstreamPort, false) => Some(PortType::Endpoint),
        (PortType::Endpoint | PortType::PciBridge | PortType::RootComplexIntegrated, _) => None,
    }
}

fn below(devices: &BTreeMap<PciAddress, PciDevice>, bridge: PciAddress) -> impl Iterator<Item = &PciDevice> {
    devices.values().filter(move |device| device.parent == Some(bridge))
}

fn has_ports_below(devices: &BTreeMap<PciAddress, PciDevice>, address: PciAddress) -> bool {
    below(devices, address).any(|device| device.is_bridge() && !device.is_conventional())
}

fn leads_to_pci(devices: &BTreeMap<PciAddress, PciDevice>, address: PciAddress) -> bool {
    below(devices, address).next().is_some() && below(devices, address).all(PciDevice::is_conventional)
}

impl PciDevice {
    /// Whether it was looked at and shows no sign of PCI Express.
    fn is_conventional(&self) -> bool {
        let was_read = !self.express.source().as_str().is_empty();
        was_read && self.express.value().is_none() && !self.link.is_present()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pci::LinkEnd;
    use narrows_base::fact::Fact;
    use narrows_base::units::GtPerSec;
    use proptest::prelude::*;

    fn link(speed: Option<GtPerSec>, width: Option<u8>) -> LinkEnd {
        let lanes = width.map(Lanes::new);
        LinkEnd {
            current_speed: speed.map_or_else(Fact::default, |speed| Fact::known(speed, "sysfs")),
            current_width: lanes.map_or_else(Fact::default, |lanes| Fact::known(lanes, "sysfs")),
            ..LinkEnd::default()
        }
    }

    #[test]
    fn the_lower_end_counts_and_the_end_that_tells_counts_alone() {
        let nothing = Fact::default();
        let (fast, slow, silent) =
            (link(Some(GtPerSec::GEN3), Some(4)), link(Some(GtPerSec::GEN1), Some(8)), link(None, None));
        let of = |device, port| Ends {
            device: End::new(device, &nothing),
            port: Option::map(port, |port| End::new(port, &nothing)),
        };
        let state = |speed, width| Some((speed, Lanes::new(width)));
        assert_eq!(of(&fast, Some(&slow)).state(), state(GtPerSec::GEN1, 4));
        assert_eq!(of(&slow, Some(&fast)).state(), state(GtPerSec::GEN1, 4));
        assert_eq!(of(&silent, Some(&fast)).state(), state(GtPerSec::GEN3, 4));
        assert_eq!(of(&fast, None).state(), state(GtPerSec::GEN3, 4));
        assert_eq!(of(&silent, None).state(), None);
    }

    #[test]
    fn of_ends_that_agree_the_device_is_the_source() {
        let nothing = Fact::default();
        let (one, mut two) = (link(Some(GtPerSec::GEN3), Some(4)), link(Some(GtPerSec::GEN3), Some(4)));
        two.current_speed = Fact::known(GtPerSec::GEN3, "the port");
        let ends = Ends { device: End::new(&one, &nothing), port: Some(End::new(&two, &nothing)) };
        assert_eq!(ends.speed().map(|told| told.source.as_str()), Some("sysfs"));
    }

    const BRIDGE: u32 = 0x06_0400;
    const NVME: u32 = 0x01_0802;

    fn at(text: &str) -> PciAddress {
        text.parse().expect("an address")
    }

    /// A PCI Express function whose config space is closed.
    fn closed(class: u32, parent: Option<&str>) -> PciDevice {
        PciDevice {
            class: Fact::known(class, "class"),
            parent: parent.map(at),
            express: Fact::Denied { source: Default::default(), need: "root".into() },
            link: LinkEnd { max_speed: Fact::known(GtPerSec::GEN3, "max_link_speed"), ..LinkEnd::default() },
            ..PciDevice::default()
        }
    }

    fn tree(functions: &[(&str, PciDevice)]) -> BTreeMap<PciAddress, PciDevice> {
        functions.iter().map(|(address, device)| (at(address), device.clone())).collect()
    }

    #[test]
    fn ports_of_a_switch_are_told_by_where_they_sit() {
        let devices = tree(&[
            ("00:01.0", closed(BRIDGE, None)),
            ("01:00.0", closed(BRIDGE, Some("00:01.0"))),
            ("02:00.0", closed(BRIDGE, Some("01:00.0"))),
            ("02:01.0", closed(BRIDGE, Some("01:00.0"))),
            ("03:00.0", closed(NVME, Some("02:00.0"))),
            ("00:02.0", closed(BRIDGE, None)),
            ("05:00.0", closed(NVME, Some("00:02.0"))),
            ("00:17.0", closed(0x01_0601, None)),
        ]);
        for (address, want) in [
            ("00:01.0", PortType::RootPort),
            ("01:00.0", PortType::UpstreamPort),
            ("02:00.0", PortType::DownstreamPort),
            ("02:01.0", PortType::DownstreamPort),
            ("03:00.0", PortType::Endpoint),
            ("05:00.0", PortType::Endpoint),
            ("00:17.0", PortType::RootComplexIntegrated),
        ] {
            assert_eq!(role(&devices, at(address)), Some(want), "{address}");
        }
        assert_eq!(role(&devices, at("09:00.0")), None);
    }

    #[test]
    fn conventional_pci_has_no_role() {
        let mut conventional = closed(BRIDGE, None);
        conventional.link = LinkEnd::default();
        conventional.express = Fact::absent("/sys/bus/pci/devices/0000:00:1e.0/config");
        let mut card = closed(0x02_0000, Some("00:1e.0"));
        card.link = LinkEnd::default();
        card.express = Fact::absent("config");
        let bridge_to_pci = closed(BRIDGE, Some("00:1c.0"));
        let devices = tree(&[
            ("00:1e.0", conventional),
            ("05:00.0", card),
            ("00:1c.0", closed(BRIDGE, None)),
            ("06:00.0", bridge_to_pci),
        ]);
        assert_eq!(role(&devices, at("00:1e.0")), None);
        assert_eq!(role(&devices, at("05:00.0")), None);
        assert_eq!(role(&devices, at("06:00.0")), Some(PortType::PciBridge));
    }

    #[test]
    fn a_bridge_below_a_bridge_of_the_root_bus_is_a_port_where_a_link_is_below_it() {
        let bare = || PciDevice { link: LinkEnd::default(), ..closed(BRIDGE, None) };
        let below = |parent| PciDevice { parent: Some(at(parent)), ..bare() };
        let devices = tree(&[
            ("00:1c.0", bare()),
            ("0a:00.0", below("00:1c.0")),
            ("0a:01.0", below("00:1c.0")),
            ("0b:00.0", closed(NVME, Some("0a:00.0"))),
        ]);
        assert_eq!(role(&devices, at("0a:00.0")), Some(PortType::DownstreamPort));
        assert_eq!(role(&devices, at("0b:00.0")), Some(PortType::Endpoint));
    }

    #[test]
    fn functions_above_each_other_in_a_circle_have_no_role() {
        let devices = tree(&[
            ("01:00.0", closed(BRIDGE, Some("02:00.0"))),
            ("02:00.0", closed(BRIDGE, Some("01:00.0"))),
            ("03:00.0", closed(BRIDGE, Some("03:00.0"))),
        ]);
        assert_eq!(role(&devices, at("01:00.0")), None);
        assert_eq!(role(&devices, at("03:00.0")), None);
    }

    proptest! {
        #[test]
        fn any_parents_give_an_answer(parents in prop::collection::vec(0u8..20, 1..20)) {
            let devices: BTreeMap<PciAddress, PciDevice> = (0u8..).zip(&parents).map(|(bus, parent)| {
                let above = PciAddress { bus: *parent, ..PciAddress::default() };
                let mut device = closed(BRIDGE, None);
                device.parent = (above.bus != 19).then_some(above);
                (PciAddress { bus, ..PciAddress::default() }, device)
            }).collect();
            for address in devices.keys() {
                let _ = role(&devices, *address);
            }
        }
    }
}
