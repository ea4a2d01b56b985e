//! Who does what in a run: checks that the workload fits the target, and deals its streams to threads.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::clock::Clock;
use super::error::LoadError;
use super::ledger::Ledger;
use super::memory::Memory;
use super::offsets::{Blocks, Offsets};
use super::pace::Schedule;
use super::passthrough::Namespace;
use super::polling::polling;
use super::ring::Ring;
use super::run::{EngineChoice, RunOptions};
use super::source::Source;
use super::spread::gcd;
use super::stamp::{SMALLEST, STAMPED};
use super::target::{Kind, Target};
use super::worker::{Pace, Reap};
use super::workload::{Mode, Pattern, RateLimit, Workload};
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
    /// The namespace, when it is read by the drive's own commands.
    pub(super) passthrough: Option<Namespace>,
    /// The entries of a ring for such commands.
    pub(super) entries: u32,
    /// Whether completions are polled for; why not, where it was asked for in vain.
    polled: Result<bool, String>,
    /// The bytes that are visited.
    pub(super) region: Bytes,
    /// What the latencies mean.
    pub(super) mode: Mode,
    tempo: Option<Tempo>,
    /// Tells the writes of this run from those of any other.
    pub(super) nonce: u64,
    /// Bytes of a stamped block; `None` when blocks are too small for stamps.
    stamped: Option<u64>,
    is_logged: bool,
    /// Bytes of the largest I/O.
    part: u32,
    reads: bool,
    writes: bool,
    /// Percent of each written block that are zeros.
    compressible: u8,
}

impl Plan {
    /// Plans a run.
    ///
    /// # Errors
    /// The workload does not fit the target or would write what is not a scratch file, or there is no io_uring although
    /// it was asked for.
    pub(super) fn new(
        target: &Target,
        workload: &Workload,
        options: &RunOptions,
        is_logged: bool,
    ) -> Result<Self, LoadError> {
        let blocks = check(target, workload, options)?;
        let stamped = stamped_block(workload);
        if is_logged {
            check_loggable(workload, &blocks, stamped)?;
        }
        let ring = match options.engine {
            EngineChoice::Psync => Err(None),
            choice => match (Ring::open(workload.queue_depth), choice) {
                (Ok(_), _) => Ok(()),
                (Err(error), EngineChoice::IoUring) => return Err(LoadError::NoRing(error)),
                (Err(error), _) => Err(Some(error)),
            },
        };
        let passthrough = options.passthrough.clone();
        if let Some(namespace) = &passthrough {
            namespace.check(workload)?;
            namespace.try_reading(workload, false).map_err(|source| {
                let device = namespace.device.clone();
                LoadError::NoPassthrough { device, source }
            })?;
        }
        let entries = passthrough.as_ref().map_or(0, |namespace| namespace.entries(workload));
        let polled = polling(target, workload, options, ring.is_ok());
        let region = blocks.iter().map(|blocks| Bytes::new(blocks.count * blocks.block_size)).sum();
        let deal = Deal { workload, options, regions: &blocks, is_apart: is_logged };
        let (mut threads, depth) = match &ring {
            Ok(()) => (deal.to_workers(), workload.queue_depth),
            Err(_) => (deal.to_threads(), 1),
        };
        let all: u64 = blocks.iter().map(|blocks| blocks.count).sum();
        let share = all.div_ceil(threads.len().max(1) as u64);
        threads.iter_mut().for_each(|source| source.limit_trims(share));
        let part = u32::try_from(workload.block_size.get()).unwrap_or(u32::MAX);
        // The nonce only has to differ from that of the last run on the same file.
        let nonce = getrandom::u64().unwrap_or(options.seed);
        let (reads, writes) = (workload.reads(), workload.writes());
        let compressible = workload.compressible_percent;
        let (mode, tempo) = (mode(workload, options), Tempo::of(workload));
        Ok(Self {
            threads,
            depth,
            ring,
            passthrough,
            entries,
            polled,
            region,
            mode,
            tempo,
            nonce,
            stamped,
            is_logged,
            part,
            reads,
            writes,
            compressible,
        })
    }

