//! What the text itself says against its numbers: they contradict each other, are of zeros, of nothing durable, of a failed run.

use narrows_base::units::{BytesPerSec, human};
use narrows_paste::results::surroundings::Word;
use narrows_paste::results::{Durability, Imported, Measured, Op, Tool};

use super::result::{Case, Run, time};
use crate::finding::{Code, Confidence, Evidence, Finding, Severity};

/// fio rounds nothing by more than this; rates below some I/Os per second are counted too coarsely to compare.
const FAR: f64 = 0.03;
const FEWEST: u64 = 1000;

/// Marks take the best rate and the best latency of several passes, each by itself.
const PASSES: f64 = 1.5;
/// No two passes are so far apart: for most of the time the I/Os of a mark waited for something that its latency does not count.
const NO_PASSES: f64 = 10.0;

/// Numbers of one result that contradict each other: it was edited, or two parts of it are of different runs.
pub(super) fn inconsistent_numbers(case: &Case<'_>) -> Option<Finding> {
    derived(case)
        .or_else(|| case.runs().filter_map(|run| contradiction(case, &run)).min_by_key(|one| one.severity))
}

/// What of the numbers of a run cannot be so, told by others of them.
fn contradiction(case: &Case<'_>, run: &Run<'_>) -> Option<Finding> {
    let of_all: Vec<Evidence> = out_of_order(run).into_iter().chain(blocks(run)).collect();
    let stands = || apart(run).is_some_and(|(by_rate, latency)| by_rate > NO_PASSES * latency);
    let (is_certain, by_tool) = match case.result.tool {
        Tool::Fio => (true, fio(run)),
        Tool::Kdiskmark | Tool::Crystaldiskmark => (!of_all.is_empty() || stands(), marks(run)),
        _ => (true, Vec::new()),
    };
    let severity = if is_certain { Severity::Limit } else { Severity::Info };
    let evidence = [by_tool, of_all].concat();
    let summary = format!("The numbers of the {} contradict each other", run.name());
    (!evidence.is_empty()).then(|| {
        inconsistent(case, severity, summary, evidence)
            .not_so_when("the tool measured these numbers in different parts of the run")
    })
}

fn inconsistent(case: &Case<'_>, severity: Severity, summary: String, evidence: Vec<Evidence>) -> Finding {
    Finding::of(case, Code::InconsistentNumbers, severity, summary)
        .with_evidence(evidence)
        .advise("take the tool's own output, whole and as it was printed")
}

/// A sum, mean or score that is not that of the numbers beside it.
fn derived(case: &Case<'_>) -> Option<Finding> {
    let wrong: Vec<_> = case.result.derived.iter().filter(|one| !one.agrees()).collect();
    let first = wrong.first()?;
    let shown = |value: f64| format!("{value:.6}").trim_end_matches('0').trim_end_matches('.').to_owned();
    let evidence = wrong.iter().take(3).map(|one| {
        let (printed, made) = (shown(one.printed), shown(one.computed));
        let value = format!("{printed} is printed, {made} is what its parts make");
        Evidence::new(&one.name, value, case.result.place())
    });
    let summary = format!("The {} is not that of the numbers beside it", first.name);
    let found = inconsistent(case, Severity::Limit, summary, evidence.collect());
    Some(found.not_so_when("parts of the same run stand elsewhere"))
}

fn differ(a: f64, b: f64, far: f64) -> bool {
    a > 0.0 && b > 0.0 && (a / b - 1.0).abs() > far
}

/// Little's law: I/Os per second × mean latency are the I/Os in flight, of which there are no more than were asked for.
fn more_in_flight(run: &Run<'_>) -> Option<Evidence> {
    /// Rounding, and I/Os that cross the ends of the measured time.
    const MORE: f64 = 1.25;
    // The command beside a part that somebody quoted may be that of another run.
    let jobs = run.measured.work.jobs.filter(|_| !run.case.result.is_headless);
    let asked = jobs.and(run.measured.asked_in_flight())?;
    let real = run.in_flight()?;
    (real > MORE * asked).then(|| {
        let value = format!("{} and {}", human::count(real), human::count(asked));
        run.evidence("I/Os in flight by rate × mean latency, and asked for", value)
    })
}

