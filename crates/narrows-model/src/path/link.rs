//! A PCIe link with both its ends, and whether its numbers mean anything.

use super::climb::Step;
use super::lookup::Published;
use super::slot;
use super::{HopId, HopKind, HopSpec, LinkHop, LinkPort};
use narrows_base::fact::Fact;
use narrows_base::units::{GtPerSec, Lanes};
use narrows_machine::Machine;
use narrows_machine::log::LogKind;
use narrows_machine::pci::{End, PciAddress, PciDevice, PciId, PortType};

/// The link above `device`, whose other end is `port`; `None` when there is none to see.
pub(super) fn step(
    machine: &Machine,
    published: Published<'_>,
    device: &PciDevice,
    port: Option<&PciDevice>,
) -> Option<Step> {
    let first = first_function(machine, device, port);
    let is_integrated =
        first.express.value().is_some_and(|express| express.port == PortType::RootComplexIntegrated);
    let is_shown = match machine.cpus.hypervisor.value() {
        Some(_) => runs(first) || port.is_some_and(runs),
        None => {
            says_anything(first) || port.is_some_and(says_anything) || logs_errors(machine, first.address)
        }
    };
    if is_integrated || !is_shown {
        return None;
    }
    let place = slot::find(machine, published, first.address, port.map(|port| port.address));
    let hop = LinkHop {
        device: end(first),
        port: port.map(|port| LinkPort { is_virtual: machine.is_virtual(), ..end(port) }),
        slot: place.name,
        board_slot: place.board,
        not_a_wire: not_a_wire(machine, first, port),
        part: super::part::of(machine, published, first),
    };
    let id = HopId::new(HopKind::Link, first.address);
    Some(Step { id, name: name(&hop), spec: HopSpec::Link(Box::new(hop)) })
}

/// The functions of a card, and its virtual ones, share one link. It goes by the first of them.
fn first_function<'m>(
    machine: &'m Machine,
    device: &'m PciDevice,
    port: Option<&PciDevice>,
) -> &'m PciDevice {
    let Some(port) = port else { return device };
    machine.pci.values().find(|other| other.parent == Some(port.address)).unwrap_or(device)
}

fn end(device: &PciDevice) -> LinkPort {
    LinkPort {
        address: device.address,
        id: device.id.clone(),
        class: device.class.clone(),
        link: device.link.clone(),
        express: device.express.clone(),
        power_state: device.power_state.clone(),
        aer: device.aer.clone(),
        is_virtual: false,
    }
}

/// Whether this end shows both at which speed and at which width the link runs.
fn runs(device: &PciDevice) -> bool {
    End::of(device).state().is_some()
}

/// Whether this end says anything of a link, be it garbled, or be it only that it had errors.
fn says_anything(device: &PciDevice) -> bool {
    fn is_there<T>(fact: &Fact<T>) -> bool {
        !matches!(fact, Fact::Absent { .. })
    }
    let end = &device.link;
    is_there(&end.current_speed) || is_there(&end.current_width) || device.aer.value().is_some()
}

/// Whether a log tells errors of this function, be it nothing else.
pub(super) fn logs_errors(machine: &Machine, address: PciAddress) -> bool {
    let is_error = |kind: &LogKind| matches!(kind, LogKind::AerError { .. } | LogKind::AerMessage(_));
    machine.log.iter().any(|event| event.pci == Some(address) && is_error(&event.kind))
}

/// `PCIe 2.0 x1 link of 0000:02:00.0, slot PCIEX16_2`.
fn name(hop: &LinkHop) -> String {
    let (speed, width) = (hop.state().speed(), hop.state().width());
    let mut name = "PCIe".to_owned();
    if hop.not_a_wire.is_none() {
        name += &speed.and_then(|speed| generation(speed.value)).unwrap_or_default();
        name += &width.map(|width| format!(" {}", width.value)).unwrap_or_default();
    }
    name += &format!(" link of {}", hop.device.address);
    match &hop.slot {
        Some(slot) => name + &format!(", slot {slot}"),
        None => name,
    }
}

