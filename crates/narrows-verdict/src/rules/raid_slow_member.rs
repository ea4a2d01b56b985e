//! `raid_slow_member`: one member holds an array back.
//!
//! Shown by a run, where one member's queue is full while its siblings wait; or by arithmetic, where one member's link
//! or medium is known to be clearly slower than the others'.

use narrows_base::units::BytesPerSec;
use narrows_model::ceiling::{Direction, Limit};
use narrows_model::path::{Hop, HopSpec};

use super::super::attribution::{Cause, unequal_members};
use super::super::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use super::super::gain;
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
                finding(hop, summary, None)
                    .with_confidence(limit.confidence)
                    .with_evidence(limit.evidence.clone()),
            )
        })
        .collect();
    if !shown.is_empty() || judged.subject.runs.iter().any(|run| run.direction == Direction::Read) {
        return shown;
    }
    by_arithmetic(judged)
}

fn finding(hop: &Hop, summary: String, gain: Option<BytesPerSec>) -> Finding {
    Finding::about(Code::RaidSlowMember, Severity::Fault, hop, summary).with_advice([
        Advice::new(
            "Measure this member alone, and compare its link, temperature and error log with its siblings'.",
        ),
        Advice::with_gain(
            "Replace it with one that is as fast as the others, or give it a slot like theirs.",
            gain,
        ),
    ])
}

fn by_arithmetic(judged: &Judged<'_>) -> Vec<Finding> {
    let case = judged.case(Direction::Read);
    case.hops()
        .filter(|(_, hop)| is_even(&hop.spec))
        .filter_map(|(_, array)| {
            let (index, slow, next) = unequal_members(&case, array)?;
            let hop = judged.hop(index).filter(|_| slow.get() < ALIKE * next.get())?;
            let now = case.ceiling(index)?.limit()?;
            let gain = gain::of_better(judged, index, &Limit { rate: next, ..now.clone() });
            let summary = format!(
                "{} carries {slow}, and every other member of {} at least {next}: each gets the same share, so all wait \
                 for the slowest.",
                hop.name, array.name
            );
            Some(finding(hop, summary, gain).with_confidence(Confidence::Medium).with_evidence([
                Evidence::new(format!("ceiling of {}", hop.name), slow, "its ceiling"),
                Evidence::new("ceiling of the next slowest member", next, "its ceiling"),
            ]))
        })
        .collect()
}

/// Whether a hop gives its members shares that do not depend on how fast they are. A ZFS pool hands less to a virtual device
/// that is slower (OpenZFS `module/zfs/metaslab.c`, `metaslab_group_allocatable`).
fn is_even(spec: &HopSpec) -> bool {
    match spec {
        HopSpec::Raid(_) | HopSpec::Volume(_) => true,
        HopSpec::Zfs(zfs) => zfs.vdev.is_some(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Sketch, link, on_bus};
    use narrows_model::path::{HopKind, RaidLevel};

    /// A stripe of two drives, the second of which sits in a slot of this width.
    fn path(level: RaidLevel, width: u8) -> Sketch {
        Sketch::of("/dev/md0")
            .raid("md0", level, &["nvme0n1", "nvme1n1"])
            .below(HopKind::Raid, "md0", 0.5)
            .device("nvme0n1", None)
            .link(on_bus(2, link((3, 4), (3, 4), (3, 4))))
            .below(HopKind::Raid, "md0", 0.5)
            .device("nvme1n1", None)
            .link(on_bus(3, link((3, width), (3, 4), (3, width))))
    }

    #[test]
    fn a_member_in_a_narrow_slot_holds_a_stripe_back() {
        let finding = path(RaidLevel::Raid0, 1).finding(Code::RaidSlowMember).expect("x1 beside x4");
        assert_eq!(finding.hop.as_ref().map(ToString::to_string).as_deref(), Some("link:0000:03:00.0"));
        assert_eq!(finding.confidence, Confidence::Medium);
        // The stripe goes at twice its slower member: twice the 3591.5 − 897.9 MB/s of four lanes and of one.
        assert_eq!((finding.best_gain().get() / 1e6).round(), 5387.0);
    }

    #[test]
    fn equal_members_and_linear_arrays_are_silent() {
        assert_eq!(path(RaidLevel::Raid0, 4).finding(Code::RaidSlowMember), None);
        assert_eq!(path(RaidLevel::Linear, 1).finding(Code::RaidSlowMember), None);
    }
}
