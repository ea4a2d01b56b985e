//! Runs one load, watches the machine meanwhile, and stops it when its rate is known well enough.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::args::Common;
use crate::ceiling::{self, Direction};
use crate::cli::measure::{reader_cpus, stop_on_signals};
use crate::cli::{Failure, facts, target};
use crate::load::control::{Control, Phase};
use crate::load::error::LoadError;
use crate::load::measurement::{Measurement, OpTotals, Workload};
use crate::load::preset::{LoadSpec, Parallel, StopRule};
use crate::load::run::{self, EngineChoice, RunOptions};
use crate::load::scan::{self, Scan, ScanPlan};
use crate::load::stats::{self, Decision, Outlook, Precision};
use crate::load::target::Target as Opened;
use crate::machine::Machine;
use crate::machine::activity::{Activity, Sample};
use crate::machine::root::Root;
use crate::path::build;
use crate::report::progress::Progress;
use crate::units::{Bytes, BytesPerSec, Iops, Nanos, human};
use crate::verdict::{Run, Subject};

/// How often the progress of a scan is shown.
const TICK: Duration = Duration::from_millis(100);
/// How often a run is looked at; the intervals of [`Precision`] are tested for this.
const LOOK: Duration = Duration::from_millis(100);
/// How long the idle machine is watched before the first test.
const IDLE: Duration = Duration::from_millis(300);
/// SNIA PTS 2.0.2: a test that is not steady after 25 rounds is given up.
const MOST_ROUNDS: usize = 25;
/// Rounds that must agree.
const WINDOW: usize = 5;

/// How long tests run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::cli) struct Timing {
    /// When a test has run long enough.
    pub(in crate::cli) stop: StopRule,
    /// How narrow the interval must be.
    pub(in crate::cli) precision: f64,
    /// The longest that a test runs.
    pub(in crate::cli) max_time: Duration,
    /// Exactly this time, if it was asked for.
    pub(in crate::cli) fixed: Option<Duration>,
    /// What is not counted.
    pub(in crate::cli) warm_up: Duration,
}

impl Timing {
    /// The time of one run, or the most of it.
    pub(in crate::cli) fn longest(&self) -> Duration {
        self.fixed.unwrap_or(match self.stop {
            StopRule::Precision => self.max_time,
            StopRule::Seconds(seconds) | StopRule::SteadyRounds(seconds) => {
                Duration::from_secs(seconds.into())
            }
        })
    }

    /// What the series says of when to stop; `None` when the time alone decides.
    fn judge(&self, series: &[BytesPerSec]) -> Option<Outlook> {
        let by_precision = self.fixed.is_none() && self.stop == StopRule::Precision;
        let precision = Precision::new(self.precision).filter(|_| by_precision)?;
        Some(precision.judge(series))
    }
}

/// A machine, and the one path of it that is measured.
pub(in crate::cli) struct Scene {
    /// Where facts are read.
    pub(in crate::cli) root: Root,
    /// The machine.
    pub(in crate::cli) machine: Machine,
    /// The path with its ceilings, and no runs.
    pub(in crate::cli) subject: Subject,
}

impl Scene {
    /// Reads this machine and finds the path to what was typed.
    ///
    /// # Errors
    /// [`Failure`] when there is no such target.
    pub(in crate::cli) fn read(typed: &str, cpu_node: Option<u32>) -> Result<Self, Failure> {
        let root = facts::open(None)?;
        let machine = facts::read(&root);
        let asked = target::resolve(&root, &machine, typed)?;
        let options = build::Options { reader_node: cpu_node };
        let path = build::path_with(&machine, &asked, &options)
            .ok_or_else(|| Failure::new("no storage path leads to this target"))?;
        let ceilings = path.hops.iter().map(ceiling::of_hop).collect();
        Ok(Self { root, machine, subject: Subject { path, ceilings, runs: Vec::new() } })
    }
}

/// What one test came to.
pub(in crate::cli) struct Outcome {
    /// The figures.
    pub(in crate::cli) measurement: Measurement,
    /// Why it ended.
    pub(in crate::cli) ended: String,
    /// The mean rates of rounds, where there were rounds.
    pub(in crate::cli) rounds: Vec<BytesPerSec>,
    activity: Activity,
}

/// Everything that stays the same from test to test.
pub(in crate::cli) struct Runner<'a> {
    root: &'a Root,
    /// The bar.
    pub(in crate::cli) progress: Progress,
    /// Raised by the first signal.
    pub(in crate::cli) stop: Arc<AtomicBool>,
    cpus: Vec<u32>,
    online: u32,
    idle: Activity,
}

