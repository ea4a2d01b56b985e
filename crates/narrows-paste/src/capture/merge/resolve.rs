//! What follows only from several parts together.

use std::collections::{BTreeMap, BTreeSet};

use super::fill::{Fill, Than};
use narrows_machine::Machine;
use narrows_machine::block::Transport;
use narrows_machine::pci::{PciAddress, PciDevice};

/// A bridge whose first line was left out of one text, so that it has no address, and is in another: the one with the
/// same buses behind it and the same greatest link.
pub(super) fn unnamed_twins(pci: &mut BTreeMap<PciAddress, PciDevice>) {
    let unnamed: Vec<PciAddress> = pci.keys().filter(|address| address.is_unnamed()).copied().collect();
    for address in unnamed {
        let Some(device) = pci.get(&address) else { continue };
        let is_twin = |other: &&PciDevice| {
            !other.address.is_unnamed()
                && device.buses.value().is_some()
                && other.buses.value() == device.buses.value()
                && other.link.max_speed.value() == device.link.max_speed.value()
                && other.link.max_width.value() == device.link.max_width.value()
        };
        let mut twins = pci.values().filter(is_twin).map(|twin| twin.address);
        let (Some(twin), None) = (twins.next(), twins.next()) else { continue };
        if let (Some(device), Some(twin)) = (pci.remove(&address), pci.get_mut(&twin)) {
            twin.fill(device, Than::Same);
        }
    }
}

/// Gives each function the bridge above it: the one whose secondary bus it is on (PCI-to-PCI Bridge Architecture
/// Specification 1.2, section 3.2.5.3). One text may name the bridges, another what is behind them.
pub(super) fn parents(pci: &mut BTreeMap<PciAddress, PciDevice>) {
    let bridges: BTreeMap<(u32, u8), PciAddress> = pci
        .values()
        .filter_map(|bridge| {
            let buses = bridge.buses.value()?;
            // Buses are numbered downwards: one that leads to its own bus or back up was never set up.
            (buses.secondary > bridge.address.bus)
                .then_some(((bridge.address.domain, buses.secondary), bridge.address))
        })
        .collect();
    for device in pci.values_mut().filter(|device| device.parent.is_none()) {
        device.parent = bridges.get(&(device.address.domain, device.address.bus)).copied();
    }
    lone_pairs(pci);
}

/// People paste a function and the port above it with their link lines only. Both ends of a link say the same of its
/// state, so where just one port without bus numbers fits a function, it is the other end.
fn lone_pairs(pci: &mut BTreeMap<PciAddress, PciDevice>) {
    let taken: BTreeSet<PciAddress> = pci.values().filter_map(|device| device.parent).collect();
    let ports: Vec<PciDevice> = pci
        .values()
        .filter(|port| port.is_bridge() && !port.address.is_unnamed() && !taken.contains(&port.address))
        .filter(|port| port.buses.value().is_none())
        .cloned()
        .collect();
    let fits = |port: &PciDevice, device: &PciDevice| {
        let (one, two) = (&port.link, &device.link);
        port.address.domain == device.address.domain
            && port.address.bus < device.address.bus
            && one.current_speed.value().is_some_and(|speed| two.current_speed.value() == Some(speed))
            && one.current_width.value().is_some_and(|width| two.current_width.value() == Some(width))
    };
    let mut pairs: BTreeMap<PciAddress, Vec<PciAddress>> = BTreeMap::new();
    for device in pci.values().filter(|device| device.parent.is_none() && !device.address.is_unnamed()) {
        let mut above = ports.iter().filter(|port| fits(port, device));
        if let (Some(port), None) = (above.next(), above.next()) {
            pairs.entry(port.address).or_default().push(device.address);
        }
    }
    for (port, below) in pairs {
        // The functions of one card are below one port; of two cards only one can be.
        let card = below.first().map(|device| device.card());
        let is_one_card = below.iter().all(|device| Some(device.card()) == card);
        if is_one_card {
            for address in below {
                if let Some(device) = pci.get_mut(&address) {
                    device.parent = Some(port);
                }
            }
        }
    }
}

/// Where one text names the disks of the only NVMe controller and another its PCI function, both are the same.
pub(super) fn only_nvme(machine: &mut Machine) {
    let mut functions = machine.pci.values().filter(|device| device.is_nvme()).map(|device| device.address);
    let (Some(pci), None) = (functions.next(), functions.next()) else { return };
    let is_open =
        |transport: &Transport| matches!(transport, Transport::None | Transport::Other { pci: None, .. });
    let controller = |name: &str| {
        let rest = name.strip_prefix("nvme")?;
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, rest) = rest.split_at(digits);
        (!number.is_empty() && rest.starts_with('n')).then(|| format!("nvme{number}"))
    };
    let mut names: Vec<String> = machine.block.keys().filter_map(|name| controller(name)).collect();
    names.dedup();
    let [only] = names.as_slice() else { return };
    for (name, device) in &mut machine.block {
        if controller(name).is_some() && is_open(&device.transport) {
            device.transport = Transport::NvmePci { controller: only.clone(), pci };
        }
    }
}
