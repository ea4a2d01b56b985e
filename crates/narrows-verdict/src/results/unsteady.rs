//! The rate moved so much that its mean describes no time of the run.

use super::case::Case;
use super::{stalls, window};
use crate::finding::{Advice, Code, Evidence, Finding, Severity};
use narrows_base::units::human;
use narrows_paste::results::{Measured, Op, Side, Tool};

/// The limits of SNIA's steady state: range and slope of five windows as fractions of their mean.
const RANGE: f64 = 0.2;
const SLOPE: f64 = 0.1;

/// Samples that deviate by more than this fraction of their mean. diskspd's own scripts warn at 0.1.
const DEVIATION: f64 = 0.2;

pub(super) fn find(case: &Case<'_>) -> Vec<Finding> {
    if let Some(finding) = by_repeats(case)
        .or_else(|| by_sizes(case))
        .or_else(|| by_iterations(case))
        .or_else(|| network(case))
        .or_else(|| reports(case))
    {
        return vec![finding];
    }
    if matches!(case.result.tool, Tool::Iostat | Tool::Zpooliostat) {
        return Vec::new();
    }
    for (measured, op, side) in case.sides() {
        let seen = by_log(case, measured, op, side)
            .or_else(|| by_samples(case, measured, side))
            .or_else(|| by_silence(case, measured, side))
            .or_else(|| stalls::find(case, measured, side));
        if let Some(evidence) = seen {
            let summary = format!(
                "The rate of the {} did not hold: its mean describes no time of it",
                case.name(measured, op)
            );
            return vec![
                case.finding(Code::Unsteady, Severity::Limit, summary)
                    .with_evidence(evidence)
                    .not_so_when("the run goes on and the rate of its later part holds")
                    .with_advice([Advice::new(
                        "run until the rate holds, and look at it over time: `narrows bench TARGET steady`",
                    )]),
            ];
        }
    }
    Vec::new()
}

/// Runs that a tool repeats, as it prints them one below the other.
fn by_repeats(case: &Case<'_>) -> Option<Finding> {
    if !matches!(case.result.tool, Tool::Benchsh | Tool::Nench | Tool::Fsmark) {
        return None;
    }
    let writes = || case.result.measurements.iter().filter_map(|one| Some((one, one.write.as_ref()?)));
    let rates: Vec<f64> = writes().map(|(_, side)| side.bytes_per_second.get()).collect();
    let most = rates.iter().copied().fold(0.0, f64::max);
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let range = (most - least) / (rates.iter().sum::<f64>() / rates.len() as f64);
    let (measured, _) = writes().next().filter(|_| rates.len() > 1 && range > RANGE)?;
    let shown = |rate: f64| human::rate(narrows_base::units::BytesPerSec::new(rate));
    let value = format!("{} to {}: {} of their mean", shown(least), shown(most), human::percent(range));
    let evidence = case.evidence(measured, "rates of the repeated runs", value);
    Some(finding(case, "The rate differs from run to run: their mean describes none", [evidence]))
}

/// Tests of one tool that follow each other with larger and larger blocks: what moves less then than it did before with small
/// ones fell with time, because larger blocks cost no storage more.
fn by_sizes(case: &Case<'_>) -> Option<Finding> {
    /// Schedulers and caches make some difference.
    const FELL: f64 = 0.6;
    if case.result.tool != Tool::Yabs {
        return None;
    }
    let all = |one: &Measured| one.sides().map(|(_, side)| side.bytes_per_second.get()).sum::<f64>();
    let mut best: Option<&Measured> = None;
    for one in case.siblings() {
        if let Some(before) = best.filter(|before| all(one) < FELL * all(before)) {
            let shown = |one: &Measured| {
                let rate = human::rate(narrows_base::units::BytesPerSec::new(all(one)));
                case.evidence(one, &format!("reads and writes of `{}`", one.work.label), rate)
            };
            let summary = format!(
                "Blocks of `{}` moved less than those of `{}` before them: the rate fell while the tests ran",
                one.work.label, before.work.label
            );
            return Some(
                finding(case, summary, [shown(before), shown(one)]).with_advice([Advice::new(
                    "burst credits or a write cache may have ended: repeat it, and with one block size for minutes",
                )]),
            );
        }
        if best.is_none_or(|before| all(one) > all(before)) {
            best = Some(one);
        }
    }
    None
}

/// Files each second, of iterations whose deviation is told.
fn by_iterations(case: &Case<'_>) -> Option<Finding> {
    let mut all = case.result.measurements.iter();
    let (measured, relative) = all.find_map(|one| {
        let spread = one.entries_spread.filter(|spread| spread.samples.is_none_or(|count| count > 1))?;
        Some((one, spread.relative().filter(|relative| *relative > DEVIATION)?))
    })?;
    let summary = format!(
        "The rate of `{}` differs between iterations: their mean describes none",
        measured.work.label
    );
    let value = format!("{} of their mean", human::percent(relative));
    Some(finding(case, summary, [case.evidence(measured, "standard deviation of the iterations", value)]))
}

/// What crossed a network, by its intervals.
fn network(case: &Case<'_>) -> Option<Finding> {
    let mut all = case.result.measurements.iter();
    let (measured, side) = all.find_map(|one| Some((one, one.network.as_ref()?)))?;
    let evidence = by_log(case, measured, narrows_paste::results::Op::Read, side)?;
    Some(finding(case, "The rate of the network did not hold: its mean describes no time of it", evidence))
}

