//! Runs one load on one target, or on several at once, and samples the machine meanwhile.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::args::LadderArgs;
use crate::cli::bench::runner::failure;
use crate::cli::bench::writes::{ESTIMATED_AFTER, Writes};
use crate::cli::signals::stop_on_signals;
use crate::cli::{Failure, output};
use narrows_base::units::{Bytes, BytesPerSec};
use narrows_load::control::{Control, Phase};
use narrows_load::measurement::Workload;
use narrows_load::preset::{LoadSpec, Parallel};
use narrows_load::run::{self, RunOptions};
use narrows_load::target::Target;
use narrows_machine::activity::{Activity, Sample};
use narrows_machine::root::Root;
use narrows_model::ceiling::Direction;
use narrows_report::progress::Progress;
use narrows_session::measure::{at_once, seed};
use narrows_session::scene::Processors;
use narrows_session::scene::Scene;
use narrows_verdict::Run;

/// How often progress is shown.
const TICK: Duration = Duration::from_millis(50);
/// How often disks are sampled, for what their drivers hold.
const SAMPLE: Duration = Duration::from_millis(250);
/// How often all is sampled: a kernel worker may change its work queue in between. On a slow processor reading all kernel
/// threads takes tens of milliseconds, which the load then lacks.
const FULL_SAMPLE: Duration = Duration::from_secs(2);
/// How long the idle machine is watched first.
const IDLE: Duration = Duration::from_millis(300);

/// Everything that stays the same from rung to rung.
pub(super) struct Runner<'a> {
    /// Where facts are read.
    pub(super) root: &'a Root,
    pub(super) progress: Progress,
    stop: Arc<AtomicBool>,
    cpus: Vec<u32>,
    online: u32,
    idle: Activity,
    time: Duration,
    warm_up: Duration,
    /// What may be written; `None` when nothing is.
    writes: Option<Writes>,
}

impl<'a> Runner<'a> {
    /// A runner on the path of `scene`, which watches the idle machine first.
    ///
    /// # Errors
    /// Signals cannot be watched for.
    pub(super) fn new(scene: &'a Scene, args: &LadderArgs, writes: Option<Writes>) -> Result<Self, Failure> {
        let progress = Progress::on_stderr(false);
        let stop = stop_on_signals()?;
        progress.phase("watching the idle machine", IDLE);
        let before = Sample::read(&scene.root);
        thread::sleep(IDLE);
        let online = scene.machine.cpus.online.value();
        Ok(Self {
            root: &scene.root,
            progress,
            stop,
            cpus: Processors::of(&scene.machine, &scene.subject.path, args.cpu_node).tied_to,
            online: online.map_or(1, |cpus| u32::try_from(cpus.len()).unwrap_or(1)).max(1),
            idle: Activity::between(&before, &Sample::read(&scene.root)),
            time: args.time,
            warm_up: args.warm_up,
            writes,
        })
    }

    /// Where facts are read.
    pub(super) const fn root(&self) -> &Root {
        self.root
    }

    /// What may be written; `None` when nothing is.
    pub(super) const fn writes(&self) -> Option<&Writes> {
        self.writes.as_ref()
    }

    /// Whether a signal came.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Processors online.
    pub(super) const fn online(&self) -> u32 {
        self.online
    }

