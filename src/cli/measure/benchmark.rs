//! `narrows measure --as kdiskmark`, `sweep` and the like: a list of tests, each until its rate is known.
//!
//! The story: find the path, open what is tested, run the tests, judge each and keep it, show all.

use std::path::Path;
use std::time::Duration;

use super::site::{Runner, Site, no_place};
use super::{How, MeasureArgs, loads};
use crate::cli::files::SaveFile;
use crate::cli::guard::Watching;
use crate::cli::values::LONGEST;
use crate::cli::{Failure, NOTHING_FOUND, files, output, status};
use narrows_base::units::Nanos;
use narrows_load::LoadError;
use narrows_load::measurement::RunFailure;
use narrows_load::preset::job::{self, JobTarget, JobTime};
use narrows_load::preset::{Preset, StopRule, Test, Work};
use narrows_load::scan::ScanPlan;
use narrows_load::target::Target;
use narrows_runs::measure::sweep::{curves, odd};
use narrows_runs::measure::{self, Context, FailedView, LeftOut, MeasureReport, Settings, TestResult};
use narrows_session::Teller;
use narrows_session::measure::Command;
use narrows_session::runner::{self, Filling, LoadOutcome};
use narrows_session::writes::Writes;
use narrows_verdict::{self as verdict, Subject, Verdict};

/// Runs the tests and shows what came of them.
///
/// # Errors
/// [`Failure`] when the target does not exist or cannot be tested as asked.
pub(super) fn run(args: &MeasureArgs) -> Result<u8, Failure> {
    let (file, kept) = kept(args)?;
    let preset = match &kept {
        Some(kept) => begun(kept)?,
        None => chosen(args)?,
    };
    let site = Site::find(args, kept.as_ref(), (preset.size, preset.stop))?;
    let is_done = |test: &Test| {
        kept.as_ref().and_then(|kept| kept.result(&test.name)).is_some_and(TestResult::is_whole)
    };
    let writes = site.writes(args, &site.place.works(&preset, is_done))?;
    if let Some(file) = &args.emit_fio {
        return emit(file, &preset, &site, writes.as_ref());
    }
    let runner = site.begin(Command::Tests, writes)?;
    // A run that goes on needs the file as large as it was.
    let is_asked = site.size.1 || preset.stop != StopRule::Precision;
    let target = site.open(if is_asked { Filling::Whole } else { Filling::Quick }, &runner)?;
    let context = Context::new(&site.scene.subject, preset.peer);
    let tests = Tests {
        preset: &preset,
        site: &site,
        runner: &runner,
        target: &target,
        file: file.as_ref(),
        context,
    };
    let (report, trouble) = tests.end(tests.all(kept))?;
    drop(runner);
    output::report(&report, &args.shown(), measure::document)?;
    if let Some(why) = trouble {
        return Err(why);
    }
    Ok(args.rules.status(status(report.complete, report.has_doubts()), || report.known()))
}

/// The file in which results are kept, and what is there already of a run that goes on.
///
/// # Errors
/// The file cannot be made or read, holds something else, or asks for what could not have been typed.
fn kept(args: &MeasureArgs) -> Result<(Option<SaveFile>, Option<MeasureReport>), Failure> {
    if let Some(path) = &args.save {
        return Ok((Some(SaveFile::create(path)?), None));
    }
    let Some(path) = &args.resume else { return Ok((None, None)) };
    let (file, kept): (_, MeasureReport) = SaveFile::load(path)?;
    if kept.schema != measure::SCHEMA {
        return Err(Failure::new(format!("`{}` is of the schema {}", path.display(), kept.schema)));
    }
    could_be_typed(&kept).map_err(|what| {
        let name = path.display();
        Failure::new(format!(
            "`{name}` was changed since it was saved: its {what} is none that can be asked for"
        ))
        .hint("run it anew, with --save FILE")
    })?;
    Ok((Some(file), Some(kept)))
}

