//! `narrows lab --undo`, and the first half of `--resume`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::args::LabArgs;
use super::typed;
use crate::cli::{FAILED, Failure, NOTHING_FOUND, output};
use narrows_base::units::human;
use narrows_machine::root::Root;
use narrows_session::lab::journal::{Journal, Line, NoJournal};
use narrows_session::lab::{self, JournalError, JournalFile, Tools, journals};

/// How long tools that outlive a killed lab may take to end: a discard of a large drive takes minutes.
const PATIENCE: Duration = Duration::from_secs(300);

/// Undoes every lab that left something, or the one of a journal.
///
/// # Errors
/// [`Failure`] when the journal that was named cannot be used.
pub(super) fn all(root: &Root, asked: Option<&Path>) -> Result<u8, Failure> {
    let paths = places(asked);
    if paths.is_empty() {
        output::note("nothing to undo: there is no journal");
    }
    let mut left = false;
    for path in &paths {
        if let Err(failure) = one(root, path) {
            output::failure(&failure);
            left = true;
        }
    }
    Ok(if left { FAILED } else { NOTHING_FOUND })
}

fn one(root: &Root, path: &Path) -> Result<(), Failure> {
    let Some((mut file, journal)) = open(path)? else {
        output::note(&format!("nothing to undo: the lab of `{}` did nothing", path.display()));
        return Ok(());
    };
    clean(root, &mut file, &journal)?;
    if journal.outcomes.is_empty() {
        return Ok(file.remove()?);
    }
    let results = match journal.outcomes.len() {
        1 => "1 result: `narrows lab --resume` goes on with it".to_owned(),
        many => format!("{many} results: `narrows lab --resume` goes on with them"),
    };
    output::note(&format!("`{}` keeps {results}; or remove it", path.display()));
    Ok(())
}

/// Opens a journal; `None` when its lab was ended before it wrote even the first line, and so did nothing.
fn open(path: &Path) -> Result<Option<(JournalFile, Journal)>, Failure> {
    let mut opened = JournalFile::open(path, Duration::ZERO);
    if matches!(opened, Err(JournalError::InUse { .. })) {
        output::note(&format!("waiting for the lab of `{}`, or a tool that it started", path.display()));
        opened = JournalFile::open(path, PATIENCE);
    }
    match opened {
        Ok(opened) => Ok(Some(opened)),
        Err(JournalError::NoJournal { source: NoJournal::Empty, .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Undoes what a journal says, and writes down that it is undone.
fn clean(root: &Root, file: &mut JournalFile, journal: &Journal) -> Result<(), Failure> {
    if !journal.has_left() {
        return Ok(());
    }
    let undone = lab::undo(root, journal, &mut Tools::new(root))
        .map_err(|error| Failure::new(error.to_string()).hint(error.hint()))?;
    for device in journal.head.devices.iter().filter(|device| device.name.starts_with("loop")) {
        output::note(&format!(
            "{}: what others wrote to its file, `{}`, and closed while no lab ran is not told from the lab's",
            device.name, device.identity
        ));
    }
    for call in &undone.calls {
        output::note(call);
    }
    output::note(&format!("undone: {}; {} cleared", file.path().display(), human::bytes(undone.cleared)));
    file.append(&Line::Clean)?;
    Ok(file.append(&Line::Gone)?)
}

/// Undoes what the lab of a journal left, so that it can go on.
///
/// # Errors
/// There is none, there are several, or it cannot be undone.
pub(super) fn for_resume(
    root: &Root,
    asked: Option<&Path>,
) -> Result<(JournalFile, Journal, LabArgs), Failure> {
    let path = chosen(asked)?;
    let opened = open(&path)?;
    let (mut file, journal) = opened.ok_or_else(|| {
        Failure::new(format!("`{}` is empty: that lab did nothing", path.display())).hint("begin again")
    })?;
    let args = typed(&journal, &path)?;
    clean(root, &mut file, &journal)?;
    Ok((file, journal, args))
}

fn chosen(asked: Option<&Path>) -> Result<PathBuf, Failure> {
    match &places(asked)[..] {
        [one] => Ok(one.clone()),
        [] => Err(Failure::new("there is no lab to go on with").hint("name its journal with --journal")),
        many => {
            let names: Vec<String> = many.iter().map(|path| path.display().to_string()).collect();
            Err(Failure::new(format!("there are several labs: {}", names.join(", ")))
                .hint("name one with --journal"))
        }
    }
}

/// The journal that was named, or all there are.
fn places(asked: Option<&Path>) -> Vec<PathBuf> {
    asked.map_or_else(journals, |path| vec![path.to_owned()])
}
