//! Whether a run says anything of its path, or of a cache, of narrows itself, or of nothing: what [`crate::trust`] audited, as findings.

use narrows_base::measurement::Measurement;
use narrows_base::units::human;
use narrows_model::ceiling::Direction;
use narrows_model::path::HopKind;

use super::{Context, Judged};
use crate::attribution::{Cause, are_io_workers_full, in_block_layer, of_the_worker, was_denied};
use crate::case::Case;
use crate::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use crate::trust::Audit;

/// `cache_measured`: the bytes came from a cache, so the result says nothing of the devices.
pub(super) fn cache_measured(_context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    let case = judged.case(Direction::Read);
    judged
        .subject
        .runs
        .iter()
        .filter_map(|run| {
            let case = Case { direction: run.direction, ..case.with_run(run) };
            let evidence = Audit::of(&case).cached?;
            let summary = format!(
                "The run on {} moved {}, and the devices saw fewer: it measured a cache.",
                judged.subject.path.target, run.measurement.bytes
            );
            let finding = match case.of_kind(HopKind::Memory).next() {
                Some((_, memory)) => Finding::about(Code::CacheMeasured, Severity::Limit, memory, summary),
                None => Finding::on(Code::CacheMeasured, Severity::Limit, "", summary),
            };
            let mut finding = finding.with_evidence(evidence).with_advice([Advice::new(
                "Measure the block device instead, or a file system that honours O_DIRECT.",
            )]);
            finding.subject = judged.subject.path.target.clone();
            Some(finding)
        })
        .collect()
}

/// What happened, and what to do.
const USED_UP: (&str, &str) =
    ("narrows itself used up a processor core", "Measure with larger blocks, or on a quieter machine.");
const IO_WORKERS: (&str, &str) = (
    "The kernel's workers for narrows' ring (io-wq) used up a processor: they carry out what this storage cannot take without waiting",
    "`narrows measure --as threads` shows what more processors give.",
);
const GENERATOR_DENIED: (&str, &str) = (
    "narrows did not get the processor time that it asked for: other programs had it, or a limit of its control group",
    "End what else keeps the processors busy, or lift the limit (`cpu.max`), and measure again.",
);

/// For how much of the time a task waited for a processor, as the kernel tells.
fn waited(case: &Case<'_>) -> Option<Evidence> {
    let pressure = case.run?.activity.pressure.get("cpu")?;
    Some(Evidence::new(
        "tasks waited for a processor",
        human::percent(pressure.some),
        "/proc/pressure/cpu, some",
    ))
}

/// `generator_cpu`: the load generator is the bottleneck, so the result is a floor and not the path's limit.
pub(super) fn generator_cpu(_context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    judged
        .caused_by(Cause::Generator)
        .filter_map(|(direction, limit)| {
            let hop = judged.hop(limit.hop)?;
            let rate = limit.rate.map(|rate| format!(" At least {rate} get through.")).unwrap_or_default();
            let case = judged.case(direction);
            let (what, action) = match case.measurement() {
                Some(_) if are_io_workers_full(&case) => IO_WORKERS,
                Some(measurement) if was_denied(measurement) => GENERATOR_DENIED,
                _ => USED_UP,
            };
            let summary = format!("{what}; the path can do more.{rate}");
            let mut finding = limit
                .finding(Code::GeneratorCpu, Severity::Limit, hop, summary)
                .with_evidence(waited(&case))
                .advise(action);
            finding.subject = judged.subject.path.target.clone();
            Some(finding)
        })
        .collect()
}

/// `above_ceiling`: a result is above physics.
pub(super) fn above_ceiling(case: &Case<'_>, measurement: &Measurement, audit: &Audit) -> Option<Finding> {
    let (index, ceiling) = audit.above?;
    let hop = case.path().hops.get(index)?;
    let measured = measurement.bytes_per_second;
    let part = human::percent(measured.fraction_of(ceiling));
    let summary = format!(
        "{measured} were measured on {}, which is {part} of what {} can carry: a cache, or a wrong fact.",
        case.path().target,
        hop.name
    );
    let formula = case.ceiling(index)?.limit().map(|limit| limit.formula.clone()).unwrap_or_default();
    Some(
        Finding::about(Code::AboveCeiling, Severity::Fault, hop, summary)
            .seen("measured rate", measured, "the run")
            .seen("ceiling of this hop for the path", ceiling, formula)
            .advise("Do not use this result. Measure again with a larger region."),
    )
}

