//! The one measuring loop: load on one target or several at the same time, with the same evidence for every command.
//!
//! A [`Session`] is begun on a machine, which it watches idle first. Each [`run`](Session::run) asks links and drives, starts
//! the engine on every target, follows all of them to their end, and asks links and drives again. What evidence
//! there is and what it costs is in [`Evidence`]; nobody else calls the engine.

mod evidence;
mod several;
#[cfg(test)]
mod tests;
mod timing;
mod watch;

pub use evidence::{Command, Evidence, Witness};
pub use several::{Several, Together, at_once};
pub use timing::{MOST_ROUNDS, Timing, WINDOW, is_steady, rounds};

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use narrows_base::units::{Bytes, BytesPerSec, Nanos};
use narrows_load::control::{Control, Phase};
use narrows_load::error::LoadError;
use narrows_load::guard::Budget;
use narrows_load::measurement::{Measurement, Workload};
use narrows_load::preset::{LoadSpec, Parallel};
use narrows_load::run::{self, EngineChoice, RunOptions};
use narrows_load::scan::{self, Scan, ScanPlan};
use narrows_load::stats::Outlook;
use narrows_load::target::Target;
use narrows_load::{NopResult, overhead};
use narrows_machine::Machine;
use narrows_machine::activity::Activity;
use narrows_machine::root::Root;
use narrows_model::ceiling::Direction;
use narrows_model::path::{self, HopSpec};
use narrows_verdict::Run;
use watch::Watch;

/// The samples of a test that may write so little that it is over before there are enough of 100 ms.
const FINE: Nanos = Nanos::from_millis(10);
/// How often a scan is looked at.
const SCAN_LOOK: Duration = Duration::from_millis(100);

/// One run: what load, for how long, and what it may write.
#[derive(Debug)]
pub struct Asked {
    /// The load of each target.
    pub workload: Workload,
    /// How the engine carries it out.
    pub options: RunOptions,
    /// When it has run long enough.
    pub timing: Timing,
    /// What all writes are taken from, of a load that writes.
    pub budget: Option<Arc<Budget>>,
    /// Whether it may be over so soon that its rate is judged by samples of 10 ms.
    pub is_short: bool,
}

/// What came of a run.
#[derive(Debug)]
pub struct Seen {
    /// What each target gave, in their order.
    pub measurements: Vec<Measurement>,
    /// What the machine did in the measured time, and what was asked before and after it.
    pub activity: Activity,
    /// How well the rate of all is known; `None` where the time alone decided when it ended.
    pub outlook: Option<Outlook>,
    /// Whether that is as well as was asked.
    pub is_known: bool,
}

impl Seen {
    /// What a run on a single target gave.
    pub fn single(&mut self) -> Measurement {
        self.measurements.pop().unwrap_or_default()
    }
}

/// Everything that stays the same from run to run.
pub struct Session<'a, W = Root, E = Kernel> {
    witness: &'a W,
    engine: E,
    command: Command,
    processors: Processors,
    /// The drives of the path.
    drives: Vec<String>,
    /// What ends everything when it is raised.
    pub stop: Arc<AtomicBool>,
    idle: Activity,
    /// What a NOP costs the engine, in nanoseconds, once it was measured.
    nop: Cell<Option<f64>>,
}

