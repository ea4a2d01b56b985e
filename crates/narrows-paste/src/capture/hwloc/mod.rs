//! Texts of hwloc. XML (`lstopo --of xml`, `lstopo file.xml`), formats 1 to 3: processors, NUMA nodes, PCI functions with the
//! rate of their links, disks and network interfaces.
//!
//! Sources: hwloc (`hwloc/hwloc2.dtd`, `hwloc/topology-xml.c`, `hwloc/topology-linux.c`, `hwloc/pci-common.c`).

mod console;
mod object;
mod pci;

use std::collections::BTreeMap;

use super::device::{device, implied, is_kernel_name};
use super::{Part, Rank, Text};
use narrows_base::fact::Fact;
use narrows_base::units::Bytes;
use narrows_machine::Machine;
use narrows_machine::block::dm_table::parse_number_pair;
use narrows_machine::block::{BlockDevice, BlockKind, Sas, Sata, Transport, Usb};
use narrows_machine::cpu::{self, NumaNode};
use narrows_machine::nic::Nic;
use narrows_machine::pci::{PciAddress, PciDevice};
use object::{Object, Topology};

pub use console::read as read_console;

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
    fill_cpus(&reading, &mut part.machine);
    let places = pci::fill_pci(&reading, &mut part);
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
        Fact::of(value, self.source(object))
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

/// Disks and network interfaces, by `osdev_type`: a number up to format 2, a set of bits from 3 on (`hwloc.h`,
/// `hwloc_obj_osdev_type_e`). An InfiniBand adapter counts as a network interface, as `ibstat` shows it.
fn os_devices(reading: &Reading<'_>, places: &BTreeMap<usize, PciAddress>, machine: &mut Machine) {
    let objects = reading.topology.objects.iter().filter(|object| object.kind() == "OSDev");
    for object in objects.take(MOST_OS_DEVICES) {
        let Some(name) = object.attribute("name") else { continue };
        let pci = reading.ancestors(object).find_map(|(index, _)| places.get(&index)).copied();
        let kind = object.attribute("osdev_type").and_then(|kind| kind.parse::<u64>().ok());
        match (reading.topology.version, kind) {
            (..3, Some(0)) => fill_disk(reading, object, name, pci, machine),
            (..3, Some(2 | 3)) => network(name, pci, machine),
            (3.., Some(bits)) if bits & 1 != 0 => fill_disk(reading, object, name, pci, machine),
            (3.., Some(bits)) if bits & (16 | 32) != 0 => network(name, pci, machine),
            _ => {}
        }
    }
}

fn network(name: &str, pci: Option<PciAddress>, machine: &mut Machine) {
    if let Some(nic) = super::net::nic(machine, name) {
        *nic = Nic { name: name.to_owned(), pci, is_virtual: pci.is_none(), ..Nic::default() };
    }
}

/// More nodes than Linux can have (`CONFIG_NODES_SHIFT` is 10 at most).
const MOST_NODES: usize = 1024;

/// Processors, NUMA nodes, memory, and what the firmware and the kernel say of the machine.
fn fill_cpus(reading: &Reading<'_>, machine: &mut Machine) {
    let all = |kinds: &'static [&'static str]| {
        reading.topology.objects.iter().filter(|object| kinds.contains(&object.kind()))
    };
    let Some(root) = reading.topology.objects.first() else { return };
    let packages: Vec<&Object> = all(&["Package", "Socket"]).collect();
    let mut online: Vec<u32> = all(&["PU"]).filter_map(os_index).collect();
    online.sort_unstable();
    online.dedup();
    let cpus = &mut machine.cpus;
    cpus.online = reading.known(Some(online).filter(|online| !online.is_empty()), root);
    cpus.cores = reading.known(counted(all(&["Core"]).count()), root);
    cpus.sockets = reading.known(counted(packages.len()), root);
    let info = |name: &str| packages.first().and_then(|first| first.info(name));
    if let Some(first) = packages.first() {
        cpus.model = reading.known(info("CPUModel").map(str::to_owned), first);
        let number = |name: &str| info(name).and_then(|number| number.parse().ok());
        let signature = number("CPUFamilyNumber").zip(number("CPUModelNumber")).zip(number("CPUStepping"));
        cpus.signature = reading.known(signature.map(|((family, model), step)| (family, model, step)), first);
    }
    cpus.nodes = nodes(reading);
    let total = cpus.nodes.iter().try_fold(0u64, |sum, node| sum.checked_add(node.memory.value()?.get()));
    cpus.memory = reading.known(total.filter(|total| *total > 0).map(Bytes::new), root);
    firmware(reading, root, machine);
}

