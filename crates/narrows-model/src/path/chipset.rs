//! Is a function behind the chipset?
//!
//! The uplink of an AMD chipset is a PCIe link that sysfs shows, so the chipset is met as a switch on the way up. That
//! of an Intel chipset (DMI) is invisible: which functions of bus 0 belong to it is known from their device numbers.

use super::UplinkHop;
use super::climb::ancestry;
use super::lookup::Published;
use narrows_machine::Machine;
use narrows_machine::pci::{PciAddress, PciDevice};

/// Where every Intel chipset has its LPC or eSPI bridge, whose id says which chipset it is (chipset datasheets, "PCI
/// Devices and Functions").
const LPC: PciAddress = PciAddress { domain: 0, bus: 0, device: 0x1f, function: 0 };

/// The first device number on bus 0 that belongs to the chipset. Below it are the processor's own ports: 01.x and
/// 06.x of desktop processors, 01.x to 03.x of Xeon E5, 07.x for Thunderbolt; the chipset has 11 to 1f (SATA 11 and
/// 17, USB 14, network 19, ports 1a to 1d; chipset datasheets, and slot records of the boards in `data/boards`).
const FIRST_OF_CHIPSET: u8 = 0x10;

/// The chipset's uplink, when the function `root` on a root bus hangs on a chipset that is known. A virtual machine has
/// none: its bridge imitates one (QEMU's `q35` an ICH9, `pc` a PIIX3), and nothing goes through what is not there.
pub(super) fn uplink(machine: &Machine, published: Published<'_>, root: PciAddress) -> Option<UplinkHop> {
    if machine.cpus.hypervisor.value().is_some() {
        return None;
    }
    let chipset = published.chipset(machine, LPC)?;
    is_behind(machine, root).then(|| UplinkHop {
        name: format!("{} chipset, {}", chipset.name, chipset.uplink),
        address: LPC,
        chipset: Some(chipset.clone()),
        behind: movers(machine, |chain| chain.last().is_some_and(|root| is_behind(machine, root.address))),
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
pub(super) fn movers(machine: &Machine, wanted: impl Fn(&[&PciDevice]) -> bool) -> Vec<PciAddress> {
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
