//! Which of two results is faster, how sure is that, and what was different? Statistics on runs, and a diff of what was
//! measured on.

mod foreign;
mod input;
mod inventory;
mod latency;
mod results;
mod welch;

pub use input::{Input, InputError};
pub use latency::{LatencyDifference, LatencyPair};

use serde::{Deserialize, Serialize};

use input::Entry;
use narrows_base::units::{BytesPerSec, human};
use narrows_load::stats::BatchMeans;

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
    let tails: usize = pairs
        .iter()
        .map(|(a, b)| {
            latency::shared(&a.tails, &b.tails).filter(|(a, b)| latency::is_comparable(a, b)).count()
        })
        .sum();
    let share = if tails > 0 { 0.5 } else { 1.0 };
    let sure =
        |part: f64, count: usize| 1.0 - (1.0 - CONFIDENCE) * part / (count.max(1) * together.max(1)) as f64;
    let test = Test { rate: sure(share, pairs.len()), latency: sure(1.0 - share, tails), threshold };
    let workloads: Vec<WorkloadComparison> = pairs.iter().map(|(a, b)| compare_one(a, b, test)).collect();
    let latencies = workloads.iter().flat_map(|workload| &workload.latency);
    Comparison {
        schema: SCHEMA.to_owned(),
        a: a.name.clone(),
        b: b.name.clone(),
        verdict: overall(workloads.iter().map(|workload| workload.verdict)),
        latency_verdict: overall(latencies.map(|pair| pair.verdict)),
        confidence: CONFIDENCE,
        threshold,
        workloads,
        unmatched,
        inventory: inventory::changes(&a.inventory, &b.inventory),
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

fn compare_one(a: &Entry, b: &Entry, test: Test) -> WorkloadComparison {
    let difference = comparable(a, b).map(|(a, b)| welch::difference(&a, &b, test.rate));
    // What makes the rates incomparable, such as another queue depth, makes the latencies so, too.
    let is_alike = alike(a, b).is_ok();
    let is_single = is_alike && (a.is_single || b.is_single) && difference.is_err();
    let verdict = match &difference {
        Err(_) if is_single => Verdict::NotDistinguishable,
        Err(_) => Verdict::NotComparable,
        Ok(found) if found.relative.abs() < test.threshold => Verdict::NotDistinguishable,
        Ok(Difference { interval: [low, _], .. }) if *low > 0.0 => Verdict::Faster,
        Ok(Difference { interval: [_, high], .. }) if *high < 0.0 => Verdict::Slower,
        Ok(_) => Verdict::NotDistinguishable,
    };
    let tails = latency::shared(&a.tails, &b.tails).filter(|_| is_alike);
    let latency = tails.map(|(a, b)| latency::compare(a, b, test.latency, test.threshold));
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
fn alike(a: &Entry, b: &Entry) -> Result<(), String> {
    let same = |what: &str, a: &Option<String>, b: &Option<String>| match (a, b) {
        (Some(a), Some(b)) if a != b => Err(format!("{what} differs: {a}, {b}")),
        _ => Ok(()),
    };
    same("access", &a.access, &b.access)?;
    same("generator.queue_depth", &a.depth, &b.depth)
}

/// The means of two runs that may be compared, or why they may not.
fn comparable(a: &Entry, b: &Entry) -> Result<(BatchMeans, BatchMeans), String> {
    alike(a, b)?;
    let means = |entry: &Entry, side: &str| {
        entry.means.filter(|means| means.mean.get() > 0.0).ok_or_else(|| {
            if entry.is_single {
                return format!(
                    "{side} is a single number, which has no interval: run it several times, or with a log"
                );
            }
            format!(
                "the run of {side} is too short for an interval (2 s of series, or ci95), or moved nothing"
            )
        })
    };
    Ok((of_its_rate(a, "A", means(a, "A")?)?, of_its_rate(b, "B", means(b, "B")?)?))
}

/// The batch means around the rate that is printed, so that a difference is that of the two rates beside it. The last samples,
/// too few for a batch, make the two differ a little; a series of another run makes them differ by more.
fn of_its_rate(entry: &Entry, side: &str, means: BatchMeans) -> Result<BatchMeans, String> {
    /// The tenth of the run that batches leave out at most cannot move the mean further than so many standard errors, and
    /// rounding not further than this part of it.
    const ERRORS: f64 = 4.0;
    const ROUNDING: f64 = 0.02;
    let apart = (means.mean.get() - entry.rate.get()).abs();
    let most = (ERRORS * means.squared_error().sqrt()).max(ROUNDING * means.mean.get());
    if apart > most {
        return Err(format!(
            "the series of {side} has a mean of {} and its rate is {}: they are not of one run",
            human::rate(means.mean),
            human::rate(entry.rate)
        ));
    }
    Ok(BatchMeans { mean: entry.rate, ..means })
}

fn cautions(a: &Entry, b: &Entry) -> Vec<String> {
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
    for (what, a, b) in [("engine", &a.engine, &b.engine), ("region_bytes", &a.region, &b.region)] {
        if let (Some(a), Some(b)) = (a, b)
            && a != b
        {
            found.push(format!("{what} differs: {a}, {b}"));
        }
    }
    found
}
