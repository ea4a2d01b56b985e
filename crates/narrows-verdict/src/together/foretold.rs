//! What was foretold of shared hops, beside what the runs show: a limit that was reached becomes measured, and one that the
//! run disproves is withdrawn.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{GroupVerdict, LAW_ERROR, Outcome, SharedHop, evidence_of, words};
use crate::{Code, Finding, PathVerdict, Severity, Subject, Verdict, judge};
use narrows_base::units::human;
use narrows_machine::Machine;
use narrows_machine::pci::PciAddress;
use narrows_model::path::{Hop, HopId, HopKind, HopSpec};

/// What became of a foretold limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// The hop is at its ceiling, and those who cross it give less than alone.
    Measured,
    /// All that share the hop ran at the same time, and it did not limit them.
    Withdrawn,
    /// The runs decide neither.
    Open,
}

/// A foretold shared limit and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Foretold {
    /// The finding that foretold it.
    pub code: Code,
    pub hop: HopId,
    /// The device that the hop is.
    pub subject: String,
    /// What was foretold.
    pub summary: String,
    /// What became of it.
    pub fate: Fate,
    /// Why, in words.
    pub sentence: String,
}

/// What is known once all ran alone and together.
#[derive(Debug, Clone, Default)]
pub struct Conclusion {
    /// The verdict on each target by its run alone, in their order.
    pub paths: Vec<PathVerdict>,
    /// The findings by what is known after the runs, worst first.
    pub findings: Vec<Finding>,
    /// What became of foretold shared limits.
    pub foretold: Vec<Foretold>,
}

impl Conclusion {
    /// Whether there is a fault or limit, or targets do less together than alone, or nobody knows whether they do.
    pub fn has_findings(&self, verdicts: &[GroupVerdict]) -> bool {
        self.findings.iter().any(|finding| finding.severity != Severity::Info)
            || verdicts.iter().any(|verdict| verdict.outcome != Outcome::NoSharedLimit)
    }
}

/// Joins what the runs alone tell with the verdicts on groups. `alone` holds the targets, each with its run alone.
pub fn conclude(machine: &Machine, alone: &[Subject], verdicts: &[GroupVerdict]) -> Conclusion {
    let (mut findings, mut fates) = (Vec::new(), Vec::new());
    let Verdict { paths, findings: all } = judge(machine, alone);
    for finding in all {
        let Some(foretold) = fate(machine, alone, verdicts, &finding) else {
            findings.push(finding);
            continue;
        };
        // What was measured gets its finding below, by the hop and not by who foretold it.
        if foretold.fate == Fate::Open {
            findings.push(finding);
        }
        fates.push(foretold);
    }
    findings.extend(measured(alone, verdicts));
    findings.sort_by_key(|finding| finding.severity);
    Conclusion { paths, findings, foretold: fates }
}

/// What became of a finding that foretells a limit which several targets share; `None` for every other finding.
fn fate(
    machine: &Machine,
    alone: &[Subject],
    verdicts: &[GroupVerdict],
    finding: &Finding,
) -> Option<Foretold> {
    if !matches!(finding.code, Code::SwitchOversubscribed | Code::ChipsetShared | Code::HbaLimited) {
        return None;
    }
    let id = finding.hop.as_ref()?;
    let crossing: Vec<usize> =
        (0..alone.len()).filter(|at| alone.get(*at).is_some_and(|one| one.path.hop(id).is_some())).collect();
    let verdict = verdicts.iter().find(|verdict| verdict.members == crossing)?;
    let hop = crossing.first().and_then(|first| alone.get(*first)?.path.hop(id))?;
    let members: Vec<&Subject> = crossing.iter().filter_map(|at| alone.get(*at)).collect();
    let (fate, sentence) = decide(machine, &members, verdict, hop);
    Some(Foretold {
        code: finding.code,
        hop: id.clone(),
        subject: finding.subject.clone(),
        summary: finding.summary.clone(),
        fate,
        sentence,
    })
}

fn decide(machine: &Machine, members: &[&Subject], verdict: &GroupVerdict, hop: &Hop) -> (Fate, String) {
    let its_own = verdict.hops.iter().filter(|shared| is_same(members, &shared.id, hop));
    let its_own: Vec<&SharedHop> = its_own.collect();
    let limiting = its_own.iter().find(|shared| verdict.limiting.contains(&shared.id));
    if let Some(shared) = limiting {
        return (Fate::Measured, words::at_ceiling(verdict, shared));
    }
    let above = its_own.iter().find(|shared| shared.fraction().is_some_and(|part| part > LAW_ERROR));
    match (verdict.outcome, above, missing(machine, members, hop)) {
        (Outcome::NotKnown | Outcome::Generator, ..) => (Fate::Open, verdict.sentence.clone()),
        (_, Some(shared), _) => (Fate::Withdrawn, words::more_than_foretold(shared)),
        (_, _, Some(others)) => (Fate::Open, format!("Not all that share it ran: {others} did not.")),
        (Outcome::NoSharedLimit, ..) => {
            let up_to = human::rate(verdict.together.bytes_per_second);
            let why = format!(
                "All that share it ran at the same time up to {up_to}, and none of them gave less than alone."
            );
            (Fate::Withdrawn, why)
        }
        (Outcome::SharedLimit | Outcome::LimitEachOther, ..) => {
            (Fate::Open, "Those who share it give less than alone, and it is not at its ceiling.".to_owned())
        }
    }
}

