//! Latencies as an interval log of HdrHistogram, which its tools read and draw.
//!
//! The format is that of `HistogramLogWriter` of HdrHistogram (<https://github.com/HdrHistogram/HdrHistogram>), version
//! 1.3 of the log, with histograms in the V2 encoding, compressed and in base64. Values are nanoseconds.

use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};

use narrows_base::units::Nanos;
use narrows_load::measurement::{Interval, Measurement};

/// Values are kept to within 1/1000. The engine's own resolution is 1/128.
const DIGITS: u8 = 3;
/// The column of the greatest value, which is for people only, is in milliseconds, as that of HdrHistogram's own tools.
const MAX_DIVISOR: f64 = 1e6;

/// The latencies of tests, in the order in which they were run.
#[derive(Debug, Clone)]
pub struct Hlog {
    began: SystemTime,
    tests: Vec<Tested>,
}

/// One direction of a test.
#[derive(Debug, Clone)]
struct Tested {
    tag: String,
    /// When its measured time began, since the log began.
    start: Duration,
    intervals: Vec<Interval>,
}

impl Hlog {
    /// A log without tests that begins at `now`.
    pub const fn new(now: SystemTime) -> Self {
        Self { began: now, tests: Vec::new() }
    }

    /// Adds what a test measured that was over at `end`: a line for each tenth of its time and each direction, tagged
    /// with the name of the test and `read`, `write` or `trim`.
    pub fn add(&mut self, test: &str, measurement: &Measurement, end: SystemTime) {
        let sides =
            [("read", &measurement.reads), ("write", &measurement.writes), ("trim", &measurement.discards)];
        let since = end.duration_since(self.began).unwrap_or_default();
        let start = since.saturating_sub(measurement.elapsed_ns.duration());
        for (direction, totals) in sides {
            if totals.count > 0 {
                let (tag, intervals) = (tag(test, direction), totals.intervals.clone());
                self.tests.push(Tested { tag, start, intervals });
            }
        }
    }

    /// The log as text.
    ///
    /// # Errors
    /// A histogram cannot be encoded, in words.
    pub fn text(&self) -> Result<String, String> {
        let mut out = Vec::new();
        let mut serializer = V2DeflateSerializer::new();
        let words = |error: &dyn std::fmt::Display| format!("cannot write the log of histograms: {error}");
        let mut writer = IntervalLogWriterBuilder::new()
            .add_comment(concat!("[Logged with narrows ", env!("CARGO_PKG_VERSION"), "]"))
            .add_comment("[Histogram log format version 1.3]")
            .add_comment("Values are latencies in nanoseconds; Interval_Max is in milliseconds.")
            .with_start_time(self.began)
            .with_base_time(self.began)
            .with_max_value_divisor(MAX_DIVISOR)
            .begin_log_with(&mut out, &mut serializer)
            .map_err(|error| words(&error))?;
        let mut lines: Vec<(Duration, &Tested, &Interval)> = self.tests.iter().flat_map(lines).collect();
        // Readers expect the lines in the order of time.
        lines.sort_by_key(|(start, _, _)| *start);
        for (start, tested, interval) in lines {
            let histogram = histogram(&interval.counts).map_err(|error| words(&error))?;
            let length = interval.length.duration();
            writer
                .write_histogram(&histogram, start, length, Tag::new(&tested.tag))
                .map_err(|error| words(&error))?;
        }
        String::from_utf8(out).map_err(|error| words(&error))
    }
}

fn lines(tested: &Tested) -> impl Iterator<Item = (Duration, &Tested, &Interval)> {
    tested.intervals.iter().map(move |interval| (tested.start + interval.start.duration(), tested, interval))
}

/// A histogram that grows as far as it must.
fn histogram(counts: &[(Nanos, u64)]) -> Result<Histogram<u64>, String> {
    let mut histogram = Histogram::<u64>::new(DIGITS).map_err(|error| error.to_string())?;
    for (value, count) in counts {
        histogram.record_n(value.get(), *count).map_err(|error| error.to_string())?;
    }
    Ok(histogram)
}

