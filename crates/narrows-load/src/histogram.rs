//! A log-linear histogram of ticks: small enough for the L1 cache, precise enough for five nines.

/// Sub-buckets in each power of two, as a power of two: 2⁶ = 64.
const SUB_BITS: u32 = 6;
const SUB: u64 = 1 << SUB_BITS;
/// Values from 2⁴⁰ ticks (over 6 minutes at 2.6 GHz) are only counted as overflow.
const LIMIT_BITS: u32 = 40;
const BUCKETS: usize = ((LIMIT_BITS - SUB_BITS + 1) as usize) << SUB_BITS;

/// Counts of values in buckets whose width is at most 1/64 of their value; least, most, sum and count are exact.
///
/// A quantile is reported as the middle of its bucket, so it is off by at most 1/128 of itself (0.8 %). Values below 128
/// are exact. The layout is that of fio's and HdrHistogram's tables: 64 linear steps for each power of two.
#[derive(Debug, Clone)]
pub(super) struct Histogram {
    buckets: Box<[u64]>,
    count: u64,
    overflow: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Histogram {
    /// An empty histogram with all its memory touched.
    pub(super) fn new() -> Self {
        let buckets = vec![0; BUCKETS].into_boxed_slice();
        Self { buckets, count: 0, overflow: 0, sum: 0, min: u64::MAX, max: 0 }
    }

    /// Counts one value.
    #[cfg(test)]
    pub(super) fn record(&mut self, value: u64) {
        self.record_many(value, 1);
    }

    /// Counts one value so many times, at least once.
    #[inline]
    pub(super) fn record_many(&mut self, value: u64, times: u64) {
        match self.buckets.get_mut(index(value)) {
            Some(bucket) => *bucket += times,
            None => self.overflow += times,
        }
        self.count += times;
        self.sum += u128::from(value) * u128::from(times);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds all values of another histogram.
    pub(super) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
        self.count += other.count;
        self.overflow += other.overflow;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// How many values were counted, overflow included.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// How many values were too large for a bucket; they are in count, sum and maximum, and a quantile among them is
    /// the maximum.
    pub(super) fn overflow(&self) -> u64 {
        self.overflow
    }

    /// The exact sum.
    pub(super) fn sum(&self) -> u128 {
        self.sum
    }

    /// The exact mean; `None` when empty.
    pub(super) fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The exact minimum; `None` when empty.
    pub(super) fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// The exact maximum; `None` when empty.
    pub(super) fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// The least value that at least the fraction `q` of all values does not exceed (the nearest-rank definition), to
    /// within 1/128; `None` when empty.
    pub(super) fn quantile(&self, q: f64) -> Option<u64> {
        let (min, max) = (self.min()?, self.max()?);
        let rank = ((q.clamp(0.0, 1.0) * self.count as f64).ceil() as u64).clamp(1, self.count);
        if rank == self.count {
            return Some(max);
        }
        let mut seen = 0;
        for (index, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return Some(middle(index).clamp(min, max));
            }
        }
        Some(max)
    }

    /// Makes this copy of a histogram what `to` has become since, and returns what was added to it meanwhile.
    pub(super) fn advance(&mut self, to: &Self) -> Counts {
        let mut added = Vec::new();
        for (index, (mine, theirs)) in (0..).zip(self.buckets.iter_mut().zip(&to.buckets)) {
            if theirs > mine {
                added.push((index, *theirs - *mine));
            }
            *mine = *theirs;
        }
        if to.overflow > self.overflow {
            added.push((BUCKETS as u16, to.overflow - self.overflow));
        }
        (self.count, self.overflow, self.sum) = (to.count, to.overflow, to.sum);
        (self.min, self.max) = (to.min, to.max);
        Counts(added)
    }
}

/// The values of a part of a run: buckets that are not empty with their counts, in the order of buckets. Those that were
/// too large for a bucket are in one behind the last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Counts(Vec<(u16, u64)>);

impl Counts {
    /// Adds other counts.
    pub(super) fn merge(&mut self, other: &Self) {
        let mut merged = Vec::with_capacity(self.0.len().max(other.0.len()));
        let (mut mine, mut theirs) = (self.0.iter().copied().peekable(), other.0.iter().copied().peekable());
        loop {
            let next = match (mine.peek(), theirs.peek()) {
                (Some(a), Some(b)) if a.0 == b.0 => {
                    mine.next().zip(theirs.next()).map(|((index, a), (_, b))| (index, a + b))
                }
                (Some(a), Some(b)) if a.0 < b.0 => mine.next(),
                (Some(_), None) => mine.next(),
                (_, Some(_)) => theirs.next(),
                (None, None) => break,
            };
            merged.extend(next);
        }
        self.0 = merged;
    }

    /// How many values there are.
    pub(super) fn count(&self) -> u64 {
        self.0.iter().map(|(_, count)| count).sum()
    }

    /// The middle of each bucket with its count, least first.
    pub(super) fn values(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter().map(|(index, count)| (middle(usize::from(*index)), *count))
    }

