//! What one worker counted, and how the counts of several become one measurement.

use super::engine::Op;
use super::failure::RunFailure;
use super::histogram::Histogram;
use super::ledger::Ledger;
use super::parts::Parts;
use super::slot::Flight;
use super::slowest::{Slow, Slowest};

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

/// Processor time and kernel entries between the beginning and the end of the measured time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Effort {
    /// User time in seconds.
    pub(super) user_seconds: f64,
    /// System time in seconds.
    pub(super) system_seconds: f64,
    /// Processor time of the kernel's io-wq workers for the ring in seconds.
    pub(super) io_worker_seconds: f64,
    /// The part of the busiest of them.
    pub(super) busiest_io_worker_seconds: f64,
    /// Seconds in the queue of a processor.
    pub(super) queued_seconds: f64,
    /// Involuntary context switches.
    pub(super) involuntary_switches: u64,
    /// Kernel entries.
    pub(super) enters: u64,
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
pub(super) struct Alike {
    op: Op,
    start: u64,
    now: u64,
    ticks: u64,
    /// What an I/O must exceed to be one of the slowest.
    bar: u64,
    count: u64,
    bytes: u64,
}

impl Alike {
    /// Whether they may be among the slowest.
    #[inline]
    pub(super) fn is_slow(&self) -> bool {
        self.ticks > self.bar
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
    /// Trims that ended well in the window.
    pub(super) discards: OpTally,
    /// Syncs that ended well in the window; they move no bytes.
    pub(super) syncs: OpTally,
    /// Bytes in each bucket of the window.
    series: Vec<u64>,
    /// The bucket of the window that is not over.
    bucket: u64,
    /// When bytes were last added to the series.
    last: u64,
    /// What was written where, of each worker that keeps a ledger.
    pub(super) ledgers: Vec<Ledger>,
    /// Failed I/Os, warm-up included.
    pub(super) errors: u64,
    /// The first failure, with its time.
    first_error: Option<(u64, String)>,
    /// I/Os and syncs that ended well, warm-up included.
    pub(super) good: u64,
    /// What ended the run, when it was a failure.
    pub(super) failure: Option<RunFailure>,
    /// I/Os and syncs that ended well in the window, counted apart from their latencies.
    pub(super) completed: u64,
    /// The I/Os in flight, summed over all ticks of the window.
    pub(super) flight_ticks: u128,
    /// I/Os of a schedule that were due in the window and not sent.
    pub(super) unsent: u64,
    /// Why the worker ended early.
    pub(super) cut_short: Option<String>,
    /// The tick at which it stopped counting.
    pub(super) stopped: u64,
    /// What it used.
    pub(super) effort: Effort,
    /// The processor time of the busiest worker in seconds.
    pub(super) busiest_cpu_seconds: f64,
    /// The time that a worker stood in the queue of a processor in seconds, the longest.
    pub(super) longest_queued_seconds: f64,
}

impl Tally {
    /// Nothing counted yet.
    pub(super) fn new(window: Window) -> Self {
        Self {
            window,
            reads: OpTally::new(),
            writes: OpTally::new(),
            discards: OpTally::new(),
            syncs: OpTally::new(),
            ledgers: Vec::new(),
            series: vec![0; window.buckets()],
            bucket: 0,
            last: window.start,
            errors: 0,
            first_error: None,
            good: 0,
            failure: None,
            completed: 0,
            flight_ticks: 0,
            unsent: 0,
            cut_short: None,
            stopped: 0,
            effort: Effort::default(),
            busiest_cpu_seconds: 0.0,
            longest_queued_seconds: 0.0,
        }
    }

    /// Counts an I/O that ended well at `now`, in the window, except for the series.
    #[cfg(test)]
    fn record(&mut self, flight: Flight, now: u64) {
        let mut alike = self.alike(flight, now);
        self.join(&mut alike, flight);
        self.settle(&alike);
    }

    /// What I/Os have in common that ended well at `now`, in the window, and do the same as `flight` since the same tick.
    /// None is counted yet.
    #[inline]
    pub(super) fn alike(&mut self, flight: Flight, now: u64) -> Alike {
        let (op, start) = (flight.request.op, flight.start);
        let bar = self.kind(op).slowest.bar();
        Alike { op, start, now, ticks: now.saturating_sub(start), bar, count: 0, bytes: 0 }
    }

