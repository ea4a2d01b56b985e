//! `link_speed_degraded`: a link is slower than both its ends can do.
//!
//! Speed changes with power state, so an idle reading proves nothing for a device that saves power. Three readings
//! are proof, in this order: a speed that was read while load ran; a Target Link Speed below what both ends can do
//! (software or firmware holds the link down); and, for a device of a kind that keeps its speed (drives, adapters, wired
//! network, switches), the idle reading, with less confidence, when no saving of power explains it.

use narrows_base::units::{BytesPerSec, GtPerSec};
use narrows_machine::log::LogKind;

use super::{Context, Judged};
use crate::counterfactual;
use crate::finding::{Code, Confidence, Evidence, Finding, Severity};
use crate::link::Link;
use crate::sentence::capitalised;

pub(super) fn of_link(context: &Context<'_>, judged: &Judged<'_>, link: &Link<'_>) -> Option<Finding> {
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
    let found = finding(link, &summary)
        .seen("the kernel's log", format!("retrained at {held}"), event.source.as_str())
        .advise_gain("Reboot with the device in place, or update the kernel: later ones lift the limit again.", gain);
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
    Some(advised(finding(link, &summary), judged, link, (speed, best.speed), false))
}

fn finding(link: &Link<'_>, summary: &str) -> Finding {
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
    let found = finding(link, &summary)
        .with_confidence(confidence)
        .with_evidence(under_load.into_iter().chain(target));
    Some(advised(found, judged, link, (speed, common), is_forced))
}

/// What a link carries at its width with each of two speeds.
fn at_speeds(link: &Link<'_>, now: GtPerSec, better: GtPerSec) -> Option<[BytesPerSec; 2]> {
    let width = link.width()?;
    let at = |speed| counterfactual::link_at(link.link, speed, width);
    Some([at(now)?, at(better)?])
}

fn advised(
    found: Finding,
    judged: &Judged<'_>,
    link: &Link<'_>,
    (speed, common): (GtPerSec, GtPerSec),
    is_forced: bool,
) -> Finding {
    let gain = at_speeds(link, speed, common).and_then(|[now, better]| {
        // A link that saves power was already assumed to speed up in the ceilings; the gain is counted from this speed.
        let whole = counterfactual::gain_of_better(judged, link.index, better);
        whole.or_else(|| judged.is_limit(link.index).then(|| better - now))
    });
    if is_forced {
        let setting = "Set the slot's link speed in the firmware setup to Auto (or the fastest generation), and look in \
                       the kernel log for `retraining` of this port.";
        return found.advise_gain(setting, gain).advise(
            "Reboot, or remove and rescan the device: the kernel lowers a port after failed training.",
        );
    }
    let older = "Replace a riser, adapter or cable that is made for an older generation, or try another slot.";
    found
        .advise_gain("Power off, reseat the card and clean its contacts.", gain)
        .advise_gain(older, gain)
        .advise("Update the firmware of board and device, and check the slot's link speed setting.")
}

#[cfg(test)]
mod tests {
    use narrows_base::fact::{Fact, Source};
    use narrows_machine::log::StatedLink;
    use narrows_machine::pci::{Express, LinkState, PciAddress};
    use narrows_model::path::LinkHop;

    use super::*;
    use crate::testing::{
        BRIDGE, DISPLAY, NVME, Sketch, WIFI, at, express, function, link, link_of, logged, run, stated,
    };

    fn found(link: LinkHop) -> Option<Finding> {
        Sketch::drive(link).finding(Code::LinkSpeedDegraded)
    }

    #[test]
    fn an_awake_drive_below_both_ends_is_a_fault_with_medium_confidence_while_idle() {
        let finding = found(link((1, 4), (5, 4), (5, 4))).expect("Gen1 of Gen5");
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
        let finding = found(forced).expect("the port is held down");
        assert_eq!(finding.confidence, Confidence::High);
        assert!(finding.summary.contains("no faster than 2.5 GT/s"), "{}", finding.summary);
    }

    #[test]
    fn a_switch_below_both_ends_is_a_fault() {
        assert!(found(link_of(BRIDGE, (3, 8), (4, 8), (4, 8))).is_some());
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
            assert_eq!(found(link), None, "{name}");
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
