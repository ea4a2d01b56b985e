//! Takes out of a report what should not be pasted in public: addresses, UUIDs, WWNs, and the names of servers.

use crate::machine::snapshot::redact::scrub;
use crate::path::HopKind;
use crate::report::view::{CeilingView, CheckReport, HopPair};

/// The report without what identifies its owner.
pub(super) fn without_identity(report: &CheckReport) -> CheckReport {
    let servers = servers(report);
    let mut report = report.clone();
    let mut texts = texts(&mut report);
    for (number, server) in servers.iter().enumerate() {
        for text in &mut texts {
            **text = text.replace(server.as_str(), &format!("server-{}", number + 1));
        }
    }
    scrub(&mut texts);
    report
}

/// The names of servers, as the ids of their hops and the targets that are mounted from them hold them.
fn servers(report: &CheckReport) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for hop in report.paths.iter().flat_map(|path| &path.hops).filter(|hop| hop.kind == HopKind::Remote) {
        let name = hop.id.split_once(':').map_or("", |(_, name)| name);
        let name = name.split_once(":/").map_or(name, |(server, _)| server);
        if name.len() > 2 && name.parse::<std::net::IpAddr>().is_err() && !found.iter().any(|f| f == name) {
            found.push(name.to_owned());
        }
    }
    found.sort_by_key(|name| std::cmp::Reverse(name.len()));
    found
}

/// Every text of a report that may name something.
fn texts(report: &mut CheckReport) -> Vec<&mut String> {
    let mut texts: Vec<&mut String> = report.machine.inputs.iter_mut().map(|input| &mut input.name).collect();
    for path in &mut report.paths {
        texts.extend([&mut path.target, &mut path.sentence]);
        texts.extend(pair(&mut path.limiting_hop));
        texts.extend(pair(&mut path.next_hop));
        for hop in &mut path.hops {
            texts.extend([&mut hop.id, &mut hop.name]);
            texts.extend(hop.above.iter_mut().chain(&mut hop.shared_with));
            texts.extend(ceiling(&mut hop.ceiling.read));
            texts.extend(ceiling(&mut hop.ceiling.write));
        }
        for run in &mut path.runs {
            texts.extend(run.measurement.first_error.iter_mut().chain(&mut run.measurement.cut_short));
        }
    }
    for finding in &mut report.findings {
        texts.extend([&mut finding.subject, &mut finding.summary]);
        texts.extend(&mut finding.hop);
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
