//! A lab from its first line to its report.

use nix::sched::{CloneFlags, unshare};

use super::args::LabArgs;
use super::{Bench, copying, ground, shown};
use crate::cli::bar::Bar;
use crate::cli::scene;
use crate::cli::signals::stop_on_signals;
use crate::cli::{FAILED, FINDINGS, Failure, NOTHING_FOUND, output};
use narrows_base::shell;
use narrows_base::units::{Bytes, human};
use narrows_machine::root::Root;
use narrows_session::Objection;
use narrows_session::lab::journal::{Head, Journal};
use narrows_session::lab::{self, Call, Cell, FileSystem, JournalFile, Tools, Workshop};
use narrows_session::trials::copying::Copying;
use narrows_session::trials::{Lab, Results, slice};

/// Runs a lab, or goes on with one whose journal was opened and which is undone.
///
/// # Errors
/// [`Failure`] when it cannot begin, or something is left to undo.
pub(super) fn run(root: &Root, args: &LabArgs, kept: Option<(JournalFile, Journal)>) -> Result<u8, Failure> {
    output::check_page(&args.output.shown)?;
    let stop = stop_on_signals()?;
    let (mut known, open) = match kept {
        Some((file, journal)) => (Some(journal), Some(file)),
        None => (None, None),
    };
    let mut head = known.as_ref().map_or_else(|| ground::head(root, args), |known| Ok(known.head.clone()))?;
    let count = if args.scratch.is_some() {
        usize::from(args.count)
    } else {
        head.devices = match &mut known {
            Some(known) => ground::again(root, args, known)?,
            None => ground::named(root, args)?,
        };
        head.devices.len()
    };
    let cells = args.cells(count);
    let fills = (cells.len() + count) as u64;
    let copying = copying::look(root, args, &head, &cells, stop.clone())?;
    let copies = copying.as_ref().map_or(Bytes::new(0), Copying::writes);
    let life = ground::life(args, head.devices.iter().map(|device| device.name.as_str()));
    let bench = Bench::new(&args.wish(), life, (fills, copies), (Bar::on_stderr, stop))?;
    announce(args, &head, &cells, &bench);
    if let Some(copying) = &copying {
        output::note(&copying.announcement());
        head.copy = Some(copying.about.clone());
    }
    let file = match open {
        Some(mut file) => {
            ground::go_on(root, &mut head, &mut file)?;
            file
        }
        None => JournalFile::create(args.journal.as_deref(), &head).map_err(|error| {
            let hint = error.hint().unwrap_or("name a place for it with --journal FILE").to_owned();
            Failure::new(error.to_string()).hint(hint)
        })?,
    };
    let mut workshop = ground::workshop(root, args, head, file)?;
    let copied = copying.as_ref().map_or(Bytes::new(0), Copying::needed);
    let needed = args.slice.unwrap_or_else(|| slice(bench.size, copied));
    if let Err(failure) = ground::slices(&mut workshop, args, needed.get(), &bench.stop) {
        if known.is_none_or(|known| known.outcomes.is_empty()) {
            workshop.journal.remove().map_err(|error| Failure::new(error.to_string()))?;
        }
        return Err(failure);
    }
    let scene = |typed: &str| scene::read(typed).map_err(Objection::from);
    let mut lab = Lab {
        trials: bench,
        copying,
        workshop,
        encryptions: &args.encryption,
        discards: args.discard,
        waits: !args.no_wait,
        scene: &scene,
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
    finish(args, lab.workshop, &results, trouble.map(Failure::from))
}

/// Says what will be built and written, before anything is.
fn announce(args: &LabArgs, head: &Head, cells: &[Cell], bench: &Bench) {
    let names: Vec<String> = head
        .devices
        .iter()
        .map(|device| {
            format!("{} ({}, {})", device.name, device.identity, human::bytes(Bytes::new(device.bytes)))
        })
        .collect();
    let place = match &args.scratch {
        Some(dir) => {
            let files = if args.count == 1 { "scratch file" } else { "scratch files" };
            format!("{} {files} in {}", args.count, dir.display())
        }
        None => names.join(", "),
    };
    let layouts = if cells.len() == 1 { "layout" } else { "layouts" };
    output::note(&format!("{} {layouts} on {place}:", cells.len()));
    let shown: Vec<String> = cells.iter().map(Cell::to_string).collect();
    output::note(&format!("  {}", shown.join("; ")));
    output::note(&bench.announcement("each device and each layout in turn"));
}

/// Makes mounts our own: nobody else sees those that are made from now on, while those that others undo go here, too.
fn leave_namespace(root: &Root) -> Result<(), Failure> {
    let failed = |error: String| {
        Failure::new(format!("cannot have mounts of our own: {error}"))
            .hint("run it outside of containers, or with --file-system none")
    };
    unshare(CloneFlags::CLONE_NEWNS).map_err(|error| failed(error.to_string()))?;
    let key = lab::Key::random().map_err(|error| failed(error.to_string()))?;
    let call = Call::new("mount", ["--make-rslave", "/"]);
    Tools::new(root).run(root, &call, &key).map_err(|error| failed(error.to_string()))
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
    shown::show(results, args, trouble.is_none())?;
    left.map_err(Objection::from)?;
    let Some(trouble) = trouble else {
        let removed = workshop.journal.remove();
        removed.map_err(|error| Failure::new(error.to_string()))?;
        return Ok(if results.has_doubts() { FINDINGS } else { NOTHING_FOUND });
    };
    if results.outcomes.is_empty() {
        let removed = workshop.journal.remove();
        removed.map_err(|error| Failure::new(error.to_string()))?;
        return Err(trouble);
    }
    let path = shell::path(workshop.journal.path());
    output::failure(&trouble);
    output::note(&format!("everything is undone; `narrows lab --resume --journal {path}` goes on"));
    Ok(FAILED)
}
