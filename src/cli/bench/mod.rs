//! `narrows bench`: the tests of a well-known benchmark, each until its rate is known.
//!
//! The story: find the path, open what is tested, run the tests of the preset one after another, judge each and keep it,
//! show all.

pub mod args;
mod asked;
mod emit;
pub(super) mod failed;
mod fio;
mod fitting;
mod interleave;
pub(super) mod kept;
pub(super) mod place;
mod qualify;
pub(super) mod runner;
pub(super) mod save;

use std::path::Path as FilePath;
use std::time::{Duration, SystemTime};

use args::{BenchArgs, Common};
use fitting::{Fitting, too_large};
use narrows_session::measure::{Command, Timing};
use narrows_session::place::Place;
use narrows_session::runner::{Filling, Outcome};
use narrows_session::scene::Scene;
use narrows_session::trims::Discards;
use narrows_session::writes::{Wanted, Writes};
use runner::Runner;
use save::SaveFile;

use super::{Failure, NOTHING_FOUND, output, scene, status};
use narrows_base::units::Bytes;
use narrows_load::LoadError;
use narrows_load::latency_target::LatencyTarget;
use narrows_load::preset::job::{self, JobTarget, JobTime};
use narrows_load::preset::{self, LoadSpec, Preset, StopRule, Test, Work};
use narrows_load::target::Target as Opened;
use narrows_report::bench::hlog::Hlog;
use narrows_report::bench::{
    self, AllowanceView, AtTarget, BenchReport, Context, Engine, LeftOut, Settings, TargetKind, TargetView,
    TestResult, WritesView,
};
use narrows_report::text::Style;
use narrows_verdict as verdict;

/// What fio may write beside each test, as often as the test itself: it cannot be told to stop after so many bytes.
const WITH_FIO: u32 = 2;

/// Runs the tests and shows what came of them.
///
/// # Errors
/// [`Failure`] when the target does not exist or cannot be tested as asked.
pub(super) fn run(args: &BenchArgs) -> Result<u8, Failure> {
    if args.list {
        output::data(&bench::list(&preset::all(), &style(&args.common)))?;
        return Ok(NOTHING_FOUND);
    }
    let qualifies = args.preset == qualify::NAME;
    match &args.interleave {
        Some(_) if qualifies => {
            Err(Failure::new("a qualification takes one whole blank drive, and no turns")
                .hint("leave out --interleave, or choose another preset (--list shows them)"))
        }
        Some(other) => interleave::run(args, other),
        None if qualifies => qualify::run(args),
        None => run_tests(args),
    }
}

