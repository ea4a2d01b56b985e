//! Packages, NUMA nodes and processors. hwloc refuses a topology without a processor or node, so that a machine of which
//! neither is known is drawn with one of each, and says that they are not known.

use std::collections::{BTreeMap, BTreeSet};

use super::Scene;
use super::element::Xml;
use super::{found, io};
use narrows_base::fact::Fact;
use narrows_machine::Machine;

/// More processors than Linux can have.
const MOST: u32 = 8192;

/// A NUMA node as it is drawn.
struct Node {
    id: u32,
    cpus: BTreeSet<u32>,
    memory: Option<u64>,
    socket: Option<u32>,
}

/// Writes the machine with all that is in it.
pub(super) fn write(xml: &mut Xml, machine: &Machine, scene: &Scene<'_>) {
    let nodes = nodes(machine);
    let all: Vec<&Node> = nodes.iter().collect();
    let mut cpus: BTreeSet<u32> = nodes.iter().flat_map(|node| &node.cpus).copied().collect();
    let stray: Vec<u32> = online(machine).into_iter().filter(|cpu| !cpus.contains(cpu)).collect();
    cpus.extend(&stray);
    let (cpuset, nodeset) = (bitmap(&cpus), nodeset(&all));
    let mut attributes = Vec::from([("os_index", "0".to_owned())]);
    for name in ["cpuset", "complete_cpuset", "allowed_cpuset"] {
        attributes.push((name, cpuset.clone()));
    }
    for name in ["nodeset", "complete_nodeset", "allowed_nodeset"] {
        attributes.push((name, nodeset.clone()));
    }
    xml.open("Machine", &attributes);
    infos(xml, scene);
    let elsewhere = scene.found.elsewhere(|name| scene.devices.is_drawn(name));
    found::infos(xml, &elsewhere);
    let (with, without): (Vec<&Node>, Vec<&Node>) = all.iter().partition(|node| !node.cpus.is_empty());
    without.iter().for_each(|node| memory(xml, node));
    for (socket, nodes) in packages(machine, &with) {
        match socket {
            Some(socket) => {
                open(xml, "Package", Some(socket), &nodes);
                xml.info("CPUModel", &machine.cpus.model.get().unwrap_or_default());
                inside(xml, &nodes, scene);
                xml.close();
            }
            None => inside(xml, &nodes, scene),
        }
    }
    stray.iter().for_each(|cpu| unit(xml, *cpu, "0x0"));
    let drawn: BTreeSet<u32> = with.iter().map(|node| node.id).collect();
    io::write(xml, scene, |node| node.is_none_or(|node| !drawn.contains(&node)));
    found::boxes(xml, &elsewhere);
    xml.close();
}

fn infos(xml: &mut Xml, scene: &Scene<'_>) {
    let Scene { machine, report, .. } = scene;
    let text = |fact: &Fact<String>| fact.get().unwrap_or_default();
    for (name, value) in [
        ("OSRelease", text(&machine.kernel)),
        ("DMISysVendor", text(&machine.dmi.system_vendor)),
        ("DMIProductName", text(&machine.dmi.product)),
        ("DMIBoardVendor", text(&machine.dmi.board_vendor)),
        ("DMIBoardName", text(&machine.dmi.board)),
        ("DMIBIOSVersion", text(&machine.dmi.bios_version)),
        ("DMIBIOSDate", text(&machine.dmi.bios_date)),
        ("narrows:version", report.tool.version.clone()),
    ] {
        xml.info(name, &value);
    }
    xml.info("OSName", if machine.kernel.value().is_some() { "Linux" } else { "" });
    if machine.cpus.online.value().is_none() && machine.cpus.nodes.iter().all(|node| node.cpus.is_empty()) {
        xml.info("narrows:processors", "not known: one stands for all");
    }
    for path in &report.paths {
        xml.info("narrows:path", &format!("{}: {}", path.target, path.sentence));
    }
}