/// A tag has no blanks and no commas: `SEQ1M-Q8T1-read`. The direction stands once.
fn tag(test: &str, direction: &str) -> String {
    let name = test.strip_suffix(direction).unwrap_or(test).trim();
    let plain = |c: char| if c.is_ascii_alphanumeric() || ":._+".contains(c) { c } else { '-' };
    format!("{}-{direction}", name.chars().map(plain).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
    use narrows_load::measurement::OpTotals;
    use std::time::UNIX_EPOCH;

    fn interval(start: u64, counts: &[(u64, u64)]) -> Interval {
        let counts = counts.iter().map(|(us, n)| (Nanos::new(us * 1000), *n)).collect();
        Interval { start: Nanos::from_millis(start), length: Nanos::from_millis(100), counts }
    }

    fn totals(intervals: Vec<Interval>) -> OpTotals {
        let count = intervals.iter().flat_map(|interval| &interval.counts).map(|(_, n)| n).sum();
        OpTotals { count, intervals, ..OpTotals::default() }
    }

    /// Ten minutes after the log began: two tenths of reads and one of writes.
    fn log() -> String {
        let measurement = Measurement {
            reads: totals(vec![interval(0, &[(80, 990), (20_000, 10)]), interval(100, &[(90, 5)])]),
            writes: totals(vec![interval(50, &[(1_000, 7)])]),
            elapsed_ns: Nanos::from_millis(200),
            ..Measurement::default()
        };
        let began = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let mut log = Hlog::new(began);
        log.add("RND4K Q1T1 70:30", &measurement, began + Duration::from_secs(600));
        log.text().unwrap()
    }

    #[test]
    fn the_log_is_read_back_as_it_was() {
        let text = log();
        let mut found = Vec::new();
        let (mut starts, mut bases) = (0, 0);
        for entry in IntervalLogIterator::new(text.as_bytes()) {
            match entry.unwrap() {
                LogEntry::StartTime(at) => starts += u32::from(at.as_secs() == 1_700_000_000),
                LogEntry::BaseTime(at) => bases += u32::from(at.as_secs() == 1_700_000_000),
                LogEntry::Interval(line) => {
                    let bytes = STANDARD.decode(line.encoded_histogram()).unwrap();
                    let histogram: Histogram<u64> =
                        Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
                    let tag = line.tag().unwrap().as_str().to_owned();
                    found.push((tag, line.start_timestamp(), line.duration(), line.max(), histogram));
                }
            }
        }
        assert_eq!((starts, bases), (1, 1));
        let tags: Vec<&str> = found.iter().map(|line| line.0.as_str()).collect();
        assert_eq!(tags, ["RND4K-Q1T1-70:30-read", "RND4K-Q1T1-70:30-write", "RND4K-Q1T1-70:30-read"]);
        let first = &found[0];
        assert_eq!((first.1, first.2), (Duration::from_millis(599_800), Duration::from_millis(100)));
        assert!((first.3 - 20.0).abs() < 0.02, "{} ms", first.3);
        assert_eq!(first.4.len(), 1000);
        let near = |got: u64, want: f64| (got as f64 / want - 1.0).abs() <= 0.001;
        assert!(near(first.4.value_at_quantile(0.5), 80_000.0));
        assert!(near(first.4.value_at_quantile(0.999), 20_000_000.0));
        assert_eq!(found[1].1, Duration::from_millis(599_850));
    }

    #[test]
    fn the_head_is_that_of_the_format_and_lines_are_text() {
        let text = log();
        assert!(text.starts_with("#[Logged with narrows "), "{text}");
        assert!(text.contains("#[Histogram log format version 1.3]\n"), "{text}");
        // "HISTF" begins every compressed V2 histogram in base64: its cookie is 0x1c849304 plus 0x10.
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("Tag=")).collect();
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| line.contains(",HISTF")), "{text}");
    }

    #[test]
    fn a_tag_says_the_direction_once() {
        assert_eq!(tag("SEQ1M Q8T1 read", "read"), "SEQ1M-Q8T1-read");
        assert_eq!(tag("a, b", "sync"), "a--b-sync");
    }

    #[test]
    fn a_log_without_tests_is_a_head() {
        let text = Hlog::new(UNIX_EPOCH).text().unwrap();
        assert!(text.lines().all(|line| line.starts_with('#')), "{text}");
    }
}
