//! Which percentiles are reported, and how many samples each needs.

/// A percentile of latencies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Percentile {
    /// How people write it: `p99.9`.
    pub label: &'static str,
    /// Its field in JSON: `p999`.
    pub key: &'static str,
    /// The fraction of I/Os that do not exceed it.
    pub fraction: f64,
}

/// The percentiles of every result, from the median to five nines.
pub const PERCENTILES: [Percentile; 7] = [
    Percentile { label: "p50", key: "p50", fraction: 0.5 },
    Percentile { label: "p90", key: "p90", fraction: 0.9 },
    Percentile { label: "p95", key: "p95", fraction: 0.95 },
    Percentile { label: "p99", key: "p99", fraction: 0.99 },
    Percentile { label: "p99.9", key: "p999", fraction: 0.999 },
    Percentile { label: "p99.99", key: "p9999", fraction: 0.9999 },
    Percentile { label: "p99.999", key: "p99999", fraction: 0.99999 },
];

/// How sure it must be that the slowest of the samples lies beyond a percentile.
const CONFIDENCE: f64 = 0.95;

impl Percentile {
    /// The fewest samples that say something of it: with fewer, all of them may lie below it, and what is taken for the
    /// percentile is merely the slowest sample.
    ///
    /// The slowest of n samples exceeds the quantile q with a probability of 1 − qⁿ (Wilks, "Determination of sample
    /// sizes for setting tolerance limits", Annals of Mathematical Statistics 12, 1941), which must be 95 %.
    pub fn least_samples(&self) -> u64 {
        ((1.0 - CONFIDENCE).ln() / self.fraction.ln()).ceil() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_samples_are_those_of_wilks() {
        // 59 for 95/95 and 299 for 95/99 are in every table of one-sided tolerance limits.
        let least: Vec<u64> = PERCENTILES.iter().map(Percentile::least_samples).collect();
        assert_eq!(least, [5, 29, 59, 299, 2995, 29_956, 299_572]);
    }
}
