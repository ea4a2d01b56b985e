//! `narrows sweep`: how rate and latency depend on block size, queue depth, mix and number of streams.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::bench::args::Common;
use super::bench::course::{self, Begun, Course, SavedRun, Site, failure, within};
use super::values::{or, reads, size};
use super::{Failure, output, status};
use narrows_base::units::peers::Peer;
use narrows_base::units::{Bytes, human};
use narrows_load::LoadError;
use narrows_load::measurement::Pattern;
use narrows_load::preset::{LoadSpec, Parallel, StopRule, Work};
use narrows_report::bench::Context;
use narrows_report::bench::sweep::{FailedPoint, SCHEMA, SweepPoint, SweepReport, curves, document};
use narrows_session::Teller;
use narrows_session::measure::Command;
use narrows_session::runner::Filling;
use narrows_session::writes::Account;

/// The size of the scratch file, unless another is asked for.
const SIZE: Bytes = Bytes::from_mib(1024);
/// What each stream reads at once, unless another size is asked for.
const RECORD: Bytes = Bytes::from_kib(128);
/// The most of anything in a load that can be typed: the streams of --threads.
const MOST: u32 = 65_536;
/// No grid of block sizes, depths and mixes that anybody has the time for is larger.
const TESTS: usize = 100_000;

/// What `sweep` is asked.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct SweepArgs {
    /// A directory, mount point or file (tested in a scratch file there), or a device (only read, unless --write)
    #[arg(required_unless_present = "resume")]
    pub target: Option<String>,

    /// Block sizes [default: 4KiB,16KiB,64KiB,256KiB,1MiB; with --threads 128KiB]
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = size)]
    pub block_sizes: Vec<Bytes>,

    /// Queue depths
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', default_value = "1,2,4,8,16,32,64",
          value_parser = clap::value_parser!(u32).range(1..=4096), conflicts_with = "threads")]
    pub depths: Vec<u32>,

    /// How many of 100 I/Os read; the others write
    #[arg(long, value_name = "READS", value_delimiter = ',', default_value = "100", value_parser = reads)]
    pub mix: Vec<u8>,

    /// The order of addresses [default: random; with --threads sequential]
    #[arg(long, value_name = "ORDER", value_enum)]
    pub order: Option<Order>,

    /// Sweep the number of streams instead: 1, 2, 4 … up to so many, each in its own part of the target
    #[arg(long, value_name = "MOST", num_args = 0..=1, require_equals = true, default_missing_value = "1024",
          value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub threads: Option<u32>,

    /// Options of target, time and output.
    #[command(flatten)]
    pub common: Common,

    /// Keep the results so far in FILE (JSON), after every point
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub save: Option<PathBuf>,

    /// Go on with the sweep that FILE keeps
    #[arg(long, value_name = "FILE", conflicts_with_all = ["size", "threads", "block_sizes", "depths", "mix", "order", "duration"])]
    pub resume: Option<PathBuf>,
}

/// The order of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// At random
    Random,
    /// One after another
    Sequential,
}

impl From<Order> for Pattern {
    fn from(order: Order) -> Self {
        match order {
            Order::Random => Self::Random,
            Order::Sequential => Self::Sequential,
        }
    }
}

/// Runs every load of the sweep and shows what came of it.
///
/// # Errors
/// [`Failure`] when the target does not exist or cannot be tested as asked.
pub(super) fn run(args: &SweepArgs) -> Result<u8, Failure> {
    let common = &args.common;
    let (file, kept) = course::kept::<SweepReport>(args.save.as_deref(), args.resume.as_deref())?;
    let begun = kept.as_ref().map(SavedRun::begun);
    let site = Site::find((common, args.target.as_deref()), begun, (SIZE, StopRule::Precision))?;
    let missing = kept.as_ref().map_or_else(|| loads(args), SweepReport::missing);
    let works: Vec<Work> = missing.into_iter().map(Work::Load).collect();
    let runner = site.begin(Command::Sweep, site.writes(common, &works)?)?;
    let target = site.open(Filling::Whole, &runner)?;
    let course = Course { site: &site, runner: &runner, target: &target, file: file.as_ref() };
    let begun = match kept {
        Some(kept) => Ok(SweepReport { failed: None, ..kept }),
        None => empty(loads(args), &course),
    };
    let (report, trouble) = course.end(begun.and_then(|report| points(&course, report)))?;
    drop(runner);
    output::report(&report, &common.output, document)?;
    trouble.map_or_else(|| Ok(status(report.complete, report.has_doubts())), Err)
}