/// What a device or pool carried, report by report: the load's own course, or the device's.
fn reports(case: &Case<'_>) -> Option<Finding> {
    if !matches!(case.result.tool, Tool::Iostat | Tool::Zpooliostat) {
        return None;
    }
    let all = &case.result.measurements;
    let ops = [narrows_paste::results::Op::Read, narrows_paste::results::Op::Write];
    all.iter().take(window::DEVICES).zip(0..).find_map(|(first, at)| {
        let is_new = !all.iter().take(at).any(|before| before.work.label == first.work.label);
        let of = |op| {
            let own = all.iter().filter(|one| one.work.label == first.work.label);
            own.filter_map(|one| Some(one.side(op)?.bytes_per_second)).collect::<Vec<_>>()
        };
        let moved = ops.into_iter().map(of).max_by(|a, b| sum(a).total_cmp(&sum(b))).filter(|_| is_new)?;
        let side = Side { series: moved, ..Side::default() };
        let evidence = by_log(case, first, narrows_paste::results::Op::Read, &side)?;
        let summary = format!("What {} carried changed from report to report", first.work.label);
        Some(Finding { severity: Severity::Info, ..finding(case, summary, evidence) })
    })
}

fn sum(rates: &[narrows_base::units::BytesPerSec]) -> f64 {
    rates.iter().map(|rate| rate.get()).sum()
}

fn finding(
    case: &Case<'_>,
    summary: impl Into<String>,
    evidence: impl IntoIterator<Item = Evidence>,
) -> Finding {
    case.finding(Code::Unsteady, Severity::Limit, summary)
        .with_evidence(evidence)
        .not_so_when("repetitions have the same rate")
        .with_advice([Advice::new("repeat it until the rate holds, and look at what else runs")])
}

fn by_log(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Vec<Evidence>> {
    let (means, log) = window::means(case, measured, op, side)?;
    let (range, slope) = window::range_and_slope(&means)?;
    // By chance a window of n I/Os is off by 1/√n (Poisson); the slope of five windows by 1.3 times that.
    let chance = side.ios.map_or(0.0, |ios| (5.0 / (ios as f64).max(1.0)).sqrt());
    (range > RANGE.max(4.0 * chance) || slope > SLOPE.max(4.0 * chance)).then(|| {
        let shown = means.map(|mean| human::rate(narrows_base::units::BytesPerSec::new(mean))).join(", ");
        vec![
            Evidence::new("rate in five windows", shown, log.clone()),
            Evidence::new(
                "range and slope",
                format!("{} and {} of the mean", human::percent(range), human::percent(slope)),
                log,
            ),
        ]
    })
}

fn by_samples(case: &Case<'_>, measured: &Measured, side: &Side) -> Option<Vec<Evidence>> {
    if window_tool(case) {
        return None;
    }
    let spread = side.spread?;
    let relative = spread.relative()?;
    // Of several jobs reported together fio takes the samples of each: they scatter between jobs, not over time.
    let is_of = |rate: f64| (0.8..1.25).contains(&(spread.mean / rate));
    let rate = side.bytes_per_second.get();
    let units = [side.iops.map_or(0.0, |iops| iops.get()), rate, rate / 1024.0, rate / f64::from(1 << 20)];
    if !units.into_iter().any(is_of) {
        return None;
    }
    let chance =
        side.ios.zip(spread.samples).map_or(0.0, |(ios, samples)| by_chance(case.result.tool, ios, samples));
    (relative > DEVIATION.max(chance)).then(|| {
        vec![case.evidence(
            measured,
            "standard deviation of the samples",
            format!("{} of their mean", human::percent(relative)),
        )]
    })
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
fn by_silence(case: &Case<'_>, measured: &Measured, side: &Side) -> Option<Vec<Evidence>> {
    const MORE: f64 = 1.25;
    const FEWEST: u64 = 10;
    let is_one = case.result.tool == Tool::Fio && measured.work.jobs == Some(1);
    let spread =
        side.spread.filter(|spread| is_one && spread.samples.is_some_and(|count| count >= FEWEST))?;
    let iops = side.iops.map(|iops| iops.get()).filter(|iops| *iops > 0.0)?;
    let rate = side.bytes_per_second.get();
    // Samples are of I/Os or of KiB or MiB: the unit in which they are nearest to the rate is theirs.
    let ratios = [iops, rate / 1024.0, rate / f64::from(1 << 20)].map(|rate| spread.mean / rate);
    let ratio = ratios.into_iter().min_by(|a, b| a.ln().abs().total_cmp(&b.ln().abs()))?;
    (ratio > MORE && ratio < 10.0).then(|| {
        let value = format!("{ratio:.1} times that of the whole run");
        vec![case.evidence(measured, "mean of the samples, which are taken when I/Os end", value)]
    })
}

/// Tools whose own passes are few and short; their spread is not that of the storage.
fn window_tool(case: &Case<'_>) -> bool {
    matches!(case.result.tool, Tool::Hdparm | Tool::Kdiskmark | Tool::Crystaldiskmark)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{codes, fio_read, verdict_of};
    use super::*;
    use narrows_paste::results::Spread;
    use narrows_paste::results::surroundings::Surroundings;

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
        use super::super::testing::verdicts;
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
}
