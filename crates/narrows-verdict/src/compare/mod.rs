//! Which of two results is faster, how sure is that, and what was different? Statistics on runs, and a diff of what was
//! measured on.

mod foreign;
mod input;
mod paths;

use std::collections::HashMap;

use narrows_base::stats::{self, BatchMeans, student_t};
use narrows_base::units::{BytesPerSec, Nanos};
use serde::{Deserialize, Serialize};

use input::{ComparedEntry, Tail};

pub use input::{Input, InputError};
pub use paths::{PathChange, PathState, SharedHop};

/// The name and version of the schema, in [`Comparison::schema`].
pub const SCHEMA: &str = "narrows/compare/1";

/// How sure all intervals of a comparison are together.
const CONFIDENCE: f64 = 0.95;

/// What two results differ in. Differences are those of B from A.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Always `narrows/compare/1`.
    pub schema: String,
    /// The first file.
    pub a: String,
    /// The second file.
    pub b: String,
    /// The verdict on the rates of all workloads together.
    pub verdict: Verdict,
    /// The verdict on the latencies of all workloads together: `faster` when percentiles of B are shorter.
    pub latency_verdict: Verdict,
    /// The probability with which all intervals hold together; each alone holds with a higher one (Bonferroni).
    pub confidence: f64,
    /// Differences below this fraction of A's rate or latency are none.
    pub threshold: f64,
    /// Each workload that is in both files.
    pub workloads: Vec<WorkloadComparison>,
    /// Workloads that are in one file only.
    pub unmatched: Vec<Unmatched>,
    /// What was measured on, as far as it differs.
    pub inventory: Vec<Change>,
    /// The paths of both, where neither file holds a measurement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathChange>,
    /// The lines that one alone has of two texts of which one tells no path; those of A first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<LineChange>,
    /// Each further result against the same A, in the order in which they were given; the intervals of all hold together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Comparison>,
}

impl Comparison {
    /// This comparison and those of all further results with the same reference.
    pub fn all(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.others)
    }

    /// In how many of the workloads that were compared B is told apart from A, and of how many.
    pub fn told_apart(&self) -> (usize, usize) {
        let compared = || self.workloads.iter().filter(|one| one.verdict != Verdict::NotComparable);
        let apart = compared().filter(|one| matches!(one.verdict, Verdict::Faster | Verdict::Slower));
        (apart.count(), compared().count())
    }
}

/// Which is faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// B is faster than A.
    Faster,
    /// B is slower than A.
    Slower,
    /// B is faster than A in some workloads and slower in others.
    Mixed,
    /// No difference can be told from noise.
    NotDistinguishable,
    /// The two cannot be compared; the reason is given.
    NotComparable,
}

/// One workload in both files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkloadComparison {
    /// The workload in words.
    pub workload: String,
    /// Which has the higher rate.
    pub verdict: Verdict,
    /// The mean rate of A.
    pub a_bytes_per_second: BytesPerSec,
    /// The mean rate of B.
    pub b_bytes_per_second: BytesPerSec,
    /// The difference of the rates with its interval; `null` when the two cannot be compared.
    pub difference: Option<Difference>,
    /// The percentiles of the latency that both have, with their differences.
    pub latency: Vec<LatencyPair>,
    /// What makes the comparison less sure than its interval says.
    pub cautions: Vec<String>,
    /// How much higher the rate of B is than that of A, as a fraction, where one of them is a single number: it has no
    /// interval, so chance may explain it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_printed: Option<f64>,
    /// Why `difference` is `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How much faster B is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    /// The rate of B less that of A in bytes per second.
    pub bytes_per_second: f64,
    /// Its interval: lower and upper end.
    pub interval: [f64; 2],
    /// The same as a fraction of A's mean rate.
    pub relative: f64,
    /// Its interval as a fraction of A's mean rate.
    pub relative_interval: [f64; 2],
}

/// A workload that only one file has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unmatched {
    /// The file that has it.
    pub only_in: String,
    /// The workload in words.
    pub workload: String,
    /// In which fields the most similar workload of the other file differs.
    pub reason: String,
}

