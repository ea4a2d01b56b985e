//! `usb_limited`: USB is the bottleneck, or runs slower than the device can.
//!
//! A device that knows USB 3 and is connected at 480 Mbit/s announces version 2.10 or later (USB 3.2 specification,
//! section 9.2.6.6): a cable without the fast pairs, or a USB 2 port. That can be changed. At a fast speed below the
//! port's nobody but the maker can tell device from cable, so it is a `limit` where USB is known to be the bottleneck, and
//! `info` where the drive behind it may be slower. Where a capture has the descriptors of the device, or its chip is known,
//! that can be told: a connection below what device and port can both do is a `fault`.

use narrows_base::fact::Fact;
use narrows_base::units::BitsPerSec;
use narrows_machine::block::Usb;
use narrows_model::ceiling::drive_bus;
use narrows_model::path::{Hop, HopSpec};

use super::super::attribution::Attribution;
use super::super::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use super::super::gain;
use super::{Context, Judged};

/// High Speed of USB 2.0 in Mbit/s.
const HIGH_SPEED: f64 = 480.0;
/// The slowest rate of USB 3 in Mbit/s.
const SUPER_SPEED: f64 = 5000.0;

pub(super) fn check(_context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    let hops = judged.subject.path.hops.iter().enumerate();
    hops.filter_map(|(index, hop)| {
        let HopSpec::Usb(usb) = &hop.spec else { return None };
        let speed = *usb.speed.value()?;
        let most = usb.most_speed.value().map_or(0.0, |most| most.get());
        if speed.get() <= HIGH_SPEED * 1e6 && (announces_usb3(usb) || most >= SUPER_SPEED * 1e6) {
            return Some(slow_cable(judged, index, hop, usb));
        }
        let port = usb.root_hub_speed.value().map_or(0.0, |port| port.get());
        if most.min(port) > speed.get() {
            return Some(below_both(judged, index, hop, usb, BitsPerSec::new(most.min(port))));
        }
        // Where the device is known to set it, `device_limited` says so.
        let is_known = most > 0.0 && most <= speed.get() && port > speed.get();
        let mut limits = judged.limited_by(index);
        let limit = limits.find(|(_, limit)| !is_known || limit.severity() != Severity::Info);
        limit.map(|(_, limit)| narrows(hop, usb, speed, limit))
    })
    .collect()
}

/// Whether the device announces a version from 2.10 on, which only a device with USB 3 descriptors does.
fn announces_usb3(usb: &Usb) -> bool {
    let Some(version) = usb.version.value() else { return false };
    let mut parts = version.trim().split('.').map(|part| part.trim().parse::<u32>().ok());
    match (parts.next().flatten(), parts.next().flatten()) {
        (Some(3..), _) => true,
        (Some(2), Some(minor)) => minor >= 10,
        _ => false,
    }
}

fn evidence(usb: &Usb) -> Vec<Evidence> {
    let most =
        usb.most_speed.value().map(|_| Evidence::from_fact("fastest speed of the device", &usb.most_speed));
    let mut evidence = vec![
        Evidence::from_fact("negotiated speed", &usb.speed),
        Evidence::from_fact("version that the device announces", &usb.version),
    ];
    // Only descriptors tell it.
    evidence.extend(most);
    evidence.extend([
        Evidence::from_fact("fastest speed of the port", &usb.root_hub_speed),
        Evidence::from_fact("driver", &usb.driver),
    ]);
    evidence
}

/// Device and port can do more than the connection does. Whose fault that is cannot be seen from here, but it is no
/// property of the device.
fn below_both(judged: &Judged<'_>, index: usize, hop: &Hop, usb: &Usb, both: BitsPerSec) -> Finding {
    let speed = usb.speed.value().map(ToString::to_string).unwrap_or_default();
    let summary =
        format!("USB device {} runs at {speed}, although device and port can both do {both}.", usb.device);
    let fast = Usb { speed: Fact::known(both, usb.most_speed.source().as_str()), ..usb.clone() };
    let better = drive_bus::of_usb(&fast);
    let gain = better.read.limit().and_then(|better| gain::of_better(judged, index, better));
    Finding::about(Code::UsbLimited, Severity::Fault, hop, summary)
        .with_confidence(Confidence::Medium)
        .with_evidence(evidence(usb))
        .with_advice([
            Advice::with_gain(
                format!("Use a cable that is made for {both}, short and directly in the port."),
                gain,
            ),
            Advice::new(
                "If that does not help, update the firmware of controller and enclosure, and the kernel.",
            ),
        ])
}

