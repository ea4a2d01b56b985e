//! `numa_unbalanced`: devices are spread unevenly over NUMA nodes.
//!
//! All fast drives on one socket and the network on the other send every byte across the sockets; so does half of
//! any work that runs on both. It takes at least four NVMe drives to matter, and a machine with a choice: two nodes
//! with processors.

use std::collections::BTreeMap;

use super::super::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use super::Context;

/// Fewer drives than this do not fill the connection between two sockets.
const ENOUGH: usize = 4;

/// Mass storage, non-volatile memory (PCI Code and ID Assignment Specification).
const NVME: u32 = 0x0108;
/// Ethernet and InfiniBand controllers.
const NETWORKS: [u32; 2] = [0x0200, 0x0207];

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    let nodes: Vec<u32> =
        context.machine.cpus.nodes.iter().filter(|node| !node.cpus.is_empty()).map(|node| node.id).collect();
    if nodes.len() < 2 {
        return Vec::new();
    }
    let mut drives: BTreeMap<u32, usize> = nodes.iter().map(|node| (*node, 0)).collect();
    let mut networks = drives.clone();
    for device in context.machine.pci.values() {
        let (Some(class), Some(node)) = (device.class.get(), device.numa_node.get()) else { continue };
        let counts = match class >> 8 {
            NVME => &mut drives,
            kind if NETWORKS.contains(&kind) => &mut networks,
            _ => continue,
        };
        if let Some(count) = counts.get_mut(&node) {
            *count += 1;
        }
    }
    let all: usize = drives.values().sum();
    let Some((node, most)) = drives.iter().max_by_key(|(_, count)| **count) else { return Vec::new() };
    if all < ENOUGH || *most != all {
        return Vec::new();
    }
    let away = networks.get(node) == Some(&0) && networks.values().sum::<usize>() > 0;
    let network = if away { ", and no network card is there" } else { "" };
    let summary = format!("All {all} NVMe drives are on NUMA node {node} of {}{network}.", nodes.len());
    let evidence = drives.iter().map(|(node, count)| {
        Evidence::new(format!("NVMe drives on node {node}"), count, "/sys/bus/pci/devices/*/numa_node")
    });
    vec![
        Finding::on(Code::NumaUnbalanced, Severity::Info, format!("node {node}"), summary)
            .with_confidence(Confidence::Medium)
            .with_evidence(evidence)
            .with_advice([Advice::new(
                "Spread drives and network cards over the sockets, or keep the work on that node.",
            )]),
    ]
}
