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
const ALL_OF_2: usize = 19 * OF_GROUP;

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

/// No line is longer, in bytes: one of a histogram has 1856 counts.
pub(in crate::results) const LONGEST: usize = 64 << 10;

/// Lines that are looked at to tell what a text is.
const LOOKED_AT: usize = 64;

/// A line of a log of fio.
///
/// Source: fio's HOWTO ("Log File Formats") and `iolog.c` (`flush_samples`, `flush_hist_samples`). A log has no heading;
/// what its lines are like tells that it is one. Lines grew over time: time, value, direction and block size (2.x), then
/// an offset if asked for, a priority (3.18), a second value behind the first with `log_window_value=both`, and the time
/// of issue if asked for (3.37 and later).
///
/// What the lines of a log are like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::results) enum LogShape {
    /// Time, value, direction, block size.
    Plain,
    /// Time, mean, maximum, direction, block size.
    WithMaximum,
    /// Time, direction, block size, and so many counts of a histogram.
    Histogram(usize),
}

/// One line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LogEntry {
    /// When, in milliseconds.
    pub(super) millis: u64,
    /// How much, in the unit of the log.
    pub(super) value: u64,
    /// 0 of reads, 1 of writes, 2 of trims.
    pub(super) direction: u64,
    /// The bytes of the I/O; 0 when the line stands for many.
    pub(super) block: u64,
}

impl LogShape {
    /// What the text that begins so is; `None` when it is no log. Every line must be of one kind.
    pub(in crate::results) fn of(head: &[u8], is_whole: bool) -> Option<Self> {
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        // Most texts are none: one byte tells.
        head.iter().find(|byte| !byte.is_ascii_whitespace()).filter(|byte| byte.is_ascii_digit())?;
        let end = if is_whole { head.len() } else { memchr::memrchr(b'\n', head).unwrap_or(head.len()) };
        let mut shape: Option<(usize, Self)> = None;
        let lines = head.get(..end)?.split(|byte| *byte == b'\n');
        for line in lines.map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()).take(LOOKED_AT) {
            let columns = entry_columns(line)?;
            shape = Some(match shape {
                None => (columns, Self::of_line(line, columns)?),
                Some((known, _)) if known != columns => return None,
                // A maximum that is no direction shows what the column is.
                Some((_, Self::Plain)) => (columns, Self::of_line(line, columns)?),
                Some(same) => same,
            });
        }
        shape.map(|(_, shape)| shape)
    }

    fn of_line(line: &[u8], columns: usize) -> Option<Self> {
        if columns > 8 {
            Buckets::of_columns(columns - 3)?;
            return (nth(line, 1)? <= 2).then_some(Self::Histogram(columns - 3));
        }
        let is_direction = |at: usize| nth(line, at).is_some_and(|number| number <= 2);
        match () {
            () if is_direction(2) => Some(Self::Plain),
            () if columns >= 6 && is_direction(3) && nth(line, 2) >= nth(line, 1) => Some(Self::WithMaximum),
            () => None,
        }
    }

    /// What a line says; `None` when it is broken.
    pub(super) fn entry(self, line: &[u8]) -> Option<LogEntry> {
        let (millis, rest) = entry_number(line)?;
        let (value, rest) = match self {
            Self::Histogram(_) => (0, rest),
            _ => entry_number(rest)?,
        };
        let rest = if self == Self::WithMaximum { entry_number(rest)?.1 } else { rest };
        let (direction, rest) = entry_number(rest)?;
        let (block, _) = entry_number(rest)?;
        Some(LogEntry { millis, value, direction, block })
    }
}

/// The counts of a line of a histogram.
pub(in crate::results::fio) fn counts(line: &[u8]) -> impl Iterator<Item = u64> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let (count, next) = entry_number(rest)?;
        rest = next;
        Some(count)
    })
    .skip(3)
}

/// The number at the beginning, and what follows the comma behind it.
fn entry_number(line: &[u8]) -> Option<(u64, &[u8])> {
    let start = line.iter().position(|byte| *byte != b' ')?;
    let mut rest = line.get(start..)?;
    let mut sum = 0u64;
    let mut digits = 0;
    while let [byte @ b'0'..=b'9', next @ ..] = rest {
        sum = sum.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
        digits += 1;
        rest = next;
    }
    while let [b' ' | b'\r', next @ ..] = rest {
        rest = next;
    }
    match rest {
        _ if digits == 0 => None,
        [] => Some((sum, rest)),
        [b',', next @ ..] => Some((sum, next)),
        _ => None,
    }
}

/// How many numbers a line holds; `None` when it holds anything else, or fewer or more than a log has.
fn entry_columns(line: &[u8]) -> Option<usize> {
    let cells = line.split(|byte| *byte == b',');
    let mut columns = 0;
    for cell in cells.map(<[u8]>::trim_ascii) {
        // The priority is hexadecimal with `log_prio`.
        let digits = cell.strip_prefix(b"0x").unwrap_or(cell);
        let is_hex = digits.len() < cell.len();
        let is_number = !digits.is_empty()
            && digits.len() <= 20
            && digits.iter().all(|byte| byte.is_ascii_digit() || is_hex && byte.is_ascii_hexdigit());
        if !is_number {
            return None;
        }
        columns += 1;
    }
    (columns >= 4).then_some(columns)
}

fn nth(line: &[u8], at: usize) -> Option<u64> {
    let cell = line.split(|byte| *byte == b',').nth(at)?;
    entry_number(cell).map(|(number, _)| number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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

    fn shape(text: &str) -> Option<LogShape> {
        LogShape::of(text.as_bytes(), true)
    }

    #[test]
    fn lines_of_every_version_are_told_apart() {
        assert_eq!(shape("250, 249504, 1, 0\n500, 251440, 1, 0\n"), Some(LogShape::Plain));
        assert_eq!(shape("0, 8123, 0, 4096, 12288, 0x0004, 123456\n"), Some(LogShape::Plain));
        let both = "500, 2, 2, 0, 0, 0\n1000, 1234, 5678, 0, 0, 0\n";
        assert_eq!(shape(both), Some(LogShape::WithMaximum));
        let histogram = format!("1000, 0, 4096{}\n", ", 1".repeat(1856));
        assert_eq!(shape(&histogram), Some(LogShape::Histogram(1856)));
        let entry = LogShape::WithMaximum.entry(b"1000, 1234, 5678, 1, 0, 0").expect("an entry");
        assert_eq!((entry.millis, entry.value, entry.direction, entry.block), (1000, 1234, 1, 0));
        assert_eq!(counts(b"1000, 0, 4096, 7, 8\r").collect::<Vec<_>>(), [7, 8]);
    }

    #[test]
    fn other_tables_are_no_logs() {
        for text in [
            "",
            "time, value\n1, 2, 0, 0\n",
            "1, 2, 9, 4096\n",
            "1, 2, 3\n",
            "1,2,0,x\n",
            "1, 2, 0, 0\n1, 2, 0\n",
        ] {
            assert_eq!(shape(text), None, "{text}");
        }
        assert_eq!(LogShape::Plain.entry(b"99999999999999999999, 1, 0, 0"), None);
        // A line that goes on behind what was seen is not looked at.
        assert_eq!(LogShape::of(b"1, 2, 0, 0\n2, 3", false), Some(LogShape::Plain));
    }
}