/// Something of the machine or the path that is not the same in both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// What: a field of the machine, or a hop and what of it.
    pub what: String,
    /// In A; `null` when A does not state it.
    pub a: Option<String>,
    /// In B; `null` when B does not state it.
    pub b: Option<String>,
    /// Why one is `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A line that only one of two texts has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LineChange {
    /// `A` or `B`.
    pub only_in: String,
    /// The line without its stamp, blanks as one.
    pub line: String,
}

/// Lines that one text has and the other has not, or not as often.
fn lines_apart(a: &[String], b: &[String]) -> Vec<LineChange> {
    let only = |side: &str, these: &[String], others: &[String]| {
        let mut left: HashMap<&str, usize> = HashMap::new();
        others.iter().for_each(|line| *left.entry(line).or_default() += 1);
        let mut found = Vec::new();
        for line in these {
            match left.get_mut(line.as_str()).filter(|count| **count > 0) {
                Some(count) => *count -= 1,
                None => found.push(LineChange { only_in: side.to_owned(), line: line.clone() }),
            }
        }
        found
    };
    [only("A", a, b), only("B", b, a)].concat()
}

/// Compares two results. A difference counts when its interval does not hold zero and it is at least `threshold` of A's
/// rate or latency: one run says nothing of how much the next one would differ.
///
/// Rates are compared by Welch's test on batch means ("The generalization of 'Student's' problem when several different
/// population variances are involved", Biometrika 34, 1947), which allows for autocorrelation, percentiles of latencies
/// by the same test on their values in the tenths of each run. All intervals hold together with 95 % (Bonferroni): the
/// 5 % are shared half and half by rates and percentiles, and evenly among each. So two results that are alike are told
/// apart in at most one of twenty comparisons however many workloads they have.
pub fn compare(a: &Input, b: &Input, threshold: f64) -> Comparison {
    against(a, b, threshold, 1)
}

/// Compares each of several results with one, the reference. All intervals of all comparisons hold together with 95 %.
/// `None` of no result.
pub fn compare_all(reference: &Input, others: &[Input], threshold: f64) -> Option<Comparison> {
    let mut all = others.iter().map(|other| against(reference, other, threshold, others.len()));
    let first = all.next()?;
    Some(Comparison { others: all.collect(), ..first })
}

/// One of so many comparisons that are made together.
fn against(a: &Input, b: &Input, threshold: f64, together: usize) -> Comparison {
    let (pairs, unmatched) = input::matched(a, b);
    let tails = pairs.iter().flat_map(|(a, b)| shared(&a.tails, &b.tails));
    let tails = tails.filter(|(a, b)| a.mean.is_some() && b.mean.is_some()).count();
    let share = if tails > 0 { 0.5 } else { 1.0 };
    let sure =
        |part: f64, count: usize| 1.0 - (1.0 - CONFIDENCE) * part / (count.max(1) * together.max(1)) as f64;
    let test = Test { rate: sure(share, pairs.len()), latency: sure(1.0 - share, tails), threshold };
    let workloads: Vec<WorkloadComparison> = pairs.iter().map(|(a, b)| compare_one(a, b, test)).collect();
    let latencies = workloads.iter().flat_map(|workload| &workload.latency);
    let is_machines = a.runs.is_empty() && b.runs.is_empty();
    // What one text does not tell is neither gone nor new.
    let is_texts = is_machines
        && (a.paths.is_empty() || b.paths.is_empty())
        && (a.paths.is_empty() && b.paths.is_empty() || !(a.lines.is_empty() || b.lines.is_empty()));
    let paths =
        if is_machines && !is_texts { paths::compare(&a.paths, &b.paths, threshold) } else { Vec::new() };
    let verdicts = workloads.iter().map(|workload| workload.verdict);
    let lines = if is_texts { lines_apart(&a.lines, &b.lines) } else { Vec::new() };
    Comparison {
        schema: SCHEMA.to_owned(),
        a: a.name.clone(),
        b: b.name.clone(),
        verdict: overall(verdicts.chain(paths.iter().map(|path| path.verdict))),
        latency_verdict: overall(latencies.map(|pair| pair.verdict)),
        confidence: CONFIDENCE,
        threshold,
        workloads,
        unmatched,
        inventory: if is_texts { Vec::new() } else { input::changes(&a.inventory, &b.inventory) },
        paths,
        lines,
        others: Vec::new(),
    }
}