fn os_index(object: &Object) -> Option<u32> {
    object.attribute("os_index")?.parse().ok()
}

fn counted(count: usize) -> Option<u32> {
    u32::try_from(count).ok().filter(|count| *count > 0)
}

fn nodes(reading: &Reading<'_>) -> Vec<NumaNode> {
    let mut nodes = BTreeMap::new();
    for object in reading.topology.objects.iter().filter(|object| object.kind() == "NUMANode") {
        let Some(id) = os_index(object).filter(|_| nodes.len() < MOST_NODES) else { continue };
        let memory = object.attribute("local_memory").and_then(|bytes| bytes.parse().ok()).map(Bytes::new);
        let package =
            reading.ancestors(object).find(|(_, above)| matches!(above.kind(), "Package" | "Socket"));
        let cpus = object.attribute("cpuset").and_then(parse_bitmap).unwrap_or_default();
        let socket = package.and_then(|(_, package)| os_index(package)).filter(|_| !cpus.is_empty());
        let (memory, socket) = (reading.known(memory, object), reading.known(socket, object));
        nodes.insert(id, NumaNode { id, cpus, memory, socket, distances: Vec::new() });
    }
    let (indexes, values) = &reading.topology.distances;
    let is_whole = indexes.len() == nodes.len() && indexes.iter().all(|id| nodes.contains_key(id));
    let is_sorted = indexes.windows(2).all(|pair| pair.first() < pair.last());
    if is_whole && is_sorted && !indexes.is_empty() && values.len() == indexes.len() * indexes.len() {
        for (id, row) in indexes.iter().zip(values.chunks(indexes.len())) {
            if let Some(node) = nodes.get_mut(id) {
                node.distances = row.to_vec();
            }
        }
    }
    nodes.into_values().collect()
}

/// The infos that hwloc takes from `/sys/class/dmi/id` and `uname`.
fn firmware(reading: &Reading<'_>, root: &Object, machine: &mut Machine) {
    let fact = |name: &str| reading.known(reading.machine_info(name).map(str::to_owned), root);
    let dmi = &mut machine.dmi;
    dmi.system_vendor = fact("DMISysVendor");
    dmi.product = fact("DMIProductName");
    dmi.board_vendor = fact("DMIBoardVendor");
    dmi.board = fact("DMIBoardName");
    dmi.bios_version = fact("DMIBIOSVersion");
    dmi.bios_date = fact("DMIBIOSDate");
    machine.kernel = match reading.machine_info("OSName") {
        Some("Linux") | None => fact("OSRelease"),
        Some(_) => Fact::absent(reading.source(root)),
    };
    let chassis = fact("DMIChassisVendor");
    let names = [&machine.dmi.product, &machine.dmi.system_vendor, &machine.dmi.board_vendor, &chassis];
    let is_metal = machine.dmi.product.value().is_some_and(|product| product.ends_with(".metal"));
    let named = names.iter().filter_map(|name| name.value()).find_map(|name| cpu::hypervisor_named(name));
    machine.cpus.hypervisor = reading.known(named.filter(|_| !is_metal), root);
}

/// The vendor number of virtio's functions (Virtual I/O Device specification 1.2, section 4.1.2).
const VIRTIO: u16 = 0x1af4;

