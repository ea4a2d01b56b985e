//! Who does what in a run, and how: whether a workload can be run on a target, and which I/Os each thread carries out.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::clock::Clock;
use super::error::LoadError;
use super::marks::{SMALLEST, STAMPED};
use super::memory::Memory;
use super::ran::EngineRan;
use super::ring::Ring;
use super::run::{EngineChoice, RunOptions};
use super::source::{Blocks, Offsets, Schedule, Source};
use super::target::{Kind, Target};
use super::worker::Reap;
use super::workload::{Mode, Pattern, Workload};
use narrows_base::units::{Bytes, Nanos, human};

/// The memory of all buffers together; also the limit of one registered buffer (io_uring_register(2)).
const MAX_MEMORY: u64 = 1 << 30;
/// I/Os in flight for each worker; the kernel's own limit is 32 768 entries (IORING_MAX_ENTRIES).
const MAX_DEPTH: u32 = 4096;
/// Streams in all.
const MAX_STREAMS: u32 = 65_536;
/// The longest run, so that its series stays small.
const MAX_DURATION: Nanos = Nanos::from_millis(7 * 24 * 3600 * 1000);
/// The most threads that stand in for a queue when there is no io_uring.
const MAX_PSYNC_THREADS: u32 = 16;

/// What is run, and what each thread does of it.
pub(super) struct Plan<'a> {
    pub(super) target: &'a Target,
    pub(super) workload: &'a Workload,
    pub(super) options: &'a RunOptions,
    /// The bytes that are visited.
    pub(super) region: Bytes,
    /// The I/Os of each thread.
    pub(super) threads: Vec<Source>,
    /// I/Os that each thread keeps in flight.
    pub(super) depth: u32,
    /// Whether io_uring is used; else why not, where it was not asked to be left out.
    pub(super) ring: Result<(), Option<String>>,
    /// Tells the writes of this run from those of any other.
    nonce: u64,
}

impl<'a> Plan<'a> {
    /// Plans a run.
    ///
    /// # Errors
    /// The workload does not fit the target or would write what is not a scratch file, or there is no io_uring although
    /// it was asked for.
    pub(super) fn new(
        target: &'a Target,
        workload: &'a Workload,
        options: &'a RunOptions,
    ) -> Result<Self, LoadError> {
        let blocks = check(target, workload, options)?;
        let ring = ring(workload, options.engine)?;
        Ok(Self {
            target,
            workload,
            options,
            region: Bytes::new(blocks.count * blocks.block_size),
            threads: deal(workload, options, blocks, ring.is_ok()),
            depth: if ring.is_ok() { workload.queue_depth } else { 1 },
            ring,
            // It only has to differ from that of the last run on the same file.
            nonce: getrandom::u64().unwrap_or(options.seed),
        })
    }

    /// What the latencies mean.
    pub(super) fn mode(&self) -> Mode {
        match (self.workload.paced_iops, self.options.reap) {
            (Some(iops), _) => Mode::Paced { iops },
            (None, Reap::Batch(_)) => Mode::Peak,
            (None, Reap::AsTheyArrive) => Mode::Latency,
        }
    }

    /// I/Os that all threads together keep in flight.
    pub(super) fn queue_depth(&self) -> u32 {
        self.depth.saturating_mul(self.threads.len() as u32)
    }

    /// The CPU that a thread is tied to.
    pub(super) fn cpu(&self, index: usize) -> Option<u32> {
        self.options.cpus.get(index % self.options.cpus.len().max(1)).copied()
    }

    /// The memory of a thread.
    ///
    /// # Errors
    /// There is not enough memory.
    pub(super) fn memory(&self, index: usize) -> Result<Memory, LoadError> {
        let (part, depth) = (self.workload.block_size.get(), self.depth);
        let (reads, writes) = (self.workload.reads(), self.workload.writes());
        let seed = self.options.seed.wrapping_add(index as u64);
        let memory = Memory::new(part, depth, reads, writes, seed).map_err(|source| {
            let bytes = Bytes::new(Memory::size(part, depth, reads, writes));
            LoadError::Memory { bytes, source }
        })?;
        Ok(match stamped_block(self.workload) {
            Some(block) if writes => memory.stamped(block, self.nonce, self.target.marker()),
            _ => memory,
        })
    }