impl<'a, W: Witness, E: Engine> Session<'a, W, E> {
    /// A session of a command on a path with these drives, which watches the idle machine for a time first. `stop` ends
    /// everything when it is raised.
    pub fn begin(
        command: Command,
        (witness, engine): (&'a W, E),
        (processors, drives): (Processors, Vec<String>),
        stop: Arc<AtomicBool>,
        idle: Duration,
    ) -> Self {
        let before = witness.everything();
        thread::sleep(idle);
        let idle = Activity::between(&before, &witness.everything());
        Self { witness, engine, command, processors, drives, stop, idle, nop: Cell::new(None) }
    }

    /// Whether it was raised.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Processors online.
    pub const fn online(&self) -> u32 {
        self.processors.online
    }

    /// A run of a load, in the terms of the engine. Streams are carried by as many workers as there are processors. What it may
    /// write is not said.
    pub fn asked(&self, load: &LoadSpec, timing: &Timing) -> Asked {
        let (workers, streams, depth) = match load.parallel {
            Parallel::Threads(count) => (count, 1, load.queue_depth),
            Parallel::Streams(count) => {
                let workers = self.online().min(count).max(1);
                (workers, count, load.queue_depth.saturating_mul(count.div_ceil(workers)))
            }
        };
        let workload = Workload {
            write_percent: load.write_percent,
            ..Workload::read(load.pattern, load.block_size, depth, timing.longest().into())
        };
        let options = RunOptions {
            warm_up: Nanos::from(timing.warm_up),
            cpus: self.processors.tied_to.clone(),
            engine: if load.buffered { EngineChoice::Psync } else { EngineChoice::Auto },
            seed: seed(),
            workers,
            streams,
            measure_nop: Evidence::Nop.is_taken_by(self.command) && self.nop.get().is_none(),
            ..RunOptions::default()
        };
        Asked { workload, options, timing: *timing, budget: None, is_short: false }
    }

    /// Runs a load on all targets at the same time, and takes the evidence of this command.
    ///
    /// # Errors
    /// On one of them nothing could be measured. The others ran to their end.
    pub fn run(
        &self,
        asked: &Asked,
        targets: &[&E::Target],
        follower: &impl Follower,
    ) -> Result<Seen, LoadError> {
        let controls: Vec<Control> = targets.iter().map(|_| self.control(asked.budget.as_ref())).collect();
        let options: Vec<RunOptions> =
            (0..targets.len()).map(|place| beside(&asked.options, place)).collect();
        let watch = Watch {
            witness: self.witness,
            idle: &self.idle,
            timing: &asked.timing,
            is_fine: asked.is_short,
            threads_between: Evidence::ThreadsBetween.is_taken_by(self.command),
        };
        let engine = &self.engine;
        let before = self.witness.condition(&self.drives);
        let (measured, mut seen) = thread::scope(|scope| {
            let each = targets.iter().zip(&controls).zip(&options);
            let runs: Vec<_> = each
                .map(|((target, control), options)| {
                    scope.spawn(move || {
                        let _over = Over(control);
                        engine.run(target, &asked.workload, options, control)
                    })
                })
                .collect();
            let seen = watch.follow(&controls, follower);
            let joined = runs.into_iter().map(|run| run.join().unwrap_or_else(|_| Err(panicked())));
            (joined.collect::<Vec<_>>(), seen)
        });
        (seen.activity.before, seen.activity.after) = (before, self.witness.condition(&self.drives));
        seen.measurements = measured.into_iter().collect::<Result<_, _>>()?;
        for one in &mut seen.measurements {
            // Once is enough: the processor does not change from run to run.
            self.nop.set(one.checks.nop_ns_per_io.or(self.nop.get()));
            one.checks.nop_ns_per_io = self.nop.get();
        }
        Ok(seen)
    }

    /// Runs a load for a moment, of which nothing is reported and no evidence is taken.
    ///
    /// # Errors
    /// Nothing could be measured.
    pub fn try_out(&self, asked: &Asked, target: &E::Target) -> Result<Measurement, LoadError> {
        let options = RunOptions { measure_nop: false, ..asked.options.clone() };
        self.engine.run(target, &asked.workload, &options, &self.control(asked.budget.as_ref()))
    }

    fn control(&self, budget: Option<&Arc<Budget>>) -> Control {
        let control = Control::with_stop(self.stop.clone());
        match budget {
            // Where its budget ends a run soon, there are too few samples of 100 ms.
            Some(budget) => control.with_budget(budget.clone()).sampling(FINE),
            None => control,
        }
    }

    /// A run for the verdict: with what the machine did meanwhile, and does of its own accord.
    pub fn judged(&self, direction: Direction, measurement: Measurement, activity: Activity) -> Run {
        Run { direction, measurement, activity, idle: self.idle.clone() }
    }
}

impl<W: Witness> Session<'_, W, Kernel> {
    /// Reads samples over a whole target.
    ///
    /// # Errors
    /// Nothing could be read.
    pub fn scan(
        &self,
        plan: ScanPlan,
        target: &Target,
        limit: Duration,
        follower: &impl Follower,
    ) -> Result<Scan, LoadError> {
        let control = self.control(None);
        thread::scope(|scope| {
            let scanner = scope.spawn(|| scan::scan(target, plan, limit, seed(), &control));
            let begin = Instant::now();
            while control.wait_for_at_most(Phase::Done, SCAN_LOOK) < Phase::Done {
                let (elapsed, done) = (begin.elapsed(), control.bytes_done());
                follower.look(&Look { elapsed, done, outlook: None });
            }
            scanner.join()
        })
        .map_err(|_| panicked())?
    }
}