impl<'a> Runner<'a> {
    /// A runner on the path of `scene`, which watches the idle machine first.
    ///
    /// # Errors
    /// Signals cannot be watched for.
    pub(in crate::cli) fn new(scene: &'a Scene, common: &Common) -> Result<Self, Failure> {
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
            cpus: reader_cpus(&scene.machine, &scene.subject.path, common.cpu_node),
            online: online.map_or(1, |cpus| u32::try_from(cpus.len()).unwrap_or(1)).max(1),
            idle: Activity::between(&before, &Sample::read(&scene.root)),
        })
    }

    /// Whether a signal came.
    pub(in crate::cli) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Runs a load. `label` is shown beside the bar.
    ///
    /// # Errors
    /// [`Failure`] when nothing could be measured.
    pub(in crate::cli) fn load(
        &self,
        label: &str,
        load: &LoadSpec,
        target: &Opened,
        timing: &Timing,
    ) -> Result<Outcome, Failure> {
        let buffered =
            load.buffered.then(|| target.buffered()).transpose().map_err(|error| failure(&error))?;
        let target = buffered.as_ref().unwrap_or(target);
        let mut outcome = self.once(label, load, target, timing)?;
        if !matches!(timing.stop, StopRule::SteadyRounds(_)) {
            return Ok(outcome);
        }
        let mut rounds = vec![outcome.measurement.bytes_per_second];
        let again = Timing { warm_up: Duration::ZERO, ..*timing };
        while outcome.measurement.cut_short.is_none() && rounds.len() < MOST_ROUNDS && !is_steady(&rounds) {
            let label = format!("{label}, round {}", rounds.len() + 1);
            outcome = self.once(&label, load, target, &again)?;
            rounds.push(outcome.measurement.bytes_per_second);
        }
        if outcome.measurement.cut_short.is_none() {
            outcome.ended = if is_steady(&rounds) {
                format!("steady over rounds {} to {}", rounds.len() + 1 - WINDOW, rounds.len())
            } else {
                format!("not steady after {} rounds", rounds.len())
            };
        }
        outcome.rounds = rounds;
        Ok(outcome)
    }

    /// Reads samples over the whole target.
    ///
    /// # Errors
    /// [`Failure`] when nothing could be read.
    pub(in crate::cli) fn scan(
        &self,
        plan: ScanPlan,
        target: &Opened,
        limit: Duration,
    ) -> Result<Scan, Failure> {
        let control = Control::with_stop(self.stop.clone());
        let plan = plan.fitting(target.size());
        let all = Bytes::new(plan.sample_size.get().saturating_mul(plan.samples.into()));
        self.progress.phase("samples over the target", limit);
        thread::scope(|scope| {
            let scanner = scope.spawn(|| scan::scan(target, plan, limit, seed(), &control));
            let begin = Instant::now();
            while control.phase() < Phase::Done {
                thread::sleep(TICK);
                let done = control.bytes_done();
                let text = format!("{} of {}", human::bytes(done), human::bytes(all));
                self.progress.say(begin.elapsed(), &text);
            }
            scanner.join()
        })
        .map_err(|_| Failure::new("the scan failed; this is a bug in narrows"))?
        .map_err(|error| failure(&error))
    }

    fn once(
        &self,
        label: &str,
        load: &LoadSpec,
        target: &Opened,
        timing: &Timing,
    ) -> Result<Outcome, Failure> {
        let longest = timing.longest();
        let (workload, options) = self.plan(load, timing);
        self.progress.phase(label, longest);
        let control = Control::with_stop(self.stop.clone());
        let (measured, watched) = thread::scope(|scope| {
            let runner = scope.spawn(|| run::run(target, &workload, &options, &control));
            let watched = self.watch(&control, timing);
            (runner.join(), watched)
        });
        let mut measurement = measured
            .map_err(|_| Failure::new("the load engine failed; this is a bug in narrows"))?
            .map_err(|error| failure(&error))?;
        let (ended, known) = match (&measurement.cut_short, watched.outlook) {
            (Some(reason), _) => (format!("ended early: {reason}"), None),
            (None, Some(outlook)) if control.is_finished() => {
                leave_out_warm_up(&mut measurement, &outlook);
                (known(timing, &measurement, &outlook), outlook.ci95())
            }
            (None, _) => (format!("ran for {}", measurement.elapsed_ns), None),
        };
        // The interval that ended the run, which allows for its having been looked at often.
        measurement.ci95 = known.or(measurement.ci95);
        Ok(Outcome { measurement, ended, rounds: Vec::new(), activity: watched.activity })
    }

    /// The engine's terms for a load. Streams are carried by as many workers as there are processors.
    fn plan(&self, load: &LoadSpec, timing: &Timing) -> (Workload, RunOptions) {
        let (workers, streams, depth) = match load.parallel {
            Parallel::Threads(count) => (count, 1, load.queue_depth),
            Parallel::Streams(count) => {
                let workers = self.online.min(count).max(1);
                (workers, count, load.queue_depth.saturating_mul(count.div_ceil(workers)))
            }
        };
        let workload = Workload {
            write_percent: load.write_percent,
            ..Workload::read(load.pattern, load.block_size, depth, timing.longest().into())
        };
        let options = RunOptions {
            warm_up: Nanos::from(timing.warm_up),
            cpus: self.cpus.clone(),
            engine: if load.buffered { EngineChoice::Psync } else { EngineChoice::Auto },
            seed: seed(),
            workers,
            streams,
            ..RunOptions::default()
        };
        (workload, options)
    }

    /// Follows a run: shows the rate with its interval and the time left, and stops it when it is precise enough or a
    /// signal came. Counters are taken at both ends of the measured time, states that change with the load near its end.
    fn watch(&self, control: &Control, timing: &Timing) -> Watched {
        control.wait_for(Phase::Measuring);
        let begin = Instant::now();
        let before = Sample::read(self.root);
        let mut under_load = None;
        let mut last = None;
        while control.phase() < Phase::Done {
            thread::sleep(LOOK);
            let elapsed = begin.elapsed();
            let outlook = timing.judge(&control.series());
            self.show(elapsed, control.bytes_done(), outlook.as_ref(), timing);
            let is_known = outlook.is_some_and(|outlook| outlook.decision == Decision::Stop);
            if under_load.is_none()
                && (is_known || elapsed > timing.longest().mul_f64(0.7))
                && control.phase() < Phase::Done
            {
                under_load = Some(Sample::read(self.root));
            }
            if !control.is_finished() {
                last = outlook;
            }
            if is_known {
                control.finish();
            }
        }
        let mut activity = Activity::between(&before, &Sample::read(self.root));
        if let Some(sample) = under_load {
            activity.links = sample.links;
            activity.tcp = sample.tcp;
            activity.resyncs = sample.resyncs;
        }
        Watched { activity, outlook: last }
    }

    fn show(&self, elapsed: Duration, done: Bytes, outlook: Option<&Outlook>, timing: &Timing) {
        let left = timing.longest().saturating_sub(elapsed);
        let interval = outlook
            .and_then(Outlook::relative)
            .map_or_else(String::new, |half| format!(" ± {}", human::percent(half)));
        let (left, at_most) = match outlook.map(|outlook| outlook.decision) {
            Some(Decision::Continue { left: Some(expected) }) => (expected.duration().min(left), ""),
            _ => (left, " at most"),
        };
        let left = human::time(Duration::from_secs(left.as_secs() + 1).into());
        self.progress
            .say(elapsed, &format!("{}{interval}, {left} left{at_most}", human::rate(done.per(elapsed))));
    }

    /// The runs of an outcome as the verdict takes them: reads and writes apart.
    pub(in crate::cli) fn runs(&self, outcome: &Outcome) -> Vec<Run> {
        let measurement = &outcome.measurement;
        let mixed = measurement.workload.reads() && measurement.workload.writes();
        let run = |direction, totals: &OpTotals| Run {
            direction,
            measurement: if mixed { of_side(measurement, totals) } else { measurement.clone() },
            activity: outcome.activity.clone(),
            idle: self.idle.clone(),
        };
        let mut runs = Vec::new();
        if measurement.workload.reads() {
            runs.push(run(Direction::Read, &measurement.reads));
        }
        if measurement.workload.writes() {
            runs.push(run(Direction::Write, &measurement.writes));
        }
        runs
    }
}

