//! `narrows bench`: the tests of a well-known benchmark, each until its rate is known.
//!
//! The story: find the path, open what is tested, run the tests of the preset one after another, judge each and keep it,
//! show all.

pub mod args;
pub(super) mod course;

use std::path::Path;

use args::BenchArgs;
use course::{Begun, Course, SavedRun, Site, failure, no_place, within};

use super::{Failure, NOTHING_FOUND, files, output, status};
use narrows_load::LoadError;
use narrows_load::preset::job::{self, JobTarget, JobTime};
use narrows_load::preset::{self, Preset, StopRule, Test, Work};
use narrows_load::scan::ScanPlan;
use narrows_report::bench::{self, BenchReport, Context, LeftOut, Settings, TestResult};
use narrows_session::Teller;
use narrows_session::measure::Command;
use narrows_session::runner::{Filling, LoadOutcome};
use narrows_session::writes::{Account, Writes};

/// Runs the tests and shows what came of them.
///
/// # Errors
/// [`Failure`] when the target does not exist or cannot be tested as asked.
pub(super) fn run(args: &BenchArgs) -> Result<u8, Failure> {
    let common = &args.common;
    if args.list {
        output::data(&bench::list(&preset::all(), &common.output.shown.style()))?;
        return Ok(NOTHING_FOUND);
    }
    let (file, kept) = course::kept::<BenchReport>(args.save.as_deref(), args.resume.as_deref())?;
    let preset = chosen(args, kept.as_ref())?;
    let begun = kept.as_ref().map(SavedRun::begun);
    let site = Site::find((common, args.target.as_deref()), begun, (preset.size, preset.stop))?;
    let is_done = |test: &Test| {
        kept.as_ref().and_then(|kept| kept.result(&test.name)).is_some_and(TestResult::is_whole)
    };
    let writes = site.writes(common, &site.place.works(&preset, is_done))?;
    if let Some(file) = &args.emit_fio {
        return emit(file, &preset, &site, writes.as_ref());
    }
    let runner = site.begin(Command::Bench, writes)?;
    // A run that goes on needs the file as large as it was.
    let is_asked = site.size.1 || preset.stop != StopRule::Precision;
    let target = site.open(if is_asked { Filling::Whole } else { Filling::Quick }, &runner)?;
    let course = Course { site: &site, runner: &runner, target: &target, file: file.as_ref() };
    let context = Context::new(&site.scene.subject, preset.peer);
    let came = Bench { preset: &preset, course: &course, context }.all(kept);
    let (report, trouble) = course.end(came)?;
    drop(runner);
    let mut shown = common.output.clone();
    shown.shown.verbose = args.verbose;
    output::report(&report, &shown, bench::document)?;
    trouble.map_or_else(|| Ok(status(report.complete, report.has_doubts())), Err)
}

impl SavedRun for BenchReport {
    const SCHEMA: &'static str = bench::SCHEMA;

    fn begun(&self) -> Begun<'_> {
        let Settings { precision, max_time_ns, duration_ns, warm_up_ns, .. } = self.settings;
        Begun {
            schema: &self.schema,
            target: &self.target,
            precision,
            max_time: max_time_ns,
            fixed: duration_ns,
            warm_up: warm_up_ns,
            writes: self.writes.as_ref(),
        }
    }

    fn check(&self) -> Result<(), String> {
        let is_scan = |plan: &ScanPlan| (2..=10_000).contains(&plan.samples) && plan.sample_size.get() > 0;
        within("scan", self.settings.scan.as_ref().is_none_or(is_scan))
    }

    fn writes(&mut self) -> &mut Option<Account> {
        &mut self.writes
    }
}

/// The preset, with what was asked of it.
///
/// # Errors
/// There is none of that name, or it has nothing of what was asked.
fn chosen(args: &BenchArgs, kept: Option<&BenchReport>) -> Result<Preset, Failure> {
    let name = kept.map_or(args.preset.as_str(), |kept| kept.preset.name.as_str());
    let mut preset =
        preset::by_name(name).ok_or_else(|| Failure::new(format!("there is no preset `{name}`")))?;
    let mut asked = args.samples.is_some() || args.sample_size.is_some();
    for test in &mut preset.tests {
        if let Work::Scan(plan) = &mut test.work {
            *plan = kept.and_then(|kept| kept.settings.scan).unwrap_or(ScanPlan {
                samples: args.samples.unwrap_or(plan.samples),
                sample_size: args.sample_size.unwrap_or(plan.sample_size),
                ..*plan
            });
            asked = false;
        }
    }
    if asked {
        return Err(Failure::new(format!("the preset {name} takes no samples"))
            .hint("--samples and --sample-size belong to --preset disks"));
    }
    Ok(preset)
}

/// Writes the tests of a preset that can be run as a job file of fio. Nothing is run.
///
/// # Errors
/// The target cannot be opened, or the file cannot be written or is there already.
fn emit(file: &Path, preset: &Preset, site: &Site, writes: Option<&Writes>) -> Result<u8, Failure> {
    let region = site.place.planned(writes.map_or(preset.size, Writes::size));
    let target = site.place.job_target(region.map_err(|error| no_place(&error))?);
    if !job::can_carry(&target.path) {
        return Err(Failure::new(format!("fio's job files cannot name `{}`", target.path))
            .hint("name it by a link without control characters, `;`, `#`, `$` and backslashes"));
    }
    let time = JobTime { run: site.timing.longest(), warm_up: site.timing.warm_up };
    let is_run = |test: &&Test| site.place.obstacle_on(test, target.size, writes, &site.timing).is_none();
    let tests: Vec<Test> = preset.tests.iter().filter(is_run).cloned().collect();
    files::write_new(file, &job::file(preset.name, &tests, &target, time))?;
    let named = file.display().to_string();
    output::note(&format!("nothing was run; {named} has {} tests for fio", tests.len()));
    Ok(NOTHING_FOUND)
}

