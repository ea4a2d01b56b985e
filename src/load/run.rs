//! Runs a workload: sets up the workers, times the phases, and puts their counts together.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use super::buffer::Buffer;
use super::clock::Clock;
use super::control::{Control, EndOfRun, Phase};
use super::error::LoadError;
use super::measurement::{Measurement, Pattern, Workload};
use super::offsets::{Blocks, Offsets};
use super::psync::Psync;
use super::result::{Report, measurement};
use super::ring::{Ring, RingEngine};
use super::tally::{Tally, Window};
use super::target::Target;
use super::worker::{Reap, Shared, Worker};
use crate::units::{Bytes, Nanos, human};

/// The memory of all buffers together; also the limit of one registered buffer (io_uring_register(2)).
const MAX_MEMORY: u64 = 1 << 30;
/// I/Os in flight for each worker; the kernel's own limit is 32 768 entries (IORING_MAX_ENTRIES).
const MAX_DEPTH: u32 = 4096;
/// The longest run, so that its series stays small.
const MAX_DURATION: Nanos = Nanos::from_millis(7 * 24 * 3600 * 1000);
/// The most threads that stand in for a queue when there is no io_uring.
const MAX_PSYNC_THREADS: u32 = 16;
/// The span of one value of the series.
pub(super) const BUCKET: Nanos = super::stats::SAMPLE;

/// Which engine carries the I/Os.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EngineChoice {
    /// io_uring, or psync where the kernel forbids that.
    #[default]
    Auto,
    /// io_uring or an error.
    IoUring,
    /// One `pread(2)` at a time in up to 16 threads.
    Psync,
}

/// How a workload is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOptions {
    /// How long the load runs before measuring begins.
    pub warm_up: Nanos,
    /// The CPUs to pin workers to, in turn; empty leaves them free.
    pub cpus: Vec<u32>,
    /// Which engine to use.
    pub engine: EngineChoice,
    /// Decides random offsets.
    pub seed: u64,
    /// Worker threads, each with a queue of the workload's depth. Sequential workers each take a slice of the region.
    pub workers: u32,
    /// When completions are taken.
    pub reap: Reap,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            warm_up: Nanos::new(0),
            cpus: Vec::new(),
            engine: EngineChoice::Auto,
            seed: 0,
            workers: 1,
            reap: Reap::AsTheyArrive,
        }
    }
}

/// Reads the region of `target` as `workload` says and measures it.
///
/// Blocks until the run is over; `control` lets another thread follow and stop it. A run that was stopped, or whose
/// target failed on the way, is a measurement with [`cut_short`](Measurement::cut_short) set.
///
/// # Errors
/// The workload does not fit the target, the engine that was asked for is not available, memory is short, or a thread
/// cannot be started. Nothing was measured then.
pub fn run(
    target: &Target,
    workload: &Workload,
    options: &RunOptions,
    control: &Control,
) -> Result<Measurement, LoadError> {
    let _end = EndOfRun(control);
    let blocks = check(target, workload, options)?;
    let plan = Plan::new(workload, options, blocks)?;
    target.forget_cached();
    let abort = AtomicBool::new(false);
    let shared = Shared {
        control,
        abort: &abort,
        clock: Clock::start(),
        reap: options.reap,
        block_size: blocks.block_size as u32,
    };
    let (tally, setups) = thread::scope(|scope| conduct(scope, target, workload, options, &plan, shared))?;
    let scale = shared.clock.scale();
    Ok(measurement(&Report {
        target,
        workload,
        tally: &tally,
        scale,
        engine: plan.describe(&setups),
        queue_depth: plan.depth.saturating_mul(plan.threads.len() as u32),
        threads: plan.threads.len() as u32,
        pinned_to: setups.iter().filter_map(|setup| setup.pinned_to).collect(),
    }))
}

/// Whether the workload can be run on the target; returns the blocks to visit.
fn check(target: &Target, workload: &Workload, options: &RunOptions) -> Result<Blocks, LoadError> {
    let wrong = |what: String| Err(LoadError::Workload(what));
    let block_size = workload.block_size.get();
    let memory = u128::from(block_size) * u128::from(workload.queue_depth) * u128::from(options.workers);
    if block_size == 0 || workload.queue_depth == 0 || options.workers == 0 {
        return wrong("block size, queue depth and the number of workers must be at least 1".to_owned());
    }
    if workload.queue_depth > MAX_DEPTH {
        return wrong(format!("the queue depth {} is above the limit of {MAX_DEPTH}", workload.queue_depth));
    }
    if memory > u128::from(MAX_MEMORY) {
        let limit = human::block_size(Bytes::new(MAX_MEMORY));
        return wrong(format!("block size times queue depth is above the limit of {limit} for buffers"));
    }
    if workload.duration_ns > MAX_DURATION || options.warm_up > MAX_DURATION {
        return wrong("a run may last 7 days at most".to_owned());
    }
    let logical = target.logical_block_size();
    if !block_size.is_multiple_of(logical.get()) {
        let (asked, unit) = (human::block_size(workload.block_size), human::block_size(logical));
        return wrong(format!(
            "the block size {asked} is no multiple of the device's logical block of {unit}"
        ));
    }
    let region = target.region();
    let blocks = Blocks::inside(region.start.get(), region.length.get(), block_size);
    if blocks.count < u64::from(options.workers) {
        return Err(LoadError::TooSmall {
            path: target.path().to_owned(),
            size: region.length,
            block_size: Bytes::new(block_size.saturating_mul(u64::from(options.workers))),
        });
    }
    Ok(blocks)
}