impl SavedRun for SweepReport {
    const SCHEMA: &'static str = SCHEMA;

    fn begun(&self) -> Begun<'_> {
        Begun {
            schema: &self.schema,
            target: &self.target,
            precision: self.precision,
            max_time: self.max_time_ns,
            fixed: self.duration_ns,
            warm_up: self.warm_up_ns,
            writes: self.writes.as_ref(),
        }
    }

    fn check(&self) -> Result<(), String> {
        within("number of tests", self.asked.len() <= TESTS)?;
        within("load", self.asked.iter().all(is_load))
    }

    fn writes(&mut self) -> &mut Option<Account> {
        &mut self.writes
    }
}

/// Whether a load could have been typed.
fn is_load(load: &LoadSpec) -> bool {
    let counts = [load.queue_depth, load.parallel.count()];
    load.block_size.get() > 0
        && load.write_percent <= 100
        && counts.iter().all(|count| (1..=MOST).contains(count))
}

/// A report of these loads without points.
fn empty(loads: Vec<LoadSpec>, course: &Course<'_>) -> Result<SweepReport, Failure> {
    let site = course.site;
    if site.place.filled().is_none() && loads.iter().any(LoadSpec::writes) {
        return Err(Failure::new(format!("`{}` is only ever read", site.typed)).hint(
            "name a directory: it is tested in a scratch file; or a blank device with --write --i-own SERIAL",
        ));
    }
    let room = course.target.region().length;
    if let Some(load) = loads.iter().find(|load| load.in_flight() > room) {
        let (needed, size) = (human::block_size(load.in_flight()), human::block_size(room));
        return Err(Failure::new(format!("{} needs {needed}, and the target has {size}", load.mark()))
            .hint("use --size, or sweep less far"));
    }
    let ceilings = Context::new(&site.scene.subject, Peer::None).ceilings;
    Ok(SweepReport::new(&site.scene.machine, site.view(course.target), ceilings, &site.timing, loads))
}

/// The loads of the grid, or of the numbers of streams.
fn loads(args: &SweepArgs) -> Vec<LoadSpec> {
    let kib = Bytes::from_kib;
    let (order, usual) = match args.threads {
        Some(_) => (Order::Sequential, vec![RECORD]),
        None => (Order::Random, vec![kib(4), kib(16), kib(64), kib(256), kib(1024)]),
    };
    let pattern = Pattern::from(args.order.unwrap_or(order));
    let blocks = or(&args.block_sizes, &usual);
    let mut loads = Vec::new();
    for reads in &args.mix {
        for block in &blocks {
            let load = |depth| LoadSpec::reading(pattern, *block, depth).writing(100 - reads);
            match args.threads {
                Some(most) => {
                    let streams = doubling(most).map(|count| load(1).on(Parallel::Streams(count)));
                    loads.extend(streams);
                }
                None => loads.extend(args.depths.iter().map(|depth| load(*depth))),
            }
        }
    }
    loads
}

/// 1, 2, 4 … and `most` itself.
pub(super) fn doubling(most: u32) -> impl Iterator<Item = u32> {
    let powers = std::iter::successors(Some(1_u32), |count| count.checked_mul(2))
        .take_while(move |count| *count < most);
    powers.chain(std::iter::once(most))
}

