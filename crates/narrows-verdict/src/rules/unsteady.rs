//! `unsteady`, `slc_exhausted`: the rate did not hold. It moved so much that its mean describes no time of the run, stood still, or stepped
//! down for good.

use narrows_base::lists::ends;
use narrows_base::measurement::Measurement;
use narrows_base::stats::{MAX_DRIFT, MAX_RANGE, Steadiness};
use narrows_base::units::{BytesPerSec, Nanos, human};
use narrows_paste::results::{Measured, Op, Side, Tool};

use super::result::{self, Run, Signs, time};
use crate::case::Case;
use crate::finding::{Code, Confidence, Evidence, Finding, Severity};
use crate::trust::Audit;

/// The rate of a run of ours did not hold (see [`Steadiness`] for the test).
pub(super) fn of_run(case: &Case<'_>, _: &Measurement, audit: &Audit) -> Option<Finding> {
    let target = &case.path().target;
    let drift = audit.unsteady?;
    let (range, slope) = (human::percent(drift.range), human::percent(drift.slope.abs()));
    let way = if drift.slope < 0.0 { "fell" } else { "rose" };
    let summary = format!(
        "The rate of {target} did not hold: it ranged over {range} of its mean and {way} by {slope} in all."
    );
    let found = Finding::on(Code::Unsteady, Severity::Info, target, summary)
        .seen("range of five windows over their mean", range, "the run, every 100 ms")
        .seen("slope over the run, of the mean", slope, "the run, every 100 ms");
    Some(found.advise("Measure longer with --as full, on a quiet machine."))
}

/// Samples that deviate by more than this fraction of their mean. diskspd's own scripts warn at 0.1.
const DEVIATION: f64 = 0.2;

/// The rate moved so much that its mean describes no time of the run.
pub(super) fn of_result(case: &result::Case<'_>) -> Option<Finding> {
    by_repeats(case)
        .or_else(|| by_sizes(case))
        .or_else(|| by_iterations(case))
        .or_else(|| network(case))
        .or_else(|| reports(case))
        .or_else(|| within_a_run(case))
}

