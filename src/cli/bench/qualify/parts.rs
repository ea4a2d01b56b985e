//! The parts of a qualification, one after another.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::super::failed;
use super::super::runner::Runner;
use super::asked::Asked;
use super::said;
use crate::cli::{Failure, output};
use narrows_base::units::Bytes;
use narrows_load::error::LoadError;
use narrows_load::guard::Budget;
use narrows_load::measurement::{Measurement, Pattern};
use narrows_load::preset::job::{self, JobTarget, JobTime};
use narrows_load::preset::{LoadSpec, Preset, StopRule, Test, Work};
use narrows_load::qualify::{Cache, Part, Plan, Recovery};
use narrows_load::target::Target as Opened;
use narrows_machine::health;
use narrows_report::bench::qualify::{
    PartView, QualifyView, RecoveryView, SteadyView, WriteAmplification, in_words,
};
use narrows_report::bench::{self, Context, TestResult};
use narrows_session::measure::{Timing, is_steady, rounds};
use narrows_session::runner::Outcome;
use narrows_session::scene::{self, Scene};
use narrows_verdict::{self as verdict, Code};

/// The longest pass, and the rate below which it is not waited for.
const LONGEST_PASS: Duration = Duration::from_secs(24 * 60 * 60);
const SLOWEST: f64 = 5e6;
/// How often a rest is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// After a rest so many times what the cache held is written, to see its end.
const BEYOND: u64 = 2;

/// What is run, and what came of it so far.
pub(super) struct Parts<'a> {
    scene: &'a Scene,
    runner: &'a Runner<'a>,
    target: &'a Opened,
    context: &'a Context,
    preset: &'a Preset,
    asked: &'a Asked<'a>,
    plan: Plan,
    /// The mixed load as fast as it goes, for the target of latency.
    mixed: Option<Measurement>,
    /// What the drive says.
    pub(super) view: QualifyView,
    /// A result for each load.
    pub(super) results: Vec<TestResult>,
    /// What failed.
    pub(super) trouble: Option<Failure>,
    /// Why not all parts that fit came to their end.
    pub(super) cut_short: Option<String>,
}

/// Ends the parts.
struct End;

