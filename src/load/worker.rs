//! One worker: keeps its slots in flight until the measured time is over, and counts what ends.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::libc;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

use super::clock::Clock;
use super::control::Control;
use super::engine::{Completion, Engine, Op, PATIENCE, Request};
use super::ledger::Ledger;
use super::pace::Schedule;
use super::slot::Slots;
use super::source::Source;
use super::tally::{Effort, Tally, Window};
use crate::units::Nanos;

/// After so many failed I/Os in a row the target counts as failed.
const MAX_CONSECUTIVE_ERRORS: u32 = 16;
/// So many writes to places that are being written are passed over before the worker waits.
const MOST_COLLISIONS: u32 = 64;
/// How long the I/Os in flight at the end may take to come back. A device that hangs is given up then.
const DRAIN_LIMIT: Duration = Duration::from_secs(10);
/// How often the worker tells how far it is.
const REPORT_EVERY: Nanos = Nanos::from_millis(10);

/// When the worker takes completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reap {
    /// As they arrive, one at a time if need be, and sends the next I/O at once. The latencies are what an application
    /// at this depth sees.
    #[default]
    AsTheyArrive,
    /// In batches of so many, which saves kernel entries and adds the waiting for the rest of the batch to each latency:
    /// for the highest rate, not for latencies.
    Batch(u32),
}

/// Closer to the time of the next I/O than this a worker polls instead of sleeping: a sleep ends up to 50 µs late by
/// default (timer slack, prctl(2)).
const POLL_WITHIN: Nanos = Nanos::new(100_000);

/// A worker that does not go as fast as it can.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    pub(super) schedule: Schedule,
    /// Whether the schedule counts bytes; else I/Os.
    pub(super) in_bytes: bool,
    /// Whether latencies count from when an I/O was due; else from when it was sent.
    pub(super) from_due: bool,
}

/// What all workers of a run share.
#[derive(Clone, Copy)]
pub(super) struct Shared<'a> {
    pub(super) control: &'a Control,
    /// Set when one worker fails, so that the others end too.
    pub(super) abort: &'a AtomicBool,
    pub(super) clock: Clock,
    pub(super) reap: Reap,
}

/// Why the loop ended.
enum End {
    Time,
    Stopped,
    /// Another worker failed, and says why.
    Aborted,
    Failed(String),
}

/// One worker at work.
pub(super) struct Worker<'a, E> {
    shared: Shared<'a>,
    engine: &'a mut E,
    source: Source,
    slots: Slots,
    window: Window,
    tally: Tally,
    pace: Option<Pace>,
    /// The last tick that was looked at.
    now: u64,
    ledger: Option<Ledger>,
    /// Writes so far, the generation of each without a ledger.
    writes: u64,
    done: Vec<Completion>,
    consecutive_errors: u32,
    last_error: String,
    unreported: u64,
    report_at: u64,
    /// The sample of the series that `unreported` belongs to.
    sample: u64,
}

impl<'a, E: Engine> Worker<'a, E> {
    /// A worker that keeps `depth` I/Os in flight.
    pub(super) fn new(
        shared: Shared<'a>,
        engine: &'a mut E,
        source: Source,
        depth: u32,
        window: Window,
    ) -> Self {
        Self {
            shared,
            engine,
            source,
            slots: Slots::new(depth),
            window,
            tally: Tally::new(window),
            pace: None,
            now: shared.clock.ticks(),
            ledger: None,
            writes: 0,
            done: Vec::with_capacity(2 * depth as usize),
            consecutive_errors: 0,
            last_error: String::new(),
            unreported: 0,
            report_at: 0,
            sample: 0,
        }
    }

    /// The same worker, which keeps a ledger of its writes.
    pub(super) fn with_ledger(self, ledger: Option<Ledger>) -> Self {
        Self { ledger, ..self }
    }

    /// The same worker, held to a pace.
    pub(super) fn with_pace(self, pace: Option<Pace>) -> Self {
        Self { pace, ..self }
    }

