//! Which part a function plays in the PCI Express tree, also where config space is closed to us.

use std::collections::BTreeMap;

use super::{PciAddress, PciDevice, PortType};

/// No tree of bridges is deeper: every bridge starts a bus, and a domain has 256.
const DEEPEST: usize = 256;

/// The role of the function at `address`: what its config space says, else what follows from where it sits. `None` for
/// conventional PCI, for a function that is not in `devices`, and where neither tells.
///
/// A bridge on a root bus is a root port, unless all below it is conventional PCI. A bridge below a root port or
/// downstream port is the upstream port of a switch when it has bridges below it, and these are downstream ports;
/// without any it leads to conventional PCI.
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
        (PortType::RootPort | PortType::DownstreamPort, true) => Some(PortType::PciBridge),
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
