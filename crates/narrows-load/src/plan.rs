//! Who does what in a run, and how.

use super::check::check;
use super::clock::Clock;
use super::deal::Deal;
use super::error::LoadError;
use super::marks::Marker;
use super::memory::Memory;
use super::pace::Schedule;
use super::ran::EngineRan;
use super::ring::Ring;
use super::run::{EngineChoice, RunOptions};
use super::source::Source;
use super::stamp::{SMALLEST, STAMPED};
use super::target::Target;
use super::worker::Reap;
use super::workload::{Mode, Workload};
use narrows_base::units::{Bytes, Nanos};

/// What each thread does.
pub(super) struct Plan {
    /// The I/Os of each thread.
    pub(super) threads: Vec<Source>,
    /// I/Os that each thread keeps in flight.
    pub(super) depth: u32,
    /// Whether io_uring is used; else why not.
    pub(super) ring: Result<(), Option<String>>,
    /// The bytes that are visited.
    pub(super) region: Bytes,
    /// What the latencies mean.
    pub(super) mode: Mode,
    /// I/Os for each second of all threads together, where they are due at a rate.
    paced: Option<u64>,
    /// Tells the writes of this run from those of any other.
    nonce: u64,
    /// Bytes of a stamped block; `None` when blocks are too small for stamps.
    stamped: Option<u64>,
    /// Bytes of the largest I/O.
    part: u32,
    reads: bool,
    writes: bool,
    /// How what is written is marked.
    marker: Option<Marker>,
}

impl Plan {
    /// Plans a run.
    ///
    /// # Errors
    /// The workload does not fit the target or would write what is not a scratch file, or there is no io_uring although
    /// it was asked for.
    pub(super) fn new(target: &Target, workload: &Workload, options: &RunOptions) -> Result<Self, LoadError> {
        let blocks = check(target, workload, options)?;
        let stamped = stamped_block(workload);
        let ring = ring(workload, options.engine)?;
        let deal = Deal { workload, options, blocks };
        let (threads, depth) = match &ring {
            Ok(()) => (deal.to_workers(), workload.queue_depth),
            Err(_) => (deal.to_threads(), 1),
        };
        let part = u32::try_from(workload.block_size.get()).unwrap_or(u32::MAX);
        // The nonce only has to differ from that of the last run on the same file.
        let nonce = getrandom::u64().unwrap_or(options.seed);
        let (reads, writes) = (workload.reads(), workload.writes());
        let (mode, paced) = (mode(workload, options), workload.paced_iops);
        Ok(Self {
            threads,
            depth,
            ring,
            region: Bytes::new(blocks.count * blocks.block_size),
            mode,
            paced,
            nonce,
            stamped,
            part,
            reads,
            writes,
            marker: target.marker(),
        })
    }

    /// I/Os that all threads together keep in flight.
    pub(super) fn queue_depth(&self) -> u32 {
        self.depth.saturating_mul(self.threads.len() as u32)
    }

    /// The memory of one thread; `seed` decides what is written.
    ///
    /// # Errors
    /// There is not enough memory.
    pub(super) fn memory(&self, seed: u64) -> Result<Memory, LoadError> {
        let memory = Memory::new(self.part.into(), self.depth, self.reads, self.writes, seed);
        let memory = memory.map_err(|source| {
            let bytes = Memory::size(self.part.into(), self.depth, self.reads, self.writes);
            LoadError::Memory { bytes: Bytes::new(bytes), source }
        })?;
        let memory = match (self.marker, self.stamped) {
            (Some(marker), Some(block)) if self.writes => memory.marked(block, marker),
            _ => memory,
        };
        Ok(match self.stamped {
            Some(block) if self.writes => memory.stamped(block, self.nonce),
            _ => memory,
        })
    }

    /// The pace of a thread from now on, if it is held to one: its share of the whole, between those of the others.
    pub(super) fn pace(&self, index: usize, clock: Clock) -> Option<Schedule> {
        let threads = self.threads.len().max(1) as f64;
        let per_second = self.paced? as f64 / threads;
        let rate = per_second / clock.ticks_in(Nanos::from_millis(1000)).max(1) as f64;
        Some(Schedule::new(clock.ticks(), rate, index as f64 / threads))
    }

    /// The engine that ran; `ring` is the one that a worker opened.
    pub(super) fn describe(&self, ring: Option<EngineRan>) -> EngineRan {
        match &self.ring {
            Ok(()) => ring.unwrap_or_default(),
            Err(reason) => EngineRan::Psync { threads: self.threads.len(), instead: reason.clone() },
        }
    }
}

/// Whether a ring is used; why not, where it was not asked for to be left out.
fn ring(workload: &Workload, choice: EngineChoice) -> Result<Result<(), Option<String>>, LoadError> {
    if choice == EngineChoice::Psync {
        return Ok(Err(None));
    }
    match (Ring::open(workload.queue_depth), choice) {
        (Ok(_), _) => Ok(Ok(())),
        (Err(error), choice) => match LoadError::no_ring(error) {
            LoadError::NoRing(error) if choice != EngineChoice::IoUring => {
                Ok(Err(Some(format!("the kernel refused io_uring: {error}"))))
            }
            error => Err(error),
        },
    }
}

fn mode(workload: &Workload, options: &RunOptions) -> Mode {
    match (workload.paced_iops, options.reap) {
        (Some(iops), _) => Mode::Paced { iops },
        (None, Reap::Batch(_)) => Mode::Peak,
        (None, Reap::AsTheyArrive) => Mode::Latency,
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The largest block that divides every I/O and is no larger than 4 KiB; `None` when it is too small for a stamp.
pub(super) fn stamped_block(workload: &Workload) -> Option<u64> {
    let block = gcd(STAMPED, workload.block_size.get());
    (block >= SMALLEST).then_some(block)
}
