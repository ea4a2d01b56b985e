//! Runs the tests of a bench or sweep on one target: opens it, runs one load after another, watches the machine meanwhile, and
//! stops each when its rate is known well enough or what it may write is used up.

mod open;
mod outcome;

pub use open::Filling;
pub use outcome::{Allowed, LoadOutcome};

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crate::measure::{Asked, Command, Seen, Session, Timing, WINDOW, at_once, is_steady, rounds};
use crate::scene::Scene;
use crate::writes::{Allowance, Writes};
use crate::{Moving, Teller, go_on_unless};
use narrows_base::units::{Bytes, BytesPerSec};
use narrows_load::LoadError;
use narrows_load::failure;
use narrows_load::guard::Sentry;
use narrows_load::measurement::{Cause, Measurement, RunFailure};
use narrows_load::preset::{LoadSpec, StopRule};
use narrows_load::scan::{Scan, ScanPlan};
use narrows_load::stats::Outlook;
use narrows_load::target::Target as Opened;
use narrows_machine::root::Root;
use narrows_model::ceiling::Direction;
use narrows_model::path::Path;
use narrows_verdict::Run;
use outcome::{Samples, Shown, known, late, leave_out_warm_up, used_up};

/// The part of a rate within which an interval is wanted that a test without one is taken to need, as a factor of bytes.
const WITHOUT_INTERVAL: f64 = 4.0;
/// How long the idle machine is watched before the first test.
const IDLE: Duration = Duration::from_millis(300);

/// Everything that stays the same from test to test.
pub struct Runner<'a, T: Teller> {
    /// Where facts are read.
    pub root: &'a Root,
    /// Who hears how far it is.
    pub progress: T,
    /// What measures.
    pub session: Session<'a>,
    /// What may be written; `None` when nothing is.
    writes: Option<Writes>,
    /// Watches the device that is written.
    sentry: RefCell<Option<Sentry>>,
}

impl<'a, T: Teller> Runner<'a, T> {
    /// A runner of a command on the path of `scene`, which watches the idle machine first. `stop` ends everything when it is
    /// raised.
    pub fn begin(
        command: Command,
        scene: &'a Scene,
        writes: Option<Writes>,
        (progress, stop): (T, Arc<AtomicBool>),
    ) -> Self {
        progress.phase("watching the idle machine", IDLE);
        let session = scene.session(command, stop, IDLE);
        Self { root: &scene.root, progress, session, writes, sentry: RefCell::new(None) }
    }

    /// Whether a signal came.
    pub fn is_stopped(&self) -> bool {
        self.session.is_stopped()
    }

    /// What may be written; `None` when nothing is.
    pub fn writes(&self) -> Option<&Writes> {
        self.writes.as_ref()
    }

    /// Whether a write was refused since no more may be written.
    pub fn is_over_budget(&self) -> bool {
        self.writes.as_ref().is_some_and(|writes| writes.budget().is_exhausted())
    }

    /// Why not all was run that was asked for: `is_too_little` says whether something was not begun since it may write too
    /// little of what `others` need.
    pub fn why_over(&self, target: &Opened, others: &str, is_too_little: bool) -> String {
        if self.is_over_budget() {
            return "no more may be written (--max-writes), and a larger --max-writes is needed to go on"
                .to_owned();
        }
        if !target.is_alone() {
            return "somebody else wrote to the device".to_owned();
        }
        match (self.is_stopped(), is_too_little) {
            (true, _) => "interrupted".to_owned(),
            (false, true) => {
                format!("too little may be written for all {others}, and a larger --max-writes is needed")
            }
            (false, false) => "ended early".to_owned(),
        }
    }

    /// Shows how far the filling of a target is, and breaks it off when a signal came.
    pub fn follow(&self, begin: Instant, written: Bytes) -> ControlFlow<()> {
        self.progress.update(begin.elapsed(), written.per(begin.elapsed()));
        if let Some(writes) = &self.writes {
            writes.meter(self.root, None);
        }
        go_on_unless(self.is_stopped())
    }

