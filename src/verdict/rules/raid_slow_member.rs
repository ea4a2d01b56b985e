//! `raid_slow_member`: one member holds an array back.
//!
//! Shown by a run, where one member's queue is full while its siblings wait; or by arithmetic, where one member's link
//! or medium is known to be clearly slower than the others'.

use crate::ceiling::Direction;
use crate::path::{Hop, HopSpec};

use super::super::attribution::{Cause, unequal_members};
use super::super::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use super::{Context, Judged};

/// Members whose ceilings are closer than this are alike.
const ALIKE: f64 = 0.75;

pub(super) fn check(_context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    let shown: Vec<Finding> = judged
        .caused_by(Cause::SlowMember)
        .filter_map(|(_, limit)| {
            let hop = judged.hop(limit.hop)?;
            let rate = limit.rate.map(|rate| format!(" ({rate} in all)")).unwrap_or_default();
            let summary =
                format!("{} holds its array back{rate}: it works while the other members wait.", hop.name);
            Some(
                finding(hop, summary).with_confidence(limit.confidence).with_evidence(limit.evidence.clone()),
            )
        })
        .collect();
    if !shown.is_empty() || judged.subject.runs.iter().any(|run| run.direction == Direction::Read) {
        return shown;
    }
    by_arithmetic(judged)
}

fn finding(hop: &Hop, summary: String) -> Finding {
    Finding::about(Code::RaidSlowMember, Severity::Fault, hop, summary).with_advice([
        Advice::new(
            "Measure this member alone, and compare its link, temperature and error log with its siblings'.",
        ),
        Advice::new("Replace it with one that is as fast as the others, or give it a slot like theirs."),
    ])
}

fn by_arithmetic(judged: &Judged<'_>) -> Vec<Finding> {
    let case = judged.case(Direction::Read);
    case.hops()
        .filter(|(_, hop)| matches!(hop.spec, HopSpec::Raid(_) | HopSpec::Volume(_)))
        .filter_map(|(_, array)| {
            let (index, slow, next) = unequal_members(&case, array)?;
            let hop = judged.hop(index).filter(|_| slow.get() < ALIKE * next.get())?;
            let summary = format!(
                "{} carries {slow}, and every other member of {} at least {next}: each gets the same share, so all wait \
                 for the slowest.",
                hop.name, array.name
            );
            Some(finding(hop, summary).with_confidence(Confidence::Medium).with_evidence([
                Evidence::new(format!("ceiling of {}", hop.name), slow, "its ceiling"),
                Evidence::new("ceiling of the next slowest member", next, "its ceiling"),
            ]))
        })
        .collect()
}
