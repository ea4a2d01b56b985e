//! Tests of the worker with engines that end I/Os as they are told.

use std::collections::VecDeque;

use super::*;
use crate::failure::cause;
use crate::measurement::Cause;
use crate::measurement::Pattern;
use crate::random::Random;
use crate::source::{Blocks, Offsets};
use narrows_base::workload::Workload;

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
    let results: Vec<i32> = (0..100).map(|i| if i % 2 == 0 { -libc::EIO } else { BLOCK as i32 }).collect();
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

    fn submit_and_reap(&mut self, _: u32, patience: Duration, done: &mut Vec<Completion>) -> io::Result<()> {
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

#[test]
fn a_stall_shows_in_every_io_that_it_delayed() {
    let (control, abort) = (Control::default(), AtomicBool::new(false));
    let clock = Clock::start();
    let shared = Shared { control: &control, abort: &abort, clock, reap: Reap::AsTheyArrive };
    let offsets = Offsets::new(Pattern::Sequential, Blocks::inside(0, 1 << 20, u64::from(BLOCK)), 0);
    let source = Source::new(&Workload::default(), vec![offsets], BLOCK, 0);
    // One in each millisecond.
    let rate = 1.0 / clock.ticks_in(Nanos::from_millis(1)) as f64;
    let schedule = Schedule::new(clock.ticks(), rate, 0.0);
    let mut engine = Stalling { control: &control, prepared: Vec::new(), ended: 0 };
    let worker = Worker::new(shared, &mut engine, source, 1, ALWAYS);
    let tally = worker.with_pace(Some(schedule)).run();
    assert_eq!((tally.completed, tally.reads.latencies.count()), (500, 500));
    // 200 I/Os were due in a stall of 200 ms; the 100 in its first half, a fifth of all, took 100 ms or more. A busy
    // machine only makes it more.
    let delayed = tally.reads.latencies.quantile(0.81).unwrap();
    assert!(delayed * 2 >= clock.ticks_in(Nanos::from(STALL)), "{delayed} ticks");
}

/// An engine that breaks down after so many calls.
struct Broken {
    prepared: Vec<u32>,
    calls_left: u32,
}

impl Engine for Broken {
    fn prepare(&mut self, slot: u32, _request: Request) -> io::Result<()> {
        self.prepared.push(slot);
        Ok(())
    }

    fn submit_and_reap(&mut self, _: u32, _: Duration, done: &mut Vec<Completion>) -> io::Result<()> {
        self.calls_left =
            self.calls_left.checked_sub(1).ok_or_else(|| io::Error::from_raw_os_error(libc::EBADF))?;
        done.extend(self.prepared.drain(..).map(|slot| Completion { slot, result: BLOCK as i32 }));
        Ok(())
    }

    fn enters(&self) -> u64 {
        0
    }
}

fn sequential(write_percent: u8) -> Source {
    let offsets = Offsets::new(Pattern::Sequential, Blocks::inside(0, 1 << 20, u64::from(BLOCK)), 0);
    let workload = Workload { write_percent, ..Workload::default() };
    Source::new(&workload, vec![offsets], BLOCK, 0)
}

#[test]
fn an_engine_that_breaks_down_leaves_what_was_counted() {
    let (control, abort) = (Control::default(), AtomicBool::new(false));
    let shared = Shared { control: &control, abort: &abort, clock: Clock::start(), reap: Reap::AsTheyArrive };
    let mut engine = Broken { prepared: Vec::new(), calls_left: 5 };
    let tally = Worker::new(shared, &mut engine, sequential(0), 4, ALWAYS).run();
    assert_eq!((tally.completed, tally.good), (20, 20));
    let failure = tally.failure.expect("says what failed");
    assert_eq!((failure.cause, failure.errno.as_deref()), (Cause::Engine, Some("EBADF")));
    assert!(tally.cut_short.is_some_and(|why| why.starts_with("the engine failed")));
    assert!(abort.load(Ordering::Relaxed));
}

#[test]
fn an_error_that_cannot_heal_ends_the_run_at_once_although_others_go_well() {
    for errno in [libc::ENOSPC, libc::ENODEV, libc::EROFS] {
        let control = Control::default();
        let mut engine = Fake::new(&control, &[BLOCK as i32, BLOCK as i32, -errno], u64::MAX);
        let tally = work(&mut engine, 1, Reap::AsTheyArrive, &AtomicBool::new(false));
        assert_eq!((tally.errors, tally.good), (1, 2));
        let failure = tally.failure.expect("says what failed");
        assert_eq!((failure.offset, failure.cause), (Some(Bytes::new(8192)), cause(errno)));
        assert!(tally.cut_short.is_some_and(|why| why.starts_with("the target failed: read of 4096")));
    }
}

#[test]
fn the_failure_is_the_first_of_the_errors_in_a_row() {
    let control = Control::default();
    let results: Vec<i32> = [-libc::EIO, BLOCK as i32].into_iter().chain([-libc::EIO; 100]).collect();
    let mut engine = Fake::new(&control, &results, u64::MAX);
    let tally = work(&mut engine, 1, Reap::AsTheyArrive, &AtomicBool::new(false));
    let failure = tally.failure.expect("says what failed");
    assert_eq!((failure.offset, failure.cause, tally.good), (Some(Bytes::new(8192)), Cause::Medium, 1));
}

#[test]
fn a_run_writes_no_more_than_its_budget() {
    let budget = std::sync::Arc::new(Budget::new(Bytes::new(10 * 4096 + 100)));
    let control = Control::default().with_budget(budget.clone());
    let abort = AtomicBool::new(false);
    let shared = Shared { control: &control, abort: &abort, clock: Clock::start(), reap: Reap::AsTheyArrive };
    let mut engine = Broken { prepared: Vec::new(), calls_left: 1000 };
    let tally = Worker::new(shared, &mut engine, sequential(100), 4, ALWAYS).run();
    assert_eq!(tally.good, 10);
    assert_eq!((budget.left(), budget.is_exhausted()), (Bytes::new(100), true));
    assert!(tally.cut_short.is_some_and(|why| why.contains("--max-writes")) && tally.failure.is_none());
}

/// An engine that ends reads in the order in which they were sent, every so many of them badly, a few at a time if it is
/// `late`.
struct InOrder<'c> {
    control: &'c Control,
    prepared: VecDeque<(u32, u64)>,
    /// Reads at multiples of so many blocks fail; none at 0.
    fail_every: u64,
    late: bool,
    /// The read that takes long, and with it all that are taken together with it.
    stall_at: Option<u64>,
    ended: u64,
    failed: u64,
}