fn slow_cable(judged: &Judged<'_>, index: usize, hop: &Hop, usb: &Usb) -> Finding {
    let speed = usb.speed.value().map(ToString::to_string).unwrap_or_default();
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
    let fast = Usb { speed: Fact::known(BitsPerSec::from_mbit(SUPER_SPEED), "USB 3.0"), ..usb.clone() };
    let better = drive_bus::of_usb(&fast);
    let gain = better.read.limit().and_then(|better| gain::of_better(judged, index, better));
    Finding::about(Code::UsbLimited, Severity::Fault, hop, summary)
        .with_confidence(Confidence::Medium)
        .with_evidence(evidence(usb))
        .with_advice([
            Advice::with_gain("Use a cable that is made for USB 3, pushed all the way in.", gain),
            Advice::with_gain("Use a USB 3 port, directly and not through a hub.", gain),
        ])
}

fn narrows(hop: &Hop, usb: &Usb, speed: BitsPerSec, limit: &Attribution) -> Finding {
    let below = usb.root_hub_speed.value().is_some_and(|hub| hub.get() > speed.get());
    let why = if below { "; the port can do more, so device or cable set it" } else { "" };
    let is = limit.is_the_narrows();
    let summary = format!("USB {is}: device {} runs at {speed}{why}.", usb.device);
    let one_at_a_time = usb.driver.value().is_some_and(|driver| driver == "usb-storage");
    let advice = one_at_a_time.then(|| {
        Advice::new(
            "The device is driven by usb-storage, one request at a time; an enclosure with UAS queues them.",
        )
    });
    Finding::about(Code::UsbLimited, limit.severity(), hop, summary)
        .with_confidence(Confidence::Medium)
        .with_evidence(evidence(usb))
        .with_advice(advice)
        .with_advice(
            below.then(|| Advice::new("Try a cable and enclosure that are made for the port's speed.")),
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sketch;

    fn path(speed: f64, version: &str, port: f64, disk: Option<f64>) -> Sketch {
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
    fn a_usb_3_device_at_480_megabits_is_a_fault() {
        let finding = path(480.0, " 2.10", 480.0, None).finding(Code::UsbLimited).expect("a slow cable");
        assert_eq!(finding.severity, Severity::Fault);
        assert!(finding.summary.contains("480 Mbit/s"), "{}", finding.summary);
        // 5 Gbit/s through usb-storage carry 414 MB/s, and the path had 48.
        let gain = finding.advice[0].gain_bytes_per_second.map(|gain| (gain.get() / 1e6).round());
        assert_eq!(gain, Some(366.0));
    }

    /// A device that can do `most`, in a port that can do `port`.
    fn able(speed: f64, most: f64, port: f64) -> Sketch {
        path(speed, "3.10", port, None).change(move |hop| {
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
        let finding = path(480.0, " 2.00", 480.0, Some(500.0)).finding(Code::UsbLimited).expect("USB 2");
        assert_eq!(finding.severity, Severity::Limit);
        assert!(finding.advice[0].action.contains("UAS"));
        let unknown = path(480.0, " 2.00", 480.0, None).finding(Code::UsbLimited).expect("USB 2");
        assert_eq!(unknown.severity, Severity::Info, "the stick may be slower");
    }

    #[test]
    fn a_stick_slower_than_its_port_is_silent() {
        assert_eq!(path(5000.0, "3.10", 10_000.0, Some(150.0)).finding(Code::UsbLimited), None);
        assert_eq!(path(480.0, "garbage", 480.0, Some(10.0)).finding(Code::UsbLimited), None);
    }
}
