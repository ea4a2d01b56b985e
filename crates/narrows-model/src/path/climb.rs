//! From a PCI function up to main memory: its link, the switches and their links, the root port, the chipset, the
//! socket.

use super::build::Catalogued;
use super::graph::NewHop;
use super::{HopSpec, SocketHop, UplinkHop, link};
use narrows_machine::Machine;
use narrows_machine::pci::{self, PciAddress, PciDevice, PortType};

/// More bridges in a row than any machine has (256 buses for a domain): the end of a climb in circles.
const MOST_BRIDGES: usize = 256;

/// The function at `address` and the bridges above it, up to the one on the root bus.
pub(super) fn ancestry(machine: &Machine, address: PciAddress) -> Vec<&PciDevice> {
    let mut chain: Vec<&PciDevice> = Vec::new();
    let mut next = Some(address);
    while let Some(device) = next.and_then(|address| machine.pci.get(&address)) {
        // A function that is no bridge (Intel's VMD) can stand above others, but no link leads up to it.
        if chain.len() > MOST_BRIDGES || (!chain.is_empty() && !device.is_bridge()) {
            break;
        }
        chain.push(device);
        next = device.parent;
    }
    chain
}

/// The hops from a function to memory, in the order that read data takes. `reader` is the NUMA node of the processors
/// that read.
pub(super) fn steps(known: Catalogued<'_>, address: PciAddress, reader: Option<u32>) -> Vec<NewHop> {
    let machine = known.machine;
    let chain = ancestry(machine, address);
    let mut steps = Vec::new();
    let role = |device: &PciDevice| pci::role(&machine.pci, device.address);
    let leads_down =
        |device: &PciDevice| matches!(role(device), Some(PortType::RootPort | PortType::DownstreamPort));
    for (at, device) in chain.iter().enumerate() {
        let is_switch = at > 0 && role(device) == Some(PortType::UpstreamPort);
        // A chipset of which nothing behind it is known is still a chipset.
        if is_switch || at == 0 && device.is_bridge() && known.chipset_at(device.address).is_some() {
            steps.push(switch(known, device.address));
        }
        let port = chain.get(at + 1).copied();
        if !leads_down(device) && port.is_none_or(leads_down) {
            steps.extend(link::step(known, device, port));
        } else if at == 0 && leads_down(device) {
            // A port that was asked about by itself shows its own end of the link below it.
            steps.extend(link::step(known, device, None));
        }
    }
    if let Some(root) = chain.last() {
        let uplink = chipset_uplink(known, root.address);
        steps.extend(uplink.map(|hop| NewHop::new(hop.address, hop.name.clone(), HopSpec::Chipset(hop))));
    }
    steps.extend(socket(known, node(machine, address), reader));
    steps
}

/// A switch, named by its upstream port; a chipset that is built as one is shown as the chipset.
fn switch(known: Catalogued<'_>, upstream: PciAddress) -> NewHop {
    let machine = known.machine;
    let chipset = known.chipset_at(upstream).cloned();
    let name = match &chipset {
        Some(chipset) => format!("{} chipset at {upstream}", chipset.name),
        None => {
            let id = machine.pci.get(&upstream).and_then(|device| device.id.value());
            let id = id.map_or_else(|| "PCIe".to_owned(), ToString::to_string);
            let part = known.switch_at(upstream).map_or(id, |switch| switch.name.clone());
            format!("{part} switch at {upstream}")
        }
    };
    let spec = if chipset.is_some() { HopSpec::Chipset } else { HopSpec::Switch };
    let hop = UplinkHop {
        name: name.clone(),
        address: upstream,
        chipset,
        behind: chipset_movers(machine, |chain| chain.iter().any(|device| device.address == upstream)),
    };
    NewHop::new(upstream, name, spec(hop))
}

/// The NUMA node of a function, or that of the nearest bridge above it that the firmware gives one.
pub(super) fn node(machine: &Machine, address: PciAddress) -> Option<u32> {
    ancestry(machine, address).iter().find_map(|device| device.numa_node.get())
}

/// Whether the machine has more than one place to be: NUMA nodes or sockets.
pub(super) fn has_places(machine: &Machine) -> bool {
    machine.cpus.nodes.len() > 1 || machine.cpus.sockets.get().is_some_and(|sockets| sockets > 1)
}

