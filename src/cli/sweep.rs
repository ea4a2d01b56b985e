//! `narrows sweep`: how rate and latency depend on block size, queue depth, mix and number of streams.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::bench::args::Common;
use super::bench::failed;
use super::bench::kept;
use super::bench::place;
use super::bench::runner::{self, Runner, beside, clear, with};
use super::bench::save::{self, SaveFile};
use super::scene;
use super::values::size;
use super::{Failure, output, status};
use narrows_base::units::peers::Peer;
use narrows_base::units::{Bytes, Nanos, human};
use narrows_load::LoadError;
use narrows_load::measurement::Pattern;
use narrows_load::preset::{LoadSpec, Parallel, StopRule, Work};
use narrows_load::target::Target as Opened;
use narrows_report::bench::sweep::{
    FailedPoint, PointTiming, SCHEMA, SweepPoint, SweepReport, curves, document,
};
use narrows_report::bench::{Context, TargetKind, TargetView};
use narrows_session::measure::{Command, Timing};
use narrows_session::place::Place;
use narrows_session::runner::Filling;
use narrows_session::scene::Scene;
use narrows_session::writes::{Account, Wanted, Writes};
use narrows_verdict as verdict;

/// The size of the scratch file, unless another is asked for.
const SIZE: Bytes = Bytes::from_mib(1024);
/// What each stream reads at once, unless another size is asked for.
const RECORD: Bytes = Bytes::from_kib(128);

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
    #[arg(long, value_name = "READS", value_delimiter = ',', default_value = "100",
          value_parser = clap::value_parser!(u8).range(0..=100))]
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
    #[arg(long, value_name = "FILE", conflicts_with_all = ["target", "size", "threads", "block_sizes", "depths", "mix", "order", "duration"])]
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

/// Runs every load of the sweep and shows what came of it.
///
/// # Errors
/// [`Failure`] when the target does not exist or cannot be tested as asked.
pub(super) fn run(args: &SweepArgs) -> Result<u8, Failure> {
    let named = (args.save.as_deref(), args.resume.as_deref());
    let (file, kept) = save::files(named, (SCHEMA, |kept: &SweepReport| &kept.schema), kept::sweep)?;
    let typed = match (&args.target, &kept) {
        (Some(typed), _) => typed.clone(),
        (None, Some(kept)) => kept.target.name.clone(),
        (None, None) => {
            return Err(Failure::new("name a target").hint("a directory, a mount point or a device"));
        }
    };
    let scene = scene::read(&typed)?;
    let was_file = kept.as_ref().is_some_and(|kept| kept.target.kind == TargetKind::File);
    let place = place::of(&scene.subject.path, &args.common, args.common.read_only || was_file)?;
    place::check_way(&place, &scene, &typed)?;
    if kept.as_ref().is_some_and(|kept| {
        (kept.target.kind == TargetKind::OwnedDevice) != matches!(place, Place::Owned { .. })
    }) {
        return Err(Failure::new("the saved sweep and this one do not agree on writing to the device")
            .hint("give --write --i-own SERIAL again, or leave both out, as it was begun"));
    }
    let size = kept.as_ref().map_or(args.common.size.unwrap_or(SIZE), |kept| kept.target.size_bytes);
    let loads = kept.as_ref().map_or_else(|| loads(args), |kept| kept.asked.clone());
    let timing = timing(args, kept.as_ref());
    let writes = allowance(args, kept.as_ref(), (&scene, &place), (size, &loads), &timing)?;
    let size = writes.as_ref().map_or(size, Writes::size);
    let runner = runner::begin(Command::Sweep, &scene, writes)?;
    let target = place::open(&place, size, Filling::Whole, &runner)?;
    let begun = match kept {
        Some(kept) => Ok(SweepReport { failed: None, ..kept }),
        None => empty(loads, &timing, typed, &scene, &place, &target),
    };
    let came = begun.and_then(|mut report| {
        let trouble = points(&timing, &scene, &runner, &target, file.as_ref(), &mut report)?;
        Ok((report, trouble))
    });
    // Whatever came of the loads.
    let uncleared = clear(&target, &runner).err();
    let (mut report, trouble) = came.map_err(|failure| beside(failure, uncleared.as_ref()))?;
    report.writes = runner.writes().map(|writes| writes.account(runner.root()));
    let unkept = file.as_ref().map_or(Ok(()), |file| file.keep(&report)).err();
    let trouble = with(trouble, uncleared).or(unkept);
    drop(runner);
    output::report(&report, &args.common.output, document)?;
    if let Some(trouble) = trouble {
        return Err(trouble);
    }
    Ok(status(report.complete, report.has_doubts()))
}