/// What to do when the processor was somebody else's.
const NOTHING_ENDED_DENIED: &str = "End what else keeps the processors busy, or lift the limit of the control group (`cpu.max`), and measure again.";
/// What to do when requests wait at the device.
const NOTHING_ENDED_HANGS: &str =
    "Look for resets and time-outs of the device in the kernel log (`dmesg`), and at its cables and power.";
/// What to do when neither is seen.
const NOTHING_ENDED_LONGER: &str = "Measure longer with --as full, and look at the kernel log (`dmesg`).";

/// `no_read_ended`: nothing that was asked for ended, so nothing was measured and nothing can be blamed.
pub(super) fn no_read_ended(case: &Case<'_>, measurement: &Measurement, audit: &Audit) -> Option<Finding> {
    let target = &case.path().target;
    let what = audit.silent.as_ref()?;
    let waiting = case.waiting_in_block_layer();
    let summary = format!("Of {target} {what}: nothing was measured, and no hop can be named as the limit.");
    let mut evidence = vec![
        Evidence::new(format!("{}s that ended", case.direction.word()), measurement.latency.count, "the run"),
        Evidence::new("measured time", measurement.elapsed_ns, "the run"),
    ];
    evidence.extend(of_the_worker(&measurement.generator));
    evidence.extend(waiting.map(in_block_layer));
    let action = if was_denied(measurement) {
        NOTHING_ENDED_DENIED
    } else if waiting.is_some_and(|part| part >= 0.5) {
        NOTHING_ENDED_HANGS
    } else {
        NOTHING_ENDED_LONGER
    };
    let finding = Finding::on(Code::NoReadEnded, Severity::Fault, target, summary);
    Some(finding.with_evidence(evidence).advise(action))
}

/// `too_short`: a run was too short to say anything.
pub(super) fn too_short(case: &Case<'_>, measurement: &Measurement, audit: &Audit) -> Option<Finding> {
    let target = &case.path().target;
    // Where nothing ended at all, `no_read_ended` says so.
    let reason = audit.too_short.as_ref().filter(|_| audit.silent.is_none())?;
    let summary = format!("The run on {target} is too short to rely on: {reason}.");
    Some(
        Finding::on(Code::TooShort, Severity::Info, target, summary)
            .seen("measured time", measurement.elapsed_ns, "the run")
            .seen("I/Os", measurement.latency.count, "the run")
            .advise("Measure again with --as full."),
    )
}

/// `unsteady`: the rate did not hold (see [`narrows_base::stats::steadiness`] for the test).
pub(super) fn unsteady(case: &Case<'_>, _: &Measurement, audit: &Audit) -> Option<Finding> {
    let target = &case.path().target;
    let drift = audit.unsteady?;
    let (range, slope) = (human::percent(drift.range), human::percent(drift.slope.abs()));
    let way = if drift.slope < 0.0 { "fell" } else { "rose" };
    let summary = format!(
        "The rate of {target} did not hold: it ranged over {range} of its mean and {way} by {slope} in all."
    );
    Some(
        Finding::on(Code::Unsteady, Severity::Info, target, summary)
            .seen("range of five windows over their mean", range, "the run, every 100 ms")
            .seen("slope over the run, of the mean", slope, "the run, every 100 ms")
            .advise("Measure longer with --as full, on a quiet machine."),
    )
}

/// A mean latency within this many times the least one has no queueing in it.
const NO_QUEUEING: f64 = 1.5;
/// A run above this part of the narrowest ceiling has filled it.
const FILLED: f64 = 0.7;

