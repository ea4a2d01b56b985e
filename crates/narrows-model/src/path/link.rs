//! A PCIe link with both its ends, whether its numbers mean anything, and what its device end is.

use super::build::Catalogued;
use super::climb::ancestry;
use super::graph::NewHop;
use super::{HopSpec, LinkHop, slot};
use narrows_base::fact::{Fact, Source};
use narrows_base::units::{GtPerSec, Lanes};
use narrows_machine::Machine;
use narrows_machine::block::Transport;
use narrows_machine::log::LogKind;
use narrows_machine::pci::{End, PciAddress, PciDevice, PciId, PortType};

/// The link above `device`, whose other end is `port`; `None` when there is none to see.
pub(super) fn step(known: Catalogued<'_>, device: &PciDevice, port: Option<&PciDevice>) -> Option<NewHop> {
    let machine = known.machine;
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
    let (slot, board_slot) = slot::find_slot(known, first.address, port.map(|port| port.address));
    let hop = LinkHop {
        drive: drive_behind(machine, first.address),
        device: first.clone(),
        port: port.cloned(),
        is_port_virtual: machine.is_virtual(),
        slot,
        board_slot,
        not_a_wire: not_a_wire(machine, first, port),
        part: link_part(known, first),
    };
    Some(NewHop::new(first.address, name(&hop), HopSpec::Link(Box::new(hop))))
}

/// The only drive behind a function whose address no text tells.
fn drive_behind(machine: &Machine, address: PciAddress) -> Option<String> {
    if !address.is_unnamed() {
        return None;
    }
    let mut behind = machine.block.values().filter(|device| match &device.transport {
        Transport::NvmePci { pci, .. } => *pci == address && device.partition_of.is_none(),
        _ => false,
    });
    behind.next().filter(|_| behind.next().is_none()).map(|device| device.name.clone())
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
    name += &format!(" link of {}", hop.whose());
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
const THUNDERBOLT: &[(u16, &[u16])] = &[
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

/// What the device end of a link is a part of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LinkPart {
    /// A device of its own, as its class says.
    #[default]
    Device,
    /// A graphics card: the switch on it, or a bridge that leads to graphics only.
    Graphics,
    /// A Thunderbolt or USB4 controller, which is soldered.
    Thunderbolt,
    /// The chipset of the board, or a function that is on the die of the processor.
    Platform,
}

impl LinkPart {
    /// Why nobody can move it to another slot; `None` of what may be a card.
    pub const fn why_fixed(self) -> Option<&'static str> {
        match self {
            Self::Device | Self::Graphics => None,
            Self::Thunderbolt => Some("the controller is soldered"),
            Self::Platform => Some("the platform wires it so"),
        }
    }
}

/// What explains that the link of an idle device is slower than it will be under load.
#[derive(Debug, Clone)]
pub struct PowerSaving<'a> {
    pub fact: &'static str,
    /// What it says.
    pub value: String,
    /// Where it was read.
    pub source: &'a Source,
}

impl LinkHop {
    /// Whether the device end is a graphics adapter or an accelerator, or leads to such only. Their links start slow, and
    /// speed up when they are busy.
    pub fn is_graphics(&self) -> bool {
        self.part == LinkPart::Graphics || self.device.is_display()
    }

    /// What explains that this link is slow while its device is idle; `None` where the speed now is what counts.
    ///
    /// The device is a graphics adapter, which start slow; or it sleeps; or it stores data and its link may go to L1
    /// between requests (PCI Express Base Specification, Active State Power Management).
    pub fn saves_power(&self) -> Option<PowerSaving<'_>> {
        let device = &self.device;
        if self.is_graphics() && self.may_be_faster_than_now() {
            let source = device.class.source();
            return Some(PowerSaving { fact: "kind", value: "a graphics adapter".to_owned(), source });
        }
        if let Fact::Known { value, source } = &device.power_state
            && !["D0", "unknown"].contains(&value.as_str())
        {
            return Some(PowerSaving { fact: "power state", value: value.clone(), source });
        }
        let has_l1 = device.express.value().is_some_and(|express| express.aspm_l1);
        (has_l1 && device.is_storage()).then(|| PowerSaving {
            fact: "power saving of the link",
            value: "L1 is on".to_owned(),
            source: device.express.source(),
        })
    }

    /// Whether a speed below the device's best can be one of idling: the port is known to do more, or the link is at the
    /// lowest, where adapters idle that every port lets run faster.
    fn may_be_faster_than_now(&self) -> bool {
        let now = self.state().speed().map(|told| told.value);
        let port = self.true_port().and_then(|port| End::of(port).max_speed());
        port.is_some() || now == Some(GtPerSec::GEN1)
    }
}

/// The switch on a graphics card of AMD, upstream and downstream (<https://pci-ids.ucw.cz>, entries 1478 and 1479 of
/// vendor 1002, autumn 2026).
const GRAPHICS_SWITCH: &[(u16, &[u16])] = &[(0x1002, &[0x1478, 0x1479])];

