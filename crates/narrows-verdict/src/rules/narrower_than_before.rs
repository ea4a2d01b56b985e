//! `narrower_than_before`: a link has fewer lanes than `narrows watch` saw it with.
//!
//! Width does not change with power state, so that a link which lost lanes lost contact, a setting or a part of its riser. The
//! state before is that of the same device in the same place; a device that was moved or replaced has none. `link_state` asks this
//! rule first, and adds what the others say of the same link.

use narrows_base::units::Lanes;

use super::super::finding::{Advice, Code, Evidence, Finding, Severity};
use super::super::gain;
use super::super::link::Link;
use super::super::sentence::capitalised;
use super::{Context, Judged};
use narrows_machine::kept::BestLink;

pub(super) fn of_link(context: &Context<'_>, judged: &Judged<'_>, link: &Link<'_>) -> Option<Finding> {
    let kept = &context.machine.kept;
    let best = kept.value()?.get(&link.link.device.address)?;
    let (width, before) = (link.width()?, Lanes::new(best.lanes));
    (link.moves_data() && width < before)
        .then(|| finding(judged, link, (width, before), best, kept.source().as_str()))
}

fn finding(
    judged: &Judged<'_>,
    link: &Link<'_>,
    (width, before): (Lanes, Lanes),
    best: &BestLink,
    source: &str,
) -> Finding {
    let place = link.place();
    let summary = format!("{place} runs {width}; it ran {before} on {}.", best.lanes_at);
    let gain =
        gain::at_width(link.link, before).and_then(|better| gain::of_better(judged, link.index, &better));
    let kept =
        Evidence::new("greatest width that was seen", format!("{before}, at {}", best.lanes_at), source);
    Finding::about(Code::NarrowerThanBefore, Severity::Fault, link.hop, capitalised(&summary))
        .with_evidence(link.width_evidence().into_iter().chain([kept]))
        .with_advice([
            Advice::with_gain(
                "`narrows watch --log` says between which two readings it changed. Power off, reseat the card, and check \
                 riser, cable and the firmware's slot settings.",
                gain,
            ),
            Advice::new("If the change was intended: `narrows watch --accept` takes the state as it is for the best."),
        ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Sketch, at, link};
    use narrows_base::fact::Fact;

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