/// When a difference counts.
#[derive(Debug, Clone, Copy)]
struct Test {
    /// The confidence of the interval of a rate.
    rate: f64,
    /// The confidence of the interval of a percentile.
    latency: f64,
    /// The least difference, as a fraction.
    threshold: f64,
}

fn overall(verdicts: impl Iterator<Item = Verdict>) -> Verdict {
    let all: Vec<Verdict> = verdicts.filter(|verdict| *verdict != Verdict::NotComparable).collect();
    let has = |verdict| all.contains(&verdict);
    match (has(Verdict::Faster), has(Verdict::Slower)) {
        (true, true) => Verdict::Mixed,
        (true, false) => Verdict::Faster,
        (false, true) => Verdict::Slower,
        (false, false) if all.is_empty() => Verdict::NotComparable,
        (false, false) => Verdict::NotDistinguishable,
    }
}

fn compare_one(a: &ComparedEntry, b: &ComparedEntry, test: Test) -> WorkloadComparison {
    let difference = comparable(a, b).map(|(a, b)| welch_difference(&a, &b, test.rate));
    // What makes the rates incomparable, such as another queue depth, makes the latencies so, too.
    let is_alike = alike(a, b).is_ok();
    let is_single = is_alike && (a.is_single || b.is_single) && difference.is_err();
    let verdict = match &difference {
        Err(_) if is_single => Verdict::NotDistinguishable,
        Err(_) => Verdict::NotComparable,
        Ok(found) => verdict(found.relative, found.interval, test.threshold),
    };
    let tails = shared(&a.tails, &b.tails).filter(|_| is_alike);
    let latency = tails.map(|(a, b)| compare_latencies(a, b, test.latency, test.threshold));
    WorkloadComparison {
        workload: a.label.clone(),
        verdict,
        a_bytes_per_second: a.rate,
        b_bytes_per_second: b.rate,
        latency: latency.collect(),
        cautions: cautions(a, b),
        as_printed: (is_single && a.rate.get() > 0.0).then(|| b.rate.fraction_of(a.rate) - 1.0),
        reason: difference.as_ref().err().cloned(),
        difference: difference.ok(),
    }
}

/// Whether two runs were made in the same way, or how they were not.
fn alike(a: &ComparedEntry, b: &ComparedEntry) -> Result<(), String> {
    same("access", &a.access, &b.access)?;
    same("generator.queue_depth", &a.depth, &b.depth)
}

/// Whether two runs have the same of something, as far as both tell it.
fn same(what: &str, a: &Option<String>, b: &Option<String>) -> Result<(), String> {
    match (a, b) {
        (Some(a), Some(b)) if a != b => Err(format!("{what} differs: {a}, {b}")),
        _ => Ok(()),
    }
}

/// The means of two runs that may be compared, or why they may not.
fn comparable(a: &ComparedEntry, b: &ComparedEntry) -> Result<(BatchMeans, BatchMeans), String> {
    alike(a, b)?;
    Ok((of_its_rate(a, "A")?, of_its_rate(b, "B")?))
}