/// `depth_too_low`: the queue was not deep enough to fill the path.
///
/// When requests do not queue, their latency stays at its least, and more of them would have brought more. So it takes
/// a run well below every known ceiling whose mean latency is near the least one. By Little's law the depth that fills
/// a ceiling is ceiling × latency ÷ block size.
pub(super) fn depth_too_low(case: &Case<'_>, measurement: &Measurement, audit: &Audit) -> Option<Finding> {
    let narrowest = super::super::attribution::rank(case).first()?.rate;
    let (least, mean) = (measurement.latency.min.get() as f64, measurement.latency.mean.get() as f64);
    let queues = least <= 0.0 || mean > NO_QUEUEING * least;
    let filled = measurement.bytes_per_second.fraction_of(narrowest) > FILLED;
    let busy_generator = measurement.generator.cpu >= 0.7;
    if queues || filled || busy_generator || !audit.is_clean() {
        return None;
    }
    let asked = case.asked_outstanding()? / measurement.workload.block_size.as_f64();
    let wanted =
        narrowest.get() * measurement.latency.mean.as_secs_f64() / measurement.workload.block_size.as_f64();
    let wanted = wanted.ceil();
    if wanted <= asked {
        return None;
    }
    let target = &case.path().target;
    let summary = format!(
        "Requests to {target} did not queue: with {} in flight the path stayed at {} of what is known of it; filling it \
         takes about {}.",
        human::count(asked),
        human::percent(measurement.bytes_per_second.fraction_of(narrowest)),
        human::count(wanted),
    );
    Some(
        Finding::on(Code::DepthTooLow, Severity::Info, target, summary)
            .with_confidence(Confidence::Medium)
            .seen("mean latency", measurement.latency.mean, "the run")
            .seen("least latency", measurement.latency.min, "the run")
            .seen("requests in flight", human::count(asked), "the run")
            .advise("Ask for more at once: a deeper queue, larger requests or more threads."),
    )
}

#[cfg(test)]
mod tests {
    use narrows_base::fact::Fact;
    use narrows_base::units::{Bytes, BytesPerSec, Nanos};
    use narrows_machine::block::Sata;
    use narrows_model::path::{DeviceHop, HopKind, HopSpec};

    use super::*;
    use crate::Run;
    use crate::testing::{Sketch, express, link, run};

    fn cache_measured_path(seen: f64) -> Sketch {
        Sketch::of("/home").device("sda", None).memory().run(run(900.0).disk("sda", seen, 1.0))
    }

    #[test]
    fn a_run_that_the_disk_did_not_see_measured_a_cache() {
        let finding =
            cache_measured_path(90.0).finding(Code::CacheMeasured).expect("a tenth came from the disk");
        assert!(finding.evidence.iter().any(|e| e.value == "10 %"), "{:?}", finding.evidence);
        assert!(cache_measured_path(90.0).path().sentence.contains("came from memory"));
    }

    #[test]
    fn a_run_that_the_disk_saw_did_not() {
        assert_eq!(cache_measured_path(870.0).finding(Code::CacheMeasured), None);
    }

    #[test]
    fn what_moved_before_the_counters_were_read_is_not_missing_from_them() {
        let late = |seen: f64, missed: f64| {
            let mut run = run(900.0).disk("sda", seen, 1.0);
            run.activity.missed = Bytes::new((run.measurement.bytes.as_f64() * missed) as u64);
            Sketch::of("/home").device("sda", None).memory().run(run).finding(Code::CacheMeasured)
        };
        assert_eq!(late(600.0, 0.34), None);
        assert!(late(600.0, 0.1).is_some(), "a fifth is missing");
        // 32 blocks of 1 MiB under way, and 20 ms of 900 MB/s, of 1800 MB.
        assert_eq!(late(600.0, 0.24), None, "what was under way may be missing, too");
        assert!(late(0.0, 0.9).is_some(), "nothing came from the disk");
        assert_eq!(late(600.0, 1.1), None, "nothing is known");
    }

    #[test]
    fn a_disk_that_is_memory_keeps_no_counters_and_proves_nothing() {
        let brd =
            DeviceHop { block: "ram0".to_owned(), synthetic: Some("brd".to_owned()), ..DeviceHop::default() };
        let path = Sketch::of("/dev/ram0").unknown("ram0", HopSpec::Device(brd)).memory();
        let path = path.run(run(900.0).disk("ram0", 0.0, 0.0));
        assert_eq!(path.finding(Code::CacheMeasured), None);
    }

    /// A Gen3 x4 link carries 3592 MB/s in payloads of 256 bytes; the drive's counters saw all bytes.
    fn above_ceiling_path(megabytes: f64) -> Sketch {
        let load = run(megabytes).disk("nvme0n1", megabytes, 31.0);
        Sketch::drive(link((3, 4), (3, 4), (3, 4))).run(load)
    }