    /// I/Os that all threads together keep in flight.
    pub(super) fn queue_depth(&self) -> u32 {
        self.depth.saturating_mul(self.threads.len() as u32)
    }

    /// Whether completions are polled for.
    pub(super) fn polled(&self) -> bool {
        self.polled.as_ref().is_ok_and(|polled| *polled)
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
        let block = self.stamped.unwrap_or(self.part.into());
        let memory = match self.compressible {
            0 => memory,
            percent => memory.compressible(percent, block),
        };
        Ok(match self.stamped {
            Some(block) if self.writes => memory.stamped(block, self.nonce),
            _ => memory,
        })
    }

    /// The pace of a thread from now on, if it is held to one: its share of the whole, between those of the others.
    pub(super) fn pace(&self, index: usize, clock: Clock) -> Option<Pace> {
        let tempo = self.tempo?;
        let threads = self.threads.len().max(1) as f64;
        let per_second = tempo.amount as f64 / threads;
        let rate = per_second / clock.ticks_in(Nanos::from_millis(1000)).max(1) as f64;
        let phase = if tempo.in_bytes { 0.0 } else { index as f64 / threads };
        let schedule = Schedule::new(clock.ticks(), rate, clock.ticks_in(tempo.ramp), phase);
        Some(Pace { schedule, in_bytes: tempo.in_bytes, from_due: tempo.from_due })
    }

    /// The ledger of a thread, if one is kept.
    pub(super) fn ledger(&self, source: &Source) -> Option<Ledger> {
        let block = self.stamped.filter(|_| self.is_logged)?;
        let (start, end) = source.extent();
        Some(Ledger::new(start, end, block))
    }

    /// The engine in words; `granted` is what a ring was granted.
    pub(super) fn describe(&self, granted: Option<String>) -> String {
        let threads = self.threads.len();
        match &self.ring {
            Ok(()) => match &self.polled {
                Ok(_) => granted.unwrap_or_default(),
                Err(why) => format!("{}; not polled: {why}", granted.unwrap_or_default()),
            },
            Err(Some(reason)) => format!("psync ({threads} threads; the kernel refused io_uring: {reason})"),
            Err(None) => format!("psync ({threads} threads)"),
        }
    }
}

/// How fast all threads together shall go.
#[derive(Debug, Clone, Copy)]
struct Tempo {
    /// I/Os or bytes per second.
    amount: u64,
    in_bytes: bool,
    from_due: bool,
    ramp: Nanos,
}

impl Tempo {
    fn of(workload: &Workload) -> Option<Self> {
        let ramp = workload.ramp_ns;
        match (workload.paced_iops, workload.rate_limit) {
            (Some(amount), _) => Some(Self { amount, in_bytes: false, from_due: true, ramp }),
            (None, Some(RateLimit::Iops(amount))) => {
                Some(Self { amount, in_bytes: false, from_due: false, ramp })
            }
            (None, Some(RateLimit::BytesPerSecond(amount))) => {
                Some(Self { amount, in_bytes: true, from_due: false, ramp })
            }
            (None, None) => None,
        }
    }
}

fn mode(workload: &Workload, options: &RunOptions) -> Mode {
    match (workload.paced_iops, options.reap) {
        (Some(iops), _) => Mode::Paced { iops },
        (None, Reap::Batch(_)) => Mode::Peak,
        (None, Reap::AsTheyArrive) => Mode::Latency,
    }
}

