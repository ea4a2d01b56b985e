//! What did many hosts achieve together, which of them did not take part, and what limited all?
//!
//! [`record`] is what a run keeps in its directory. [`Point::of`] counts the common window of the hosts of one run, merges their
//! latencies and says which host was late or failed. [`judge`](judge::judge) sets clients, servers and their connections against
//! each other. All of it is pure: the same directory gives the same verdict.

pub mod flows;
pub mod judge;
pub mod outlier;
mod point;
pub mod record;
pub mod samples;
pub mod series;
#[cfg(test)]
mod testing;

use std::collections::BTreeMap;

use narrows_base::units::{Bytes, Nanos};
use narrows_paste::results::fio_client::Line;
use serde::{Deserialize, Serialize};

pub use point::{HostPoint, LEAST_OVERLAP, Point, PointOutcome, Side, Told};

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

    /// The middle of the bucket in which a percentile falls, as fio computes it (`stat.c`, `calc_clat_percentiles`); `None` where
    /// fewer I/Os lie beyond it than tell anything of it.
    pub fn percentile(&self, percent: f64) -> Option<Nanos> {
        /// A percentile with less than this many I/Os beyond it is one of single I/Os.
        const BEYOND: f64 = 5.0;
        let total = self.total() as f64;
        if total == 0.0 || total * (1.0 - percent / 100.0) < BEYOND {
            return None;
        }
        let mut below = 0.0;
        let mut bins = self.0.iter().map(|(bin, count)| {
            below += *count as f64;
            (bin, below)
        });
        bins.find(|(_, below)| *below >= percent / 100.0 * total).map(|(bin, _)| Nanos::new(*bin))
    }

    /// The mean of the middles; a bucket is at most 1/64 of its value wide.
    pub fn mean(&self) -> Option<Nanos> {
        let total = self.total();
        let sum: f64 = self.0.iter().map(|(bin, count)| *bin as f64 * *count as f64).sum();
        (total > 0).then(|| Nanos::new((sum / total as f64) as u64))
    }
}

/// A span of time on the clock of the controller, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Window {
    /// When it begins.
    pub begin_ns: u64,
    /// When it ends.
    pub end_ns: u64,
}

impl Window {
    /// How long it is.
    pub const fn length(self) -> Nanos {
        Nanos::new(self.end_ns.saturating_sub(self.begin_ns))
    }

    /// What both have in common; `None` where that is nothing.
    pub fn and(self, other: Self) -> Option<Self> {
        let common =
            Self { begin_ns: self.begin_ns.max(other.begin_ns), end_ns: self.end_ns.min(other.end_ns) };
        (common.begin_ns < common.end_ns).then_some(common)
    }

    /// What all have in common; `None` of none.
    pub fn common(windows: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut windows = windows.into_iter();
        let first = windows.next()?;
        windows.try_fold(first, Self::and)
    }

    /// Both halves of it.
    pub const fn halves(self) -> [Self; 2] {
        let middle = self.begin_ns + self.length().get() / 2;
        [Self { end_ns: middle, ..self }, Self { begin_ns: middle, ..self }]
    }

    /// Parts of it of the same length, each of at least a second, and at most so many; none of less than a second.
    pub fn parts(self, most: u64) -> Vec<Self> {
        let length = self.length().get();
        let count = (length / 1_000_000_000).min(most);
        let edge =
            |at: u64| self.begin_ns + (u128::from(length) * u128::from(at) / u128::from(count.max(1))) as u64;
        (0..count).map(|at| Self { begin_ns: edge(at), end_ns: edge(at + 1) }).collect()
    }
}

/// Spans of time, one after the other, with the bytes that were moved in each.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    spans: Vec<(Window, f64)>,
}

impl Series {
    /// The spans of a log of rates of one job, whose first span begins with the job. Each line holds for the time since the one
    /// before it. `offset_ns` is what the host's clock is ahead of ours.
    pub fn of_rates(lines: &[Line], is_write: bool, begin_ns: u64, offset_ns: i64) -> Self {
        let mut before = begin_ns;
        let spans = lines.iter().filter(|line| line.is_write == is_write).filter_map(|line| {
            let end_ns = on_our_clock(line.at_ms.saturating_mul(1_000_000), offset_ns);
            let span = Some(Window { begin_ns: before, end_ns }).filter(|_| end_ns > before)?;
            before = end_ns;
            Some((span, line.value as f64 * 1024.0 * span.length().as_secs_f64()))
        });
        Self { spans: spans.collect() }
    }

