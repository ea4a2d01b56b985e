//! The bus between a drive and its controller is the bottleneck, or slower than both ends: USB, SATA, storage adapters.

use std::collections::BTreeSet;

use narrows_base::fact::Fact;
use narrows_base::units::{BitsPerSec, BytesPerSec};
use narrows_machine::block::{Sata, Usb};
use narrows_machine::usb;
use narrows_model::ceiling::drive_bus;
use narrows_model::path::{Hop, HopKind, HopSpec};

use super::{Context, Judged};
use crate::attribution::{Attribution, Cause};
use crate::counterfactual;
use crate::finding::{Code, Confidence, Finding, Severity};

/// High Speed of USB 2.0 in Mbit/s.
const HIGH_SPEED: f64 = 480.0;
/// The slowest rate of USB 3 in Mbit/s.
const SUPER_SPEED: f64 = 5000.0;

/// `usb_limited`: USB is the bottleneck, or runs slower than the device can.
///
/// A device that knows USB 3 and is connected at 480 Mbit/s announces version 2.10 or later (USB 3.2 specification,
/// section 9.2.6.6): a cable without the fast pairs, or a USB 2 port. That can be changed. At a fast speed below the
/// port's nobody but the maker can tell device from cable, so it is a `limit` where USB is known to be the bottleneck, and
/// `info` where the drive behind it may be slower. Where a capture has the descriptors of the device, or its chip is known,
/// that can be told: a connection below what device and port can both do is a `fault`.
pub(super) fn usb_limited(judged: &Judged<'_>, index: usize, hop: &Hop) -> Option<Finding> {
    let HopSpec::Usb(usb) = &hop.spec else { return None };
    let speed = *usb.speed.value()?;
    let most = usb.most_speed.value().map_or(0.0, |most| most.get());
    if speed.get() <= HIGH_SPEED * 1e6 && (announces_usb3(usb) || most >= SUPER_SPEED * 1e6) {
        return Some(slow_cable(judged, index, hop, usb, speed));
    }
    let port = usb.root_hub_speed.value().map_or(0.0, |port| port.get());
    if most.min(port) > speed.get() {
        let (device, both) = (&usb.device, BitsPerSec::new(most.min(port)));
        let summary =
            format!("USB device {device} runs at {speed}, although device and port can both do {both}.");
        // Whose fault that is cannot be seen from here, but it is no property of the device.
        let cable = format!("Use a cable that is made for {both}, short and directly in the port.");
        let found = usb_finding(Severity::Fault, hop, usb, summary)
            .advise_gain(cable, usb_gain(judged, index, usb, both))
            .advise(
                "If that does not help, update the firmware of controller and enclosure, and the kernel.",
            );
        return Some(found);
    }
    // Where the device is known to set it, `device_limited` says so.
    let is_known = most > 0.0 && most <= speed.get() && port > speed.get();
    let mut limits = judged.limited_by(index);
    let limit = limits.find(|(_, limit)| !is_known || limit.severity() != Severity::Info);
    limit.map(|(_, limit)| usb_limited_narrows(hop, usb, speed, limit))
}

/// Whether the device announces a version from 2.10 on, which only a device with USB 3 descriptors does.
fn announces_usb3(usb: &Usb) -> bool {
    let Some(version) = usb.version.value() else { return false };
    let parts: Vec<_> = version.trim().split('.').map(|part| part.trim().parse::<u32>().ok()).collect();
    matches!(parts[..], [Some(3..), ..] | [Some(2), Some(10..), ..])
}