/// What each thread does.
struct Plan {
    /// The offsets of each thread.
    threads: Vec<Offsets>,
    /// I/Os that each thread keeps in flight.
    depth: u32,
    /// Whether io_uring is used; else why not.
    ring: Result<(), Option<io::Error>>,
}

impl Plan {
    fn new(workload: &Workload, options: &RunOptions, blocks: Blocks) -> Result<Self, LoadError> {
        let ring = match options.engine {
            EngineChoice::Psync => Err(None),
            choice => match (Ring::open(workload.queue_depth), choice) {
                (Ok(_), _) => Ok(()),
                (Err(error), EngineChoice::IoUring) => return Err(LoadError::NoRing(error)),
                (Err(error), _) => Err(Some(error)),
            },
        };
        let workers = u64::from(options.workers);
        let of_worker = |index: u64| {
            let part =
                if workload.pattern == Pattern::Sequential { blocks.slice(index, workers) } else { blocks };
            (part, options.seed.wrapping_add(index))
        };
        if ring.is_ok() {
            let offsets = |index| {
                let (part, seed) = of_worker(index);
                Offsets::new(workload.pattern, part, seed)
            };
            return Ok(Self {
                threads: (0..workers).map(offsets).collect(),
                depth: workload.queue_depth,
                ring,
            });
        }
        // Threads stand in for the queue: those of one worker share its stream.
        let limit = MAX_PSYNC_THREADS.max(options.workers);
        let each = workload.queue_depth.min(limit / options.workers).max(1);
        let mut threads = Vec::new();
        for index in 0..workers {
            let (part, seed) = of_worker(index);
            let next = Arc::new(AtomicU64::new(0));
            threads.extend((0..u64::from(each)).map(|thread| match workload.pattern {
                Pattern::Sequential => Offsets::Shared { blocks: part, next: next.clone() },
                Pattern::Random => {
                    Offsets::new(Pattern::Random, part, seed.wrapping_add(thread.wrapping_mul(workers)))
                }
            }));
        }
        Ok(Self { threads, depth: 1, ring })
    }

    /// The engine in words.
    fn describe(&self, setups: &[Setup]) -> String {
        match &self.ring {
            Ok(()) => setups.iter().find_map(|setup| setup.granted.clone()).unwrap_or_default(),
            Err(reason) => {
                let threads = self.threads.len();
                match reason {
                    Some(reason) => {
                        format!("psync ({threads} threads; the kernel refused io_uring: {reason})")
                    }
                    None => format!("psync ({threads} threads)"),
                }
            }
        }
    }
}

/// What a thread reports when it is ready.
struct Setup {
    pinned_to: Option<u32>,
    granted: Option<String>,
}

/// Starts the workers, times the phases, and merges what was counted.
fn conduct<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    target: &'env Target,
    workload: &Workload,
    options: &'env RunOptions,
    plan: &'env Plan,
    shared: Shared<'env>,
) -> Result<(Tally, Vec<Setup>), LoadError> {
    let (ready, readiness) = channel();
    let mut workers = Vec::new();
    for (index, offsets) in plan.threads.iter().enumerate() {
        let (go, begin) = channel();
        let thread = Thread {
            target,
            offsets: offsets.clone(),
            cpu: options.cpus.get(index % options.cpus.len().max(1)).copied(),
            depth: plan.depth,
            with_ring: plan.ring.is_ok(),
            shared,
            ready: ready.clone(),
            begin,
        };
        let spawned = thread::Builder::new()
            .name(format!("narrows-load-{index}"))
            .spawn_scoped(scope, move || thread.run())
            .map_err(|error| LoadError::Worker(error.to_string()))?;
        workers.push((go, spawned));
    }
    drop(ready);
    let setups = workers
        .iter()
        .map(|_| readiness.recv().unwrap_or_else(|_| Err(LoadError::Worker("it ended early".to_owned()))))
        .collect::<Result<Vec<Setup>, LoadError>>()?;
    let window = window(&shared.clock, options.warm_up, workload.duration_ns);
    let began = Instant::now();
    for (go, _) in &workers {
        // A worker that has died shows when it is joined.
        let _ = go.send(window);
    }
    let measuring = began + options.warm_up.duration();
    if wait_until(measuring, &readiness) {
        shared.control.enter(Phase::Measuring);
        wait_until(measuring + workload.duration_ns.duration(), &readiness);
    }
    shared.control.enter(Phase::Done);
    let tally = join(workers)?;
    Ok((tally, setups))
}

