//! The time that all hosts have in common, on one clock, and what each did in it.

use serde::{Deserialize, Serialize};

use narrows_base::units::{Bytes, Nanos};
use narrows_paste::results::fio_client::Line;

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
        let mut spans = Vec::with_capacity(lines.len());
        for line in lines.iter().filter(|line| line.is_write == is_write) {
            let end = on_our_clock(line.at_ms.saturating_mul(1_000_000), offset_ns);
            if end <= before {
                continue;
            }
            let span = Window { begin_ns: before, end_ns: end };
            let bytes = line.value as f64 * 1024.0 * span.length().as_secs_f64();
            spans.push((span, bytes));
            before = end;
        }
        Self { spans }
    }

    /// One span. A log of rates ends with its last whole step: what a job moved afterwards stands in its sums alone.
    pub fn of_rest(span: Window, bytes: f64) -> Self {
        Self { spans: vec![(span, bytes)] }
    }

    /// All its bytes.
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
pub(super) const fn on_our_clock(host_ns: u64, offset_ns: i64) -> u64 {
    host_ns.saturating_add_signed(offset_ns.saturating_neg())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
