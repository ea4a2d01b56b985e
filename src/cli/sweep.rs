//! `narrows sweep`: how rate and latency depend on block size, queue depth, mix and number of streams.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::bench::args::{Common, size};
use super::bench::place::{Filling, Place};
use super::bench::runner::{Runner, Scene, Timing};
use super::bench::save::SaveFile;
use super::bench::{json, style};
use super::{FAILED, FINDINGS, Failure, NOTHING_FOUND, output};
use crate::load::measurement::Pattern;
use crate::load::preset::{LoadSpec, Parallel, StopRule};
use crate::load::target::Target as Opened;
use crate::report::bench::sweep::{SCHEMA, SweepPoint, SweepReport, curves, render};
use crate::report::bench::{Context, TargetKind, TargetView};
use crate::units::peers::Peer;
use crate::units::{Bytes, human};
use crate::verdict::{self, Subject};

/// The size of the scratch file, unless another is asked for.
const SIZE: Bytes = Bytes::from_mib(1024);
/// What each stream reads at once, unless another size is asked for.
const RECORD: Bytes = Bytes::from_kib(128);

/// What `sweep` is asked.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct SweepArgs {
    /// A directory, mount point or file (tested in a scratch file there), or a device (only read)
    #[arg(required_unless_present = "resume")]
    pub target: Option<String>,

    /// Block sizes [default: 4KiB,16KiB,64KiB,256KiB,1MiB; with --threads 128KiB]
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = size)]
    pub block_sizes: Vec<Bytes>,

    /// Queue depths
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', default_value = "1,2,4,8,16,32,64",
          value_parser = clap::value_parser!(u32).range(1..=4096), conflicts_with = "threads")]
    pub depths: Vec<u32>,

    /// How many of 100 I/Os read
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', default_value = "100",
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
    #[arg(long, value_name = "FILE", conflicts_with_all = ["target", "size", "threads", "block_sizes", "order"])]
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
    let (file, kept) = files(args)?;
    let typed = match (&args.target, &kept) {
        (Some(typed), _) => typed.clone(),
        (None, Some(kept)) => kept.target.name.clone(),
        (None, None) => {
            return Err(Failure::new("name a target").hint("a directory, a mount point or a device"));
        }
    };
    let scene = Scene::read(&typed, args.common.cpu_node)?;
    let was_file = kept.as_ref().is_some_and(|kept| kept.target.kind == TargetKind::File);
    let place = Place::of(&scene.subject.path, args.common.read_only || was_file)?;
    let runner = Runner::new(&scene, &args.common)?;
    let size = kept.as_ref().map_or(args.common.size.unwrap_or(SIZE), |kept| kept.target.size_bytes);
    let target = place.open(size, Filling::Whole, &runner)?;
    let mut report = match kept {
        Some(kept) => kept,
        None => empty(args, typed, &scene, &place, &target)?,
    };
    points(args, &scene, &runner, &target, file.as_ref(), &mut report)?;
    drop(runner);
    output::data(&if args.common.json { json(&report)? } else { render(&report, &style(&args.common)) })?;
    Ok(match (report.complete, report.has_doubts()) {
        (false, _) => FAILED,
        (true, true) => FINDINGS,
        (true, false) => NOTHING_FOUND,
    })
}

fn files(args: &SweepArgs) -> Result<(Option<SaveFile>, Option<SweepReport>), Failure> {
    if let Some(path) = &args.save {
        return Ok((Some(SaveFile::create(path)?), None));
    }
    let Some(path) = &args.resume else { return Ok((None, None)) };
    let (file, kept): (_, SweepReport) = SaveFile::load(path)?;
    if kept.schema != SCHEMA {
        return Err(Failure::new(format!("`{}` is of the schema {}", path.display(), kept.schema)));
    }
    Ok((Some(file), Some(kept)))
}

fn empty(
    args: &SweepArgs,
    typed: String,
    scene: &Scene,
    place: &Place,
    target: &Opened,
) -> Result<SweepReport, Failure> {
    let loads = loads(args);
    if place.kind() != TargetKind::Scratch && loads.iter().any(|load| load.write_percent > 0) {
        return Err(Failure::new(format!("`{typed}` is only ever read"))
            .hint("leave out --mix, or name a directory: it is tested in a scratch file"));
    }
    let needed = |load: &LoadSpec| load.total_depth().saturating_mul(load.block_size.get());
    if let Some(load) = loads.iter().find(|load| needed(load) > target.size().get()) {
        let (needed, size) = (Bytes::new(needed(load)), human::block_size(target.size()));
        return Err(Failure::new(format!(
            "{} needs {}, and the target has {size}",
            load.mark(),
            human::block_size(needed)
        ))
        .hint("use --size, or sweep less far"));
    }
    let kind = place.kind();
    let view = TargetView { name: typed, kind, size_bytes: target.size() };
    let ceilings = Context::new(&scene.subject, Peer::None).ceilings;
    let longest = args.common.duration.unwrap_or(args.common.max_time);
    let timing = (args.common.precision, longest.into());
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
            let load = |depth| LoadSpec::reading(pattern, *block, depth).writing(100 - reads.min(&100));
            match args.threads {
                Some(most) => loads.extend(doubling(most).map(|count| load(1).on(Parallel::Streams(count)))),
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

/// Runs every load that has no point yet, and keeps the report after each.
fn points(
    args: &SweepArgs,
    scene: &Scene,
    runner: &Runner<'_>,
    target: &Opened,
    file: Option<&SaveFile>,
    report: &mut SweepReport,
) -> Result<(), Failure> {
    let keep = |report: &SweepReport| file.map_or(Ok(()), |file| file.keep(report));
    let timing = Timing {
        stop: StopRule::Precision,
        precision: report.precision,
        max_time: report.max_time_ns.duration(),
        fixed: args.common.duration,
        warm_up: args.common.warm_up,
    };
    keep(report)?;
    let all = report.asked.len();
    for load in report.missing() {
        if runner.is_stopped() {
            break;
        }
        let label = format!("{}/{all} {} {}", report.points.len() + 1, load.mark(), load.direction());
        let outcome = runner.load(&label, &load, target, &timing)?;
        if runner.is_stopped() && outcome.measurement.cut_short.is_some() {
            break;
        }
        let subject = Subject { runs: runner.runs(&outcome), ..scene.subject.clone() };
        let verdict = verdict::judge(&scene.machine, std::slice::from_ref(&subject));
        let trusted = crate::report::bench::trusted(&subject, &verdict);
        report.points.push(SweepPoint::new(&load, &outcome.measurement, outcome.ended, trusted));
        report.curves = curves(&report.points);
        keep(report)?;
    }
    let rest = report.missing().len();
    report.complete = rest == 0;
    report.reason = (rest > 0).then(|| {
        let how = if file.is_some() { "--resume goes on" } else { "with --save FILE a sweep can be resumed" };
        format!("interrupted with {rest} loads to go; {how}")
    });
    keep(report)
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
    }

    #[test]
    fn streams_double_up_to_the_most() {
        assert_eq!(doubling(1).collect::<Vec<_>>(), [1]);
        assert_eq!(doubling(12).collect::<Vec<_>>(), [1, 2, 4, 8, 12]);
        let loads = sweep(&["--threads"]);
        assert_eq!((loads.len(), loads.last().map(String::as_str)), (11, Some("SEQ128K Q1T1024 read")));
    }
}
