//! From verdicts to the view model: joins, and decides nothing.

use super::{
    ForetoldView, GroupView, HiddenGroupView, HiddenView, LeftOut, SCHEMA, ShareView, SharedHopView,
    TargetView, TogetherReport,
};
use crate::view::{finding_view, machine_view, tool};
use narrows_load::measurement::Workload;
use narrows_machine::Machine;
use narrows_verdict::together::hidden::{FoundGroup, HiddenVerdict};
use narrows_verdict::together::{Conclusion, Foretold, GroupVerdict, Rate, SharedHop};
use narrows_verdict::{PathVerdict, Subject};

/// What a report is about, beside what was found.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// The load of each target.
    pub workload: Workload,
    /// Targets that were not measured, and why.
    pub left_out: Vec<(String, String)>,
    /// What changed between the first run and the same at the end.
    pub drift: Option<String>,
    /// What was found of hidden groups, where that was asked for.
    pub hidden: Option<HiddenVerdict>,
    /// Why it is not complete, if it is not.
    pub reason: Option<String>,
}

/// The whole report. `alone` holds the targets, each with its run alone.
pub fn report(
    machine: &Machine,
    about: About,
    alone: &[Subject],
    groups: &[GroupVerdict],
    conclusion: &Conclusion,
) -> TogetherReport {
    let names: Vec<String> = alone.iter().map(|subject| subject.path.target.clone()).collect();
    let left_out = about.left_out.iter();
    TogetherReport {
        schema: SCHEMA.to_owned(),
        tool: tool(),
        machine: machine_view(machine),
        workload: about.workload,
        targets: alone
            .iter()
            .zip(&conclusion.paths)
            .map(|(one, verdict)| target_view(one, verdict))
            .collect(),
        groups: groups.iter().map(|group| group_view(&names, group)).collect(),
        drift: about.drift.clone(),
        hidden: about.hidden.as_ref().map(|hidden| hidden_view(&names, hidden)),
        foretold: conclusion.foretold.iter().map(foretold_view).collect(),
        findings: conclusion.findings.iter().map(finding_view).collect(),
        left_out: left_out
            .map(|(target, reason)| LeftOut { target: target.to_owned(), reason: reason.to_owned() })
            .collect(),
        complete: about.reason.is_none(),
        reason: about.reason.clone(),
    }
}

fn target_view(subject: &Subject, verdict: &PathVerdict) -> TargetView {
    let alone = subject.runs.first().map(Rate::of);
    TargetView {
        target: subject.path.target.clone(),
        sentence: verdict.sentence.clone(),
        reason: alone.is_none().then(|| "it was not measured".to_owned()),
        alone,
    }
}

fn named(names: &[String], members: &[usize]) -> Vec<String> {
    members.iter().filter_map(|member| names.get(*member).cloned()).collect()
}

fn hidden_view(names: &[String], hidden: &HiddenVerdict) -> HiddenView {
    let group = |one: &FoundGroup| HiddenGroupView {
        targets: named(names, &one.group.members),
        limit_bytes_per_second: one.group.limit,
        alone_bytes_per_second: one.group.alone,
        is_confirmed: one.group.is_confirmed,
        hops: one.hops.iter().map(ToString::to_string).collect(),
    };
    HiddenView {
        groups: hidden.groups.iter().map(group).collect(),
        unexplained: named(names, &hidden.unexplained),
        runs: hidden.runs,
        is_certain: hidden.doubt.is_none(),
        sentence: hidden.sentence.clone(),
        reason: hidden.doubt.clone(),
    }
}

fn group_view(names: &[String], group: &GroupVerdict) -> GroupView {
    let shares = group.shares.iter().map(|share| {
        let part = share.part();
        ShareView {
            target: names.get(share.member).cloned().unwrap_or_default(),
            alone: share.alone,
            together: share.together,
            part,
            reason: part.is_none().then(|| "it gives nothing alone".to_owned()),
        }
    });
    GroupView {
        targets: named(names, &group.members),
        outcome: group.outcome,
        alone: group.alone,
        together: group.together,
        shares: shares.collect(),
        hops: group.hops.iter().map(|hop| hop_view(names, hop)).collect(),
        limiting_hops: group.limiting.iter().map(ToString::to_string).collect(),
        located_hops: group.located.iter().map(ToString::to_string).collect(),
        evidence: group.evidence.clone(),
        sentence: group.sentence.clone(),
    }
}

fn hop_view(names: &[String], hop: &SharedHop) -> SharedHopView {
    let known = hop.ceiling.as_ref().ok();
    SharedHopView {
        id: hop.id.to_string(),
        kind: hop.kind,
        name: hop.name.clone(),
        targets: named(names, &hop.members),
        alone_bytes_per_second: hop.alone,
        together_bytes_per_second: hop.together,
        ceiling_bytes_per_second: known.map(|(rate, ..)| *rate),
        basis: known.map(|(_, basis, _)| *basis),
        formula: known.map(|(.., formula)| formula.to_owned()),
        part_of_ceiling: hop.fraction(),
        at_ceiling: hop.is_at_ceiling(),
        reason: hop.ceiling.as_ref().err().cloned(),
    }
}

fn foretold_view(foretold: &Foretold) -> ForetoldView {
    ForetoldView {
        code: foretold.code,
        hop: foretold.hop.to_string(),
        subject: foretold.subject.clone(),
        summary: foretold.summary.clone(),
        fate: foretold.fate,
        sentence: foretold.sentence.clone(),
    }
}