type Spawned<'scope> = (Sender<Window>, ScopedJoinHandle<'scope, Option<Tally>>);

fn join(workers: Vec<Spawned<'_>>) -> Result<Tally, LoadError> {
    let mut merged: Option<Tally> = None;
    for (_, worker) in workers {
        match worker.join() {
            Ok(Some(tally)) => match &mut merged {
                Some(merged) => merged.merge(tally),
                None => merged = Some(tally),
            },
            Ok(None) => {}
            Err(_) => return Err(LoadError::Worker("it panicked".to_owned())),
        }
    }
    merged.ok_or_else(|| LoadError::Worker("none began".to_owned()))
}

/// The measured time in ticks, beginning `warm_up` from now.
fn window(clock: &Clock, warm_up: Nanos, duration: Nanos) -> Window {
    let start = clock.ticks().saturating_add(clock.ticks_in(warm_up));
    // A whole number of ticks in each bucket, so that a duration of whole buckets has no remainder.
    let bucket = clock.ticks_in(BUCKET).max(1);
    let length = duration.get() as f64 / BUCKET.get() as f64 * bucket as f64;
    Window { start, end: start.saturating_add(length as u64), bucket }
}

/// Sleeps until `deadline`; false when all workers have ended before.
fn wait_until(deadline: Instant, readiness: &Receiver<Result<Setup, LoadError>>) -> bool {
    let left = deadline.saturating_duration_since(Instant::now());
    left == Duration::ZERO || matches!(readiness.recv_timeout(left), Err(RecvTimeoutError::Timeout))
}

/// What one thread is given.
struct Thread<'env> {
    target: &'env Target,
    offsets: Offsets,
    cpu: Option<u32>,
    depth: u32,
    with_ring: bool,
    shared: Shared<'env>,
    /// Held until the end: when the last thread drops it, all have ended.
    ready: Sender<Result<Setup, LoadError>>,
    begin: Receiver<Window>,
}

impl Thread<'_> {
    /// Sets up on this thread (its ring is tied to it, and its memory shall be near it), reports, waits for the start and
    /// works. `None` when it never began.
    fn run(self) -> Option<Tally> {
        let pinned_to = self.cpu.filter(|cpu| pin(*cpu));
        let buffer = match self.buffer() {
            Ok(buffer) => buffer,
            Err(error) => return self.give_up(error),
        };
        if self.with_ring {
            let mut ring = match Ring::open(self.depth) {
                Ok(ring) => ring,
                Err(error) => return self.give_up(LoadError::NoRing(error)),
            };
            let mut engine =
                RingEngine::reading(&mut ring, self.target.file(), buffer, self.shared.block_size);
            let window = self.start(Setup { pinned_to, granted: Some(engine.granted().to_string()) })?;
            Some(Worker::new(self.shared, &mut engine, self.offsets, self.depth, window).run())
        } else {
            let mut engine = Psync::new(self.target.file(), buffer);
            let window = self.start(Setup { pinned_to, granted: None })?;
            Some(Worker::new(self.shared, &mut engine, self.offsets, self.depth, window).run())
        }
    }

    fn buffer(&self) -> Result<Buffer, LoadError> {
        let bytes = u64::from(self.shared.block_size) * u64::from(self.depth);
        let failed = |source| LoadError::Memory { bytes: Bytes::new(bytes), source };
        let length = usize::try_from(bytes).map_err(|_| failed(io::ErrorKind::OutOfMemory.into()))?;
        Buffer::new(length).map_err(failed)
    }

    fn start(&self, setup: Setup) -> Option<Window> {
        self.ready.send(Ok(setup)).ok()?;
        self.begin.recv().ok()
    }

    fn give_up(&self, error: LoadError) -> Option<Tally> {
        let _ = self.ready.send(Err(error));
        None
    }
}

/// Ties the calling thread to a CPU; false when the kernel refuses (offline, or outside our control group).
fn pin(cpu: u32) -> bool {
    let mut set = CpuSet::new();
    set.set(cpu as usize).and_then(|()| sched_setaffinity(Pid::from_raw(0), &set)).is_ok()
}
