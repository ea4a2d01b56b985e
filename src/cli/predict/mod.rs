//! `narrows predict`: what rate will a workload get on a described system, and what would change it?

mod change;
pub(super) mod source;

use std::path::{Path, PathBuf};

use clap::Args;

use super::files::write_new;
use super::grid::Grid;
use super::output::OutputArgs;
use super::{FINDINGS, Failure, NOTHING_FOUND, output};
use narrows_answer::{NotPredicted, published};
use narrows_model::path::file::{BuildError, Document, Engine, FileError, Name, Problem, System, Workload};
use narrows_model::predict::{Prediction, predict};
use narrows_report::predict::{self as view, SystemView};

const AFTER_HELP: &str = "\
Examples:
  narrows predict systems/x99-slot.path.toml
  narrows predict x99.path.toml --set PCIEX16_2.width=4
  narrows predict box.path.toml --block-size 4k,64k,1m --depth 1,8,32
  narrows predict box.path.toml --add nvme:sn770@slot2 --add raid0
  narrows predict box.path.toml --add luks --set luks.sector_size=4096
  narrows predict systems/";

/// What `predict` is asked.
#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(after_help = AFTER_HELP)]
pub struct PredictArgs {
    /// Descriptions of systems (*.path.toml), or directories with some
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Only this workload of the file (may be given several times)
    #[arg(long, value_name = "NAME")]
    pub workload: Vec<String>,

    /// What is read and written [default: the workload's, or the topmost part]
    #[arg(long, value_name = "PART")]
    pub target: Option<String>,

    /// Workloads to try in place of that of the file.
    #[command(flatten)]
    pub grid: Grid,

    /// How I/Os are handed to the kernel: io_uring, polled, libaio, sync, buffered, hdparm
    #[arg(long, value_name = "NAME", value_parser = engine)]
    pub engine: Option<Engine>,

    /// Change a value: NAME.KEY=VALUE, such as slot3.width=4 (may be given several times)
    #[arg(long, value_name = "NAME.KEY=VALUE")]
    pub set: Vec<String>,

    /// Add a drive, KIND:MODEL@PLACE, to the array of the target; or put a layer on it and on what was added: raid0, raid1, raid10, raid5, raid6, linear, luks, ext4, xfs
    #[arg(long, value_name = "DRIVE|LAYER")]
    pub add: Vec<String>,

    /// How the report is printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

fn engine(text: &str) -> Result<Engine, String> {
    Engine::from_word(text)
        .ok_or_else(|| format!("`{text}` is none of io_uring, polled, libaio, sync, buffered, hdparm"))
}

impl PredictArgs {
    /// Whether it is about the system as it is described, which is what was published.
    fn asks_nothing(&self) -> bool {
        let is_changed = !self.set.is_empty() || !self.add.is_empty();
        let is_other = self.target.is_some() || self.engine.is_some() || !self.workload.is_empty();
        self.grid.is_usual() && !is_changed && !is_other
    }
}

/// Reads the descriptions, predicts, and shows: 1 when a published result lies outside of its 95 % interval or above its bound.
///
/// # Errors
/// [`Failure`] when a file cannot be read or is wrong, or a change cannot be made; what the other files say is shown before.
pub(super) fn run(args: &PredictArgs) -> Result<u8, Failure> {
    let mut systems = Vec::new();
    let mut failed: Option<Failure> = None;
    for (file, text) in source::texts(&args.files)? {
        let done =
            Document::parse(&file, &text).map_err(wrong).and_then(|document| one(args, &file, &document));
        match done {
            Ok(system) => systems.push(system),
            // One wrong description hides no other.
            Err(failure) => {
                if let Some(before) = failed.replace(failure) {
                    output::failure(&before);
                }
            }
        }
    }
    let report = view::report(systems);
    if !report.systems.is_empty() || failed.is_none() {
        output::report(&report, &args.output, view::document)?;
    }
    failed.map_or_else(|| Ok(if report.has_wrong() { FINDINGS } else { NOTHING_FOUND }), Err)
}

/// The view of one system.
fn one(args: &PredictArgs, file: &str, document: &Document) -> Result<SystemView, Failure> {
    let before = document.system().map_err(wrong)?;
    let mut changed = document.clone();
    let changes = change::apply(&mut changed, &before, args)?;
    let after = if changes.is_empty() { before.clone() } else { changed.system().map_err(wrong)? };
    let published =
        if args.asks_nothing() { published(document, &before).map_err(not_predicted)? } else { Vec::new() };
    let mut predictions = Vec::new();
    for workload in &change::workloads(&after, args)? {
        let now = predict(&after, workload).map_err(no_path)?;
        let earlier = if changes.is_empty() { None } else { earlier(&before, workload, args)? };
        predictions.push(view::prediction(&now, earlier.as_ref()));
    }
    let (name, source) = (after.name, after.source);
    Ok(SystemView { file: file.to_owned(), name, source, changes, predictions, published })
}

/// What the same workload gets without the changes.
fn earlier(before: &System, workload: &Workload, args: &PredictArgs) -> Result<Option<Prediction>, Failure> {
    // What was typed of the workload itself (its depth, its mix) is no change of the system.
    let old = change::workloads(before, args)?.into_iter().find(|old| old.name == workload.name);
    old.map(|old| predict(before, &old)).transpose().map_err(no_path)
}

/// Why something is not predicted.
fn not_predicted(error: NotPredicted) -> Failure {
    match error {
        NotPredicted::Wrong(error) => wrong(error),
        NotPredicted::Published { error: ref inner, .. } => {
            let hint = inner.problems.first().and_then(|problem| problem.hint.clone());
            Failure::new(error.to_string()).hints(hint)
        }
        NotPredicted::NoPath(error) => no_path(error),
    }
}

/// Everything that is wrong with a file, one line each, with its hint below.
pub(super) fn wrong(error: FileError) -> Failure {
    let failure = |problem: Problem| Failure::new(problem.to_string()).hints(problem.hint);
    let mut failures: Vec<Failure> = error.problems.into_iter().map(failure).collect();
    let last = failures.pop().unwrap_or_else(|| Failure::new("the file is wrong"));
    failures.iter().for_each(output::failure);
    last
}

fn no_path(error: BuildError) -> Failure {
    Failure::new(error.to_string())
}

/// Writes the description of a machine to a new file, or to standard output for `-`.
///
/// # Errors
/// [`Failure`] when the file is there already or cannot be written.
pub(super) fn write_description(file: &Path, text: &str) -> Result<(), Failure> {
    if file.as_os_str() == "-" { output::data(text) } else { write_new(file, text) }
}

/// The name of a workload that was typed.
fn named(system: &System, typed: &str) -> Result<Workload, Failure> {
    system.workload(&Name::new(typed)).cloned().ok_or_else(|| {
        let known: Vec<&str> = system.workloads.iter().map(|workload| workload.name.as_str()).collect();
        Failure::new(format!("there is no workload `{typed}`")).hint(match known.is_empty() {
            true => "the file has none; say --block-size, --depth and --target instead".to_owned(),
            false => format!("the workloads are: {}", known.join(", ")),
        })
    })
}
