//! The latencies of a run by parts of its time, so that a percentile has a spread and not only a value.
//!
//! Nothing of this is in the path of an I/O: when a worker sees that a sample of the series is over, the histogram is
//! compared with a copy of what it was before, which takes some microseconds.

use super::histogram::{Counts, Histogram};

/// The parts that are reported.
pub(super) const TENTHS: u64 = 10;
/// So many parts are kept at most. Then neighbours become one: how long a run will be is not known before its end.
const MOST: u64 = 200;

/// What was recorded in each part.
#[derive(Debug, Clone)]
pub(super) struct Parts {
    /// Samples of the series in each part.
    width: u64,
    parts: Vec<Counts>,
    /// The sample that is not over.
    sample: u64,
    /// The histogram when that sample began.
    seen: Histogram,
}

impl Parts {
    /// Nothing recorded, in the first sample.
    pub(super) fn new() -> Self {
        Self { width: 1, parts: Vec::new(), sample: 0, seen: Histogram::new() }
    }

    /// Goes on to another sample: all that was recorded in `histogram` since the last time belongs to the sample before
    /// it. So does the batch that shows that it is over.
    pub(super) fn enter(&mut self, sample: u64, histogram: &Histogram) {
        if histogram.count() != self.seen.count() {
            let added = self.seen.advance(histogram);
            while self.sample / self.width >= MOST {
                self.widen();
            }
            let index = (self.sample / self.width) as usize;
            if self.parts.len() <= index {
                self.parts.resize(index + 1, Counts::default());
            }
            if let Some(part) = self.parts.get_mut(index) {
                part.merge(&added);
            }
        }
        self.sample = sample;
    }

    /// Makes one part of two.
    fn widen(&mut self) {
        self.width = self.width.saturating_mul(2);
        self.parts = self
            .parts
            .chunks(2)
            .map(|pair| {
                let mut both = Counts::default();
                pair.iter().for_each(|part| both.merge(part));
                both
            })
            .collect();
    }

    /// Adds the parts of another worker over the same time. Both must have been entered last with the histograms that
    /// are merged.
    pub(super) fn merge(&mut self, other: &Self) {
        let mut other = other.clone();
        while self.width < other.width {
            self.widen();
        }
        while other.width < self.width {
            other.widen();
        }
        if self.parts.len() < other.parts.len() {
            self.parts.resize(other.parts.len(), Counts::default());
        }
        for (mine, theirs) in self.parts.iter_mut().zip(&other.parts) {
            mine.merge(theirs);
        }
        self.seen.merge(&other.seen);
        self.sample = self.sample.max(other.sample);
    }

    /// Ten parts of a run of so many samples, as equal as whole samples allow; fewer when there are fewer samples.
    pub(super) fn tenths(&self, samples: u64) -> Vec<Counts> {
        let kept = samples.div_ceil(self.width).max(self.parts.len() as u64).max(1);
        let count = kept.min(TENTHS);
        (0..count)
            .map(|tenth| {
                let (from, to) = (kept * tenth / count, kept * (tenth + 1) / count);
                let mut counts = Counts::default();
                let members = self.parts.iter().skip(from as usize).take((to - from) as usize);
                members.for_each(|part| counts.merge(part));
                counts
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A run in which each sample records its own number, `each` times.
    fn counted(samples: u64, each: u64) -> (Parts, Histogram) {
        let (mut parts, mut histogram) = (Parts::new(), Histogram::new());
        for sample in 0..samples {
            (0..each).for_each(|_| histogram.record(sample));
            parts.enter(sample + 1, &histogram);
        }
        (parts, histogram)
    }

    #[test]
    fn each_tenth_has_what_was_recorded_in_it() {
        let (parts, _) = counted(30, 2);
        let tenths = parts.tenths(30);
        assert_eq!(tenths.len(), 10);
        assert_eq!(tenths[3].values().collect::<Vec<_>>(), [(9, 2), (10, 2), (11, 2)]);
    }

    #[test]
    fn a_time_without_any_io_is_an_empty_part() {
        let (mut parts, mut histogram) = (Parts::new(), Histogram::new());
        histogram.record(1);
        parts.enter(10, &histogram);
        histogram.record(2);
        parts.enter(11, &histogram);
        let counts: Vec<u64> = parts.tenths(20).iter().map(Counts::count).collect();
        assert_eq!(counts, [1, 0, 0, 0, 0, 1, 0, 0, 0, 0]);
    }

    #[test]
    fn a_short_run_has_fewer_parts_and_an_empty_one_has_one() {
        let (parts, _) = counted(3, 1);
        assert_eq!(parts.tenths(3).len(), 3);
        assert_eq!(Parts::new().tenths(0).len(), 1);
    }

    #[test]
    fn a_jump_over_a_week_keeps_few_parts() {
        let (mut parts, mut histogram) = counted(5, 1);
        parts.enter(7 * 24 * 36_000, &histogram);
        histogram.record(7);
        parts.enter(7 * 24 * 36_000 + 1, &histogram);
        assert!(parts.parts.len() as u64 <= MOST);
        let tenths = parts.tenths(7 * 24 * 36_000 + 1);
        assert_eq!((tenths[0].count(), tenths[9].count()), (5, 1));
    }

    proptest! {
        #[test]
        fn nothing_is_lost_however_long_a_run_is(samples in 1u64..3000, each in 1u64..3) {
            let (parts, histogram) = counted(samples, each);
            let tenths = parts.tenths(samples);
            prop_assert_eq!(tenths.iter().map(Counts::count).sum::<u64>(), histogram.count());
            let sizes: Vec<u64> = tenths.iter().map(Counts::count).collect();
            if samples >= MOST {
                let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
                prop_assert!(*most as f64 <= *least as f64 * 1.25, "{:?}", sizes);
            }
        }

        #[test]
        fn workers_add_up_whatever_their_widths(a in 1u64..900, b in 1u64..900) {
            let ((mut one, x), (two, y)) = (counted(a, 1), counted(b, 3));
            one.merge(&two);
            prop_assert_eq!(one.seen.count(), x.count() + y.count());
            let all: u64 = one.tenths(a.max(b)).iter().map(Counts::count).sum();
            prop_assert_eq!(all, a + 3 * b);
        }
    }
}
