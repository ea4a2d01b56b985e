//! `depth_too_low`: fewer I/Os were in flight than the path can take, or than were asked for.

use narrows_base::measurement::Measurement;
use narrows_base::units::human;
use narrows_paste::results::Tool;

use super::result::{self, Run, is_mixed};
use crate::attribution::rank;
use crate::case::Case;
use crate::finding::{Code, Confidence, Finding, Severity};
use crate::trust::Audit;

/// A mean latency within this many times the least one has no queueing in it.
const NO_QUEUEING: f64 = 1.5;

/// A run above this part of the narrowest ceiling has filled it.
const FILLED: f64 = 0.7;

/// The queue of a run of ours was not deep enough to fill the path.
///
/// When requests do not queue, their latency stays at its least, and more of them would have brought more. So it takes
/// a run well below every known ceiling whose mean latency is near the least one. By Little's law the depth that fills
/// a ceiling is ceiling × latency ÷ block size.
pub(super) fn of_run(case: &Case<'_>, measurement: &Measurement, audit: &Audit) -> Option<Finding> {
    let narrowest = rank(case).first()?.rate;
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
    let found = Finding::on(Code::DepthTooLow, Severity::Info, target, summary)
        .with_confidence(Confidence::Medium)
        .seen("mean latency", measurement.latency.mean, "the run")
        .seen("least latency", measurement.latency.min, "the run")
        .seen("requests in flight", human::count(asked), "the run");
    Some(found.advise("Ask for more at once: a deeper queue, larger requests or more threads."))
}

/// A depth was asked of an engine that waits for each I/O, or of one that waits for all that goes through the page
/// cache (libaio; fio's HOWTO, `iodepth`).
fn waits_for_each(run: &Run<'_>) -> Option<Finding> {
    let depth = run.measured.work.queue_depth.filter(|depth| *depth > 1)?;
    let engine = run.measured.work.engine.as_deref()?;
    let why = match engine {
        "sync" | "psync" | "vsync" | "pvsync" | "pvsync2" | "mmap" => "waits for each I/O",
        "libaio" if run.is_buffered() => "waits for each I/O that goes through the page cache",
        _ => return None,
    };
    let summary =
        format!("A depth of {depth} was asked for, but `{engine}` {why}: one was in flight for each job");
    let found = Finding::of(run.case, Code::DepthTooLow, Severity::Info, summary)
        .seen("ioengine", engine, run.source())
        .seen("iodepth", depth, run.source())
        .not_so_when("`IO depths` in the output shows more than 1");
    Some(found.advise("use io_uring, or libaio with direct=1"))
}

/// Below this part of what was asked for, the queue was not filled.
const PATH_FILLED: f64 = 0.7;

/// Fewer I/Os were in flight than the path can take, or than were asked for.
pub(super) fn of_result(case: &result::Case<'_>) -> Option<Finding> {
    case.runs().find_map(|run| waits_for_each(&run).or_else(|| queue_not_filled(&run)))
}

fn queue_not_filled(run: &Run<'_>) -> Option<Finding> {
    let asked = run.measured.asked_in_flight()?;
    let finding = |summary: String| Finding::of(run.case, Code::DepthTooLow, Severity::Info, summary);
    let asked_for = format!("{} I/Os were asked to be in flight", human::count(asked));
    if let Some(real) = by_little(run, asked) {
        let real = human::count(real);
        let found = finding(format!("{asked_for}, {real} were: the rate is not that of the depth asked for"))
            .seen("I/Os in flight by Little's law (rate × mean latency)", real, run.source())
            .not_so_when("the tool printed latencies of another part of the run than its rate")
            .advise("use an engine that keeps I/Os in flight (io_uring, or libaio with O_DIRECT)");
        return Some(found);
    }
    let on_devices = on_devices(run.case).filter(|(real, _)| asked >= 8.0 && *real < PATH_FILLED * asked);
    if let Some((real, source)) = on_devices {
        let real = human::count(real);
        let found = finding(format!("{asked_for}, {real} reached the block devices"))
            .seen("I/Os in flight at the devices (iostat aqu-sz)", real, source)
            .not_so_when("iostat shows another time or other devices than the run")
            .advise(
                "see which layer between holds them back: `narrows TARGET`, or fewer jobs with more depth",
            );
        return Some(found);
    }
    let counts = matches!(run.tool(), Tool::Fio | Tool::Diskspd);
    let summary =
        format!("The {} had one I/O in flight: they show latency, not what the storage can do", run.name());
    (asked <= 1.0 && counts && run.is_random()).then(|| {
        finding(summary)
            .seen("I/Os in flight asked for", human::count(asked), run.source())
            .not_so_when("latency is what was to be measured")
            .advise("for capacity, raise the depth until the rate stops rising: `narrows measure TARGET --as sweep`")
    })
}

/// How many I/Os were in flight where more were asked for, and how many those were: of the first measurement that tells.
pub(crate) fn in_flight(case: &result::Case<'_>) -> Option<(f64, f64)> {
    case.runs().find_map(|run| {
        if waits_for_each(&run).is_some() {
            return Some((1.0, f64::from(run.measured.work.queue_depth?)));
        }
        let asked = run.measured.asked_in_flight()?;
        Some((by_little(&run, asked)?, asked))
    })
}

/// How many I/Os were in flight by Little's law, where that is clearly less than what was asked for. The sides of a mixed job share
/// its queue.
fn by_little(run: &Run<'_>, asked: f64) -> Option<f64> {
    let real = run.in_flight()?;
    (asked > 1.0 && !is_mixed(run.measured) && real < PATH_FILLED * asked).then_some(real)
}

/// I/Os in flight at the busiest device, by `iostat`: the upper layers count the same I/Os again.
fn on_devices(case: &result::Case<'_>) -> Option<(f64, String)> {
    let depths =
        case.around.devices.iter().filter_map(|device| Some((device.depth()?, device.source.clone())));
    depths.max_by(|a, b| a.0.total_cmp(&b.0))
}

#[cfg(test)]
mod tests {
    use narrows_base::units::Nanos;

    use super::*;
    use crate::testing::{Sketch, link, run};

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