struct Bench<'a> {
    preset: &'a Preset,
    course: &'a Course<'a>,
    context: Context,
}

impl Bench<'_> {
    /// Runs every test that is not kept yet, and keeps the report after each. What ends that early is beside the report:
    /// a test that failed, or a report that cannot be kept.
    fn all(&self, kept: Option<BenchReport>) -> Result<(BenchReport, Option<Failure>), Failure> {
        let mut report = kept.unwrap_or_else(|| self.empty());
        // What ended early is run again.
        report.results.retain(TestResult::is_whole);
        let tests: Vec<&Test> = self.tests().collect();
        self.course.keep(&mut report)?;
        let mut trouble = None;
        let (all, runner) = (tests.len(), self.course.runner);
        for (index, test) in tests.into_iter().enumerate() {
            if report.result(&test.name).is_some() {
                continue;
            }
            if !self.course.goes_on() {
                break;
            }
            runner.progress.test(index, all, &test.name);
            let result = self.one(test);
            if result.cut_short.is_some() && runner.is_stopped() {
                // Half of a test is no result; a resumed run does it again.
                break;
            }
            let goes_on = result.is_whole() || self.may_write_too_little(&result);
            report.results.push(result);
            trouble = self.course.keep(&mut report).err();
            if !goes_on || trouble.is_some() {
                break;
            }
        }
        self.conclude(&mut report);
        let failed = report.failed().map(|(name, failed)| failure(name, failed));
        let unkept = self.course.keep(&mut report).err();
        Ok((report, failed.or(trouble).or(unkept)))
    }

    /// Whether a test was not begun since it may write too little, while others may.
    fn may_write_too_little(&self, result: &TestResult) -> bool {
        let is_not_begun = result.failed.is_none() && result.elapsed_ns.get() == 0;
        let runner = self.course.runner;
        is_not_begun && runner.writes().is_some() && !runner.is_over_budget()
    }

    /// Says whether the report is complete, and why not.
    fn conclude(&self, report: &mut BenchReport) {
        let is_done = |test: &&Test| report.result(&test.name).is_some_and(TestResult::is_whole);
        let rest = self.tests().filter(|test| !is_done(test)).count();
        report.complete = rest == 0;
        let failed = report.failed().map(|(name, failed)| format!("{name} failed: {}", failed.summary));
        let is_too_little = report.results.iter().any(|result| self.may_write_too_little(result));
        report.reason = self.course.reason(rest, failed, ["tests", "run", "tests"], is_too_little);
    }

    /// The tests that can be run on the target.
    fn tests(&self) -> impl Iterator<Item = &Test> {
        self.preset.tests.iter().filter(|test| self.obstacle(test).is_none())
    }

    /// Why a test cannot be run on the target, if it cannot.
    fn obstacle(&self, test: &Test) -> Option<String> {
        let Course { site, runner, target, .. } = self.course;
        site.place.obstacle_on(test, target.region().length, runner.writes(), &site.timing)
    }

    fn empty(&self) -> BenchReport {
        let site = self.course.site;
        let left_out = |test: &Test| Some(LeftOut { name: test.name.clone(), reason: self.obstacle(test)? });
        let left_out = self.preset.tests.iter().filter_map(left_out).collect();
        let settings = Settings { scan: self.preset.scan(), ..Settings::of(&site.timing) };
        let view = site.view(self.course.target);
        let ceilings = self.context.ceilings.clone();
        bench::report(&site.scene.machine, view, self.preset, settings, ceilings, left_out)
    }

    /// Runs one test. A failure is in the result.
    fn one(&self, test: &Test) -> TestResult {
        let Course { site, runner, target, .. } = self.course;
        let command = |run| {
            let on: JobTarget = site.place.job_target(target.region());
            job::command(test, &on, JobTime { run, warm_up: site.timing.warm_up })
        };
        let failed = |failure: Option<_>| failure.map(|failure| self.course.failed(&failure));
        let limit = site.timing.longest();
        let measured = match &test.work {
            Work::Scan(plan) => runner.scan(*plan, target, limit).map(|scan| {
                let failed = failed(scan.failure.clone());
                let about = bench::About { fio_command: command(limit), failed, ..Default::default() };
                bench::of_scan(&self.context, test, scan, about)
            }),
            Work::Load(load) => runner.load(&test.name, load, target, &site.timing).map(|outcome| {
                let (subject, verdict) = self.course.judge(&outcome);
                let LoadOutcome { measurement, ended, rounds, allowance, .. } = outcome;
                let fio_command = command(measurement.elapsed_ns.duration());
                let failed = failed(measurement.failure.clone());
                let about = bench::About { fio_command, ended, rounds, allowance, failed };
                bench::of_load(&self.context, test, load, &measurement, about, &subject, &verdict)
            }),
        };
        measured.unwrap_or_else(|error| {
            let is_failure = !runner.is_over_budget() && !matches!(error, LoadError::OverBudget(_));
            let failed = is_failure.then(|| self.course.not_begun(&error));
            bench::not_begun(test, &error.to_string(), failed, command(limit))
        })
    }
}