/// Runs the tests of a preset on one target.
fn run_tests(args: &BenchArgs) -> Result<u8, Failure> {
    let (file, kept) = asked::files(args)?;
    if let Some(path) = &args.hlog {
        save::refuse_existing(path)?;
    }
    let preset = asked::chosen(args, kept.as_ref())?;
    let typed = asked::typed(args, kept.as_ref())?;
    let node = kept.as_ref().map_or(args.common.cpu_node, |kept| kept.settings.cpu_node);
    let scene = scene::read(&typed, node)?;
    let read_only =
        args.common.read_only || kept.as_ref().is_some_and(|kept| kept.target.kind == TargetKind::File);
    let place = place::of(&scene.subject.path, &args.common, read_only)?;
    place::check_way(&place, &scene, &typed)?;
    let engine = kept.as_ref().map_or_else(|| args.engine.into(), |kept| kept.settings.engine);
    let poll = kept.as_ref().map_or(args.common.poll, |kept| kept.settings.poll);
    let batch = kept.as_ref().map_or(args.common.batch, |kept| kept.settings.batch);
    asked::check_place(engine, &place, kept.as_ref())?;
    let loads: Vec<_> = preset.loads().collect();
    let discards = Discards::of(&scene, &place, &loads)?;
    let timing = asked::timing(&args.common, preset.stop, kept.as_ref());
    let context = Context::new(&scene.subject, preset.peer);
    let fitting = Fitting { kind: TargetKind::from(&place), engine, discards };
    let works = fitting.works(&preset, kept.as_ref());
    let asked_size = kept.as_ref().map(|kept| kept.target.size_bytes).or(args.common.size);
    let is_device = matches!(place, Place::Owned { .. });
    let wanted = Wanted {
        kept: kept.as_ref().and_then(|kept| kept.writes.as_ref()).map(WritesView::before),
        size: (asked_size.unwrap_or(preset.size), asked_size.is_some()),
        works: &works,
        again: if engine == Engine::Fio { WITH_FIO } else { 0 },
        ceiling: context.ceilings.write.as_ref().map(|ceiling| ceiling.bytes_per_second),
        ..args.common.wanted(&scene, is_device, &timing)
    };
    let writes = place.filled().map(|what| Ok::<_, Failure>((Writes::of(&wanted)?, what))).transpose()?;
    if let Some((writes, what)) = writes.as_ref().filter(|_| args.emit_fio.is_none()) {
        output::note(&writes.announcement(what));
    }
    let writes = writes.map(|(writes, _)| writes);
    let size = writes.as_ref().map_or(preset.size, Writes::size);
    if let Some(file) = &args.emit_fio {
        return emit::job_file(
            file,
            &preset,
            &emit::Planned { place: &place, size, fitting, timing, writes },
        );
    }
    let runner = runner::begin(Command::Bench, &scene, node, writes)?.polling(poll);
    let runner = match engine {
        Engine::Passthrough => runner.through(&scene, &place)?,
        Engine::Narrows | Engine::Fio => runner,
    };
    let compressible = preset.loads().map(|load| load.compressible_percent).max().unwrap_or(0);
    // A run that goes on needs the file as large as it was.
    let is_asked = kept.is_some() || args.common.size.is_some() || preset.stop != StopRule::Precision;
    let filling = if is_asked { Filling::Whole } else { Filling::Quick };
    let target = place::open(&place, size, filling, compressible, &runner)?;
    let bench = Bench {
        engine,
        poll,
        batch,
        preset: &preset,
        scene: &scene,
        runner: &runner,
        place: &place,
        target: &target,
        fitting,
        timing,
        node,
        context,
        latency_target: args.common.latency_target.as_ref(),
    };
    let mut latencies = Hlog::new(SystemTime::now());
    let came = bench.all(typed, kept, file.as_ref(), &mut latencies);
    let (report, trouble) = bench.end(came, file.as_ref())?;
    let logged = args.hlog.as_ref().map_or(Ok(()), |path| write_latencies(path, &latencies));
    let trouble = trouble.or(logged.err());
    drop(runner);
    output::report(&report, &args.common.output, bench::document)?;
    trouble.map_or_else(|| Ok(status(report.complete, report.has_doubts())), Err)
}

/// Writes the log of latencies.
fn write_latencies(path: &FilePath, latencies: &Hlog) -> Result<(), Failure> {
    save::write_new(path, &latencies.text().map_err(Failure::new)?)
}

/// Why fio does not write to a device.
const NO_MARKS: &str = "left out: what fio writes bears no mark, so that nothing would tell it from data of others; a \
                        scratch file in a directory is written by both";

struct Bench<'a> {
    engine: Engine,
    poll: bool,
    batch: Option<u32>,
    preset: &'a Preset,
    scene: &'a Scene,
    runner: &'a Runner<'a>,
    place: &'a Place,
    target: &'a Opened,
    fitting: Fitting,
    timing: Timing,
    node: Option<u32>,
    context: Context,
    latency_target: Option<&'a LatencyTarget>,
}