/// Whether the workload can be run on the target; returns the blocks to visit, those of each region apart.
fn check(target: &Target, workload: &Workload, options: &RunOptions) -> Result<Vec<Blocks>, LoadError> {
    check_limits(workload, options)?;
    if workload.changes() && !matches!(target.kind(), Kind::Scratch | Kind::Owned) {
        return Err(LoadError::NotOurs(target.path().to_owned()));
    }
    let logical = target.logical_block_size();
    let unit = human::block_size(logical);
    let sizes = workload.block_sizes.iter().map(|size| size.block_size).chain([workload.block_size]);
    for (what, bytes) in sizes.map(|size| ("block size", size)).chain([("offset", workload.alignment_offset)])
    {
        if !bytes.get().is_multiple_of(logical.get()) {
            let asked = human::block_size(bytes);
            let why = format!("the {what} {asked} is no multiple of the device's logical block of {unit}");
            return Err(LoadError::Workload(why));
        }
    }
    let regions = regions(target, workload);
    if workload.changes() && regions.iter().any(|blocks| !target.may_change(blocks.first, blocks.end())) {
        return Err(LoadError::NotOurs(target.path().to_owned()));
    }
    // Each stream must have room for the largest I/O.
    let slices = u64::from(options.workers.max(options.streams));
    let need = slices.saturating_mul(workload.block_size.get() / workload.smallest_block().get());
    match regions.iter().find(|blocks| blocks.count < need) {
        None => Ok(regions),
        Some(small) => Err(LoadError::TooSmall {
            path: target.path().to_owned(),
            // What there is, rather than the whole blocks in it, of which there may be none.
            size: if workload.regions.is_empty() && workload.working_set.is_none() {
                target.region().length
            } else {
                Bytes::new(small.count.saturating_mul(small.block_size))
            },
            block_size: Bytes::new(workload.block_size.get().saturating_mul(slices)),
        }),
    }
}

/// The blocks of each region inside that of the target, as far as the working set goes.
fn regions(target: &Target, workload: &Workload) -> Vec<Blocks> {
    let whole = target.region();
    let all = if workload.regions.is_empty() { vec![whole] } else { workload.regions.clone() };
    let mut left = workload.working_set.map_or(u64::MAX, Bytes::get);
    let (unit, shift) = (workload.smallest_block().get(), workload.alignment_offset.get());
    let end = whole.start + whole.length;
    let mut blocks = Vec::new();
    for region in all {
        let start = region.start.max(whole.start);
        let length = (region.start + region.length).min(end).saturating_sub(start).get().min(left);
        if left > 0 {
            left -= length;
            let aligned = Blocks::inside(start.get(), length.saturating_sub(shift), unit);
            blocks.push(Blocks { first: aligned.first.saturating_add(shift), ..aligned });
        }
    }
    blocks
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
    let (writes, trims) = (u32::from(workload.write_percent), u32::from(workload.trim_percent));
    if writes + trims > 100 {
        return wrong(format!("{} % of writes and trims are more than all I/Os", writes + trims));
    }
    if workload.compressible_percent > 100 {
        return wrong(format!("{} % of a block are more than all of it", workload.compressible_percent));
    }
    let is_paced = workload.paced_iops.is_some();
    if is_paced && (workload.rate_limit.is_some() || matches!(options.reap, Reap::Batch(_))) {
        return wrong("a paced run has no other rate limit and takes completions as they arrive".to_owned());
    }
    if workload.ramp_ns > Nanos::new(0) && Tempo::of(workload).is_none() {
        return wrong("a ramp needs a paced or limited rate to climb to".to_owned());
    }
    if !workload.distribution.is_sensible() {
        return wrong(
            "Zipf's theta must be above 0 and at most 10, Pareto's hot part above 0 and below 0.5".to_owned(),
        );
    }
    let (largest, smallest) = (workload.block_size.get(), workload.smallest_block().get());
    if workload
        .block_sizes
        .iter()
        .any(|size| !size.block_size.get().is_multiple_of(smallest) || size.block_size.get() > largest)
    {
        return wrong(
            "block sizes must be multiples of the smallest and no larger than `block_size`".to_owned(),
        );
    }
    let each = Memory::size(largest, workload.queue_depth, workload.reads(), workload.writes());
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
    let sync = workload.sync.map_or(1, |sync| sync.every_writes);
    let least_weight = workload.block_sizes.iter().map(|size| size.weight).min();
    let is_zero = [
        (workload.smallest_block().get() == 0 || workload.block_size.get() == 0, "the block size"),
        (workload.queue_depth == 0, "the queue depth"),
        (options.workers == 0, "the number of workers"),
        (options.streams == 0, "the number of streams"),
        (sync == 0, "the number of writes between two syncs"),
        (least_weight == Some(0), "the weight of a block size"),
        (Tempo::of(workload).is_some_and(|tempo| tempo.amount == 0), "the rate"),
        (workload.working_set == Some(Bytes::new(0)), "the working set"),
    ];
    is_zero.into_iter().find_map(|(zero, what)| zero.then_some(what))
}

