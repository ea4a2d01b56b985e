//! `narrows bench`: the tests of a well-known benchmark, each until its rate is known.
//!
//! The story: find the path, open what is tested, run the tests of the preset one after another, judge each and keep it,
//! show all.

pub mod args;
mod fio;
pub(super) mod place;
pub(super) mod runner;
pub(super) mod save;

use std::time::{Duration, SystemTime};

use args::{BenchArgs, Common, EngineName};
use place::{Filling, Place};
use runner::{Outcome, Runner, Scene, Timing};
use save::SaveFile;

use super::args::ColorWhen;
use super::{FAILED, FINDINGS, Failure, NOTHING_FOUND, output};
use crate::load::preset::job::{self, JobTarget, JobTime};
use crate::load::preset::{self, Preset, StopRule, Test, Work};
use crate::load::target::Target as Opened;
use crate::report::bench::hlog::Hlog;
use crate::report::bench::{
    self, BenchReport, Context, LeftOut, Settings, TargetKind, TargetView, TestResult,
};
use crate::report::text::{Colour, Style};
use crate::units::{Nanos, human};
use crate::verdict::{self, Subject};

/// Runs the tests and shows what came of them.
///
/// # Errors
/// [`Failure`] when the target does not exist or cannot be tested as asked.
pub(super) fn run(args: &BenchArgs) -> Result<u8, Failure> {
    if args.list {
        output::data(&bench::list(&preset::all(), &style(&args.common)))?;
        return Ok(NOTHING_FOUND);
    }
    let (file, kept) = files(args)?;
    if let Some(path) = &args.hlog {
        save::refuse_existing(path)?;
    }
    let preset = chosen(args, kept.as_ref())?;
    let typed = typed(args, kept.as_ref())?;
    let scene = Scene::read(&typed, args.common.cpu_node)?;
    let read_only =
        args.common.read_only || kept.as_ref().is_some_and(|kept| kept.target.kind == TargetKind::File);
    let place = Place::of(&scene.subject.path, read_only)?;
    let runner = Runner::new(&scene, &args.common)?;
    let size = kept.as_ref().map_or(args.common.size.unwrap_or(preset.size), |kept| kept.target.size_bytes);
    // A run that goes on needs the file as large as it was.
    let is_asked = kept.is_some() || args.common.size.is_some() || preset.stop != StopRule::Precision;
    let filling = if is_asked { Filling::Whole } else { Filling::Quick };
    let target = place.open(size, filling, &runner)?;
    let timing = timing(&args.common, preset.stop, kept.as_ref());
    let bench = Bench {
        args,
        preset: &preset,
        scene: &scene,
        runner: &runner,
        place: &place,
        target: &target,
        timing,
    };
    let mut latencies = Hlog::new(SystemTime::now());
    let report = bench.all(typed, kept, file.as_ref(), &mut latencies)?;
    if let Some(path) = &args.hlog {
        save::write_new(path, &latencies.text().map_err(Failure::new)?)?;
    }
    drop(runner);
    let text = if args.common.json { json(&report)? } else { bench::render(&report, &style(&args.common)) };
    output::data(&text)?;
    Ok(match (report.complete, report.has_doubts()) {
        (false, _) => FAILED,
        (true, true) => FINDINGS,
        (true, false) => NOTHING_FOUND,
    })
}

/// Where results are kept, and what is there already.
fn files(args: &BenchArgs) -> Result<(Option<SaveFile>, Option<BenchReport>), Failure> {
    match (&args.save, &args.resume) {
        (Some(path), _) => Ok((Some(SaveFile::create(path)?), None)),
        (None, Some(path)) => {
            let (file, kept): (_, BenchReport) = SaveFile::load(path)?;
            if kept.schema != bench::SCHEMA {
                return Err(Failure::new(format!("`{}` is of the schema {}", path.display(), kept.schema)));
            }
            Ok((Some(file), Some(kept)))
        }
        (None, None) => Ok((None, None)),
    }
}