/// So many reads end before an [`InOrder`] run does.
const MANY: u64 = 10_000;

impl<'c> InOrder<'c> {
    fn new(control: &'c Control) -> Self {
        Self {
            control,
            prepared: VecDeque::new(),
            fail_every: 0,
            late: false,
            stall_at: None,
            ended: 0,
            failed: 0,
        }
    }
}

impl Engine for InOrder<'_> {
    fn prepare(&mut self, slot: u32, request: Request) -> io::Result<()> {
        assert!(self.prepared.iter().all(|(other, _)| *other != slot), "slot {slot} is in flight already");
        self.prepared.push_back((slot, request.offset));
        Ok(())
    }

    fn submit_and_reap(&mut self, want: u32, _: Duration, done: &mut Vec<Completion>) -> io::Result<()> {
        let most = if self.late { want.max(3) as usize } else { self.prepared.len() };
        let ended: Vec<_> = self.prepared.drain(..most.min(self.prepared.len())).collect();
        if ended.iter().any(|(_, offset)| self.stall_at.take_if(|at| at == offset).is_some()) {
            std::thread::sleep(STALL);
        }
        for (slot, offset) in ended {
            let block = offset / u64::from(BLOCK);
            let fails = self.fail_every > 0 && block.is_multiple_of(self.fail_every);
            self.failed += u64::from(fails);
            done.push(Completion { slot, result: if fails { -libc::EIO } else { BLOCK as i32 } });
            self.ended += 1;
        }
        if self.ended >= MANY {
            self.control.stop();
        }
        Ok(())
    }

    fn enters(&self) -> u64 {
        0
    }
}

