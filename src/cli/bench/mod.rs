//! `narrows bench`: the tests of a well-known benchmark, each until its rate is known.
//!
//! The story: find the path, open what is tested, run the tests of the preset one after another, judge each and keep it,
//! show all.

pub mod args;
mod asked;
mod emit;
pub(super) mod failed;
pub(super) mod kept;
pub(super) mod place;
pub(super) mod runner;
pub(super) mod save;
mod site;

use std::time::Duration;

use args::{BenchArgs, Common};
use asked::Terms;
use narrows_session::measure::Command;
use narrows_session::runner::LoadOutcome;
use narrows_session::scene::Scene;
use narrows_session::writes::{Account, Wanted, Writes};
use runner::Runner;
use save::SaveFile;
use site::Site;

use super::{Failure, NOTHING_FOUND, output, status};
use narrows_load::LoadError;
use narrows_load::preset::job::{self, JobTarget, JobTime};
use narrows_load::preset::{self, LoadSpec, Preset, Test, Work};
use narrows_load::target::Target as Opened;
use narrows_report::bench::{
    self, BenchReport, Context, LeftOut, Settings, TargetKind, TargetView, TestResult,
};
use narrows_report::text::Style;
use narrows_verdict as verdict;

/// Runs the tests and shows what came of them.
///
/// # Errors
/// [`Failure`] when the target does not exist or cannot be tested as asked.
pub(super) fn run(args: &BenchArgs) -> Result<u8, Failure> {
    if args.list {
        output::data(&bench::list(&preset::all(), &style(&args.common)))?;
        return Ok(NOTHING_FOUND);
    }
    run_tests(args)
}

/// Runs the tests of a preset on one target.
fn run_tests(args: &BenchArgs) -> Result<u8, Failure> {
    let (file, kept) = asked::files(args)?;
    let preset = asked::chosen(args, kept.as_ref())?;
    let terms = Terms::of(args, kept.as_ref(), preset.stop)?;
    let site = Site::of(args, &terms, kept.as_ref())?;
    let context = Context::new(&site.scene.subject, preset.peer);
    let writes = allowance(args, (&preset, &terms, &site), &context, kept.as_ref())?;
    if let Some(file) = &args.emit_fio {
        let size = writes.as_ref().map_or(preset.size, Writes::size);
        let planned = emit::Planned { place: &site.place, size, timing: &terms.timing, writes };
        return emit::job_file(file, &preset, &planned);
    }
    let runner = runner::begin(Command::Bench, &site.scene, writes)?;
    let target = site.open(&terms, &preset, &runner)?;
    let bench =
        Bench { preset: &preset, terms: &terms, site: &site, runner: &runner, target: &target, context };
    let came = bench.all(kept, file.as_ref());
    let (report, trouble) = bench.end(came, file.as_ref())?;
    drop(runner);
    output::report(&report, &args.common.output, bench::document)?;
    trouble.map_or_else(|| Ok(status(report.complete, report.has_doubts())), Err)
}

/// What the tests may write, announced where any is run; `None` where the target is only read.
fn allowance(
    args: &BenchArgs,
    (preset, terms, site): (&Preset, &Terms, &Site),
    context: &Context,
    kept: Option<&BenchReport>,
) -> Result<Option<Writes>, Failure> {
    let Some(what) = site.place.filled() else { return Ok(None) };
    let is_done =
        |test: &Test| kept.and_then(|kept| kept.result(&test.name)).is_some_and(TestResult::is_whole);
    let writes = Writes::of(&Wanted {
        kept: kept.and_then(|kept| kept.writes.as_ref()).map(Account::before),
        ceiling: context.ceilings.write.as_ref().map(|ceiling| ceiling.bytes_per_second),
        ..site.wanted(args, terms, preset, &site.place.works(preset, is_done))
    })?;
    if args.emit_fio.is_none() {
        output::note(&writes.announcement(&what));
    }
    Ok(Some(writes))
}

struct Bench<'a> {
    preset: &'a Preset,
    terms: &'a Terms,
    site: &'a Site,
    runner: &'a Runner<'a>,
    target: &'a Opened,
    context: Context,
}