    /// The least value that at least the fraction `q` of all values does not exceed, to within 1/128; `None` when there
    /// are none.
    pub(super) fn quantile(&self, q: f64) -> Option<u64> {
        let all = self.count();
        let rank = ((q.clamp(0.0, 1.0) * all as f64).ceil() as u64).clamp(1, all.max(1));
        let mut seen = 0;
        self.values().find_map(|(value, count)| {
            seen += count;
            (seen >= rank).then_some(value)
        })
    }
}

/// The bucket of a value; at or past [`BUCKETS`] for an overflow.
#[inline]
fn index(value: u64) -> usize {
    if value < SUB {
        return value as usize;
    }
    let shift = value.ilog2() - SUB_BITS;
    (((u64::from(shift) + 1) << SUB_BITS) + ((value >> shift) & (SUB - 1))) as usize
}

/// The middle of a bucket.
fn middle(index: usize) -> u64 {
    let index = index as u64;
    let group = index >> SUB_BITS;
    if group == 0 {
        return index;
    }
    let shift = group - 1;
    ((SUB + (index & (SUB - 1))) << shift) + (((1u64 << shift) - 1) / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filled(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|value| histogram.record(*value));
        histogram
    }

    #[test]
    fn an_empty_histogram_knows_nothing() {
        let histogram = Histogram::new();
        assert_eq!((histogram.min(), histogram.max(), histogram.quantile(0.5)), (None, None, None));
        assert_eq!(histogram.mean(), None);
    }

    #[test]
    fn known_delays_land_at_their_quantiles() {
        // 999 I/Os of 80 000 ticks and one of 2 000 000: the tail must not disappear.
        let mut values = vec![80_000; 9_990];
        values.extend([2_000_000; 10]);
        let histogram = filled(&values);
        let near = |got: Option<u64>, want: f64| (got.unwrap() as f64 / want - 1.0).abs() <= 1.0 / 128.0;
        assert!(near(histogram.quantile(0.5), 80_000.0));
        assert!(near(histogram.quantile(0.999), 80_000.0));
        assert!(near(histogram.quantile(0.9995), 2_000_000.0));
        assert_eq!(histogram.max(), Some(2_000_000));
        assert_eq!(histogram.mean(), Some(81_920.0));
    }

    #[test]
    fn a_value_past_the_last_bucket_is_counted_and_never_clamped() {
        let histogram = filled(&[1, 2, 1 << LIMIT_BITS, u64::MAX]);
        assert_eq!((histogram.count(), histogram.overflow()), (4, 2));
        assert_eq!(histogram.max(), Some(u64::MAX));
        assert_eq!(histogram.quantile(0.75), Some(u64::MAX));
        assert_eq!(filled(&[(1 << LIMIT_BITS) - 1]).overflow(), 0);
    }

    #[test]
    fn it_fits_the_l1_cache() {
        assert!(BUCKETS * size_of::<u64>() <= 18 * 1024);
    }

    proptest! {
        #[test]
        fn quantiles_agree_with_a_sorted_list(
            values in prop::collection::vec((0u32..40, any::<u64>()), 1..400), q in 0.0f64..=1.0,
        ) {
            let mut values: Vec<u64> = values.into_iter().map(|(bits, v)| v & ((1 << bits) - 1)).collect();
            let histogram = filled(&values);
            values.sort_unstable();
            let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let exact = values[rank - 1] as f64;
            let got = histogram.quantile(q).unwrap() as f64;
            prop_assert!((got - exact).abs() <= exact / 128.0, "{} for {}", got, exact);
            prop_assert_eq!(histogram.min(), values.first().copied());
            prop_assert_eq!(histogram.max(), values.last().copied());
            prop_assert_eq!(histogram.sum(), values.iter().map(|v| u128::from(*v)).sum::<u128>());
        }

        #[test]
        fn what_was_added_meanwhile_is_what_was_recorded(
            before in prop::collection::vec(any::<u64>(), 0..50), meanwhile in prop::collection::vec(0u64..1 << 44, 0..50),
            later in prop::collection::vec(0u64..1 << 20, 0..50), q in 0.0f64..=1.0,
        ) {
            let mut histogram = filled(&before);
            let mut copy = histogram.clone();
            meanwhile.iter().for_each(|value| histogram.record(*value));
            let mut first = copy.advance(&histogram);
            prop_assert_eq!(&first, &Histogram::new().advance(&filled(&meanwhile)));
            prop_assert_eq!(copy.advance(&histogram), Counts::default());
            later.iter().for_each(|value| histogram.record(*value));
            first.merge(&copy.advance(&histogram));
            let both = filled(&[meanwhile, later].concat());
            prop_assert_eq!(&first, &Histogram::new().advance(&both));
            prop_assert_eq!(first.count(), both.count());
            if let (Some(got), Some(want)) = (first.quantile(q), both.quantile(q).filter(|want| *want < 1 << LIMIT_BITS)) {
                prop_assert!((got as f64 - want as f64).abs() <= want as f64 / 64.0, "{} for {}", got, want);
            }
        }

        #[test]
        fn merging_is_recording_both(a in prop::collection::vec(any::<u64>(), 0..99),
                                     b in prop::collection::vec(0u64..1 << 30, 0..99)) {
            let mut merged = filled(&a);
            merged.merge(&filled(&b));
            let both = filled(&[a, b].concat());
            prop_assert_eq!(&merged.buckets, &both.buckets);
            prop_assert_eq!((merged.count, merged.overflow, merged.sum, merged.min, merged.max),
                            (both.count, both.overflow, both.sum, both.min, both.max));
        }
    }
}
