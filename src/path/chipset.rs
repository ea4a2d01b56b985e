//! Is a function behind the chipset?
//!
//! The uplink of an AMD chipset is a PCIe link that sysfs shows, so the chipset is met as a switch on the way up. That
//! of an Intel chipset (DMI) is invisible: which functions of bus 0 belong to it is known from their device numbers.

use super::UplinkHop;
use super::climb::{ancestry, class};
use super::lookup::Published;
use crate::machine::Machine;
use crate::machine::pci::{PciAddress, PciDevice};

/// Where every Intel chipset has its LPC or eSPI bridge, whose id says which chipset it is (chipset datasheets, "PCI
/// Devices and Functions").
const LPC: PciAddress = PciAddress { domain: 0, bus: 0, device: 0x1f, function: 0 };

/// Intel's Volume Management Device of desktop processors, which hides root ports in a domain of its own.
const VMD: PciAddress = PciAddress { domain: 0, bus: 0, device: 0x0e, function: 0 };

/// The first device number on bus 0 that belongs to the chipset. Below it are the processor's own ports: 01.x and
/// 06.x of desktop processors, 01.x to 03.x of Xeon E5, 07.x for Thunderbolt; the chipset has 11 to 1f (SATA 11 and
/// 17, USB 14, network 19, ports 1a to 1d; chipset datasheets, and slot records of the boards in `data/boards`).
const FIRST_OF_CHIPSET: u8 = 0x10;

/// Domains from here on are made by VMD (kernel `drivers/pci/controller/vmd.c`, `vmd_find_free_domain`).
const FIRST_VMD_DOMAIN: u32 = 0x10000;

/// The chipset's uplink, when the function `root` on a root bus hangs on a chipset that is known.
pub(super) fn uplink(machine: &Machine, published: Published<'_>, root: PciAddress) -> Option<UplinkHop> {
    let chipset = published.chipset(machine, LPC)?;
    is_behind(machine, root).then(|| UplinkHop {
        name: format!("{} chipset, {}", chipset.name, chipset.uplink),
        address: LPC,
        chipset: Some(chipset.clone()),
        behind: movers(machine, |chain| chain.last().is_some_and(|root| is_behind(machine, root.address))),
    })
}

fn is_behind(machine: &Machine, root: PciAddress) -> bool {
    let is_vmd_of_desktop = root.domain >= FIRST_VMD_DOMAIN && is_vmd(machine);
    let is_bus_0 = root.domain == 0 && root.bus == 0;
    (is_bus_0 || is_vmd_of_desktop) && root.device >= FIRST_OF_CHIPSET
}

fn is_vmd(machine: &Machine) -> bool {
    const RAID_CONTROLLER: u32 = 0x0104;
    const INTEL: u16 = 0x8086;
    machine.pci.get(&VMD).is_some_and(|device| {
        class(device) == Some(RAID_CONTROLLER) && device.id.value().is_some_and(|id| id.vendor == INTEL)
    })
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
    const CO_PROCESSOR: u32 = 0x0b40;
    const SD_HOST: u32 = 0x0805;
    const VIDEO: u32 = 0x0400;
    class(device).is_some_and(|class| match class >> 8 {
        0x01 | 0x02 | 0x03 | 0x0d | 0x12 => true,
        _ => SERIAL_BUSES.contains(&class) || [CO_PROCESSOR, SD_HOST, VIDEO].contains(&class),
    })
}
