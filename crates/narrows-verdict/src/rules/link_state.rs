//! The state of a link: one link, one finding.
//!
//! Six rules judge the same numbers from different sides: lanes that were there before, lanes or speed that were lost, a slot
//! that offers less by design, the slot of a network card, a link that saves power. They are asked in this order, and the first that has an
//! answer speaks, so that no two of them contradict each other. Lost lanes and lost speed are one fault of one link.

use super::super::finding::{Code, Finding, Severity};
use super::super::link::{Link, wires};
use super::{
    Context, Judged, link_speed_degraded, link_width_degraded, narrower_than_before, nic_slot_limited,
    power_save, slot_limited,
};

/// The codes of findings about the state of a link. A link has one of them at most.
const CODES: [Code; 6] = [
    Code::NarrowerThanBefore,
    Code::LinkWidthDegraded,
    Code::LinkSpeedDegraded,
    Code::SlotLimited,
    Code::NicSlotLimited,
    Code::PowerSave,
];

pub(super) fn check(context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    wires(context, judged).iter().filter_map(|link| of_link(context, judged, link)).collect()
}

/// Whether a finding is about the state of a link.
pub(super) fn is_about(code: Code) -> bool {
    CODES.contains(&code)
}

fn of_link(context: &Context<'_>, judged: &Judged<'_>, link: &Link<'_>) -> Option<Finding> {
    let width = link_width_degraded::of_link(context, judged, link);
    let speed = link_speed_degraded::of_link(context, judged, link);
    let lost = match (width, speed) {
        (Some(width), Some(speed)) => Some(united(link, width, speed)),
        (width, speed) => width.or(speed),
    };
    if let Some(before) = narrower_than_before::of_link(context, judged, link) {
        // That it was wider says that it can be, and when it changed.
        return Some(match lost {
            Some(lost) => joined(before, lost),
            None => before,
        });
    }
    lost.or_else(|| nic_slot_limited::of_link(context, judged, link))
        .or_else(|| slot_limited::of_link(context, judged, link))
        .or_else(|| power_save::of_link(context, judged, link))
}

/// One fault of a link that has lost both lanes and speed, under the code of what it lost more of.
fn united(link: &Link<'_>, width: Finding, speed: Finding) -> Finding {
    let lanes =
        share(link.width(), link.device_width().zip(link.port_width()).map(|(a, b)| a.min(b)), |lanes| {
            lanes.get().into()
        });
    let rate = share(link.speed(), link.common_speed(), |speed| speed.mega().into());
    match width.severity == Severity::Info || rate < lanes {
        true => joined(speed, width),
        false => joined(width, speed),
    }
}

/// One finding of two that are about the same link.
fn joined(mut first: Finding, second: Finding) -> Finding {
    first.summary = format!("{} {}", first.summary, second.summary);
    let known = first.evidence.clone();
    first.evidence.extend(second.evidence.into_iter().filter(|evidence| !known.contains(evidence)));
    let advised: Vec<String> = first.advice.iter().map(|advice| advice.action.clone()).collect();
    first.advice.extend(second.advice.into_iter().filter(|advice| !advised.contains(&advice.action)));
    first
}

/// How much of what is possible is there; 1 where that is not known.
fn share<T>(now: Option<T>, most: Option<T>, number: impl Fn(T) -> f64) -> f64 {
    now.zip(most).map_or(1.0, |(now, most)| number(now) / number(most).max(f64::MIN_POSITIVE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Sketch, at, link, logged};
    use narrows_base::fact::Fact;
    use narrows_base::units::GtPerSec;
    use narrows_machine::kept::BestLink;
    use narrows_machine::log::LogKind;

    fn states(path: &Sketch) -> Vec<Code> {
        let codes = path.judge().findings.into_iter().map(|finding| finding.code);
        codes.filter(|code| is_about(*code)).collect()
    }

    #[test]
    fn a_link_that_lost_lanes_and_speed_has_one_fault_that_tells_both() {
        let path = Sketch::drive(link((1, 2), (4, 4), (4, 4)));
        assert_eq!(states(&path), [Code::LinkSpeedDegraded]);
        let finding = path.finding(Code::LinkSpeedDegraded).expect("an eighth of the speed");
        assert!(finding.summary.contains("runs x2") && finding.summary.contains("2.5 GT/s"), "{finding:?}");
        assert_eq!(states(&Sketch::drive(link((3, 1), (4, 4), (4, 4)))), [Code::LinkWidthDegraded]);
    }

    #[test]
    fn a_link_that_the_kernel_trained_again_is_not_told_to_move_too() {
        let retrained = logged(at(2), LogKind::LinkRetrainedAt(GtPerSec::GEN1), 1);
        let mut slow = link((1, 4), (4, 4), (3, 4));
        slow.device.address = at(2);
        let path = Sketch::drive(slow).on(|machine| machine.log.push(retrained));
        assert_eq!(states(&path), [Code::LinkSpeedDegraded]);
    }

    #[test]
    fn a_link_that_was_wider_before_has_one_finding_with_all_evidence() {
        for (now, device, port) in
            [((3, 1), (3, 4), (3, 4)), ((1, 1), (4, 4), (4, 4)), ((3, 1), (3, 4), (3, 1))]
        {
            let mut drive = link(now, device, port);
            drive.device.address = at(2);
            let best = BestLink { lanes: 4, lanes_at: "2026-11-20".to_owned(), ..BestLink::default() };
            let path = Sketch::drive(drive)
                .on(|machine| machine.kept = Fact::known([(at(2), best)].into(), "baseline.json"));
            assert_eq!(states(&path), [Code::NarrowerThanBefore], "{now:?} {device:?} {port:?}");
            let finding = path.finding(Code::NarrowerThanBefore).expect("three lanes are gone");
            assert!(finding.evidence.iter().any(|evidence| evidence.source == "baseline.json"));
            assert_eq!(finding.summary.contains("both its ends can do"), port.1 == 4, "{}", finding.summary);
        }
    }

    #[test]
    fn every_state_of_a_link_makes_one_finding_at_most() {
        let ends = [(1, 1), (1, 4), (3, 2), (3, 4), (4, 4)];
        for now in ends {
            for device in ends {
                for port in ends {
                    let path = Sketch::drive(link(now, device, port));
                    assert!(states(&path).len() <= 1, "{now:?} {device:?} {port:?}");
                }
            }
        }
    }
}