    /// Shows how far the scratch file of `size` is, and breaks it off when a signal came.
    pub(super) fn follow(&self, begin: Instant, written: Bytes, size: Bytes) -> ControlFlow<()> {
        let rate = written.per(begin.elapsed());
        self.progress.update(begin.elapsed(), Some(rate));
        if let Some(writes) = &self.writes {
            writes.meter(self.root, None);
            if written >= size.min(ESTIMATED_AFTER) {
                self.estimate(rate, (written, size));
            }
        }
        if self.is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Says what all is going to take, once: `there` of the `size` of the scratch file were written at this rate.
    pub(super) fn estimate(&self, rate: BytesPerSec, (there, size): (Bytes, Bytes)) {
        if let Some(writes) = self.writes.as_ref().filter(|writes| !writes.is_estimated()) {
            let text = writes.estimate(rate, (there, size), &[]);
            self.progress.aside(|| output::note(&text));
        }
    }

    /// Runs `load` on all `targets` at once, on the processors of the runner or on `cpus`.
    ///
    /// # Errors
    /// The load could not begin.
    pub(super) fn run(
        &self,
        label: &str,
        targets: &[&Target],
        load: &LoadSpec,
        cpus: Option<&[u32]>,
    ) -> Result<Run, Failure> {
        self.progress.phase(label, self.warm_up + self.time);
        let (workload, options) = self.plan(load, cpus);
        let allowance = self.writes.as_ref().map(|writes| writes.allow(Some(load)));
        let allowance = allowance.filter(|_| load.write_percent > 0);
        let control = || {
            let control = Control::with_stop(self.stop.clone());
            match &allowance {
                Some(allowance) => control.with_budget(allowance.budget.clone()),
                None => control,
            }
        };
        let controls: Vec<Control> = targets.iter().map(|_| control()).collect();
        let (measured, activity) = thread::scope(|scope| {
            let (workload, options) = (&workload, &options);
            let runs: Vec<_> = targets
                .iter()
                .zip(&controls)
                .map(|(target, control)| scope.spawn(move || run::run(target, workload, options, control)))
                .collect();
            let activity = self.watch(&controls);
            (runs.into_iter().map(|run| run.join()).collect::<Vec<_>>(), activity)
        });
        let mut measurements = Vec::new();
        for one in measured {
            let one = one.map_err(|_| Failure::new("the load engine failed; this is a bug in narrows"))?;
            let mut one = one.map_err(|error| failure(&error))?;
            // The verdict compares what all workers asked for with what waits in each layer.
            one.workload.queue_depth = one.workload.queue_depth.saturating_mul(options.workers);
            measurements.push(one);
        }
        let direction = if load.changes() { Direction::Write } else { Direction::Read };
        Ok(Run { direction, measurement: at_once(measurements), activity, idle: self.idle.clone() })
    }

    fn plan(&self, load: &LoadSpec, cpus: Option<&[u32]>) -> (Workload, RunOptions) {
        let (workers, streams, depth) = match load.parallel {
            Parallel::Threads(count) => (count, 1, load.queue_depth),
            Parallel::Streams(count) => {
                let workers = self.online.min(count).max(1);
                (workers, count, load.queue_depth.saturating_mul(count.div_ceil(workers)))
            }
        };
        let workload = Workload {
            write_percent: load.write_percent,
            ..Workload::read(load.pattern, load.block_size, depth, self.time.into())
        };
        let options = RunOptions {
            warm_up: self.warm_up.into(),
            cpus: cpus.map_or_else(|| self.cpus.clone(), <[u32]>::to_vec),
            seed: seed(),
            workers,
            streams,
            ..RunOptions::default()
        };
        (workload, options)
    }

    /// Samples the machine during the measured time. States that change as soon as the load is gone (links, connections,
    /// resyncs) are read near its end.
    fn watch(&self, controls: &[Control]) -> Activity {
        let Some(first) = controls.first() else { return Activity::default() };
        first.wait_for(Phase::WarmUp);
        let threads = Sample::of_threads(self.root);
        first.wait_for(Phase::Measuring);
        let begin = Instant::now();
        let mut samples = vec![Sample::of_counters(self.root).with_threads_of(threads)];
        let done = || controls.iter().map(|control| control.bytes_done().get()).sum::<u64>();
        let missed = Bytes::new(done());
        let (mut under_load, mut last, mut last_full) = (None, begin, begin);
        while controls.iter().any(|control| control.phase() < Phase::Done) {
            thread::sleep(TICK);
            let elapsed = begin.elapsed();
            self.progress.update(self.warm_up + elapsed, Some(Bytes::new(done()).per(elapsed)));
            let is_late = elapsed > self.time.mul_f64(0.7);
            let left = self.time.saturating_sub(elapsed);
            if (is_late && under_load.is_none())
                || (!is_late && last_full.elapsed() >= FULL_SAMPLE && left > FULL_SAMPLE)
            {
                let sample = Sample::read(self.root);
                under_load = is_late.then(|| sample.clone());
                samples.push(sample);
                (last, last_full) = (Instant::now(), Instant::now());
            } else if last.elapsed() >= SAMPLE {
                samples.push(Sample::of_disks(self.root));
                last = Instant::now();
            }
        }
        samples.push(Sample::read(self.root));
        let mut activity = Activity::over(&samples).unwrap_or_default();
        activity.missed = missed;
        if let Some(sample) = under_load {
            activity.links = sample.links;
            activity.tcp = sample.tcp;
            activity.resyncs = sample.resyncs;
        }
        activity
    }
}
