//! Logs of fio: rates and latencies over time, and histograms of latencies.
//!
//! Every job of a run writes a file of its own for each quantity: `NAME_bw.1.log`, `NAME_clat.2.log`. What a file is, its
//! content says; which quantity it holds, of which job, only its name does. Files are read once and reduced to amounts
//! in a bounded number of spans of time and to a histogram, so that a log of any length takes the same room.

mod buckets;
mod set;
mod spans;

use crate::results::Page;
use crate::results::long::Chunks;
use buckets::{Buckets, LONGEST, LogEntry};
use spans::Spans;

pub(in crate::results) use buckets::LogShape;
pub(super) use buckets::{ALL as FINEST, counts, middle as middle_of};
pub(in crate::results) use set::complete;

/// One file.
#[derive(Debug, Clone, PartialEq)]
pub struct Log {
    /// What its name tells.
    name: LogName,
    /// Of reads and of writes.
    tracks: [Option<LogTrack>; 2],
    /// Whether its lines have no priority, as of versions before 3.18.
    is_old: bool,
}

/// One direction of a log.
#[derive(Debug, Clone, Default, PartialEq)]
struct LogTrack {
    /// How many lines there are.
    lines: u64,
    /// Lines that stand for one I/O, which they tell the bytes of.
    of_one: u64,
    /// The bytes of those I/Os.
    blocks: Spans,
    /// Their number.
    ios: Spans,
    /// The value of each line times the time since the one before it, in seconds.
    held: Spans,
    /// The values of single I/Os.
    values: Option<Box<Buckets>>,
    /// The sum of all values.
    sum: f64,
    /// The greatest value.
    most: u64,
    /// When the first line was written, in milliseconds.
    first: f64,
    /// When the last one was.
    last: f64,
    /// The time that a line stands for, by the distance of the first two.
    step: f64,
    /// The first value, until the distance to the second is known.
    pending: Option<u64>,
}

impl Log {
    /// The log in a text; `None` when it is none, or its name does not say of what.
    pub(in crate::results) fn of_page(page: &Page<'_>) -> Option<Self> {
        let shape = LogShape::of(page.body.as_bytes(), true)?;
        let mut reader = LogReader::new(LogName::of(page.name)?, shape);
        page.body.lines().for_each(|line| reader.line(line.as_bytes()));
        reader.finish()
    }

    /// The log in a long text.
    pub(in crate::results) fn of_chunks(
        name: LogName,
        shape: LogShape,
        chunks: &mut Chunks<'_>,
    ) -> Option<Self> {
        let mut reader = LogReader::new(name, shape);
        chunks.each_line(LONGEST, |line| reader.line(line));
        reader.finish()
    }
}

struct LogReader {
    log: Log,
    shape: LogShape,
}

impl LogReader {
    const fn new(name: LogName, shape: LogShape) -> Self {
        Self { log: Log { name, tracks: [None, None], is_old: false }, shape }
    }

    fn line(&mut self, line: &[u8]) {
        let Some(entry) = self.shape.entry(line) else { return };
        let place = usize::try_from(entry.direction).unwrap_or(usize::MAX);
        let Some(track) = self.log.tracks.get_mut(place) else { return };
        let track = track.get_or_insert_default();
        if track.lines == 0 {
            self.log.is_old = memchr::memchr_iter(b',', line).count() == 3;
        }
        match self.shape {
            LogShape::Histogram(columns) => track.histogram(&entry, columns, line),
            _ => track.sample(&entry, self.log.name.quantity),
        }
    }

    fn finish(mut self) -> Option<Log> {
        for track in self.log.tracks.iter_mut().flatten() {
            track.settle(1000.0);
        }
        self.log.tracks.iter().any(Option::is_some).then_some(self.log)
    }
}

impl LogTrack {
    fn histogram(&mut self, entry: &LogEntry, columns: usize, line: &[u8]) {
        self.times(entry.millis as f64);
        self.lines += 1;
        if self.values.is_none() {
            self.values = Buckets::of_columns(columns).map(Box::new);
        }
        let Some(buckets) = &mut self.values else { return };
        buckets::counts(line).enumerate().for_each(|(bucket, count)| buckets.add_to(bucket, count));
    }

