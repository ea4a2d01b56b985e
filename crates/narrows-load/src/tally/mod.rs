//! What one worker counted, and how the counts of several become one measurement.

use crate::effort::Effort;
use crate::engine::Op;
use crate::histogram::{Counts, Histogram};
use crate::measurement::RunFailure;
use crate::slot::Flight;

/// The measured time in ticks, the same for all workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    /// Its first tick.
    pub(super) start: u64,
    /// The tick after its last.
    pub(super) end: u64,
    /// Ticks in each bucket of the series.
    pub(super) bucket: u64,
}

impl Window {
    /// Whether something that was seen at `now` belongs to it.
    #[inline]
    pub(super) fn contains(&self, now: u64) -> bool {
        self.start <= now && now < self.end
    }

    /// How many buckets it has, an unfinished last one included.
    fn buckets(&self) -> usize {
        let span = self.end.saturating_sub(self.start);
        usize::try_from(span.div_ceil(self.bucket.max(1))).unwrap_or(0)
    }
}

/// Counts of one kind of I/O.
#[derive(Debug, Clone)]
pub(super) struct OpTally {
    /// Latencies of those that ended well in the window.
    pub(super) latencies: Histogram,
    /// The slowest of them.
    pub(super) slowest: Slowest,
    /// The bytes that they moved.
    pub(super) bytes: u64,
    /// Their latencies by parts of the window.
    pub(super) parts: Parts,
}

impl OpTally {
    fn new() -> Self {
        Self { latencies: Histogram::new(), slowest: Slowest::default(), bytes: 0, parts: Parts::new() }
    }

    /// Goes on to another sample of the series.
    fn enter(&mut self, sample: u64) {
        self.parts.enter(sample, &self.latencies);
    }

    /// Adds the counts of another. Both are complete: what is recorded from now on is in no part.
    pub(super) fn merge(&mut self, other: &Self) {
        self.parts.merge(&other.parts);
        self.latencies.merge(&other.latencies);
        self.slowest.merge(&other.slowest);
        self.bytes += other.bytes;
    }
}

/// I/Os that do the same and took equally long, as those do that were sent together and taken together: their latency is
/// looked up once for all of them.
#[derive(Debug)]
pub(super) struct Group {
    op: Op,
    start: u64,
    now: u64,
    ticks: u64,
    /// What an I/O must exceed to be one of the slowest.
    threshold: u64,
    count: u64,
    bytes: u64,
}

impl Group {
    /// Whether they may be among the slowest.
    #[inline]
    pub(super) fn is_slow(&self) -> bool {
        self.ticks > self.threshold
    }

    /// Adds so many that move so many bytes together, none of them [slow](Self::is_slow).
    #[inline]
    pub(super) fn add(&mut self, count: u64, bytes: u64) {
        self.count += count;
        self.bytes += bytes;
    }

    /// Whether an I/O that ended with them is one of them.
    #[inline]
    pub(super) fn has(&self, flight: Flight) -> bool {
        self.start == flight.start && self.op == flight.request.op
    }
}

/// Counts of one worker, or of several merged.
#[derive(Debug, Clone)]
pub(super) struct Tally {
    window: Window,
    /// Reads that ended well in the window.
    pub(super) reads: OpTally,
    /// Writes that ended well in the window.
    pub(super) writes: OpTally,
    /// Bytes in each bucket of the window.
    series: Vec<u64>,
    /// The bucket of the window that is not over.
    bucket: u64,
    /// When bytes were last added to the series.
    last: u64,
    /// Failed I/Os, warm-up included.
    pub(super) errors: u64,
    /// The first failure, with its time.
    first_error: Option<(u64, String)>,
    /// I/Os that ended well, warm-up included.
    pub(super) good: u64,
    /// What ended the run, when it was a failure.
    pub(super) failure: Option<RunFailure>,
    /// I/Os that ended well in the window, counted apart from their latencies.
    pub(super) completed: u64,
    /// The I/Os in flight, summed over all ticks of the window.
    pub(super) flight_ticks: u128,
    /// Why the worker ended early.
    pub(super) cut_short: Option<String>,
    /// The tick at which it stopped counting.
    pub(super) stopped: u64,
    /// What it used.
    pub(super) effort: Effort,
}

impl Tally {
    /// Nothing counted yet.
    pub(super) fn new(window: Window) -> Self {
        Self {
            window,
            reads: OpTally::new(),
            writes: OpTally::new(),
            series: vec![0; window.buckets()],
            bucket: 0,
            last: window.start,
            errors: 0,
            first_error: None,
            good: 0,
            failure: None,
            completed: 0,
            flight_ticks: 0,
            cut_short: None,
            stopped: 0,
            effort: Effort::default(),
        }
    }

