//! `narrows lab`: which layout is best on these devices?
//!
//! The story: look at the devices, say what will be done, write down the journal's first line, measure each device alone,
//! then build, measure and undo one cell after another, and show all.

pub mod args;
mod dry;
mod ground;
mod undo;

use std::path::Path;

use args::LabArgs;
use clap::Parser;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::geteuid;

use super::args::{Cli, Command};
use super::signals::stop_on_signals;
use super::{FAILED, FINDINGS, Failure, NOTHING_FOUND, output, target};
use narrows_base::shell;
use narrows_base::units::{Bytes, human};
use narrows_machine::root::Root;
use narrows_runs::lab::{DeviceFacts, build, document};
use narrows_runs::progress::Progress;
use narrows_session::lab::journal::{Head, Journal, Line, NamedDevice};
use narrows_session::lab::{Call, Cell, FileSystem, JournalFile, Key, Tools, Workshop, journals, sight};
use narrows_session::scene::device_hops;
use narrows_session::trials::copying::Copying;
use narrows_session::trials::{Lab, Results, Targets, Trials, slice};
use narrows_session::writes;

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
        output::check_page(&output.shown)?;
        let args = LabArgs { output, aim: args.aim.clone().or(before.aim), ..before };
        return lab(&root, &args, Some((file, journal)));
    }
    refuse_unfinished(args.journal.as_deref())?;
    lab(&root, args, None)
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
    match Cli::try_parse_from(words).map(|cli| cli.command) {
        Ok(Some(Command::Lab(args))) => Ok(*args),
        _ => Err(Failure::new(format!("`{}` does not say what was asked", path.display()))
            .hint("`narrows lab --undo` cleans up; then begin again")),
    }
}

/// Runs a lab, or goes on with one whose journal was opened and which is undone.
///
/// # Errors
/// [`Failure`] when it cannot begin, or something is left to undo.
fn lab(root: &Root, args: &LabArgs, kept: Option<(JournalFile, Journal)>) -> Result<u8, Failure> {
    let stop = stop_on_signals()?;
    let (open, mut known) = kept.unzip();
    let mut head = known.as_ref().map_or_else(|| ground::head(root, args), |known| Ok(known.head.clone()))?;
    let count = if args.scratch.is_some() {
        usize::from(args.files.count)
    } else {
        head.devices = match &mut known {
            Some(known) => ground::again(root, args, known)?,
            None => ground::named(root, args)?,
        };
        head.devices.len()
    };
    let cells = args.cells(count);
    let targets = Targets { devices: count, cells: cells.len() };
    let copying = ground::copying(root, args, &head, &cells, stop.clone())?;
    let copies = copying.as_ref().map_or(Bytes::new(0), Copying::writes);
    let life = ground::life(args, head.devices.iter().map(|device| device.name.as_str()));
    let bench = Trials::new(&args.wish(), life, (targets, copies), (Progress::on_stderr, stop))?;
    announce(args, &head, &cells, &bench);
    if let Some(copying) = &copying {
        output::note(&copying.announcement());
        head.copy = Some(copying.about.clone());
    }
    let file = match open {
        Some(mut file) => {
            head.boot = sight::boot(root);
            file.append(&Line::Boot(head.boot.clone()))?;
            if head.scratch.is_none() {
                file.append(&Line::Devices(head.devices.clone()))?;
            }
            file
        }
        None => JournalFile::create(args.journal.as_deref(), &head).map_err(|error| {
            let hint = error.hint().unwrap_or("name a place for it with --journal FILE");
            Failure::new(error.to_string()).hint(hint)
        })?,
    };
    let mut workshop = ground::workshop(root, args, head, file)?;
    let copied = copying.as_ref().map_or(Bytes::new(0), Copying::needed);
    let needed = args.slice.unwrap_or_else(|| slice(bench.size, copied));
    if let Err(failure) = ground::slices(&mut workshop, args, needed.get(), &bench.stop) {
        workshop.leave()?;
        if known.is_none_or(|known| known.outcomes.is_empty()) {
            workshop.journal.remove()?;
        }
        return Err(failure);
    }
    let mut lab = Lab {
        trials: bench,
        copying,
        workshop,
        encryptions: &args.encryption,
        waits: !args.no_wait,
        scene: &target::scene,
    };
    let mut results = Results::of(known);
    // Not before the loop devices are made: the path of a file whose mount is gone with its namespace says no more where it is.
    if cells.iter().any(|cell| cell.file_system != FileSystem::None)
        && let Err(failure) = leave_namespace(root)
    {
        let known = Results { basis: None, ..results };
        return finish(args, lab.workshop, &known, Some(failure));
    }
    let trouble = lab.all(&cells, &mut results).err();
    finish(args, lab.workshop, &results, trouble)
}

