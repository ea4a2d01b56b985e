//! Tests of the worker with engines that end I/Os as they are told.

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