    /// Works until the window is over, the run is stopped or the target fails; then waits for what is in flight.
    pub(super) fn run(mut self) -> Tally {
        let (end, before) = self.work();
        let effort = self.effort();
        self.tally.stopped = self.shared.clock.ticks();
        let used = before.map_or_else(Effort::default, |before| Effort {
            user_seconds: effort.user_seconds - before.user_seconds,
            system_seconds: effort.system_seconds - before.system_seconds,
            involuntary_switches: effort.involuntary_switches.saturating_sub(before.involuntary_switches),
            enters: effort.enters.saturating_sub(before.enters),
        });
        self.tally.effort = used;
        self.tally.busiest_cpu_seconds = used.user_seconds + used.system_seconds;
        if let Some(pace) = self.pace.filter(|pace| pace.from_due) {
            let end = self.tally.stopped.min(self.window.end);
            self.tally.unsent = pace.schedule.overdue(end) as u64;
        }
        self.tally.cut_short = match end {
            End::Time | End::Aborted => None,
            End::Stopped => Some("interrupted".to_owned()),
            End::Failed(why) => {
                self.shared.abort.store(true, Ordering::Relaxed);
                Some(why)
            }
        };
        self.drain();
        self.tally.ledgers.extend(self.ledger.take());
        self.tell();
        self.tally
    }

    /// The loop. Also returns what had been used when the window began.
    fn work(&mut self) -> (End, Option<Effort>) {
        let mut before = None;
        self.now = self.shared.clock.ticks();
        loop {
            let now = self.now;
            if before.is_none() && now >= self.window.start {
                before = Some(self.effort());
            }
            let is_enough = before.is_some() && self.shared.control.is_finished();
            if now >= self.window.end || is_enough {
                return (End::Time, before);
            }
            if self.shared.abort.load(Ordering::Relaxed) {
                return (End::Aborted, before);
            }
            if self.shared.control.is_stopped() {
                return (End::Stopped, before);
            }
            if let Err(error) = self.turn() {
                return (End::Failed(format!("the engine failed: {error}")), before);
            }
            if self.consecutive_errors >= MAX_CONSECUTIVE_ERRORS {
                let why = format!(
                    "the target failed: {MAX_CONSECUTIVE_ERRORS} errors in a row, the last: {}",
                    self.last_error
                );
                return (End::Failed(why), before);
            }
        }
    }

    /// Fills the free slots, enters the kernel once and counts what ended.
    #[inline]
    fn turn(&mut self) -> io::Result<()> {
        let (began, in_flight) = (self.now, self.slots.in_flight());
        let batch = match self.shared.reap {
            Reap::AsTheyArrive => u32::MAX,
            Reap::Batch(size) => size.max(1),
        };
        let mut left = batch;
        let mut wait = None;
        while left > 0 && !self.slots.is_full() {
            let due = self.pace.as_ref().map(|pace| pace.schedule.due());
            if let Some(due) = due.filter(|due| *due > self.now) {
                wait = Some(due - self.now);
                break;
            }
            let Some(request) = self.source.next() else { break };
            if request.op == Op::Write && !self.begin_write(request) {
                // All of a small region may be in flight.
                left = left.min(MOST_COLLISIONS) - 1;
                continue;
            }
            if let Some(slot) = self.slots.take(request) {
                if request.op == Op::Write {
                    self.stamp(slot, request);
                }
                self.engine.prepare(slot, request)?;
                if let (Some(pace), Some(due)) = (&mut self.pace, due) {
                    pace.schedule.advance(if pace.in_bytes { f64::from(request.length) } else { 1.0 });
                    if pace.from_due {
                        self.slots.set_due(slot, due);
                    }
                }
            }
            left -= 1;
        }
        let want = match self.shared.reap {
            Reap::AsTheyArrive => 1,
            Reap::Batch(_) if !self.slots.is_full() => 0,
            Reap::Batch(_) => batch.min(self.slots.in_flight()),
        };
        let (want, patience) = wait.map_or((want, PATIENCE), |ticks| self.doze(ticks));
        let sent = self.shared.clock.ticks();
        self.slots.stamp(sent);
        let sent_in_flight = self.slots.in_flight();
        self.engine.submit_and_reap(want, patience, &mut self.done)?;
        self.now = self.shared.clock.ticks();
        if self.window.contains(began) && self.window.contains(self.now) {
            let before = u128::from(sent.saturating_sub(began)) * u128::from(in_flight);
            let after = u128::from(self.now.saturating_sub(sent)) * u128::from(sent_in_flight);
            self.tally.flight_ticks += before + after;
        }
        self.count(self.now)
    }

    /// How to wait for an I/O that is due in so many ticks: for how many completions, and how long.
    fn doze(&self, ticks: u64) -> (u32, Duration) {
        let early = ticks.saturating_sub(self.shared.clock.ticks_in(POLL_WITHIN));
        if early == 0 {
            return (0, Duration::ZERO);
        }
        let nanos = early as f64 / self.shared.clock.ticks_in(Nanos::from_millis(1)).max(1) as f64 * 1e6;
        (1, Duration::from_nanos(nanos as u64).min(PATIENCE))
    }