/// A disk, with what carries its data.
fn disk<'m>(machine: &'m mut Machine, name: &str, pci: Option<PciAddress>) -> &'m mut BlockDevice {
    let transport = transport(name, pci.and_then(|address| machine.pci.get(&address)));
    let disk = device(machine, name);
    if disk.partition_of.is_none() && matches!(disk.kind, BlockKind::Disk) {
        disk.transport = transport;
    }
    disk
}

/// Disks: what they are, and what carries them, as the function tells that hwloc found them under.
fn fill_disk(
    reading: &Reading<'_>,
    object: &Object,
    name: &str,
    pci: Option<PciAddress>,
    machine: &mut Machine,
) {
    // hwloc counts persistent and CXL memory among block devices.
    if !is_kernel_name(name) {
        return;
    }
    let disk = disk(machine, name, pci);
    let number = |info: &str| object.info(info).and_then(|number| number.parse::<u64>().ok());
    let kib = number("Size").filter(|kib| *kib > 0 && *kib < u64::MAX / 1024);
    disk.size = reading.known(kib.map(Bytes::from_kib), object);
    disk.number = reading.known(object.info("LinuxDeviceID").and_then(parse_number_pair), object);
    disk.model = reading.known(object.info("Model").map(disk_model), object);
    disk.firmware = reading.known(object.info("Revision").map(str::to_owned), object);
    disk.queue.logical_block =
        reading.known(number("SectorSize").filter(|size| *size > 0).map(Bytes::new), object);
    disk.removable = object.attribute("subtype") == Some("Removable Media Device");
}

/// udev, whom hwloc asks, puts `_` for every blank of a model (systemd `udev/udev-builtin-path_id.c`,
/// `udev_replace_whitespace`). Micron's own names have it.
fn disk_model(text: &str) -> String {
    match text.contains(' ') || text.starts_with("Micron_") {
        true => text.to_owned(),
        false => text.replace('_', " ").trim().to_owned(),
    }
}

fn transport(name: &str, carrier: Option<&PciDevice>) -> Transport {
    let pci = carrier.map(|carrier| carrier.address);
    let is_virtio = carrier.and_then(|carrier| carrier.id.value()).is_some_and(|id| id.vendor == VIRTIO);
    let class = carrier.and_then(|carrier| carrier.class.value()).map(|class| class >> 8);
    match (implied(name, pci), class) {
        (Transport::None, _) if is_virtio => Transport::Virtio { pci, flavour: "virtio-scsi".to_owned() },
        (Transport::None, Some(0x0106)) => Transport::Sata(Sata { pci, ..Sata::default() }),
        (Transport::None, Some(0x0104 | 0x0107)) => Transport::Sas(Sas { pci, ..Sas::default() }),
        (Transport::None, Some(0x0c03)) => Transport::Usb(Usb { pci, ..Usb::default() }),
        (Transport::None, Some(_)) => Transport::Other { name: "scsi".to_owned(), pci },
        (told, _) => told,
    }
}

/// As many processors as Linux can have: `CONFIG_NR_CPUS` ends at 8192.
const MOST_WORDS: usize = 256;

/// Sets of processors and nodes as hwloc writes them: 32-bit words in hexadecimal, the highest first, separated by
/// commas; an empty word is zero (`hwloc/bitmap.c`, `hwloc_bitmap_snprintf`).
///
/// Reads `0x00000001,,0x0000ffff`. `None` when it is malformed, absurdly long, or without end (`0xf...f`).
fn parse_bitmap(text: &str) -> Option<Vec<u32>> {
    if text.split(',').nth(MOST_WORDS).is_some() {
        return None;
    }
    let mut members = Vec::new();
    for (number, word) in (0u32..).zip(text.trim().rsplit(',')) {
        let digits = word.strip_prefix("0x").unwrap_or(word);
        let bits = match digits {
            "" => 0,
            _ if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                u32::from_str_radix(digits, 16).ok()?
            }
            _ => return None,
        };
        members.extend((0..32).filter(|bit| bits >> bit & 1 != 0).map(|bit| number * 32 + bit));
    }
    Some(members)
}

#[cfg(test)]
mod tests;
