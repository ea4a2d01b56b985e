//! Endpoints that no disk and no interface is known of.
//!
//! On a machine that answers itself every disk and interface is there, and what has neither is of no interest. Of a
//! machine that was put together from texts often only `lspci` or a kernel log is there: then a function stands for
//! what hangs on it.

use std::collections::BTreeSet;

use super::Target;
use super::link::logs_errors;
use narrows_base::units::{GtPerSec, Lanes};
use narrows_machine::Machine;
use narrows_machine::block::Transport;
use narrows_machine::nic::Nic;
use narrows_machine::pci::{End, PciAddress, PciDevice, PortType};
use narrows_machine::usb::UsbDevice;

/// A network card of this many bit/s and more is shown beside disks, whatever its link.
const FAST: f64 = 10e9;

/// The endpoints of a captured machine that get a path of their own, one for each link and kind of function: every
/// endpoint with a PCI Express link where no text tells of block devices, else those storage and network controllers
/// that no known disk hangs on, and what a log of the kernel speaks of. A network card whose interface is named is shown
/// too, unless it is slow and its link is at its best, or a path to a server goes over it already.
pub(super) fn lone(machine: &Machine) -> Vec<PciAddress> {
    let has_disks = machine.block.values().any(|device| device.transport.function().is_some());
    let used = used(machine);
    let bridges: BTreeSet<PciAddress> = machine.pci.values().filter_map(|device| device.parent).collect();
    let logged: BTreeSet<PciAddress> = machine.log.iter().filter_map(|event| event.pci).collect();
    let mut seen = BTreeSet::new();
    let is_lone = |device: &&PciDevice| {
        !device.is_bridge()
            && !bridges.contains(&device.address)
            && !used.contains(&device.address)
            && !is_bookkeeping(device)
            && (has_link(device) || device.is_nvme() || is_fast(machine, device))
            && (!has_disks || device.is_storage() || device.is_network() || logged.contains(&device.address))
            && !is_plain_interface(machine, device)
    };
    let lone = machine.pci.values().filter(is_lone);
    let mut lone: Vec<PciAddress> =
        lone.filter(|device| seen.insert(group(device))).map(|device| device.address).collect();
    lone.extend(ports_with_errors(machine, &bridges));
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

/// Interfaces that no PCI function stands for: those that run below what they can, and all where no text tells of anything else.
pub(super) fn lone_nics(machine: &Machine) -> Vec<Target> {
    let is_alone = machine.block.is_empty() && machine.mounts.is_empty() && machine.pci.is_empty();
    let used = used_interfaces(machine);
    let is_lone = |nic: &&Nic| {
        let has_function = nic.pci.is_some_and(|pci| machine.pci.contains_key(&pci));
        let is_wire = !nic.is_virtual && nic.speed.value().is_some();
        is_wire
            && !has_function
            && !used.contains(&nic.name.as_str())
            && (is_alone || nic.is_slow().is_some())
    };
    machine.nics.values().filter(is_lone).map(|nic| Target::Nic(nic.name.clone())).collect()
}

/// Ports that nothing is known below, and of whose link a log tells errors: an empty socket with a bad wire, or a device
/// that the log does not name.
fn ports_with_errors(machine: &Machine, above: &BTreeSet<PciAddress>) -> Vec<PciAddress> {
    let ports = machine.pci.values().filter(|port| port.is_bridge() && !above.contains(&port.address));
    ports.map(|port| port.address).filter(|address| logs_errors(machine, *address)).collect()
}

/// The functions that a disk hangs on, or an interface that leads to storage.
fn used(machine: &Machine) -> BTreeSet<PciAddress> {
    let disks = machine.block.values().filter_map(|device| device.transport.function());
    let names = used_interfaces(machine).into_iter();
    let nics = names.flat_map(|name| below(machine, name)).filter_map(|nic| nic.pci);
    disks.chain(nics).collect()
}

/// The interfaces that lead to storage.
fn used_interfaces(machine: &Machine) -> Vec<&str> {
    let of_blocks = machine.block.values().filter_map(|device| match &device.transport {
        Transport::NvmeFabric(fabric) => Some(&fabric.remote),
        Transport::Iscsi(remote) => Some(remote),
        _ => None,
    });
    let remotes = of_blocks.chain(machine.mounts.iter().filter_map(|mount| mount.remote.as_ref()));
    remotes.filter_map(|remote| remote.interface.value().map(String::as_str)).collect()
}

/// An interface and those that it is made of.
fn below<'m>(machine: &'m Machine, name: &str) -> Vec<&'m Nic> {
    let mut found: Vec<&Nic> = machine.nics.get(name).into_iter().collect();
    let mut at = 0;
    while let Some(nic) = found.get(at) {
        let lower = nic.lower.iter().filter_map(|name| machine.nics.get(name));
        let is_new = |nic: &&Nic| found.iter().all(|known| known.name != nic.name);
        let new: Vec<&Nic> = lower.filter(is_new).collect();
        found.extend(new);
        at += 1;
    }
    found
}

/// Whether a function only counts or stands for others: dummies of the processor, system peripherals (PCI Code and ID
/// Assignment Specification, base classes 08 and 13).
fn is_bookkeeping(device: &PciDevice) -> bool {
    const SD_HOST: u32 = 0x0805;
    let class = device.class.value();
    class.is_some_and(|class| matches!(class >> 16, 0x08 | 0x13) && class >> 8 != SD_HOST)
}

/// Whether an interface of this function is that of a fast network card.
fn is_fast(machine: &Machine, device: &PciDevice) -> bool {
    let mut nics = machine.nics.values().filter(|nic| nic.pci == Some(device.address));
    nics.any(|nic| nic.speed.value().is_some_and(|speed| speed.get() >= FAST))
}

/// Whether a function carries an interface that is nothing to speak of: its wire is slow, its link could not carry a fast
/// one, and runs at its best.
fn is_plain_interface(machine: &Machine, device: &PciDevice) -> bool {
    let has_interface = machine.nics.values().any(|nic| nic.pci == Some(device.address) && !nic.is_virtual);
    let end = End::of(device);
    let bits = |(speed, width): (GtPerSec, Lanes)| f64::from(speed.mega()) * 1e6 * f64::from(width.get());
    let could_be_fast = end.most().is_some_and(|most| bits(most) >= FAST);
    let is_below = end.state().zip(end.most()).is_some_and(|(now, most)| bits(now) < bits(most));
    has_interface && !is_fast(machine, device) && !could_be_fast && !is_below
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