    #[test]
    fn more_than_the_link_can_carry_is_not_to_be_trusted() {
        let path_above = above_ceiling_path(7000.0);
        let finding = path_above.finding(Code::AboveCeiling).expect("twice the link");
        assert_eq!(finding.hop.map(|hop| hop.to_string()).as_deref(), Some("link:0000:02:00.0"));
        assert!(path_above.path().measured.values().all(|measured| !measured.trusted));
    }

    #[test]
    fn a_payload_that_was_assumed_leaves_room_up_to_the_raw_rate() {
        // Nobody read the payload size of this link: with 512 bytes it carries 3752 MB/s, and raw it carries 3938.
        let of = |megabytes| above_ceiling_path(megabytes).finding(Code::AboveCeiling);
        assert_eq!(of(3900.0), None);
        assert!(of(3950.0).is_some());
        let mut read = link((3, 4), (3, 4), (3, 4));
        read.device.express = Fact::known(express(256, 256), "config");
        let run = |megabytes: f64| {
            let load = run(megabytes).disk("nvme0n1", megabytes, 31.0);
            Sketch::drive(read.clone()).run(load).finding(Code::AboveCeiling)
        };
        assert_eq!(run(3750.0), None);
        assert!(run(3800.0).is_some(), "5 % above 3592 MB/s is 3771");
    }

    #[test]
    fn the_error_of_the_law_is_no_contradiction() {
        assert_eq!(above_ceiling_path(3660.0).finding(Code::AboveCeiling), None);
    }

    #[test]
    fn what_a_cache_gave_did_not_cross_the_link_of_the_disk_behind_it() {
        let path = |of_disk: f64| {
            let load = run(1200.0).disk("nvme0n1", 1200.0 - of_disk, 31.0).disk("sda", of_disk, 0.1);
            Sketch::of("/dev/bcache0")
                .hop("bcache0", HopSpec::Cache(Box::default()), None)
                .device("nvme0n1", None)
                .below(HopKind::Cache, "bcache0", 1.0)
                .device("sda", None)
                .hop("ata1", HopSpec::Sata(Sata::default()), Some(560.0))
                .run(load)
        };
        assert_eq!(path(0.0).finding(Code::AboveCeiling), None);
        assert_eq!(path(500.0).finding(Code::AboveCeiling), None);
        assert!(path(700.0).finding(Code::AboveCeiling).is_some());
    }

    #[test]
    fn a_drive_may_beat_its_rating() {
        let load = run(600.0).disk("sda", 600.0, 31.0);
        let path = Sketch::of("/dev/sda").device("sda", Some(500.0)).run(load);
        assert_eq!(path.finding(Code::AboveCeiling), None);
    }

    fn silent() -> Run {
        let mut run = run(500.0);
        let measurement = &mut run.measurement;
        measurement.elapsed_ns = Nanos::from_millis(3000);
        measurement.bytes = Bytes::new(0);
        measurement.bytes_per_second = BytesPerSec::new(0.0);
        measurement.series = vec![BytesPerSec::new(0.0); 30];
        measurement.latency.count = 0;
        measurement.latency.p50 = None;
        run
    }

    fn drive(run: Run) -> Sketch {
        Sketch::drive(link((3, 4), (3, 4), (3, 4))).run(run)
    }

    #[test]
    fn nothing_that_ended_names_nothing() {
        for run in [
            silent().disk("nvme0n1", 0.0, 0.0),
            silent().disk("nvme0n1", 0.0, 32.0),
            silent().disk("nvme0n1", 0.0, 0.0).queued(0.98),
            silent().disk("nvme0n1", 0.0, 0.0).generator(0.99),
            silent().disk("nvme0n1", 0.0, 0.0).thread("kcryptd", 1.0),
        ] {
            let path = drive(run);
            let finding = path.finding(Code::NoReadEnded).expect("nothing ended");
            assert!(finding.summary.contains("no read ended in 3 s"), "{}", finding.summary);
            assert_eq!((finding.severity, finding.hop.clone()), (Severity::Fault, None));
            let verdict = path.path();
            assert!(!verdict.limiting.contains_key(&narrows_model::ceiling::Direction::Read), "{verdict:?}");
            assert!(verdict.sentence.contains("no read ended in 3 s"), "{}", verdict.sentence);
            assert!(verdict.measured.values().all(|measured| !measured.trusted));
            for other in [Code::TooShort, Code::GeneratorCpu, Code::CacheMeasured, Code::DeviceLimited] {
                assert_eq!(path.finding(other), None);
            }
        }
    }