/// The batch means around the rate that is printed, so that a difference is that of the two rates beside it. The last samples,
/// too few for a batch, make the two differ a little; a series of another run makes them differ by more.
fn of_its_rate(entry: &ComparedEntry, side: &str) -> Result<BatchMeans, String> {
    /// The tenth of the run that batches leave out at most cannot move the mean further than so many standard errors, and
    /// rounding not further than this part of it.
    const ERRORS: f64 = 4.0;
    const ROUNDING: f64 = 0.02;
    let means = entry.means.filter(|means| means.mean.get() > 0.0).ok_or_else(|| match entry.is_single {
        true => {
            format!("{side} is a single number, which has no interval: run it several times, or with a log")
        }
        false => {
            format!(
                "the run of {side} is too short for an interval (2 s of series, or ci95), or moved nothing"
            )
        }
    })?;
    let apart = (means.mean.get() - entry.rate.get()).abs();
    let most = (ERRORS * means.squared_error().sqrt()).max(ROUNDING * means.mean.get());
    if apart > most {
        let (mean, rate) = (means.mean, entry.rate);
        return Err(format!(
            "the series of {side} has a mean of {mean} and its rate is {rate}: they are not of one run"
        ));
    }
    Ok(BatchMeans { mean: entry.rate, ..means })
}

fn cautions(a: &ComparedEntry, b: &ComparedEntry) -> Vec<String> {
    let mut found = Vec::new();
    for (side, entry) in [("A", a), ("B", b)] {
        found.extend(entry.cautions.iter().map(|caution| format!("{side}: {caution}")));
    }
    for (side, this, other) in [("A", a, b), ("B", b, a)] {
        if foreign::access(this).is_none() && foreign::access(other).is_some() && (a.is_single || b.is_single)
        {
            found.push(format!("{side} does not say whether the page cache was bypassed"));
        }
    }
    let unsaid = foreign::not_stated(a);
    if !unsaid.is_empty() && unsaid == foreign::not_stated(b) {
        let what = unsaid.join(", ").replace('_', " ");
        found.push(format!("neither states its {what}: what was measured may not be the same"));
    }
    found.extend(same("engine", &a.engine, &b.engine).err());
    found.extend(same("region_bytes", &a.region, &b.region).err());
    found
}

/// A mean and what is known of its error.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Mean {
    /// The mean.
    value: f64,
    /// The square of its standard error.
    squared_error: f64,
    /// The degrees of freedom of that.
    freedom: f64,
}

impl From<&BatchMeans> for Mean {
    fn from(means: &BatchMeans) -> Self {
        Self { value: means.mean.get(), squared_error: means.squared_error(), freedom: means.freedom() }
    }
}

impl Mean {
    /// The mean of values that are independent of each other; `None` for fewer than two.
    fn of(values: &[f64]) -> Option<Self> {
        let count = values.len() as f64;
        let is_known = count >= 2.0 && values.iter().all(|value| value.is_finite());
        let squared_error = stats::variance(values) / count;
        is_known.then(|| Self { value: stats::mean(values), squared_error, freedom: count - 1.0 })
    }
}

/// Half the width of the interval of the difference of two means, by Welch's method: the squared standard errors add up,
/// with the degrees of freedom of Satterthwaite ("An approximate distribution of estimates of variance components",
/// Biometrics Bulletin 2, 1946).
fn half_width(a: &Mean, b: &Mean, confidence: f64) -> f64 {
    let (x, y) = (a.squared_error, b.squared_error);
    let parts = x * x / a.freedom + y * y / b.freedom;
    let freedom = if parts > 0.0 { (x + y).powi(2) / parts } else { a.freedom + b.freedom };
    student_t(confidence, freedom) * (x + y).sqrt()
}

/// The difference of the mean rate of `b` from that of `a`, with its interval.
fn welch_difference(a: &BatchMeans, b: &BatchMeans, confidence: f64) -> Difference {
    let half = half_width(&a.into(), &b.into(), confidence);
    let (bytes_per_second, interval) = apart(a.mean.get(), b.mean.get(), half);
    let relative = |rate: f64| rate / a.mean.get();
    let (relative, relative_interval) = (relative(bytes_per_second), interval.map(relative));
    Difference { bytes_per_second, interval, relative, relative_interval }
}

/// How far `b` is from `a`, with an interval of so much to both sides.
fn apart(a: f64, b: f64, half: f64) -> (f64, [f64; 2]) {
    (b - a, [b - a - half, b - a + half])
}