/// Nodes by number, each processor in one of them only. A machine without nodes has one.
fn nodes(machine: &Machine) -> Vec<Node> {
    let mut taken = BTreeSet::new();
    let mut nodes: BTreeMap<u32, Node> = BTreeMap::new();
    for node in machine.cpus.nodes.iter().filter(|node| node.id < MOST) {
        let cpus = node.cpus.iter().filter(|cpu| **cpu < MOST && taken.insert(**cpu)).copied().collect();
        let memory = node.memory.value().map(|memory| memory.get());
        let drawn = Node { id: node.id, cpus, memory, socket: node.socket.get() };
        nodes.entry(node.id).or_insert(drawn);
    }
    if nodes.is_empty() {
        let memory = machine.cpus.memory.value().map(|memory| memory.get());
        nodes.insert(0, Node { id: 0, cpus: BTreeSet::new(), memory, socket: None });
    }
    if let Some(mut first) = nodes.first_entry().filter(|_| taken.is_empty()) {
        first.get_mut().cpus = online(machine);
    }
    nodes.into_values().collect()
}

fn online(machine: &Machine) -> BTreeSet<u32> {
    let online = machine.cpus.online.value().map_or(&[][..], Vec::as_slice);
    let online: BTreeSet<u32> = online.iter().filter(|cpu| **cpu < MOST).copied().collect();
    let is_known = machine.cpus.nodes.iter().any(|node| !node.cpus.is_empty());
    if online.is_empty() && !is_known { BTreeSet::from([0]) } else { online }
}

/// Nodes by socket; without one where it is not known for all.
fn packages<'n>(machine: &Machine, nodes: &[&'n Node]) -> BTreeMap<Option<u32>, Vec<&'n Node>> {
    let is_known = nodes.iter().all(|node| node.socket.is_some());
    let is_one = machine.cpus.sockets.value() == Some(&1);
    let mut packages: BTreeMap<Option<u32>, Vec<&Node>> = BTreeMap::new();
    for node in nodes {
        let socket = node.socket.filter(|_| is_known).or(is_one.then_some(0));
        packages.entry(socket).or_default().push(node);
    }
    packages
}

/// Writes nodes with their processors and devices into the object that is open, in groups where there are several.
fn inside(xml: &mut Xml, nodes: &[&Node], scene: &Scene<'_>) {
    for node in nodes {
        let is_group = nodes.len() > 1;
        if is_group {
            open(xml, "Group", None, &[node]);
        }
        memory(xml, node);
        let set = nodeset(&[node]);
        node.cpus.iter().for_each(|cpu| unit(xml, *cpu, &set));
        io::write(xml, scene, |of| of == Some(node.id));
        if is_group {
            xml.close();
        }
    }
}

fn open(xml: &mut Xml, kind: &str, index: Option<u32>, nodes: &[&Node]) {
    let cpus = bitmap(&nodes.iter().flat_map(|node| &node.cpus).copied().collect());
    let mut attributes: Vec<(&str, String)> =
        index.map(|index| ("os_index", index.to_string())).into_iter().collect();
    attributes.extend(sets(&cpus, &nodeset(nodes)));
    xml.open(kind, &attributes);
}

fn memory(xml: &mut Xml, node: &Node) {
    let mut attributes = Vec::from([("os_index", node.id.to_string())]);
    attributes.extend(sets(&bitmap(&node.cpus), &nodeset(&[node])));
    attributes.extend(node.memory.map(|bytes| ("local_memory", bytes.to_string())));
    xml.leaf("NUMANode", &attributes);
}

fn unit(xml: &mut Xml, cpu: u32, nodeset: &str) {
    let mut attributes = Vec::from([("os_index", cpu.to_string())]);
    attributes.extend(sets(&bitmap(&BTreeSet::from([cpu])), nodeset));
    xml.leaf("PU", &attributes);
}

fn sets(cpus: &str, nodes: &str) -> [(&'static str, String); 4] {
    [
        ("cpuset", cpus.to_owned()),
        ("complete_cpuset", cpus.to_owned()),
        ("nodeset", nodes.to_owned()),
        ("complete_nodeset", nodes.to_owned()),
    ]
}

fn nodeset(nodes: &[&Node]) -> String {
    bitmap(&nodes.iter().map(|node| node.id).collect())
}

/// 32-bit words in hexadecimal, the highest first (`hwloc/bitmap.c`, `hwloc_bitmap_snprintf`).
fn bitmap(members: &BTreeSet<u32>) -> String {
    let highest = members.last().map_or(0, |last| last / 32);
    let word = |number: u32| {
        let members = members.range(number * 32..(number + 1) * 32);
        members.fold(0u32, |word, member| word | 1 << (member % 32))
    };
    let words: Vec<String> = (0..=highest).rev().map(|number| format!("0x{:08x}", word(number))).collect();
    words.join(",")
}
