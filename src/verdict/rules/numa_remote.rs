//! `numa_remote`: the device is on another NUMA node than the processors that use it.
//!
//! Large transfers from one drive hardly notice; many drives meet the ceiling of the connection between the sockets.
//! So it is a `limit` only where that connection is the narrows, and `info` otherwise.

use crate::path::HopSpec;

use super::super::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use super::super::gain;
use super::{Context, Judged};

pub(super) fn check(context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    let hops = judged.subject.path.hops.iter().enumerate();
    hops.filter_map(|(index, hop)| {
        let HopSpec::Socket(socket) = &hop.spec else { return None };
        if socket.device_node == socket.reader_node {
            return None;
        }
        let limits = judged.is_limit(index);
        let (device, reader) = (socket.device_node, socket.reader_node);
        let summary = format!(
            "The device is on NUMA node {device} and is used from node {reader}: every byte crosses {}{}.",
            hop.name,
            if limits { ", which is the narrows of this path" } else { "" },
        );
        let gain = gain::of_removing(judged, index).filter(|_| limits);
        let severity = if limits { Severity::Limit } else { Severity::Info };
        let cpus = context
            .machine
            .cpus
            .nodes
            .iter()
            .find(|node| node.id == device)
            .filter(|node| !node.cpus.is_empty());
        let advice = cpus.map(|_| {
            let action = format!(
                "Run what uses it on node {device}: numactl --cpunodebind={device} --membind={device}."
            );
            Advice::with_gain(action, gain)
        });
        Some(
            Finding::about(Code::NumaRemote, severity, hop, summary)
                .with_confidence(if limits { Confidence::High } else { Confidence::Medium })
                .with_evidence([
                    Evidence::new("node of the device", device, "/sys/bus/pci/devices/*/numa_node"),
                    Evidence::new("node of the processors", reader, "/sys/devices/system/node"),
                    Evidence::new(
                        "distance (10 is local)",
                        socket.distance,
                        "/sys/devices/system/node/*/distance",
                    ),
                ])
                .with_advice(advice),
        )
    })
    .collect()
}
