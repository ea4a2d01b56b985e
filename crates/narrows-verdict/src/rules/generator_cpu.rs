//! `generator_cpu`: the load generator is the bottleneck, so the result is a floor and not the path's limit.

use narrows_base::units::human;
use narrows_model::path::Hop;
use narrows_paste::results::surroundings::Word;
use narrows_paste::results::{Op, Tool};

use super::Judged;
use super::result::{self, time};
use crate::attribution::{Cause, are_io_workers_full, was_denied};
use crate::case::Case;
use crate::finding::{Code, Confidence, Evidence, Finding, Severity};

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

/// Our own worker, or the kernel's workers for it, used up the processor.
pub(super) fn of_hop(judged: &Judged<'_>, index: usize, hop: &Hop) -> Option<Finding> {
    let (direction, limit) = judged.caused_by(Cause::Generator, index)?;
    let rate = limit.rate.map(|rate| format!(" At least {rate} get through.")).unwrap_or_default();
    let case = judged.case(direction);
    let (what, action) = match case.measurement() {
        Some(_) if are_io_workers_full(&case) => IO_WORKERS,
        Some(measurement) if was_denied(measurement) => GENERATOR_DENIED,
        _ => USED_UP,
    };
    let summary = format!("{what}; the path can do more.{rate}");
    let found = limit.finding(Code::GeneratorCpu, Severity::Limit, hop, summary);
    let found = found.with_evidence(waited(&case)).advise(action);
    Some(Finding { subject: judged.subject.path.target.clone(), ..found })
}

/// The tool itself was the bottleneck: its threads filled their processor.
pub(super) fn of_result(case: &result::Case<'_>) -> Option<Finding> {
    let first = before_memory(case).or_else(|| one_thread_each(case)).or_else(|| full_threads(case));
    first.or_else(|| random_source(case))
}

/// `dd if=/dev/urandom`: one processor makes each byte (`drivers/char/random.c`: SHA-1 before Linux 4.8, ChaCha20 since). How fast
/// depends on both: below a bound nobody can say from the rate alone which of maker and storage was measured.
fn random_source(case: &result::Case<'_>) -> Option<Finding> {
    /// An estimate on the safe side of what processors make, some ten to some hundred MB/s.
    const MOST: f64 = 600e6;
    let words = ["if=/dev/urandom", "if=/dev/random"];
    let command = case.result.command.as_deref().filter(|_| case.result.tool == Tool::Dd)?;
    let word = words.into_iter().find(|word| command.contains(word))?;
    let mut runs = case.runs().filter(|run| run.op == Op::Write);
    let run = runs.find(|run| run.rate().get() < MOST)?;
    let summary = format!(
        "What was written came from {}, each byte of it made by one processor: the {} may be its rate, and is a floor of \
         what the storage can do",
        word.trim_start_matches("if="),
        run.rate()
    );
    let found = Finding::of(case, Code::GeneratorCpu, Severity::Info, summary)
        .seen("source of the data", word, run.source())
        .not_so_when("`dd if=/dev/urandom of=/dev/null bs=1M count=1000` is much faster there")
        .advise("measure with data that is there already, or that a tool makes in memory: `narrows measure TARGET`");
    Some(found.with_confidence(Confidence::Medium))
}

fn full_threads(case: &result::Case<'_>) -> Option<Finding> {
    // fio's shares are of its jobs' own time; diskspd's of a processor that others use too; bonnie's of a core.
    let full = match case.result.tool {
        Tool::Fio => 0.85,
        Tool::Diskspd | Tool::Bonnie => 0.95,
        _ => return None,
    };
    let measured = case.result.measurements.iter().find(|one| one.cpu.is_some_and(|cpu| cpu.total() >= full));
    let (measured, cpu) = measured.and_then(|one| Some((one, one.cpu?)))?;
    let label =
        Some(&measured.work.label).filter(|label| !label.is_empty() && case.result.measurements.len() > 1);
    let during = label.map(|label| format!(" in `{label}`")).unwrap_or_default();
    let summary = format!(
        "The tool's own threads used {} of a processor core each{during}: the rate is a floor of what the storage can do",
        human::percent(cpu.total())
    );
    let share = |name: &str, part: f64| case.evidence(measured, name, human::percent(part));
    let shares = match case.result.tool {
        // It prints one number.
        Tool::Bonnie => vec![share("processor time", cpu.total())],
        _ => vec![share("user time", cpu.user), share("kernel time", cpu.system)],
    };
    let found = Finding::of(case, Code::GeneratorCpu, Severity::Limit, summary)
        .with_evidence(shares)
        .not_so_when("more jobs do not raise the rate");
    Some(found.advise("spread the load over more jobs, or use io_uring: `narrows measure TARGET --as sweep`"))
}

/// `t/io_uring` has one thread for each core that it is given, which submits and reaps as fast as it can: it measures these.
fn one_thread_each(case: &result::Case<'_>) -> Option<Finding> {
    let measured = case.result.measurements.first().filter(|_| case.result.tool == Tool::Iouring)?;
    let threads =
        measured.work.jobs.map_or_else(|| "its threads".to_owned(), |jobs| format!("{jobs} threads"));
    let summary =
        format!("The rate is what {threads} of the tool submit and reap: a floor of what the drives can do");
    let found = Finding::of(case, Code::GeneratorCpu, Severity::Info, summary)
        .seen("threads", &threads, case.source(measured))
        .not_so_when("more threads on more cores do not raise the rate");
    Some(found.advise("add threads (-n) until the rate stops rising: `narrows measure TARGET --as sweep`"))
}

/// Storage in memory answers within a microsecond: what a random I/O takes beyond that is processor time of the path to
/// it, a hypervisor's or a driver's.
fn before_memory(case: &result::Case<'_>) -> Option<Finding> {
    /// Many times what memory and a system call take.
    const SOFTWARE: f64 = 50_000.0;
    let source = case.around.has(Word::Memory)?;
    let mut single = case.runs().filter(|run| run.is_single() && run.is_random());
    let (run, latency) =
        single.find_map(|run| Some((run, run.mean().filter(|latency| *latency > SOFTWARE)?)))?;
    let shown = time(latency);
    let summary = format!(
        "The storage is memory, and a random I/O takes {shown}: the time goes to the processors on the way there"
    );
    let found = Finding::of(case, Code::GeneratorCpu, Severity::Limit, summary)
        .seen("latency of a single random I/O", shown, run.source())
        .seen("the storage", "is in memory", source)
        .not_so_when("a limiter or a network lies between")
        .advise("look at the processors of host and guest while it runs");
    Some(found.with_confidence(Confidence::Medium))
}

#[cfg(test)]
mod tests {
    use narrows_paste::results::Cpu;
    use narrows_paste::results::surroundings::Surroundings;

    use super::*;
    use crate::results::testing::{codes, fio_read, verdict_of};

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