/// A percentile is known to within this part of itself: the width of half a bucket of the engine's histogram. Two that
/// lie in one bucket, or in neighbouring ones, may be the same.
const RESOLUTION: f64 = 1.0 / 128.0;

/// A percentile of the latency in both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencyPair {
    /// `p50`, `p90` … `p99.999`.
    pub percentile: String,
    /// In A.
    pub a_ns: Nanos,
    pub b_ns: Nanos,
    /// Which is faster: `slower` when B takes longer.
    pub verdict: Verdict,
    /// The difference with its interval; `null` when how it varies is not known.
    pub difference: Option<LatencyDifference>,
    /// Why `difference` is `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How much longer B takes: the difference of the means over the tenths of both runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencyDifference {
    /// The mean of B less that of A in nanoseconds.
    pub ns: f64,
    /// Its interval: lower and upper end.
    pub interval: [f64; 2],
    /// The same as a fraction of A's mean.
    pub relative: f64,
    /// Its interval as a fraction of A's mean.
    pub relative_interval: [f64; 2],
}

/// Percentiles that both have.
fn shared<'a>(a: &'a [Tail], b: &'a [Tail]) -> impl Iterator<Item = (&'a Tail, &'a Tail)> {
    a.iter().filter_map(|tail| Some((tail, b.iter().find(|other| other.label == tail.label)?)))
}

/// Compares one percentile by Welch's test on its values in the ten tenths of each run. The interval is wider by what
/// the histogram does not resolve.
fn compare_latencies(a: &Tail, b: &Tail, confidence: f64, threshold: f64) -> LatencyPair {
    let difference = a.mean.zip(b.mean).map(|(a, b)| latency_difference(&a, &b, confidence));
    LatencyPair {
        percentile: a.label.to_owned(),
        a_ns: a.value,
        b_ns: b.value,
        verdict: difference.as_ref().map_or(Verdict::NotComparable, |longer| {
            verdict(-longer.relative, longer.interval.map(|end| -end), threshold)
        }),
        reason: difference.is_none().then(|| {
            let side = if a.mean.is_some() { "B" } else { "A" };
            format!("{side} has no values for tenths of the run: it is too short, or has too few samples")
        }),
        difference,
    }
}

fn latency_difference(a: &Mean, b: &Mean, confidence: f64) -> LatencyDifference {
    let half = half_width(a, b, confidence) + RESOLUTION * (a.value + b.value);
    let (ns, interval) = apart(a.value, b.value, half);
    let relative = |ns: f64| if a.value > 0.0 { ns / a.value } else { 0.0 };
    let (relative, relative_interval) = (relative(ns), interval.map(relative));
    LatencyDifference { ns, interval, relative, relative_interval }
}

/// What a gain of B over A says, with the ends of its interval in any order.
fn verdict(relative: f64, interval: [f64; 2], threshold: f64) -> Verdict {
    let counts = |is_so: fn(f64) -> bool| relative.abs() >= threshold && interval.into_iter().all(is_so);
    match (counts(|end| end > 0.0), counts(|end| end < 0.0)) {
        (true, _) => Verdict::Faster,
        (_, true) => Verdict::Slower,
        _ => Verdict::NotDistinguishable,
    }
}

#[cfg(test)]
mod tests {
    use narrows_base::units::BytesPerSec;
    use proptest::prelude::*;

    use super::*;

    fn means(mean: f64, variance: f64, batches: usize) -> BatchMeans {
        BatchMeans { mean: BytesPerSec::new(mean), variance, batches }
    }

    #[test]
    fn welch_the_interval_of_a_worked_example() {
        // 10 means each, 100 and 110 with variances 4 and 36: squared errors 0.4 and 3.6, degrees of freedom
        // 16 / (0.16/9 + 12.96/9) = 10.98, t = 2.201, half width 2.201 × 2 = 4.403.
        let found = welch_difference(&means(100.0, 4.0, 10), &means(110.0, 36.0, 10), 0.95);
        assert_eq!(found.bytes_per_second, 10.0);
        assert!((found.interval[0] - 5.597).abs() < 0.005 && (found.interval[1] - 14.403).abs() < 0.005);
        assert!((found.relative - 0.1).abs() < 1e-12 && (found.relative_interval[0] - 0.055_97).abs() < 5e-5);
    }