fn fio(run: &Run<'_>) -> Vec<Evidence> {
    let (side, rate) = (run.side, run.rate());
    let mut seen: Vec<Evidence> = more_in_flight(run).into_iter().collect();
    if side.ios.is_some_and(|ios| ios < FEWEST) {
        return seen;
    }
    if let Some(second) = side.second_rate.filter(|second| differ(second.get(), rate.get(), FAR)) {
        seen.push(run.evidence("`bw_bytes` and `bw` × 1024", format!("{rate} and {second}")));
    }
    // Text rounds counts of I/Os per second; JSON does not.
    let by_rate = side.second_rate.and(side.iops).zip(side.elapsed_ns);
    let by_rate = by_rate.map(|(iops, elapsed)| iops.get() * elapsed.as_secs_f64());
    let both = by_rate.zip(side.ios).map(|(by_rate, ios)| (by_rate, ios as f64));
    seen.extend(both.filter(|(by_rate, ios)| differ(*by_rate, *ios, FAR)).map(|(by_rate, ios)| {
        let value = format!("{} and {}", human::count(by_rate), human::count(ios));
        run.evidence("rate × time and the count of I/Os", value)
    }));
    seen
}

/// A mean above the greatest, or percentiles that fall.
fn out_of_order(run: &Run<'_>) -> Option<Evidence> {
    /// What the buckets of histograms do not resolve.
    const ROUNDED: f64 = 1.05;
    let latency = run.side.latency_ns.as_ref()?;
    let pair = |what: &str, small: Option<f64>, large: Option<f64>| {
        let (small, large) = (small?, large?);
        // Below some microseconds tools print few digits.
        (small > ROUNDED * large + 1_000.0)
            .then(|| run.evidence(what, format!("{} and {}", time(small), time(large))))
    };
    pair("mean and maximum of the latency", latency.mean, latency.max)
        .or_else(|| pair("median and 99th percentile", latency.p50, latency.p99))
}

/// I/Os per second × the block size is the rate, where a tool moves blocks of one size.
fn blocks(run: &Run<'_>) -> Option<Evidence> {
    let fixed = matches!(run.tool(), Tool::Kdiskmark | Tool::Crystaldiskmark | Tool::Diskspd);
    let (size, iops) = run.measured.work.block_size.filter(|_| fixed).zip(run.side.iops)?;
    // A rate of some I/Os per second is printed with few digits.
    if iops.get() < 100.0 {
        return None;
    }
    let (product, rate) = (BytesPerSec::new(size.as_f64() * iops.get()), run.rate());
    differ(product.get(), rate.get(), FAR)
        .then(|| run.evidence("I/Os per second × block size, and the rate", format!("{product} and {rate}")))
}

/// How long an I/O takes by the rate of them and by their latency, in nanoseconds.
fn apart(run: &Run<'_>) -> Option<(f64, f64)> {
    let by_rate = run.measured.asked_in_flight()? / run.side.iops?.get() * 1e9;
    by_rate.is_finite().then_some((by_rate, run.mean()?))
}

fn marks(run: &Run<'_>) -> Vec<Evidence> {
    let apart = apart(run).filter(|(rate, latency)| *rate >= PASSES * latency || *latency >= PASSES * rate);
    let shown = apart.map(|(by_rate, latency)| format!("{} and {}", time(latency), time(by_rate)));
    shown.map(|value| run.evidence("latency, and depth ÷ I/Os per second", value)).into_iter().collect()
}

/// Zeros were written, or addresses were read that hold nothing: storage does less work for both.
pub(super) fn zero_or_sparse_data(case: &Case<'_>) -> Option<Finding> {
    zeros(case).or_else(|| sparse(case)).or_else(|| holes(case)).or_else(|| zeros_by_name(case))
}

/// Zeros compress to nothing and dedupe to one block; where nothing compresses they are data like any other.
fn zeros(case: &Case<'_>) -> Option<Finding> {
    let run = case.runs().find(|run| run.op == Op::Write && run.measured.work.zeros == Some(true))?;
    let compresses = case.around.has(Word::Zfs).or_else(|| case.around.has(Word::Compresses));
    let severity = if compresses.is_some() { Severity::Limit } else { Severity::Info };
    let compresses = compresses.map(|source| Evidence::new("file system", "one that compresses", source));
    let summary = "Only zeros were written, which some storage does not store";
    let found = Finding::of(case, Code::ZeroOrSparseData, severity, summary)
        .with_evidence([run.evidence("data", "zeros")].into_iter().chain(compresses))
        .not_so_when("neither file system nor drive compresses or recognises zeros")
        .advise("write data that does not compress (/dev/urandom into a file first, fio's default)");
    Some(found.with_confidence(Confidence::Medium))
}