    /// Whether a write may begin: not while another one to the same place is in flight and a ledger is kept.
    fn begin_write(&mut self, request: Request) -> bool {
        self.writes += 1;
        self.ledger.as_mut().is_none_or(|ledger| ledger.begin(request))
    }

    fn end_write(&mut self, request: Request, good: bool) {
        if let (Op::Write, Some(ledger)) = (request.op, &mut self.ledger) {
            ledger.end(request, good);
        }
    }

    fn stamp(&mut self, slot: u32, request: Request) {
        let Some(memory) = self.engine.memory() else { return };
        match &self.ledger {
            Some(ledger) => memory.stamp(slot, request, |offset| ledger.generation(offset)),
            None => memory.stamp(slot, request, |_| self.writes),
        }
    }

    /// Counts the completions that were seen at `now`.
    #[inline]
    fn count(&mut self, now: u64) -> io::Result<()> {
        let inside = self.window.contains(now);
        let mut moved = 0;
        let done = std::mem::take(&mut self.done);
        for completion in &done {
            let Some(flight) = self.slots.finish_whole(completion.slot, completion.result) else {
                self.not_good(*completion, now)?;
                continue;
            };
            self.end_write(flight.request, true);
            self.consecutive_errors = 0;
            moved += u64::from(flight.request.length);
            if inside {
                self.tally.completed += 1;
                self.tally.record(flight, now);
            }
        }
        self.done = done;
        self.done.clear();
        if inside && moved > 0 {
            let shares = self.tally.add_to_series(moved, now);
            self.report(moved, shares, now);
        }
        Ok(())
    }

    /// An I/O that did not move all its bytes: sent again if the kernel asks for that, else a failure.
    #[cold]
    fn not_good(&mut self, completion: Completion, now: u64) -> io::Result<()> {
        let Some(request) = self.slots.request(completion.slot) else { return Ok(()) };
        if matches!(-completion.result, libc::EAGAIN | libc::EINTR) {
            return self.engine.prepare(completion.slot, request);
        }
        if self.slots.finish(completion.slot).is_some() {
            self.end_write(request, false);
            let what = describe(completion.result, request);
            self.tally.fail(now, || what.clone());
            self.last_error = what;
            self.consecutive_errors += 1;
        }
        Ok(())
    }

    #[inline]
    fn report(&mut self, bytes: u64, shares: Option<Vec<(u64, u64)>>, now: u64) {
        match shares {
            None => self.unreported += bytes,
            Some(shares) => {
                for (sample, share) in shares {
                    if sample != self.sample {
                        self.tell();
                        self.sample = sample;
                    }
                    self.unreported += share;
                }
            }
        }
        if now >= self.report_at {
            self.tell();
            self.report_at = now.saturating_add(self.shared.clock.ticks_in(REPORT_EVERY));
        }
    }

    /// Tells the watcher of what was read since the last time.
    fn tell(&mut self) {
        self.shared.control.add_bytes(std::mem::take(&mut self.unreported), self.sample);
    }

    /// Waits for what is in flight, uncounted. What does not come back within [`DRAIN_LIMIT`] is given up.
    fn drain(&mut self) {
        let deadline = Instant::now() + DRAIN_LIMIT;
        while self.slots.in_flight() > 0 && Instant::now() < deadline {
            if self.engine.submit_and_reap(self.slots.in_flight(), PATIENCE, &mut self.done).is_err() {
                break;
            }
            for completion in std::mem::take(&mut self.done) {
                if let Some(flight) = self.slots.finish(completion.slot) {
                    let whole = i64::from(completion.result) == i64::from(flight.request.length);
                    self.end_write(flight.request, whole);
                }
            }
        }
        let lost = self.slots.in_flight();
        if lost > 0 {
            let why = format!("{lost} I/Os did not come back within {} s", DRAIN_LIMIT.as_secs());
            self.tally.cut_short.get_or_insert(why);
        }
    }

    /// What this thread and its engine have used so far.
    fn effort(&self) -> Effort {
        let enters = self.engine.enters();
        let Ok(usage) = getrusage(UsageWho::RUSAGE_THREAD) else {
            return Effort { enters, ..Effort::default() };
        };
        let (user, system) = (usage.user_time(), usage.system_time());
        let seconds = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
        Effort {
            user_seconds: seconds(user),
            system_seconds: seconds(system),
            involuntary_switches: u64::try_from(usage.involuntary_context_switches()).unwrap_or(0),
            enters,
        }
    }
}

