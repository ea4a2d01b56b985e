//! Fewer I/Os were in flight than the path can take, or than were asked for.

use super::case::{Case, is_random, mean};
use crate::finding::{Advice, Code, Evidence, Finding, Severity};
use narrows_base::units::human;
use narrows_paste::results::{Measured, Tool};

/// A depth was asked of an engine that waits for each I/O, or of one that waits for all that goes through the page
/// cache (libaio; fio's HOWTO, `iodepth`).
fn waits_for_each(case: &Case<'_>, measured: &Measured) -> Option<Finding> {
    let depth = measured.work.queue_depth.filter(|depth| *depth > 1)?;
    let engine = measured.work.engine.as_deref()?;
    let why = match engine {
        "sync" | "psync" | "vsync" | "pvsync" | "pvsync2" | "mmap" => "waits for each I/O",
        "libaio" if measured.work.direct == Some(false) => {
            "waits for each I/O that goes through the page cache"
        }
        _ => return None,
    };
    let summary =
        format!("A depth of {depth} was asked for, but `{engine}` {why}: one was in flight for each job");
    Some(
        case.finding(Code::DepthTooLow, Severity::Info, summary)
            .with_evidence([
                case.evidence(measured, "ioengine", engine),
                case.evidence(measured, "iodepth", depth),
            ])
            .not_so_when("`IO depths` in the output shows more than 1")
            .with_advice([Advice::new("use io_uring, or libaio with direct=1")]),
    )
}

/// Below this part of what was asked for, the queue was not filled.
const FILLED: f64 = 0.7;

pub(super) fn find(case: &Case<'_>) -> Vec<Finding> {
    for (measured, op, side) in case.sides() {
        if let Some(finding) = waits_for_each(case, measured) {
            return vec![finding];
        }
        let Some(asked) = measured.asked_in_flight() else { continue };
        let by_little = mean(side).zip(side.iops).map(|(latency, iops)| latency * 1e-9 * iops.get());
        let in_flight = |count: f64| human::count(count);
        // The sides of a mixed job share its queue.
        let is_mixed = measured.read.is_some() && measured.write.is_some();
        if let Some(real) = by_little.filter(|real| asked > 1.0 && !is_mixed && *real < FILLED * asked) {
            let summary = format!(
                "{} I/Os were asked to be in flight, {} were: the rate is not that of the depth asked for",
                in_flight(asked),
                in_flight(real)
            );
            return vec![
                case.finding(Code::DepthTooLow, Severity::Info, summary)
                    .with_evidence([case.evidence(
                        measured,
                        "I/Os in flight by Little's law (rate × mean latency)",
                        in_flight(real),
                    )])
                    .not_so_when("the tool printed latencies of another part of the run than its rate")
                    .with_advice([Advice::new(
                        "use an engine that keeps I/Os in flight (io_uring, or libaio with O_DIRECT)",
                    )]),
            ];
        }
        if let Some((real, source)) =
            on_devices(case).filter(|(real, _)| asked >= 8.0 && *real < FILLED * asked)
        {
            let summary = format!(
                "{} I/Os were asked to be in flight, {} reached the block devices",
                in_flight(asked),
                in_flight(real)
            );
            return vec![
                case.finding(Code::DepthTooLow, Severity::Info, summary)
                    .with_evidence([
                        Evidence::new("I/Os in flight at the devices (iostat aqu-sz)", in_flight(real), source)])
.not_so_when("iostat shows another time or other devices than the run")
                    .with_advice([Advice::new(
                        "see which layer between holds them back: `narrows check TARGET`, or fewer jobs with more depth",
                    )]),
            ];
        }
        let counts = matches!(case.result.tool, Tool::Fio | Tool::Diskspd);
        if asked <= 1.0 && counts && is_random(measured) {
            let summary = format!(
                "The {} had one I/O in flight: they show latency, not what the storage can do",
                case.name(measured, op)
            );
            return vec![
                case.finding(Code::DepthTooLow, Severity::Info, summary)
                    .with_evidence([case.evidence(measured, "I/Os in flight asked for", in_flight(asked))])
                    .not_so_when("latency is what was to be measured")
                    .with_advice([Advice::new(
                        "for capacity, raise the depth until the rate stops rising: `narrows sweep TARGET`",
                    )]),
            ];
        }
    }
    Vec::new()
}

/// How many I/Os were in flight where more were asked for, and how many those were: of the first measurement that tells.
pub(super) fn in_flight(case: &Case<'_>) -> Option<(f64, f64)> {
    case.sides().find_map(|(measured, _, side)| {
        if waits_for_each(case, measured).is_some() {
            return Some((1.0, f64::from(measured.work.queue_depth?)));
        }
        let asked = measured.asked_in_flight()?;
        let real = mean(side)? * 1e-9 * side.iops?.get();
        let is_mixed = measured.read.is_some() && measured.write.is_some();
        (asked > 1.0 && !is_mixed && real < FILLED * asked).then_some((real, asked))
    })
}

/// I/Os in flight at the busiest device, by `iostat`: the upper layers count the same I/Os again.
fn on_devices(case: &Case<'_>) -> Option<(f64, String)> {
    let depths =
        case.around.devices.iter().filter_map(|device| Some((device.depth()?, device.source.clone())));
    depths.max_by(|a, b| a.0.total_cmp(&b.0))
}