/// Reads of a sparse file or a thin volume, as fast as memory: what was never written is made up on the way.
fn holes(case: &Case<'_>) -> Option<Finding> {
    /// Above what one drive of the fastest bus reads, or below what any of flash needs.
    const FAST: f64 = 3e9;
    let source = case.around.has(Word::Sparse)?;
    let run = case.runs().find(|run| {
        let latency = run.side.latency_ns.as_ref().and_then(|latency| latency.p50.or(latency.mean));
        let soon = latency.is_some_and(|latency| latency < 20_000.0) && run.is_random();
        run.op == Op::Read && (soon || run.rate().get() > FAST)
    })?;
    let summary = format!(
        "Reads of {} came from addresses that may hold nothing: the text speaks of sparse or thin storage",
        run.rate()
    );
    let found = Finding::of(case, Code::ZeroOrSparseData, Severity::Limit, summary)
        .seen("rate", run.rate(), run.source())
        .seen("the storage", "sparse, thin, or never written", source)
        .not_so_when("`du` shows as much as `ls -l`: every block was written")
        .advise("write the whole region once before reading it");
    Some(found.with_confidence(Confidence::Medium))
}

/// A file whose name says that it holds zeros was read.
fn zeros_by_name(case: &Case<'_>) -> Option<Finding> {
    const ZEROS: [&str; 5] = ["zero", "zeros", "zeroes", "zerofile", "zeroed"];
    let name = |measured: &Measured| {
        let target = measured.work.target.as_deref().filter(|target| !target.starts_with("/dev/"))?;
        let name = target.rsplit('/').next()?;
        let mut words = name.split(|c: char| !c.is_ascii_alphabetic());
        let is_called = words.any(|word| ZEROS.iter().any(|zeros| word.eq_ignore_ascii_case(zeros)));
        is_called.then(|| name.to_owned())
    };
    let mut reads = case.runs().filter(|run| run.op == Op::Read);
    let (run, name) = reads.find_map(|run| Some((run, name(run.measured)?)))?;
    let summary =
        format!("The file that was read is called `{name}`: zeros may be stored in less than their size");
    let found = Finding::of(case, Code::ZeroOrSparseData, Severity::Info, summary)
        .seen("file", name, run.source())
        .not_so_when("the file holds other data, or neither file system nor drive recognises zeros")
        .advise("read a file of data that does not compress");
    Some(found.with_confidence(Confidence::Low))
}

/// NAND needs some 50 µs to read a page. A drive that answers most single reads sooner, and the rest in the time of
/// NAND, has no data at most addresses: they were trimmed or never written.
fn sparse(case: &Case<'_>) -> Option<Finding> {
    let (run, fast, slow) = case.runs().find_map(|run| {
        let (fast, slow) = two_speeds(&run)?;
        Some((run, time(fast), time(slow)))
    })?;
    let summary = format!(
        "Half of the reads took {fast}, less than NAND needs, others {slow}: most addresses were never written or trimmed"
    );
    let found = Finding::of(case, Code::ZeroOrSparseData, Severity::Limit, summary)
        .seen("median", fast, run.source())
        .seen("95th percentile", slow, run.source())
        .not_so_when("the medium is not NAND, or a cache in front of it answered half of the reads")
        .advise("write the whole region once before reading it");
    Some(found.with_confidence(Confidence::Medium))
}

fn two_speeds(run: &Run<'_>) -> Option<(f64, f64)> {
    /// Between what DRAM and the interface need and what a page of NAND needs.
    const CONTROLLER: std::ops::Range<f64> = 15_000.0..50_000.0;
    /// What a page of NAND needs, with the way there.
    const NAND: std::ops::Range<f64> = 70_000.0..500_000.0;
    if run.op != Op::Read || !run.is_random() || !run.is_single() || run.is_buffered() {
        return None;
    }
    let latency = run.side.latency_ns.as_ref()?;
    let p95 = latency.percentiles.iter().find(|one| (one.percent - 95.0).abs() < 1e-9)?.latency_ns;
    let fast = latency.p50.filter(|fast| CONTROLLER.contains(fast))?;
    (NAND.contains(&p95) && p95 > 2.5 * fast).then_some((fast, p95))
}

/// A measurement that calls itself synchronous and made nothing durable.
pub(super) fn not_synchronous(case: &Case<'_>) -> Option<Finding> {
    without_barrier(case).or_else(|| called_synchronous(case))
}