    fn sample(&mut self, entry: &LogEntry, quantity: Quantity) {
        let at = entry.millis as f64;
        let before = self.last;
        self.times(at);
        self.lines += 1;
        self.sum += entry.value as f64;
        self.most = self.most.max(entry.value);
        if entry.block > 0 {
            self.of_one += 1;
            self.blocks.add(at, at, entry.block as f64);
            self.ios.add(at, at, 1.0);
        }
        if !quantity.is_rate() {
            if entry.block > 0 {
                self.values.get_or_insert_default().add(entry.value);
            }
            return;
        }
        if self.lines == 1 {
            self.pending = Some(entry.value);
            return;
        }
        let step = at - before;
        if step > 0.0 {
            self.settle(step);
            self.held.add(before, at, entry.value as f64 * step / 1000.0);
        }
    }

    /// Notes when a line was written.
    fn times(&mut self, at: f64) {
        if self.lines == 0 {
            (self.first, self.last) = (at, at);
        }
        self.first = self.first.min(at);
        self.last = self.last.max(at);
    }

    /// Puts the first value in, which stands for as long as the next one.
    fn settle(&mut self, step: f64) {
        if let Some(value) = self.pending.take() {
            self.step = step;
            let from = (self.first - step).max(0.0);
            self.held.add(from, self.first, value as f64 * (self.first - from) / 1000.0);
        }
    }

    /// When what it tells began, in milliseconds.
    fn begins(&self) -> f64 {
        (self.first - self.step).max(0.0)
    }

    /// Whether its lines are single I/Os, not means or samples. Old versions give samples a block size too, but are
    /// then far from adding up to the rates that they tell.
    fn is_of_single_ios(&self, quantity: Quantity) -> bool {
        let adds_up = match quantity {
            Quantity::Bandwidth => self.blocks.total() >= 0.1 * self.held.total() * 1024.0,
            Quantity::Iops => self.ios.total() >= 0.1 * self.held.total(),
            _ => true,
        };
        self.of_one > self.lines / 2 && adds_up
    }
}

/// What a log holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Quantity {
    /// KiB per second.
    Bandwidth,
    /// I/Os per second.
    Iops,
    /// The time until an I/O was submitted.
    Submission,
    /// The time from there to its end.
    Completion,
    /// Both together.
    Latency,
}

impl Quantity {
    /// Whether it is something per second.
    const fn is_rate(self) -> bool {
        matches!(self, Self::Bandwidth | Self::Iops)
    }
}

/// What the name of a log tells: `NAME_bw.1.log` (fio's `init.c`, `gen_log_name`), with a host behind it where a client
/// collected it (`client.c`).
///
/// The name of a log, in its parts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::results) struct LogName {
    /// All of it.
    whole: String,
    /// The directory it stands in, empty when not told.
    directory: String,
    /// What the logs of a run have in common: the value of `write_bw_log`, or the job's name.
    prefix: String,
    /// What it holds.
    quantity: Quantity,
    /// The number of the job, from 1.
    job: Option<u32>,
    /// The host that it is from.
    host: String,
}

/// The words that stand before the number of the job; longer ones first.
const QUANTITY_WORDS: [(&str, Quantity); 9] = [
    ("clat_hist", Quantity::Completion),
    ("slat_hist", Quantity::Submission),
    ("lat_hist", Quantity::Latency),
    ("hist", Quantity::Completion),
    ("slat", Quantity::Submission),
    ("clat", Quantity::Completion),
    ("lat", Quantity::Latency),
    ("iops", Quantity::Iops),
    ("bw", Quantity::Bandwidth),
];

impl LogName {
    /// The parts of a name; `None` when it does not say what the log holds.
    pub(in crate::results) fn of(whole: &str) -> Option<Self> {
        let (directory, file) = whole.rsplit_once('/').unwrap_or(("", whole));
        let (stem, host) = file.split_once(".log").unwrap_or((file, ""));
        let (stem, job) = match stem.rsplit_once('.') {
            Some((stem, number))
                if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                (stem, number.parse().ok())
            }
            _ => (stem, None),
        };
        let (prefix, quantity) = QUANTITY_WORDS.iter().find_map(|(word, quantity)| {
            let prefix = stem.strip_suffix(word)?;
            let is_word = prefix.is_empty() || prefix.ends_with(['_', '-', '.']);
            is_word.then(|| (prefix.trim_end_matches(['_', '-', '.']), *quantity))
        })?;
        Some(Self {
            whole: whole.to_owned(),
            directory: directory.to_owned(),
            prefix: prefix.to_owned(),
            quantity,
            job,
            host: host.trim_start_matches('.').to_owned(),
        })
    }
}

#[cfg(test)]
mod tests;