/// The way from the device's node to that of the reader. Data that stays on its node has this hop too, with distance
/// 10 (ACPI specification, System Locality Distance Information Table), so that a person sees where it is.
fn socket(known: Catalogued<'_>, device: Option<u32>, reader: Option<u32>) -> Option<NewHop> {
    const LOCAL: u32 = 10;
    let machine = known.machine;
    let (device_node, reader_node) = (device?, reader?);
    if !has_places(machine) {
        return None;
    }
    let nodes = &machine.cpus.nodes;
    let at = nodes.iter().position(|node| node.id == reader_node);
    let listed =
        nodes.iter().find(|node| node.id == device_node).and_then(|node| node.distances.get(at?).copied());
    let is_local = device_node == reader_node;
    let name = match is_local {
        true => format!("NUMA node {device_node}, local"),
        false => format!("NUMA node {device_node} to node {reader_node}"),
    };
    // Firmware without distances: Linux takes 20 for remote (`include/linux/topology.h`, REMOTE_DISTANCE).
    let distance = listed.unwrap_or(if is_local { LOCAL } else { 2 * LOCAL });
    let hop = SocketHop { device_node, reader_node, distance, platform: known.processor().cloned() };
    let key = format!("{device_node}-{reader_node}");
    Some(NewHop::new(key, name, HopSpec::Socket(Box::new(hop))))
}

// Is a function behind the chipset?
//
// The uplink of an AMD chipset is a PCIe link that sysfs shows, so the chipset is met as a switch on the way up. That
// of an Intel chipset (DMI) is invisible: which functions of bus 0 belong to it is known from their device numbers.

/// Where every Intel chipset has its LPC or eSPI bridge, whose id says which chipset it is (chipset datasheets, "PCI
/// Devices and Functions").
const LPC: PciAddress = PciAddress { domain: 0, bus: 0, device: 0x1f, function: 0 };

/// The first device number on bus 0 that belongs to the chipset. Below it are the processor's own ports: 01.x and
/// 06.x of desktop processors, 01.x to 03.x of Xeon E5, 07.x for Thunderbolt; the chipset has 11 to 1f (SATA 11 and
/// 17, USB 14, network 19, ports 1a to 1d; chipset datasheets, and slot records of the boards in `data/boards`).
const FIRST_OF_CHIPSET: u8 = 0x10;

/// The chipset's uplink, when the function `root` on a root bus hangs on a chipset that is known. A virtual machine has
/// none: its bridge imitates one (QEMU's `q35` an ICH9, `pc` a PIIX3), and nothing goes through what is not there.
fn chipset_uplink(known: Catalogued<'_>, root: PciAddress) -> Option<UplinkHop> {
    let machine = known.machine;
    if machine.cpus.hypervisor.value().is_some() {
        return None;
    }
    let chipset = known.chipset_at(LPC)?;
    is_behind(machine, root).then(|| UplinkHop {
        name: format!("{} chipset, {}", chipset.name, chipset.uplink),
        address: LPC,
        chipset: Some(chipset.clone()),
        behind: chipset_movers(machine, |chain| {
            chain.last().is_some_and(|root| is_behind(machine, root.address))
        }),
    })
}

/// Whether a port belongs to an Intel chipset by its place, be it one that the catalogue does not know.
pub(super) fn is_intel(machine: &Machine, port: PciAddress) -> bool {
    let bridge = machine.pci.get(&LPC);
    let by_id = bridge.and_then(|bridge| bridge.id.value()).is_some_and(|id| id.vendor == 0x8086);
    let by_name = bridge.and_then(|bridge| bridge.name.value()).is_some_and(|name| name.starts_with("Intel"));
    machine.cpus.hypervisor.value().is_none() && (by_id || by_name) && is_behind(machine, port)
}

/// Intel's Volume Management Device gives root ports a domain of their own and keeps their device numbers. That of a
/// desktop, on bus 0, takes ports of both processor and chipset.
fn is_behind(machine: &Machine, root: PciAddress) -> bool {
    let owner = machine.pci.get(&root).and_then(|root| root.domain_owner);
    let is_bus_0 = |address: PciAddress| address.domain == 0 && address.bus == 0;
    is_bus_0(owner.unwrap_or(root)) && root.device >= FIRST_OF_CHIPSET
}

/// The functions that move data and whose way up, from the function itself to the root bus, is `wanted`.
fn chipset_movers(machine: &Machine, wanted: impl Fn(&[&PciDevice]) -> bool) -> Vec<PciAddress> {
    let movers = machine.pci.values().filter(|device| moves_data(device)).map(|device| device.address);
    movers.filter(|address| wanted(&ancestry(machine, *address))).collect()
}

/// Whether a function moves enough data to matter: mass storage, network, display, video, SD hosts, FireWire,
/// USB, wireless, accelerators (PCI Code and ID Assignment Specification, class codes).
fn moves_data(device: &PciDevice) -> bool {
    const SERIAL_BUSES: [u32; 3] = [0x0c00, 0x0c03, 0x0c04];
    const VIDEO: u32 = 0x0400;
    const SD_HOST: u32 = 0x0805;
    const CO_PROCESSOR: u32 = 0x0b40;
    let is_other =
        |class: u32| SERIAL_BUSES.contains(&class) || [VIDEO, SD_HOST, CO_PROCESSOR].contains(&class);
    device.is_storage()
        || device.is_network()
        || device.is_display()
        || device.class.value().is_some_and(|class| class >> 16 == 0x0d || is_other(class >> 8))
}