/// The preset, with what was asked of it.
fn chosen(args: &BenchArgs, kept: Option<&BenchReport>) -> Result<Preset, Failure> {
    let name = kept.map_or(args.preset.as_str(), |kept| kept.preset.name.as_str());
    let mut preset =
        preset::by_name(name).ok_or_else(|| Failure::new(format!("there is no preset `{name}`")))?;
    let mut asked = args.samples.is_some() || args.sample_size.is_some();
    for test in &mut preset.tests {
        if let Work::Scan(plan) = &mut test.work {
            plan.samples = args.samples.unwrap_or(plan.samples);
            plan.sample_size = args.sample_size.unwrap_or(plan.sample_size);
            asked = false;
        }
    }
    if asked {
        return Err(Failure::new(format!("the preset {name} takes no samples"))
            .hint("--samples and --sample-size belong to --preset disks"));
    }
    Ok(preset)
}

fn typed(args: &BenchArgs, kept: Option<&BenchReport>) -> Result<String, Failure> {
    match (&args.target, kept) {
        (Some(typed), Some(kept)) if *typed != kept.target.name => {
            Err(Failure::new(format!("the saved run is of `{}`, not of `{typed}`", kept.target.name))
                .hint("leave out TARGET to go on with the saved run"))
        }
        (Some(typed), _) => Ok(typed.clone()),
        (None, Some(kept)) => Ok(kept.target.name.clone()),
        (None, None) => Err(Failure::new("name a target").hint("a directory, a mount point or a device")),
    }
}

fn timing(common: &Common, stop: StopRule, kept: Option<&BenchReport>) -> Timing {
    let timing = Timing {
        stop,
        precision: common.precision,
        max_time: common.max_time,
        fixed: common.duration,
        warm_up: common.warm_up,
    };
    match kept.map(|kept| &kept.settings) {
        None => timing,
        Some(kept) => Timing {
            precision: kept.precision,
            max_time: kept.max_time_ns.duration(),
            fixed: kept.duration_ns.map(Nanos::duration),
            warm_up: kept.warm_up_ns.duration(),
            ..timing
        },
    }
}

struct Bench<'a> {
    args: &'a BenchArgs,
    preset: &'a Preset,
    scene: &'a Scene,
    runner: &'a Runner<'a>,
    place: &'a Place,
    target: &'a Opened,
    timing: Timing,
}

