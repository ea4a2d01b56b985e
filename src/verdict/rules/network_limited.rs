//! `network_limited`: the network is the narrows of a path to a server.

use crate::path::{Hop, HopKind, HopSpec};
use crate::units::Bytes;

use super::super::attribution::{Attribution, Cause};
use super::super::finding::{Advice, Code, Finding, Severity};
use super::super::gain;
use super::{Context, Judged};

/// From here on an Ethernet frame is a jumbo frame.
const JUMBO: Bytes = Bytes::new(8000);

pub(super) fn check(_context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    judged
        .limits_of_kind(HopKind::Network)
        .into_iter()
        .map(|(index, hop, _, limit)| {
            Finding::about(Code::NetworkLimited, Severity::Limit, hop, summary(hop, limit))
                .with_confidence(limit.confidence)
                .with_evidence(limit.evidence.clone())
                .with_advice(advice(judged, index, hop))
        })
        .collect()
}

fn summary(hop: &Hop, limit: &Attribution) -> String {
    let rate = limit.rate.map(|rate| format!(" at {rate}")).unwrap_or_default();
    match limit.cause {
        Cause::Network => format!("The network behind {} is the narrows of this path{rate}.", hop.name),
        _ => format!("The network is the narrows of this path: {}{rate}.", hop.name),
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
