//! `power_save`: a link is slow because its device is idle. Not a fault: it speeds up under load.

use narrows_base::units::GtPerSec;

use super::super::finding::{Code, Confidence, Evidence, Finding, Severity};
use super::super::link::Link;
use super::super::sentence::capitalised;
use super::{Context, Judged};

pub(super) fn of_link(context: &Context<'_>, judged: &Judged<'_>, link: &Link<'_>) -> Option<Finding> {
    check_link(judged, link).or_else(|| claimed(context, link))
}

/// A card that started slow when a captured log was written, as graphics cards do, and whose state now nothing tells.
fn claimed(context: &Context<'_>, link: &Link<'_>) -> Option<Finding> {
    let claim =
        link.claim(context.machine).filter(|claim| claim.may_save_power(context.machine, link.link))?;
    if link.speed().is_some_and(|speed| speed > claim.by.speed) {
        return None;
    }
    let summary = format!(
        "{} ran at {} when the log was written, at full width; a card of this kind starts slow and speeds up when it is busy ({} can do {}).",
        link.place(),
        claim.by.speed,
        claim.device,
        claim.capable.speed
    );
    Some(
        Finding::about(Code::PowerSave, Severity::Info, link.hop, capitalised(&summary))
            .with_confidence(Confidence::Medium)
            .with_evidence([claim.evidence()]),
    )
}

/// Whether all that is known of a card is its link: at full width and at the lowest speed, as one that is idle.
fn is_unknown(link: &Link<'_>) -> bool {
    link.base_class().is_none()
        && link.port.is_none()
        && link.speed() == Some(GtPerSec::GEN1)
        && link.width().is_some()
        && link.width() == link.device_width()
}

fn check_link(judged: &Judged<'_>, link: &Link<'_>) -> Option<Finding> {
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
    let mut evidence = link.speed_evidence();
    evidence.extend(explanation);
    evidence.extend(loaded.map(|loaded| Evidence::new("speed under load", loaded, "current_link_speed")));
    Some(
        Finding::about(Code::PowerSave, Severity::Info, link.hop, capitalised(&summary))
            .with_confidence(match (sped_up, is_unknown(link)) {
                (true, _) => Confidence::High,
                (false, false) => Confidence::Medium,
                (false, true) => Confidence::Low,
            })
            .with_evidence(evidence),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{DISPLAY, NVME, Sketch, claimed, link, link_of};
    use narrows_base::fact::Fact;

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
}