fn generation(speed: GtPerSec) -> Option<String> {
    speed.pcie_generation().map(|generation| format!(" {generation}.0"))
}

/// Why the numbers of a link say nothing about its rate; `None` for a link that is a wire.
fn not_a_wire(machine: &Machine, device: &PciDevice, port: Option<&PciDevice>) -> Option<String> {
    let ends = || [Some(device), port].into_iter().flatten();
    if is_emulated(machine, device, port) {
        Some("emulated by QEMU".to_owned())
    } else if ends().any(is_tunnel) || listed(device, THUNDERBOLT) && ends().any(runs_slowest) {
        Some("tunnelled through Thunderbolt or USB4, whose ports always say 2.5 GT/s".to_owned())
    } else if ends().any(|end| listed(end, AMD_INTERNAL) || is_named_internal(end)) {
        Some("inside the processor".to_owned())
    } else if listed(device, INTEL_INTERNAL) || is_faster_than_its_link(machine, device) {
        Some("inside the chip, whose functions say 2.5 GT/s x1 whatever they move".to_owned())
    } else if port.is_none() && machine.cpus.hypervisor.value().is_none() && !is_cut_off(machine, device) {
        Some(match device.is_bridge() {
            true => "no text tells what is at the other end of this port".to_owned(),
            false => "on the root bus, inside the processor or chipset".to_owned(),
        })
    } else {
        None
    }
}

/// Whether a port of a network card runs at 10 Gbit/s and more, and the most that its link could do is 2.5 GT/s x1: what a
/// log tells without numbers of devices of the functions in [`INTEL_INTERNAL`], and of newer ones.
fn is_faster_than_its_link(machine: &Machine, device: &PciDevice) -> bool {
    const FAST: f64 = 10e9;
    let end = End::of(device);
    let is_least = end.most().is_some_and(|(speed, width)| speed == GtPerSec::GEN1 && width.get() == 1);
    let mut ports = machine
        .nics
        .values()
        .filter(|nic| nic.pci.is_some_and(|at| at.card() == device.address.card()) && !nic.is_virtual);
    is_least && ports.any(|nic| nic.speed.value().is_some_and(|speed| speed.get() >= FAST))
}

/// Whether the port may be missing because no text tells of it: below a bridge, bus numbers begin at 1. (So do those of
/// root buses of further sockets, but functions there that are inside the processor show no link.)
fn is_cut_off(machine: &Machine, device: &PciDevice) -> bool {
    machine.captured.is_some() && device.address.bus != 0
}

/// QEMU's own devices and ports. An emulated copy of a real device shows itself by the link that QEMU gives to each
/// (`hw/pci/pcie.c`, `pcie_cap_fill_link_ep_usp`: 2.5 GT/s x1) below an emulated port; a device that is passed through
/// keeps the numbers of its hardware.
fn is_emulated(machine: &Machine, device: &PciDevice, port: Option<&PciDevice>) -> bool {
    const VENDORS: [u16; 2] = [0x1af4, 0x1b36];
    const SWITCH_PORTS: &[(u16, &[u16])] = &[(0x104c, &[0x8232, 0x8233])];
    let Some(_) = machine.cpus.hypervisor.value() else { return false };
    let is_qemu = |end: &PciDevice| end.id.value().is_some_and(|id| VENDORS.contains(&id.vendor));
    let is_qemu_model = || {
        machine.block.values().any(|disk| {
            disk.transport.function() == Some(device.address)
                && disk.model.value().is_some_and(|model| model.starts_with("QEMU"))
        })
    };
    let is_least = End::of(device).most() == Some((GtPerSec::GEN1, Lanes::new(1)));
    let is_below_qemu = port.is_some_and(|port| is_qemu(port) || listed(port, SWITCH_PORTS));
    is_qemu(device) || (is_least && is_below_qemu) || is_qemu_model()
}