impl<'a> Parts<'a> {
    /// Before the first byte.
    pub(super) fn new(
        scene: &'a Scene,
        runner: &'a Runner<'a>,
        target: &'a Opened,
        context: &'a Context,
        (preset, asked): (&'a Preset, &'a Asked<'a>),
        plan: Plan,
    ) -> Self {
        let parts = plan.parts.iter().map(|planned| PartView {
            part: planned.part,
            most_bytes: planned.most,
            written_bytes: Bytes::new(0),
            reason: (!planned.fits).then(|| said::why(&plan, planned.most)),
        });
        let view = QualifyView {
            capacity_bytes: plan.capacity,
            region_bytes: plan.region,
            needed_max_writes_bytes: plan.needed,
            parts: parts.collect(),
            cache: None,
            steady: None,
            recovery: None,
            at_target: None,
            write_amplification: None,
            reason: None,
        };
        let (mixed, results, trouble, cut_short) = (None, Vec::new(), None, None);
        Self { scene, runner, target, context, preset, asked, plan, mixed, view, results, trouble, cut_short }
    }

    /// Runs every part that fits, in order.
    pub(super) fn all(&mut self, timing: &Timing) {
        let planned = self.plan.parts.clone();
        let count = planned.len();
        for (index, planned) in planned.into_iter().enumerate().filter(|(_, planned)| planned.fits) {
            if self.is_over() {
                break;
            }
            self.runner.progress.test(index, count, in_words(planned.part));
            let budget = self.budget(planned.most);
            let ran = match planned.part {
                Part::Cache => self.cache(&budget),
                Part::Steady => self.steady(&budget),
                Part::Reads => self.reads(timing),
                Part::Mixed => self.mixed(timing, &budget),
                Part::LatencyTarget => self.latency_target(&budget),
                Part::Recovery => self.recovery(&budget),
            };
            self.part(planned.part, |view| view.written_bytes = budget.spent());
            if ran.is_err() {
                break;
            }
        }
        if self.cut_short.is_none() {
            self.is_over();
        }
    }

    /// Whether something ended all, which is noted.
    fn is_over(&mut self) -> bool {
        let why = if !self.target.is_alone() {
            "somebody else wrote to the device"
        } else if self.runner.is_stopped() {
            "interrupted"
        } else {
            return self.cut_short.is_some();
        };
        self.cut_short.get_or_insert_with(|| {
            format!("{why}; the drive is cleared, so that a qualification begins anew")
        });
        true
    }

    fn part(&mut self, part: Part, change: impl FnOnce(&mut PartView)) {
        if let Some(view) = self.view.parts.iter_mut().find(|view| view.part == part) {
            change(view);
        }
    }

    /// A part of what may be written.
    fn budget(&self, most: Bytes) -> Arc<Budget> {
        let whole = self.runner.writes().map(|writes| writes.budget().clone());
        Arc::new(Budget::part_of(&whole.unwrap_or_else(|| Arc::new(Budget::new(Bytes::new(0)))), most))
    }

    /// A pass over the region writes each byte once, and shows a fast cache where there is one.
    fn cache(&mut self, budget: &Arc<Budget>) -> Result<(), End> {
        let run = self.pass("first pass", budget)?;
        let cache = Cache::of_pass(&run.series, run.bytes, run.bytes_per_second);
        self.view.cache = Some(cache);
        let last = match cache {
            Cache::Seen { slow_bytes_per_second, .. } => slow_bytes_per_second,
            _ => run.bytes_per_second,
        };
        if let Some(text) = said::rest(&self.plan, last, self.asked.rest) {
            self.runner.progress.aside(|| output::note(&text));
        }
        Ok(())
    }

    /// The second pass, and rounds until five agree.
    fn steady(&mut self, budget: &Arc<Budget>) -> Result<(), End> {
        let second = Arc::new(Budget::part_of(budget, self.plan.region));
        self.pass("second pass", &second)?;
        let written =
            self.results.iter().filter_map(|result| result.allowance).map(|one| one.written_bytes.as_f64());
        let preconditioned = written.sum::<f64>() / self.plan.capacity.as_f64().max(1.0);
        let load = self.load(Pattern::Random, 4, 32, 100);
        let timing = Timing::exactly(self.asked.round, Duration::ZERO);
        let (medium, before) = (self.medium_written(), budget.spent());
        let once = &mut |number| -> Result<_, End> {
            if budget.is_exhausted() {
                return Ok(ControlFlow::Break(None));
            }
            self.runner.progress.name(&format!("random writes, round {number}"));
            let outcome = self.ran(&load, "random writes", &timing, Some(budget))?;
            // A round that its budget ended is no round.
            let is_short = outcome.measurement.elapsed_ns.duration() < self.asked.round.mul_f64(0.9);
            Ok(match budget.is_exhausted() && is_short {
                true => ControlFlow::Break(None),
                false => ControlFlow::Continue(outcome),
            })
        };
        let (rounds, last) = rounds(once, |outcome: &Outcome| outcome.measurement.bytes_per_second)?;
        self.view.write_amplification = self.amplification(medium, budget.spent().saturating_sub(before));
        let is_steady = is_steady(&rounds);
        if let Some(mut outcome) = last {
            outcome.ended = match is_steady {
                true => format!("steady after {} rounds", rounds.len()),
                false if budget.is_exhausted() => {
                    format!(
                        "not steady after {} rounds, and no more may be written (--max-writes)",
                        rounds.len()
                    )
                }
                false => format!("not steady after {} rounds", rounds.len()),
            };
            outcome.rounds.clone_from(&rounds);
            self.keep("steady rounds, RND4K Q32T1 write", &load, outcome);
        }
        self.view.steady = Some(SteadyView { is_steady, rounds, preconditioned });
        Ok(())
    }

    fn reads(&mut self, timing: &Timing) -> Result<(), End> {
        let timing = Timing { stop: StopRule::Precision, ..*timing };
        for (pattern, kib, depth) in
            [(Pattern::Random, 4, 32), (Pattern::Random, 4, 1), (Pattern::Sequential, 128, 32)]
        {
            let load = self.load(pattern, kib, depth, 0);
            let name = name(&load);
            let outcome = self.ran(&load, &name, &timing, None)?;
            self.keep(&name, &load, outcome);
        }
        Ok(())
    }

    fn mixed(&mut self, timing: &Timing, budget: &Arc<Budget>) -> Result<(), End> {
        // What may be written is kept for what counts.
        let timing = Timing { stop: StopRule::Precision, warm_up: Duration::ZERO, ..*timing };
        let load = self.load(Pattern::Random, 4, 32, 30);
        let name = name(&load);
        let outcome = self.ran(&load, &name, &timing, Some(budget))?;
        self.mixed = Some(outcome.measurement.clone());
        self.keep(&name, &load, outcome);
        Ok(())
    }

    fn latency_target(&mut self, budget: &Arc<Budget>) -> Result<(), End> {
        let (Some(target), Some(free)) = (self.asked.target.clone(), self.mixed.take()) else {
            return Ok(());
        };
        let load = self.load(Pattern::Random, 4, 32, 30);
        match self.runner.aimed(&target, &load, self.target, &free, Some(budget)) {
            Ok(found) => self.view.at_target = Some(bench::AtTarget::found(&target, &name(&load), found)),
            Err(error) => return Err(self.failed("rate at the latency target", &load, &error)),
        }
        Ok(())
    }

    /// Leaves the drive alone, and looks how much of the cache is back.
    fn recovery(&mut self, budget: &Arc<Budget>) -> Result<(), End> {
        let Some(Cache::Seen { bytes, fast_bytes_per_second, slow_bytes_per_second }) = self.view.cache
        else {
            self.part(Part::Recovery, |view| {
                view.reason = Some("no fall of the rate was seen in the first pass".to_owned());
            });
            return Ok(());
        };
        self.rest();
        if self.is_over() {
            return Err(End);
        }
        let enough = Bytes::new(bytes.get().saturating_mul(BEYOND));
        let some = Arc::new(Budget::part_of(budget, enough.min(budget.left())));
        let run = self.pass("after a rest", &some)?;
        let rates = (fast_bytes_per_second, slow_bytes_per_second);
        let recovery = Recovery::of(&run.series, run.bytes, bytes, rates);
        self.view.recovery = Some(RecoveryView { rest_ns: self.asked.rest.into(), recovery });
        Ok(())
    }

    fn rest(&self) {
        self.runner.progress.phase("a rest", self.asked.rest);
        let begin = Instant::now();
        while begin.elapsed() < self.asked.rest && !self.runner.is_stopped() {
            thread::sleep(LOOK.min(self.asked.rest));
            self.runner.progress.update(begin.elapsed(), None);
        }
    }

    /// Writes in sequence from the beginning of the region until the budget is used up.
    fn pass(&mut self, what: &str, budget: &Arc<Budget>) -> Result<Measurement, End> {
        let load = self.load(Pattern::Sequential, 128, 32, 100);
        let most =
            Duration::try_from_secs_f64(60.0 + budget.limit().as_f64() / SLOWEST).unwrap_or(LONGEST_PASS);
        let timing = Timing::exactly(most.min(LONGEST_PASS), Duration::ZERO);
        let name = format!("{what}, {}", name(&load));
        let mut outcome = self.ran(&load, &name, &timing, Some(budget))?;
        let is_whole = budget.is_exhausted();
        outcome.ended = match (is_whole, &outcome.measurement.cut_short) {
            (_, Some(why)) => format!("ended early: {why}"),
            (true, None) => format!("{} were written in sequence", budget.spent()),
            (false, None) => format!("{} were written within the longest time of a pass", budget.spent()),
        };
        let run = outcome.measurement.clone();
        self.keep(&name, &load, outcome);
        if let Some(last) = self.results.last_mut() {
            not_judged(last);
            let limit = budget.limit();
            last.allowance = Some(bench::AllowanceView {
                bytes: limit,
                written_bytes: budget.spent(),
                ended_test: false,
                needed_max_writes_bytes: None,
            });
        }
        if !is_whole && self.cut_short.is_none() {
            self.cut_short = Some(format!("{what} did not come to its end"));
            return Err(End);
        }
        Ok(run)
    }

    /// Runs a load. What failed is in the results then.
    fn ran(
        &mut self,
        load: &LoadSpec,
        name: &str,
        timing: &Timing,
        budget: Option<&Arc<Budget>>,
    ) -> Result<Outcome, End> {
        match self.runner.within(load, self.target, timing, (budget.cloned(), None)) {
            Ok(outcome)
                if outcome.measurement.failure.is_none() && outcome.measurement.cut_short.is_none() =>
            {
                Ok(outcome)
            }
            Ok(outcome) => {
                if let Some(failure) = &outcome.measurement.failure {
                    let view = failed::view(failure, self.runner.root(), &self.scene.subject.path);
                    self.end(name, &view);
                }
                self.keep(name, load, outcome);
                self.is_over();
                self.cut_short.get_or_insert_with(|| format!("{name} was cut short"));
                Err(End)
            }
            Err(error) => Err(self.failed(name, load, &error)),
        }
    }

    fn failed(&mut self, name: &str, load: &LoadSpec, error: &LoadError) -> End {
        if !self.is_over() {
            let view = failed::of_error(error, self.runner.root(), &self.scene.subject.path);
            self.end(name, &view);
            let test = Test { name: name.to_owned(), work: Work::Load(load.clone()) };
            let command = self.command(&test);
            self.results.push(bench::not_begun(&test, &error.to_string(), Some(view), command));
        }
        End
    }

    /// Notes what failed.
    fn end(&mut self, name: &str, view: &bench::FailedView) {
        self.cut_short = Some(format!("{name} failed: {}", view.summary));
        let text = format!("{name} failed: {} ({})", view.summary, view.detail);
        self.trouble = Some(Failure::new(text).hint(&view.hint));
    }

    /// Adds what a load gave to the results.
    fn keep(&mut self, name: &str, load: &LoadSpec, outcome: Outcome) {
        let test = Test { name: name.to_owned(), work: Work::Load(load.clone()) };
        let subject = self.scene.subject.with_runs(self.runner.runs(&outcome));
        let verdict = verdict::judge(&self.scene.machine, std::slice::from_ref(&subject));
        let view = |failure| failed::view(failure, self.runner.root(), &self.scene.subject.path);
        let about = bench::About {
            fio_command: self.command(&test),
            ended: outcome.ended,
            rounds: outcome.rounds,
            allowance: outcome.allowance.as_ref().map(bench::AllowanceView::of),
            failed: outcome.measurement.failure.as_ref().map(view),
        };
        let result =
            bench::of_load(self.context, &test, load, &outcome.measurement, about, &subject, &verdict);
        self.results.push(result);
    }

    fn command(&self, test: &Test) -> String {
        let region = self.target.region();
        let target = JobTarget {
            path: self.target.path().display().to_string(),
            size: region.length,
            offset: region.start,
            scratch: false,
            device: true,
        };
        job::command(test, &target, JobTime { run: self.asked.round, warm_up: Duration::ZERO })
    }

    fn load(&self, pattern: Pattern, kib: u64, depth: u32, writes: u8) -> LoadSpec {
        let compressible_percent = self.asked.compressible;
        let load = LoadSpec::reading(pattern, Bytes::from_kib(kib), depth).writing(writes);
        debug_assert!(self.preset.loads().any(|known| *known == load), "the preset names {load:?}");
        LoadSpec { compressible_percent, ..load }
    }

    /// What the medium of the drive has written, where it is one drive that tells.
    fn medium_written(&self) -> Option<(Bytes, String)> {
        let drives = scene::drives(&self.scene.subject.path);
        let [drive] = drives.as_slice() else { return None };
        let written = health::medium_written(self.runner.root(), drive);
        Some((written.get()?, written.source().as_str().to_owned()))
    }

    fn amplification(&self, before: Option<(Bytes, String)>, sent: Bytes) -> Option<WriteAmplification> {
        let ((before, source), (after, _)) = (before?, self.medium_written()?);
        let medium_bytes = after.saturating_sub(before);
        (sent.get() > 0 && medium_bytes.get() > 0).then(|| WriteAmplification {
            factor: medium_bytes.as_f64() / sent.as_f64(),
            sent_bytes: sent,
            medium_bytes,
            source,
        })
    }
}

fn name(load: &LoadSpec) -> String {
    format!("{} {}", load.mark(), load.direction())
}

/// A pass is no steady run: its rate changes by design, and how long it takes is not chosen.
fn not_judged(result: &mut TestResult) {
    let is_by_design = |code: Code| matches!(code, Code::Unsteady | Code::TooShort);
    let others = result.findings.iter().any(|note| !is_by_design(note.code));
    result.findings.retain(|note| !is_by_design(note.code));
    if !others && result.failed.is_none() {
        result.trusted = None;
        let why = "trusted: a pass over the drive is no steady run";
        result.reason = Some(match result.reason.take() {
            Some(reason) => format!("{reason}; {why}"),
            None => why.to_owned(),
        });
    }
}