/// The same of a device that no path crosses, such as a network adapter: where its chip is known, and its bus is fast. Behind a hub
/// (`3-2.1`) nobody can tell whether the fast pairs of a dock carry a display instead.
pub(super) fn usb_aside(context: &Context<'_>) -> Vec<Finding> {
    let devices = &context.machine.usb;
    let crossed = context.hops().filter_map(|hop| match &hop.spec {
        HopSpec::Usb(usb) => Some(usb.device.as_str()),
        _ => None,
    });
    let crossed: BTreeSet<&str> = crossed.collect();
    let chips = devices.values().filter(|device| device.most_speed.value().is_none());
    let slow = chips.filter_map(|device| {
        let usb = usb::transport(devices, device);
        let (speed, most, port) = (usb.speed.get()?, usb.most_speed.get()?, usb.root_hub_speed.get()?);
        let is_slow = speed.get() <= HIGH_SPEED * 1e6 && most.get().min(port.get()) >= SUPER_SPEED * 1e6;
        (is_slow && !usb.device.contains('.') && !crossed.contains(usb.device.as_str())).then(|| {
            let product = device.product.value().map(|product| format!(" ({product})")).unwrap_or_default();
            let summary = format!(
                "USB device {}{product} runs at {speed} and can do {most}: cable or port lack the fast pairs.",
                usb.device
            );
            let found = Finding::on(Code::UsbLimited, Severity::Fault, usb.device.clone(), summary);
            usb_evidence(found, &usb)
                .advise("Use a cable that is made for USB 3, pushed all the way in, and a USB 3 port.")
                .advise("Turn a plug of USB-C over, and leave out adapters.")
        })
    });
    slow.collect()
}

fn usb_finding(severity: Severity, hop: &Hop, usb: &Usb, summary: String) -> Finding {
    usb_evidence(Finding::about(Code::UsbLimited, severity, hop, summary), usb)
}

fn usb_evidence(found: Finding, usb: &Usb) -> Finding {
    found
        .with_confidence(Confidence::Medium)
        .seen_fact("negotiated speed", &usb.speed)
        .seen_fact("version that the device announces", &usb.version)
        .seen_known("fastest speed of the device", &usb.most_speed)
        .seen_fact("fastest speed of the port", &usb.root_hub_speed)
        .seen_fact("driver", &usb.driver)
}

/// What the path gains when the device runs at a speed that it can do.
fn usb_gain(judged: &Judged<'_>, index: usize, usb: &Usb, speed: BitsPerSec) -> Option<BytesPerSec> {
    let fast = Usb { speed: Fact::known(speed, usb.most_speed.source().as_str()), ..usb.clone() };
    counterfactual::gain_of_better(judged, index, drive_bus::of_usb(&fast).read.rate()?)
}

fn slow_cable(judged: &Judged<'_>, index: usize, hop: &Hop, usb: &Usb, speed: BitsPerSec) -> Finding {
    let version = usb.version.value().map(String::as_str).unwrap_or_default().trim();
    let which = if announces_usb3(usb) {
        format!("and announces USB {version}, which only devices with USB 3 do")
    } else {
        let most = usb.most_speed.value().map(ToString::to_string).unwrap_or_default();
        format!("and can do {most}")
    };
    let summary =
        format!("USB device {} runs at {speed} {which}: cable or port lack the fast pairs.", usb.device);
    // What every USB 3 device can do; whether this one can do more is not known.
    let gain = usb_gain(judged, index, usb, BitsPerSec::from_mbit(SUPER_SPEED));
    usb_finding(Severity::Fault, hop, usb, summary)
        .advise_gain("Use a cable that is made for USB 3, pushed all the way in.", gain)
        .advise_gain("Use a USB 3 port, directly and not through a hub.", gain)
}

fn usb_limited_narrows(hop: &Hop, usb: &Usb, speed: BitsPerSec, limit: &Attribution) -> Finding {
    let below = usb.root_hub_speed.value().is_some_and(|hub| hub.get() > speed.get());
    let why = if below { "; the port can do more, so device or cable set it" } else { "" };
    let is = limit.is_the_narrows();
    let summary = format!("USB {is}: device {} runs at {speed}{why}.", usb.device);
    let one_at_a_time = usb.driver.value().is_some_and(|driver| driver == "usb-storage");
    let uas =
        "The device is driven by usb-storage, one request at a time; an enclosure with UAS queues them.";
    usb_finding(limit.severity(), hop, usb, summary)
        .advise_if(one_at_a_time, uas)
        .advise_if(below, "Try a cable and enclosure that are made for the port's speed.")
}

/// The fastest SATA generation in Gbit/s.
const FASTEST: f64 = 6.0e9;