/// Whether a shared hop is this hop, or the link that is the way up from it.
fn is_same(members: &[&Subject], shared: &HopId, hop: &Hop) -> bool {
    if *shared == hop.id {
        return true;
    }
    let of_link = members.iter().find_map(|member| member.path.hop(shared)?.link());
    of_link.zip(hop.uplink()).is_some_and(|(link, uplink)| link.device.address == uplink.address)
}

/// Who shares the hop and did not run: functions behind it that no target crosses, or targets of this machine.
fn missing(machine: &Machine, members: &[&Subject], hop: &Hop) -> Option<String> {
    const BRIDGE: u32 = 0x06;
    let links = members.iter().flat_map(|member| &member.path.hops).filter_map(Hop::link);
    let crossed: BTreeSet<PciAddress> = links.map(|link| link.device.address.card()).collect();
    let others: Vec<String> = match hop.uplink() {
        Some(uplink) => {
            let behind = uplink.behind.iter().filter_map(|address| machine.pci.get(address));
            let idle: BTreeSet<String> = behind
                .filter(|device| device.class.value().is_none_or(|class| class >> 16 != BRIDGE))
                .filter(|device| !crossed.contains(&device.address.card()))
                .map(|device| device.address.to_string())
                .collect();
            idle.into_iter().collect()
        }
        None => {
            let ran = |name: &String| members.iter().any(|member| member.path.target == *name);
            hop.shared_with.iter().filter(|name| !ran(name)).cloned().collect()
        }
    };
    (!others.is_empty()).then(|| others.join(", "))
}

/// A finding for each hop that was measured to limit those who share it, where its kind has a code.
fn measured(alone: &[Subject], verdicts: &[GroupVerdict]) -> Vec<Finding> {
    let mut told: BTreeSet<&HopId> = BTreeSet::new();
    let mut findings = Vec::new();
    // The largest group last: it holds what all of them do to the hop.
    for verdict in verdicts.iter().rev() {
        for shared in verdict.hops.iter().filter(|shared| verdict.limiting.contains(&shared.id)) {
            let subjects: Vec<&Subject> = verdict.members.iter().filter_map(|at| alone.get(*at)).collect();
            let Some(hop) = subjects.iter().find_map(|subject| subject.path.hop(&shared.id)) else {
                continue;
            };
            let Some((code, advice)) = code(&subjects, hop) else { continue };
            if told.insert(&shared.id) {
                let sentence = format!("Measured: {}", words::at_ceiling(verdict, shared));
                let found = Finding::about(code, Severity::Limit, hop, sentence);
                findings.push(found.with_evidence(evidence_of(shared)).advise(advice));
            }
        }
    }
    findings
}

/// The code of a limit at this hop, and what to do; `None` where its kind has none.
fn code(subjects: &[&Subject], hop: &Hop) -> Option<(Code, &'static str)> {
    const SPREAD: &str = "Spread devices that are used at the same time over several switches or slots.";
    const PROCESSOR: &str = "Move what needs the rate to a slot or M.2 socket that the processor feeds.";
    const ADAPTER: &str = "Spread the disks over another adapter, or use a faster one.";
    let of_uplink = |hop: &Hop| match &hop.spec {
        HopSpec::Switch(uplink) if uplink.chipset.is_none() => Some((Code::SwitchOversubscribed, SPREAD)),
        HopSpec::Switch(_) | HopSpec::Chipset(_) => Some((Code::ChipsetShared, PROCESSOR)),
        _ => None,
    };
    match hop.kind() {
        HopKind::Switch | HopKind::Chipset => of_uplink(hop),
        HopKind::Link => {
            let address = hop.link()?.device.address;
            let mut hops = subjects.iter().flat_map(|subject| &subject.path.hops);
            let above = hops.find(|other| other.uplink().is_some_and(|uplink| uplink.address == address));
            above.and_then(of_uplink)
        }
        HopKind::Hba | HopKind::Sas => Some((Code::HbaLimited, ADAPTER)),
        HopKind::Usb => Some((Code::UsbLimited, "Use several ports that do not share a hub.")),
        HopKind::Sata => Some((Code::SataLimited, "Use several ports of the SATA controller.")),
        HopKind::Network => Some((Code::NetworkLimited, "Use a faster network, or several interfaces.")),
        _ => None,
    }
}
