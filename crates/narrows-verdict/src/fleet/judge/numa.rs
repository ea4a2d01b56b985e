//! Servers whose drives and network cards hang on different sockets: what is served crosses the link between these.

use std::collections::{BTreeMap, BTreeSet};

use super::Case;
use crate::fleet::record::Host;
use crate::fleet::samples::Activity;

/// What the fact is called that tells the node of a drive or an interface.
pub const NODE: &str = "NUMA node of ";
/// What carried less than this share of what the busiest of its kind did carried something else.
const CARRIES: f64 = 0.05;

/// A sentence for each watched server of which some cards that carried the load are on other nodes than all drives that did, three at
/// most.
pub(super) fn evidence(case: &Case<'_>) -> Vec<String> {
    const MOST: usize = 3;
    let servers = case.run.servers.iter().zip(case.servers);
    let said = servers.filter_map(|(host, activity)| across(case, host, activity.as_ref()?));
    said.take(MOST).collect()
}

fn across(case: &Case<'_>, host: &Host, activity: &Activity) -> Option<String> {
    let side = usize::from(case.reads_most());
    let nics = activity.nics.iter().map(|(name, rates)| (name, rates[side].get()));
    let disk = |name: &String| {
        let disk = activity.disks.get(name)?;
        Some(if case.reads_most() { disk.read.get() } else { disk.written.get() })
    };
    let drives = host.target.iter().flat_map(|target| &target.drives);
    let drives = drives.filter_map(|name| Some((name, disk(name)?)));
    let (nics, drives) = (by_node(host, nics.collect()), by_node(host, drives.collect()));
    let far: Vec<(&u32, &BTreeSet<&str>)> =
        nics.iter().filter(|(node, _)| !drives.contains_key(node)).collect();
    if far.is_empty() || drives.is_empty() {
        return None;
    }
    let names: Vec<&str> = far.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    let verb = if names.len() == 1 { "is" } else { "are" };
    let of_drives = numbers(drives.keys());
    Some(format!(
        "{}: its drives are on NUMA node {of_drives}, {} {verb} on node {}: what goes through there crosses the link between sockets",
        host.host,
        names.join(", "),
        numbers(far.iter().map(|(node, _)| *node))
    ))
}

/// The names that carried the load, by the node that a fact tells.
fn by_node<'a>(host: &Host, rates: Vec<(&'a String, f64)>) -> BTreeMap<u32, BTreeSet<&'a str>> {
    let most = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let mut nodes: BTreeMap<u32, BTreeSet<&str>> = BTreeMap::new();
    for (name, rate) in rates {
        let node = host.facts.get(&format!("{NODE}{name}")).and_then(|node| node.trim().parse().ok());
        if let Some(node) = node.filter(|_| rate > 0.0 && rate >= most * CARRIES) {
            nodes.entry(node).or_default().insert(name);
        }
    }
    nodes
}

fn numbers<'a>(nodes: impl Iterator<Item = &'a u32>) -> String {
    nodes.map(u32::to_string).collect::<Vec<_>>().join(", ")
}