struct Watched {
    activity: Activity,
    outlook: Option<Outlook>,
}

/// Why a run that is precise enough ended.
fn known(timing: &Timing, measurement: &Measurement, outlook: &Outlook) -> String {
    let (precision, elapsed) = (human::percent(timing.precision), measurement.elapsed_ns);
    let warm_up = Nanos::new(stats::SAMPLE.get().saturating_mul(outlook.warm_up as u64));
    let without = match outlook.warm_up {
        0 => String::new(),
        _ => format!(", the first {warm_up} left out as warm-up"),
    };
    format!("known to ± {precision} after {elapsed}{without}")
}

/// Makes the rates of a run those after the warm-up that was found in it, of which its interval is. Bytes, latencies and
/// the series stay those of all its time.
fn leave_out_warm_up(measurement: &mut Measurement, outlook: &Outlook) {
    if outlook.warm_up == 0 || measurement.bytes_per_second.get() <= 0.0 {
        return;
    }
    let factor = outlook.rate.fraction_of(measurement.bytes_per_second);
    measurement.bytes_per_second = outlook.rate;
    measurement.iops = Iops::new(measurement.iops.get() * factor);
    for totals in [&mut measurement.reads, &mut measurement.writes] {
        totals.bytes_per_second = totals.bytes_per_second * factor;
        totals.iops = Iops::new(totals.iops.get() * factor);
    }
}