/// A failed I/O in words: who, what, where.
fn describe(result: i32, request: Request) -> String {
    let Request { op, offset, length } = request;
    let (what, moved) = match op {
        Op::Read => ("read", "came back"),
        Op::Write => ("write", "were taken"),
        Op::Fsync => ("fsync", "were synced"),
        Op::Fdatasync => ("fdatasync", "were synced"),
    };
    if result < 0 {
        let errno = Errno::from_raw(result.saturating_neg());
        format!("{what} of {length} bytes at offset {offset}: {} ({errno:?})", errno.desc())
    } else {
        format!("{what} of {length} bytes at offset {offset}: only {result} bytes {moved}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::measurement::Pattern;
    use crate::load::offsets::{Blocks, Offsets};
    use crate::load::random::Random;
    use crate::load::workload::Workload;
    use std::collections::VecDeque;

    const BLOCK: u32 = 4096;
    const ALWAYS: Window = Window { start: 0, end: u64::MAX, bucket: u64::MAX };

    /// An engine that ends reads in random order with the results it is given, then well, and stops the run after a
    /// number of good I/Os.
    struct Fake<'c> {
        control: &'c Control,
        random: Random,
        pending: Vec<u32>,
        results: VecDeque<i32>,
        good: u64,
        stop_after: u64,
    }

    impl<'c> Fake<'c> {
        fn new(control: &'c Control, results: &[i32], stop_after: u64) -> Self {
            let results = results.iter().copied().collect();
            Self { control, random: Random::seeded(1), pending: Vec::new(), results, good: 0, stop_after }
        }
    }

    impl Engine for Fake<'_> {
        fn prepare(&mut self, slot: u32, _request: Request) -> io::Result<()> {
            assert!(!self.pending.contains(&slot), "slot {slot} is in flight already");
            self.pending.push(slot);
            Ok(())
        }

        fn submit_and_reap(
            &mut self,
            want: u32,
            _patience: Duration,
            done: &mut Vec<Completion>,
        ) -> io::Result<()> {
            let draining = self.control.is_stopped();
            let most = self.pending.len() as u64;
            let count = u64::from(want).max(self.random.below(most + 1)).min(most);
            for _ in 0..count {
                let slot = self.pending.swap_remove(self.random.below(self.pending.len() as u64) as usize);
                let result = self.results.pop_front().unwrap_or(BLOCK as i32);
                self.good += u64::from(!draining && result == BLOCK as i32);
                done.push(Completion { slot, result });
            }
            if self.good >= self.stop_after {
                self.control.stop();
            }
            Ok(())
        }

        fn enters(&self) -> u64 {
            0
        }
    }

    fn work(engine: &mut Fake<'_>, depth: u32, reap: Reap, abort: &AtomicBool) -> Tally {
        let control = engine.control;
        let shared = Shared { control, abort, clock: Clock::start(), reap };
        let offsets = Offsets::new(Pattern::Sequential, Blocks::inside(0, 1 << 20, u64::from(BLOCK)), 0);
        let source = Source::new(&Workload::default(), vec![offsets], BLOCK, 0);
        Worker::new(shared, engine, source, depth, ALWAYS).run()
    }

    #[test]
    fn every_good_read_is_recorded_once_in_whatever_order_reads_end() {
        for reap in [Reap::AsTheyArrive, Reap::Batch(4), Reap::Batch(100)] {
            for depth in [1, 7, 32] {
                let control = Control::default();
                let mut engine = Fake::new(&control, &[-libc::EAGAIN, -libc::EINTR, -libc::EAGAIN], 5_000);
                let tally = work(&mut engine, depth, reap, &AtomicBool::new(false));
                assert_eq!(tally.reads.latencies.count(), engine.good, "depth {depth}, {reap:?}");
                assert_eq!(tally.reads.bytes, engine.good * u64::from(BLOCK));
                assert_eq!(control.bytes_done().get(), tally.reads.bytes);
                assert_eq!((tally.errors, engine.pending.len()), (0, 0));
                assert_eq!(tally.cut_short.as_deref(), Some("interrupted"));
            }
        }
    }

    #[test]
    fn scattered_errors_are_counted_and_do_not_stop_the_run() {
        let control = Control::default();
        let results: Vec<i32> =
            (0..100).map(|i| if i % 2 == 0 { -libc::EIO } else { BLOCK as i32 }).collect();
        let mut engine = Fake::new(&control, &results, 500);
        let tally = work(&mut engine, 1, Reap::AsTheyArrive, &AtomicBool::new(false));
        assert_eq!((tally.errors, tally.reads.latencies.count()), (50, 500));
        assert_eq!(tally.first_error().as_deref(), Some("read of 4096 bytes at offset 0: I/O error (EIO)"));
    }

    #[test]
    fn sixteen_errors_in_a_row_end_the_run_of_all_workers() {
        let control = Control::default();
        let mut engine = Fake::new(&control, &[-libc::EIO; 1000], u64::MAX);
        let abort = AtomicBool::new(false);
        let tally = work(&mut engine, 1, Reap::AsTheyArrive, &abort);
        assert_eq!(tally.errors, 16);
        assert!(abort.load(Ordering::Relaxed));
        assert_eq!(
            tally.cut_short.as_deref(),
            Some(
                "the target failed: 16 errors in a row, the last: read of 4096 bytes at offset 61440: I/O error (EIO)"
            )
        );
    }

    #[test]
    fn a_short_read_is_an_error_that_says_what_came_back() {
        let control = Control::default();
        let mut engine = Fake::new(&control, &[BLOCK as i32, 512], 3);
        let tally = work(&mut engine, 1, Reap::AsTheyArrive, &AtomicBool::new(false));
        assert_eq!(
            tally.first_error().as_deref(),
            Some("read of 4096 bytes at offset 4096: only 512 bytes came back")
        );
    }

    /// An engine that ends every I/O at once, but for one stall.
    struct Stalling<'c> {
        control: &'c Control,
        prepared: Vec<u32>,
        ended: u64,
    }

    const STALL: Duration = Duration::from_millis(200);

    impl Engine for Stalling<'_> {
        fn prepare(&mut self, slot: u32, _request: Request) -> io::Result<()> {
            self.prepared.push(slot);
            Ok(())
        }

        fn submit_and_reap(
            &mut self,
            _: u32,
            patience: Duration,
            done: &mut Vec<Completion>,
        ) -> io::Result<()> {
            if self.prepared.is_empty() {
                std::thread::sleep(patience);
            }
            for slot in self.prepared.drain(..) {
                self.ended += 1;
                if self.ended == 100 {
                    std::thread::sleep(STALL);
                }
                done.push(Completion { slot, result: BLOCK as i32 });
            }
            if self.ended >= 500 {
                self.control.stop();
            }
            Ok(())
        }

        fn enters(&self) -> u64 {
            0
        }
    }

    /// The latency that the fraction `q` of 500 I/Os did not exceed, in multiples of the stall.
    fn delayed(from_due: bool, q: f64) -> f64 {
        let (control, abort) = (Control::default(), AtomicBool::new(false));
        let clock = Clock::start();
        let shared = Shared { control: &control, abort: &abort, clock, reap: Reap::AsTheyArrive };
        let offsets = Offsets::new(Pattern::Sequential, Blocks::inside(0, 1 << 20, u64::from(BLOCK)), 0);
        let source = Source::new(&Workload::default(), vec![offsets], BLOCK, 0);
        // One in each millisecond.
        let rate = 1.0 / clock.ticks_in(Nanos::from_millis(1)) as f64;
        let schedule = Schedule::new(clock.ticks(), rate, 0, 0.0);
        let mut engine = Stalling { control: &control, prepared: Vec::new(), ended: 0 };
        let worker = Worker::new(shared, &mut engine, source, 1, ALWAYS);
        let tally = worker.with_pace(Some(Pace { schedule, in_bytes: false, from_due })).run();
        assert_eq!((tally.completed, tally.reads.latencies.count()), (500, 500));
        tally.reads.latencies.quantile(q).unwrap() as f64 / clock.ticks_in(Nanos::from(STALL)) as f64
    }

    #[test]
    fn a_stall_shows_in_every_io_that_it_delayed() {
        // 200 I/Os were due in a stall of 200 ms; the 100 in its first half, a fifth of all, took 100 ms or more. A busy
        // machine only makes it more.
        let open = delayed(true, 0.81);
        assert!(open >= 0.5, "{open} stalls");
        // A closed loop at the same rate sees it once.
        let closed = delayed(false, 0.95);
        assert!(closed < 0.5, "{closed} stalls");
    }
}