/// Runs every load that has no point yet, and keeps the report after each. Beside it is what ended that early: a load that
/// failed, or a report that cannot be kept.
fn points(course: &Course<'_>, mut report: SweepReport) -> Result<(SweepReport, Option<Failure>), Failure> {
    course.keep(&mut report)?;
    let mut trouble = None;
    let (all, runner) = (report.asked.len(), course.runner);
    for load in report.missing() {
        if !course.goes_on() {
            break;
        }
        let label = label(&load);
        runner.progress.test(report.points.len(), all, &label);
        let (point, failed) = match runner.load(&label, &load, course.target, &course.site.timing) {
            Ok(outcome) => {
                let is_cut_short = outcome.measurement.cut_short.is_some();
                if is_cut_short && (runner.is_stopped() || runner.is_over_budget()) {
                    break;
                }
                let (subject, verdict) = course.judge(&outcome);
                let trusted = verdict.trusts(&subject);
                let checks = narrows_report::bench::checks(&load, &outcome.measurement, &subject);
                let point = SweepPoint::new(&load, &outcome.measurement, outcome.ended, trusted, checks);
                let point = SweepPoint { allowance: outcome.allowance, ..point };
                (Some(point), outcome.measurement.failure.map(|failure| course.failed(&failure)))
            }
            Err(_) if runner.is_stopped() || runner.is_over_budget() => break,
            // Others may need less.
            Err(LoadError::OverBudget(_)) => continue,
            Err(error) => (None, Some(course.not_begun(&error))),
        };
        if let Some(failed) = failed {
            trouble = Some(failure(&label, &failed));
            let point = point.map(|point| SweepPoint { trusted: Some(false), ..point });
            report.failed = Some(FailedPoint { load, point, failed });
            break;
        }
        report.points.extend(point);
        report.curves = curves(&report.points);
        trouble = course.keep(&mut report).err();
        if trouble.is_some() {
            break;
        }
    }
    let rest = report.missing().len();
    let failed = report.failed.as_ref();
    let failed = failed.map(|failed| format!("{} failed: {}", label(&failed.load), failed.failed.summary));
    report.complete = rest == 0;
    report.reason = course.reason(rest, failed, ["loads", "sweep", "of them"], runner.writes().is_some());
    let unkept = course.keep(&mut report).err();
    Ok((report, trouble.or(unkept)))
}

fn label(load: &LoadSpec) -> String {
    format!("{} {}", load.mark(), load.direction())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::{Cli, Command};
    use clap::Parser;

    fn sweep(words: &[&str]) -> Vec<String> {
        match Cli::try_parse_from([&["narrows", "sweep", "/srv"], words].concat()).map(|cli| cli.command) {
            Ok(Some(Command::Sweep(args))) => loads(&args).iter().map(label).collect(),
            other => panic!("{words:?}: {other:?}"),
        }
    }

    #[test]
    fn a_grid_has_every_block_size_depth_and_mix() {
        assert_eq!(sweep(&[]).len(), 35);
        let loads = sweep(&["--block-sizes", "4K,1M", "--depths", "1,32", "--mix", "100,70"]);
        assert_eq!(
            loads[..4],
            ["RND4K Q1T1 read", "RND4K Q32T1 read", "RND1M Q1T1 read", "RND1M Q32T1 read"]
        );
        assert_eq!(loads[4..6], ["RND4K Q1T1 70:30", "RND4K Q32T1 70:30"]);
        let loads = sweep(&["--block-sizes", "4K", "--depths", "1", "--mix", "0"]);
        assert_eq!(loads, ["RND4K Q1T1 write"]);
    }

    #[test]
    fn streams_double_up_to_the_most() {
        assert_eq!(doubling(1).collect::<Vec<_>>(), [1]);
        assert_eq!(doubling(12).collect::<Vec<_>>(), [1, 2, 4, 8, 12]);
        let loads = sweep(&["--threads"]);
        assert_eq!((loads.len(), loads.last().map(String::as_str)), (11, Some("SEQ128K Q1T1024 read")));
    }

    #[test]
    fn a_load_that_nobody_could_type_is_none() {
        let load = || LoadSpec::reading(Pattern::Random, Bytes::from_kib(4), 1);
        assert!(is_load(&load()));
        let others = [
            LoadSpec { block_size: Bytes::new(0), ..load() },
            LoadSpec { queue_depth: 0, ..load() },
            LoadSpec { queue_depth: u32::MAX, ..load() },
            LoadSpec { parallel: Parallel::Streams(0), ..load() },
            LoadSpec { write_percent: 200, ..load() },
        ];
        assert!(others.iter().all(|load| !is_load(load)));
    }
}
