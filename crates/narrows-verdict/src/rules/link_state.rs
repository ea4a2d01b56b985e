//! The state of a link: one link, one finding.
//!
//! Six rules judge the same numbers from different sides: lanes that were there before, lanes or speed that were lost, a slot
//! that offers less by design, the slot of a network card, a link that saves power. They are asked in this order, and the first that has an
//! answer speaks, so that no two of them contradict each other. Lost lanes and lost speed are one fault of one link.

use narrows_base::catalog::{BoardSlot, SlotOption};
use narrows_base::units::{BytesPerSec, GtPerSec, Lanes};
use narrows_machine::log::LogKind;

use super::{Context, Judged, need, network_limited, slot_limited};
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
    let width = fewer_lanes(context, judged, link);
    let speed = slower(context, judged, link);
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
    lost.or_else(|| network_limited::nic_slot(context, judged, link))
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
    link.link.device.class.value().is_none()
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
    Some(found.advise(
        "If the change was intended: `narrows watch --accept` takes the state as it is for the best.",
    ))
}

/// What holds lanes back.
enum Holds<'a> {
    /// Both ends can do more.
    Negotiated,
    /// A firmware option.
    Option(&'a SlotOption),
    /// The board wires more than the port offers; the slot shares lanes.
    Shared(&'a BoardSlot),
}

/// `link_width_degraded`: a link has fewer lanes than it could have, and that can be changed.
///
/// Width does not change with power state, so no load is needed to tell. Two facts make it a fault:
///
/// * both ends can do more than was negotiated: a bad contact, a riser, a slot with fewer wires than its port claims;
/// * the port offers no more, but the board's data say that a firmware option (or another card) took the lanes.
///
/// A port that offers less by design is `slot_limited`. SMBIOS is not asked: many firmwares state the connector.
fn fewer_lanes(context: &Context<'_>, judged: &Judged<'_>, link: &Link<'_>) -> Option<Finding> {
    if !link.moves_data() || link.is_chipset_uplink(judged) {
        return None;
    }
    let finding = lost_lanes(judged, link)?;
    Some(if is_enough(context, judged, link) { harmless(finding) } else { finding })
}

/// Whether the ports of a network card carry no more than the link does as it is.
fn is_enough(context: &Context<'_>, judged: &Judged<'_>, link: &Link<'_>) -> bool {
    let wires = need::wires(context, link);
    wires.zip(carries(judged, link)).is_some_and(|(wires, carries)| wires.most.get() <= carries.get())
}

fn carries(judged: &Judged<'_>, link: &Link<'_>) -> Option<BytesPerSec> {
    judged.subject.ceilings.get(link.index)?.read.rate()
}

/// The finding of a link that has lost lanes that its device does not miss.
fn harmless(finding: Finding) -> Finding {
    let summary = format!("{}; its ports need no more.", finding.summary.trim_end_matches('.'));
    Finding { severity: Severity::Info, summary, advice: Vec::new(), ..finding }
}

/// The width that a link has, the width that it could have, and what holds it back.
fn degraded<'a>(link: &Link<'a>) -> Option<(Lanes, Lanes, Holds<'a>)> {
    let width = link.width()?;
    let device = link.device_width()?;
    let port = link.port_width()?;
    let slot = link.link.board_slot.as_ref();
    let option = slot.and_then(|slot| slot.option.as_ref()).map(|option| (option, Lanes::new(option.lanes)));
    if let Some((option, lanes)) = option.filter(|(_, lanes)| width < (*lanes).min(device)) {
        return Some((width, lanes.min(device), Holds::Option(option)));
    }
    if width < device.min(port) {
        // The board wires no more than this: the slot is narrow by design, whatever its port claims.
        let by_design = slot.is_some_and(|slot| slot.lanes > 0 && slot.width() <= width);
        return (!by_design).then_some((width, device.min(port), Holds::Negotiated));
    }
    let slot = slot.filter(|slot| slot.option.is_none() && width < slot.width().min(device))?;
    slot.shares.is_some().then(|| (width, slot.width().min(device), Holds::Shared(slot)))
}

