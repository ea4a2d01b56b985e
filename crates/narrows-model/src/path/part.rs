//! What the device end of a link is: the one answer for ceilings and findings to "does it idle?" and "can it be moved?".

use super::LinkHop;
use super::climb::ancestry;
use super::link::{THUNDERBOLT, listed};
use super::lookup::Published;
use narrows_base::fact::{Fact, Source};
use narrows_base::units::GtPerSec;
use narrows_machine::Machine;
use narrows_machine::pci::PciDevice;

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
    /// The fact.
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
        const DISPLAY: u32 = 0x03;
        const ACCELERATOR: u32 = 0x12;
        let base = self.device.class.value().map(|class| class >> 16);
        self.part == LinkPart::Graphics || base.is_some_and(|base| [DISPLAY, ACCELERATOR].contains(&base))
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
        (has_l1 && self.stores_data()).then(|| PowerSaving {
            fact: "power saving of the link",
            value: "L1 is on".to_owned(),
            source: device.express.source(),
        })
    }

    /// Whether a speed below the device's best can be one of idling: the port is known to do more, or the link is at the
    /// lowest, where adapters idle that every port lets run faster.
    fn may_be_faster_than_now(&self) -> bool {
        let now = self.state().speed().map(|told| told.value);
        let port = self.true_port().and_then(|port| port.end().max_speed());
        port.is_some() || now == Some(GtPerSec::GEN1)
    }

    /// Whether the device end is a storage controller, be it one of Fibre Channel.
    pub fn stores_data(&self) -> bool {
        const FIBRE_CHANNEL: u32 = 0x0c04;
        self.device.class.value().is_some_and(|class| class >> 16 == 0x01 || class >> 8 == FIBRE_CHANNEL)
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
pub(super) fn of(machine: &Machine, published: Published<'_>, device: &PciDevice) -> LinkPart {
    let is_chipset = || device.is_bridge() && published.chipset(machine, device.address).is_some();
    if listed(device, GRAPHICS_SWITCH) || device.is_bridge() && leads_to_graphics(machine, device) {
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
        of(machine, super::super::lookup::published(), device)
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
        assert!(of_class(0x0c_0400).stores_data() && !of_class(0x0c_0330).stores_data());
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
