//! `narrows lab`: which layout is best on these devices?
//!
//! The story: look at the devices, say what will be done, write down the journal's first line, measure each device alone,
//! then build, measure and undo one cell after another, and show all.

pub mod args;
mod copying;
mod dry;
mod ground;
mod session;
mod shown;
mod undo;

use std::path::Path;

use args::LabArgs;
use clap::Parser;
use nix::unistd::geteuid;

use super::args::{Cli, Command};
use super::bar::Bar;
use super::{Failure, NOTHING_FOUND, output};
use narrows_machine::root::Root;
use narrows_session::lab::journal::Journal;
use narrows_session::lab::{JournalFile, journals};
use narrows_session::trials::Trials;

/// The tests, each target with a bar of its own.
type Bench = Trials<Bar>;

/// Builds, measures and undoes.
///
/// # Errors
/// [`Failure`] when it cannot be done, or not to its end.
pub(super) fn run(args: &LabArgs) -> Result<u8, Failure> {
    let root = Root::live();
    if args.dry_run {
        output::lines(dry::text(&root, args)?)?;
        return Ok(NOTHING_FOUND);
    }
    if !geteuid().is_root() {
        return Err(Failure::new("building arrays, volumes and loop devices needs root").hint(
            "run it as root, also with --scratch; without root `narrows lab --dry-run` shows the commands, and \
             `narrows predict` and `narrows plan --aim` say what to expect of layouts",
        ));
    }
    if args.undo {
        return undo::all(&root, args.journal.as_deref());
    }
    if args.resume {
        let (file, journal, before) = undo::for_resume(&root, args.journal.as_deref())?;
        let mut output = args.output.clone();
        output.shown.html = output.shown.html.or(before.output.shown.html);
        let args = LabArgs { output, aim: args.aim.clone().or(before.aim), ..before };
        return session::run(&root, &args, Some((file, journal)));
    }
    refuse_unfinished(args.journal.as_deref())?;
    session::run(&root, args, None)
}

/// A lab that left something must be undone before another begins.
fn refuse_unfinished(asked: Option<&Path>) -> Result<(), Failure> {
    for path in journals().into_iter().chain(asked.map(Path::to_owned)) {
        let left = JournalFile::open(&path, std::time::Duration::ZERO);
        if left.is_ok_and(|(_, journal)| journal.has_left()) {
            let message = format!("an earlier lab was not undone: `{}`", path.display());
            return Err(Failure::new(message).hint("first `narrows lab --undo`, or `narrows lab --resume`"));
        }
    }
    Ok(())
}

/// What was typed for the lab of a journal.
fn typed(journal: &Journal, path: &Path) -> Result<LabArgs, Failure> {
    let words = std::iter::once("narrows".to_owned()).chain(journal.head.typed.iter().cloned());
    match Cli::try_parse_from(words).map(Cli::into_command) {
        Ok(Command::Lab(args)) => Ok(*args),
        _ => Err(Failure::new(format!("`{}` does not say what was asked", path.display()))
            .hint("`narrows lab --undo` cleans up; then begin again")),
    }
}