fn lost_lanes(judged: &Judged<'_>, link: &Link<'_>) -> Option<Finding> {
    let (width, possible, cause) = degraded(link)?;
    let better = counterfactual::link_at_width(link.link, possible);
    let gain = better.and_then(|better| counterfactual::gain_of_better(judged, link.index, better));
    let rates = carries(judged, link).zip(better);
    let rates = rates.map(|(now, better)| format!("; that is {now} of {better} usable")).unwrap_or_default();
    let board = link.link.board_slot.as_ref().map(|slot| {
        let value = format!("{} connector, {} wired", Lanes::new(slot.connector), slot.width());
        Evidence::new(format!("slot {}", slot.name), value, "data/boards")
    });
    let found = |confidence, summary: String| {
        Finding::about(Code::LinkWidthDegraded, Severity::Fault, link.hop, capitalised(&summary))
            .with_confidence(confidence)
            .with_evidence(link.width_evidence().into_iter().chain(board))
    };
    let place = link.place();
    Some(match cause {
        Holds::Negotiated => {
            let confidence = if link.is_storage() { Confidence::High } else { Confidence::Medium };
            let summary = format!("{place} runs {width}, although both its ends can do {possible}{rates}.");
            found(confidence, summary)
                .advise_gain("Power off, reseat the card and clean its contacts.", gain)
                .advise_gain("Try it without riser, adapter or cable, and in another slot.", gain)
                .advise("Look in the firmware setup for a lane or bifurcation setting of this slot.")
        }
        Holds::Option(option) => {
            let default = Lanes::new(option.default_lanes);
            let summary = format!(
                "{place} runs {width}: the firmware's default gives this slot {default}, and it can give {possible}{rates}."
            );
            let cost = if option.cost.is_empty() { String::new() } else { format!(" ({})", option.cost) };
            let setting = format!("In the firmware setup, set {} to {}{cost}.", option.menu, option.value);
            let found = found(Confidence::High, summary).advise_gain(setting, gain);
            found.advise("Or move the card to a slot that the processor feeds.")
        }
        Holds::Shared(slot) => {
            let (wired, shares) = (slot.width(), slot.shares.as_deref().unwrap_or("another"));
            let summary = format!(
                "{place} runs {width}, although the board wires {wired}{rates}; the slot shares lanes with {shares}."
            );
            let free = format!("Free what takes this slot's lanes: {shares}.");
            found(Confidence::Medium, summary).advise_gain(free, gain)
        }
    })
}

/// `link_speed_degraded`: a link is slower than both its ends can do.
///
/// Speed changes with power state, so an idle reading proves nothing for a device that saves power. Three readings
/// are proof, in this order: a speed that was read while load ran; a Target Link Speed below what both ends can do
/// (software or firmware holds the link down); and, for a device of a kind that keeps its speed (drives, adapters, wired
/// network, switches), the idle reading, with less confidence, when no saving of power explains it.
fn slower(context: &Context<'_>, judged: &Judged<'_>, link: &Link<'_>) -> Option<Finding> {
    if !link.moves_data() || link.link.part.why_fixed().is_some() {
        return None;
    }
    let proven = retrained(context, judged, link).or_else(|| was_faster(judged, link));
    proven.or_else(|| check_link(judged, link))
}

/// A link that the kernel trained again at a lower rate, because it did not come up, and that is still slow: a port
/// that was held down stays so (kernel `drivers/pci/quirks.c`, `pcie_failed_link_retrain`).
fn retrained(context: &Context<'_>, judged: &Judged<'_>, link: &Link<'_>) -> Option<Finding> {
    let (held, event) = link.events(context.machine).find_map(|event| match event.kind {
        LogKind::LinkRetrainedAt(speed) => Some((speed, event)),
        _ => None,
    })?;
    let (speed, most) = (link.speed()?, link.common_speed().or_else(|| link.device_speed())?);
    if speed > held || speed >= most {
        return None;
    }
    let summary = format!(
        "{} runs at {speed} and could run at {most}: it did not come up, and the kernel trained it again at {held}.",
        link.place()
    );
    let rates = at_speeds(link, speed, most).filter(|_| judged.is_limit(link.index));
    let gain = rates.map(|[now, better]| better - now);
    let found = lost_speed(link, &summary)
        .seen("the kernel's log", format!("retrained at {held}"), event.source.as_str())
        .advise_gain(
            "Reboot with the device in place, or update the kernel: later ones lift the limit again.",
            gain,
        );
    Some(found.advise("If it comes back, reseat the device, and power it off before you pull it."))
}