/// The largest block that divides every I/O and is no larger than 4 KiB; `None` when it is too small for a stamp.
fn stamped_block(workload: &Workload) -> Option<u64> {
    let sizes = workload.block_sizes.iter().map(|size| size.block_size).chain([workload.block_size]);
    let block = sizes.fold(STAMPED, |block, size| gcd(block, size.get()));
    (block >= SMALLEST).then_some(block)
}

/// Whether what is written can be verified later.
fn check_loggable(workload: &Workload, regions: &[Blocks], stamped: Option<u64>) -> Result<(), LoadError> {
    if workload.trims() {
        return Err(LoadError::Workload("writes beside trims cannot be verified".to_owned()));
    }
    if stamped.is_none() {
        let why = "only writes of whole sectors of 512 bytes can be verified";
        return Err(LoadError::Workload(why.to_owned()));
    }
    let mut ends: Vec<(u64, u64)> =
        regions.iter().map(|r| (r.first, r.first + r.count * r.block_size)).collect();
    ends.sort_unstable();
    if ends.windows(2).any(|pair| matches!(pair, [a, b] if b.0 < a.1)) {
        return Err(LoadError::Workload("writes to regions that overlap cannot be verified".to_owned()));
    }
    Ok(())
}

/// Deals the streams of a workload.
struct Deal<'a> {
    workload: &'a Workload,
    options: &'a RunOptions,
    regions: &'a [Blocks],
    /// Whether no two threads may write to the same place.
    is_apart: bool,
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
                    // A slice must have room for the largest I/O.
                    let largest = self.workload.block_size.get() / blocks.block_size.max(1);
                    let room = blocks.count / largest.max(1);
                    let each = if self.is_apart { each.min(room).max(1) } else { each };
                    threads.extend((0..each).map(|thread| {
                        let offsets = match self.workload.pattern {
                            _ if self.is_apart => {
                                self.stream(blocks, thread, each, worker + thread * workers)
                            }
                            // Together they follow one stream.
                            Pattern::Sequential => Offsets::Shared { blocks, next: next.clone() },
                            Pattern::Random => self.random(blocks, seed(thread)),
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
        let unit = u32::try_from(self.workload.smallest_block().get()).unwrap_or(u32::MAX);
        Source::new(self.workload, streams, unit, seed)
    }

    /// The streams of a worker: in each region neighbours, so that its part of the region is in one piece. With several
    /// regions they follow each other so that the regions take turns.
    fn streams_of(&self, worker: u64, workers: u64) -> impl Iterator<Item = Offsets> {
        let streams = u64::from(self.options.streams).max(workers);
        let first = |worker: u64| streams * worker / workers;
        (first(worker)..first(worker + 1)).flat_map(move |stream| {
            (0..)
                .zip(self.regions)
                .map(move |(region, blocks)| self.stream(*blocks, stream, streams, region * streams + stream))
        })
    }

    /// A stream in a region, the `index`th of so many there.
    fn stream(&self, region: Blocks, index: u64, streams: u64, seed: u64) -> Offsets {
        let seed = self.options.seed.wrapping_add(seed);
        match self.workload.pattern {
            Pattern::Random if self.options.streams == 1 && !self.is_apart => self.random(region, seed),
            Pattern::Random => self.random(region.slice(index, streams), seed),
            Pattern::Sequential => Offsets::new(Pattern::Sequential, region.slice(index, streams), seed),
        }
    }

    fn random(&self, blocks: Blocks, seed: u64) -> Offsets {
        Offsets::random(self.workload.distribution, blocks, seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dealt(pattern: Pattern, streams: u32, workers: u32, depth: u32, threads: bool) -> Vec<Vec<u64>> {
        let workload = Workload::read(pattern, Bytes::from_kib(4), depth, Nanos::from_millis(1));
        let options = RunOptions { streams, workers, ..RunOptions::default() };
        let deal = Deal {
            workload: &workload,
            options: &options,
            regions: &[Blocks::inside(0, 1 << 20, 4096)],
            is_apart: false,
        };
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