impl Bench<'_> {
    /// Runs every test that is not kept yet, and keeps the report after each. What ends that early is beside the report:
    /// a test that failed, or a report that cannot be kept.
    fn all(
        &self,
        typed: String,
        kept: Option<BenchReport>,
        file: Option<&SaveFile>,
        latencies: &mut Hlog,
    ) -> Result<(BenchReport, Option<Failure>), Failure> {
        let mut report = kept.unwrap_or_else(|| self.empty(typed));
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
            let result = self.one(test, latencies);
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
        let failed = report.results.iter().find_map(|result| Some((&result.name, result.failed.as_ref()?)));
        let failed = failed.map(|(name, failed)| {
            Failure::new(format!("{name} failed: {} ({})", failed.summary, failed.detail)).hint(&failed.hint)
        });
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
        let failed = report.results.iter().find_map(|result| Some((&result.name, result.failed.as_ref()?)));
        let why = match failed {
            Some((name, failed)) => format!("{name} failed: {}", failed.summary),
            None => {
                let is_too_little = report.results.iter().any(|result| self.may_write_too_little(result));
                self.runner.why_over(self.target, "tests", is_too_little)
            }
        };
        report.reason = (rest > 0).then(|| format!("{why}; {rest} tests to go; {how}"));
    }

    fn keep(&self, file: Option<&SaveFile>, report: &mut BenchReport) -> Result<(), Failure> {
        report.writes =
            self.runner.writes().map(|writes| WritesView::of(&writes.account(self.runner.root())));
        file.map_or(Ok(()), |file| file.keep(report))
    }

    /// The tests that can be run on the target.
    fn tests(&self) -> impl Iterator<Item = &Test> {
        self.preset.tests.iter().filter(|test| self.obstacle(test).is_none())
    }

    /// Why a test cannot be run on the target, if it cannot.
    fn obstacle(&self, test: &Test) -> Option<String> {
        let rounds = || match (&test.work, self.runner.writes()) {
            (Work::Load(load), Some(writes)) => writes.obstacle(load, &self.timing),
            _ => None,
        };
        self.fitting.obstacle(test).or_else(|| too_large(test, self.target)).or_else(rounds)
    }

    fn empty(&self, typed: String) -> BenchReport {
        let kind = TargetKind::from(self.place);
        let left_out = |test: &Test| Some(LeftOut { name: test.name.clone(), reason: self.obstacle(test)? });
        let left_out = self.preset.tests.iter().filter_map(left_out).collect();
        let target = TargetView { name: typed, kind, size_bytes: self.target.region().length };
        let settings = Settings {
            scan: self.preset.scan(),
            cpu_node: self.node,
            poll: self.poll,
            batch: self.batch,
            engine: self.engine,
            ..Settings::of(&self.timing)
        };
        let ceilings = self.context.ceilings.clone();
        bench::report(&self.scene.machine, target, self.preset, settings, ceilings, left_out)
    }

    /// Runs one test. A failure is in the result.
    fn one(&self, test: &Test, latencies: &mut Hlog) -> TestResult {
        let command = |time| job::command(test, &self.job_target(), self.job_time(time));
        let context = &self.context;
        let measured = match &test.work {
            Work::Scan(plan) => {
                let limit = self.timing.longest();
                self.runner.scan(*plan, self.target, limit).map(|scan| {
                    let view = |failure| failed::view(failure, self.runner.root(), &self.scene.subject.path);
                    let failed = scan.failure.as_ref().map(view);
                    let about = bench::About { fio_command: command(limit), failed, ..Default::default() };
                    bench::of_scan(context, test, scan, about)
                })
            }
            Work::Load(load) => {
                self.runner.load(&test.name, load, self.target, &self.timing).map(|outcome| {
                    latencies.add(&test.name, &outcome.measurement, SystemTime::now());
                    let at_target = self.at_target(load, &outcome);
                    let command = command(outcome.measurement.elapsed_ns.duration());
                    let on = (self.scene, self.runner, context);
                    let result = judged(on, (test, load), outcome, command);
                    TestResult { at_target, ..result }
                })
            }
        };
        let mut result = measured.unwrap_or_else(|error| {
            let is_failure = !self.runner.is_over_budget() && !matches!(error, LoadError::OverBudget(_));
            let failed =
                is_failure.then(|| failed::of_error(&error, self.runner.root(), &self.scene.subject.path));
            bench::not_begun(test, &error.to_string(), failed, command(self.timing.longest()))
        });
        if self.engine == Engine::Fio && !self.runner.is_stopped() && result.is_whole() {
            result.fio = Some(self.with_fio(test, &result));
        }
        result
    }

    /// The highest rate of a load within the limit of latency that was asked for.
    fn at_target(&self, load: &LoadSpec, outcome: &Outcome) -> Option<AtTarget> {
        let target = self.latency_target.filter(|_| outcome.measurement.cut_short.is_none())?;
        let name = format!("{} {}", load.mark(), load.direction());
        let unknown = || AtTarget::unknown(target, &name);
        if load.changes() || load.buffered {
            let why = "only direct reads are tried at other rates here; --preset qualify also tries writes";
            let met = target.is_met(&outcome.measurement.latency) == Some(true);
            return Some(if met { unknown().met_by(&outcome.measurement) } else { unknown().because(why) });
        }
        let found = self.runner.aimed(target, load, self.target, &outcome.measurement, None);
        Some(match found {
            Ok(found) => AtTarget::found(target, &name, found),
            Err(error) => unknown().because(&error.to_string()),
        })
    }

    /// The same test through fio, on the very file or device that we have open. A scan's first run is its samples.
    fn with_fio(&self, test: &Test, ours: &TestResult) -> bench::FioResult {
        let target = JobTarget {
            path: self.target.reopen_path().display().to_string(),
            scratch: false,
            ..self.job_target()
        };
        let time = self.job_time(ours.elapsed_ns.duration().max(Duration::from_secs(1)));
        // fio cannot be told to stop after so many bytes of a run that is bound by time.
        let span = (time.run + time.warm_up).as_secs_f64();
        let rate = ours.write.as_ref().map_or(0.0, |write| write.bytes_per_second.get());
        let expected = Bytes::new((2.0 * rate * span) as u64);
        if test.writes() && self.target.is_marked() {
            return bench::FioResult { reason: Some(NO_MARKS.to_owned()), ..Default::default() };
        }
        let budget = self.runner.writes().map(Writes::budget).filter(|_| test.writes());
        if let Some(Err(over)) = budget.map(|budget| budget.announce(expected)) {
            return bench::FioResult { reason: Some(format!("left out: {over}")), ..Default::default() };
        }
        self.runner.progress.phase(&format!("fio: {}", test.name), time.run + time.warm_up);
        let Some(arguments) = job::arguments(test, &target, time).into_iter().next() else {
            return bench::FioResult { reason: Some(job::NO_MIX.to_owned()), ..Default::default() };
        };
        let result = fio::run(&self.scene.root, &arguments);
        if let (Some(budget), Some(write)) = (budget, &result.write) {
            let written = Bytes::new((write.bytes_per_second.get() * span) as u64);
            // Never more than is left, so nothing is refused.
            let _ = budget.take(written.min(budget.left()));
        }
        result
    }

    fn job_target(&self) -> JobTarget {
        self.place.job_target(self.target.region())
    }

    const fn job_time(&self, run: Duration) -> JobTime {
        JobTime { run, warm_up: self.timing.warm_up }
    }
}

/// The result of a load, judged by its own runs alone.
fn judged(
    (scene, runner, context): (&Scene, &Runner<'_>, &Context),
    (test, load): (&Test, &LoadSpec),
    outcome: Outcome,
    fio_command: String,
) -> TestResult {
    let subject = scene.subject.with_runs(runner.runs(&outcome));
    let verdict = verdict::judge(&scene.machine, std::slice::from_ref(&subject));
    let view = |failure| failed::view(failure, runner.root(), &scene.subject.path);
    let about = bench::About {
        fio_command,
        ended: outcome.ended,
        rounds: outcome.rounds,
        allowance: outcome.allowance.as_ref().map(AllowanceView::of),
        failed: outcome.measurement.failure.as_ref().map(view),
    };
    bench::of_load(context, test, load, &outcome.measurement, about, &subject, &verdict)
}

/// How text may look.
pub(super) fn style(common: &Common) -> Style {
    common.output.style()
}