/// Functions of AMD's chipsets that sit right below the uplink beside its bridge, and those that are on the die of the
/// processor: USB, SATA and the dummies that stand for them (<https://pci-ids.ucw.cz>, entries named "Chipset USB",
/// "Chipset SATA", "FCH", "Reserved SPP", "PCIe Dummy Function", autumn 2026).
const PLATFORM: &[(u16, &[u16])] = &[(
    0x1022,
    &[
        0x43b5, 0x43b6, 0x43b7, 0x43b8, 0x43b9, 0x43ba, 0x43bb, 0x43bc, 0x43c8, 0x43d0, 0x43d5, 0x43eb,
        0x43ec, 0x43ed, 0x43ee, 0x43f6, 0x43f7, 0x145a, 0x148a, 0x1485, 0x7901, 0x7904, 0x149c, 0x145c,
    ],
)];

/// The same functions by the names that lspci prints, where it prints no numbers.
const PLATFORM_NAMES: &[&str] = &["FCH SATA", "Reserved SPP", "PCIe Dummy Function", "Series Chipset"];

fn is_named(device: &PciDevice, names: &[&str]) -> bool {
    let name = device.name.value().filter(|_| device.id.value().is_none());
    name.is_some_and(|name| names.iter().any(|part| name.contains(part)))
}

/// What the device end of the link of `device` is a part of.
fn link_part(known: Catalogued<'_>, device: &PciDevice) -> LinkPart {
    let is_chipset = || device.is_bridge() && known.chipset_at(device.address).is_some();
    if listed(device, GRAPHICS_SWITCH) || device.is_bridge() && leads_to_graphics(known.machine, device) {
        LinkPart::Graphics
    } else if listed(device, THUNDERBOLT) {
        LinkPart::Thunderbolt
    } else if listed(device, PLATFORM) || is_named(device, PLATFORM_NAMES) || is_chipset() {
        LinkPart::Platform
    } else {
        LinkPart::Device
    }
}

/// Whether a bridge leads to graphics, and to no storage and no network.
fn leads_to_graphics(machine: &Machine, bridge: &PciDevice) -> bool {
    let is_below = |device: &PciDevice| {
        ancestry(machine, device.address).iter().skip(1).any(|above| above.address == bridge.address)
    };
    let is_data = |device: &PciDevice| device.is_storage() || device.is_network();
    let devices = || machine.pci.values();
    devices().any(|device| device.is_display() && is_below(device))
        && !devices().any(|device| is_data(device) && is_below(device))
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_machine::pci::{PciAddress, PciId};

    fn function(bus: u8, class: u32, parent: Option<u8>) -> PciDevice {
        let at = |bus| PciAddress { bus, ..PciAddress::default() };
        PciDevice {
            address: at(bus),
            class: Fact::known(class, "class"),
            parent: parent.map(at),
            ..PciDevice::default()
        }
    }

    fn machine(leaf: u32) -> Machine {
        let functions =
            [function(1, 0x06_0400, None), function(2, 0x06_0400, Some(1)), function(3, leaf, Some(2))];
        Machine { pci: functions.into_iter().map(|f| (f.address, f)).collect(), ..Machine::default() }
    }

    fn part_of(bus: u8, machine: &Machine) -> LinkPart {
        let device = machine.pci.values().find(|device| device.address.bus == bus).expect("a function");
        link_part(Catalogued::of(machine), device)
    }

    #[test]
    fn a_bridge_that_leads_to_graphics_only_is_part_of_a_graphics_card() {
        assert_eq!(part_of(1, &machine(0x03_0000)), LinkPart::Graphics);
        assert_eq!(part_of(1, &machine(0x01_0802)), LinkPart::Device);
    }

    #[test]
    fn what_is_soldered_or_of_the_platform_is_told_by_its_id() {
        let mut machine = machine(0x01_0802);
        for (id, part) in [
            ((0x1002, 0x1478), LinkPart::Graphics),
            ((0x8086, 0x15d3), LinkPart::Thunderbolt),
            ((0x1022, 0x43bc), LinkPart::Platform),
            ((0x1000, 0x0072), LinkPart::Device),
        ] {
            let device = machine.pci.values_mut().next().expect("a function");
            device.id = Fact::known(PciId { vendor: id.0, device: id.1 }, "id");
            assert_eq!(part_of(1, &machine), part, "{id:04x?}");
        }
        assert!(LinkPart::Thunderbolt.why_fixed().is_some() && LinkPart::Device.why_fixed().is_none());
    }

    #[test]
    fn an_adapter_that_is_awake_saves_no_power_and_a_graphics_adapter_does() {
        let of_class = |class: u32| {
            let mut hop = LinkHop::default();
            hop.device.class = Fact::known(class, "class");
            hop
        };
        assert!(of_class(0x01_0700).saves_power().is_none());
        let at = |class, speed| {
            let mut hop = of_class(class);
            hop.device.link.current_speed = Fact::known(speed, "current_link_speed");
            hop.saves_power().is_some()
        };
        assert!(at(0x03_0000, GtPerSec::GEN1) && at(0x12_0000, GtPerSec::GEN1));
        assert!(!at(0x03_0000, GtPerSec::GEN3), "of a port that is not known, the slot is as likely");
        let mut asleep = of_class(0x01_0802);
        asleep.device.power_state = Fact::known("D3hot".to_owned(), "power_state");
        assert_eq!(asleep.saves_power().map(|saving| saving.value).as_deref(), Some("D3hot"));
    }
}
