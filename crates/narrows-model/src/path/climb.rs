//! From a PCI function up to main memory: its link, the switches and their links, the root port, the chipset, the
//! socket.

use super::chipset;
use super::link;
use super::lookup::Published;
use super::{HopId, HopKind, HopSpec, SocketHop, UplinkHop};
use narrows_machine::Machine;
use narrows_machine::pci::{self, PciAddress, PciDevice, PortType};

/// More bridges in a row than any machine has (256 buses for a domain): the end of a climb in circles.
const MOST_BRIDGES: usize = 256;

/// One hop on the way up.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) id: HopId,
    pub(super) name: String,
    pub(super) spec: HopSpec,
}

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
pub(super) fn steps(
    machine: &Machine,
    published: Published<'_>,
    address: PciAddress,
    reader: Option<u32>,
) -> Vec<Step> {
    let chain = ancestry(machine, address);
    let mut steps = Vec::new();
    let role = |device: &PciDevice| pci::role(&machine.pci, device.address);
    let leads_down =
        |device: &PciDevice| matches!(role(device), Some(PortType::RootPort | PortType::DownstreamPort));
    for (at, device) in chain.iter().enumerate() {
        let is_switch = at > 0 && role(device) == Some(PortType::UpstreamPort);
        // A chipset of which nothing behind it is known is still a chipset.
        if is_switch || at == 0 && device.is_bridge() && published.chipset(machine, device.address).is_some()
        {
            steps.push(switch(machine, published, device.address));
        }
        let port = chain.get(at + 1).copied();
        if !leads_down(device) && port.is_none_or(leads_down) {
            steps.extend(link::step(machine, published, device, port));
        } else if at == 0 && leads_down(device) {
            // A port that was asked about by itself shows its own end of the link below it.
            steps.extend(link::step(machine, published, device, None));
        }
    }
    if let Some(root) = chain.last() {
        steps.extend(chipset::uplink(machine, published, root.address).map(|hop| Step {
            id: HopId::new(HopKind::Chipset, hop.address),
            name: hop.name.clone(),
            spec: HopSpec::Chipset(hop),
        }));
    }
    steps.extend(socket(machine, published, node(machine, address), reader));
    steps
}

/// A switch, named by its upstream port; a chipset that is built as one is shown as the chipset.
fn switch(machine: &Machine, published: Published<'_>, upstream: PciAddress) -> Step {
    let chipset = published.chipset(machine, upstream).cloned();
    let name = match &chipset {
        Some(chipset) => format!("{} chipset at {upstream}", chipset.name),
        None => {
            let id = machine.pci.get(&upstream).and_then(|device| device.id.value());
            let id = id.map_or_else(|| "PCIe".to_owned(), ToString::to_string);
            let part = published.switch(machine, upstream).map_or(id, |switch| switch.name.clone());
            format!("{part} switch at {upstream}")
        }
    };
    let is_chipset = chipset.is_some();
    let hop = UplinkHop {
        name: name.clone(),
        address: upstream,
        chipset,
        behind: chipset::movers(machine, |chain| chain.iter().any(|device| device.address == upstream)),
    };
    match is_chipset {
        true => Step { id: HopId::new(HopKind::Chipset, upstream), name, spec: HopSpec::Chipset(hop) },
        false => Step { id: HopId::new(HopKind::Switch, upstream), name, spec: HopSpec::Switch(hop) },
    }
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
fn socket(
    machine: &Machine,
    published: Published<'_>,
    device: Option<u32>,
    reader: Option<u32>,
) -> Option<Step> {
    const LOCAL: u32 = 10;
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
    let hop =
        SocketHop { device_node, reader_node, distance, platform: published.processor(machine).cloned() };
    let id = HopId::new(HopKind::Socket, format_args!("{device_node}-{reader_node}"));
    Some(Step { id, name, spec: HopSpec::Socket(Box::new(hop)) })
}
