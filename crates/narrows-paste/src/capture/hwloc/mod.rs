//! Texts of hwloc. XML (`lstopo --of xml`, `lstopo file.xml`), formats 1 to 3: processors, NUMA nodes, PCI functions with the
//! rate of their links, disks and network interfaces.
//!
//! Sources: hwloc (`hwloc/hwloc2.dtd`, `hwloc/topology-xml.c`, `hwloc/topology-linux.c`, `hwloc/pci-common.c`).

mod bitmap;
mod console;
mod cpu;
mod disk;
mod object;
mod pci;
mod rate;

pub use console::read as read_console;

use std::collections::BTreeMap;

use super::{Part, Rank, Text};
use narrows_base::fact::Fact;
use narrows_machine::Machine;
use narrows_machine::nic::Nic;
use narrows_machine::pci::PciAddress;
use object::{Object, Topology};

/// More disks and interfaces than any machine has.
const MOST_OS_DEVICES: usize = 8192;

/// Where a topology begins.
const MARK: &str = "<topology";

/// Reads the first topology in a text.
pub fn read(text: &Text) -> Part {
    let body = text.body();
    let Some(at) = body.find(MARK) else { return Part::default() };
    let (before, xml) = body.split_at(at);
    let topology = object::parse(xml);
    if topology.objects.is_empty() {
        return Part::default();
    }
    let first_line = before.matches('\n').count();
    let reading = Reading { text, first_line, topology: &topology };
    let mut part = Part { kind: Some("hwloc XML"), rank: Rank::Summary, ..Part::default() };
    cpu::fill(&reading, &mut part.machine);
    let places = pci::fill(&reading, &mut part);
    os_devices(&reading, &places, &mut part.machine);
    part
}

/// What is read, and where it stands in the text.
struct Reading<'t> {
    text: &'t Text,
    /// Lines before the topology.
    first_line: usize,
    topology: &'t Topology,
}

impl<'t> Reading<'t> {
    fn source(&self, object: &Object) -> String {
        self.text.source(self.first_line + object.line)
    }

    fn known<T>(&self, value: Option<T>, object: &Object) -> Fact<T> {
        value.map_or_else(
            || Fact::absent(self.source(object)),
            |value| Fact::known(value, self.source(object)),
        )
    }

    /// The objects around one, the nearest first.
    fn ancestors(&self, object: &'t Object) -> impl Iterator<Item = (usize, &'t Object)> {
        let get = |index: usize| self.topology.objects.get(index).map(|object| (index, object));
        std::iter::successors(object.parent.and_then(get), move |(_, object)| object.parent.and_then(get))
    }

    /// An info of the topology, or of the machine, where formats before 3 have them.
    fn machine_info(&self, name: &str) -> Option<&'t str> {
        let machine =
            self.topology.objects.iter().find(|object| matches!(object.kind(), "Machine" | "System"));
        self.topology.infos.info(name).or_else(|| machine?.info(name))
    }
}

/// What an operating-system device is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OsDevice {
    Block,
    Network,
}

/// `osdev_type`: a number up to format 2, a set of bits from 3 on (`hwloc.h`, `hwloc_obj_osdev_type_e`). An InfiniBand
/// adapter counts as a network interface, as `ibstat` shows it.
fn os_device(version: u32, object: &Object) -> Option<OsDevice> {
    let number: u64 = object.attribute("osdev_type")?.parse().ok()?;
    match (version, number) {
        (..3, 0) => Some(OsDevice::Block),
        (..3, 2 | 3) => Some(OsDevice::Network),
        (3.., bits) if bits & 1 != 0 => Some(OsDevice::Block),
        (3.., bits) if bits & (16 | 32) != 0 => Some(OsDevice::Network),
        _ => None,
    }
}

fn os_devices(reading: &Reading<'_>, places: &BTreeMap<usize, PciAddress>, machine: &mut Machine) {
    let objects = reading.topology.objects.iter().filter(|object| object.kind() == "OSDev");
    for object in objects.take(MOST_OS_DEVICES) {
        let Some(name) = object.attribute("name") else { continue };
        let pci = reading.ancestors(object).find_map(|(index, _)| places.get(&index)).copied();
        match os_device(reading.topology.version, object) {
            Some(OsDevice::Block) => disk::fill(reading, object, name, pci, machine),
            Some(OsDevice::Network) => network(name, pci, machine),
            None => {}
        }
    }
}

fn network(name: &str, pci: Option<PciAddress>, machine: &mut Machine) {
    if let Some(nic) = super::net::nic(machine, name) {
        *nic = Nic { name: name.to_owned(), pci, is_virtual: pci.is_none(), ..Nic::default() };
    }
}

#[cfg(test)]
mod tests;
