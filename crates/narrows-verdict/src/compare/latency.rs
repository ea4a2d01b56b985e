//! Which of two runs answers faster, percentile by percentile.

use serde::{Deserialize, Serialize};

use super::Verdict;
use super::input::Tail;
use super::welch::{Mean, half_width};
use narrows_base::units::Nanos;

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
    /// In B.
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
pub(super) fn shared<'a>(a: &'a [Tail], b: &'a [Tail]) -> impl Iterator<Item = (&'a Tail, &'a Tail)> {
    a.iter().filter_map(|tail| Some((tail, b.iter().find(|other| other.label == tail.label)?)))
}

/// Whether a difference can be computed.
pub(super) fn is_comparable(a: &Tail, b: &Tail) -> bool {
    a.mean.is_some() && b.mean.is_some()
}

/// Compares one percentile by Welch's test on its values in the ten tenths of each run. The interval is wider by what
/// the histogram does not resolve.
pub(super) fn compare(a: &Tail, b: &Tail, confidence: f64, threshold: f64) -> LatencyPair {
    let difference = a.mean.zip(b.mean).map(|(a, b)| difference(&a, &b, confidence));
    LatencyPair {
        percentile: a.label.to_owned(),
        a_ns: a.value,
        b_ns: b.value,
        verdict: verdict(difference.as_ref(), threshold),
        reason: difference.is_none().then(|| {
            let side = if a.mean.is_some() { "B" } else { "A" };
            format!("{side} has no values for tenths of the run: it is too short, or has too few samples")
        }),
        difference,
    }
}

fn difference(a: &Mean, b: &Mean, confidence: f64) -> LatencyDifference {
    let half = half_width(a, b, confidence) + RESOLUTION * (a.value + b.value);
    let apart = b.value - a.value;
    let interval = [apart - half, apart + half];
    let relative = |ns: f64| if a.value > 0.0 { ns / a.value } else { 0.0 };
    LatencyDifference {
        ns: apart,
        interval,
        relative: relative(apart),
        relative_interval: interval.map(relative),
    }
}

fn verdict(difference: Option<&LatencyDifference>, threshold: f64) -> Verdict {
    match difference {
        None => Verdict::NotComparable,
        Some(found) if found.relative.abs() < threshold => Verdict::NotDistinguishable,
        Some(LatencyDifference { interval: [low, _], .. }) if *low > 0.0 => Verdict::Slower,
        Some(LatencyDifference { interval: [_, high], .. }) if *high < 0.0 => Verdict::Faster,
        Some(_) => Verdict::NotDistinguishable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(tenths: &[f64]) -> Tail {
        let value = Nanos::new(tenths.iter().sum::<f64>() as u64 / tenths.len().max(1) as u64);
        Tail { label: "p99", value, mean: Mean::of(tenths) }
    }

    #[test]
    fn the_interval_of_a_worked_example() {
        // Ten tenths of 95 and 105 in turn: mean 100, sample variance 250/9, squared error 25/9. Against the same plus
        // 50: t of 18 degrees is 2.101, half width 2.101 × √(50/9) + 250/128 = 4.952 + 1.953.
        let a: Vec<f64> = (0..10).map(|i| if i % 2 == 0 { 95.0 } else { 105.0 }).collect();
        let b: Vec<f64> = a.iter().map(|ns| ns + 50.0).collect();
        let found = compare(&tail(&a), &tail(&b), 0.95, 0.01);
        let difference = found.difference.unwrap();
        assert_eq!((found.verdict, difference.ns, difference.relative), (Verdict::Slower, 50.0, 0.5));
        assert!((difference.interval[0] - (50.0 - 6.905)).abs() < 0.01, "{difference:?}");
        assert_eq!(compare(&tail(&b), &tail(&a), 0.95, 0.01).verdict, Verdict::Faster);
    }

    #[test]
    fn what_lies_in_neighbouring_buckets_is_not_told_apart() {
        // 64 and 65 are neighbouring buckets of 64 steps for a power of two; 70 is six buckets away.
        let at = |ns: f64| tail(&[ns; 10]);
        assert_eq!(compare(&at(64.0), &at(65.0), 0.95, 0.0).verdict, Verdict::NotDistinguishable);
        assert_eq!(compare(&at(64.0), &at(70.0), 0.95, 0.0).verdict, Verdict::Slower);
        assert_eq!(compare(&at(64.0), &at(70.0), 0.95, 0.2).verdict, Verdict::NotDistinguishable);
    }

    #[test]
    fn without_tenths_no_difference_is_claimed() {
        let bare = Tail { label: "p99", value: Nanos::new(5), mean: None };
        let found = compare(&tail(&[1.0; 10]), &bare, 0.95, 0.0);
        assert_eq!((found.verdict, found.difference), (Verdict::NotComparable, None));
        assert!(found.reason.unwrap().starts_with("B has no values"));
    }
}
