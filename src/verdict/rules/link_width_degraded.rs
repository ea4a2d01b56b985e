//! `link_width_degraded`: a link has fewer lanes than it could have, and that can be changed.
//!
//! Width does not change with power state, so no load is needed to tell. Two facts make it a fault:
//!
//! * both ends can do more than was negotiated: a bad contact, a riser, a slot with fewer wires than its port claims;
//! * the port offers no more, but the board's data say that a firmware option (or another card) took the lanes.
//!
//! A port that offers less by design is `slot_limited`. SMBIOS is not asked: many firmwares state the connector.

use crate::catalog::{BoardSlot, SlotOption};
use crate::units::Lanes;

use super::super::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use super::super::gain;
use super::super::link::{Link, wires};
use super::{Context, Judged};

/// What holds lanes back.
enum Cause<'a> {
    /// Both ends can do more.
    Negotiated,
    /// A firmware option.
    Option(&'a SlotOption),
    /// The board wires more than the port offers; the slot shares lanes.
    Shared(&'a BoardSlot),
}

pub(super) fn check(context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    let links = wires(context, judged);
    links
        .iter()
        .filter(|link| link.moves_data() && !link.is_chipset_uplink(judged))
        .filter_map(|link| {
            let (width, possible, cause) = degraded(link)?;
            Some(finding(judged, link, width, possible, &cause))
        })
        .collect()
}

/// Whether this rule has an answer for the link, so that `slot_limited` stays silent.
pub(super) fn fires_for(judged: &Judged<'_>, link: &Link<'_>) -> bool {
    link.moves_data() && !link.is_chipset_uplink(judged) && degraded(link).is_some()
}

/// The width that a link has, the width that it could have, and what holds it back.
fn degraded<'a>(link: &Link<'a>) -> Option<(Lanes, Lanes, Cause<'a>)> {
    let width = link.width()?;
    let device = link.device_width()?;
    let port = link.port_width()?;
    let slot = link.link.board_slot.as_ref();
    let option = slot.and_then(|slot| slot.option.as_ref()).map(|option| (option, Lanes::new(option.lanes)));
    if let Some((option, lanes)) = option.filter(|(_, lanes)| width < (*lanes).min(device)) {
        return Some((width, lanes.min(device), Cause::Option(option)));
    }
    if width < device.min(port) {
        // The board wires no more than this: the slot is narrow by design, whatever its port claims.
        let by_design = slot.is_some_and(|slot| slot.lanes > 0 && slot.width() <= width);
        return (!by_design).then_some((width, device.min(port), Cause::Negotiated));
    }
    let slot = slot.filter(|slot| slot.option.is_none() && width < slot.width().min(device))?;
    slot.shares.is_some().then(|| (width, slot.width().min(device), Cause::Shared(slot)))
}

fn finding(
    judged: &Judged<'_>,
    link: &Link<'_>,
    width: Lanes,
    possible: Lanes,
    cause: &Cause<'_>,
) -> Finding {
    let better = gain::at_width(link.link, possible);
    let gain = better.as_ref().and_then(|better| gain::of_better(judged, link.index, better));
    let rates = match (judged.subject.ceilings.get(link.index).and_then(|c| c.read.rate()), &better) {
        (Some(now), Some(better)) => format!("; that is {now} of {} usable", better.rate),
        _ => String::new(),
    };
    let place = link.place();
    let (summary, confidence) = match cause {
        Cause::Negotiated => (
            format!("{place} runs {width}, although both its ends can do {possible}{rates}."),
            if link.is_storage() { Confidence::High } else { Confidence::Medium },
        ),
        Cause::Option(option) => (
            format!(
                "{place} runs {width}: the firmware's default gives this slot {}, and it can give {possible}{rates}.",
                Lanes::new(option.default_lanes)
            ),
            Confidence::High,
        ),
        Cause::Shared(slot) => (
            format!(
                "{place} runs {width}, although the board wires {}{rates}; the slot shares lanes with {}.",
                slot.width(),
                slot.shares.as_deref().unwrap_or("another")
            ),
            Confidence::Medium,
        ),
    };
    let mut evidence = link.width_evidence();
    evidence.extend(link.link.board_slot.as_ref().map(|slot| {
        let value = format!("{} connector, {} wired", Lanes::new(slot.connector), slot.width());
        Evidence::new(format!("slot {}", slot.name), value, "data/boards")
    }));
    Finding::about(Code::LinkWidthDegraded, Severity::Fault, link.hop, capitalised(&summary))
        .with_confidence(confidence)
        .with_evidence(evidence)
        .with_advice(advice(cause, gain))
}

fn advice(cause: &Cause<'_>, gain: Option<crate::units::BytesPerSec>) -> Vec<Advice> {
    match cause {
        Cause::Option(option) => {
            let cost = if option.cost.is_empty() { String::new() } else { format!(" ({})", option.cost) };
            vec![
                Advice::with_gain(
                    format!("In the firmware setup, set {} to {}{cost}.", option.menu, option.value),
                    gain,
                ),
                Advice::new("Or move the card to a slot that the processor feeds."),
            ]
        }
        Cause::Shared(slot) => {
            let shares = slot.shares.as_deref().unwrap_or("another");
            vec![Advice::with_gain(format!("Free what takes this slot's lanes: {shares}."), gain)]
        }
        Cause::Negotiated => vec![
            Advice::with_gain("Power off, reseat the card and clean its contacts.", gain),
            Advice::with_gain("Try it without riser, adapter or cable, and in another slot.", gain),
            Advice::new("Look in the firmware setup for a lane or bifurcation setting of this slot."),
        ],
    }
}

/// The sentence with a capital letter.
pub(super) fn capitalised(sentence: &str) -> String {
    let mut chars = sentence.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
