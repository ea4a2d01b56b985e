//! Runs a workload: sets up the workers, times the phases, and puts their counts together.

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use super::clock::Clock;
use super::control::{Control, EndOfRun, Phase};
use super::engine::Engine;
use super::error::LoadError;
use super::measurement::{Measurement, Workload};
use super::overhead::nop_ceiling;
use super::plan::Plan;
use super::psync::Psync;
use super::ran::EngineRan;
use super::result::measurement;
use super::ring::{Ring, RingEngine};
use super::tally::{Tally, Window};
use super::target::Target;
use super::worker::{Reap, Shared, Worker};
use narrows_base::units::Nanos;

/// The span of one value of the series.
pub(super) const BUCKET: Nanos = super::stats::SAMPLE;
/// How long NOPs are measured.
const NOP_TIME: Nanos = Nanos::from_millis(200);

/// Which engine carries the I/Os.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EngineChoice {
    /// io_uring, or psync where the kernel forbids that.
    #[default]
    Auto,
    /// io_uring or an error.
    IoUring,
    /// One `pread(2)` or `pwrite(2)` at a time in up to 16 threads.
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
    /// Decides random offsets, which I/Os write, and what they write.
    pub seed: u64,
    /// Worker threads, each with a queue of the workload's depth. Sequential workers each take a slice of the region.
    pub workers: u32,
    /// Streams that the workers carry out among themselves, each in its own slice of the region, with its own place in
    /// it when it is sequential: what IOzone calls threads. Each worker sends the I/Os of its streams in turn. With 1,
    /// random workers visit the whole region; sequential ones have a stream each.
    pub streams: u32,
    /// When completions are taken.
    pub reap: Reap,
    /// Whether to measure the cost of a NOP on the CPU of the first worker before the run, which takes 200 ms.
    pub measure_nop: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            warm_up: Nanos::new(0),
            cpus: Vec::new(),
            engine: EngineChoice::Auto,
            seed: 0,
            workers: 1,
            streams: 1,
            reap: Reap::AsTheyArrive,
            measure_nop: false,
        }
    }
}

/// Reads or writes the region of `target` as `workload` says and measures it. Only a scratch file or a permitted
/// device is written.
///
/// Blocks until the run is over; `control` lets another thread follow and stop it. A run that was stopped, or whose
/// target failed on the way, is a measurement with [`cut_short`](Measurement::cut_short) set.
///
/// # Errors
/// The workload does not fit the target, would write what is not a scratch file, the engine that was asked for is not available, memory is short, or a thread
/// cannot be started. Nothing was measured then.
pub fn run(
    target: &Target,
    workload: &Workload,
    options: &RunOptions,
    control: &Control,
) -> Result<Measurement, LoadError> {
    let _end = EndOfRun(control);
    let plan = Plan::new(target, workload, options)?;
    let nop_ns_per_io = if options.measure_nop { nop_on(options.cpus.first().copied()) } else { None };
    target.forget_cached();
    let abort = AtomicBool::new(false);
    let shared = Shared { control, abort: &abort, clock: Clock::start(), reap: options.reap };
    let (mut tally, setups) = thread::scope(|scope| conduct(scope, &plan, shared))?;
    tally.complete();
    let samples = BUCKET.get().checked_div(control.sample().get()).unwrap_or(1).max(1) as usize;
    let mut measurement = measurement(&plan, &tally, shared.clock.scale(), samples);
    measurement.generator.engine = plan.describe(setups.iter().find_map(|setup| setup.engine.clone()));
    measurement.generator.pinned_to = setups.iter().filter_map(|setup| setup.pinned_to).collect();
    measurement.checks.nop_ns_per_io = nop_ns_per_io;
    Ok(measurement)
}

/// What a NOP costs on a CPU, in nanoseconds; `None` where there is no io_uring.
fn nop_on(cpu: Option<u32>) -> Option<f64> {
    let measured = thread::spawn(move || {
        cpu.map(pin);
        nop_ceiling(NOP_TIME)
    });
    measured.join().ok()?.ok().map(|nop| nop.ns_per_io)
}

/// What a thread reports when it is ready.
struct Setup {
    pinned_to: Option<u32>,
    engine: Option<EngineRan>,
}