const RUN_CHECKS: [fn(&Run<'_>) -> Option<Signs>; 6] =
    [by_log, by_samples, by_silence, one_of_a_thousand, one_at_a_time, in_series];

fn within_a_run(case: &result::Case<'_>) -> Option<Finding> {
    let mut runs = case.runs().filter(|_| !case.is_of_counters());
    let (run, signs) = runs.find_map(|run| Some((run, RUN_CHECKS.iter().find_map(|check| check(&run))?)))?;
    let summary = format!("The rate of the {} did not hold: its mean describes no time of it", run.name());
    let advice = "run until the rate holds, and look at it over time: `narrows measure TARGET --as steady`";
    let found = Finding::of(case, Code::Unsteady, Severity::Limit, summary)
        .with_evidence(signs.evidence)
        .not_so_when("the run goes on and the rate of its later part holds");
    Some(found.advise(advice))
}

/// Runs that a tool repeats, as it prints them one below the other.
fn by_repeats(case: &result::Case<'_>) -> Option<Finding> {
    if !matches!(case.result.tool, Tool::Benchsh | Tool::Nench | Tool::Fsmark) {
        return None;
    }
    let writes = || case.result.measurements.iter().filter_map(|one| Some((one, one.write.as_ref()?)));
    let rates: Vec<BytesPerSec> = writes().map(|(_, side)| side.bytes_per_second).collect();
    let [least, most] = ends(&rates)?;
    let range = (most - least).fraction_of(rates.iter().copied().sum::<BytesPerSec>() / rates.len() as f64);
    let (measured, _) = writes().next().filter(|_| range > MAX_RANGE)?;
    let value = format!("{least} to {most}: {} of their mean", human::percent(range));
    let evidence = case.evidence(measured, "rates of the repeated runs", value);
    Some(finding(case, "The rate differs from run to run: their mean describes none", vec![evidence]))
}

/// Tests of one tool that follow each other with larger and larger blocks: what moves less then than it did before with small
/// ones fell with time, because larger blocks cost no storage more.
fn by_sizes(case: &result::Case<'_>) -> Option<Finding> {
    /// Schedulers and caches make some difference.
    const FELL: f64 = 0.6;
    if case.result.tool != Tool::Yabs {
        return None;
    }
    let rate = |one: &Measured| one.sides().map(|(_, side)| side.bytes_per_second).sum::<BytesPerSec>();
    let mut best: Option<&Measured> = None;
    let (before, after) = case.siblings().find_map(|one| {
        let before = best.filter(|before| rate(one).get() < FELL * rate(before).get());
        if best.is_none_or(|before| rate(one) > rate(before)) {
            best = Some(one);
        }
        Some((before?, one))
    })?;
    let shown =
        |one: &Measured| case.evidence(one, format!("reads and writes of `{}`", one.work.label), rate(one));
    let (smaller, larger) = (&before.work.label, &after.work.label);
    let summary = format!(
        "Blocks of `{larger}` moved less than those of `{smaller}` before them: the rate fell while the tests ran"
    );
    let found = finding(case, summary, vec![shown(before), shown(after)]);
    Some(found.advise(
        "burst credits or a write cache may have ended: repeat it, and with one block size for minutes",
    ))
}

/// Files each second, of iterations whose deviation is told.
fn by_iterations(case: &result::Case<'_>) -> Option<Finding> {
    let (measured, relative) = case.first_with(|one| {
        let spread = one.entries_spread.filter(|spread| spread.samples.is_none_or(|count| count > 1))?;
        spread.relative().filter(|relative| *relative > DEVIATION)
    })?;
    let label = &measured.work.label;
    let summary = format!("The rate of `{label}` differs between iterations: their mean describes none");
    let value = format!("{} of their mean", human::percent(relative));
    let evidence = case.evidence(measured, "standard deviation of the iterations", value);
    Some(finding(case, summary, vec![evidence]))
}

/// More datagrams are not lost by accident: more were sent than the path or the receiver took.
const MOST_LOST: f64 = 0.01;

/// What crossed a network, by what was lost and by its intervals.
fn network(case: &result::Case<'_>) -> Option<Finding> {
    let (measured, side) = case.first_with(|one| one.network.as_ref())?;
    if let Some(lost) = side.lost.filter(|lost| *lost > MOST_LOST) {
        let lost = human::percent(lost);
        let summary = format!("{lost} of the datagrams were lost: the rate is none that the network holds");
        let advice = "send less (`-b`) until nothing is lost, or measure with TCP, which sends as fast as all of it arrives";
        let found = Finding::of(case, Code::Unsteady, Severity::Limit, summary)
            .seen("datagrams that did not arrive", lost, case.source(measured))
            .not_so_when("no datagram is lost at this rate in repetitions");
        return Some(found.advise(advice));
    }
    let run = Run { case, measured, op: Op::Read, side };
    let evidence = by_log(&run)?.evidence;
    // TCP looks for its share of a wire all the time: what moves by half of its mean is within a quarter of it.
    let range = run.window_means().and_then(|(means, _)| Steadiness::of(&means)).map(|one| one.range);
    if range.is_some_and(|range| range <= 0.5) {
        let summary = "The rate of the network moved while it was measured: its mean is known to a quarter";
        return Some(Finding { severity: Severity::Info, ..finding(case, summary, evidence) });
    }
    Some(finding(case, "The rate of the network did not hold: its mean describes no time of it", evidence))
}

/// What a device or pool carried, report by report: the load's own course, or the device's.
fn reports(case: &result::Case<'_>) -> Option<Finding> {
    let all = &case.result.measurements;
    let reported = all.iter().filter(|_| case.is_of_counters());
    reported.take(result::MOST_DEVICES).zip(0..).find_map(|(first, at)| {
        let is_new = !all.iter().take(at).any(|before| before.work.label == first.work.label);
        let [reads, writes] = [Op::Read, Op::Write].map(|op| {
            let own = all.iter().filter(|one| one.work.label == first.work.label);
            own.filter_map(|one| Some(one.side(op)?.bytes_per_second)).collect::<Vec<_>>()
        });
        let sum = |rates: &[BytesPerSec]| rates.iter().copied().sum::<BytesPerSec>();
        let series = if sum(&reads) > sum(&writes) { reads } else { writes };
        let side = Some(Side { series, ..Side::default() }).filter(|_| is_new)?;
        let evidence = by_log(&Run { case, measured: first, op: Op::Read, side: &side })?.evidence;
        let summary = format!("What {} carried changed from report to report", first.work.label);
        Some(Finding { severity: Severity::Info, ..finding(case, summary, evidence) })
    })
}

fn finding(case: &result::Case<'_>, summary: impl Into<String>, evidence: Vec<Evidence>) -> Finding {
    Finding::of(case, Code::Unsteady, Severity::Limit, summary)
        .with_evidence(evidence)
        .not_so_when("repetitions have the same rate")
        .advise("repeat it until the rate holds, and look at what else runs")
}

fn by_log(run: &Run<'_>) -> Option<Signs> {
    let (means, log) = run.window_means()?;
    let drift = Steadiness::of(&means)?;
    let (range, slope) = (drift.range, drift.slope.abs());
    // By chance a window of n I/Os is off by 1/√n (Poisson); the slope of five windows by 1.3 times that.
    let chance = run.side.ios.map_or(0.0, |ios| (5.0 / (ios as f64).max(1.0)).sqrt());
    (range > MAX_RANGE.max(4.0 * chance) || slope > MAX_DRIFT.max(4.0 * chance)).then(|| {
        let shown = means.map(|mean| human::rate(BytesPerSec::new(mean))).join(", ");
        let both = format!("{} and {} of the mean", human::percent(range), human::percent(slope));
        run.signs().told("rate in five windows", shown, &log).told("range and slope", both, log)
    })
}

fn by_samples(run: &Run<'_>) -> Option<Signs> {
    // Their own passes are few and short, and their spread is not that of the storage.
    let has_passes = matches!(run.tool(), Tool::Hdparm | Tool::Kdiskmark | Tool::Crystaldiskmark);
    let spread = run.side.spread.filter(|_| !has_passes)?;
    let relative = spread.relative()?;
    // Of several jobs reported together fio takes the samples of each: they scatter between jobs, not over time.
    let is_of = |rate: f64| (0.8..1.25).contains(&(spread.mean / rate));
    let rate = run.rate().get();
    let iops = run.side.iops.map_or(0.0, |iops| iops.get());
    if ![iops, rate, rate / 1024.0, rate / f64::from(1 << 20)].into_iter().any(is_of) {
        return None;
    }
    let counts = run.side.ios.zip(spread.samples);
    let chance = counts.map_or(0.0, |(ios, samples)| by_chance(run.tool(), ios, samples));
    let value = format!("{} of their mean", human::percent(relative));
    (relative > DEVIATION.max(chance)).then(|| run.signs().seen("standard deviation of the samples", value))
}

/// How much samples of a few I/Os each scatter by chance: their count is Poisson's at worst.
fn by_chance(tool: Tool, ios: u64, samples: u64) -> f64 {
    let samples = samples.max(1) as f64;
    let poisson = 1.0 / (ios as f64 / samples).max(1e-9).sqrt();
    // rados bench counts every second anew, so that its deviation is known as that of so many counts is; the samples of
    // others overlap, or are of jobs that wait for each other.
    poisson * if tool == Tool::Radosbench { 1.0 + 3.0 / (2.0 * samples).sqrt() } else { 3.0 }
}

/// fio takes a sample when an I/O ends: spans in which none does are in the mean of the run and not in that of the samples.
fn by_silence(run: &Run<'_>) -> Option<Signs> {
    const MORE: f64 = 1.25;
    const FEWEST: u64 = 10;
    let is_one = run.tool() == Tool::Fio && run.measured.work.jobs == Some(1);
    let spread =
        run.side.spread.filter(|spread| is_one && spread.samples.is_some_and(|count| count >= FEWEST))?;
    let iops = run.side.iops.map(|iops| iops.get()).filter(|iops| *iops > 0.0)?;
    let rate = run.rate().get();
    // Samples are of I/Os or of KiB or MiB: the unit in which they are nearest to the rate is theirs.
    let ratios = [iops, rate / 1024.0, rate / f64::from(1 << 20)].map(|rate| spread.mean / rate);
    let ratio = ratios.into_iter().min_by(|a, b| a.ln().abs().total_cmp(&b.ln().abs()))?;
    (ratio > MORE && ratio < 10.0).then(|| {
        let value = format!("{ratio:.1} times that of the whole run");
        run.signs().seen("mean of the samples, which are taken when I/Os end", value)
    })
}

/// A run that stood still for some of its time: a second in which nothing ended is in its mean like any other, and no rate
/// beside it says so. A stall that is named is this part of the run at least, and this long.
const STALLED_PART: f64 = 0.02;

const LONG_STALL: Nanos = Nanos::from_millis(1000);

/// A large part of all latency is in one I/O of a thousand, and those took far longer than one of a hundred did. The part is
/// the least that it can be: each of the slowest thousandth took at least the 99.9th percentile.
fn one_of_a_thousand(run: &Run<'_>) -> Option<Signs> {
    const STALLED_PART: f64 = 0.3;
    const LONGER: f64 = 20.0;
    /// Nanoseconds: what is shorter nobody calls a stall.
    const LONG_STALL: f64 = 1e8;
    /// I/Os of which one in a thousand are some.
    const FEWEST: f64 = 10_000.0;
    let counted = || Some(run.side.iops?.get() * run.side.elapsed_ns?.as_secs_f64());
    let ios = run.side.ios.map(|ios| ios as f64).or_else(counted)?;
    let latency = run.side.latency_ns.as_ref().filter(|_| ios >= FEWEST)?;
    let mean = latency.mean.filter(|mean| *mean > 0.0)?;
    let slowest =
        latency.percentiles.iter().find(|one| (one.percent - 99.9).abs() < 1e-6).map(|one| one.latency_ns)?;
    let part = slowest / 1000.0 / mean;
    let is_stall = slowest >= LONG_STALL && slowest >= LONGER * latency.p99?;
    (is_stall && (STALLED_PART..=1.0).contains(&part)).then(|| {
        let value = format!(
            "{} of all latency is in one I/O of a thousand: {} and more, where 99 of 100 took no longer than {}",
            human::percent(part),
            time(slowest),
            time(latency.p99.unwrap_or_default())
        );
        run.signs().seen("stalls", value)
    })
}

/// The longest I/O, where no other was in flight: the run stood still for as long.
fn one_at_a_time(run: &Run<'_>) -> Option<Signs> {
    /// A device on which each I/O takes long does not stall.
    const LONGER: f64 = 100.0;
    let jobs = run.measured.work.jobs?;
    // Threads of sysbench wait for each request; of others the depth is told.
    let is_alone = jobs == 1
        && run.measured.asked_in_flight().is_none_or(|count| count <= 1.0)
        && (run.measured.work.queue_depth.is_some() || run.measured.latency_ns.is_some());
    // Where reads and writes are not told apart, the longest of both is that of the run.
    let latency = run.side.latency_ns.as_ref().or(run.measured.latency_ns.as_ref()).filter(|_| is_alone)?;
    let (mean, longest, elapsed) = (latency.mean?, latency.max?, run.side.elapsed_ns?);
    let is_stall = longest >= LONG_STALL.get() as f64 && longest >= LONGER * mean;
    let part = longest / elapsed.get().max(1) as f64;
    (is_stall && (STALLED_PART..=1.0).contains(&part)).then(|| {
        let value = format!("{} of {elapsed}, and one I/O at a time", time(longest));
        run.signs().seen("longest I/O: the run stood still for as long", value)
    })
}

/// Spans of a log or display in which next to nothing ended.
fn in_series(run: &Run<'_>) -> Option<Signs> {
    /// Of the median.
    const NOTHING: f64 = 0.02;
    const FEWEST: usize = 10;
    let span = run.side.series_span_ns.filter(|_| run.side.series.len() >= FEWEST)?;
    let mut rates: Vec<f64> = run.side.series.iter().map(|rate| rate.get()).collect();
    // The last span is mostly a part of one.
    rates.pop();
    let mut sorted = rates.clone();
    sorted.sort_by(f64::total_cmp);
    let median = sorted.get(sorted.len() / 2).copied().filter(|median| *median > 0.0)?;
    let still = rates.iter().filter(|rate| **rate < NOTHING * median).count();
    let stood = span.get() as f64 * still as f64;
    let part = still as f64 / rates.len() as f64;
    (stood >= LONG_STALL.get() as f64 && part >= STALLED_PART).then(|| {
        let value = format!("{} of {}", time(stood), time(span.get() as f64 * rates.len() as f64));
        let source = run.side.series_source.clone().unwrap_or_else(|| run.source());
        run.signs().told("time in which next to nothing ended", value, source)
    })
}

/// What is left at the end of what there was at the beginning.
const SLC_STEP: f64 = 0.7;

/// The drive's fast cache ran out: writes stepped down and stayed there.
pub(super) fn slc_exhausted(case: &result::Case<'_>) -> Option<Finding> {
    let mut writes = case.runs().filter(|run| run.op == Op::Write);
    let (first, last, log) = writes.find_map(|run| {
        let ([first, .., last], log) = run.window_means()?;
        (first > 0.0 && last <= SLC_STEP * first)
            .then(|| (BytesPerSec::new(first), BytesPerSec::new(last), log))
    })?;
    let summary = format!("Writes began with {first} and ended with {last}: a fast cache ran out");
    let found = Finding::of(case, Code::SlcExhausted, Severity::Limit, summary)
        .seen("first and last fifth of the run", format!("{first} and {last}"), log)
        .not_so_when("the drive was not new or trimmed, or was hot: then it is garbage collection or heat")
        .advise("quote the rate of the last part for writes that last");
    Some(found.with_confidence(Confidence::Medium))
}

#[cfg(test)]
mod tests {
    use narrows_paste::results::surroundings::Surroundings;
    use narrows_paste::results::{Imported, Latency, Percentile, Spread};

    use super::*;
    use crate::results::testing::{codes, fio_read, verdict_of, verdicts};
    use crate::testing::{Sketch, link, run};

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
    fn more_datagrams_that_are_lost_than_by_accident_make_a_rate_that_does_not_hold() {
        for (lost, expected) in [(0.0069, false), (0.52, true)] {
            let mut result = fio_read("udp", 60);
            let side = result.measurements[0].read.take().map(|side| Side { lost: Some(lost), ..side });
            result.measurements[0].network = side;
            let verdict = verdict_of(&result, &Surroundings::default());
            assert_eq!(
                (codes(&verdict).contains(&Code::Unsteady), verdict.trusted),
                (expected, !expected),
                "{lost}"
            );
        }
    }

    #[test]
    fn a_network_that_moves_by_a_quarter_is_trusted_and_one_that_breaks_down_is_not() {
        for (last, is_trusted) in [(375.0, true), (90.0, false)] {
            let mut result = fio_read("tcp", 10);
            let series = (0..10).map(|at| BytesPerSec::from_mb(if at < 5 { 478.0 } else { last })).collect();
            let side = result.measurements[0].read.take().map(|side| Side { series, ..side });
            result.measurements[0].network = side;
            let verdict = verdict_of(&result, &Surroundings::default());
            assert_eq!(
                (codes(&verdict).contains(&Code::Unsteady), verdict.trusted),
                (true, is_trusted),
                "{last}"
            );
        }
    }

    #[test]
    fn a_ripple_is_steady() {
        assert_eq!(unsteady_path(490.0).finding(Code::Unsteady), None);
    }

    #[test]
    fn a_mean_of_samples_above_that_of_the_run_shows_spans_without_any_io() {
        for (mean, expected) in [(12_600.0, false), (19_000.0, true)] {
            let mut result = fio_read("randread", 60);
            let side = result.measurements[0].read.as_mut().expect("reads");
            side.spread = Some(Spread { mean, deviation: 600.0, samples: Some(60) });
            let found = codes(&verdict_of(&result, &Surroundings::default())).contains(&Code::Unsteady);
            assert_eq!(found, expected, "{mean}");
        }
    }

    #[test]
    fn larger_blocks_that_move_half_of_what_smaller_ones_moved_show_a_fall() {
        let table = |large: &str| {
            format!(
                "fio Disk Speed Tests (Mixed R/W 50/50):\nBlock Size | 4k            (IOPS) | 64k           (IOPS)\n\
                Read       | 388.78 MB/s  (97.1k) | 1.23 GB/s    (19.2k)\nWrite      | 389.81 MB/s  (97.4k) | 1.23 GB/s    (19.3k)\n\
                Block Size | 512k          (IOPS) | 1m            (IOPS)\nRead       | {large} | {large}\nWrite      | {large} | {large}\n"
            )
        };
        let fell = |large: &str| codes(&verdicts(&table(large)).remove(0)).contains(&Code::Unsteady);
        assert!(fell("409.39 MB/s    (799)") && !fell("1.10 GB/s    (2.1k)"));
    }

    #[test]
    fn samples_that_scatter_by_half_are_unsteady_unless_they_are_of_a_few_ios() {
        let mut result = fio_read("randread", 60);
        let side = result.measurements[0].read.as_mut().expect("reads");
        side.spread = Some(Spread { mean: 12_500.0, deviation: 6_750.0, samples: Some(120) });
        assert!(codes(&verdict_of(&result, &Surroundings::default())).contains(&Code::Unsteady));
        let side = result.measurements[0].read.as_mut().expect("reads");
        side.ios = Some(180);
        assert!(!codes(&verdict_of(&result, &Surroundings::default())).contains(&Code::Unsteady));
    }

    fn is_unsteady(result: &Imported) -> bool {
        codes(&verdict_of(result, &Surroundings::default())).contains(&Code::Unsteady)
    }

    #[test]
    fn a_run_that_stood_still_for_much_of_its_time_is_unsteady_and_one_with_a_usual_tail_is_not() {
        let percentiles = |at_99_9: f64| {
            let of = |percent, latency_ns| Percentile { percent, latency_ns };
            vec![of(50.0, 8.8e5), of(99.0, 1.45e6), of(99.9, at_99_9)]
        };
        let of = |at_99_9: f64, ios: Option<u64>| {
            let mut result = fio_read("randread", 60);
            let side = result.measurements[0].read.as_mut().expect("reads");
            side.ios = ios;
            side.latency_ns = Some(Latency::of_mean(1.89e6).with_percentiles(percentiles(at_99_9)));
            is_unsteady(&result)
        };
        assert!(of(9.9e8, Some(57_000)) && of(9.9e8, None), "12 500 a second for a minute");
        assert!(!of(9.9e8, Some(900)) && !of(2e7, Some(57_000)));
    }

    #[test]
    fn the_longest_of_ios_that_wait_for_each_other_is_a_stall_of_the_run() {
        let of = |longest: f64, depth: u32| {
            let mut result = fio_read("randread", 60);
            result.measurements[0].work.queue_depth = Some(depth);
            let side = result.measurements[0].read.as_mut().expect("reads");
            side.latency_ns =
                Some(Latency { mean: Some(80_000.0), max: Some(longest), ..Latency::default() });
            is_unsteady(&result)
        };
        assert!(of(2.5e9, 1));
        assert!(!of(0.9e9, 1), "shorter than a second");
        assert!(!of(2.5e9, 32), "others went on");
        let sysbench = |longest: &str| {
            let text = format!(
                "sysbench 1.0.20 (using bundled LuaJIT 2.1.0-beta2)\n\nNumber of threads: 1\nExtra file open flags: directio\n128 files, 1GiB each\n\
                128GiB total file size\nBlock size 16KiB\nDoing random read test\nFile operations:\n    reads/s:                      3475.24\n\
                \x20   writes/s:                     0.00\nThroughput:\n    read, MiB/s:                  54.30\n    written, MiB/s:               0.00\n\
                General statistics:\n    total time:                          100.0116s\n    total number of events:              347554\n\
                Latency (ms):\n         min:                                    0.00\n         avg:                                    0.28\n\
                \x20        max:                                {longest}\n         95th percentile:                        0.35\n"
            );
            codes(&verdicts(&text).remove(0)).contains(&Code::Unsteady)
        };
        assert!(sysbench("4364.97") && !sysbench("64.97"));
    }

    #[test]
    fn seconds_of_nothing_in_a_log_are_told_whatever_the_windows_say() {
        let of = |still: usize| {
            let mut result = fio_read("randread", 300);
            let side = result.measurements[0].read.as_mut().expect("reads");
            side.series =
                (0..300).map(|at| BytesPerSec::new(if at % 60 < still { 0.0 } else { 5.1e7 })).collect();
            side.series_span_ns = Some(Nanos::from_millis(1000));
            is_unsteady(&result)
        };
        assert!(of(3) && !of(0));
        assert!(!of(1), "one second of sixty is less than a fiftieth");
    }
}
