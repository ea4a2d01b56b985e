//! `no_read_ended`: nothing that was asked for ended, so nothing was measured and nothing can be blamed.

use super::super::attribution::was_denied;
use super::super::finding::{Advice, Code, Evidence, Finding, Severity};
use super::super::trust::io;
use super::{Context, Judged};
use narrows_base::units::human;

/// What to do when the processor was somebody else's.
const DENIED: &str = "End what else keeps the processors busy, or lift the limit of the control group (`cpu.max`), and measure again.";
/// What to do when requests wait at the device.
const HANGS: &str =
    "Look for resets and time-outs of the device in the kernel log (`dmesg`), and at its cables and power.";
/// What to do when neither is seen.
const LONGER: &str = "Measure longer with --measure=full, and look at the kernel log (`dmesg`).";

pub(super) fn check(_context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    let target = &judged.subject.path.target;
    let silent =
        judged.audits.iter().filter_map(|(direction, audit)| Some((direction, audit.silent.as_ref()?)));
    silent
        .filter_map(|(direction, what)| {
            let case = judged.case(*direction);
            let measurement = case.measurement()?;
            let generator = &measurement.generator;
            let waiting = case.waiting_in_block_layer();
            let summary =
                format!("Of {target} {what}: nothing was measured, and no hop can be named as the limit.");
            let mut evidence = vec![
                Evidence::new(
                    format!("{}s that ended", io(*direction)),
                    measurement.latency.count,
                    "the run",
                ),
                Evidence::new("measured time", measurement.elapsed_ns, "the run"),
                Evidence::new(
                    "processor time of the busiest worker",
                    format!("{} of a core", human::percent(generator.cpu)),
                    "getrusage of the worker thread",
                ),
                Evidence::new(
                    "time in the queue of a processor",
                    human::percent(generator.queued),
                    "/proc/thread-self/schedstat of the worker thread",
                ),
            ];
            evidence.extend(waiting.map(|part| {
                Evidence::new("requests waiting in the block layer", human::percent(part), "/proc/diskstats")
            }));
            let action = if was_denied(measurement) {
                DENIED
            } else if waiting.is_some_and(|part| part >= 0.5) {
                HANGS
            } else {
                LONGER
            };
            let finding = Finding::on(Code::NoReadEnded, Severity::Fault, target, summary);
            Some(finding.with_evidence(evidence).with_advice([Advice::new(action)]))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Run;
    use crate::testing::{Sketch, link, run};
    use narrows_base::units::{Bytes, BytesPerSec, Nanos};

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
        assert_eq!(advice(silent().disk("nvme0n1", 0.0, 0.0).queued(0.98)), DENIED);
        assert_eq!(advice(silent().disk("nvme0n1", 0.0, 0.0)), LONGER);
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
}
