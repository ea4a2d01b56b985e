//! `sata_limited`: SATA is the bottleneck, or runs below what port and drive can do.
//!
//! A hard disk never fills SATA, whatever the generation, and a solid-state drive at 6 Gbit/s is as fast as SATA gets.
//! Neither deserves a finding unless a run shows that SATA is full.

use narrows_base::units::BitsPerSec;
use narrows_machine::block::Sata;
use narrows_model::ceiling::drive_bus;
use narrows_model::path::{Hop, HopSpec};

use super::super::attribution::{Attribution, Cause};
use super::super::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use super::super::gain;
use super::{Context, Judged};

/// The fastest SATA generation in Gbit/s.
const FASTEST: f64 = 6.0e9;

pub(super) fn check(_context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    let hops = judged.subject.path.hops.iter().enumerate();
    hops.filter_map(|(index, hop)| {
        let HopSpec::Sata(sata) = &hop.spec else { return None };
        let speed = *sata.speed.value()?;
        let slower = better_speed(sata).is_some_and(|better| better.get() > speed.get());
        let limit = judged.limited_by(index).map(|(_, limit)| limit).min_by_key(|limit| limit.severity());
        let proven = limit.filter(|limit| limit.cause == Cause::Explained);
        match (is_solid_state(judged, hop), slower) {
            (true, true) => Some(degraded(judged, index, hop, sata)),
            (true, false) if speed.get() < FASTEST => limit.map(|limit| narrows(hop, sata, speed, limit)),
            _ => proven.map(|limit| narrows(hop, sata, speed, limit)),
        }
    })
    .collect()
}

/// The rate that the link could run at: that of its port, or where that is not known that of the drive.
fn better_speed(sata: &Sata) -> Option<BitsPerSec> {
    sata.port_speed.get().or(sata.drive_speed.get())
}

/// Whether the drive on this link is known to have no moving parts.
fn is_solid_state(judged: &Judged<'_>, sata: &Hop) -> bool {
    let case = judged.case(narrows_model::ceiling::Direction::Read);
    case.hops().any(|(_, hop)| match &hop.spec {
        HopSpec::Device(device) => case.is_above(hop, sata) && device.rotational.value() == Some(&false),
        _ => false,
    })
}

fn evidence(sata: &Sata) -> Vec<Evidence> {
    let mut evidence = vec![
        Evidence::from_fact("negotiated speed", &sata.speed),
        Evidence::from_fact("fastest speed of the port", &sata.port_speed),
    ];
    if sata.drive_speed.value().is_some() {
        evidence.push(Evidence::from_fact("fastest speed of the drive", &sata.drive_speed));
    }
    evidence
}

fn degraded(judged: &Judged<'_>, index: usize, hop: &Hop, sata: &Sata) -> Finding {
    let speed = sata.speed.value().map(ToString::to_string).unwrap_or_default();
    let faster = if sata.port_speed.value().is_some() { &sata.port_speed } else { &sata.drive_speed };
    let better = drive_bus::of_sata(&Sata { speed: faster.clone(), ..sata.clone() });
    let gain = better.read.limit().and_then(|better| gain::of_better(judged, index, better));
    let can = faster.value().map(ToString::to_string).unwrap_or_default();
    let port = if sata.port.is_empty() { &hop.name } else { &sata.port };
    let summary = match sata.port_speed.value() {
        Some(_) => {
            format!(
                "The solid-state drive on {port} runs at {speed}, and the port can do {can}: a bad cable, or an old drive."
            )
        }
        None => {
            format!(
                "The solid-state drive on {port} runs at {speed}, and can do {can} itself: an old port, or a bad cable."
            )
        }
    };
    let check = match sata.port_speed.value() {
        Some(_) => "Check in the drive's data sheet that it is made for the port's speed.",
        None => {
            "Check in the board's manual that the port is made for the drive's speed, and use one that is."
        }
    };
    Finding::about(Code::SataLimited, Severity::Fault, hop, summary)
        .with_confidence(Confidence::Medium)
        .with_evidence(evidence(sata))
        .with_advice([
            Advice::with_gain(
                "Replace the SATA cable, and look in the kernel log for `limiting SATA link speed`.",
                gain,
            ),
            Advice::new(check),
        ])
}

fn narrows(hop: &Hop, sata: &Sata, speed: BitsPerSec, limit: &Attribution) -> Finding {
    let summary = format!("SATA {}: {} runs at {speed}.", limit.is_the_narrows(), sata.port);
    let advice = match speed.get() < FASTEST {
        true => "Move the drive to a 6 Gbit/s port.",
        false => "SATA gets no faster; an NVMe drive does.",
    };
    Finding::about(Code::SataLimited, limit.severity(), hop, summary)
        .with_evidence(evidence(sata))
        .with_advice([Advice::new(advice)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Sketch, run};
    use narrows_base::fact::Fact;

    fn path(speed: f64, port: f64, rotational: bool) -> Sketch {
        let rate = |gbit: f64| Fact::known(BitsPerSec::new(gbit * 1e9), "sata_spd");
        let sata =
            Sata { port: "ata3".to_owned(), speed: rate(speed), port_speed: rate(port), ..Sata::default() };
        on(sata, speed, rotational)
    }

    fn on(sata: Sata, speed: f64, rotational: bool) -> Sketch {
        Sketch::of("/dev/sda")
            .device("sda", None)
            .change(|hop| {
                if let HopSpec::Device(device) = &mut hop.spec {
                    device.rotational = Fact::known(rotational, "rotational");
                }
            })
            .hop("ata3", HopSpec::Sata(sata), Some(speed * 92.0))
    }

    #[test]
    fn a_solid_state_drive_below_its_port_is_a_fault() {
        let finding = path(3.0, 6.0, false).finding(Code::SataLimited).expect("half of what the port can");
        assert_eq!(finding.severity, Severity::Fault);
        // 600 MB/s × 0.933 less the 276 MB/s of this path.
        let gain = finding.advice[0].gain_bytes_per_second.map(|gain| (gain.get() / 1e6).round());
        assert_eq!(gain, Some(284.0));
    }

    #[test]
    fn a_drive_that_says_it_could_do_more_is_a_fault_where_the_port_is_not_known() {
        let rate = |gbit: f64| Fact::known(BitsPerSec::new(gbit * 1e9), "smartctl.txt:18");
        let sata = |drive: f64| Sata { speed: rate(3.0), drive_speed: rate(drive), ..Sata::default() };
        let finding =
            on(sata(6.0), 3.0, false).finding(Code::SataLimited).expect("half of what the drive can");
        assert!(finding.summary.contains("old port"), "{}", finding.summary);
        let old = on(sata(3.0), 3.0, false).finding(Code::SataLimited);
        assert!(old.is_none_or(|finding| finding.severity != Severity::Fault));
    }

    #[test]
    fn a_run_that_fills_sata_makes_it_a_limit() {
        let full = path(6.0, 6.0, false).run(run(540.0).disk("sda", 540.0, 31.0));
        assert_eq!(full.limiting(), "sata:ata3");
        assert_eq!(full.finding(Code::SataLimited).map(|f| f.severity), Some(Severity::Limit));
    }

    #[test]
    fn hard_disks_and_full_speed_are_silent() {
        assert_eq!(path(3.0, 6.0, true).finding(Code::SataLimited), None);
        assert_eq!(path(6.0, 6.0, false).finding(Code::SataLimited), None);
        let slow = path(6.0, 6.0, false).run(run(300.0).disk("sda", 300.0, 31.0));
        assert_eq!(slow.finding(Code::SataLimited), None);
    }
}
