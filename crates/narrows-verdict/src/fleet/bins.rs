//! Latencies of many hosts as one histogram.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use narrows_base::units::Nanos;

/// Counts of latencies by the middle of their bucket in nanoseconds, as fio's JSON+ has them. The same version of fio has the same
/// buckets on every host, so that sums of counts are those of one histogram of all I/Os.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Bins(BTreeMap<u64, u64>);

impl From<BTreeMap<u64, u64>> for Bins {
    fn from(counts: BTreeMap<u64, u64>) -> Self {
        Self(counts)
    }
}

impl Bins {
    /// Adds the counts of others.
    pub fn merge(&mut self, other: &Self) {
        for (bin, count) in &other.0 {
            let sum = self.0.entry(*bin).or_default();
            *sum = sum.saturating_add(*count);
        }
    }

    /// How many I/Os there are.
    pub fn total(&self) -> u64 {
        self.0.values().fold(0, |sum: u64, count| sum.saturating_add(*count))
    }

    /// The counts by bucket.
    pub const fn counts(&self) -> &BTreeMap<u64, u64> {
        &self.0
    }

    /// The middle of the bucket in which a percentile falls, as fio computes it (`stat.c`, `calc_clat_percentiles`); `None` where
    /// fewer I/Os lie beyond it than tell anything of it.
    pub fn percentile(&self, percent: f64) -> Option<Nanos> {
        /// A percentile with less than this many I/Os beyond it is one of single I/Os.
        const BEYOND: f64 = 5.0;
        let total = self.total() as f64;
        if total == 0.0 || total * (1.0 - percent / 100.0) < BEYOND {
            return None;
        }
        let wanted = percent / 100.0 * total;
        let mut below = 0.0;
        for (bin, count) in &self.0 {
            below += *count as f64;
            if below >= wanted {
                return Some(Nanos::new(*bin));
            }
        }
        None
    }

    /// The mean of the middles; a bucket is at most 1/64 of its value wide.
    pub fn mean(&self) -> Option<Nanos> {
        let total = self.total();
        let sum: f64 = self.0.iter().map(|(bin, count)| *bin as f64 * *count as f64).sum();
        (total > 0).then(|| Nanos::new((sum / total as f64) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bins(counts: &[(u64, u64)]) -> Bins {
        Bins::from(counts.iter().copied().collect::<BTreeMap<u64, u64>>())
    }

    #[test]
    fn a_percentile_of_all_is_none_of_the_means() {
        // Nine hosts answer in 20 µs, one in 300 µs with a tenth of the I/Os of each other.
        let fast = bins(&[(20_000, 10_000)]);
        let mut all = bins(&[(300_000, 1000)]);
        (0..9).for_each(|_| all.merge(&fast));
        assert_eq!(all.total(), 91_000);
        assert_eq!(all.percentile(99.0), Some(Nanos::new(300_000)));
        assert_eq!(all.percentile(98.0), Some(Nanos::new(20_000)));
    }

    #[test]
    fn single_ios_are_no_percentile() {
        assert_eq!(bins(&[(100, 99), (900, 1)]).percentile(99.0), None);
        assert_eq!(bins(&[(100, 50)]).percentile(50.0), Some(Nanos::new(100)));
        assert_eq!((Bins::default().percentile(50.0), Bins::default().mean()), (None, None));
    }

    proptest! {
        #[test]
        fn merged_is_what_one_histogram_of_all_has(
            values in prop::collection::vec((0usize..7, 1u64..1_000_000), 0..200),
        ) {
            let mut parts = vec![BTreeMap::new(); 7];
            let mut whole = BTreeMap::new();
            for (host, value) in values {
                *parts[host].entry(value).or_insert(0) += 1;
                *whole.entry(value).or_insert(0) += 1;
            }
            let mut merged = Bins::default();
            parts.into_iter().for_each(|part| merged.merge(&Bins::from(part)));
            prop_assert_eq!(merged, Bins::from(whole));
        }
    }
}
