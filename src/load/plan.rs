//! Who does what in a run: checks that the workload fits the target, and deals its streams to threads.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::error::LoadError;
use super::memory::Memory;
use super::offsets::{Blocks, Offsets};
use super::ring::Ring;
use super::run::{EngineChoice, RunOptions};
use super::source::Source;
use super::target::{Kind, Target};
use super::workload::{Pattern, Workload};
use crate::units::{Bytes, Nanos, human};

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

/// What each thread does.
pub(super) struct Plan {
    /// The I/Os of each thread.
    pub(super) threads: Vec<Source>,
    /// I/Os that each thread keeps in flight.
    pub(super) depth: u32,
    /// Whether io_uring is used; else why not.
    pub(super) ring: Result<(), Option<io::Error>>,
    /// Bytes of the largest I/O.
    part: u32,
    reads: bool,
    writes: bool,
}

impl Plan {
    /// Plans a run.
    ///
    /// # Errors
    /// The workload does not fit the target or would write what is not a scratch file, or there is no io_uring although
    /// it was asked for.
    pub(super) fn new(target: &Target, workload: &Workload, options: &RunOptions) -> Result<Self, LoadError> {
        let blocks = check(target, workload, options)?;
        let ring = match options.engine {
            EngineChoice::Psync => Err(None),
            choice => match (Ring::open(workload.queue_depth), choice) {
                (Ok(_), _) => Ok(()),
                (Err(error), EngineChoice::IoUring) => return Err(LoadError::NoRing(error)),
                (Err(error), _) => Err(Some(error)),
            },
        };
        let deal = Deal { workload, options, blocks };
        let (threads, depth) = match &ring {
            Ok(()) => (deal.to_workers(), workload.queue_depth),
            Err(_) => (deal.to_threads(), 1),
        };
        let part = u32::try_from(blocks.block_size).unwrap_or(u32::MAX);
        Ok(Self { threads, depth, ring, part, reads: workload.reads(), writes: workload.writes() })
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
        Memory::new(self.part.into(), self.depth, self.reads, self.writes, seed).map_err(|source| {
            let bytes = Memory::size(self.part.into(), self.depth, self.reads, self.writes);
            LoadError::Memory { bytes: Bytes::new(bytes), source }
        })
    }

    /// The engine in words; `granted` is what a ring was granted.
    pub(super) fn describe(&self, granted: Option<String>) -> String {
        let threads = self.threads.len();
        match &self.ring {
            Ok(()) => granted.unwrap_or_default(),
            Err(Some(reason)) => format!("psync ({threads} threads; the kernel refused io_uring: {reason})"),
            Err(None) => format!("psync ({threads} threads)"),
        }
    }
}

/// Whether the workload can be run on the target; returns the blocks to visit.
fn check(target: &Target, workload: &Workload, options: &RunOptions) -> Result<Blocks, LoadError> {
    check_limits(workload, options)?;
    if workload.writes() && target.kind() != Kind::Scratch {
        return Err(LoadError::NotOurs(target.path().to_owned()));
    }
    let block_size = workload.block_size.get();
    let logical = target.logical_block_size();
    if !block_size.is_multiple_of(logical.get()) {
        let (asked, unit) = (human::block_size(workload.block_size), human::block_size(logical));
        let why = format!("the block size {asked} is no multiple of the device's logical block of {unit}");
        return Err(LoadError::Workload(why));
    }
    let region = target.region();
    let blocks = Blocks::inside(region.start.get(), region.length.get(), block_size);
    let slices = u64::from(options.workers.max(options.streams));
    if blocks.count < slices {
        return Err(LoadError::TooSmall {
            path: target.path().to_owned(),
            size: region.length,
            block_size: Bytes::new(block_size.saturating_mul(slices)),
        });
    }
    Ok(blocks)
}

