//! What load costs at the least: I/Os that do nothing, through the same ring, slots and histogram, and copies in memory.

use std::hint::black_box;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use super::clock::Clock;
use super::control::Control;
use super::error::LoadError;
use super::measurement::{Latency, Pattern};
use super::memory::Memory;
use super::ran::EngineRan;
use super::result::{Span, op_totals};
use super::ring::{Ring, RingEngine};
use super::source::{Blocks, Offsets, Source};
use super::tally::Window;
use super::worker::{Reap, Shared, Worker};
use super::workload::Workload;
use narrows_base::units::{Bytes, BytesPerSec, Nanos};

const DEPTH: u32 = 128;
const BATCH: u32 = 32;

/// The ceiling of the engine on one CPU: no device can be measured faster than this with one worker.
#[derive(Debug, Clone, PartialEq)]
pub struct NopResult {
    /// I/Os that passed through the ring, each with its latency recorded.
    pub ios: u64,
    /// The time they took.
    pub elapsed_ns: Nanos,
    /// The cost of one of them in nanoseconds.
    pub ns_per_io: f64,
    /// Their latencies.
    pub latency: Latency,
    /// What the kernel granted.
    pub engine: EngineRan,
}

/// Passes NOPs through the ring on the calling thread for `duration`, at depth 128 in batches of 32.
///
/// # Errors
/// There is no io_uring here.
pub fn nop_ceiling(duration: Nanos) -> Result<NopResult, LoadError> {
    let mut ring = Ring::open(DEPTH).map_err(LoadError::no_ring)?;
    let memory = Memory::new(0, DEPTH, true, false, 0)
        .map_err(|source| LoadError::Memory { bytes: Bytes::new(0), source })?;
    let mut engine = RingEngine::idle(&mut ring, memory);
    let granted = EngineRan::IoUring(engine.granted());
    let clock = Clock::start();
    let (control, abort) = (Control::default(), AtomicBool::new(false));
    let shared = Shared { control: &control, abort: &abort, clock, reap: Reap::Batch(BATCH) };
    // Offsets are drawn as for random reads, so that their cost is in the result; a NOP ignores them.
    let offsets = Offsets::new(Pattern::Random, Blocks::inside(0, 1 << 40, 4096), 0);
    let source = Source::new(&Workload::default(), vec![offsets], 0, 0);
    let length = clock.ticks_in(duration).max(1);
    let start = clock.ticks();
    let window = Window { start, end: start.saturating_add(length), bucket: length };
    let tally = Worker::new(shared, &mut engine, source, DEPTH, window).run();
    if let Some(why) = tally.cut_short {
        return Err(LoadError::Worker(why));
    }
    let scale = clock.scale();
    let elapsed_ns = scale.nanos(tally.elapsed());
    let span = Span { start, buckets: 1, elapsed: elapsed_ns };
    let totals = op_totals(&tally.reads, span, scale);
    let ios = totals.count;
    Ok(NopResult {
        ios,
        elapsed_ns,
        ns_per_io: if ios > 0 { elapsed_ns.get() as f64 / ios as f64 } else { f64::INFINITY },
        latency: totals.latency,
        engine: granted,
    })
}

/// The size of what is copied: several times the last-level cache of a core.
const COPIED: usize = 64 << 20;

/// The rate at which `threads` threads copy between buffers of their own for `time`, all together. Each byte that is
/// copied crosses memory twice (read and write), or three times where the processor reads a line before it writes it.
/// `None` when no thread could be started.
pub fn memory_copy(threads: u32, time: Duration) -> Option<BytesPerSec> {
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(move || copy(time))).collect();
        workers.into_iter().map(|worker| worker.join().ok()).collect::<Option<Vec<_>>>()
    })
    .map(|rates| rates.into_iter().sum())
}

fn copy(time: Duration) -> BytesPerSec {
    let (source, mut target) = (vec![1u8; COPIED], vec![2u8; COPIED]);
    let begin = Instant::now();
    let mut copied = 0u64;
    while begin.elapsed() < time {
        target.copy_from_slice(black_box(&source));
        black_box(&mut target);
        copied = copied.saturating_add(COPIED as u64);
    }
    Bytes::new(copied).per(begin.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_nop_is_recorded() {
        match nop_ceiling(Nanos::from_millis(50)) {
            Ok(result) => {
                assert!(result.ios > 0);
                assert_eq!(result.latency.count, result.ios);
                let (latency, median) = (&result.latency, result.latency.p50.unwrap());
                assert!(latency.min <= median && median <= latency.max);
            }
            Err(LoadError::NoRing(error)) => println!("skipped: no io_uring here: {error}"),
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn copying_has_a_rate() {
        let rate = memory_copy(2, Duration::from_millis(20)).expect("threads start");
        assert!(rate.get() > 1e6, "{rate}");
    }
}