fn called_synchronous(case: &Case<'_>) -> Option<Finding> {
    const CLAIMS: [&str; 4] = ["sync", "synchronous", "fsync", "dsync"];
    let is_plain = |run: &Run<'_>| {
        let waits_late = run.is_durable(Durability::None) || run.is_durable(Durability::AtEnd);
        run.tool() == Tool::Fio && run.op == Op::Write && run.measured.sync_ns.is_none() && waits_late
    };
    let claims = |run: &Run<'_>| {
        let mut words = run.measured.work.label.split(|c: char| !c.is_ascii_alphanumeric());
        words.any(|word| CLAIMS.iter().any(|claim| word.eq_ignore_ascii_case(claim)))
    };
    let run = case.runs().find(|run| is_plain(run) && claims(run))?;
    let work = &run.measured.work;
    let summary = format!(
        "`{}` calls itself synchronous, but its writes were not: the rate says nothing of durable writes",
        work.label
    );
    let engine = work.engine.as_deref().unwrap_or_default();
    let engine = format!("{engine} (`sync` only means that write(2) is called)");
    let found = Finding::of(case, Code::NotSynchronous, Severity::Limit, summary)
        .seen("sync, fsync, fdatasync", "not asked for within the run", run.source())
        .seen("ioengine", engine, run.source())
        .not_so_when("the file system or data set forces every write to be synchronous");
    Some(found.advise("ask for durability: `sync=1`, `fdatasync=1`, or `fsync=1`"))
}

/// fsyncs were counted, and the text says that the file system was told not to wait for the drive.
fn without_barrier(case: &Case<'_>) -> Option<Finding> {
    let source = case.around.has(Word::NoBarrier)?;
    let counts = matches!(case.result.tool, Tool::Pveperf | Tool::Pgtestfsync);
    let (measured, rate) = case.first_with(|one| one.syncs.filter(|_| counts))?;
    let summary = "The text speaks of a mount without barriers: fsync does not wait for the drive there";
    let found = Finding::of(case, Code::NotSynchronous, Severity::Limit, summary)
        .seen("fsyncs each second", human::count(rate.get()), case.source(measured))
        .seen("mount option", "barrier=0", source)
        .not_so_when("this run was made with barriers, or the drive's cache keeps its data without power")
        .advise("mount with barriers and measure again");
    Some(found.with_confidence(Confidence::Low))
}

/// A unit that the tool prints is wrong; the number was corrected on reading.
pub(super) fn units_suspect(case: &Case<'_>) -> Option<Finding> {
    let correction = case.result.corrections.first()?;
    let found = Finding::of(case, Code::UnitsSuspect, Severity::Info, correction.clone())
        .seen("corrected", correction, case.result.place())
        .not_so_when("I/Os per second × block size is the printed rate");
    Some(found.advise("compare the corrected rate with other tools, not the printed one"))
}

/// What a tool says went wrong, so that its numbers do not count. An interrupted run has a result, of the time until then.
pub(super) fn errors(result: &Imported) -> Vec<&String> {
    let mut errors: Vec<&String> =
        result.failures.iter().filter(|failure| !failure.contains("terminating on signal")).collect();
    errors.dedup();
    errors
}

/// The tool says that it failed: there is no result, or none that counts.
pub(super) fn run_failed(case: &Case<'_>) -> Option<Finding> {
    let errors = errors(case.result);
    let first = errors.first()?;
    let tool = case.result.tool.name();
    let summary = match case.result.measurements.is_empty() {
        true => format!("{tool} failed and measured nothing: {first}"),
        false => format!("{tool} says that something went wrong; its numbers are void: {first}"),
    };
    let evidence =
        errors.iter().take(3).map(|error| Evidence::new("the tool says", *error, case.result.place()));
    let found = Finding::of(case, Code::RunFailed, Severity::Fault, summary)
        .with_evidence(evidence)
        .not_so_when("the message is of another run");
    Some(found.advise("mend what the message names, and measure again"))
}

#[cfg(test)]
mod tests {
    use narrows_base::units::BytesPerSec;
    use narrows_paste::results::Derived;
    use narrows_paste::results::surroundings::Surroundings;

    use super::*;
    use crate::results::testing::{codes, fio_read, verdict_of, verdicts};

    #[test]
    fn a_score_is_that_of_its_parts() {
        let mut result = fio_read("randread", 60);
        let mut score = Derived { name: "score".to_owned(), printed: 2.0, computed: 2.001, rounding: 0.001 };
        result.derived = vec![score.clone()];
        assert!(verdict_of(&result, &Surroundings::default()).trusted);
        score.printed = 2.1;
        result.derived = vec![score];
        assert!(codes(&verdict_of(&result, &Surroundings::default())).contains(&Code::InconsistentNumbers));
    }

