//! `depth_too_low`: the queue was not deep enough to fill the path.
//!
//! When requests do not queue, their latency stays at its least, and more of them would have brought more. So it takes
//! a run well below every known ceiling whose mean latency is near the least one. By Little's law the depth that fills
//! a ceiling is ceiling × latency ÷ block size.

use super::super::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use super::{Context, Judged};
use narrows_base::units::human;
use narrows_model::ceiling::Direction;

/// A mean latency within this many times the least one has no queueing in it.
const NO_QUEUEING: f64 = 1.5;
/// A run above this part of the narrowest ceiling has filled it.
const FILLED: f64 = 0.7;

pub(super) fn check(_context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    [Direction::Read, Direction::Write]
        .into_iter()
        .filter_map(|direction| check_run(judged, direction))
        .collect()
}

fn check_run(judged: &Judged<'_>, direction: Direction) -> Option<Finding> {
    let case = judged.case(direction);
    let measurement = case.measurement()?;
    let audit = judged.audits.get(&direction)?;
    let narrowest = super::super::attribution::rank(&case).first()?.rate;
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
    let target = &judged.subject.path.target;
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
            .with_evidence([
                Evidence::new("mean latency", measurement.latency.mean, "the run"),
                Evidence::new("least latency", measurement.latency.min, "the run"),
                Evidence::new("requests in flight", human::count(asked), "the run"),
            ])
            .with_advice([Advice::new(
                "Ask for more at once: a deeper queue, larger requests or more threads.",
            )]),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Sketch, link, run};
    use narrows_base::units::Nanos;

    /// One request of 1 MiB at a time that takes a millisecond, on a link of 3.6 GB/s.
    fn path(least: u64, mean: u64) -> Sketch {
        let mut load = run(1000.0).disk("nvme0n1", 1000.0, 1.0);
        load.measurement.workload.queue_depth = 1;
        load.measurement.latency.min = Nanos::new(least);
        load.measurement.latency.mean = Nanos::new(mean);
        Sketch::drive(link((3, 4), (3, 4), (3, 4))).run(load)
    }

    #[test]
    fn requests_that_do_not_queue_leave_the_path_unfilled() {
        let finding = path(900_000, 1_000_000).finding(Code::DepthTooLow).expect("a quarter of the link");
        // 3592 MB/s × 1 ms ÷ 1 MiB = 3.4 requests.
        assert!(finding.summary.contains("takes about 4"), "{}", finding.summary);
    }

    #[test]
    fn requests_that_queue_are_deep_enough() {
        assert_eq!(path(100_000, 1_000_000).finding(Code::DepthTooLow), None);
    }
}
