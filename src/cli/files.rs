//! Files that are named on the command line: texts that are read, reports and pages that are written, and results on disk after every
//! step, so that a run that was killed goes on where it was.

use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Failure;
use narrows_load::held::{Aim, Held, HeldError, Readers};
use narrows_paste::capture::foreign::{self, Refusal};
use narrows_report::sanitize;

/// No report is larger, in bytes: a sweep of a thousand points with all their samples has some 100 MB.
pub(super) const LARGEST: u64 = 256 << 20;

/// The text of a file of no more than so many bytes; `hint` says what to name.
///
/// # Errors
/// It cannot be read.
pub(super) fn text(path: &Path, largest: u64, hint: &str) -> Result<String, Failure> {
    foreign::text(path, largest).map_err(|error| {
        let hint = Refusal::of(&error).map_or(hint, |refusal| refusal.hint());
        Failure::new(format!("cannot read `{}`: {error}", path.display())).hint(hint)
    })
}

/// A file that always holds a whole report: each save writes a new file and puts it in the place of the old one.
#[derive(Debug)]
pub(super) struct SaveFile {
    path: PathBuf,
    directory: Held,
    name: OsString,
}

impl SaveFile {
    /// A file that is not there yet.
    ///
    /// # Errors
    /// There is something of that name.
    pub(super) fn create(path: &Path) -> Result<Self, Failure> {
        let hint = "choose another name, or go on with that run: --resume";
        let (directory, name) = free_place(path, hint)?;
        Ok(Self { path: path.to_owned(), directory, name })
    }

    /// A file that an earlier run kept, and what it holds.
    ///
    /// # Errors
    /// It cannot be read, or is no report of this kind.
    pub(super) fn load<T: DeserializeOwned>(path: &Path) -> Result<(Self, T), Failure> {
        const HINT: &str = "name a file that --save wrote";
        let text = text(path, LARGEST, HINT)?;
        let report = serde_json::from_str(&text).map_err(|error| {
            Failure::new(format!("`{}` is no saved run of this command: {error}", path.display())).hint(HINT)
        })?;
        let (directory, name) = place(path)?;
        Ok((Self { path: path.to_owned(), directory, name }, report))
    }

    /// Keeps a report, on stable storage when it returns.
    ///
    /// # Errors
    /// It cannot be written. What was kept before is still there.
    pub(super) fn keep<T: Serialize>(&self, report: &T) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(report).map_err(io::Error::from);
        let kept = text.and_then(|text| {
            // Names stay what they are for who goes on with it, and are obeyed by no terminal that shows the file.
            let text = sanitize::json(&text).into_owned() + "\n";
            self.directory.replace(&self.name, &unfinished(&self.name), text.as_bytes(), Readers::All)
        });
        kept.map_err(|error| Failure::new(format!("cannot save to `{}`: {error}", self.path.display())))
    }
}

fn unfinished(name: &OsStr) -> OsString {
    [OsStr::new("."), name, OsStr::new(".unfinished")].into_iter().collect()
}

/// Puts a file in place whole: who reads it sees the old one or the new one.
///
/// # Errors
/// It cannot be written.
pub(super) fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    let (directory, name) = place(path)?;
    directory
        .replace(&name, &unfinished(&name), text.as_bytes(), Readers::All)
        .map_err(|error| cannot(path, &error))
}

/// The directory that a typed file lies in, held open, and its name there.
fn place(path: &Path) -> Result<(Held, OsString), Failure> {
    let held = Held::parent_of(path, Aim::Write).map_err(|error| match error {
        HeldError::Io { source, .. } => cannot(path, &source),
        error => Failure::new(format!("cannot write `{}`: {error}", path.display())).hints(error.hint()),
    })?;
    held.ok_or_else(|| Failure::new(format!("`{}` is no name of a file", path.display())))
}

/// Why a file is not written, with what to do.
fn cannot(path: &Path, error: &io::Error) -> Failure {
    let failure = Failure::new(format!("cannot write `{}`: {error}", path.display()));
    match error.kind() {
        ErrorKind::AlreadyExists => failure.hint("choose another name; narrows overwrites nothing"),
        ErrorKind::NotFound => failure.hint("make the directory first"),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            failure.hint("name a place that you may write to, such as /tmp")
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            failure.hint("free some space, or name a place that has some")
        }
        _ => failure,
    }
}

/// Refuses a name under which something is, before a run whose results are to be written there.
///
/// # Errors
/// There is something of that name, or the directory is not one to write to.
pub(super) fn refuse_existing(path: &Path) -> Result<(), Failure> {
    free_place(path, "choose another name; narrows overwrites nothing").map(drop)
}

/// The directory and the name of a file that is not there yet.
fn free_place(path: &Path, hint: &str) -> Result<(Held, OsString), Failure> {
    let (directory, name) = place(path)?;
    match directory.look(&name) {
        Ok(None) => Ok((directory, name)),
        Ok(Some(_)) => Err(Failure::new(format!("`{}` exists already", path.display())).hint(hint)),
        Err(error) => Err(cannot(path, &error)),
    }
}

/// Writes text to a file that is not there yet, and that anybody may read whom the umask lets.
///
/// # Errors
/// There is something of that name, or it cannot be written.
pub(super) fn write_new(path: &Path, text: &str) -> Result<(), Failure> {
    write_for(path, text.as_bytes(), Readers::All)
}

/// Writes a file that is not there yet, for these readers. Nothing stays behind when that fails.
///
/// # Errors
/// There is something of that name, or it cannot be written.
pub(super) fn write_for(path: &Path, bytes: &[u8], readers: Readers) -> Result<(), Failure> {
    let (directory, name) = place(path)?;
    directory.write_new(&name, bytes, readers).map_err(|error| cannot(path, &error))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "the tests make files")]
    use std::fs;

    use super::*;

    #[test]
    fn a_report_is_replaced_whole_and_nothing_else_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.json");
        let file = SaveFile::create(&path).unwrap();
        file.keep(&vec![1, 2, 3]).unwrap();
        fs::write(dir.path().join(unfinished(&file.name)), "half of a repor").unwrap();
        file.keep(&vec![4]).unwrap();
        let (_, kept): (_, Vec<i32>) = SaveFile::load(&path).unwrap();
        assert_eq!(kept, [4]);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_name_stays_what_it_is_and_the_file_commands_no_terminal() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.json");
        let hostile = "x\x1b[2J\u{9b}31m\u{202e}\n\u{e0041}";
        SaveFile::create(&path).unwrap().keep(&vec![hostile]).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.chars().all(|c| c == '\n' || c.is_ascii_graphic() || c == ' '), "{text:?}");
        let (_, kept): (_, Vec<String>) = SaveFile::load(&path).unwrap();
        assert_eq!(kept, [hostile]);
    }

    #[test]
    fn nothing_that_is_there_is_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.json");
        fs::write(&path, "mine").unwrap();
        assert!(SaveFile::create(&path).is_err());
        assert!(write_new(&path, "yours").is_err() && refuse_existing(&path).is_err());
        assert!(SaveFile::load::<Vec<i32>>(&path).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    }
}