/// A link that ran faster when another capture of the same machine was made: what it can do is proven.
fn was_faster(judged: &Judged<'_>, link: &Link<'_>) -> Option<Finding> {
    let best = link.best?;
    let speed = link.speed()?;
    if speed >= best.speed || link.saves_power().is_some() {
        return None;
    }
    let summary = format!("{} runs at {speed}; at another time it ran at {}.", link.place(), best.speed);
    Some(advised(lost_speed(link, &summary), gain(judged, link, speed, best.speed), false))
}

fn lost_speed(link: &Link<'_>, summary: &str) -> Finding {
    Finding::about(Code::LinkSpeedDegraded, Severity::Fault, link.hop, capitalised(summary))
        .with_evidence(link.speed_evidence())
}

fn check_link(judged: &Judged<'_>, link: &Link<'_>) -> Option<Finding> {
    let common = link.common_speed()?;
    let loaded = link.speed_under_load(judged);
    let speed = loaded.or_else(|| link.speed())?;
    if speed >= common {
        return None;
    }
    let forced = link.forced_below(common).filter(|(_, target, _)| *target >= speed);
    let confidence = match (loaded.is_some(), forced.is_some()) {
        (true, _) | (false, true) => Confidence::High,
        (false, false) if link.saves_power().is_some() => return None,
        (false, false) => Confidence::Medium,
    };
    let runs = match loaded {
        Some(speed) => format!("runs at {speed} under load"),
        None => format!("runs at {speed} now"),
    };
    let place = link.place();
    let why = forced.as_ref().map_or_else(String::new, |(port, target, _)| {
        format!(": the port {} is set to train no faster than {target}", port.address)
    });
    let summary = format!("{place} {runs}, although both its ends can do {common}{why}.");
    let under_load = loaded.map(|speed| {
        let source = format!("/sys/bus/pci/devices/{}/current_link_speed", link.link.device.address);
        Evidence::new("speed under load", speed, source)
    });
    let is_forced = forced.is_some();
    let target = forced.map(|(_, speed, source)| Evidence::new("target link speed", speed, source.as_str()));
    let found = lost_speed(link, &summary)
        .with_confidence(confidence)
        .with_evidence(under_load.into_iter().chain(target));
    Some(advised(found, gain(judged, link, speed, common), is_forced))
}

/// What a link carries at its width with each of two speeds.
fn at_speeds(link: &Link<'_>, now: GtPerSec, better: GtPerSec) -> Option<[BytesPerSec; 2]> {
    let width = link.width()?;
    let at = |speed| counterfactual::link_at(link.link, speed, width);
    Some([at(now)?, at(better)?])
}

/// What the path gains where the link is as fast as it can be.
fn gain(judged: &Judged<'_>, link: &Link<'_>, speed: GtPerSec, common: GtPerSec) -> Option<BytesPerSec> {
    let [now, better] = at_speeds(link, speed, common)?;
    // A link that saves power was already assumed to speed up in the ceilings; the gain is counted from this speed.
    let whole = counterfactual::gain_of_better(judged, link.index, better);
    whole.or_else(|| judged.is_limit(link.index).then(|| better - now))
}

fn advised(found: Finding, gain: Option<BytesPerSec>, is_forced: bool) -> Finding {
    if is_forced {
        let setting = "Set the slot's link speed in the firmware setup to Auto (or the fastest generation), and look in \
                       the kernel log for `retraining` of this port.";
        return found.advise_gain(setting, gain).advise(
            "Reboot, or remove and rescan the device: the kernel lowers a port after failed training.",
        );
    }
    let older =
        "Replace a riser, adapter or cable that is made for an older generation, or try another slot.";
    found
        .advise_gain("Power off, reseat the card and clean its contacts.", gain)
        .advise_gain(older, gain)
        .advise("Update the firmware of board and device, and check the slot's link speed setting.")
}

#[cfg(test)]
mod tests {
    use narrows_base::fact::{Fact, Source};
    use narrows_base::units::human;
    use narrows_machine::kept::BestLink;
    use narrows_machine::log::StatedLink;
    use narrows_machine::pci::{Express, LinkState, PciAddress, PciId};
    use narrows_model::path::{HopSpec, LinkHop, UplinkHop};

