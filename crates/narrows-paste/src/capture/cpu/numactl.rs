//! `numactl -H`: nodes, their processors and memory, and the distances between them.

use std::collections::BTreeMap;

use crate::capture::Text;
use narrows_base::fact::Fact;
use narrows_base::units::Bytes;
use narrows_machine::cpu::{Cpus, NumaNode};

/// More nodes than Linux has (`MAX_NUMNODES` is at most 1024).
const MOST_NODES: usize = 1024;

/// Reads what `numactl --hardware` says; `None` when the text has none of it.
pub(super) fn parse(text: &Text) -> Option<Cpus> {
    if !text.body().contains("node distances:") && !text.body().contains(" cpus:") {
        return None;
    }
    let mut nodes = BTreeMap::new();
    let mut is_distances = false;
    for (number, line) in text.lines() {
        let line = line.trim();
        if line == "node distances:" {
            is_distances = true;
        } else if is_distances {
            is_distances = line.starts_with("node ") || take_distances(&mut nodes, line);
        } else if let Some((node, what)) = line.strip_prefix("node ").and_then(|rest| rest.split_once(' ')) {
            take_node(&mut nodes, node, what, || text.source(number));
        }
    }
    let nodes: Vec<NumaNode> = nodes.into_values().collect();
    (!nodes.is_empty()).then(|| Cpus { nodes, ..Cpus::default() })
}

/// `cpus: 0 1 2 3` or `size: 64215 MB`. numactl's MB are MiB (`numactl.c`, `fmt_mem`).
fn take_node(nodes: &mut BTreeMap<u32, NumaNode>, node: &str, what: &str, source: impl Fn() -> String) {
    let Ok(id) = node.parse() else { return };
    if nodes.len() >= MOST_NODES && !nodes.contains_key(&id) {
        return;
    }
    if let Some(cpus) = what.strip_prefix("cpus:") {
        let cpus: Option<Vec<u32>> = cpus.split_whitespace().map(|cpu| cpu.parse().ok()).collect();
        let node = nodes.entry(id).or_insert_with(|| NumaNode { id, ..NumaNode::default() });
        node.cpus = cpus.unwrap_or_default();
        node.socket = Fact::absent(source());
    } else if let Some(size) = what.strip_prefix("size:").and_then(|size| size.trim().strip_suffix(" MB")) {
        let memory = size.trim().parse::<u32>().ok();
        let node = nodes.entry(id).or_insert_with(|| NumaNode { id, ..NumaNode::default() });
        node.memory =
            memory.map_or_else(Fact::default, |mib| Fact::known(Bytes::from_mib(mib.into()), source()));
    }
}

/// `  0:  10  21`.
fn take_distances(nodes: &mut BTreeMap<u32, NumaNode>, line: &str) -> bool {
    let Some((node, distances)) = line.split_once(':') else { return false };
    let node = node.trim().parse::<u32>().ok().and_then(|id| nodes.get_mut(&id));
    let distances: Option<Vec<u32>> =
        distances.split_whitespace().take(MOST_NODES).map(|distance| distance.parse().ok()).collect();
    let (Some(node), Some(distances)) = (node, distances) else { return false };
    node.distances = distances;
    true
}
