//! fio's histogram of latencies.
//!
//! Source: fio's `stat.h` (the comment at `FIO_IO_U_PLAT_BITS`), `stat.c` (`plat_val_to_idx`, `plat_idx_to_val`,
//! `calc_clat_percentiles`), `iolog.c` (`flush_hist_samples`); `tools/hist/fio-histo-log-pctiles.py` reads the same. A
//! value below 128 has a bucket of its own; above that each power of two has 64 of them, so a bucket is at most 1/64 of
//! its value wide. fio 2 counts microseconds in 19 groups, fio 3 nanoseconds in 29.

use crate::results::{Latency, Percentile};

/// Buckets of a group: `FIO_IO_U_PLAT_VAL`.
const OF_GROUP: usize = 64;

/// The buckets of fio 3: 29 groups.
pub(in crate::results::fio) const ALL: usize = 29 * OF_GROUP;

/// The buckets of fio 2: 19 groups.
pub(super) const ALL_OF_2: usize = 19 * OF_GROUP;

/// The percentiles that fio prints unless told otherwise (HOWTO, `percentile_list`).
const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

/// How many values fell in each bucket.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Buckets {
    counts: Vec<u64>,
    /// Buckets that a log of a histogram puts together (`log_hist_coarseness`, a power of two).
    stride: usize,
    /// The nanoseconds of a value of 1.
    unit: f64,
}

impl Default for Buckets {
    fn default() -> Self {
        Self { counts: vec![0; ALL], stride: 1, unit: 1.0 }
    }
}

impl Buckets {
    /// Buckets for logs of a histogram with so many columns of counts; `None` when fio writes no such log.
    pub(super) fn of_columns(columns: usize) -> Option<Self> {
        let all = [ALL, ALL_OF_2].into_iter().find(|all| {
            (0..=6).any(|coarseness| all >> coarseness == columns && all % (1 << coarseness) == 0)
        })?;
        let unit = if all == ALL { 1.0 } else { 1000.0 };
        Some(Self { counts: vec![0; columns], stride: all / columns, unit })
    }

    /// Counts one value, in the unit that these buckets have.
    pub(super) fn add(&mut self, value: u64) {
        if let Some(count) = self.counts.get_mut(index(value).min(ALL - 1)) {
            *count += 1;
        }
    }

    /// Adds to the count of a bucket of a log.
    pub(super) fn add_to(&mut self, bucket: usize, more: u64) {
        if let Some(count) = self.counts.get_mut(bucket) {
            *count = count.saturating_add(more);
        }
    }

    /// Adds the counts of others; whether they are buckets of the same kind.
    pub(super) fn merge(&mut self, other: &Self) -> bool {
        let is_same = (self.counts.len(), self.stride) == (other.counts.len(), other.stride);
        if is_same {
            for (count, more) in self.counts.iter_mut().zip(&other.counts) {
                *count = count.saturating_add(*more);
            }
        }
        is_same
    }

    /// How many values there are.
    pub(super) fn total(&self) -> u64 {
        self.counts.iter().fold(0, |sum: u64, count| sum.saturating_add(*count))
    }

    /// The middle of a bucket, in nanoseconds.
    fn middle(&self, bucket: usize) -> f64 {
        let first = bucket * self.stride;
        if self.stride == 1 {
            return middle(first) as f64 * self.unit;
        }
        let (low, high) = (lower(first), lower(first + self.stride));
        (low as f64 + (high - low) as f64 / 2.0) * self.unit
    }

