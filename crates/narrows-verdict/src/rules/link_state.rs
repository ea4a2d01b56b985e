//! The state of a link: one link, one finding.
//!
//! Six rules judge the same numbers from different sides: lanes that were there before, lanes or speed that were lost, a slot
//! that offers less by design, the slot of a network card, a link that saves power. They are asked in this order, and the first that has an
//! answer speaks, so that no two of them contradict each other. Lost lanes and lost speed are one fault of one link.

use narrows_base::units::{GtPerSec, Lanes};

use super::{Context, Judged, link_speed_degraded, link_width_degraded, network_limited, slot_limited};
use crate::counterfactual;
use crate::finding::{Code, Confidence, Evidence, Finding, Severity};
use crate::link::{Link, wires};
use crate::sentence::capitalised;

/// The codes of findings about the state of a link. A link has one of them at most.
pub(super) const CODES: [Code; 6] = [
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

fn of_link(context: &Context<'_>, judged: &Judged<'_>, link: &Link<'_>) -> Option<Finding> {
    let width = link_width_degraded::of_link(context, judged, link);
    let speed = link_speed_degraded::of_link(context, judged, link);
    let lost = match (width, speed) {
        (Some(width), Some(speed)) => Some(united(link, width, speed)),
        (width, speed) => width.or(speed),
    };
    if let Some(before) = narrower_than_before(context, judged, link) {
        // That it was wider says that it can be, and when it changed.
        return Some(match lost {
            Some(lost) => joined(before, lost),
            None => before,
        });
    }
    lost.or_else(|| network_limited::nic_slot_limited(context, judged, link))
        .or_else(|| slot_limited::of_link(context, judged, link))
        .or_else(|| slow_while_idle(judged, link))
        .or_else(|| slow_when_logged(context, link))
}

/// One fault of a link that has lost both lanes and speed, under the code of what it lost more of.
fn united(link: &Link<'_>, width: Finding, speed: Finding) -> Finding {
    let most = link.device_width().zip(link.port_width()).map(|(device, port)| device.min(port));
    let lanes = share(link.width(), most, |lanes| lanes.get().into());
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

/// `power_save`: a card that started slow when a captured log was written, as graphics cards do, and whose state now nothing tells.
fn slow_when_logged(context: &Context<'_>, link: &Link<'_>) -> Option<Finding> {
    let claim =
        link.claim(context.machine).filter(|claim| claim.may_save_power(context.machine, link.link))?;
    if link.speed().is_some_and(|speed| speed > claim.by.speed) {
        return None;
    }
    let (by, can) = (claim.by.speed, claim.capable.speed);
    let summary = format!(
        "{} ran at {by} when the log was written, at full width; a card of this kind starts slow and speeds up when it is busy ({} can do {can}).",
        link.place(),
        claim.device
    );
    let found = Finding::about(Code::PowerSave, Severity::Info, link.hop, capitalised(&summary));
    Some(found.with_confidence(Confidence::Medium).with_evidence([claim.evidence()]))
}

/// Whether all that is known of a card is its link: at full width and at the lowest speed, as one that is idle.
fn is_unknown(link: &Link<'_>) -> bool {
    link.base_class().is_none()
        && link.port.is_none()
        && link.speed() == Some(GtPerSec::GEN1)
        && link.width().is_some()
        && link.width() == link.device_width()
}

/// `power_save`: a link is slow because its device is idle. Not a fault: it speeds up under load.
fn slow_while_idle(judged: &Judged<'_>, link: &Link<'_>) -> Option<Finding> {
    let speed = link.speed()?;
    // Where nothing is known of the port, the card alone must explain itself.
    let may_idle = link.link.is_graphics() || is_unknown(link);
    let common = link.common_speed().or_else(|| link.device_speed().filter(|_| may_idle))?;
    if speed >= common {
        return None;
    }
    let loaded = link.speed_under_load(judged);
    let sped_up = loaded.is_some_and(|loaded| loaded >= common);
    // Without load only a device that saves power, or a kind that is known to idle, explains itself.
    let explanation = link.saves_power();
    let explains_itself = loaded.is_none() && (explanation.is_some() || may_idle);
    if !sped_up && !explains_itself {
        return None;
    }
    let proof = if sped_up { " and sped up under load" } else { "" };
    let summary = format!("{} idles at {speed}{proof}; it can do {common}.", link.place());
    let confidence = match (sped_up, is_unknown(link)) {
        (true, _) => Confidence::High,
        (false, false) => Confidence::Medium,
        (false, true) => Confidence::Low,
    };
    let loaded = loaded.map(|loaded| Evidence::new("speed under load", loaded, "current_link_speed"));
    let found = Finding::about(Code::PowerSave, Severity::Info, link.hop, capitalised(&summary));
    let found = found.with_confidence(confidence).with_evidence(link.speed_evidence());
    Some(found.with_evidence(explanation.into_iter().chain(loaded)))
}

/// `narrower_than_before`: a link has fewer lanes than `narrows watch` saw it with.
///
/// Width does not change with power state, so that a link which lost lanes lost contact, a setting or a part of its riser. The
/// state before is that of the same device in the same place; a device that was moved or replaced has none. `link_state` asks this
/// rule first, and adds what the others say of the same link.
fn narrower_than_before(context: &Context<'_>, judged: &Judged<'_>, link: &Link<'_>) -> Option<Finding> {
    let kept = &context.machine.kept;
    let best = kept.value()?.get(&link.link.device.address)?;
    let (width, before) = (link.width()?, Lanes::new(best.lanes));
    if !link.moves_data() || width >= before {
        return None;
    }
    let place = link.place();
    let summary = format!("{place} runs {width}; it ran {before} on {}.", best.lanes_at);
    let gain = counterfactual::link_at_width(link.link, before)
        .and_then(|better| counterfactual::gain_of_better(judged, link.index, better));
    let seen = format!("{before}, at {}", best.lanes_at);
    let found = Finding::about(Code::NarrowerThanBefore, Severity::Fault, link.hop, capitalised(&summary))
        .with_evidence(link.width_evidence())
        .seen("greatest width that was seen", seen, kept.source().as_str())
        .advise_gain(
            "`narrows watch --log` says between which two readings it changed. Power off, reseat the card, and check \
             riser, cable and the firmware's slot settings.",
            gain,
        );
    Some(found.advise("If the change was intended: `narrows watch --accept` takes the state as it is for the best."))
}

#[cfg(test)]
mod tests {
    use narrows_base::fact::Fact;
    use narrows_base::units::GtPerSec;
    use narrows_machine::kept::BestLink;
    use narrows_machine::log::LogKind;

    use super::*;
    use crate::testing::{DISPLAY, NVME, Sketch, at, claimed, link, link_of, logged};

    fn states(path: &Sketch) -> Vec<Code> {
        let codes = path.judge().findings.into_iter().map(|finding| finding.code);
        codes.filter(|code| CODES.contains(code)).collect()
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

    #[test]
    fn an_idle_graphics_card_and_a_sleeping_drive_are_mentioned_without_alarm() {
        let mut asleep = link((1, 4), (4, 4), (4, 4));
        asleep.device.power_state = Fact::known("D3hot".to_owned(), "power_state");
        for link in [link_of(DISPLAY, (1, 16), (4, 16), (4, 16)), asleep] {
            let path = Sketch::drive(link);
            let finding = path.finding(Code::PowerSave).expect("idle");
            assert_eq!(finding.severity, Severity::Info);
            assert!(path.alarms().is_empty());
        }
    }

    #[test]
    fn a_link_at_its_best_does_not_save_power() {
        assert_eq!(Sketch::drive(link((3, 4), (4, 4), (3, 4))).finding(Code::PowerSave), None);
    }

    #[test]
    fn a_card_that_started_slow_at_full_width_is_mentioned() {
        for class in [Some(DISPLAY), None] {
            let path = claimed(class, (1, 16), (3, 16));
            assert!(path.finding(Code::PowerSave).is_some(), "{class:?}");
            assert!(path.alarms().is_empty());
        }
        assert_eq!(claimed(Some(NVME), (1, 4), (3, 4)).finding(Code::PowerSave), None);
        assert_eq!(claimed(None, (1, 1), (3, 4)).finding(Code::PowerSave), None, "narrow, not asleep");
    }

    fn found(lanes_now: u8, lanes_before: u8) -> Option<Finding> {
        let mut drive = link((3, lanes_now), (3, 4), (3, 4));
        drive.device.address = at(2);
        let best = BestLink {
            lanes: lanes_before,
            lanes_at: "2026-11-20T10:00:00Z".to_owned(),
            ..BestLink::default()
        };
        Sketch::drive(drive)
            .on(|machine| machine.kept = Fact::known([(at(2), best)].into(), "baseline.json"))
            .finding(Code::NarrowerThanBefore)
    }

    #[test]
    fn a_link_that_lost_lanes_is_told_with_what_it_had_and_when() {
        let finding = found(1, 4).expect("three lanes are gone");
        assert_eq!(finding.severity, Severity::Fault);
        assert!(finding.summary.contains("runs x1; it ran x4 on"), "{}", finding.summary);
        assert!(finding.summary.contains("2026-11-20T10:00:00Z"), "{}", finding.summary);
        assert!(finding.evidence.iter().any(|evidence| evidence.source == "baseline.json"));
        assert!(finding.advice.iter().any(|advice| advice.gain_bytes_per_second.is_some()), "{finding:?}");
    }

    #[test]
    fn a_link_as_wide_as_before_or_wider_or_without_a_past_is_not() {
        assert_eq!(found(4, 4), None);
        assert_eq!(found(4, 2), None);
        let none = Sketch::drive(link((3, 1), (3, 4), (3, 4)));
        assert_eq!(none.finding(Code::NarrowerThanBefore), None);
    }
}
