//! Processors, NUMA nodes, memory, and what the firmware and the kernel say of the machine.

use std::collections::BTreeMap;

use super::object::Object;
use super::{Reading, bitmap};
use narrows_base::fact::Fact;
use narrows_base::units::Bytes;
use narrows_machine::Machine;
use narrows_machine::cpu::{self, NumaNode};

/// More nodes than Linux can have (`CONFIG_NODES_SHIFT` is 10 at most).
const MOST_NODES: usize = 1024;

pub(super) fn fill(reading: &Reading<'_>, machine: &mut Machine) {
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
        let cpus = object.attribute("cpuset").and_then(bitmap::parse).unwrap_or_default();
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