/// Whether a saved run asks for what could have been typed. The file may have been changed by anybody.
///
/// # Errors
/// The first setting that could not.
fn could_be_typed(kept: &MeasureReport) -> Result<(), &'static str> {
    let Settings { precision, max_time_ns, duration_ns, warm_up_ns, scan, .. } = &kept.settings;
    let is_time = |time: Nanos| time.duration() <= LONGEST;
    let is_span = |time: Nanos| time.duration() > Duration::ZERO && is_time(time);
    let is_scan = |plan: &ScanPlan| (2..=10_000).contains(&plan.samples) && plan.sample_size.get() > 0;
    let settings = [
        ("precision", (0.001..=0.5).contains(precision)),
        ("longest time of a test", is_span(*max_time_ns)),
        ("time of a test", duration_ns.is_none_or(is_span)),
        ("warm-up", is_time(*warm_up_ns)),
        ("scan", scan.as_ref().is_none_or(is_scan)),
        ("list of loads", loads::could_be_typed(&kept.swept)),
    ];
    settings.iter().find(|(_, is_fine)| !is_fine).map_or(Ok(()), |(what, _)| Err(what))
}

/// The tests of a saved run.
///
/// # Errors
/// There is no benchmark of its name.
fn begun(kept: &MeasureReport) -> Result<Preset, Failure> {
    let name = &kept.preset.name;
    match super::how(name).map_err(|why| Failure::new(format!("the saved run is of `{name}`: {why}")))? {
        how @ (How::Sweep | How::Threads) => Ok(Preset::sweep(how.name(), kept.swept.clone())),
        how => Ok(sampled(MeasureArgs { how, ..MeasureArgs::default() }.preset()?, |plan| {
            kept.settings.scan.unwrap_or(plan)
        })),
    }
}

/// The tests that were asked for.
///
/// # Errors
/// There is no benchmark of that name.
fn chosen(args: &MeasureArgs) -> Result<Preset, Failure> {
    let asked = |plan: ScanPlan| ScanPlan {
        sample_size: args.grid.block_size.first().copied().unwrap_or(plan.sample_size),
        ..plan
    };
    Ok(sampled(args.preset()?, asked))
}

/// A preset with other samples.
fn sampled(mut preset: Preset, change: impl Fn(ScanPlan) -> ScanPlan) -> Preset {
    for test in &mut preset.tests {
        if let Work::Scan(plan) = &mut test.work {
            *plan = change(*plan);
        }
    }
    preset
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

/// A run of tests on an opened target.
struct Tests<'a> {
    preset: &'a Preset,
    site: &'a Site,
    runner: &'a Runner<'a>,
    target: &'a Target,
    file: Option<&'a SaveFile>,
    context: Context,
}