    /// The pace of a thread from now on, if it is held to one: its share of the whole, between those of the others.
    pub(super) fn pace(&self, index: usize, clock: Clock) -> Option<Schedule> {
        let threads = self.threads.len().max(1) as f64;
        let per_second = self.workload.paced_iops? as f64 / threads;
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
    match Ring::open(workload.queue_depth).map_err(LoadError::no_ring) {
        Ok(_) => Ok(Ok(())),
        Err(LoadError::NoRing(error)) if choice != EngineChoice::IoUring => {
            Ok(Err(Some(format!("the kernel refused io_uring: {error}"))))
        }
        Err(error) => Err(error),
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The largest block that divides every I/O and is no larger than 4 KiB; `None` when it is too small for a stamp.
fn stamped_block(workload: &Workload) -> Option<u64> {
    let block = gcd(STAMPED, workload.block_size.get());
    (block >= SMALLEST).then_some(block)
}

/// Whether the workload can be run on the target; returns the blocks to visit.
///
/// # Errors
/// It cannot be run there, or makes no sense.
fn check(target: &Target, workload: &Workload, options: &RunOptions) -> Result<Blocks, LoadError> {
    check_limits(workload, options)?;
    if workload.writes() && !matches!(target.kind(), Kind::Scratch | Kind::Owned) {
        return Err(LoadError::NotOurs(target.path().to_owned()));
    }
    let logical = target.logical_block_size();
    let unit = workload.block_size;
    if !unit.get().is_multiple_of(logical.get()) {
        let (asked, logical) = (human::block_size(unit), human::block_size(logical));
        let why = format!("the block size {asked} is no multiple of the device's logical block of {logical}");
        return Err(LoadError::Workload(why));
    }
    let region = target.region();
    let blocks = Blocks::inside(region.start.get(), region.length.get(), unit.get());
    if workload.writes() && !target.may_change(blocks.first, blocks.end()) {
        return Err(LoadError::NotOurs(target.path().to_owned()));
    }
    if workload.writes() && target.marker().is_some() && stamped_block(workload).is_none() {
        let why = "only whole sectors of 512 bytes are written to a device, since each bears a mark";
        return Err(LoadError::Workload(why.to_owned()));
    }
    // Each stream must have room for an I/O.
    let slices = u64::from(options.workers.max(options.streams));
    if blocks.count < slices {
        return Err(LoadError::TooSmall {
            path: target.path().to_owned(),
            // What there is, rather than the whole blocks in it, of which there may be none.
            size: region.length,
            block_size: Bytes::new(unit.get().saturating_mul(slices)),
        });
    }
    Ok(blocks)
}

/// Whether the numbers make sense, whatever the target.
fn check_limits(workload: &Workload, options: &RunOptions) -> Result<(), LoadError> {
    let wrong = |what: String| Err(LoadError::Workload(what));
    if let Some(what) = zero(workload, options) {
        return wrong(format!("{what} must be at least 1"));
    }
    if workload.queue_depth > MAX_DEPTH {
        return wrong(format!("the queue depth {} is above the limit of {MAX_DEPTH}", workload.queue_depth));
    }
    if options.streams > MAX_STREAMS {
        return wrong(format!("{} streams are above the limit of {MAX_STREAMS}", options.streams));
    }
    if workload.write_percent > 100 {
        return wrong(format!("{} % of writes are more than all I/Os", workload.write_percent));
    }
    let is_paced = workload.paced_iops.is_some();
    if is_paced && matches!(options.reap, Reap::Batch(_)) {
        return wrong("a paced run takes completions as they arrive".to_owned());
    }
    let each =
        Memory::size(workload.block_size.get(), workload.queue_depth, workload.reads(), workload.writes());
    if u128::from(each) * u128::from(options.workers) > u128::from(MAX_MEMORY) {
        let limit = human::block_size(Bytes::new(MAX_MEMORY));
        return wrong(format!("block size times queue depth is above the limit of {limit} for buffers"));
    }
    if workload.duration_ns > MAX_DURATION || options.warm_up > MAX_DURATION {
        return wrong("a run may last 7 days at most".to_owned());
    }
    Ok(())
}

/// What must not be zero and is.
fn zero(workload: &Workload, options: &RunOptions) -> Option<&'static str> {
    let is_zero = [
        (workload.block_size.get() == 0, "the block size"),
        (workload.queue_depth == 0, "the queue depth"),
        (options.workers == 0, "the number of workers"),
        (options.streams == 0, "the number of streams"),
        (workload.paced_iops == Some(0), "the rate"),
    ];
    is_zero.into_iter().find_map(|(zero, what)| zero.then_some(what))
}

/// Deals the streams of a workload to workers with a ring each; where there is none, to threads that do one I/O at a time and
/// so stand in for a queue.
fn deal(workload: &Workload, options: &RunOptions, blocks: Blocks, has_ring: bool) -> Vec<Source> {
    let workers = u64::from(options.workers);
    let streams = u64::from(options.streams).max(workers);
    let unit = u32::try_from(workload.block_size.get()).unwrap_or(u32::MAX);
    let seed = |index: u64| options.seed.wrapping_add(index);
    let source = |streams, seed| Source::new(workload, streams, unit, seed);
    let stream = |index: u64| match workload.pattern {
        Pattern::Random if options.streams == 1 => Offsets::random(blocks, seed(index)),
        pattern => Offsets::new(pattern, blocks.slice(index, streams), seed(index)),
    };
    // Neighbours, so that a worker's part of the blocks is in one piece.
    let streams_of = |worker: u64| -> Vec<Offsets> {
        (streams * worker / workers..streams * (worker + 1) / workers).map(stream).collect()
    };
    if has_ring {
        return (0..workers).map(|worker| source(streams_of(worker), seed(worker))).collect();
    }
    let limit = MAX_PSYNC_THREADS.max(options.workers);
    let each = u64::from(workload.queue_depth.min(limit / options.workers).max(1));
    let mut threads = Vec::new();
    for worker in 0..workers {
        let seed = |thread: u64| seed(worker + thread * workers);
        match streams_of(worker).as_slice() {
            [stream] => {
                let (blocks, next) = (stream.blocks(), Arc::<AtomicU64>::default());
                threads.extend((0..each).map(|thread| {
                    let offsets = match workload.pattern {
                        // Together they follow one stream.
                        Pattern::Sequential => Offsets::Shared { blocks, next: next.clone() },
                        Pattern::Random => Offsets::random(blocks, seed(thread)),
                    };
                    source(vec![offsets], seed(thread))
                }));
            }
            many => {
                let share = many.len().div_ceil(each as usize).max(1);
                let dealt = (0..).zip(many.chunks(share));
                threads.extend(dealt.map(|(thread, part)| source(part.to_vec(), seed(thread))));
            }
        }
    }
    threads
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_base::units::{Bytes, Nanos};

    fn dealt(pattern: Pattern, streams: u32, workers: u32, depth: u32, threads: bool) -> Vec<Vec<u64>> {
        let workload = Workload::read(pattern, Bytes::from_kib(4), depth, Nanos::from_millis(1));
        let options = RunOptions { streams, workers, ..RunOptions::default() };
        let sources = deal(&workload, &options, Blocks::inside(0, 1 << 20, 4096), !threads);
        let first = |mut source: Source| {
            (0..4).filter_map(|_| source.next()).map(|request| request.offset >> 12).collect()
        };
        sources.into_iter().map(first).collect()
    }

    #[test]
    fn one_stream_is_sliced_among_sequential_workers() {
        assert_eq!(dealt(Pattern::Sequential, 1, 2, 8, false), [[0, 1, 2, 3], [128, 129, 130, 131]]);
    }

    #[test]
    fn streams_are_dealt_to_workers_in_neighbouring_groups() {
        assert_eq!(dealt(Pattern::Sequential, 4, 2, 8, false), [[0, 64, 1, 65], [128, 192, 129, 193]]);
        let random = dealt(Pattern::Random, 4, 2, 8, false);
        for (worker, offsets) in random.iter().enumerate() {
            for (turn, offset) in offsets.iter().enumerate() {
                let slice = 2 * worker as u64 + turn as u64 % 2;
                assert!((64 * slice..64 * (slice + 1)).contains(offset), "{random:?}");
            }
        }
    }

    #[test]
    fn threads_follow_one_stream_together_or_have_their_own() {
        // The first thread takes the first four blocks here, because it asks first.
        let together = dealt(Pattern::Sequential, 1, 1, 2, true);
        assert_eq!(together, [[0, 1, 2, 3], [4, 5, 6, 7]]);
        let apart = dealt(Pattern::Sequential, 4, 1, 2, true);
        assert_eq!(apart, [[0, 64, 1, 65], [128, 192, 129, 193]]);
    }
}