    /// One span. A log of rates ends with its last whole step: what a job moved afterwards stands in its sums alone.
    pub fn of_rest(span: Window, bytes: f64) -> Self {
        Self { spans: vec![(span, bytes)] }
    }

    pub fn bytes(&self) -> f64 {
        self.spans.iter().map(|(_, bytes)| bytes).sum()
    }

    /// The bytes within a window; a span that lies in it with a part counts with that part.
    pub fn within(&self, window: Window) -> Bytes {
        let part = |(span, bytes): &(Window, f64)| {
            let common = span.and(window)?;
            Some(bytes * common.length().as_secs_f64() / span.length().as_secs_f64())
        };
        Bytes::new(self.spans.iter().filter_map(part).sum::<f64>() as u64)
    }

    /// From the beginning of the first span to the end of the last.
    pub fn extent(&self) -> Option<Window> {
        let (first, last) = (self.spans.first()?, self.spans.last()?);
        Some(Window { begin_ns: first.0.begin_ns, end_ns: last.0.end_ns })
    }
}

/// A moment of a host's clock, which is `offset_ns` ahead of ours, on ours.
const fn on_our_clock(host_ns: u64, offset_ns: i64) -> u64 {
    host_ns.saturating_add_signed(offset_ns.saturating_neg())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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

    const fn window(begin_ns: u64, end_ns: u64) -> Window {
        Window { begin_ns, end_ns }
    }

    #[test]
    fn the_common_window_begins_with_the_last_and_ends_with_the_first() {
        let all = [window(0, 100), window(10, 110), window(5, 90)];
        assert_eq!(Window::common(all), Some(window(10, 90)));
        assert_eq!(Window::common([window(0, 10), window(10, 20)]), None);
        assert_eq!(Window::common([]), None);
        assert_eq!(window(10, 90).halves(), [window(10, 50), window(50, 90)]);
        let seconds = |begin: u64, end: u64| window(begin * 1_000_000_000, end * 1_000_000_000);
        assert_eq!(seconds(1, 4).parts(60), [seconds(1, 2), seconds(2, 3), seconds(3, 4)]);
        assert_eq!(seconds(0, 300).parts(60).len(), 60);
        assert_eq!(seconds(0, 300).parts(60).last().map(|part| part.end_ns), Some(300_000_000_000));
        assert!(window(10, 90).parts(60).is_empty());
    }

    #[test]
    fn a_span_counts_with_its_part_and_on_our_clock() {
        // 1024 KiB/s for a second each; the host's clock is an hour ahead.
        let hour = 3_600_000_000_000_i64;
        let line = |at_ms: u64, is_write| Line { at_ms: at_ms + 3_600_000, value: 1024, is_write };
        let lines = [line(1000, false), line(1500, true), line(2000, false), line(3000, false)];
        let series = Series::of_rates(&lines, false, 0, hour);
        assert_eq!(series.extent(), Some(window(0, 3_000_000_000)));
        assert_eq!(series.within(window(500_000_000, 2_000_000_000)), Bytes::new(3 << 19));
        assert_eq!(series.within(window(9_000_000_000, 10_000_000_000)), Bytes::new(0));
    }

    proptest! {
        #[test]
        fn both_halves_hold_all(
            values in prop::collection::vec((1u64..1000, 0u64..1_000_000), 1..50),
        ) {
            let mut at_ms = 0;
            let lines: Vec<Line> = values.into_iter().map(|(step, value)| {
                at_ms += step;
                Line { at_ms, value, is_write: false }
            }).collect();
            let series = Series::of_rates(&lines, false, 0, 0);
            let whole = series.extent().expect("has spans");
            let [first, second] = whole.halves();
            let halves = series.within(first) + series.within(second);
            prop_assert!(series.within(whole).get().abs_diff(halves.get()) <= 2 + lines.len() as u64);
        }
    }
}