    /// Counts an I/O that ended well at `now`, in the window, except for the series.
    #[cfg(test)]
    fn record(&mut self, flight: Flight, now: u64) {
        let mut group = self.group_of(flight, now);
        self.add_to(&mut group, flight);
        self.record_group(&group);
    }

    /// What I/Os have in common that ended well at `now`, in the window, and do the same as `flight` since the same tick.
    /// None is counted yet.
    #[inline]
    pub(super) fn group_of(&mut self, flight: Flight, now: u64) -> Group {
        let (op, start) = (flight.request.op, flight.start);
        let threshold = self.kind(op).slowest.threshold();
        Group { op, start, now, ticks: now.saturating_sub(start), threshold, count: 0, bytes: 0 }
    }

    /// Adds an I/O to those that it is like.
    #[inline]
    pub(super) fn add_to(&mut self, group: &mut Group, flight: Flight) {
        group.count += 1;
        group.bytes += u64::from(flight.request.length);
        if group.is_slow() {
            let slow = Slow { ticks: group.ticks, offset: flight.request.offset, end: group.now };
            let slowest = &mut self.kind(group.op).slowest;
            slowest.offer(slow);
            group.threshold = slowest.threshold();
        }
    }

    /// Counts the I/Os of a group, except for the series.
    #[inline]
    pub(super) fn record_group(&mut self, group: &Group) {
        let kind = self.kind(group.op);
        kind.latencies.record_many(group.ticks, group.count);
        kind.bytes += group.bytes;
        self.completed += group.count;
    }

    /// Counts reads whose latencies are recorded in [`reads`](Self::reads), except for the series.
    pub(super) fn add_reads(&mut self, count: u64, bytes: u64) {
        self.reads.bytes += bytes;
        self.completed += count;
        self.good += count;
    }

    /// Until when what ends after `now` belongs to the same sample of the series as what was last added to it; in the
    /// past where there is no such time.
    pub(super) fn same_until(&self, now: u64) -> u64 {
        if !self.window.contains(now) {
            return 0;
        }
        let samples = self.window.bucket.saturating_mul(self.bucket + 1);
        self.window.start.saturating_add(samples).min(self.window.end)
    }

    #[inline]
    fn kind(&mut self, op: Op) -> &mut OpTally {
        match op {
            Op::Read => &mut self.reads,
            Op::Write => &mut self.writes,
        }
    }

    /// Counts the bytes of I/Os that ended well at `now`, in the window, in the series. Where a bucket ended since the
    /// last time, they are shared among the buckets by time, and the shares are returned with their buckets: an I/O that
    /// ends right after a bucket moved its bytes in it. At a steady rate of few large I/Os the series would otherwise be
    /// mostly rounding.
    #[inline]
    pub(super) fn add_to_series(&mut self, moved: u64, now: u64) -> Option<Vec<(u64, u64)>> {
        let bucket = now.saturating_sub(self.window.start) / self.window.bucket.max(1);
        if bucket != self.bucket {
            return Some(self.cross(moved, now, bucket));
        }
        self.last = now;
        if let Some(bytes) = self.series.get_mut(bucket as usize) {
            *bytes += moved;
        }
        None
    }

    #[cold]
    fn cross(&mut self, moved: u64, now: u64, bucket: u64) -> Vec<(u64, u64)> {
        let (start, length) = (self.window.start, self.window.bucket);
        let span = u128::from(now.saturating_sub(self.last).max(1));
        let mut left = moved;
        let mut shares: Vec<(u64, u64)> = (self.bucket..bucket)
            .map(|before| {
                let begin = start.saturating_add(before.saturating_mul(length)).max(self.last);
                let end = start.saturating_add((before + 1).saturating_mul(length));
                let share = u128::from(moved) * u128::from(end.saturating_sub(begin)) / span;
                let share = u64::try_from(share).unwrap_or(left).min(left);
                left -= share;
                (before, share)
            })
            .collect();
        shares.push((bucket, left));
        for (bucket, share) in &shares {
            if let Some(bytes) = self.series.get_mut(*bucket as usize) {
                *bytes += share;
            }
        }
        self.last = now;
        self.enter(bucket);
        shares
    }

    #[cold]
    fn enter(&mut self, bucket: u64) {
        self.bucket = bucket;
        for kind in [&mut self.reads, &mut self.writes] {
            kind.enter(bucket);
        }
    }