/// What the loads may write, announced; `None` where the place is only read.
fn allowance(
    args: &SweepArgs,
    kept: Option<&SweepReport>,
    (scene, place): (&Scene, &Place),
    (size, loads): (Bytes, &[LoadSpec]),
    timing: &Timing,
) -> Result<Option<Writes>, Failure> {
    let Some(what) = place.filled() else { return Ok(None) };
    let works: Vec<Work> = match kept {
        Some(kept) => kept.missing().into_iter().map(Work::Load).collect(),
        None => loads.iter().cloned().map(Work::Load).collect(),
    };
    let ceiling = Context::new(&scene.subject, Peer::None).ceilings.write;
    let is_device = matches!(place, Place::Owned { .. });
    let writes = Writes::of(&Wanted {
        kept: kept.and_then(|kept| kept.writes.as_ref()).map(Account::before),
        size: (size, kept.is_some() || args.common.size.is_some()),
        works: &works,
        ceiling: ceiling.map(|ceiling| ceiling.bytes_per_second),
        ..args.common.wanted(scene, is_device, timing)
    })?;
    output::note(&writes.announcement(&what));
    Ok(Some(writes))
}

fn timing(args: &SweepArgs, kept: Option<&SweepReport>) -> Timing {
    let timing = args.common.timing(StopRule::Precision);
    kept.map_or(timing, |kept| Timing {
        precision: kept.precision,
        max_time: kept.max_time_ns.duration(),
        fixed: kept.duration_ns.map(Nanos::duration),
        warm_up: kept.warm_up_ns.duration(),
        ..timing
    })
}

fn empty(
    loads: Vec<LoadSpec>,
    timing: &Timing,
    typed: String,
    scene: &Scene,
    place: &Place,
    target: &Opened,
) -> Result<SweepReport, Failure> {
    let is_read = place.filled().is_none();
    if is_read && loads.iter().any(LoadSpec::writes) {
        return Err(Failure::new(format!("`{typed}` is only ever read")).hint(
            "name a directory: it is tested in a scratch file; or a blank device with --write --i-own SERIAL",
        ));
    }
    let room = target.region().length;
    let needed = |load: &LoadSpec| load.total_depth().saturating_mul(load.block_size.get());
    if let Some(load) = loads.iter().find(|load| needed(load) > room.get()) {
        let (needed, size) = (Bytes::new(needed(load)), human::block_size(room));
        return Err(Failure::new(format!(
            "{} needs {}, and the target has {size}",
            load.mark(),
            human::block_size(needed)
        ))
        .hint("use --size, or sweep less far"));
    }
    let kind = TargetKind::from(place);
    let view = TargetView { name: typed, kind, size_bytes: room };
    let ceilings = Context::new(&scene.subject, Peer::None).ceilings;
    let timing = PointTiming {
        precision: timing.precision,
        max_time_ns: timing.longest().into(),
        duration_ns: timing.fixed.map(Nanos::from),
        warm_up_ns: timing.warm_up.into(),
    };
    Ok(SweepReport::new(&scene.machine, view, ceilings, timing, loads))
}