    use super::*;
    use crate::judge;
    use crate::testing::{
        BRIDGE, DISPLAY, ETHERNET, NVME, Sketch, WIFI, at, claimed, express, function, link, link_of, logged,
        run, stated,
    };

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

    fn x99_slot() -> BoardSlot {
        BoardSlot {
            name: "PCIEX16_2".to_owned(),
            connector: 16,
            lanes: 4,
            generation: 2,
            option: Some(SlotOption {
                menu: "PCI-EX16_2 Slot Bandwidth".to_owned(),
                value: "X4 Mode".to_owned(),
                lanes: 4,
                default_lanes: 1,
                cost: "disables PCIEX1_1".to_owned(),
                ..SlotOption::default()
            }),
            ..BoardSlot::default()
        }
    }

    fn in_slot(link: LinkHop, slot: BoardSlot) -> LinkHop {
        LinkHop { slot: Some(slot.name.clone()), board_slot: Some(slot), ..link }
    }

    #[test]
    fn a_drive_that_trained_below_what_both_ends_can_do_is_a_fault() {
        let finding = Sketch::drive(link((3, 2), (3, 4), (3, 4))).finding(Code::LinkWidthDegraded);
        let finding = finding.expect("two of four lanes");
        assert_eq!((finding.severity, finding.confidence), (Severity::Fault, Confidence::High));
        assert_eq!(finding.hop.map(|hop| hop.to_string()).as_deref(), Some("link:0000:02:00.0"));
        // Gen3 x4 less x2 with payloads of 256 bytes: 3592 − 1796 MB/s.
        let gain = finding.advice[0].gain_bytes_per_second.map(human::rate);
        assert_eq!(gain.as_deref(), Some("1.8 GB/s"));
    }

    #[test]
    fn a_port_that_a_firmware_option_narrows_is_a_fault_with_the_option_as_advice() {
        let path = Sketch::drive(in_slot(link((2, 1), (3, 4), (2, 1)), x99_slot()));
        let finding = path.finding(Code::LinkWidthDegraded).expect("the option gives four lanes");
        let action = &finding.advice[0].action;
        assert!(action.contains("PCI-EX16_2 Slot Bandwidth") && action.contains("X4 Mode"), "{action}");
        assert!(action.contains("disables PCIEX1_1"), "{action}");
        // Gen2 x4 less x1 with payloads of 128 bytes: 1680 − 420 MB/s.
        assert_eq!(finding.advice[0].gain_bytes_per_second.map(human::rate).as_deref(), Some("1.26 GB/s"));
        assert_eq!(path.finding(Code::SlotLimited), None);
    }

    #[test]
    fn the_option_in_force_is_no_fault() {
        let path = Sketch::drive(in_slot(link((2, 4), (3, 4), (2, 4)), x99_slot()));
        assert_eq!(path.finding(Code::LinkWidthDegraded), None);
    }

    #[test]
    fn a_slot_that_shares_its_lanes_is_a_fault_only_when_the_board_wires_more() {
        let slot = BoardSlot { option: None, shares: Some("SATA_5".to_owned()), ..x99_slot() };
        let path = Sketch::drive(in_slot(link((2, 1), (3, 4), (2, 1)), slot.clone()));
        let finding = path.finding(Code::LinkWidthDegraded).expect("three lanes are elsewhere");
        assert!(finding.advice[0].action.contains("SATA_5"));
        let narrow = Sketch::drive(in_slot(link((2, 1), (3, 4), (2, 1)), BoardSlot { lanes: 1, ..slot }));
        assert_eq!(narrow.finding(Code::LinkWidthDegraded), None);
    }

    #[test]
    fn a_slot_wired_narrower_than_its_port_claims_is_by_design() {
        let slot = BoardSlot { option: None, ..x99_slot() };
        let path = Sketch::drive(in_slot(link((3, 4), (3, 8), (3, 8)), slot));
        assert_eq!(path.finding(Code::LinkWidthDegraded), None);
    }

