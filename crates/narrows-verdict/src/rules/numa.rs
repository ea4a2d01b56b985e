//! NUMA nodes: a device far from the processors that use it, and devices that are spread unevenly.

use std::collections::BTreeMap;

use narrows_model::path::{Hop, HopSpec};

use super::{Context, Judged, NVME};
use crate::attribution::Attribution;
use crate::counterfactual;
use crate::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};

/// `numa_remote`: the device is on another NUMA node than the processors that use it.
///
/// Large transfers from one drive hardly notice; many drives meet the ceiling of the connection between the sockets.
/// So it is a `limit` only where that connection is the bottleneck, and `info` otherwise.
pub(super) fn numa_remote(judged: &Judged<'_>, index: usize, hop: &Hop) -> Option<Finding> {
    let HopSpec::Socket(socket) = &hop.spec else { return None };
    if socket.device_node == socket.reader_node {
        return None;
    }
    let limit = judged.limited_by(index).map(|(_, limit)| limit).min_by_key(|limit| limit.severity());
    let (device, reader) = (socket.device_node, socket.reader_node);
    let summary = format!(
        "The device is on NUMA node {device} and is used from node {reader}: every byte crosses {}{}.",
        hop.name,
        limit.map(|limit| format!(", which {}", limit.is_the_narrows())).unwrap_or_default(),
    );
    let gain = limit.and_then(|_| counterfactual::gain_of_removing(judged, index));
    let severity = limit.map_or(Severity::Info, Attribution::severity);
    let cpus =
        judged.machine.cpus.nodes.iter().find(|node| node.id == device).filter(|node| !node.cpus.is_empty());
    let advice = cpus.map(|_| {
        let action =
            format!("Run what uses it on node {device}: numactl --cpunodebind={device} --membind={device}.");
        Advice::with_gain(action, gain)
    });
    let found = Finding::about(Code::NumaRemote, severity, hop, summary)
        .with_confidence(if limit.is_some() { Confidence::High } else { Confidence::Medium })
        .seen("node of the device", device, "/sys/bus/pci/devices/*/numa_node")
        .seen("node of the processors", reader, "/sys/devices/system/node")
        .seen("distance (10 is local)", socket.distance, "/sys/devices/system/node/*/distance");
    Some(found.with_advice(advice))
}

/// Fewer drives than this do not fill the connection between two sockets.
const ENOUGH: usize = 4;

/// Ethernet and InfiniBand controllers.
const NETWORKS: [u32; 2] = [0x0200, 0x0207];

/// `numa_unbalanced`: devices are spread unevenly over NUMA nodes.
///
/// All fast drives on one socket and the network on the other send every byte across the sockets; so does half of
/// any work that runs on both. It takes at least four NVMe drives to matter, and a machine with a choice: two nodes
/// with processors.
pub(super) fn numa_unbalanced(context: &Context<'_>) -> Vec<Finding> {
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
            .advise("Spread drives and network cards over the sockets, or keep the work on that node."),
    ]
}

#[cfg(test)]
mod tests {
    use narrows_base::fact::Fact;
    use narrows_machine::cpu::NumaNode;
    use narrows_model::path::SocketHop;

    use super::*;
    use crate::testing::{ETHERNET, NVME as NVME_CLASS, Sketch, at, function};

    fn path(device: u32, reader: u32, megabytes: f64) -> Sketch {
        let socket = SocketHop { device_node: device, reader_node: reader, distance: 21, platform: None };
        let node = |id| NumaNode { id, cpus: vec![id], ..NumaNode::default() };
        Sketch::of("/dev/md0")
            .device("md0", Some(40_000.0))
            .hop("UPI", HopSpec::Socket(Box::new(socket)), Some(megabytes))
            .on(|machine| machine.cpus.nodes = vec![node(0), node(1)])
    }

    #[test]
    fn a_connection_that_is_the_narrows_is_a_limit_with_its_gain() {
        let finding = path(1, 0, 34_000.0).finding(Code::NumaRemote).expect("remote");
        assert_eq!(finding.severity, Severity::Limit);
        assert!(finding.advice[0].action.contains("--cpunodebind=1"), "{:?}", finding.advice);
        let gain = finding.advice[0].gain_bytes_per_second.map(|gain| gain.get());
        assert_eq!(gain, Some(6e9));
    }

    #[test]
    fn a_connection_with_room_is_mentioned_and_a_local_one_is_not() {
        assert_eq!(path(1, 0, 90_000.0).finding(Code::NumaRemote).map(|f| f.severity), Some(Severity::Info));
        assert_eq!(path(0, 0, 90_000.0).finding(Code::NumaRemote), None);
    }

    /// NVMe drives on these nodes, and a network card on node 0.
    fn machine(nodes: usize, drives: &[u32]) -> Sketch {
        Sketch::of("/dev/nvme0n1").on(|machine| {
            let node = |id: u32| NumaNode { id, cpus: vec![id], ..NumaNode::default() };
            machine.cpus.nodes = (0..).take(nodes).map(node).collect();
            for (bus, node) in (10..).zip(drives) {
                let mut drive = function(at(bus), NVME_CLASS, (4, 4));
                drive.numa_node = Fact::known(*node, "numa_node");
                machine.pci.insert(at(bus), drive);
            }
            let mut card = function(at(1), ETHERNET, (4, 16));
            card.numa_node = Fact::known(0, "numa_node");
            machine.pci.insert(at(1), card);
        })
    }

    #[test]
    fn all_drives_on_one_socket_and_the_network_on_the_other_are_mentioned() {
        let finding = machine(2, &[1, 1, 1, 1]).finding(Code::NumaUnbalanced).expect("all on node 1");
        assert_eq!(finding.severity, Severity::Info);
        assert!(finding.summary.contains("no network card is there"), "{}", finding.summary);
    }

    #[test]
    fn spread_drives_few_drives_and_one_socket_are_silent() {
        for (nodes, drives) in [(2, &[0, 0, 1, 1][..]), (2, &[1, 1]), (1, &[0, 0, 0, 0])] {
            assert_eq!(machine(nodes, drives).finding(Code::NumaUnbalanced), None, "{nodes} {drives:?}");
        }
    }
}