    #[test]
    fn constant_rates_differ_exactly() {
        let found = welch_difference(&means(100.0, 0.0, 10), &means(90.0, 0.0, 10), 0.95);
        assert_eq!((found.interval, found.relative), ([-10.0, -10.0], -0.1));
    }

    #[test]
    fn the_error_of_a_mean_is_that_of_its_values() {
        // 1, 2, 3, 4: mean 2.5, sample variance 5/3, squared error 5/12.
        let mean = Mean::of(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert!((mean.value - 2.5).abs() < 1e-12 && (mean.squared_error - 5.0 / 12.0).abs() < 1e-12);
        assert_eq!(Mean::of(&[1.0]), None);
        assert_eq!(Mean::of(&[1.0, f64::NAN]), None);
    }

    proptest! {
        #[test]
        fn turning_the_sides_round_turns_the_sign(
            a in 1.0f64..1e9, b in 1.0f64..1e9, va in 0.0f64..1e12, vb in 0.0f64..1e12,
        ) {
            let (a, b) = (means(a, va, 10), means(b, vb, 10));
            let (there, back) = (welch_difference(&a, &b, 0.95), welch_difference(&b, &a, 0.95));
            prop_assert!((there.interval[0] + back.interval[1]).abs() <= 1e-6 * (1.0 + there.interval[0].abs()));
            prop_assert!(there.interval[0] <= there.bytes_per_second && there.bytes_per_second <= there.interval[1]);
        }
    }

    fn tail(tenths: &[f64]) -> Tail {
        let value = Nanos::new(tenths.iter().sum::<f64>() as u64 / tenths.len().max(1) as u64);
        Tail { label: "p99", value, mean: Mean::of(tenths) }
    }

    #[test]
    fn latency_the_interval_of_a_worked_example() {
        // Ten tenths of 95 and 105 in turn: mean 100, sample variance 250/9, squared error 25/9. Against the same plus
        // 50: t of 18 degrees is 2.101, half width 2.101 × √(50/9) + 250/128 = 4.952 + 1.953.
        let a: Vec<f64> = (0..10).map(|i| if i % 2 == 0 { 95.0 } else { 105.0 }).collect();
        let b: Vec<f64> = a.iter().map(|ns| ns + 50.0).collect();
        let found = compare_latencies(&tail(&a), &tail(&b), 0.95, 0.01);
        let difference = found.difference.unwrap();
        assert_eq!((found.verdict, difference.ns, difference.relative), (Verdict::Slower, 50.0, 0.5));
        assert!((difference.interval[0] - (50.0 - 6.905)).abs() < 0.01, "{difference:?}");
        assert_eq!(compare_latencies(&tail(&b), &tail(&a), 0.95, 0.01).verdict, Verdict::Faster);
    }

    #[test]
    fn what_lies_in_neighbouring_buckets_is_not_told_apart() {
        // 64 and 65 are neighbouring buckets of 64 steps for a power of two; 70 is six buckets away.
        let at = |ns: f64| tail(&[ns; 10]);
        assert_eq!(compare_latencies(&at(64.0), &at(65.0), 0.95, 0.0).verdict, Verdict::NotDistinguishable);
        assert_eq!(compare_latencies(&at(64.0), &at(70.0), 0.95, 0.0).verdict, Verdict::Slower);
        assert_eq!(compare_latencies(&at(64.0), &at(70.0), 0.95, 0.2).verdict, Verdict::NotDistinguishable);
    }

    #[test]
    fn without_tenths_no_difference_is_claimed() {
        let bare = Tail { label: "p99", value: Nanos::new(5), mean: None };
        let found = compare_latencies(&tail(&[1.0; 10]), &bare, 0.95, 0.0);
        assert_eq!((found.verdict, found.difference), (Verdict::NotComparable, None));
        assert!(found.reason.unwrap().starts_with("B has no values"));
    }
}
