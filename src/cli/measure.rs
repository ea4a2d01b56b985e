//! `--measure`: which loads run on one path, and where.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::args::{CheckArgs, Measure};
use super::bar::Bar;
use super::bench::writes::{Wanted, Writes};
use super::signals::stop_on_signals;
use super::{Failure, output};
use narrows_base::units::{Bytes, Nanos, human};
use narrows_load::error::LoadError;
use narrows_load::measurement::{Pattern, Workload};
use narrows_load::preset::StopRule;
use narrows_load::scratch::ScratchOptions;
use narrows_load::stats;
use narrows_load::target::Target as LoadTarget;
use narrows_machine::Machine;
use narrows_machine::root::Root;
use narrows_model::ceiling::Direction;
use narrows_model::path::Path;
use narrows_report::progress::Progress;
use narrows_session::measure::{Asked, Command, Kernel, Processors, Session, Timing};
use narrows_session::place::{Place, Use};
use narrows_session::scene;
use narrows_verdict::{Run, Subject};

/// A generator that uses more of a core than this may be what limits; it gets more threads.
const GENERATOR_BUSY: f64 = 0.9;
/// More threads than this on one path only fight for its queue.
const MOST_WORKERS: u32 = 4;
/// A thorough run is repeated until it is steady, but no more often than this.
const MOST_ROUNDS: u32 = 3;

/// What `--measure` runs: how long to watch the idle machine, how large a scratch file, and which workloads.
struct Plan {
    idle: Duration,
    scratch: Bytes,
    scratch_time: Duration,
    rounds: u32,
    steps: Vec<Step>,
}

struct Step {
    name: &'static str,
    workload: Workload,
    warm_up: Nanos,
}

impl Plan {
    fn new(extent: Measure, duration: Option<Duration>) -> Self {
        let step = |name, pattern, block_size, queue_depth, warm_up, millis| Step {
            name,
            workload: Workload::read(
                pattern,
                block_size,
                queue_depth,
                duration.map_or(Nanos::from_millis(millis), Nanos::from),
            ),
            warm_up: Nanos::from_millis(warm_up),
        };
        let (large, small) = (Bytes::from_mib(1), Bytes::from_kib(4));
        match extent {
            Measure::Quick => Self {
                idle: Duration::from_millis(300),
                scratch: Bytes::from_mib(512),
                scratch_time: Duration::from_secs(2),
                rounds: 1,
                steps: vec![
                    step("sequential read", Pattern::Sequential, large, 8, 500, 3000),
                    step("random read", Pattern::Random, small, 32, 300, 2000),
                ],
            },
            Measure::Full => Self {
                idle: Duration::from_secs(1),
                scratch: Bytes::from_mib(4096),
                scratch_time: Duration::from_secs(20),
                rounds: MOST_ROUNDS,
                steps: vec![
                    step("sequential read", Pattern::Sequential, large, 8, 2000, 10_000),
                    step("random read", Pattern::Random, small, 32, 1000, 10_000),
                    step("random read, depth 1", Pattern::Random, small, 1, 500, 5000),
                ],
            },
        }
    }
}

/// Whether everything that was planned was measured.
pub(super) enum Completion {
    /// It was.
    Whole,
    /// It was not, for this reason; the runs so far are there.
    CutShort(Failure),
}

/// Everything that stays the same from step to step.
struct Bench<'a> {
    progress: &'a Progress,
    session: Session<'a>,
}

/// Runs load on the path of `subject` and adds the runs to it, the last one marked when it was cut short.
///
/// # Errors
/// [`Failure`] when the path has nothing to read from, or it may not be read.
pub(super) fn run(
    extent: Measure,
    root: &Root,
    machine: &Machine,
    subject: &mut Subject,
    args: &CheckArgs,
) -> Result<Completion, Failure> {
    let plan = Plan::new(extent, args.duration);
    let (progress, stop) = (Progress::on_stderr(false), stop_on_signals()?);
    let place = place(&subject.path, args)?;
    let writes = match place.scratch() {
        Some(dir) => {
            let writes = writes(&plan, &subject.path, root)?;
            output::note(&writes.filling(&dir.display().to_string()));
            Some(writes)
        }
        None => None,
    };
    let target = match open(&place, &plan, writes.as_ref(), (&progress, &stop)) {
        Ok(target) => target,
        Err(LoadError::Interrupted) => return Ok(interrupted()),
        Err(error) => return Err(error.into()),
    };
    progress.phase("watching the idle machine", plan.idle);
    let path = &subject.path;
    let on = (Processors::of(machine, path, args.cpu_node), scene::drives(path));
    let session = Session::begin(Command::Check, (root, Kernel), on, stop, plan.idle);
    let bench = Bench { progress: &progress, session };
    for step in &plan.steps {
        if bench.session.is_stopped() {
            return Ok(interrupted());
        }
        match bench.repeat(step, &target, plan.rounds) {
            Ok(run) => subject.runs.push(run),
            Err(failure) if !subject.runs.is_empty() => return Ok(Completion::CutShort(failure)),
            Err(failure) => return Err(failure),
        }
        let last = subject.runs.last().map(|run| &run.measurement);
        if let Some(why) = last.and_then(|measurement| measurement.cut_short.as_ref()) {
            if bench.session.is_stopped() {
                return Ok(interrupted());
            }
            let path = target.path().display();
            return Ok(Completion::CutShort(
                Failure::new(format!("the {} of `{path}` was cut short: {why}", step.name))
                    .hint("look for the device in the kernel log (`dmesg`); the report holds what was read until then"),
            ));
        }
    }
    Ok(Completion::Whole)
}

