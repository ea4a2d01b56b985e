//! `device_limited`: the device itself is the bottleneck, as it should be. Of a virtual disk it can only be said what it
//! delivers: what carries it is the host's.

use narrows_base::catalog;
use narrows_model::ceiling::medium;
use narrows_model::path::{Hop, HopKind, HopSpec};

use super::super::attribution::{Attribution, Cause, peers};
use super::super::case::Case;
use super::super::finding::{Code, Confidence, Evidence, Finding, Severity};
use super::super::trust::Audit;
use super::{Context, Judged};

pub(super) fn check(_context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    let slow_usb = judged.subject.path.hops.iter().filter_map(slower_than_its_port);
    judged
        .limits_of_kind(HopKind::Device)
        .into_iter()
        // A slow member is a fault of its array, and has a finding of its own.
        .filter(|(_, _, _, limit)| limit.cause != Cause::SlowMember)
        // That a model number has the form of a hard disk's gives a ceiling, and nothing to say.
        .filter(|(_, hop, _, limit)| limit.cause != Cause::Smallest || !is_disk_by_name(hop))
        // A run that failed or was cut short says nothing of what the device can do.
        .filter(|(_, _, direction, _)| judged.audits.get(direction).is_none_or(Audit::is_clean))
        .map(|(_, hop, direction, limit)| {
            Finding::about(
                Code::DeviceLimited,
                Severity::Info,
                hop,
                summary(&judged.case(direction), hop, limit),
            )
            .with_confidence(limit.confidence)
            .with_evidence(limit.evidence.clone())
        })
        .chain(slow_usb)
        .collect()
}

/// Whether a device is taken for a hard disk by the form of its model number alone.
fn is_disk_by_name(hop: &Hop) -> bool {
    let HopSpec::Device(device) = &hop.spec else { return false };
    let is_listed = device.model.value().is_some_and(|model| catalog::medium(model).is_some());
    device.is_hard_disk && device.rotational.value().is_none() && !is_listed
}

/// A USB device that runs at the most that it announces, on a port that can do more.
fn slower_than_its_port(hop: &Hop) -> Option<Finding> {
    let HopSpec::Usb(usb) = &hop.spec else { return None };
    let (speed, most, port) = (usb.speed.value()?, usb.most_speed.value()?, usb.root_hub_speed.value()?);
    (speed.get() >= most.get() && port.get() > speed.get()).then(|| {
        let summary = format!(
            "USB device {} runs at {speed}, the most that it can do; its port can do {port}.",
            usb.device
        );
        Finding::about(Code::DeviceLimited, Severity::Info, hop, summary)
            .with_confidence(Confidence::High)
            .with_evidence([
                Evidence::from_fact("negotiated speed", &usb.speed),
                Evidence::from_fact("fastest speed of the device", &usb.most_speed),
                Evidence::from_fact("fastest speed of the port", &usb.root_hub_speed),
            ])
    })
}

fn summary(case: &Case<'_>, hop: &Hop, limit: &Attribution) -> String {
    // The class of a medium of unknown model says what it does at most.
    let is_class = matches!(&hop.spec, HopSpec::Device(device) if medium::least_share(device).is_some());
    let at_most = if is_class && limit.cause == Cause::Smallest { "at most " } else { "" };
    let rate = limit.rate.map(|rate| format!(", {at_most}{rate}")).unwrap_or_default();
    match &hop.spec {
        HopSpec::Device(device) if medium::is_virtual(device) => {
            let rate = limit.rate.map_or_else(|| "what it does".to_owned(), |rate| rate.to_string());
            format!("The virtual disk {} delivers {rate}; what carries it is the host's.", device.block)
        }
        _ => {
            let more = match peers(case, limit.hop).len() {
                0 | 1 => String::new(),
                count => format!(" and {} more like it", count - 1),
            };
            format!("The device itself is the bottleneck, as it should be: {}{more}{rate}.", hop.name)
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Sketch, link, run};
    use crate::{Code, Severity};

    #[test]
    fn a_drive_that_holds_the_queue_is_the_narrows_as_it_should_be() {
        let path = Sketch::drive(link((3, 4), (3, 4), (3, 4))).run(run(2000.0).disk("nvme0n1", 2000.0, 31.0));
        assert_eq!(path.finding(Code::DeviceLimited).map(|f| f.severity), Some(Severity::Info));
        assert!(path.alarms().is_empty());
        assert!(!path.judge().has_faults_or_limits());
    }

    #[test]
    fn a_disk_by_its_name_alone_has_a_ceiling_and_no_finding() {
        let with = |rotational: bool| {
            let disk = move |hop: &mut narrows_model::path::Hop| {
                if let narrows_model::path::HopSpec::Device(device) = &mut hop.spec {
                    device.is_hard_disk = true;
                    device.rotational = match rotational {
                        true => narrows_base::fact::Fact::known(true, "rotational"),
                        false => narrows_base::fact::Fact::default(),
                    };
                }
            };
            Sketch::of("/dev/sda")
                .device("sda", Some(285.0))
                .change(disk)
                .finding(Code::DeviceLimited)
                .is_some()
        };
        assert!(with(true));
        assert!(!with(false));
    }

    #[test]
    fn of_a_virtual_disk_it_is_said_what_it_delivers() {
        let disk = |hop: &mut narrows_model::path::Hop| {
            if let narrows_model::path::HopSpec::Device(device) = &mut hop.spec {
                device.synthetic = Some("virtio".to_owned());
            }
        };
        let path = Sketch::of("/dev/vda").device("vda", None).change(disk);
        let path = path.run(run(2000.0).disk("vda", 2000.0, 31.0));
        let finding = path.finding(Code::DeviceLimited).expect("the disk holds the queue");
        assert_eq!(finding.summary, "The virtual disk vda delivers 2 GB/s; what carries it is the host's.");
    }

    #[test]
    fn a_drive_that_is_only_unknown_is_not() {
        assert_eq!(Sketch::drive(link((3, 4), (3, 4), (3, 4))).finding(Code::DeviceLimited), None);
    }
}