/// `sata_limited`: SATA is the bottleneck, or runs below what port and drive can do.
///
/// A hard disk never fills SATA, whatever the generation, and a solid-state drive at 6 Gbit/s is as fast as SATA gets.
/// Neither deserves a finding unless a run shows that SATA is full.
pub(super) fn sata_limited(judged: &Judged<'_>, index: usize, hop: &Hop) -> Option<Finding> {
    let HopSpec::Sata(sata) = &hop.spec else { return None };
    let speed = *sata.speed.value()?;
    // The rate that the link could run at: that of its port, or where that is not known that of the drive.
    let better = sata.port_speed.get().or(sata.drive_speed.get());
    let slower = better.is_some_and(|better| better.get() > speed.get());
    let limit = judged.limited_by(index).map(|(_, limit)| limit).min_by_key(|limit| limit.severity());
    let proven = limit.filter(|limit| limit.cause == Cause::Explained);
    let limit = match (is_solid_state(judged, hop), slower) {
        (true, true) => return Some(degraded(judged, index, hop, sata)),
        (true, false) if speed.get() < FASTEST => limit,
        _ => proven,
    };
    limit.map(|limit| sata_limited_narrows(hop, sata, speed, limit))
}

/// Whether the drive on this link is known to have no moving parts.
fn is_solid_state(judged: &Judged<'_>, sata: &Hop) -> bool {
    let case = judged.case(narrows_model::ceiling::Direction::Read);
    let is_flash = |hop: &Hop| hop.device().is_some_and(|drive| drive.rotational.value() == Some(&false));
    case.hops().any(|(_, hop)| case.is_above(hop, sata) && is_flash(hop))
}

fn sata_finding(severity: Severity, hop: &Hop, sata: &Sata, summary: String) -> Finding {
    Finding::about(Code::SataLimited, severity, hop, summary)
        .seen_fact("negotiated speed", &sata.speed)
        .seen_fact("fastest speed of the port", &sata.port_speed)
        .seen_known("fastest speed of the drive", &sata.drive_speed)
}

fn degraded(judged: &Judged<'_>, index: usize, hop: &Hop, sata: &Sata) -> Finding {
    let speed = sata.speed.value().map(ToString::to_string).unwrap_or_default();
    let faster = if sata.port_speed.value().is_some() { &sata.port_speed } else { &sata.drive_speed };
    let better = drive_bus::of_sata(&Sata { speed: faster.clone(), ..sata.clone() });
    let gain = better.read.rate().and_then(|better| counterfactual::gain_of_better(judged, index, better));
    let can = faster.value().map(ToString::to_string).unwrap_or_default();
    let port = if sata.port.is_empty() { &hop.name } else { &sata.port };
    let (why, check) = match sata.port_speed.value() {
        Some(_) => (
            format!("the port can do {can}: a bad cable, or an old drive"),
            "Check in the drive's data sheet that it is made for the port's speed.",
        ),
        None => (
            format!("can do {can} itself: an old port, or a bad cable"),
            "Check in the board's manual that the port is made for the drive's speed, and use one that is.",
        ),
    };
    let summary = format!("The solid-state drive on {port} runs at {speed}, and {why}.");
    sata_finding(Severity::Fault, hop, sata, summary)
        .with_confidence(Confidence::Medium)
        .advise_gain(
            "Replace the SATA cable, and look in the kernel log for `limiting SATA link speed`.",
            gain,
        )
        .advise(check)
}

fn sata_limited_narrows(hop: &Hop, sata: &Sata, speed: BitsPerSec, limit: &Attribution) -> Finding {
    let summary = format!("SATA {}: {} runs at {speed}.", limit.is_the_narrows(), sata.port);
    let advice = match speed.get() < FASTEST {
        true => "Move the drive to a 6 Gbit/s port.",
        false => "SATA gets no faster; an NVMe drive does.",
    };
    sata_finding(limit.severity(), hop, sata, summary).advise(advice)
}

/// `hba_limited`: the storage adapter (or its SAS port) is the bottleneck.
pub(super) fn hba_limited(judged: &Judged<'_>, index: usize, hop: &Hop) -> Option<Finding> {
    let (_, limit) = judged.limited_by(index).next()?;
    matches!(hop.kind(), HopKind::Hba | HopKind::Sas).then(|| {
        let rate = limit.rate.map(|rate| format!(": {rate} for this path")).unwrap_or_default();
        let summary = format!("{} {}{rate}.", hop.name, limit.is_the_narrows());
        limit
            .finding(Code::HbaLimited, limit.severity(), hop, summary)
            .advise("Spread the disks over another adapter, or use a faster one.")
    })
}