    #[test]
    fn healthy_and_foreign_links_are_silent() {
        let cases = [
            ("a port wider than its device", link((3, 4), (3, 4), (3, 16))),
            ("a x1 Wi-Fi card", link_of(WIFI, (1, 1), (1, 1), (3, 4))),
            ("a graphics card", link_of(DISPLAY, (1, 8), (4, 16), (4, 16))),
            ("a tunnel", LinkHop { not_a_wire: Some("tunnel".into()), ..link((1, 1), (3, 4), (3, 4)) }),
            ("an unknown other end", LinkHop { port: None, ..link((3, 2), (3, 4), (3, 4)) }),
        ];
        for (name, link) in cases {
            assert_eq!(Sketch::drive(link).finding(Code::LinkWidthDegraded), None, "{name}");
        }
    }

    #[test]
    fn lanes_that_the_ports_of_a_card_do_not_miss_are_only_mentioned() {
        let of = |name: &str| {
            let path = Sketch::drive(link_of(ETHERNET, (2, 1), (2, 2), (3, 4))).on(|machine| {
                let mut card = function(at(2), ETHERNET, (2, 2));
                card.name = Fact::known(name.to_owned(), "lspci.txt:1");
                machine.pci.insert(at(2), card);
            });
            path.finding(Code::LinkWidthDegraded).map(|finding| (finding.severity, finding.advice.is_empty()))
        };
        assert_eq!(of("BCM5720 Gigabit Ethernet"), Some((Severity::Info, true)));
        assert_eq!(of("82599ES 10-Gigabit SFI/SFP+"), Some((Severity::Fault, false)));
    }

    #[test]
    fn a_virtual_machine_shows_ports_that_do_not_exist() {
        let mut below = link((3, 2), (3, 4), (3, 4));
        assert!(Sketch::drive(below.clone()).finding(Code::LinkWidthDegraded).is_some());
        below.is_port_virtual = true;
        assert_eq!(Sketch::drive(below).finding(Code::LinkWidthDegraded), None);
    }

    #[test]
    fn a_chipset_uplink_is_wired_as_the_platform_wants_but_a_switch_card_is_not() {
        // X570: both ends claim x8, the platform wires x4.
        let uplink = link_of(BRIDGE, (4, 4), (4, 8), (4, 8));
        let hop = UplinkHop { name: "X570".to_owned(), address: at(2), ..UplinkHop::default() };
        let path = Sketch::of("/dev/sda").device("sda", None).link(uplink.clone());
        let chipset = path.hop("X570", HopSpec::Chipset(hop.clone()), None);
        assert_eq!(chipset.finding(Code::LinkWidthDegraded), None);
        let card =
            Sketch::of("/dev/sda").device("sda", None).hop("PEX", HopSpec::Switch(hop), None).link(uplink);
        let mut c62x = card.subject.clone();
        if let Some(HopSpec::Link(link)) = c62x.path.hops.last_mut().map(|hop| &mut hop.spec) {
            link.device.id = Fact::known(PciId { vendor: 0x8086, device: 0x37c0 }, "device");
        }
        let verdict = judge(&card.machine, &[c62x]);
        assert!(verdict.findings.iter().all(|finding| finding.code != Code::LinkWidthDegraded));
        let finding = card.finding(Code::LinkWidthDegraded).expect("a switch above storage");
        assert_eq!(finding.confidence, Confidence::Medium);
    }

    #[test]
    fn without_a_current_width_nothing_is_said() {
        let mut unread = link((3, 4), (3, 4), (3, 4));
        unread.device.link.current_width = Fact::absent("current_link_width");
        unread.port = None;
        assert!(Sketch::drive(unread).alarms().is_empty());
    }

    fn slow(link: LinkHop) -> Option<Finding> {
        Sketch::drive(link).finding(Code::LinkSpeedDegraded)
    }

    #[test]
    fn an_awake_drive_below_both_ends_is_a_fault_with_medium_confidence_while_idle() {
        let finding = slow(link((1, 4), (5, 4), (5, 4))).expect("Gen1 of Gen5");
        assert_eq!((finding.severity, finding.confidence), (Severity::Fault, Confidence::Medium));
        assert!(finding.summary.contains("runs at 2.5 GT/s now"), "{}", finding.summary);
    }

