//! NUMA nodes, `/sys/devices/system/node/node*` (kernel `Documentation/ABI/stable/sysfs-devices-node`).

use super::{parse_list, parse_memory, socket_of};
use crate::root::Root;
use narrows_base::fact::Fact;
use narrows_base::units::Bytes;

const NODES: &str = "/sys/devices/system/node";

/// One NUMA node.
#[derive(Debug, Clone, Default)]
pub struct NumaNode {
    /// Its number.
    pub id: u32,
    /// Its processors, `…/cpulist`.
    pub cpus: Vec<u32>,
    /// Its memory, `…/meminfo`.
    pub memory: Fact<Bytes>,
    /// The relative distance to each node that is online, in order of their numbers, `…/distance`; 10 is local.
    pub distances: Vec<u32>,
    /// The socket of its processors; absent for a node without processors.
    pub socket: Fact<u32>,
}

/// Reads every node, by number. A kernel without NUMA has none.
pub(super) fn read(root: &Root) -> Vec<NumaNode> {
    let names = root.list(NODES);
    let mut ids: Vec<u32> = names.iter().filter_map(|name| name.strip_prefix("node")?.parse().ok()).collect();
    ids.sort_unstable();
    ids.into_iter().map(|id| node(root, id)).collect()
}

fn node(root: &Root, id: u32) -> NumaNode {
    let dir = format!("{NODES}/node{id}");
    let cpulist = format!("{dir}/cpulist");
    let cpus = root.parse(&cpulist, parse_list).get().unwrap_or_default();
    NumaNode {
        id,
        memory: root.parse(&format!("{dir}/meminfo"), |text| parse_memory(text, "MemTotal")),
        distances: root.parse(&format!("{dir}/distance"), parse_distances).get().unwrap_or_default(),
        socket: cpus.first().map_or_else(|| Fact::absent(cpulist), |cpu| socket_of(root, *cpu)),
        cpus,
    }
}

fn parse_distances(text: &str) -> Option<Vec<u32>> {
    text.split_whitespace().map(|distance| distance.parse().ok()).collect()
}