#[test]
fn a_batch_that_ends_in_its_order_is_counted_like_any_other() {
    // 100 are more than are drawn at once.
    for (size, depth) in [(32, 128), (32, 32), (32, 7), (0, 8), (1, 1), (5, 32), (100, 128)] {
        for (fail_every, late) in [(0, false), (5, false), (0, true), (5, true)] {
            let case = format!("batches of {size} at {depth}, failing {fail_every}, late {late}");
            let (control, abort) = (Control::default(), AtomicBool::new(false));
            let clock = Clock::start();
            let shared = Shared { control: &control, abort: &abort, clock, reap: Reap::Batch(size) };
            let mut engine = InOrder { fail_every, late, ..InOrder::new(&control) };
            let tally = Worker::new(shared, &mut engine, sequential(0), depth, ALWAYS).run();
            // What was in flight at the end is not counted.
            let counted = tally.good + tally.errors;
            assert!((MANY..=engine.ended).contains(&counted), "{case}: {counted} of {}", engine.ended);
            assert_eq!(tally.errors > 0, fail_every > 0, "{case}");
            assert!(tally.errors <= engine.failed, "{case}");
            assert_eq!((tally.completed, tally.reads.latencies.count()), (tally.good, tally.good), "{case}");
            assert_eq!(tally.reads.bytes, tally.good * u64::from(BLOCK), "{case}");
            assert_eq!(control.bytes_done().get(), tally.reads.bytes, "{case}");
        }
    }
}

#[test]
fn the_slowest_of_a_batch_are_kept_with_their_offsets() {
    let (control, abort) = (Control::default(), AtomicBool::new(false));
    let clock = Clock::start();
    let shared = Shared { control: &control, abort: &abort, clock, reap: Reap::Batch(4) };
    // The second of the last batch of the region, which is read from its start to its end.
    let stall_at = Some((1 << 20) - 3 * u64::from(BLOCK));
    let mut engine = InOrder { stall_at, ..InOrder::new(&control) };
    let tally = Worker::new(shared, &mut engine, sequential(0), 8, ALWAYS).run();
    let long = clock.ticks_in(Nanos::from(STALL));
    let kept = tally.reads.slowest.kept();
    let mut offsets: Vec<u64> =
        kept.iter().filter(|slow| slow.ticks >= long).map(|slow| slow.offset / u64::from(BLOCK)).collect();
    offsets.sort_unstable();
    for block in 252..256 {
        assert!(offsets.contains(&block), "{block} of {offsets:?}");
    }
}

#[test]
fn a_batch_outside_the_window_is_not_counted() {
    let (control, abort) = (Control::default(), AtomicBool::new(false));
    let shared = Shared { control: &control, abort: &abort, clock: Clock::start(), reap: Reap::Batch(32) };
    let never = Window { start: u64::MAX - 1, end: u64::MAX, bucket: 1 };
    let mut engine = InOrder::new(&control);
    let tally = Worker::new(shared, &mut engine, sequential(0), 64, never).run();
    assert_eq!((tally.good, tally.completed, tally.flight_ticks), (engine.ended, 0, 0));
}

#[test]
fn an_engine_that_breaks_down_in_a_batch_leaves_what_was_counted() {
    let (control, abort) = (Control::default(), AtomicBool::new(false));
    let shared = Shared { control: &control, abort: &abort, clock: Clock::start(), reap: Reap::Batch(4) };
    let mut engine = Broken { prepared: Vec::new(), calls_left: 5 };
    let tally = Worker::new(shared, &mut engine, sequential(0), 8, ALWAYS).run();
    assert_eq!((tally.completed, tally.good), (20, 20));
    assert_eq!(tally.failure.map(|failure| failure.cause), Some(Cause::Engine));
}