    /// Adds an I/O to those that it is like.
    #[inline]
    pub(super) fn join(&mut self, alike: &mut Alike, flight: Flight) {
        alike.count += 1;
        alike.bytes += u64::from(flight.request.length);
        if alike.is_slow() {
            let slow = Slow { ticks: alike.ticks, offset: flight.request.offset, end: alike.now };
            let slowest = &mut self.kind(alike.op).slowest;
            slowest.offer(slow);
            alike.bar = slowest.bar();
        }
    }

    /// Counts I/Os that are alike, except for the series.
    #[inline]
    pub(super) fn settle(&mut self, alike: &Alike) {
        let kind = self.kind(alike.op);
        kind.latencies.record_many(alike.ticks, alike.count);
        kind.bytes += alike.bytes;
        self.completed += alike.count;
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
            Op::Discard => &mut self.discards,
            Op::Fsync | Op::Fdatasync => &mut self.syncs,
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
        for kind in [&mut self.reads, &mut self.writes, &mut self.discards, &mut self.syncs] {
            kind.enter(bucket);
        }
    }

    /// Counts the bucket that is not over in the parts of the window, too, when nothing more is recorded.
    pub(super) fn complete(&mut self) {
        self.enter(self.bucket);
    }

    /// Reads, writes and trims together.
    pub(super) fn all(&self) -> OpTally {
        let mut all = self.reads.clone();
        all.merge(&self.writes);
        all.merge(&self.discards);
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
        self.discards.merge(&other.discards);
        self.syncs.merge(&other.syncs);
        for (mine, theirs) in self.series.iter_mut().zip(&other.series) {
            *mine += theirs;
        }
        self.ledgers.extend(other.ledgers);
        self.errors += other.errors;
        self.first_error = self.first_error.take().into_iter().chain(other.first_error).min();
        self.good += other.good;
        self.failure = self.failure.take().or(other.failure);
        self.cut_short = self.cut_short.take().or(other.cut_short);
        self.stopped = self.stopped.max(other.stopped);
        self.effort.user_seconds += other.effort.user_seconds;
        self.effort.system_seconds += other.effort.system_seconds;
        self.effort.io_worker_seconds += other.effort.io_worker_seconds;
        self.effort.busiest_io_worker_seconds =
            self.effort.busiest_io_worker_seconds.max(other.effort.busiest_io_worker_seconds);
        self.effort.queued_seconds += other.effort.queued_seconds;
        self.completed += other.completed;
        self.flight_ticks += other.flight_ticks;
        self.unsent += other.unsent;
        self.effort.involuntary_switches += other.effort.involuntary_switches;
        self.effort.enters += other.effort.enters;
        self.busiest_cpu_seconds = self.busiest_cpu_seconds.max(other.busiest_cpu_seconds);
        self.longest_queued_seconds = self.longest_queued_seconds.max(other.longest_queued_seconds);
    }

    /// How many buckets were begun in the time that was measured.
    pub(super) fn begun_buckets(&self) -> u64 {
        self.elapsed().div_ceil(self.window.bucket.max(1))
    }

    /// The ticks that were measured: the whole window, or less of it when the run was cut short.
    pub(super) fn elapsed(&self) -> u64 {
        self.stopped.min(self.window.end).saturating_sub(self.window.start)
    }