/// Whether the numbers make sense, whatever the target.
fn check_limits(workload: &Workload, options: &RunOptions) -> Result<(), LoadError> {
    let wrong = |what: String| Err(LoadError::Workload(what));
    let block_size = workload.block_size.get();
    if block_size == 0 || workload.queue_depth == 0 || options.workers == 0 || options.streams == 0 {
        let what = "block size, queue depth and the number of workers and streams must be at least 1";
        return wrong(what.to_owned());
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
    let each = Memory::size(block_size, workload.queue_depth, workload.reads(), workload.writes());
    if u128::from(each) * u128::from(options.workers) > u128::from(MAX_MEMORY) {
        let limit = human::block_size(Bytes::new(MAX_MEMORY));
        return wrong(format!("block size times queue depth is above the limit of {limit} for buffers"));
    }
    if workload.duration_ns > MAX_DURATION || options.warm_up > MAX_DURATION {
        return wrong("a run may last 7 days at most".to_owned());
    }
    Ok(())
}

/// Deals the streams of a workload.
struct Deal<'a> {
    workload: &'a Workload,
    options: &'a RunOptions,
    blocks: Blocks,
}

impl Deal<'_> {
    /// To workers with a ring each.
    fn to_workers(&self) -> Vec<Source> {
        let workers = u64::from(self.options.workers);
        (0..workers)
            .map(|worker| {
                let streams = self.streams_of(worker, workers).collect();
                self.source(streams, self.options.seed.wrapping_add(worker))
            })
            .collect()
    }

    /// To threads that do one I/O at a time and so stand in for a queue.
    fn to_threads(&self) -> Vec<Source> {
        let workers = u64::from(self.options.workers);
        let limit = MAX_PSYNC_THREADS.max(self.options.workers);
        let each = u64::from(self.workload.queue_depth.min(limit / self.options.workers).max(1));
        let mut threads = Vec::new();
        for worker in 0..workers {
            let streams: Vec<Offsets> = self.streams_of(worker, workers).collect();
            let seed = |thread: u64| self.options.seed.wrapping_add(worker + thread * workers);
            match streams.as_slice() {
                [stream] => {
                    let (blocks, next) = (stream.blocks(), Arc::<AtomicU64>::default());
                    threads.extend((0..each).map(|thread| {
                        let offsets = match self.workload.pattern {
                            // Together they follow one stream.
                            Pattern::Sequential => Offsets::Shared { blocks, next: next.clone() },
                            Pattern::Random => Offsets::new(Pattern::Random, blocks, seed(thread)),
                        };
                        self.source(vec![offsets], seed(thread))
                    }));
                }
                many => {
                    let share = many.len().div_ceil(each as usize).max(1);
                    let dealt = (0..).zip(many.chunks(share));
                    threads.extend(dealt.map(|(thread, part)| self.source(part.to_vec(), seed(thread))));
                }
            }
        }
        threads
    }

    fn source(&self, streams: Vec<Offsets>, seed: u64) -> Source {
        let length = u32::try_from(self.blocks.block_size).unwrap_or(u32::MAX);
        Source::new(self.workload, streams, length, seed)
    }

    /// The streams of a worker: neighbours, so that its part of the region is in one piece.
    fn streams_of(&self, worker: u64, workers: u64) -> impl Iterator<Item = Offsets> {
        let streams = u64::from(self.options.streams).max(workers);
        let first = |worker: u64| streams * worker / workers;
        (first(worker)..first(worker + 1)).map(move |stream| self.stream(stream, streams))
    }

    fn stream(&self, index: u64, streams: u64) -> Offsets {
        let seed = self.options.seed.wrapping_add(index);
        let blocks = match self.workload.pattern {
            Pattern::Random if self.options.streams == 1 => self.blocks,
            _ => self.blocks.slice(index, streams),
        };
        Offsets::new(self.workload.pattern, blocks, seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dealt(pattern: Pattern, streams: u32, workers: u32, depth: u32, threads: bool) -> Vec<Vec<u64>> {
        let workload = Workload::read(pattern, Bytes::from_kib(4), depth, Nanos::from_millis(1));
        let options = RunOptions { streams, workers, ..RunOptions::default() };
        let deal = Deal { workload: &workload, options: &options, blocks: Blocks::inside(0, 1 << 20, 4096) };
        let sources = if threads { deal.to_threads() } else { deal.to_workers() };
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
