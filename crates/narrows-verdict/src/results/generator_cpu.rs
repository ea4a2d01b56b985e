//! The tool itself was the bottleneck: its threads filled their processor.

use super::case::{Case, is_random, mean};
use crate::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use narrows_base::units::{Nanos, human};
use narrows_paste::results::Tool;
use narrows_paste::results::surroundings::Word;

pub(super) fn find(case: &Case<'_>) -> Vec<Finding> {
    if let Some(finding) = before_memory(case) {
        return vec![finding];
    }
    if let Some(finding) = one_thread_each(case) {
        return vec![finding];
    }
    // fio's shares are of its jobs' own time; diskspd's of a processor that others use too; bonnie's of a core.
    let full = match case.result.tool {
        Tool::Fio => 0.85,
        Tool::Diskspd | Tool::Bonnie => 0.95,
        _ => return Vec::new(),
    };
    let measured = case.result.measurements.iter().find(|one| one.cpu.is_some_and(|cpu| cpu.total() >= full));
    let Some((measured, cpu)) = measured.and_then(|one| Some((one, one.cpu?))) else { return Vec::new() };
    let summary = format!(
        "The tool's own threads used {} of a processor core each: the rate is a floor of what the storage can do",
        human::percent(cpu.total())
    );
    vec![
        case.finding(Code::GeneratorCpu, Severity::Limit, summary)
            .with_evidence([
                case.evidence(measured, "user time", human::percent(cpu.user)),
                case.evidence(measured, "kernel time", human::percent(cpu.system)),
            ])
            .not_so_when("more jobs do not raise the rate")
            .with_advice([Advice::new(
                "spread the load over more jobs, or use io_uring: `narrows sweep TARGET`",
            )]),
    ]
}

/// `t/io_uring` has one thread for each core that it is given, which submits and reaps as fast as it can: it measures these.
fn one_thread_each(case: &Case<'_>) -> Option<Finding> {
    let measured = case.result.measurements.first().filter(|_| case.result.tool == Tool::Iouring)?;
    let threads =
        measured.work.jobs.map_or_else(|| "its threads".to_owned(), |jobs| format!("{jobs} threads"));
    Some(
        case.finding(
            Code::GeneratorCpu,
            Severity::Info,
            format!(
                "The rate is what {threads} of the tool submit and reap: a floor of what the drives can do"
            ),
        )
        .with_evidence([case.evidence(measured, "threads", &threads)])
        .not_so_when("more threads on more cores do not raise the rate")
        .with_advice([Advice::new("add threads (-n) until the rate stops rising: `narrows sweep TARGET`")]),
    )
}

/// Storage in memory answers within a microsecond: what a random I/O takes beyond that is processor time of the path to
/// it, a hypervisor's or a driver's.
fn before_memory(case: &Case<'_>) -> Option<Finding> {
    /// Many times what memory and a system call take.
    const SOFTWARE: f64 = 50_000.0;
    let source = case.around.has(Word::Memory)?;
    let (measured, latency) = case.sides().find_map(|(measured, _, side)| {
        let single = measured.asked_in_flight().is_some_and(|count| count <= 1.0) && is_random(measured);
        Some((measured, mean(side).filter(|latency| single && *latency > SOFTWARE)?))
    })?;
    let shown = human::time(Nanos::new(latency as u64));
    let summary = format!(
        "The storage is memory, and a random I/O takes {shown}: the time goes to the processors on the way there"
    );
    Some(
        case.finding(Code::GeneratorCpu, Severity::Limit, summary)
            .with_evidence([
                case.evidence(measured, "latency of a single random I/O", shown),
                Evidence::new("the storage", "is in memory", source),
            ])
            .not_so_when("a limiter or a network lies between")
            .with_advice([Advice::new("look at the processors of host and guest while it runs")])
            .with_confidence(Confidence::Medium),
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing::{codes, fio_read, verdict_of};
    use super::*;
    use narrows_paste::results::Cpu;
    use narrows_paste::results::surroundings::Surroundings;

    #[test]
    fn a_thread_that_fills_its_core_is_the_narrows() {
        for (system, expected) in [(0.70, true), (0.50, false)] {
            let mut result = fio_read("randread", 60);
            result.measurements[0].cpu = Some(Cpu { user: 0.2, system });
            let found = codes(&verdict_of(&result, &Surroundings::default())).contains(&Code::GeneratorCpu);
            assert_eq!(found, expected, "{system}");
        }
    }
}
