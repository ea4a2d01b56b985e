//! The drive is the bottleneck, slows itself down, or the file system on it is what limits.

use narrows_base::catalog;
use narrows_machine::activity::Activity;
use narrows_machine::health::{DriveHealth, SmartChange, SmartLog};
use narrows_model::ceiling::medium;
use narrows_model::path::{DeviceHop, Hop, HopKind, HopSpec};

use super::Judged;
use crate::attribution::{Attribution, Cause, peers};
use crate::case::Case;
use crate::finding::{Code, Confidence, Finding, Severity};
use crate::trust::Audit;

/// `device_limited`: the device itself is the bottleneck, as it should be. Of a virtual disk it can only be said what it
/// delivers: what carries it is the host's.
pub(super) fn device_limited(judged: &Judged<'_>, index: usize, hop: &Hop) -> Option<Finding> {
    let (direction, limit) = judged.limited_by(index).next()?;
    let is_meant = match limit.cause {
        _ if hop.kind() != HopKind::Device => false,
        // A slow member is a fault of its array, and has a finding of its own.
        Cause::SlowMember => false,
        // That a model number has the form of a hard disk's gives a ceiling, and nothing to say.
        Cause::Smallest => !is_disk_by_name(hop),
        _ => true,
    };
    // A run that failed or was cut short says nothing of what the device can do.
    (is_meant && judged.audits.get(&direction).is_none_or(Audit::is_clean)).then(|| {
        let summary = summary(&judged.case(direction), hop, limit);
        limit.finding(Code::DeviceLimited, Severity::Info, hop, summary)
    })
}

/// Whether a device is taken for a hard disk by the form of its model number alone.
fn is_disk_by_name(hop: &Hop) -> bool {
    let HopSpec::Device(device) = &hop.spec else { return false };
    let is_listed = device.model.value().is_some_and(|model| catalog::medium(model).is_some());
    device.is_hard_disk && device.rotational.value().is_none() && !is_listed
}

/// A USB device that runs at the most that it announces, on a port that can do more.
pub(super) fn slower_than_its_port(_: &Judged<'_>, _: usize, hop: &Hop) -> Option<Finding> {
    let HopSpec::Usb(usb) = &hop.spec else { return None };
    let (speed, most, port) = (usb.speed.value()?, usb.most_speed.value()?, usb.root_hub_speed.value()?);
    (speed.get() >= most.get() && port.get() > speed.get()).then(|| {
        let device = &usb.device;
        let summary =
            format!("USB device {device} runs at {speed}, the most that it can do; its port can do {port}.");
        Finding::about(Code::DeviceLimited, Severity::Info, hop, summary)
            .seen_fact("negotiated speed", &usb.speed)
            .seen_fact("fastest speed of the device", &usb.most_speed)
            .seen_fact("fastest speed of the port", &usb.root_hub_speed)
    })
}

fn summary(case: &Case<'_>, hop: &Hop, limit: &Attribution) -> String {
    // The class of a medium of unknown model says what it does at most.
    let is_class = matches!(&hop.spec, HopSpec::Device(device) if medium::least_share(device).is_some());
    let at_most = if is_class && limit.cause == Cause::Smallest { "at most " } else { "" };
    let rate = limit.rate.map(|rate| format!(", {at_most}{rate}")).unwrap_or_default();
    match &hop.spec {
        HopSpec::Device(device) if device.is_virtual() => {
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

/// `filesystem_limited`: the file system is the bottleneck: one of its kernel threads used up a core while the devices
/// below had room.
pub(super) fn filesystem_limited(judged: &Judged<'_>, index: usize, hop: &Hop) -> Option<Finding> {
    let (_, limit) = judged.caused_by(Cause::Filesystem, index)?;
    let rate = limit.rate.map(|rate| format!(" at {rate}")).unwrap_or_default();
    let summary = format!("The file system is the bottleneck of this path{rate}: {}.", hop.name);
    let advice = "Checksums, compression and encryption of a file system cost processor time; measure the device \
                  below to see what it could do.";
    Some(limit.finding(Code::FilesystemLimited, Severity::Limit, hop, summary).advise(advice))
}

/// `thermal`: a drive is hot, and perhaps slows itself down.
///
/// Throttling shows in the counters of thermal management in the SMART / Health Information log. A temperature above
/// the warning threshold is only a reason for it: drives may keep their rate, so that alone is good to know.
pub(super) fn thermal(judged: &Judged<'_>, _: usize, hop: &Hop) -> Option<Finding> {
    let HopSpec::Device(device) = &hop.spec else { return None };
    let runs = judged.subject.runs.iter().map(|run| &run.activity);
    let throttled = runs.clone().filter_map(|run| throttled(run, &device.block));
    if let Some((change, after)) = throttled.max_by_key(|(change, _)| change.throttled) {
        return Some(slowed(hop, device, &change, after));
    }
    let hot = runs.filter_map(|run| hot(run, &device.block)).next();
    let in_a_run = hot.is_some();
    let health = hot.or_else(|| judged.machine.health.get(&device.block).filter(|health| health.is_hot()))?;
    Some(is_hot(hop, device, health, in_a_run))
}

/// What a drive throttled in a run, if it did, and how it was then.
fn throttled<'a>(run: &'a Activity, block: &str) -> Option<(SmartChange, &'a DriveHealth)> {
    let (before, after) = (run.before.drives.get(block)?, run.after.drives.get(block)?);
    let change = after.smart.value()?.since(before.smart.value()?);
    (change.throttle_transitions > 0 || change.throttled.get() > 0).then_some((change, after))
}

/// A drive that was hot at the end of a run, or in it.
fn hot<'a>(run: &'a Activity, block: &str) -> Option<&'a DriveHealth> {
    let after = run.after.drives.get(block)?;
    let smart = |health: Option<&'a DriveHealth>| health.and_then(|health| health.smart.value());
    let both = smart(run.before.drives.get(block)).zip(smart(Some(after)));
    let in_between = both.is_some_and(|(before, after)| after.since(before).hot.get() > 0);
    (after.is_hot() || in_between).then_some(after)
}