    /// Counts the bucket that is not over in the parts of the window, too, when nothing more is recorded.
    pub(super) fn complete(&mut self) {
        self.enter(self.bucket);
    }

    /// Reads and writes together.
    pub(super) fn all(&self) -> OpTally {
        let mut all = self.reads.clone();
        all.merge(&self.writes);
        all
    }

    /// Counts an I/O that was seen to have failed at `now`.
    pub(super) fn fail(&mut self, now: u64, what: impl FnOnce() -> String) {
        self.errors += 1;
        self.first_error.get_or_insert_with(|| (now, what()));
    }

    /// The first failure of all workers in words.
    pub(super) fn first_error(&self) -> Option<String> {
        self.first_error.as_ref().map(|(_, what)| what.clone())
    }

    /// Adds the counts of another worker over the same window.
    pub(super) fn merge(&mut self, mut other: Self) {
        self.complete();
        other.complete();
        self.reads.merge(&other.reads);
        self.writes.merge(&other.writes);
        for (mine, theirs) in self.series.iter_mut().zip(&other.series) {
            *mine += theirs;
        }
        self.errors += other.errors;
        self.first_error = self.first_error.take().into_iter().chain(other.first_error).min();
        self.good += other.good;
        self.failure = self.failure.take().or(other.failure);
        self.cut_short = self.cut_short.take().or(other.cut_short);
        self.stopped = self.stopped.max(other.stopped);
        self.effort.add(&other.effort);
        self.completed += other.completed;
        self.flight_ticks += other.flight_ticks;
    }

    /// How many buckets were begun in the time that was measured.
    pub(super) fn begun_buckets(&self) -> u64 {
        self.elapsed().div_ceil(self.window.bucket.max(1))
    }

    /// The ticks that were measured: the whole window, or less of it when the run was cut short.
    pub(super) fn elapsed(&self) -> u64 {
        self.stopped.min(self.window.end).saturating_sub(self.window.start)
    }

    /// When the window began.
    pub(super) fn start(&self) -> u64 {
        self.window.start
    }

    /// Bytes in each bucket that was measured from beginning to end. The last bucket of a window that is no multiple of
    /// a bucket, and the one in which a run was cut short, are left out: their rate would be too low.
    pub(super) fn full_buckets(&self) -> &[u64] {
        let full = (self.elapsed() / self.window.bucket.max(1)) as usize;
        self.series.get(..full).unwrap_or(&self.series)
    }
}

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
        self.parts = self.parts.chunks(2).map(sum).collect();
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
                sum(self.parts.iter().skip(from as usize).take((to - from) as usize))
            })
            .collect()
    }
}

fn sum<'a>(parts: impl IntoIterator<Item = &'a Counts>) -> Counts {
    let mut sum = Counts::default();
    parts.into_iter().for_each(|part| sum.merge(part));
    sum
}

/// How many are kept.
pub(super) const KEPT: usize = 8;

/// One slow I/O in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slow {
    /// How long it took.
    pub(super) ticks: u64,
    /// Where it went.
    pub(super) offset: u64,
    /// When it ended.
    pub(super) end: u64,
}

/// The [`KEPT`] slowest I/Os, slowest first.
#[derive(Debug, Clone, Default)]
pub(super) struct Slowest {
    kept: Vec<Slow>,
    /// What an I/O must exceed to be kept.
    threshold: u64,
}

impl Slowest {
    /// Looks at one I/O.
    #[inline]
    pub(super) fn offer(&mut self, slow: Slow) {
        if slow.ticks > self.threshold || self.kept.len() < KEPT {
            self.insert(slow);
        }
    }

    /// What an I/O must exceed, in ticks, to be kept.
    #[inline]
    pub(super) fn threshold(&self) -> u64 {
        self.threshold
    }

    #[cold]
    fn insert(&mut self, slow: Slow) {
        let at = self.kept.partition_point(|other| other.ticks >= slow.ticks);
        self.kept.insert(at, slow);
        self.kept.truncate(KEPT);
        self.threshold = self.kept.get(KEPT - 1).map_or(0, |least| least.ticks);
    }

    /// Adds those of another worker.
    pub(super) fn merge(&mut self, other: &Self) {
        other.kept.iter().for_each(|slow| self.offer(*slow));
    }

    /// The slowest, slowest first.
    pub(super) fn kept(&self) -> &[Slow] {
        &self.kept
    }
}

#[cfg(test)]
mod tests;
