//! `numa_remote`: the device is on another NUMA node than the processors that use it.
//!
//! Large transfers from one drive hardly notice; many drives meet the ceiling of the connection between the sockets.
//! So it is a `limit` only where that connection is the bottleneck, and `info` otherwise.

use narrows_model::path::HopSpec;

use super::super::attribution::Attribution;
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
        let limit = judged.limited_by(index).map(|(_, limit)| limit).min_by_key(|limit| limit.severity());
        let (device, reader) = (socket.device_node, socket.reader_node);
        let summary = format!(
            "The device is on NUMA node {device} and is used from node {reader}: every byte crosses {}{}.",
            hop.name,
            limit.map(|limit| format!(", which {}", limit.is_the_narrows())).unwrap_or_default(),
        );
        let gain = limit.and_then(|_| gain::of_removing(judged, index));
        let severity = limit.map_or(Severity::Info, Attribution::severity);
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
                .with_confidence(if limit.is_some() { Confidence::High } else { Confidence::Medium })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sketch;
    use narrows_machine::cpu::NumaNode;
    use narrows_model::path::SocketHop;

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
}