/// The options of the target at this place of those that run at once: its workers are tied to processors of their own, as
/// far as there are enough.
fn beside(options: &RunOptions, place: usize) -> RunOptions {
    let mut own = options.clone();
    if let Some(first) = (place * options.workers as usize).checked_rem(own.cpus.len()) {
        own.cpus.rotate_left(first);
    }
    own
}

/// Says that a run is over, whatever became of it: nobody waits for one that failed.
struct Over<'a>(&'a Control);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.enter(Phase::Done);
    }
}

fn panicked() -> LoadError {
    LoadError::Worker("it panicked; this is a bug in narrows".to_owned())
}

/// A seed that differs from run to run.
pub fn seed() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |span| span.as_nanos() as u64)
}

/// Carries out runs.
pub trait Engine: Sync {
    /// What it runs on.
    type Target: Sync;

    /// Runs a workload to its end and measures it. `control` is told where the run is; the session says that it is over.
    ///
    /// # Errors
    /// Nothing could be measured.
    fn run(
        &self,
        target: &Self::Target,
        workload: &Workload,
        options: &RunOptions,
        control: &Control,
    ) -> Result<Measurement, LoadError>;
}

/// The engine of `narrows-load`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Kernel;

impl Engine for Kernel {
    type Target = Target;

    fn run(
        &self,
        target: &Target,
        workload: &Workload,
        options: &RunOptions,
        control: &Control,
    ) -> Result<Measurement, LoadError> {
        run::run(target, workload, options, control)
    }
}

/// A moment of a run in its measured time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// The measured time so far.
    pub elapsed: Duration,
    /// What was moved in it, by all targets.
    pub done: Bytes,
    /// How well the rate is known; `None` where the time alone decides when it ends.
    pub outlook: Option<Outlook>,
}

/// Is told of a run while it goes on, in the thread that watches.
pub trait Follower {
    /// Load is being set up.
    fn begin(&self) {}

    /// About every 100 ms of the measured time.
    fn look(&self, _look: &Look) {}

    /// Load is over. No counter was read after it yet, so this must be quick.
    fn end(&self) {}
}

/// Nobody follows.
impl Follower for () {}

/// The processors that a session may use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Processors {
    /// Those that workers are tied to, in turn; empty leaves them free.
    pub tied_to: Vec<u32>,
    /// How many are online, at least 1.
    pub online: u32,
}

impl Processors {
    /// On a machine with several nodes those next to the path's controller; anywhere otherwise.
    pub fn of(machine: &Machine, path: &path::Path) -> Self {
        let online = machine.cpus.online.value().map_or(1, |cpus| u32::try_from(cpus.len()).unwrap_or(1));
        Self { tied_to: tied_to(machine, path), online: online.max(1) }
    }

    /// The same for several paths at once: those that suit all of them, anywhere where they differ.
    pub fn of_all<'a>(machine: &Machine, paths: impl IntoIterator<Item = &'a path::Path>) -> Self {
        let mut each = paths.into_iter().map(|path| Self::of(machine, path));
        let first = each.next().unwrap_or_default();
        let (online, is_one) = (first.online, each.all(|other| other.tied_to == first.tied_to));
        Self { tied_to: if is_one { first.tied_to } else { Vec::new() }, online }
    }
}

fn tied_to(machine: &Machine, path: &path::Path) -> Vec<u32> {
    if machine.cpus.nodes.len() < 2 {
        return Vec::new();
    }
    let next_to_controller = path.hops.iter().find_map(|hop| match &hop.spec {
        HopSpec::Controller(controller) | HopSpec::Hba(controller) => controller.numa_node.get(),
        _ => None,
    });
    let of_node = |id: u32| machine.cpus.nodes.iter().find(|node| node.id == id);
    next_to_controller.and_then(of_node).map(|node| node.cpus.clone()).unwrap_or_default()
}

/// How long NOPs are measured.
const NOP_TIME: Nanos = Nanos::from_millis(200);
/// How long copies are measured.
const COPY_TIME: Duration = Duration::from_millis(200);

/// What an I/O that does nothing costs the engine on this processor.
///
/// # Errors
/// There is no ring.
pub fn nop_ceiling() -> Result<NopResult, LoadError> {
    narrows_load::nop_ceiling(NOP_TIME)
}

/// The bytes that so many cores copy from memory to memory in a second; `None` where no thread could be started.
pub fn memory_copy(cores: u32) -> Option<BytesPerSec> {
    overhead::memory_copy(cores, COPY_TIME)
}
