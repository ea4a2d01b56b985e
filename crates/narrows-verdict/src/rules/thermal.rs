//! `thermal`: a drive is hot, and perhaps slows itself down.
//!
//! Throttling shows in the counters of thermal management in the SMART / Health Information log. A temperature above
//! the warning threshold is only a reason for it: drives may keep their rate, so that alone is good to know.

use narrows_machine::activity::Activity;
use narrows_machine::health::{DriveHealth, SmartChange, SmartLog};
use narrows_model::path::{DeviceHop, Hop, HopSpec};

use super::super::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use super::{Context, Judged};

pub(super) fn check(context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    let devices = judged.subject.path.hops.iter().filter_map(|hop| match &hop.spec {
        HopSpec::Device(device) => Some((hop, device)),
        _ => None,
    });
    devices.filter_map(|(hop, device)| of_device(context, judged, hop, device)).collect()
}

fn of_device(context: &Context<'_>, judged: &Judged<'_>, hop: &Hop, device: &DeviceHop) -> Option<Finding> {
    let runs = judged.subject.runs.iter().map(|run| &run.activity);
    let throttled = runs.clone().filter_map(|run| throttled(run, &device.block));
    if let Some((change, after)) = throttled.max_by_key(|(change, _)| change.throttled) {
        return Some(slowed(hop, device, &change, after));
    }
    let hot = runs.filter_map(|run| hot(run, &device.block)).next();
    let in_a_run = hot.is_some();
    let health =
        hot.or_else(|| context.machine.health.get(&device.block).filter(|health| health.is_hot()))?;
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
    let in_between = match (smart(run.before.drives.get(block)), smart(Some(after))) {
        (Some(before), Some(after)) => after.since(before).hot.get() > 0,
        _ => false,
    };
    (after.is_hot() || in_between).then_some(after)
}

fn slowed(hop: &Hop, device: &DeviceHop, change: &SmartChange, after: &DriveHealth) -> Finding {
    let source = after.smart.source().as_str();
    let now = after.temperature.value().map(|now| format!(", {now} at its end")).unwrap_or_default();
    let summary = format!(
        "{} slowed itself down because it was hot: it throttled for {} of the run{now}.",
        device.block, change.throttled
    );
    Finding::about(Code::Thermal, Severity::Limit, hop, summary)
        .with_confidence(Confidence::High)
        .with_evidence(
            [
                Evidence::new("time of throttling in the run", change.throttled, source),
                Evidence::new("times that throttling began", change.throttle_transitions, source),
            ]
            .into_iter()
            .chain(temperatures(after)),
        )
        .with_advice([cool()])
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
    Finding::about(Code::Thermal, Severity::Info, hop, summary)
        .with_confidence(Confidence::Medium)
        .with_evidence(temperatures(health))
        .with_advice([cool()])
}

fn temperatures(health: &DriveHealth) -> impl Iterator<Item = Evidence> {
    [("temperature", &health.temperature), ("warning temperature", &health.warning)]
        .into_iter()
        .filter(|(_, fact)| fact.value().is_some())
        .map(|(name, fact)| Evidence::from_fact(name, fact))
        .collect::<Vec<_>>()
        .into_iter()
}

fn cool() -> Advice {
    Advice::new("Give the drive a heat sink and moving air, let it cool down, and measure again.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Sketch, link, run};
    use narrows_base::fact::Fact;
    use narrows_base::units::{Celsius, Nanos};
    use narrows_machine::activity::Condition;
    use narrows_machine::health::Throttling;
    use std::collections::BTreeMap;

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