#[cfg(test)]
mod tests {
    use narrows_base::fact::Fact;
    use narrows_model::path::{ControllerHop, DeviceHop, HopSpec};

    use super::*;
    use crate::testing::{Sketch, run};
    use crate::{Code, Severity};

    fn usb_limited_path(speed: f64, version: &str, port: f64, disk: Option<f64>) -> Sketch {
        let rate = |mbit| Fact::known(BitsPerSec::from_mbit(mbit), "speed");
        let usb = Usb {
            device: "2-1".to_owned(),
            speed: rate(speed),
            version: Fact::known(version.to_owned(), "version"),
            most_speed: Fact::default(),
            root_hub_speed: rate(port),
            driver: Fact::known("usb-storage".to_owned(), "driver"),
            pci: None,
        };
        Sketch::of("/dev/sdb").device("sdb", disk).hop("2-1", HopSpec::Usb(usb), Some(speed / 10.0))
    }

    #[test]
    fn a_network_adapter_of_a_known_chip_on_the_slow_bus_beside_a_fast_one_is_a_fault() {
        use narrows_machine::usb::{UsbAddress, UsbDevice};
        let found = |id: (u16, u16), fast: f64| {
            let on = |machine: &mut narrows_machine::Machine| {
                let pci = || Fact::known("0000:00:15.0".parse().expect("an address"), "lsusb:1");
                for (bus, device, megabits) in [(1, 1, 480.0), (1, 9, 480.0), (2, 1, fast)] {
                    let address = UsbAddress { bus, device };
                    let speed = Fact::known(BitsPerSec::from_mbit(megabits), "lsusb:1");
                    let id = Fact::known(id, "lsusb:1");
                    machine.usb.insert(
                        address,
                        UsbDevice { address, speed, id, pci: pci(), ..UsbDevice::default() },
                    );
                }
            };
            Sketch::of("/dev/sda").on(on).finding(Code::UsbLimited).map(|finding| finding.severity)
        };
        assert_eq!(found((0x0bda, 0x8157), 5000.0), Some(Severity::Fault));
        assert_eq!(found((0x0bda, 0x8157), 480.0), None, "no port is known to be faster");
        assert_eq!(found((0xf400, 0xf400), 5000.0), None);
    }

    #[test]
    fn a_usb_3_device_at_480_megabits_is_a_fault() {
        let finding =
            usb_limited_path(480.0, " 2.10", 480.0, None).finding(Code::UsbLimited).expect("a slow cable");
        assert_eq!(finding.severity, Severity::Fault);
        assert!(finding.summary.contains("480 Mbit/s"), "{}", finding.summary);
        // 5 Gbit/s through usb-storage carry 414 MB/s, and the path had 48.
        let gain = finding.advice[0].gain_bytes_per_second.map(|gain| (gain.get() / 1e6).round());
        assert_eq!(gain, Some(366.0));
    }

    /// A device that can do `most`, in a port that can do `port`.
    fn able(speed: f64, most: f64, port: f64) -> Sketch {
        usb_limited_path(speed, "3.10", port, None).change(move |hop| {
            if let HopSpec::Usb(usb) = &mut hop.spec {
                usb.most_speed = Fact::known(BitsPerSec::from_mbit(most), "lsusb -v");
            }
        })
    }

    #[test]
    fn a_connection_below_what_device_and_port_can_do_is_a_fault() {
        let finding = able(5000.0, 20_000.0, 10_000.0).finding(Code::UsbLimited).expect("a slow connection");
        assert_eq!(finding.severity, Severity::Fault);
        assert!(finding.summary.contains("both do 10 Gbit/s"), "{}", finding.summary);
    }

    #[test]
    fn a_device_that_can_do_no_more_is_the_limit_and_not_its_connection() {
        let slow = able(5000.0, 5000.0, 10_000.0);
        assert_eq!(slow.finding(Code::UsbLimited), None);
        assert_eq!(slow.finding(Code::DeviceLimited).map(|finding| finding.severity), Some(Severity::Info));
        let full = able(10_000.0, 10_000.0, 10_000.0);
        assert_eq!(full.finding(Code::DeviceLimited), None);
    }