    /// The ticks in each bucket.
    pub(super) fn bucket_ticks(&self) -> u64 {
        self.window.bucket
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Request;

    const WINDOW: Window = Window { start: 1000, end: 1350, bucket: 100 };

    fn at(times: &[u64], stopped: u64) -> Tally {
        let mut tally = Tally::new(WINDOW);
        let request = Request { op: Op::Read, offset: 0, length: 4096 };
        for now in times {
            tally.record(Flight { start: now - 10, request }, *now);
            tally.add_to_series(4096, *now);
        }
        tally.stopped = stopped;
        tally
    }

    #[test]
    fn what_ends_before_the_sample_does_belongs_to_it() {
        assert_eq!(at(&[], 1000).same_until(999), 0, "the window has not begun");
        assert_eq!(at(&[], 1000).same_until(1000), 1100);
        assert_eq!(at(&[1050], 1060).same_until(1060), 1100);
        assert_eq!(at(&[1050], 1060).same_until(1160), 1100, "another sample: not any more");
        assert_eq!(at(&[1050, 1349], 1349).same_until(1349), 1350, "the last ends with the window");
        assert_eq!(at(&[1050, 1349], 1349).same_until(1350), 0, "the window is over");
    }

    #[test]
    fn the_unfinished_last_bucket_counts_in_the_bytes_and_not_in_the_series() {
        let tally = at(&[1000, 1099, 1100, 1349], 1360);
        assert_eq!(tally.all().bytes, 4 * 4096);
        assert_eq!(tally.elapsed(), 350);
        // The third I/O ended with the first bucket. The last had 249 ticks since then, 100 each in the second and third.
        assert_eq!(tally.full_buckets(), [3 * 4096, 1644, 1644]);
    }

    #[test]
    fn a_run_that_was_cut_short_has_only_its_full_buckets() {
        let tally = at(&[1000, 1150], 1199);
        // Two thirds of the 150 ticks of the second I/O lie in the first bucket.
        assert_eq!((tally.elapsed(), tally.full_buckets()), (199, &[4096 + 2730][..]));
        let stopped_in_warm_up = at(&[], 990);
        assert_eq!((stopped_in_warm_up.elapsed(), stopped_in_warm_up.full_buckets().len()), (0, 0));
    }

    #[test]
    fn a_steady_rate_of_large_ios_is_steady_in_the_series() {
        // An I/O in 30 ticks: 3 or 4 of them end in each bucket of 100.
        let mut tally = Tally::new(Window { start: 0, end: 3000, bucket: 100 });
        let mut shared = 0;
        for end in (30..3000).step_by(30) {
            let shares = tally.add_to_series(3000, end).unwrap_or_else(|| vec![(0, 3000)]);
            shared += shares.iter().map(|(_, bytes)| bytes).sum::<u64>();
        }
        tally.stopped = 2970;
        assert!(tally.full_buckets().iter().all(|bytes| (9_999..=10_001).contains(bytes)), "{tally:?}");
        assert_eq!(shared, 99 * 3000);
    }

    #[test]
    fn a_window_of_whole_buckets_loses_none() {
        let mut tally = Tally::new(Window { start: 5, end: 305, bucket: 100 });
        tally.add_to_series(1, 304);
        tally.stopped = 310;
        assert_eq!(tally.full_buckets(), [0, 0, 1]);
    }

    #[test]
    fn reads_and_writes_are_counted_apart() {
        let mut tally = at(&[1000, 1001], 1350);
        let request = Request { op: Op::Write, offset: 4096, length: 512 };
        tally.record(Flight { start: 1000, request }, 1070);
        assert_eq!((tally.reads.latencies.count(), tally.reads.bytes), (2, 8192));
        assert_eq!((tally.writes.latencies.max(), tally.writes.bytes), (Some(70), 512));
        let all = tally.all();
        assert_eq!((all.latencies.count(), all.bytes), (3, 8704));
        assert_eq!(all.slowest.kept()[0], Slow { ticks: 70, offset: 4096, end: 1070 });
    }

    #[test]
    fn the_parts_of_the_window_hold_every_latency() {
        let mut tally = at(&[1000, 1099, 1100, 1349], 1360);
        tally.complete();
        let counts: Vec<u64> =
            tally.reads.parts.tenths(tally.begun_buckets()).iter().map(|part| part.counts.count()).collect();
        // 350 ticks are four buckets. What shows that one is over still counts in it: 1100 in the first, and the I/O of
        // 1349, which was in flight since the second, there.
        assert_eq!(counts, [3, 1, 0, 0]);
        let mut twice = tally.clone();
        twice.merge(tally);
        let both = twice.all().parts.tenths(4);
        assert_eq!(both.iter().map(|part| part.counts.count()).collect::<Vec<_>>(), [6, 2, 0, 0]);
    }

    #[test]
    fn merging_adds_what_workers_did_and_keeps_the_first_error() {
        let mut a = at(&[1000, 1200], 1350);
        let mut b = at(&[1001], 1400);
        a.fail(1101, || "a failed later".to_owned());
        b.fail(1100, || "b failed".to_owned());
        b.fail(1102, || "again".to_owned());
        b.busiest_cpu_seconds = 0.5;
        b.longest_queued_seconds = 0.25;
        b.effort.enters = 3;
        b.effort.io_worker_seconds = 0.5;
        a.effort.busiest_io_worker_seconds = 0.125;
        b.effort.busiest_io_worker_seconds = 0.375;
        a.merge(b);
        assert_eq!((a.all().bytes, a.all().latencies.count(), a.errors), (3 * 4096, 3, 3));
        assert_eq!(a.first_error().as_deref(), Some("b failed"));
        assert_eq!(a.full_buckets(), [2 * 4096 + 2048, 2048, 0]);
        assert_eq!(a.longest_queued_seconds, 0.25);
        assert_eq!((a.effort.io_worker_seconds, a.effort.busiest_io_worker_seconds), (0.5, 0.375));
        assert_eq!((a.busiest_cpu_seconds, a.effort.enters, a.stopped), (0.5, 3, 1400));
    }
}