/// A mixed run in one direction.
fn of_side(measurement: &Measurement, totals: &OpTotals) -> Measurement {
    let share = totals.bytes_per_second.fraction_of(measurement.bytes_per_second);
    Measurement {
        bytes: totals.bytes,
        bytes_per_second: totals.bytes_per_second,
        iops: totals.iops,
        latency: totals.latency.clone(),
        ci95: None,
        series: measurement.series.iter().map(|rate| *rate * share).collect(),
        ..measurement.clone()
    }
}

fn is_steady(rounds: &[BytesPerSec]) -> bool {
    rounds
        .len()
        .checked_sub(WINDOW)
        .and_then(|from| stats::steadiness(rounds.get(from..)?))
        .is_some_and(|test| test.steady)
}

/// A seed that differs from run to run.
pub(in crate::cli) fn seed() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |span| span.as_nanos() as u64)
}

/// A load error with its hint.
pub(in crate::cli) fn failure(error: &LoadError) -> Failure {
    Failure::new(error.to_string()).maybe_hint(error.hint().map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: Timing = Timing {
        stop: StopRule::Precision,
        precision: 0.02,
        max_time: Duration::from_secs(30),
        fixed: None,
        warm_up: Duration::ZERO,
    };

    #[test]
    fn the_time_alone_decides_where_it_was_asked_for() {
        let rates = [BytesPerSec::from_mb(100.0); 100];
        let decision = |timing: Timing| timing.judge(&rates).map(|outlook| outlook.decision);
        assert_eq!(decision(TIMING), Some(Decision::Stop));
        assert_eq!(decision(Timing { fixed: Some(Duration::from_secs(9)), ..TIMING }), None);
        assert_eq!(decision(Timing { stop: StopRule::Seconds(3), ..TIMING }), None);
        assert_eq!(
            Timing { fixed: Some(Duration::from_secs(9)), ..TIMING }.longest(),
            Duration::from_secs(9)
        );
        assert_eq!(Timing { stop: StopRule::Seconds(3), ..TIMING }.longest(), Duration::from_secs(3));
    }

    #[test]
    fn the_rate_is_that_of_its_interval_when_a_warm_up_was_found() {
        // 2 s at 40 MB/s, 6 s at 80 MB/s: 70 MB/s over all.
        let totals = |mb: f64| OpTotals {
            bytes_per_second: BytesPerSec::from_mb(mb),
            iops: Iops::new(mb),
            ..OpTotals::default()
        };
        let mut measurement = Measurement {
            bytes_per_second: BytesPerSec::from_mb(70.0),
            iops: Iops::new(70.0),
            reads: totals(35.0),
            writes: totals(35.0),
            elapsed_ns: Nanos::from_millis(8000),
            ..Measurement::default()
        };
        let outlook = Outlook {
            decision: Decision::Stop,
            warm_up: 20,
            rate: BytesPerSec::from_mb(80.0),
            half_width: Some(BytesPerSec::from_mb(1.0)),
        };
        leave_out_warm_up(&mut measurement, &outlook);
        assert_eq!(measurement.bytes_per_second, outlook.rate);
        assert!((measurement.iops.get() - 80.0).abs() < 1e-9);
        assert!((measurement.reads.bytes_per_second.get() - 40e6).abs() < 1e-3);
        let said = known(&TIMING, &measurement, &outlook);
        assert_eq!(said, "known to ± 2 % after 8 s, the first 2 s left out as warm-up");
        let whole = Measurement { ..measurement.clone() };
        leave_out_warm_up(
            &mut measurement,
            &Outlook { warm_up: 0, rate: BytesPerSec::from_mb(1.0), ..outlook },
        );
        assert_eq!(measurement, whole);
    }

    #[test]
    fn the_last_five_rounds_decide() {
        let rates = |values: &[f64]| values.iter().map(|mb| BytesPerSec::from_mb(*mb)).collect::<Vec<_>>();
        assert!(!is_steady(&rates(&[100.0; 4])));
        assert!(is_steady(&rates(&[500.0, 300.0, 100.0, 101.0, 99.0, 100.0, 100.0])));
        assert!(!is_steady(&rates(&[100.0, 100.0, 100.0, 100.0, 130.0])));
    }
}