impl Tests<'_> {
    /// Runs every test that is not kept yet, and keeps the report after each. What ends that early is beside the report:
    /// a test that failed, or a report that cannot be kept.
    fn all(&self, kept: Option<MeasureReport>) -> Result<(MeasureReport, Option<Failure>), Failure> {
        let mut report = match kept {
            Some(kept) => kept,
            None => self.empty()?,
        };
        // What ended early is run again.
        report.results.retain(TestResult::is_whole);
        let tests: Vec<&Test> = self.tests().collect();
        self.keep(&mut report)?;
        let mut trouble = None;
        for (index, test) in tests.iter().enumerate() {
            if report.result(&test.name).is_some() {
                continue;
            }
            if !self.goes_on() {
                break;
            }
            self.runner.progress.test(index, tests.len(), &test.name);
            let result = self.one(test);
            if result.cut_short.is_some() && self.runner.is_stopped() {
                // Half of a test is no result; a resumed run does it again.
                break;
            }
            let goes_on = result.is_whole() || self.may_write_too_little(&result);
            report.results.push(result);
            trouble = self.keep(&mut report).err();
            if !goes_on || trouble.is_some() {
                break;
            }
        }
        if trouble.is_none() && !report.swept.is_empty() {
            self.again(&mut report, &tests);
        }
        self.conclude(&mut report);
        let failed = report.failed().map(|(name, failed)| {
            Failure::new(format!("{name} failed: {} ({})", failed.summary, failed.failure.detail))
                .hint(&failed.hint)
        });
        let unkept = self.keep(&mut report).err();
        Ok((report, failed.or(trouble).or(unkept)))
    }

    /// Measures the points of a sweep that do not fit between their neighbours once more: what fits then was chance.
    fn again(&self, report: &mut MeasureReport, tests: &[&Test]) {
        for name in odd(&report.results) {
            let test = tests.iter().find(|test| test.name == name);
            let Some(test) = test.filter(|_| self.goes_on() && !self.runner.is_over_budget()) else { break };
            self.runner.progress.test(tests.len(), tests.len(), &format!("{name}, once more"));
            let result = self.one(test);
            let earlier = report.results.iter_mut().find(|result| result.name == name);
            if let Some(earlier) = earlier.filter(|_| result.is_whole()) {
                let first = earlier.rate();
                *earlier = TestResult { first, ..result };
            }
        }
        report.curves = curves(&report.points());
    }

    /// Whether nobody wants to stop, and nobody else writes. Nothing is in flight then, so that a single sector of others is seen.
    fn goes_on(&self) -> bool {
        !self.runner.is_stopped() && self.target.is_alone()
    }

    /// Whether a test was not begun since it may write too little, while others may.
    fn may_write_too_little(&self, result: &TestResult) -> bool {
        let is_not_begun = result.failed.is_none() && result.elapsed_ns.get() == 0;
        is_not_begun && self.runner.writes().is_some() && !self.runner.is_over_budget()
    }

    /// Says whether the report is complete, and why not.
    fn conclude(&self, report: &mut MeasureReport) {
        let is_done = |test: &&Test| report.result(&test.name).is_some_and(TestResult::is_whole);
        let rest = self.tests().filter(|test| !is_done(test)).count();
        report.complete = rest == 0;
        let failed = report.failed().map(|(name, failed)| format!("{name} failed: {}", failed.summary));
        let is_too_little = report.results.iter().any(|result| self.may_write_too_little(result));
        let why = failed.unwrap_or_else(|| self.runner.why_over(self.target, "tests", is_too_little));
        let how = match self.file {
            Some(_) => "--resume goes on",
            None => "with --save FILE a run can be resumed",
        };
        report.reason = (rest > 0).then(|| format!("{why}; {rest} tests to go; {how}"));
    }

    /// The tests that can be run on the target.
    fn tests(&self) -> impl Iterator<Item = &Test> {
        self.preset.tests.iter().filter(|test| self.obstacle(test).is_none())
    }

    /// Why a test cannot be run on the target, if it cannot.
    fn obstacle(&self, test: &Test) -> Option<String> {
        let (place, size) = (&self.site.place, self.target.region().length);
        place.obstacle_on(test, size, self.runner.writes(), &self.site.timing)
    }

    /// The report without results.
    ///
    /// # Errors
    /// No test can be run.
    fn empty(&self) -> Result<MeasureReport, Failure> {
        let left_out = |test: &Test| Some(LeftOut { name: test.name.clone(), reason: self.obstacle(test)? });
        let left_out: Vec<LeftOut> = self.preset.tests.iter().filter_map(left_out).collect();
        if let Some(first) = left_out.first().filter(|_| left_out.len() == self.preset.tests.len()) {
            return Err(Failure::new(format!(
                "no test can be run on `{}`: {}",
                self.site.typed, first.reason
            ))
            .hint("name a directory: it is tested in a scratch file; or --size for a larger one"));
        }
        let settings = Settings { scan: self.preset.scan(), ..Settings::of(&self.site.timing) };
        let view = self.site.view(self.target);
        let ceilings = self.context.ceilings.clone();
        Ok(measure::report(&self.site.scene.machine, view, self.preset, settings, ceilings, left_out))
    }

    /// Runs one test. A failure is in the result.
    fn one(&self, test: &Test) -> TestResult {
        let Self { site, runner, target, .. } = self;
        let command = |run| {
            let on: JobTarget = site.place.job_target(target.region());
            job::command(test, &on, JobTime { run, warm_up: site.timing.warm_up })
        };
        let failed = |failure: Option<_>| failure.map(|failure| self.failed(&failure));
        let begun = |fio_command, failed| {
            let name = test.name.clone();
            TestResult { name, fio_command, failed, ..TestResult::default() }
        };
        let limit = site.timing.longest();
        let measured = match &test.work {
            Work::Scan(plan) => runner.scan(*plan, target, limit).map(|scan| {
                let begun = begun(command(limit), failed(scan.failure.clone()));
                measure::of_scan(&self.context, scan, begun)
            }),
            Work::Load(load) => runner.load(&test.name, load, target, &site.timing).map(|outcome| {
                let (subject, verdict) = self.judge(&outcome);
                let LoadOutcome { measurement, ended, rounds, allowance, .. } = outcome;
                let fio_command = command(measurement.elapsed_ns.duration());
                let begun = begun(fio_command, failed(measurement.failure.clone()));
                let begun = TestResult { ended, rounds, allowance, ..begun };
                measure::of_load(&self.context, load, &measurement, begun, &subject, &verdict)
            }),
        };
        measured.unwrap_or_else(|error| {
            let is_failure = !runner.is_over_budget() && !matches!(error, LoadError::OverBudget(_));
            let failed = is_failure.then(|| self.not_begun(&error));
            measure::not_begun(test, error.to_string(), begun(command(limit), failed))
        })
    }

    /// A load judged by its own runs alone.
    fn judge(&self, outcome: &LoadOutcome) -> (Subject, Verdict) {
        let scene = &self.site.scene;
        let subject = scene.subject.with_runs(self.runner.runs(outcome));
        let verdict = verdict::judge(&scene.machine, std::slice::from_ref(&subject));
        (subject, verdict)
    }

    /// A failure of the engine as the report shows it: with what the machine knows of it now.
    fn failed(&self, failure: &RunFailure) -> FailedView {
        let path = &self.site.scene.subject.path;
        FailedView::new(&runner::with_what_is_gone(failure, self.runner.root, path))
    }

    /// A load that could not be begun, with what its error advises.
    fn not_begun(&self, error: &LoadError) -> FailedView {
        let path = &self.site.scene.subject.path;
        let (failed, hint) = runner::of_error(error, self.runner.root, path);
        let view = FailedView::new(&failed);
        FailedView { hint: hint.map_or(view.hint, str::to_owned), ..view }
    }

    /// Keeps the report, with what was written until now.
    ///
    /// # Errors
    /// It cannot be written.
    fn keep(&self, report: &mut MeasureReport) -> Result<(), Failure> {
        report.writes = self.runner.writes().map(|writes| writes.account(self.runner.root));
        self.file.map_or(Ok(()), |file| file.keep(report))
    }

    /// Makes what was written of a device zero again, whatever came of the tests, and keeps the report. Beside it is what ended
    /// the tests early.
    ///
    /// # Errors
    /// Nothing could be tested.
    fn end(
        &self,
        came: Result<(MeasureReport, Option<Failure>), Failure>,
    ) -> Result<(MeasureReport, Option<Failure>), Failure> {
        let path = self.target.path().display().to_string();
        let mut watching = Watching::new(&path, None);
        let told = &mut |size, step| {
            // Clearing goes on, whatever comes.
            let _ = watching.step(size, step);
        };
        let uncleared = self.runner.clear(self.target, told).err();
        // Of two failures the first ends the program, and the other is said before.
        let beside = |failure| {
            uncleared.iter().for_each(output::failure);
            failure
        };
        let (mut report, trouble) = came.map_err(beside)?;
        let trouble = trouble.map(beside).or_else(|| uncleared.clone());
        let unkept = self.keep(&mut report).err();
        Ok((report, trouble.or(unkept)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_base::units::Bytes;
    use narrows_load::preset;
    use narrows_machine::Machine;
    use narrows_runs::measure::{PathCeilings, TargetKind, TargetView};

    #[test]
    fn a_saved_run_is_one_that_could_be_typed() {
        let target =
            TargetView { name: "/srv".to_owned(), kind: TargetKind::Scratch, size_bytes: Bytes::from_mib(1) };
        let settings = Settings::of(&MeasureArgs::default().timing(StopRule::Precision));
        let preset = preset::by_name("kdiskmark").unwrap();
        let fine = measure::report(
            &Machine::default(),
            target,
            &preset,
            settings.clone(),
            PathCeilings::default(),
            Vec::new(),
        );
        assert_eq!(could_be_typed(&fine), Ok(()));
        let with = |settings| MeasureReport { settings, ..fine.clone() };
        for precision in [f64::NAN, 0.0, -1.0, 2.0] {
            assert!(could_be_typed(&with(Settings { precision, ..settings.clone() })).is_err());
        }
        let most = Nanos::new(u64::MAX);
        for wrong in [
            Settings { max_time_ns: Nanos::new(0), ..settings.clone() },
            Settings { duration_ns: Some(most), ..settings.clone() },
            Settings { warm_up_ns: most, ..settings.clone() },
        ] {
            assert!(could_be_typed(&with(wrong)).is_err());
        }
    }
}
