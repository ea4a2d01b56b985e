//! `network_limited`: the network is the bottleneck of a path to a server.
//!
//! A `limit` where a run shows it. By arithmetic alone it is `info`: what the server can do is not known.

use narrows_base::units::Bytes;
use narrows_model::path::{Hop, HopKind, HopSpec, Target};

use super::super::attribution::{Attribution, Cause};
use super::super::finding::{Advice, Code, Finding};
use super::super::gain;
use super::{Context, Judged};

/// From here on an Ethernet frame is a jumbo frame.
const JUMBO: Bytes = Bytes::new(8000);

pub(super) fn check(_context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    // A card that stands for itself leads to no server: that it carries what its wire does is no finding.
    if matches!(judged.subject.path.asked, Target::Pci(_)) {
        return Vec::new();
    }
    judged
        .limits_of_kind(HopKind::Network)
        .into_iter()
        .map(|(index, hop, _, limit)| {
            Finding::about(Code::NetworkLimited, limit.severity(), hop, summary(hop, limit))
                .with_confidence(limit.confidence)
                .with_evidence(limit.evidence.clone())
                .with_advice(advice(judged, index, hop))
        })
        .collect()
}

fn summary(hop: &Hop, limit: &Attribution) -> String {
    let rate = limit.rate.map(|rate| format!(", {rate}")).unwrap_or_default();
    match limit.cause {
        Cause::Network => format!("The network behind {} is the bottleneck of this path{rate}.", hop.name),
        _ => format!("The network {}: {}{rate}.", limit.is_the_narrows(), hop.name),
    }
}

fn advice(judged: &Judged<'_>, index: usize, hop: &Hop) -> Vec<Advice> {
    let mut advice = vec![Advice::with_gain(
        "Use a faster network, or several connections over several interfaces.",
        gain::of_removing(judged, index),
    )];
    let short = match &hop.spec {
        HopSpec::Network(network) => network.mtu.value().is_some_and(|mtu| *mtu < JUMBO),
        _ => false,
    };
    if short {
        advice.push(Advice::new(
            "Frames of 9000 bytes carry 99 % payload instead of 94 %, if every switch on the way allows them.",
        ));
    }
    advice
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Severity;
    use crate::testing::{Sketch, link};
    use narrows_base::fact::Fact;
    use narrows_machine::block::Remote;
    use narrows_model::path::NetworkHop;

    fn path(megabytes: f64, mtu: u64) -> Sketch {
        let mtu = Fact::known(Bytes::new(mtu), "mtu");
        let network = NetworkHop { interface: "eth0".to_owned(), mtu, ..NetworkHop::default() };
        Sketch::of("/mnt/nfs").hop("eth0", HopSpec::Network(network), Some(megabytes)).link(link(
            (3, 4),
            (3, 4),
            (3, 4),
        ))
    }

    #[test]
    fn a_wire_below_its_slot_is_a_limit_and_short_frames_are_advised_on() {
        let finding = path(1177.0, 1500).finding(Code::NetworkLimited).expect("10 Gbit/s");
        assert_eq!(finding.advice.len(), 2);
        assert!(finding.advice[0].gain_bytes_per_second.is_some());
        assert_eq!(path(1238.0, 9000).finding(Code::NetworkLimited).map(|f| f.advice.len()), Some(1));
    }

    #[test]
    fn a_healthy_network_before_a_server_that_nobody_measured_is_no_limit() {
        let path = path(118.0, 1500).unknown("server", HopSpec::Remote(Remote::default()));
        let finding = path.finding(Code::NetworkLimited).expect("the narrowest that is known");
        assert_eq!(finding.severity, Severity::Info);
        assert!(!path.judge().has_faults_or_limits());
    }

    #[test]
    fn a_wire_above_its_slot_is_silent() {
        assert_eq!(path(11_770.0, 1500).finding(Code::NetworkLimited), None);
    }
}