/// Starts the workers, times the phases, and merges what was counted.
fn conduct<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    plan: &'env Plan<'env>,
    shared: Shared<'env>,
) -> Result<(Tally, Vec<Setup>), LoadError> {
    let (ready, readiness) = channel();
    let mut workers = Vec::new();
    for index in 0..plan.threads.len() {
        let (go, begin) = channel();
        // Held until the end: when the last thread drops it, all have ended.
        let ready = ready.clone();
        let spawned = thread::Builder::new()
            .name(format!("narrows-load-{index}"))
            .spawn_scoped(scope, move || work(plan, index, shared, &ready, &begin))
            .map_err(|error| LoadError::Worker(error.to_string()))?;
        workers.push((go, spawned));
    }
    drop(ready);
    let setups = workers
        .iter()
        .map(|_| readiness.recv().unwrap_or_else(|_| Err(LoadError::Worker("it ended early".to_owned()))))
        .collect::<Result<Vec<Setup>, LoadError>>()?;
    let (warm_up, duration) = (plan.options.warm_up, plan.workload.duration_ns);
    let window = window(&shared.clock, warm_up, duration, shared.control.sample());
    let began = Instant::now();
    for (go, _) in &workers {
        // A worker that has died shows when it is joined.
        let _ = go.send(window);
    }
    shared.control.enter(Phase::WarmUp);
    let measuring = began + warm_up.duration();
    if wait_until(measuring, &readiness) {
        shared.control.enter(Phase::Measuring);
        wait_until(measuring + duration.duration(), &readiness);
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
fn window(clock: &Clock, warm_up: Nanos, duration: Nanos, sample: Nanos) -> Window {
    let start = clock.ticks().saturating_add(clock.ticks_in(warm_up));
    // A whole number of ticks in each bucket, so that a duration of whole buckets has no remainder.
    let bucket = clock.ticks_in(sample).max(1);
    let length = duration.get() as f64 / sample.get().max(1) as f64 * bucket as f64;
    Window { start, end: start.saturating_add(length as u64), bucket }
}

/// Sleeps until `deadline`; false when all workers have ended before.
fn wait_until(deadline: Instant, readiness: &Receiver<Result<Setup, LoadError>>) -> bool {
    let left = deadline.saturating_duration_since(Instant::now());
    left == Duration::ZERO || matches!(readiness.recv_timeout(left), Err(RecvTimeoutError::Timeout))
}

/// Sets up the thread that calls it (a ring is tied to its thread, and memory shall be near it), reports, waits for the start and
/// works. `None` when it never began.
fn work(
    plan: &Plan<'_>,
    index: usize,
    shared: Shared<'_>,
    ready: &Sender<Result<Setup, LoadError>>,
    begin: &Receiver<Window>,
) -> Option<Tally> {
    let pinned_to = plan.cpu(index).filter(|cpu| pin(*cpu));
    let memory = plan.memory(index);
    let ring = plan.ring.is_ok().then(|| Ring::open(plan.depth).map_err(LoadError::no_ring)).transpose();
    let (memory, mut ring) = match memory.and_then(|memory| Ok((memory, ring?))) {
        Ok(means) => means,
        Err(error) => {
            let _ = ready.send(Err(error));
            return None;
        }
    };
    let start = |engine| {
        ready.send(Ok(Setup { pinned_to, engine })).ok()?;
        begin.recv().ok()
    };
    let file = plan.target.file();
    match &mut ring {
        Some(ring) => {
            let mut engine = RingEngine::on(ring, file, memory);
            let window = start(Some(EngineRan::IoUring(engine.granted())))?;
            carry_out(plan, index, shared, &mut engine, window)
        }
        None => carry_out(plan, index, shared, &mut Psync::new(file, memory), start(None)?),
    }
}

fn carry_out(
    plan: &Plan<'_>,
    index: usize,
    shared: Shared<'_>,
    engine: &mut impl Engine,
    window: Window,
) -> Option<Tally> {
    let source = plan.threads.get(index)?.clone();
    let worker = Worker::new(shared, engine, source, plan.depth, window);
    Some(worker.with_pace(plan.pace(index, shared.clock)).counted_by(plan.target.census()).run())
}

/// Ties the calling thread to a CPU; false when the kernel refuses (offline, or outside our control group).
fn pin(cpu: u32) -> bool {
    let mut set = CpuSet::new();
    set.set(cpu as usize).and_then(|()| sched_setaffinity(Pid::from_raw(0), &set)).is_ok()
}