impl Bench<'_> {
    /// Runs every test that is not kept yet, and keeps the report after each. What ends that early is beside the report:
    /// a test that failed, or a report that cannot be kept.
    fn all(
        &self,
        kept: Option<BenchReport>,
        file: Option<&SaveFile>,
    ) -> Result<(BenchReport, Option<Failure>), Failure> {
        let mut report = kept.unwrap_or_else(|| self.empty());
        // What ended early is run again.
        report.results.retain(TestResult::is_whole);
        let tests: Vec<&Test> = self.tests().collect();
        self.keep(file, &mut report)?;
        let mut trouble = None;
        let all = tests.len();
        for (index, test) in tests.into_iter().enumerate() {
            if report.result(&test.name).is_some() {
                continue;
            }
            // Nothing is in flight here, so that a single sector of others is seen.
            if self.runner.is_stopped() || !self.target.is_alone() {
                break;
            }
            self.runner.progress.test(index, all, &test.name);
            let result = self.one(test);
            if result.cut_short.as_deref().is_some_and(|_| self.runner.is_stopped()) {
                // Half of a test is no result; a resumed run does it again.
                break;
            }
            let goes_on = result.is_whole() || self.may_write_too_little(&result);
            report.results.push(result);
            trouble = self.keep(file, &mut report).err();
            if !goes_on || trouble.is_some() {
                break;
            }
        }
        self.conclude(file, &mut report);
        let failed = report.failed().map(|(name, failed)| failed::failure(name, failed));
        let unkept = self.keep(file, &mut report).err();
        Ok((report, failed.or(trouble).or(unkept)))
    }

    /// Clears what was written, whatever came of the tests, and keeps the report.
    fn end(
        &self,
        came: Result<(BenchReport, Option<Failure>), Failure>,
        file: Option<&SaveFile>,
    ) -> Result<(BenchReport, Option<Failure>), Failure> {
        let uncleared = runner::clear(self.target, self.runner).err();
        let (mut report, trouble) = came.map_err(|failure| runner::beside(failure, uncleared.as_ref()))?;
        let unkept = self.keep(file, &mut report).err();
        Ok((report, runner::with(trouble, uncleared).or(unkept)))
    }

    /// Whether a test was not begun since it may write too little, while others may.
    fn may_write_too_little(&self, result: &TestResult) -> bool {
        let is_not_begun = result.failed.is_none() && result.elapsed_ns.get() == 0;
        is_not_begun && self.runner.writes().is_some() && !self.runner.is_over_budget()
    }

    /// Says whether the report is complete, and why not.
    fn conclude(&self, file: Option<&SaveFile>, report: &mut BenchReport) {
        let is_done = |test: &&Test| report.result(&test.name).is_some_and(TestResult::is_whole);
        let rest = self.tests().filter(|test| !is_done(test)).count();
        report.complete = rest == 0;
        let how = if file.is_some() { "--resume goes on" } else { "with --save FILE a run can be resumed" };
        let why = match report.failed() {
            Some((name, failed)) => format!("{name} failed: {}", failed.summary),
            None => {
                let is_too_little = report.results.iter().any(|result| self.may_write_too_little(result));
                self.runner.why_over(self.target, "tests", is_too_little)
            }
        };
        report.reason = (rest > 0).then(|| format!("{why}; {rest} tests to go; {how}"));
    }

    fn keep(&self, file: Option<&SaveFile>, report: &mut BenchReport) -> Result<(), Failure> {
        report.writes = self.runner.writes().map(|writes| writes.account(self.runner.root()));
        file.map_or(Ok(()), |file| file.keep(report))
    }

    /// The tests that can be run on the target.
    fn tests(&self) -> impl Iterator<Item = &Test> {
        self.preset.tests.iter().filter(|test| self.obstacle(test).is_none())
    }

    /// Why a test cannot be run on the target, if it cannot.
    fn obstacle(&self, test: &Test) -> Option<String> {
        let (size, writes) = (self.target.region().length, self.runner.writes());
        self.site.place.obstacle_on(test, size, writes, &self.terms.timing)
    }

    /// The target as the report has it.
    fn view(&self) -> TargetView {
        TargetView {
            name: self.terms.typed.clone(),
            kind: TargetKind::from(&self.site.place),
            size_bytes: self.target.region().length,
        }
    }

    fn empty(&self) -> BenchReport {
        let left_out = |test: &Test| Some(LeftOut { name: test.name.clone(), reason: self.obstacle(test)? });
        let left_out = self.preset.tests.iter().filter_map(left_out).collect();
        let settings = Settings { scan: self.preset.scan(), ..Settings::of(&self.terms.timing) };
        let ceilings = self.context.ceilings.clone();
        bench::report(&self.site.scene.machine, self.view(), self.preset, settings, ceilings, left_out)
    }

    /// Runs one test. A failure is in the result.
    fn one(&self, test: &Test) -> TestResult {
        let command = |time| job::command(test, &self.job_target(), self.job_time(time));
        let context = &self.context;
        let measured = match &test.work {
            Work::Scan(plan) => {
                let limit = self.terms.timing.longest();
                self.runner.scan(*plan, self.target, limit).map(|scan| {
                    let view =
                        |failure| failed::view(failure, self.runner.root(), &self.site.scene.subject.path);
                    let failed = scan.failure.as_ref().map(view);
                    let about = bench::About { fio_command: command(limit), failed, ..Default::default() };
                    bench::of_scan(context, test, scan, about)
                })
            }
            Work::Load(load) => {
                self.runner.load(&test.name, load, self.target, &self.terms.timing).map(|outcome| {
                    let command = command(outcome.measurement.elapsed_ns.duration());
                    let on = (&self.site.scene, self.runner, context);
                    judged(on, (test, load), outcome, command)
                })
            }
        };
        measured.unwrap_or_else(|error| {
            let is_failure = !self.runner.is_over_budget() && !matches!(error, LoadError::OverBudget(_));
            let failed = is_failure
                .then(|| failed::of_error(&error, self.runner.root(), &self.site.scene.subject.path));
            bench::not_begun(test, &error.to_string(), failed, command(self.terms.timing.longest()))
        })
    }

    fn job_target(&self) -> JobTarget {
        self.site.place.job_target(self.target.region())
    }

    const fn job_time(&self, run: Duration) -> JobTime {
        JobTime { run, warm_up: self.terms.timing.warm_up }
    }
}

/// The result of a load, judged by its own runs alone.
fn judged(
    (scene, runner, context): (&Scene, &Runner<'_>, &Context),
    (test, load): (&Test, &LoadSpec),
    outcome: LoadOutcome,
    fio_command: String,
) -> TestResult {
    let subject = scene.subject.with_runs(runner.runs(&outcome));
    let verdict = verdict::judge(&scene.machine, std::slice::from_ref(&subject));
    let view = |failure| failed::view(failure, runner.root(), &scene.subject.path);
    let about = bench::About {
        fio_command,
        ended: outcome.ended,
        rounds: outcome.rounds,
        allowance: outcome.allowance,
        failed: outcome.measurement.failure.as_ref().map(view),
    };
    bench::of_load(context, test, load, &outcome.measurement, about, &subject, &verdict)
}

/// How text may look.
pub(super) fn style(common: &Common) -> Style {
    common.output.style()
}
