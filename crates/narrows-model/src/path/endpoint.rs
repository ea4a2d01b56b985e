//! Endpoints that no disk and no interface is known of.
//!
//! On a machine that answers itself every disk and interface is there, and what has neither is of no interest. Of a
//! machine that was put together from texts often only `lspci` or a kernel log is there: then a function stands for
//! what hangs on it.

use std::collections::BTreeSet;

use super::{Target, disk};
use narrows_machine::Machine;
use narrows_machine::block::Transport;
use narrows_machine::pci::{PciAddress, PciDevice, PortType};
use narrows_machine::usb::UsbDevice;

/// The endpoints of a captured machine that get a path of their own, one for each link and kind of function: every
/// endpoint with a PCI Express link where no text tells of block devices, else those storage and network controllers
/// that no known disk or interface hangs on, and what a log of the kernel speaks of.
pub(super) fn lone(machine: &Machine) -> Vec<PciAddress> {
    if machine.captured.is_none() {
        return Vec::new();
    }
    let has_disks = machine.block.values().any(|device| disk::function(&device.transport).is_some());
    let used = used(machine);
    let bridges: BTreeSet<PciAddress> = machine.pci.values().filter_map(|device| device.parent).collect();
    let logged: BTreeSet<PciAddress> = machine.log.iter().filter_map(|event| event.pci).collect();
    let mut seen = BTreeSet::new();
    let is_lone = |device: &&PciDevice| {
        !device.is_bridge()
            && !bridges.contains(&device.address)
            && !used.contains(&device.address)
            && (has_link(device) || device.is_nvme())
            && (!has_disks || device.is_storage() || device.is_network() || logged.contains(&device.address))
    };
    let lone = machine.pci.values().filter(is_lone);
    let lone: Vec<PciAddress> =
        lone.filter(|device| seen.insert(group(device))).map(|device| device.address).collect();
    if lone.is_empty() && machine.block.is_empty() { lowest_bridges(machine, &bridges) } else { lone }
}

/// Where a text shows bridges only, those that nothing is known below stand for what hangs on them.
fn lowest_bridges(machine: &Machine, above: &BTreeSet<PciAddress>) -> Vec<PciAddress> {
    let bridges =
        machine.pci.values().filter(|device| device.is_bridge() && !above.contains(&device.address));
    bridges.filter(|device| device.link.is_present()).map(|device| device.address).collect()
}

/// USB devices that store data and are no known disk.
pub(super) fn lone_usb(machine: &Machine) -> Vec<Target> {
    if machine.captured.is_none() {
        return Vec::new();
    }
    let disks: BTreeSet<&str> = machine
        .block
        .values()
        .filter_map(|device| match &device.transport {
            Transport::Usb(usb) => Some(usb.device.as_str()),
            _ => None,
        })
        .collect();
    let is_disk = |device: &UsbDevice| device.name.value().is_some_and(|name| disks.contains(name.as_str()));
    let lone = machine.usb.values().filter(|device| device.is_storage() && !is_disk(device));
    lone.map(|device| Target::Usb(device.address)).collect()
}

/// The functions that a disk or an interface hangs on.
fn used(machine: &Machine) -> BTreeSet<PciAddress> {
    let disks = machine.block.values().filter_map(|device| disk::function(&device.transport));
    disks.chain(machine.nics.values().filter_map(|nic| nic.pci)).collect()
}

/// Whether a function has a link, be it one whose state could not be read.
fn has_link(device: &PciDevice) -> bool {
    let port = device.express.value().map(|express| express.port);
    port != Some(PortType::RootComplexIntegrated)
        && (port == Some(PortType::Endpoint) || device.link.is_present())
}

/// What the functions of one card share: the bus and device that they are on, and the kind that they are of. The ports
/// of a network card, and its virtual functions, are one; the sound of a graphics adapter is another.
fn group(device: &PciDevice) -> (PciAddress, Option<u32>) {
    let link = device.parent.unwrap_or(device.address.card());
    (link, device.class.value().map(|class| class >> 16))
}