    #[test]
    fn a_reading_under_load_decides() {
        let idle = link((1, 4), (4, 4), (4, 4));
        let load = |generation| run(800.0).disk("nvme0n1", 800.0, 31.0).link_at(at(2), generation);
        let slow = Sketch::drive(idle.clone()).run(load(1)).finding(Code::LinkSpeedDegraded);
        assert_eq!(slow.map(|finding| finding.confidence), Some(Confidence::High));
        let awake = Sketch::drive(idle).run(load(4));
        assert_eq!(awake.finding(Code::LinkSpeedDegraded), None);
        assert!(awake.finding(Code::PowerSave).is_some());
    }

    #[test]
    fn a_lowered_target_speed_is_proof_without_load() {
        let mut forced = link((1, 4), (5, 4), (5, 4));
        let mut capability = express(512, 256);
        capability.target_speed = Some(GtPerSec::GEN1);
        if let Some(port) = &mut forced.port {
            port.express = Fact::known(capability, "/sys/bus/pci/devices/0000:00:1c.0/config");
        }
        let finding = slow(forced).expect("the port is held down");
        assert_eq!(finding.confidence, Confidence::High);
        assert!(finding.summary.contains("no faster than 2.5 GT/s"), "{}", finding.summary);
    }

    #[test]
    fn a_switch_below_both_ends_is_a_fault() {
        assert!(slow(link_of(BRIDGE, (3, 8), (4, 8), (4, 8))).is_some());
    }

    #[test]
    fn healthy_idle_and_foreign_links_are_silent() {
        let mut asleep = link((1, 4), (4, 4), (4, 4));
        asleep.device.power_state = Fact::known("D3hot".to_owned(), "power_state");
        let mut resting = link((1, 4), (4, 4), (4, 4));
        resting.device.express =
            Fact::known(Express { aspm_l1: true, ..express(512, 256) }, "/sys/bus/pci/devices/…/config");
        let tunnel = LinkHop { not_a_wire: Some("tunnel".into()), ..link((1, 4), (4, 4), (4, 4)) };
        let cases = [
            ("a Gen4 drive in a Gen3 slot", link((3, 4), (4, 4), (3, 4))),
            ("a Gen2 card reader under a Gen3 port", link((2, 1), (2, 1), (3, 4))),
            ("an idle graphics card", link_of(DISPLAY, (1, 16), (4, 16), (4, 16))),
            ("a Wi-Fi card", link_of(WIFI, (1, 1), (2, 1), (3, 1))),
            ("a sleeping drive", asleep),
            ("a drive whose link saves power", resting),
            ("a tunnel", tunnel),
            ("one end only", LinkHop { port: None, ..link((1, 4), (4, 4), (4, 4)) }),
        ];
        for (name, link) in cases {
            assert_eq!(slow(link), None, "{name}");
        }
    }

    #[test]
    fn a_port_that_the_kernel_holds_at_a_lower_rate_is_a_fault() {
        let port = PciAddress { device: 0x1c, ..PciAddress::default() };
        let held = |now| {
            let event = logged(port, LogKind::LinkRetrainedAt(GtPerSec::GEN1), 1);
            Sketch::drive(link(now, (5, 4), (5, 4))).on(|machine| machine.log.push(event))
        };
        let finding = held((1, 4)).finding(Code::LinkSpeedDegraded).expect("Gen1 of Gen5");
        assert_eq!(finding.confidence, Confidence::High);
        assert!(finding.summary.contains("trained it again at 2.5 GT/s"), "{}", finding.summary);
        assert_eq!(held((5, 4)).finding(Code::LinkSpeedDegraded), None, "it recovered");
    }

    #[test]
    fn a_link_that_was_faster_before_can_do_more() {
        let seen = |generation| {
            let mut drive = function(at(2), NVME, (4, 4));
            let StatedLink { speed, width } = stated((generation, 4));
            drive.best_link = Some(LinkState { speed, width, source: Source::new("good.txt:1") });
            let path = Sketch::drive(LinkHop { port: None, ..link((3, 4), (4, 4), (4, 4)) });
            path.on(|machine| machine.pci.extend([(at(2), drive)])).finding(Code::LinkSpeedDegraded)
        };
        assert!(seen(4).is_some_and(|finding| finding.summary.contains("at another time it ran at 16 GT/s")));
        assert_eq!(seen(3), None);
    }
}