    #[test]
    fn no_more_ios_are_in_flight_than_were_asked_for() {
        use crate::results::testing::with_latency;
        let found = |nanos: f64| {
            let result = with_latency(fio_read("randread", 60), nanos);
            codes(&verdict_of(&result, &Surroundings::default())).contains(&Code::InconsistentNumbers)
        };
        // 12 500 a second at a depth of 1: 80 µs each.
        assert!(!found(80_000.0) && found(120_000.0));
    }

    #[test]
    fn a_mark_whose_ios_stood_still_for_most_of_the_time_is_not_trusted() {
        let severity = |latency: &str| {
            let row =
                format!("Random       4 KiB (Q=  1, T= 1):     0.960 MB/s [    240.0 IOPS] < {latency} us>");
            let text = format!("KDiskMark (3.2.0): https://github.com/JonMagon/KDiskMark\n[Write]\n{row}\n");
            let verdict = verdicts(&text).remove(0);
            let found = verdict.findings.iter().find(|one| one.code == Code::InconsistentNumbers);
            found.map(|one| one.severity)
        };
        // 240 a second are 4167 µs for each.
        assert_eq!(severity("4100.00"), None);
        assert_eq!(severity("1500.00"), Some(Severity::Info));
        assert_eq!(severity("50.96"), Some(Severity::Limit));
    }

    #[test]
    fn two_rates_of_one_side_must_agree() {
        let mut result = fio_read("randread", 60);
        let side = result.measurements[0].read.as_mut().expect("reads");
        side.second_rate = Some(side.bytes_per_second);
        assert!(verdict_of(&result, &Surroundings::default()).trusted);
        let side = result.measurements[0].read.as_mut().expect("reads");
        side.second_rate = Some(BytesPerSec::new(side.bytes_per_second.get() * 1.1));
        assert!(codes(&verdict_of(&result, &Surroundings::default())).contains(&Code::InconsistentNumbers));
    }

    #[test]
    fn a_file_that_is_called_zeros_may_hold_them() {
        let of = |name: &str| {
            let text = format!(
                "dd if={name} iflag=direct of=/dev/null bs=1M\n2048+0 records in\n2048+0 records out\n2147483648 bytes (2.1 GB, 2.0 GiB) copied, 3.68213 s, 583 MB/s\n"
            );
            codes(&verdicts(&text).remove(0)).contains(&Code::ZeroOrSparseData)
        };
        assert!(of("zerofile") && of("/mnt/zeros.bin") && !of("/mnt/subzerox") && !of("/dev/sda"));
    }

    fn of(name: &str, option: &str) -> Vec<Code> {
        let text = format!(
            r#"{{"fio version": "fio-3.36", "jobs": [{{"jobname": "{name}", "job options": {{"rw": "write", "direct": "1", "{option}": "1"}},
            "write": {{"io_bytes": 4096000000, "bw_bytes": 68266666, "bw": 66666, "iops": 100, "runtime": 60000, "total_ios": 6000}}}}]}}"#
        );
        codes(&verdicts(&text).remove(0))
    }

    #[test]
    fn the_label_is_held_against_the_options() {
        assert!(of("sync_seq_write", "end_fsync").contains(&Code::NotSynchronous));
        assert!(!of("sync_seq_write", "sync").contains(&Code::NotSynchronous));
        assert!(!of("async_seq_write", "end_fsync").contains(&Code::NotSynchronous));
    }

    #[test]
    fn a_message_alone_is_a_failed_run_and_never_a_rate_of_nothing() {
        let all = verdicts("error: failed to setup shm segment\n");
        assert!(!all[0].trusted);
        assert_eq!(codes(&all[0]), [Code::RunFailed]);
    }

    #[test]
    fn what_was_not_measured_has_no_limit_and_a_message_stands_once() {
        let failed = "read() failed: Input/output error\n";
        let all = verdicts(&format!("/dev/sda1:\n{failed} Timing buffered disk reads:  {failed}"));
        assert_eq!(codes(&all[0]), [Code::RunFailed]);
        let told = all[0].findings[0].evidence.iter().filter(|it| it.fact != "not so when");
        assert_eq!(told.count(), 1);
        assert_eq!(all[0].limiting, None);
    }
}