fn slowed(hop: &Hop, device: &DeviceHop, change: &SmartChange, after: &DriveHealth) -> Finding {
    let source = after.smart.source().as_str();
    let now = after.temperature.value().map(|now| format!(", {now} at its end")).unwrap_or_default();
    let (block, time) = (&device.block, change.throttled);
    let summary =
        format!("{block} slowed itself down because it was hot: it throttled for {time} of the run{now}.");
    let found = Finding::about(Code::Thermal, Severity::Limit, hop, summary)
        .seen("time of throttling in the run", change.throttled, source)
        .seen("times that throttling began", change.throttle_transitions, source);
    of_heat(found, after)
}

fn is_hot(hop: &Hop, device: &DeviceHop, health: &DriveHealth, in_a_run: bool) -> Finding {
    let now = health.temperature.value().map_or_else(|| "hot".to_owned(), |now| format!("at {now}"));
    let of = match health.warning.value() {
        _ if health.smart.value().is_some_and(SmartLog::is_too_hot) => {
            ", and says that this is beyond its threshold".to_owned()
        }
        Some(most) => format!(", and warns from {most} on"),
        None => String::new(),
    };
    let is_counted = in_a_run && health.smart.value().is_some();
    let rate = if is_counted { "; it did not throttle in the run" } else { "" };
    let summary = format!("{} is {now}{of}{rate}.", device.block);
    let found = Finding::about(Code::Thermal, Severity::Info, hop, summary);
    of_heat(found.with_confidence(Confidence::Medium), health)
}

fn of_heat(found: Finding, health: &DriveHealth) -> Finding {
    found
        .seen_known("temperature", &health.temperature)
        .seen_known("warning temperature", &health.warning)
        .advise("Give the drive a heat sink and moving air, let it cool down, and measure again.")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use narrows_base::fact::Fact;
    use narrows_base::units::{Celsius, Nanos};
    use narrows_machine::activity::Condition;
    use narrows_machine::health::Throttling;

    use super::*;
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

    fn drive(degrees: f64, throttled: u64, minutes: u64) -> Condition {
        let seconds = |count: u64| Nanos::from_millis(1000 * count);
        let heavy = Throttling { transitions: throttled.min(1), time: seconds(throttled) };
        let log = SmartLog {
            throttling: [Throttling { transitions: 7, time: seconds(70) }, heavy],
            warning_time: seconds(60 * minutes),
            ..SmartLog::default()
        };
        let health = DriveHealth {
            temperature: Fact::known(Celsius::new(degrees), "probe nvme-smart/nvme0"),
            warning: Fact::known(Celsius::new(80.0), "temp1_max"),
            smart: Fact::known(log, "probe nvme-smart/nvme0"),
            ..DriveHealth::default()
        };
        Condition { drives: BTreeMap::from([("nvme0n1".to_owned(), health)]), ..Condition::default() }
    }

    fn found(before: Condition, after: Condition) -> Option<Finding> {
        let mut load = run(500.0).disk("nvme0n1", 500.0, 31.0);
        (load.activity.before, load.activity.after) = (before, after);
        Sketch::drive(link((3, 4), (3, 4), (3, 4))).run(load).finding(Code::Thermal)
    }

    #[test]
    fn a_drive_whose_throttling_counters_rose_is_slowed_down() {
        let finding = found(drive(50.0, 0, 0), drive(79.0, 12, 0)).expect("it throttled for 12 s");
        assert_eq!(finding.severity, Severity::Limit);
        assert_eq!(
            finding.summary,
            "nvme0n1 slowed itself down because it was hot: it throttled for 12 s of the run, 79 °C at its end."
        );
    }

    #[test]
    fn a_hot_drive_that_keeps_its_rate_is_mentioned() {
        let finding = found(drive(50.0, 3, 0), drive(80.0, 3, 0)).expect("80 of 80 °C");
        assert_eq!(finding.severity, Severity::Info);
        assert!(finding.summary.contains("at 80 °C, and warns from 80 °C on; it did not throttle"));
        assert!(found(drive(50.0, 0, 4), drive(79.0, 0, 5)).is_some(), "it was hot for a minute in between");
    }

    #[test]
    fn a_warm_drive_with_old_counters_is_silent() {
        assert_eq!(found(drive(30.0, 9, 5), drive(79.9, 9, 5)), None);
        assert_eq!(found(Condition::default(), drive(60.0, 9, 5)), None);
    }

    #[test]
    fn without_a_run_a_hot_drive_is_seen_too() {
        let sketch = |degrees| {
            let path = Sketch::drive(link((3, 4), (3, 4), (3, 4)));
            path.on(|machine| machine.health = drive(degrees, 0, 0).drives).finding(Code::Thermal)
        };
        assert_eq!(sketch(85.0).map(|finding| finding.severity), Some(Severity::Info));
        assert_eq!(sketch(70.0), None);
    }
}