/// Says what will be built and written, before anything is.
fn announce(args: &LabArgs, head: &Head, cells: &[Cell], bench: &Trials<Progress>) {
    let name = |device: &NamedDevice| {
        format!("{} ({}, {})", device.name, device.identity, human::bytes(Bytes::new(device.bytes)))
    };
    let place = match &args.scratch {
        Some(dir) => format!("{} in {}", human::counted(args.files.count, "scratch file"), dir.display()),
        None => head.devices.iter().map(name).collect::<Vec<_>>().join(", "),
    };
    output::note(&format!("{} on {place}:", human::counted(cells.len(), "layout")));
    let shown: Vec<String> = cells.iter().map(Cell::to_string).collect();
    output::note(&format!("  {}", shown.join("; ")));
    output::note(&bench.writes.announcement("each device and each layout in turn"));
}

/// Makes mounts our own: nobody else sees those that are made from now on, while those that others undo go here, too.
fn leave_namespace(root: &Root) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::new(format!("cannot have mounts of our own: {error}"))
            .hint("run it outside of containers, or with --file-system none")
    };
    unshare(CloneFlags::CLONE_NEWNS).map_err(|error| failed(&error))?;
    let key = Key::random().map_err(|error| failed(&error))?;
    let call = Call::new("mount", ["--make-rslave", "/"]);
    Tools::new(root).run(root, &call, &key).map_err(|error| failed(&error))
}

/// Undoes all, shows what was measured, and removes the journal when nothing in it is needed any more.
fn finish(
    args: &LabArgs,
    mut workshop: Workshop<'_>,
    results: &Results,
    trouble: Option<Failure>,
) -> Result<u8, Failure> {
    // Also what was seen after the last layout was gone.
    let trouble = trouble.or_else(|| workshop.alarm().map(Failure::new));
    let left = workshop.leave();
    show(results, args, trouble.is_none())?;
    left?;
    let trouble = match trouble {
        Some(trouble) if !results.outcomes.is_empty() => trouble,
        nothing_to_keep => {
            workshop.journal.remove()?;
            let code = if results.has_doubts() { FINDINGS } else { NOTHING_FOUND };
            return nothing_to_keep.map_or(Ok(code), Err);
        }
    };
    let path = shell::path(workshop.journal.path());
    output::failure(&trouble);
    output::note(&format!("everything is undone; `narrows lab --resume --journal {path}` goes on"));
    Ok(FAILED)
}

/// Shows all of it. A page that was asked for is of a whole lab: one that goes on later writes it then.
///
/// # Errors
/// It cannot be written.
fn show(results: &Results, args: &LabArgs, is_whole: bool) -> Result<(), Failure> {
    let mut shown = args.output.clone();
    shown.shown.html = shown.shown.html.filter(|_| is_whole);
    let basis = results.basis.clone().unwrap_or_default();
    let facts = basis.devices.iter().map(|name| facts(name, args.scratch.is_some()));
    let aims = args.aim.as_deref().unwrap_or_default();
    let mut report = build(&basis, &results.outcomes, aims, &facts.collect::<Vec<_>>());
    // Cells that a lab did not come to have no outcome.
    report.complete &= is_whole;
    output::report(&report, &shown, document)
}

/// What the path to a device says of it.
fn facts(name: &str, scratch: bool) -> DeviceFacts {
    let unknown = DeviceFacts { name: name.to_owned(), scratch, ..DeviceFacts::default() };
    let Ok(scene) = target::scene(&format!("/dev/{name}")) else { return unknown };
    let mut drives = device_hops(&scene.subject.path);
    let Some(drive) = drives.find(|drive| drive.block == name) else { return unknown };
    let model = drive.model.value().cloned();
    let size = drive.size.value().copied().filter(|size| size.get() > 0);
    let rated = model.as_deref().zip(size).and_then(|(model, size)| writes::rated(model, size));
    DeviceFacts { model, size, rated, ..unknown }
}