impl Bench<'_> {
    /// Runs every test that is not kept yet, and keeps the report after each.
    fn all(
        &self,
        typed: String,
        kept: Option<BenchReport>,
        file: Option<&SaveFile>,
        latencies: &mut Hlog,
    ) -> Result<BenchReport, Failure> {
        let context = Context::new(&self.scene.subject, self.preset.peer);
        let mut report = kept.unwrap_or_else(|| self.empty(typed, &context));
        let tests: Vec<&Test> = self.tests().collect();
        if let Some(path) = &self.args.emit_fio {
            let tests: Vec<Test> = tests.iter().map(|test| (*test).clone()).collect();
            let text =
                job::file(self.preset.name, &tests, &self.job_target(), self.job_time(self.timing.longest()));
            save::write_new(path, &text)?;
        }
        self.keep(file, &report)?;
        let all = tests.len();
        for (index, test) in tests.into_iter().enumerate() {
            if report.result(&test.name).is_some() {
                continue;
            }
            if self.runner.is_stopped() {
                break;
            }
            let label = format!("{}/{all} {}", index + 1, test.name);
            let result = self.one(test, &label, &context, latencies)?;
            if result.cut_short.as_deref().is_some_and(|_| self.runner.is_stopped()) {
                // Half of a test is no result; a resumed run does it again.
                break;
            }
            report.results.push(result);
            self.keep(file, &report)?;
        }
        report.complete = self.tests().all(|test| report.result(&test.name).is_some());
        report.reason = (!report.complete).then(|| {
            let rest = self.tests().count() - report.results.len();
            let how =
                if file.is_some() { "--resume goes on" } else { "with --save FILE a run can be resumed" };
            format!("interrupted with {rest} tests to go; {how}")
        });
        self.keep(file, &report)?;
        Ok(report)
    }

    fn keep(&self, file: Option<&SaveFile>, report: &BenchReport) -> Result<(), Failure> {
        file.map_or(Ok(()), |file| file.keep(report))
    }

    /// The tests that can be run on the target.
    fn tests(&self) -> impl Iterator<Item = &Test> {
        self.preset.tests.iter().filter(|test| self.obstacle(test).is_none())
    }

    /// Why a test cannot be run on the target, if it cannot.
    fn obstacle(&self, test: &Test) -> Option<String> {
        match self.place.kind() {
            TargetKind::Device if test.writes() => return Some("a device is only ever read".to_owned()),
            TargetKind::File if test.writes() => return Some("the file is only read".to_owned()),
            _ => {}
        }
        let (needed, size) = (test.least_size(), self.target.size());
        (needed > size).then(|| {
            let (needed, size) = (human::block_size(needed), human::block_size(size));
            format!("it needs {needed}, and the target has {size}")
        })
    }

    fn empty(&self, typed: String, context: &Context) -> BenchReport {
        let kind = self.place.kind();
        let left_out = |test: &Test| Some(LeftOut { name: test.name.clone(), reason: self.obstacle(test)? });
        let left_out = self.preset.tests.iter().filter_map(left_out).collect();
        let target = TargetView { name: typed, kind, size_bytes: self.target.size() };
        let settings = Settings {
            stop: self.timing.stop,
            precision: self.timing.precision,
            max_time_ns: self.timing.max_time.into(),
            duration_ns: self.timing.fixed.map(Nanos::from),
            warm_up_ns: self.timing.warm_up.into(),
            reason: self.timing.fixed.is_none().then(|| "duration_ns: tests stop by their rule".to_owned()),
        };
        let ceilings = context.ceilings.clone();
        bench::report(&self.scene.machine, target, self.preset, settings, ceilings, left_out)
    }

    fn one(
        &self,
        test: &Test,
        label: &str,
        context: &Context,
        latencies: &mut Hlog,
    ) -> Result<TestResult, Failure> {
        let command = |time| job::command(test, &self.job_target(), self.job_time(time));
        let mut result = match &test.work {
            Work::Scan(plan) => {
                let limit = self.timing.longest();
                let scan = self.runner.scan(*plan, self.target, limit)?;
                bench::of_scan(context, test, scan, command(limit))
            }
            Work::Load(load) => {
                let outcome = self.runner.load(label, load, self.target, &self.timing)?;
                latencies.add(&test.name, &outcome.measurement, SystemTime::now());
                let subject = self.subject(&outcome);
                let verdict = verdict::judge(&self.scene.machine, std::slice::from_ref(&subject));
                let about = bench::About {
                    fio_command: command(outcome.measurement.elapsed_ns.duration()),
                    ended: outcome.ended,
                    rounds: outcome.rounds,
                };
                bench::of_load(context, test, load, &outcome.measurement, about, &subject, &verdict)
            }
        };
        if self.args.engine == EngineName::Fio && !self.runner.is_stopped() {
            result.fio = Some(self.with_fio(test, result.elapsed_ns.duration()));
        }
        Ok(result)
    }

    /// The path with the runs of one test.
    fn subject(&self, outcome: &Outcome) -> Subject {
        Subject { runs: self.runner.runs(outcome), ..self.scene.subject.clone() }
    }

    /// The same test through fio, on the very file or device that we have open. A scan's first run is its samples.
    fn with_fio(&self, test: &Test, time: Duration) -> bench::FioResult {
        let target = JobTarget {
            path: self.target.reopen_path().display().to_string(),
            size: self.target.size(),
            scratch: false,
        };
        let time = self.job_time(time.max(Duration::from_secs(1)));
        self.runner.progress.phase(&format!("fio: {}", test.name), time.run + time.warm_up);
        job::arguments(test, &target, time).first().map(|arguments| fio::run(arguments)).unwrap_or_default()
    }

    fn job_target(&self) -> JobTarget {
        self.place.job_target(self.target.size())
    }

    const fn job_time(&self, run: Duration) -> JobTime {
        JobTime { run, warm_up: self.timing.warm_up }
    }
}

/// A report as JSON.
pub(super) fn json<T: serde::Serialize>(report: &T) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(report)
        .map_err(|error| Failure::new(format!("cannot write the report as JSON: {error}")))?;
    Ok(text + "\n")
}

/// How text may look.
pub(super) fn style(common: &Common) -> Style {
    let colour = match common.color {
        ColorWhen::Auto => Colour::Auto,
        ColorWhen::Always => Colour::Always,
        ColorWhen::Never => Colour::Never,
    };
    Style::detect(colour, common.plain)
}