    #[test]
    fn a_chip_known_to_do_usb_3_at_480_megabits_is_a_fault_without_its_version() {
        let sketch = able(480.0, 10_000.0, 480.0).change(|hop| {
            if let HopSpec::Usb(usb) = &mut hop.spec {
                usb.version = Fact::default();
            }
        });
        let finding = sketch.finding(Code::UsbLimited).expect("a slow cable");
        assert!(finding.summary.contains("can do 10 Gbit/s: cable or port"), "{}", finding.summary);
    }

    #[test]
    fn a_usb_2_device_is_a_limit_and_the_driver_is_advised_on() {
        let finding =
            usb_limited_path(480.0, " 2.00", 480.0, Some(500.0)).finding(Code::UsbLimited).expect("USB 2");
        assert_eq!(finding.severity, Severity::Limit);
        assert!(finding.advice[0].action.contains("UAS"));
        let unknown = usb_limited_path(480.0, " 2.00", 480.0, None).finding(Code::UsbLimited).expect("USB 2");
        assert_eq!(unknown.severity, Severity::Info, "the stick may be slower");
    }

    #[test]
    fn a_stick_slower_than_its_port_is_silent() {
        assert_eq!(usb_limited_path(5000.0, "3.10", 10_000.0, Some(150.0)).finding(Code::UsbLimited), None);
        assert_eq!(usb_limited_path(480.0, "garbage", 480.0, Some(10.0)).finding(Code::UsbLimited), None);
    }

    fn sata_limited_path(speed: f64, port: f64, rotational: bool) -> Sketch {
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
        let finding =
            sata_limited_path(3.0, 6.0, false).finding(Code::SataLimited).expect("half of what the port can");
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
        let full = sata_limited_path(6.0, 6.0, false).run(run(540.0).disk("sda", 540.0, 31.0));
        assert_eq!(full.limiting(), "sata:ata3");
        assert_eq!(full.finding(Code::SataLimited).map(|f| f.severity), Some(Severity::Limit));
    }

    #[test]
    fn hard_disks_and_full_speed_are_silent() {
        assert_eq!(sata_limited_path(3.0, 6.0, true).finding(Code::SataLimited), None);
        assert_eq!(sata_limited_path(6.0, 6.0, false).finding(Code::SataLimited), None);
        let slow = sata_limited_path(6.0, 6.0, false).run(run(300.0).disk("sda", 300.0, 31.0));
        assert_eq!(slow.finding(Code::SataLimited), None);
    }

    fn hba_limited_path(adapter: f64) -> Sketch {
        let hop = HopSpec::Hba(ControllerHop { name: "mpt3sas".to_owned(), ..ControllerHop::default() });
        Sketch::of("/dev/md0").device("md0", Some(3000.0)).hop("mpt3sas", hop, Some(adapter))
    }

    #[test]
    fn an_adapter_below_its_disks_is_a_limit_and_one_above_is_not() {
        assert_eq!(
            hba_limited_path(2500.0).finding(Code::HbaLimited).map(|f| f.severity),
            Some(Severity::Limit)
        );
        assert_eq!(hba_limited_path(6000.0).finding(Code::HbaLimited), None);
    }

    #[test]
    fn an_adapter_before_a_disk_that_may_be_slower_is_only_mentioned() {
        let adapter =
            |name: &str| HopSpec::Hba(ControllerHop { name: name.to_owned(), ..Default::default() });
        let unknown = Sketch::of("/dev/sda").device("sda", None).hop("hba", adapter("hba"), Some(570.0));
        let finding = unknown.finding(Code::HbaLimited).expect("the only hop that is known");
        assert_eq!(finding.severity, Severity::Info);
        assert!(finding.summary.contains("that is known"), "{}", finding.summary);
        // The ceiling of its class is 285 MB/s and says nothing of how much less this disk does.
        let disk = DeviceHop { block: "sda".to_owned(), is_hard_disk: true, ..DeviceHop::default() };
        let path = Sketch::of("/dev/sda").guess("sda", HopSpec::Device(disk), 285.0);
        let path = path.hop("hba", adapter("hba"), Some(200.0));
        assert_eq!(path.finding(Code::HbaLimited).map(|f| f.severity), Some(Severity::Info));
        assert!(path.alarms().is_empty());
    }
}