    /// Mean and percentiles in nanoseconds, as fio computes them: of the bucket in which a percentile falls, the middle.
    pub(super) fn latency(&self) -> Option<Latency> {
        let total = self.total();
        if total == 0 {
            return None;
        }
        let used = || self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let sum: f64 = used().map(|(bucket, count)| self.middle(bucket) * *count as f64).sum();
        let mut percentiles = Vec::with_capacity(PERCENTILES.len());
        let mut wanted = PERCENTILES.iter().peekable();
        let mut below = 0u64;
        for (bucket, count) in used() {
            below = below.saturating_add(*count);
            while let Some(percent) =
                wanted.next_if(|percent| below as f64 >= **percent / 100.0 * total as f64)
            {
                percentiles.push(Percentile { percent: *percent, latency_ns: self.middle(bucket) });
            }
        }
        Some(Latency::of_mean(sum / total as f64).with_percentiles(percentiles))
    }
}

/// The bucket of a value: `plat_val_to_idx`.
fn index(value: u64) -> usize {
    if value < 2 * OF_GROUP as u64 {
        return usize::try_from(value).unwrap_or(0);
    }
    let lost = 63 - value.leading_zeros() - 6;
    let within = usize::try_from(value >> lost).unwrap_or(0) % OF_GROUP;
    (lost as usize + 1) * OF_GROUP + within
}

/// The least value of a bucket.
fn lower(bucket: usize) -> u64 {
    if bucket < 2 * OF_GROUP {
        return bucket as u64;
    }
    let lost = bucket / OF_GROUP - 1;
    ((OF_GROUP + bucket % OF_GROUP) as u64) << lost
}

/// The value that fio prints for a bucket: `plat_idx_to_val`.
pub(in crate::results::fio) fn middle(bucket: usize) -> u64 {
    if bucket < 2 * OF_GROUP {
        return bucket as u64;
    }
    let lost = bucket / OF_GROUP - 1;
    lower(bucket) + (1 << lost >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_are_those_of_stat_h() {
        // The table in fio's stat.h: group 2 has buckets of 2 from 128 on, group 3 of 4 from 256 on.
        assert_eq!((index(127), index(128), index(129), index(130), index(256)), (127, 128, 128, 129, 192));
        assert_eq!((lower(128), lower(192)), (128, 256));
        // Percentiles that fio prints are middles: 100864 of the fio 3.34 output in results/fio/json.rs.
        assert_eq!(middle(index(100_500)), 100_864);
    }

    #[test]
    fn the_columns_of_a_log_tell_coarseness_and_unit() {
        for coarseness in 0..=6 {
            let fine = Buckets::of_columns(ALL >> coarseness).map(|one| (one.stride, one.unit));
            assert_eq!(fine, (coarseness <= 6).then_some((1 << coarseness, 1.0)));
        }
        assert_eq!(Buckets::of_columns(ALL_OF_2).map(|one| one.unit), Some(1000.0));
        assert!(Buckets::of_columns(100).is_none() && Buckets::of_columns(0).is_none());
    }

    #[test]
    fn percentiles_of_a_hundred_values() {
        let mut buckets = Buckets::default();
        (1..=100).for_each(|value| buckets.add(value));
        let latency = buckets.latency().expect("values");
        assert_eq!((latency.mean, latency.p50, latency.p99), (Some(50.5), Some(50.0), Some(99.0)));
        assert!(Buckets::default().latency().is_none());
    }

    proptest! {
        #[test]
        fn a_value_is_within_its_bucket(value in 0u64..(1 << 34)) {
            let bucket = index(value);
            prop_assert!(lower(bucket) <= value && value < lower(bucket + 1), "{}", bucket);
            prop_assert!((middle(bucket) as f64 - value as f64).abs() <= value as f64 / 128.0 + 1.0);
        }

        #[test]
        fn what_is_put_together_is_what_was_seen_together(
            first in prop::collection::vec(0u64..1_000_000_000, 1..50),
            second in prop::collection::vec(0u64..1_000_000_000, 1..50),
        ) {
            let of = |values: &[u64]| {
                let mut buckets = Buckets::default();
                values.iter().for_each(|value| buckets.add(*value));
                buckets
            };
            let mut merged = of(&first);
            prop_assert!(merged.merge(&of(&second)));
            prop_assert_eq!(merged, of(&[first, second].concat()));
        }
    }
}