/// The loads of the grid, or of the numbers of streams.
fn loads(args: &SweepArgs) -> Vec<LoadSpec> {
    let kib = Bytes::from_kib;
    let or = |default: &[Bytes]| {
        if args.block_sizes.is_empty() { default.to_vec() } else { args.block_sizes.clone() }
    };
    let pattern = match (args.order, args.threads) {
        (Some(Order::Random), _) | (None, None) => Pattern::Random,
        (Some(Order::Sequential), _) | (None, Some(_)) => Pattern::Sequential,
    };
    let blocks = match args.threads {
        Some(_) => or(&[RECORD]),
        None => or(&[kib(4), kib(16), kib(64), kib(256), kib(1024)]),
    };
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
fn doubling(most: u32) -> impl Iterator<Item = u32> {
    let powers = std::iter::successors(Some(1_u32), |count| count.checked_mul(2))
        .take_while(move |count| *count < most);
    powers.chain(std::iter::once(most))
}

/// Runs every load that has no point yet, and keeps the report after each. Returns what ended that early: a load that
/// failed, or a report that cannot be kept.
fn points(
    timing: &Timing,
    scene: &Scene,
    runner: &Runner<'_>,
    target: &Opened,
    file: Option<&SaveFile>,
    report: &mut SweepReport,
) -> Result<Option<Failure>, Failure> {
    let keep = |report: &mut SweepReport| {
        report.writes = runner.writes().map(|writes| writes.account(runner.root()));
        file.map_or(Ok(()), |file| file.keep(report))
    };
    keep(report)?;
    let mut trouble = None;
    let (all, path) = (report.asked.len(), &scene.subject.path);
    for load in report.missing() {
        if runner.is_stopped() || !target.is_alone() {
            break;
        }
        let label = format!("{} {}", load.mark(), load.direction());
        runner.progress.test(report.points.len(), all, &label);
        let (point, failed) = match runner.load(&label, &load, target, timing) {
            Ok(outcome) => {
                let cut_short = outcome.measurement.cut_short.is_some();
                if cut_short && (runner.is_stopped() || runner.is_over_budget()) {
                    break;
                }
                let subject = scene.subject.with_runs(runner.runs(&outcome));
                let verdict = verdict::judge(&scene.machine, std::slice::from_ref(&subject));
                let trusted = verdict.trusts(&subject);
                let checks = narrows_report::bench::checks(&load, &outcome.measurement, &subject);
                let point = SweepPoint::new(&load, &outcome.measurement, outcome.ended, trusted, checks);
                let point = SweepPoint { allowance: outcome.allowance, ..point };
                let failure = outcome.measurement.failure;
                (Some(point), failure.map(|failure| failed::view(&failure, runner.root(), path)))
            }
            Err(_) if runner.is_stopped() || runner.is_over_budget() => break,
            // Others may need less.
            Err(LoadError::OverBudget(_)) => continue,
            Err(error) => (None, Some(failed::of_error(&error, runner.root(), path))),
        };
        if let Some(failed) = failed {
            trouble = Some(failed::failure(&label, &failed));
            let point = point.map(|point| SweepPoint { trusted: Some(false), ..point });
            report.failed = Some(FailedPoint { load, point, failed });
            break;
        }
        report.points.extend(point);
        report.curves = curves(&report.points);
        trouble = keep(report).err();
        if trouble.is_some() {
            break;
        }
    }
    conclude(runner, target, file.is_some(), report);
    Ok(trouble.or(keep(report).err()))
}

/// Says whether the report is complete, and why not.
fn conclude(runner: &Runner<'_>, target: &Opened, is_kept: bool, report: &mut SweepReport) {
    let rest = report.missing().len();
    report.complete = rest == 0;
    let how = if is_kept { "--resume goes on" } else { "with --save FILE a sweep can be resumed" };
    let why = match &report.failed {
        Some(failed) => {
            format!("{} {} failed: {}", failed.load.mark(), failed.load.direction(), failed.failed.summary)
        }
        None => runner.why_over(target, "of them", runner.writes().is_some()),
    };
    report.reason = (rest > 0).then(|| format!("{why}; {rest} loads to go; {how}"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::{Cli, Command};
    use clap::Parser;

    fn sweep(words: &[&str]) -> Vec<String> {
        match Cli::try_parse_from([&["narrows", "sweep", "/srv"], words].concat()).map(Cli::into_command) {
            Ok(Command::Sweep(args)) => {
                loads(&args).iter().map(|load| format!("{} {}", load.mark(), load.direction())).collect()
            }
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
}
