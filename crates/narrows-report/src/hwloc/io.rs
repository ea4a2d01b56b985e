//! The tree of PCI functions, from the root buses down.

use std::collections::{BTreeMap, BTreeSet};

use super::Scene;
use super::device;
use super::element::Xml;
use narrows_machine::Machine;
use narrows_machine::block::BlockDevice;
use narrows_machine::nic::Nic;
use narrows_machine::pci::{PciAddress, PciDevice};

/// hwloc leaves out wider domains, such as those of Intel's VMD, unless it was built for them (`hwloc.h`,
/// `HWLOC_HAVE_32BITS_PCI_DOMAIN`).
const WIDEST_DOMAIN: u32 = 0xffff;
/// No tree of bridges is deeper: every bridge starts a bus, and a domain has 256.
const DEEPEST: usize = 256;

/// Who is below whom.
pub(super) struct Devices<'a> {
    below: BTreeMap<PciAddress, Vec<&'a PciDevice>>,
    /// Functions without one above them, by domain and bus.
    roots: BTreeMap<(u32, u8), Vec<&'a PciDevice>>,
    pub(super) disks: BTreeMap<PciAddress, Vec<&'a BlockDevice>>,
    pub(super) interfaces: BTreeMap<PciAddress, Vec<&'a Nic>>,
    drawn: BTreeSet<String>,
}

impl<'a> Devices<'a> {
    pub(super) fn of(machine: &'a Machine) -> Self {
        let mut devices = Self {
            below: BTreeMap::new(),
            roots: BTreeMap::new(),
            disks: BTreeMap::new(),
            interfaces: BTreeMap::new(),
            drawn: BTreeSet::new(),
        };
        let pci = |address: &PciAddress| machine.pci.get(address).filter(|_| address.domain <= WIDEST_DOMAIN);
        for device in machine.pci.values().filter(|device| device.address.domain <= WIDEST_DOMAIN) {
            // Buses are numbered downwards, so that this is a tree.
            let above = device.parent.filter(|above| {
                above.domain == device.address.domain
                    && above.bus < device.address.bus
                    && pci(above).is_some()
            });
            match above {
                Some(above) => devices.below.entry(above).or_default().push(device),
                None => {
                    let bus = (device.address.domain, device.address.bus);
                    devices.roots.entry(bus).or_default().push(device);
                }
            }
            devices.drawn.insert(device.address.to_string());
        }
        let disks = machine.block.values().filter(|disk| disk.partition_of.is_none());
        for (address, disk) in disks.filter_map(|disk| Some((disk.transport.function()?, disk))) {
            if pci(&address).is_some() {
                devices.disks.entry(address).or_default().push(disk);
                devices.drawn.insert(disk.name.clone());
            }
        }
        for (address, nic) in machine.nics.values().filter_map(|nic| Some((nic.pci?, nic))) {
            if pci(&address).is_some() {
                devices.interfaces.entry(address).or_default().push(nic);
                devices.drawn.insert(nic.name.clone());
            }
        }
        devices
    }

    /// Whether there is an object for a function, disk or interface.
    pub(super) fn is_drawn(&self, name: &str) -> bool {
        self.drawn.contains(name)
    }

    pub(super) fn below(&self, address: PciAddress) -> &[&'a PciDevice] {
        self.below.get(&address).map_or(&[], Vec::as_slice)
    }

    /// The highest bus below a function.
    pub(super) fn last_bus(&self, address: PciAddress, depth: usize) -> u8 {
        let below = self.below(address).iter().filter(|_| depth < DEEPEST);
        below
            .map(|device| self.last_bus(device.address, depth + 1))
            .max()
            .unwrap_or_default()
            .max(address.bus)
    }
}

/// Writes the root buses whose node `is_here` into the object that is open.
pub(super) fn write(xml: &mut Xml, scene: &Scene<'_>, is_here: impl Fn(Option<u32>) -> bool) {
    for ((domain, bus), functions) in &scene.devices.roots {
        let node = functions.iter().find_map(|device| device.numa_node.get());
        if !is_here(node) {
            continue;
        }
        let last = functions.iter().map(|device| scene.devices.last_bus(device.address, 0)).max();
        let buses = format!("{domain:04x}:[{bus:02x}-{:02x}]", last.unwrap_or(*bus));
        let attributes =
            [("bridge_type", "0-1".to_owned()), ("depth", "0".to_owned()), ("bridge_pci", buses)];
        xml.open("Bridge", &attributes);
        functions.iter().for_each(|device| function(xml, scene, device, 1));
        xml.close();
    }
}

/// Writes a function and all below it.
fn function(xml: &mut Xml, scene: &Scene<'_>, device: &PciDevice, depth: usize) {
    let below = scene.devices.below(device.address);
    let name = device.address.to_string();
    // hwloc drops bridges that lead nowhere, and so does this, unless something was found of them.
    if device.is_bridge() && below.is_empty() && !scene.found.is_any(&name) {
        return;
    }
    device::open(xml, scene, device, depth);
    if depth < DEEPEST {
        below.iter().for_each(|device| function(xml, scene, device, depth + 1));
    }
    xml.close();
}
