//! Takes out of a report what should not be pasted in public: addresses, UUIDs, WWNs, and the names that people chose.

use crate::names::Names;
use crate::view::{CeilingView, CheckReport, HopPair};
use narrows_model::path::HopId;
use narrows_verdict::compare::{Change, Comparison};

/// The report without what identifies its owner.
pub(super) fn without_identity(report: &CheckReport) -> CheckReport {
    let names = Names::of(report);
    let mut report = report.clone();
    report.machine.from.clear();
    names.hide(&mut texts(&mut report));
    report
}

/// Facts whose value tells a device or a machine from all others, whatever it looks like.
const IDENTITIES: [&str; 5] = ["serial", "uuid", "wwn", "wwid", "host name"];

/// The comparison without what identifies its owner. Of a file only its name is left.
pub(super) fn comparison_without_identity(comparison: &Comparison) -> Comparison {
    let mut comparison = comparison.clone();
    comparison.others = comparison.others.iter().map(comparison_without_identity).collect();
    for change in &mut comparison.inventory {
        hide_identity(change);
    }
    for file in [&mut comparison.a, &mut comparison.b] {
        if let Some((_, name)) = file.rsplit_once('/') {
            *file = name.to_owned();
        }
    }
    comparison
}

/// Puts words in the place of values that are identities by the name of their fact.
fn hide_identity(change: &mut Change) {
    let fact = change.what.rsplit(": ").next().unwrap_or_default().to_ascii_lowercase().replace('_', " ");
    if IDENTITIES.iter().any(|identity| fact.contains(identity)) {
        for (value, word) in [(&mut change.a, "one"), (&mut change.b, "another")] {
            if let Some(value) = value {
                *value = word.to_owned();
            }
        }
    }
}

/// Every text of a report that may name something.
fn texts(report: &mut CheckReport) -> Vec<&mut String> {
    let machine = &mut report.machine;
    let mut texts: Vec<&mut String> = machine.inputs.iter_mut().map(|input| &mut input.name).collect();
    for path in &mut report.paths {
        texts.extend([&mut path.target, &mut path.sentence]);
        texts.extend(pair(&mut path.limiting_hop));
        texts.extend(pair(&mut path.next_hop));
        for hop in &mut path.hops {
            texts.extend([&mut hop.id, &mut hop.name]);
            texts.extend(hop.above.iter_mut().chain(&mut hop.below).chain(&mut hop.shared_with));
            texts.extend(ceiling(&mut hop.ceiling.read));
            texts.extend(ceiling(&mut hop.ceiling.write));
        }
        for it in &mut path.counterfactuals {
            texts.extend([it.hop.as_mut(), &mut it.action]);
            let it = &mut it.foreseen;
            texts.extend(it.at_most_by.iter_mut().chain(&mut it.reason).chain(&mut it.measure_instead));
        }
        for peer in &mut path.peers {
            texts.extend([&mut peer.device, &mut peer.because]);
        }
        if let Some(memory) = &mut path.memory {
            let layers = memory.direct.layers.iter_mut().chain(&mut memory.buffered.layers);
            texts.extend(layers.map(|layer| &mut layer.name));
            texts.extend(memory.claim.iter_mut().map(|claim| &mut claim.source).chain(&mut memory.reason));
        }
        for run in &mut path.runs {
            texts.extend(run.measurement.first_error.iter_mut().chain(&mut run.measurement.cut_short));
        }
    }
    for finding in &mut report.findings {
        texts.extend([&mut finding.subject, &mut finding.summary]);
        texts.extend(finding.hop.iter_mut().map(HopId::as_mut));
        texts.extend(finding.evidence.iter_mut().flat_map(|e| [&mut e.fact, &mut e.value, &mut e.source]));
        texts.extend(finding.advice.iter_mut().map(|advice| &mut advice.action));
    }
    texts
}

fn pair(pair: &mut HopPair) -> impl Iterator<Item = &mut String> {
    pair.read.iter_mut().chain(&mut pair.write).chain(&mut pair.reason)
}

fn ceiling(ceiling: &mut CeilingView) -> impl Iterator<Item = &mut String> {
    let facts = ceiling.facts.iter_mut().flat_map(|fact| [&mut fact.value, &mut fact.source]);
    ceiling.reason.iter_mut().chain(&mut ceiling.formula).chain(facts)
}