/// What the scratch file may take: it is no larger than what a bench would write.
fn writes(plan: &Plan, path: &Path, root: &Root) -> Result<Writes, Failure> {
    let timing = Timing {
        stop: StopRule::Seconds(1),
        precision: 0.02,
        max_time: plan.scratch_time,
        fixed: None,
        warm_up: Duration::ZERO,
    };
    Writes::of(&Wanted {
        asked: None,
        kept: None,
        size: (plan.scratch, false),
        is_device: false,
        works: &[],
        timing: &timing,
        again: 0,
        is_patient: true,
        path: Some((path, root)),
        ceiling: None,
    })
}

fn interrupted() -> Completion {
    Completion::CutShort(Failure::new("interrupted; the report holds what was measured until then"))
}

/// Where the bytes are read from.
fn place(path: &Path, args: &CheckArgs) -> Result<Place, Failure> {
    if let Some(dir) = &args.scratch {
        return Ok(Place::Scratch(dir.clone()));
    }
    Place::of(path, Use::ReadOrScratch).map_err(|error| {
        Failure::new(error.to_string()).hint("measure a device, mount or directory behind it")
    })
}

/// Opens it; a scratch file is written first.
fn open(
    place: &Place,
    plan: &Plan,
    writes: Option<&Writes>,
    (progress, stop): (&Progress, &AtomicBool),
) -> Result<LoadTarget, LoadError> {
    let options = ScratchOptions {
        time: Some(plan.scratch_time),
        budget: writes.map(|writes| writes.budget().clone()),
        ..ScratchOptions::default()
    };
    let size = writes.map_or(plan.scratch, Writes::size);
    if writes.is_some() {
        let phase = format!("writing scratch file, {} at most", human::bytes(size));
        progress.phase(&phase, plan.scratch_time);
    }
    let begin = Instant::now();
    place.open_or_make(size, &options, &mut |written, _| {
        progress.update(begin.elapsed(), Some(written.per(begin.elapsed())));
        if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
}

impl Bench<'_> {
    /// Runs a step, again with more threads when the generator was what limited it, and again until it is steady or
    /// `rounds` are used up.
    fn repeat(&self, step: &Step, target: &LoadTarget, rounds: u32) -> Result<Run, Failure> {
        let mut workers = 1;
        let mut best = self.once(step, target, workers)?;
        let is_whole = |run: &Run| run.measurement.cut_short.is_none();
        if is_whole(&best) && best.measurement.generator.cpu >= GENERATOR_BUSY && self.session.online() > 1 {
            let more = self.session.online().min(MOST_WORKERS);
            let wider = self.once(step, target, more)?;
            if wider.measurement.bytes_per_second > best.measurement.bytes_per_second || !is_whole(&wider) {
                (best, workers) = (wider, more);
            }
        }
        let is_steady = |run: &Run| stats::steadiness(&run.measurement.series).is_none_or(|test| test.steady);
        for _ in 1..rounds {
            if is_steady(&best) || !is_whole(&best) {
                break;
            }
            best = self.once(step, target, workers)?;
        }
        Ok(best)
    }

    fn once(&self, step: &Step, target: &LoadTarget, workers: u32) -> Result<Run, Failure> {
        let timing = Timing::exactly(step.workload.duration_ns.duration(), step.warm_up.duration());
        let options = self.session.options(workers, &timing);
        let asked = Asked { workload: step.workload.clone(), options, timing, budget: None, is_short: false };
        self.progress.phase(step.name, timing.longest());
        let bar = Bar { progress: self.progress, before: Duration::ZERO };
        let mut seen = self.session.run(&asked, &[target], &bar)?;
        let measurement = seen.single();
        Ok(self.session.judged(Direction::Read, measurement, seen.activity))
    }
}
