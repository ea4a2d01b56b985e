//! `generator_cpu`: the load generator is the bottleneck, so the result is a floor and not the path's limit.

use super::super::attribution::{Cause, are_io_workers_full, was_denied};
use super::super::case::Case;
use super::super::finding::{Advice, Code, Evidence, Finding, Severity};
use super::{Context, Judged};
use narrows_base::units::human;

/// What happened, and what to do.
const USED_UP: (&str, &str) =
    ("narrows itself used up a processor core", "Measure with larger blocks, or on a quieter machine.");
const IO_WORKERS: (&str, &str) = (
    "The kernel's workers for narrows' ring (io-wq) used up a processor: they carry out what this storage cannot take without waiting",
    "`narrows sweep --threads` shows what more processors give.",
);
const DENIED: (&str, &str) = (
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

pub(super) fn check(_context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    judged
        .caused_by(Cause::Generator)
        .filter_map(|(direction, limit)| {
            let hop = judged.hop(limit.hop)?;
            let rate = limit.rate.map(|rate| format!(" At least {rate} get through.")).unwrap_or_default();
            let case = judged.case(direction);
            let (what, action) = match case.measurement() {
                Some(_) if are_io_workers_full(&case) => IO_WORKERS,
                Some(measurement) if was_denied(measurement) => DENIED,
                _ => USED_UP,
            };
            let summary = format!("{what}; the path can do more.{rate}");
            let mut finding = Finding::about(Code::GeneratorCpu, Severity::Limit, hop, summary)
                .with_confidence(limit.confidence)
                .with_evidence(limit.evidence.iter().cloned().chain(waited(&case)))
                .with_advice([Advice::new(action)]);
            finding.subject = judged.subject.path.target.clone();
            Some(finding)
        })
        .collect()
}