    /// Runs a load. `label` names it beside the bar when it runs in rounds.
    ///
    /// # Errors
    /// Nothing could be measured.
    pub fn load(
        &self,
        label: &str,
        load: &LoadSpec,
        target: &Opened,
        timing: &Timing,
    ) -> Result<LoadOutcome, LoadError> {
        let buffered = load.buffered.then(|| target.buffered()).transpose()?;
        let target = buffered.as_ref().unwrap_or(target);
        let allowance = self.writes.as_ref().map(|writes| writes.allow(Some(load)));
        let timing = &announced(*timing, allowance.as_ref());
        if !matches!(timing.stop, StopRule::SteadyRounds(_)) {
            return self.once(load, target, timing, allowance.as_ref());
        }
        let again = Timing { warm_up: Duration::ZERO, ..*timing };
        let is_over = |outcome: &LoadOutcome| {
            outcome.measurement.cut_short.is_some()
                || outcome.allowance.is_some_and(|allowance| allowance.ended_test)
        };
        let once = &mut |number| -> Result<_, LoadError> {
            if number > 1 {
                self.progress.name(&format!("{label}, round {number}"));
            }
            let timing = if number > 1 { &again } else { timing };
            let outcome = self.once(load, target, timing, allowance.as_ref())?;
            let is_last = is_over(&outcome);
            Ok((outcome, is_last))
        };
        let (rounds, last) = rounds(once, |outcome: &LoadOutcome| outcome.measurement.bytes_per_second)?;
        let Some(mut outcome) = last else { return Err(LoadError::Interrupted) };
        if !is_over(&outcome) {
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
    /// Nothing could be read.
    pub fn scan(&self, plan: ScanPlan, target: &Opened, limit: Duration) -> Result<Scan, LoadError> {
        if let Some(writes) = &self.writes {
            // A scan writes nothing; what it was thought to take is not there for others any more.
            writes.allow(None);
        }
        let plan = plan.fitting(target.size());
        let all = Bytes::new(plan.sample_size.get().saturating_mul(plan.samples.into()));
        self.progress.phase("samples over the target", limit);
        self.session.scan(plan, target, limit, &Samples { progress: &self.progress, all })
    }

    fn once(
        &self,
        load: &LoadSpec,
        target: &Opened,
        timing: &Timing,
        allowance: Option<&Allowance>,
    ) -> Result<LoadOutcome, LoadError> {
        let writing = allowance.filter(|_| load.write_percent > 0);
        let written = writing.map_or(Bytes::new(0), |allowance| allowance.budget.spent());
        if let Some(Err(over)) = writing.map(|allowance| allowance.suffices(load)) {
            if over.left.get() == 0 {
                // Nothing is left for any test: the run ends with that as its reason.
                let _ = self.writes.as_ref().map(|writes| writes.budget().take(Bytes::new(u64::MAX)));
            }
            return Err(LoadError::OverBudget(over));
        }
        let budget = writing.map(|allowance| allowance.budget.clone());
        let is_short = writing.is_some_and(Allowance::is_short);
        let asked = Asked { budget, is_short, ..self.session.asked(load, timing) };
        let metered = self.writes.as_ref().zip(writing);
        let shown = Shown { root: self.root, progress: &self.progress, timing, metered };
        let mut seen = self.session.run(&asked, &[target], &shown)?;
        let mut measurement = seen.single();
        let is_announced = allowance.is_some_and(|allowance| allowance.time.is_some());
        let view = writing.map(|allowance| self.allowance(allowance, timing, &measurement, &seen));
        let (ended, known) = match (&measurement.cut_short, seen.outlook) {
            (Some(reason), _) => (format!("ended early: {reason}"), None),
            (None, Some(outlook)) if seen.is_known => {
                leave_out_warm_up(&mut measurement, &outlook);
                (known(timing, &measurement, &outlook), outlook.ci95())
            }
            (None, outlook) => match view.as_ref().filter(|view| view.ended_test) {
                Some(view) => {
                    let needed = view.needed;
                    let written = view.written.saturating_sub(written);
                    let said = used_up(&measurement, written, outlook.as_ref(), needed);
                    (said, outlook.and_then(|outlook| outlook.ci95()))
                }
                None if is_announced && timing.stop == StopRule::Precision => {
                    (late(&measurement, outlook.as_ref()), outlook.and_then(|outlook| outlook.ci95()))
                }
                None => (format!("ran for {}", measurement.elapsed_ns), None),
            },
        };
        // The interval that ended the run, which allows for its having been looked at often.
        measurement.ci95 = known.or(measurement.ci95);
        Ok(LoadOutcome { measurement, ended, allowance: view, rounds: Vec::new(), activity: seen.activity })
    }

    /// What became of what a test might write.
    fn allowance(
        &self,
        allowance: &Allowance,
        timing: &Timing,
        measurement: &Measurement,
        seen: &Seen,
    ) -> Allowed {
        let budget = &allowance.budget;
        let ended_test = budget.is_exhausted() && !seen.is_known && measurement.cut_short.is_none();
        let by_width = |outlook: Outlook| Some((outlook.relative()? / timing.precision).powi(2));
        let by_time = || {
            let rest = timing.longest().as_secs_f64() / measurement.elapsed_ns.as_secs_f64().max(1e-3);
            if timing.fixed.is_some() { rest } else { rest.min(WITHOUT_INTERVAL) }
        };
        let times =
            seen.outlook.filter(|_| timing.fixed.is_none()).and_then(by_width).unwrap_or_else(by_time);
        let needed = self.writes.as_ref().map(|writes| writes.needed(times));
        Allowed {
            bytes: budget.limit(),
            written: budget.spent(),
            ended_test,
            needed: needed.filter(|_| ended_test && !allowance.is_held),
        }
    }

    /// The runs of an outcome as the verdict takes them.
    pub fn runs(&self, outcome: &LoadOutcome) -> Vec<Run> {
        outcome.runs(&self.session)
    }
}

/// The time of a test that ends with what was announced for the whole run.
fn announced(timing: Timing, allowance: Option<&Allowance>) -> Timing {
    let time = allowance.and_then(|allowance| allowance.time);
    let timing = match time.filter(|_| timing.fixed.is_none() && timing.stop == StopRule::Precision) {
        Some(time) => Timing { max_time: timing.max_time.min(time.saturating_sub(timing.warm_up)), ..timing },
        None => timing,
    };
    // What is little is kept for what counts.
    let warm_up = allowance.map_or(timing.warm_up, |allowance| allowance.warm_up(timing.warm_up));
    Timing { warm_up, ..timing }
}

/// How long each test that writes is tried, and all of them together, before the run is estimated.
const TRIAL: Duration = Duration::from_millis(50);
const TRIALS: Duration = Duration::from_secs(2);

impl<T: Teller> Runner<'_, T> {
    /// Estimates the whole run and says what it takes: `there` of the `size` that are filled were written at `rate`. The
    /// loads are tried on what is there, where that can be.
    pub fn estimate(&self, target: Option<&Opened>, rate: BytesPerSec, (there, size): (Bytes, Bytes)) {
        let Some(writes) = self.writes.as_ref().filter(|writes| !writes.is_estimated()) else { return };
        let tried = target.map_or_else(Vec::new, |target| self.try_out(target, writes));
        let text = writes.estimate(rate, (there, size), &tried);
        self.progress.note(&text);
    }

    /// The bytes that each load writes in a second, as far as a moment of it tells.
    pub(crate) fn try_out(&self, target: &Opened, writes: &Writes) -> Vec<(LoadSpec, f64)> {
        let trials = writes.trials();
        let time = TRIAL.min(TRIALS / u32::try_from(trials.len()).unwrap_or(u32::MAX).max(1));
        let timing = Timing { precision: 0.5, ..Timing::exactly(time, Duration::ZERO) };
        self.progress.phase("trying what writes", TRIALS);
        let mut tried = Vec::new();
        for (load, budget) in trials {
            let room = target.region().length.get().min(budget.left().get() / 2);
            let is_fitting = load.in_flight().get() <= room;
            if self.is_stopped() || !is_fitting {
                continue;
            }
            let asked = self.session.asked(&load, &timing);
            let asked = Asked { budget: Some(budget), is_short: true, ..asked };
            if let Ok(run) = self.session.try_out(&asked, target) {
                let rate = run.writes.bytes_per_second.get();
                tried.extend((rate > 0.0).then_some((load, rate)));
            }
            writes.meter(self.root, None);
        }
        tried
    }

    /// Runs `load` on all `targets` at once for `time` after a `warm_up`, on the processors of the session or on `cpus`.
    ///
    /// # Errors
    /// The load could not begin.
    pub fn rung(
        &self,
        label: &str,
        targets: &[&Opened],
        load: &LoadSpec,
        (time, warm_up): (Duration, Duration),
        cpus: Option<&[u32]>,
    ) -> Result<Run, LoadError> {
        self.progress.phase(label, warm_up + time);
        let timing = Timing::exactly(time, warm_up);
        let mut asked = self.session.asked(load, &timing);
        if let Some(cpus) = cpus {
            asked.options.cpus = cpus.to_vec();
        }
        let workers = asked.options.workers;
        let allowance = self.writes().map(|writes| writes.allow(Some(load)));
        asked.budget = allowance.filter(|_| load.write_percent > 0).map(|allowance| allowance.budget);
        let bar = Moving { teller: &self.progress, before: warm_up };
        let seen = self.session.run(&asked, targets, &bar)?;
        let mut measurements = seen.measurements;
        for one in &mut measurements {
            // The verdict compares what all workers asked for with what waits in each layer.
            one.workload.queue_depth = one.workload.queue_depth.saturating_mul(workers);
        }
        let direction = if load.writes() { Direction::Write } else { Direction::Read };
        Ok(self.session.judged(direction, at_once(measurements), seen.activity))
    }
}

/// The failure with its cause. A device that has gone away fails I/Os with all kinds of errors, so this looks whether
/// every device of the path is still there.
pub fn with_what_is_gone(failure: &RunFailure, root: &Root, path: &Path) -> RunFailure {
    let is_gone = |name: &&str| !root.exists(&format!("/sys/class/block/{name}"));
    let gone = path.hops.iter().filter_map(|hop| hop.block_name()).find(is_gone);
    // Without sysfs nothing can be said of what is there.
    let gone = gone.filter(|_| root.exists("/sys/class/block"));
    match gone {
        Some(name) if failure.cause != Cause::Gone => {
            let detail = format!("{}; {name} is no longer there", failure.detail);
            RunFailure { cause: Cause::Gone, detail, ..failure.clone() }
        }
        _ => failure.clone(),
    }
}

/// A run that could not be begun, and what its error advises where that is not that a device is gone.
pub fn of_error<'e>(error: &'e LoadError, root: &Root, path: &Path) -> (RunFailure, Option<&'e str>) {
    let failed = with_what_is_gone(&failure::of_error(error), root, path);
    let hint = error.hint().filter(|_| failed.cause != Cause::Gone);
    (failed, hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::UNTIL_KNOWN;
    use crate::writes::Wanted;
    use narrows_base::units::BytesPerSec;
    use narrows_load::measurement::Pattern;
    use narrows_load::preset::Work;

    const TIMING: Timing = Timing { warm_up: Duration::from_secs(1), ..UNTIL_KNOWN };

    /// What the only test may have of a run that fills 100 MiB and writes 100 MB/s, with `limit` MiB for all.
    fn allowance(limit: u64, is_patient: bool) -> Allowance {
        let load = LoadSpec::reading(Pattern::Random, Bytes::from_kib(4), 1).writing(100);
        let works = [Work::Load(load.clone())];
        let writes = Writes::of(&Wanted {
            asked: Some(Bytes::from_mib(limit)),
            kept: None,
            size: (Bytes::from_mib(100), true),
            is_device: false,
            works: &works,
            timing: &TIMING,
            is_patient,
            path: None,
            ceiling: None,
        });
        let writes = writes.expect("the file fits");
        let size = writes.size();
        writes.budget().take(size).expect("the file fits");
        writes.estimate(BytesPerSec::from_mb(100.0), (size, size), &[(load.clone(), 1e8)]);
        writes.allow(Some(&load))
    }

    #[test]
    fn a_test_ends_with_what_was_announced_for_the_run_unless_its_time_was_asked_for() {
        let one = allowance(8192, false);
        let time = one.time.expect("it was announced");
        assert_eq!(announced(TIMING, Some(&one)).max_time, time - TIMING.warm_up);
        let fixed = Timing { fixed: Some(Duration::from_secs(20)), ..TIMING };
        assert_eq!(announced(fixed, Some(&one)).longest(), Duration::from_secs(20));
        let in_seconds = Timing { stop: StopRule::Seconds(9), ..TIMING };
        assert_eq!(announced(in_seconds, Some(&one)).longest(), Duration::from_secs(9));
        assert_eq!(announced(TIMING, Some(&allowance(8192, true))), TIMING);
        assert_eq!(announced(TIMING, None), TIMING, "it writes nothing");
    }

    #[test]
    fn a_warm_up_takes_no_more_than_a_tenth_of_what_may_be_written() {
        // 100 MiB are left: 1.05 s at 100 MB/s, and at half as fast again 0.7 s.
        let warm_up = announced(TIMING, Some(&allowance(200, true))).warm_up;
        assert!((0.065..0.075).contains(&warm_up.as_secs_f64()), "{warm_up:?}");
    }
}
