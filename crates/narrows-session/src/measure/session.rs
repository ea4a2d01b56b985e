//! A session: runs loads one after another on one machine, each on one target or on several at the same time.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::engine::{Engine, Kernel};
use super::evidence::{Command, Evidence, Witness};
use super::follow::{Follower, Look};
use super::processors::Processors;
use super::timing::Timing;
use super::watch::{Watch, Watched};
use narrows_base::units::Nanos;
use narrows_load::control::{Control, Phase};
use narrows_load::error::LoadError;
use narrows_load::guard::Budget;
use narrows_load::measurement::{Measurement, Workload};
use narrows_load::preset::{LoadSpec, Parallel};
use narrows_load::run::{EngineChoice, RunOptions};
use narrows_load::scan::{self, Scan, ScanPlan};
use narrows_load::stats::Outlook;
use narrows_load::target::Target;
use narrows_machine::activity::Activity;
use narrows_machine::root::Root;
use narrows_model::ceiling::Direction;
use narrows_verdict::Run;

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
    stop: Arc<AtomicBool>,
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

    /// What ends everything when it is raised.
    pub const fn stop(&self) -> &Arc<AtomicBool> {
        &self.stop
    }

    /// Whether it was raised.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Processors online.
    pub const fn online(&self) -> u32 {
        self.processors.online
    }

    /// The engine's terms for a load. Streams are carried by as many workers as there are processors.
    pub fn terms(&self, load: &LoadSpec, timing: &Timing) -> (Workload, RunOptions) {
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
            engine: if load.buffered { EngineChoice::Psync } else { EngineChoice::Auto },
            streams,
            ..self.options(workers, timing)
        };
        (workload, options)
    }

    /// How the engine works here, with so many worker threads.
    pub fn options(&self, workers: u32, timing: &Timing) -> RunOptions {
        RunOptions {
            warm_up: Nanos::from(timing.warm_up),
            cpus: self.processors.tied_to.clone(),
            seed: seed(),
            workers,
            measure_nop: Evidence::Nop.is_taken_by(self.command) && self.nop.get().is_none(),
            ..RunOptions::default()
        }
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
        let before = self.witness.condition(&self.drives);
        let (measured, watched) = self.on_each(asked, targets, &controls, follower);
        let after = self.witness.condition(&self.drives);
        let mut measurements = measured.into_iter().collect::<Result<Vec<_>, _>>()?;
        for one in &mut measurements {
            // Once is enough: the processor does not change from run to run.
            self.nop.set(one.checks.nop_ns_per_io.or(self.nop.get()));
            one.checks.nop_ns_per_io = self.nop.get();
        }
        let activity = Activity { before, after, ..watched.activity };
        Ok(Seen { measurements, activity, outlook: watched.outlook, is_known: watched.is_known })
    }

    fn on_each(
        &self,
        asked: &Asked,
        targets: &[&E::Target],
        controls: &[Control],
        follower: &impl Follower,
    ) -> (Vec<Result<Measurement, LoadError>>, Watched) {
        let watch = Watch {
            witness: self.witness,
            idle: &self.idle,
            timing: &asked.timing,
            is_fine: asked.is_short,
            threads_between: Evidence::ThreadsBetween.is_taken_by(self.command),
        };
        let engine = &self.engine;
        let options: Vec<RunOptions> =
            (0..targets.len()).map(|place| beside(&asked.options, place)).collect();
        thread::scope(|scope| {
            let each = targets.iter().zip(controls).zip(&options);
            let runs: Vec<_> = each
                .map(|((target, control), options)| {
                    scope.spawn(move || {
                        let _over = Over(control);
                        engine.run(target, &asked.workload, options, control)
                    })
                })
                .collect();
            let watched = watch.follow(controls, follower);
            let joined = runs.into_iter().map(|run| run.join().unwrap_or_else(|_| Err(panicked())));
            (joined.collect(), watched)
        })
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
pub(super) fn beside(options: &RunOptions, place: usize) -> RunOptions {
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