/// A tunnelled port reports 2.5 GT/s whatever the tunnel carries (USB4 specification, section 11.2.1). The port of the
/// same controller that leads on to a drive is a real one and reports what it can.
fn is_tunnel(end: &PciDevice) -> bool {
    let state = End::of(end);
    let most = state.max_speed().or_else(|| state.speed());
    listed(end, THUNDERBOLT) && most.is_some_and(|speed| speed.value == GtPerSec::GEN1)
}

/// A dock or drive enclosure can do more by its own registers, and its end of the tunnel runs at 2.5 GT/s all the same.
fn runs_slowest(end: &PciDevice) -> bool {
    End::of(end).speed().is_some_and(|speed| speed.value == GtPerSec::GEN1)
}

pub(super) fn listed(device: &PciDevice, ids: &[(u16, &[u16])]) -> bool {
    let Some(PciId { vendor, device }) = device.id.get() else { return false };
    ids.iter().any(|(of, devices)| *of == vendor && devices.contains(&device))
}

/// Bridges of Thunderbolt and USB4 controllers and root ports that are tunnelled (<https://pci-ids.ucw.cz>, entries
/// named Thunderbolt or USB4 with class PCI bridge, autumn 2026).
pub(super) const THUNDERBOLT: &[(u16, &[u16])] = &[
    (
        0x8086,
        &[
            0x0b26, 0x1133, 0x1136, 0x1513, 0x151a, 0x151b, 0x1547, 0x1548, 0x1549, 0x1567, 0x1569, 0x156b,
            0x156d, 0x1576, 0x1578, 0x157e, 0x15c0, 0x15d3, 0x15da, 0x15e7, 0x15ea, 0x15ef, 0x461f, 0x462f,
            0x463f, 0x466e, 0x5780, 0x5783, 0x5786, 0x57a4, 0x8a1d, 0x8a1f, 0x8a21, 0x8a23, 0x9a23, 0x9a25,
            0x9a27, 0x9a29, 0x9a2b, 0x9a2d, 0x9a2f, 0x9a31, 0xa71f, 0xa72f, 0xa76e, 0xd34e, 0xd34f, 0xd360,
            0xd44e, 0xd44f, 0xd460,
        ],
    ),
    (0x1022, &[0x14cd, 0x14ef, 0x150a]),
    (0x106b, &[0x1010]),
    (0x1b21, &[0x2421, 0x2423]),
];

/// Ports of AMD processors that lead to functions on the same chip (<https://pci-ids.ucw.cz>, entries named
/// "Internal … GPP Bridge", autumn 2026).
const AMD_INTERNAL: &[(u16, &[u16])] = &[(
    0x1022,
    &[
        0x1110, 0x1111, 0x1112, 0x13e5, 0x13e6, 0x1454, 0x1484, 0x14a7, 0x14b9, 0x14dd, 0x14eb, 0x150c,
        0x1555, 0x15db, 0x15dc, 0x15fd, 0x15fe, 0x162a, 0x1635, 0x1648,
    ],
)];

/// The same by the name that lspci prints, where it prints no numbers: `Starship/Matisse Internal PCIe GPP Bridge 0 to bus[E:B]`.
fn is_named_internal(end: &PciDevice) -> bool {
    let name = end.name.value().filter(|_| end.id.value().is_none());
    name.is_some_and(|name| name.contains("Internal") && name.contains("GPP Bridge"))
}

/// Network functions inside Intel's chipsets and systems on a chip: X722, X552, X553 (kernel
/// `drivers/net/ethernet/intel/i40e/i40e_main.c`, "Devices on the IOSF bus do not have this information and will report
/// PCI Gen 1 x 1 by default"; `ixgbe/ixgbe_x550.c`, `ixgbe_get_bus_info_X550em`).
const INTEL_INTERNAL: &[(u16, &[u16])] = &[(
    0x8086,
    &[
        0x15aa, 0x15ab, 0x15ac, 0x15ad, 0x15ae, 0x15c2, 0x15c3, 0x15c4, 0x15c6, 0x15c7, 0x15c8, 0x15ce,
        0x15e4, 0x15e5, 0x37cc, 0x37ce, 0x37cf, 0x37d0, 0x37d1, 0x37d2, 0x37d3, 0x37d4,
    ],
)];