    #[test]
    fn what_to_do_depends_on_what_was_seen() {
        let advice =
            |run| drive(run).finding(Code::NoReadEnded).expect("nothing ended").advice[0].action.clone();
        assert_eq!(advice(silent().disk("nvme0n1", 0.0, 0.0).queued(0.98)), NOTHING_ENDED_DENIED);
        assert_eq!(advice(silent().disk("nvme0n1", 0.0, 0.0)), NOTHING_ENDED_LONGER);
    }

    #[test]
    fn one_read_is_a_rate_and_a_run_that_was_cut_or_failed_is_another_matter() {
        assert_eq!(drive(run(500.0).disk("nvme0n1", 500.0, 31.0)).finding(Code::NoReadEnded), None);
        let mut cut = silent();
        cut.measurement.cut_short = Some("interrupted".to_owned());
        assert_eq!(drive(cut.clone()).finding(Code::NoReadEnded), None);
        assert!(drive(cut).finding(Code::TooShort).is_some());
        let mut failed = silent();
        failed.measurement.errors = 3;
        assert_eq!(drive(failed).finding(Code::NoReadEnded), None);
    }

    fn too_short_path(millis: u64, cut_short: Option<&str>) -> Sketch {
        let mut load = run(500.0).disk("nvme0n1", 500.0, 31.0);
        load.measurement.elapsed_ns = Nanos::from_millis(millis);
        load.measurement.cut_short = cut_short.map(str::to_owned);
        Sketch::drive(link((3, 4), (3, 4), (3, 4))).run(load)
    }

    #[test]
    fn less_than_a_second_and_runs_that_were_cut_are_too_short() {
        assert_eq!(
            too_short_path(400, None).finding(Code::TooShort).map(|f| f.severity),
            Some(Severity::Info)
        );
        let cut = too_short_path(2000, Some("interrupted"));
        assert!(cut.finding(Code::TooShort).is_some_and(|f| f.summary.contains("interrupted")));
        assert!(too_short_path(400, None).path().measured.values().all(|measured| !measured.trusted));
    }

    #[test]
    fn two_seconds_are_enough() {
        assert_eq!(too_short_path(2000, None).finding(Code::TooShort), None);
    }

    fn unsteady_path(last: f64) -> Sketch {
        let mut load = run(500.0).disk("nvme0n1", 500.0, 31.0);
        for rate in load.measurement.series.iter_mut().skip(12) {
            *rate = BytesPerSec::from_mb(last);
        }
        Sketch::drive(link((3, 4), (3, 4), (3, 4))).run(load)
    }

    #[test]
    fn a_step_down_is_unsteady_and_trusted_until_nothing_follows_from_it() {
        for (last, is_trusted) in [(200.0, true), (20.0, false)] {
            let finding = unsteady_path(last).finding(Code::Unsteady).expect("500 MB/s, then less");
            assert!(finding.summary.contains("fell"), "{}", finding.summary);
            let path = unsteady_path(last).path();
            assert!(path.measured.values().all(|measured| measured.trusted == is_trusted), "{last}");
        }
    }

    #[test]
    fn a_ripple_is_steady() {
        assert_eq!(unsteady_path(490.0).finding(Code::Unsteady), None);
    }

    /// One request of 1 MiB at a time that takes a millisecond, on a link of 3.6 GB/s.
    fn depth_too_low_path(least: u64, mean: u64) -> Sketch {
        let mut load = run(1000.0).disk("nvme0n1", 1000.0, 1.0);
        load.measurement.workload.queue_depth = 1;
        load.measurement.latency.min = Nanos::new(least);
        load.measurement.latency.mean = Nanos::new(mean);
        Sketch::drive(link((3, 4), (3, 4), (3, 4))).run(load)
    }

    #[test]
    fn requests_that_do_not_queue_leave_the_path_unfilled() {
        let finding =
            depth_too_low_path(900_000, 1_000_000).finding(Code::DepthTooLow).expect("a quarter of the link");
        // 3592 MB/s × 1 ms ÷ 1 MiB = 3.4 requests.
        assert!(finding.summary.contains("takes about 4"), "{}", finding.summary);
    }

    #[test]
    fn requests_that_queue_are_deep_enough() {
        assert_eq!(depth_too_low_path(100_000, 1_000_000).finding(Code::DepthTooLow), None);
    }
}
