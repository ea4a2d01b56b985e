//! `usb_limited`: USB is the narrows, or runs slower than the device can.
//!
//! A device that knows USB 3 and is connected at 480 Mbit/s announces version 2.10 or later (USB 3.2 specification,
//! section 9.2.6.6): a cable without the fast pairs, or a USB 2 port. That can be changed. At a fast speed below the
//! port's nobody but the maker can tell device from cable, so it is a `limit` and only where USB is the narrows.

use crate::machine::block::Usb;
use crate::path::{Hop, HopSpec};
use crate::units::BitsPerSec;

use super::super::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use super::{Context, Judged};

/// High Speed of USB 2.0 in Mbit/s.
const HIGH_SPEED: f64 = 480.0;

pub(super) fn check(_context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    let hops = judged.subject.path.hops.iter().enumerate();
    hops.filter_map(|(index, hop)| {
        let HopSpec::Usb(usb) = &hop.spec else { return None };
        let speed = *usb.speed.value()?;
        if speed.get() <= HIGH_SPEED * 1e6 && announces_usb3(usb) {
            return Some(slow_cable(hop, usb, speed));
        }
        judged.is_limit(index).then(|| narrows(hop, usb, speed))
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
    vec![
        Evidence::from_fact("negotiated speed", &usb.speed),
        Evidence::from_fact("version that the device announces", &usb.version),
        Evidence::from_fact("fastest speed of the port", &usb.root_hub_speed),
        Evidence::from_fact("driver", &usb.driver),
    ]
}

fn slow_cable(hop: &Hop, usb: &Usb, speed: BitsPerSec) -> Finding {
    let version = usb.version.value().map(String::as_str).unwrap_or_default().trim();
    let summary = format!(
        "USB device {} runs at {speed} and announces USB {version}, which only devices with USB 3 do: cable or port \
         lack the fast pairs.",
        usb.device
    );
    Finding::about(Code::UsbLimited, Severity::Fault, hop, summary)
        .with_confidence(Confidence::Medium)
        .with_evidence(evidence(usb))
        .with_advice([
            Advice::new("Use a cable that is made for USB 3, pushed all the way in."),
            Advice::new("Use a USB 3 port, directly and not through a hub."),
        ])
}

fn narrows(hop: &Hop, usb: &Usb, speed: BitsPerSec) -> Finding {
    let below = usb.root_hub_speed.value().is_some_and(|hub| hub.get() > speed.get());
    let why = if below { "; the port can do more, so device or cable set it" } else { "" };
    let summary = format!("USB is the narrows of this path: device {} runs at {speed}{why}.", usb.device);
    let one_at_a_time = usb.driver.value().is_some_and(|driver| driver == "usb-storage");
    let advice = one_at_a_time.then(|| {
        Advice::new(
            "The device is driven by usb-storage, one request at a time; an enclosure with UAS queues them.",
        )
    });
    Finding::about(Code::UsbLimited, Severity::Limit, hop, summary)
        .with_confidence(Confidence::Medium)
        .with_evidence(evidence(usb))
        .with_advice(advice)
        .with_advice(
            below.then(|| Advice::new("Try a cable and enclosure that are made for the port's speed.")),
        )
}
