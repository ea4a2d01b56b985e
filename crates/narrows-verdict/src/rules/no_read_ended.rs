//! `no_read_ended`: nothing that was asked for ended.

use narrows_base::measurement::Measurement;
use narrows_base::units::human;

use super::result;
use crate::attribution::{in_block_layer, of_the_worker, was_denied};
use crate::case::Case;
use crate::finding::{Code, Evidence, Finding, Severity};
use crate::trust::Audit;

/// What to do when the processor was somebody else's.
const NOTHING_ENDED_DENIED: &str = "End what else keeps the processors busy, or lift the limit of the control group (`cpu.max`), and measure again.";

/// What to do when requests wait at the device.
const NOTHING_ENDED_HANGS: &str =
    "Look for resets and time-outs of the device in the kernel log (`dmesg`), and at its cables and power.";

/// What to do when neither is seen.
const NOTHING_ENDED_LONGER: &str = "Measure longer with --as full, and look at the kernel log (`dmesg`).";

/// Nothing of a run of ours ended, so nothing was measured and nothing can be blamed.
pub(super) fn of_run(case: &Case<'_>, measurement: &Measurement, audit: &Audit) -> Option<Finding> {
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

/// I/Os waited at a device and none ended for a whole interval, by `iostat`.
pub(super) fn of_result(case: &result::Case<'_>) -> Option<Finding> {
    let mut all = case.result.measurements.iter();
    let (measured, waiting) = all.find_map(|one| Some((one, one.stuck?)))?;
    let (name, count) = (&measured.work.label, human::count(waiting));
    let summary = format!("{count} I/Os waited at {name}, and none ended in an interval of iostat");
    let found = case.finding(Code::NoReadEnded, Severity::Info, summary)
        .seen("I/Os in flight, and ended", format!("{count} and 0"), case.source(measured))
        .not_so_when("the interval is shorter than one I/O of this device");
    Some(found.advise("look for errors and resets of the device at that time: `dmesg`"))
}

#[cfg(test)]
mod tests {
    use narrows_base::units::{Bytes, BytesPerSec, Nanos};

    use super::*;
    use crate::Run;
    use crate::results::testing::{codes, verdicts};
    use crate::testing::{Sketch, link, run};

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

    #[test]
    fn waiting_without_an_end_is_told() {
        let of = |reads: &str| {
            let head = "Device:  rrqm/s wrqm/s r/s w/s rMB/s wMB/s avgrq-sz avgqu-sz await svctm %util\n";
            let text = format!("{head}sdl 0.00 0.00 {reads} 0.00 0.00 0.00 0.00 42.00 0.00 0.00 100.00\n");
            codes(&verdicts(&text).remove(0)).contains(&Code::NoReadEnded)
        };
        assert!(of("0.00") && !of("7.00"));
    }
}
