//! Results on disk after every step: a run that was killed goes on where it was.

use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::cli::Failure;
use narrows_load::held::{Aim, Held, HeldError, Readers};
use narrows_paste::capture::foreign::{self, Refusal};
use narrows_report::sanitize;

/// No saved run is larger, in bytes: a sweep of a thousand points with all their samples has some 100 MB.
const LARGEST: u64 = 256 << 20;

/// The file in which results are kept, and what is there already of a run that goes on: a report of this schema that asks for
/// what could have been typed.
///
/// # Errors
/// The file cannot be made or read, or holds something else.
pub(in crate::cli) fn files<R: DeserializeOwned>(
    (save, resume): (Option<&Path>, Option<&Path>),
    (schema, of): (&str, fn(&R) -> &str),
    check: fn(&Path, &R) -> Result<(), Failure>,
) -> Result<(Option<SaveFile>, Option<R>), Failure> {
    if let Some(path) = save {
        return Ok((Some(SaveFile::create(path)?), None));
    }
    let Some(path) = resume else { return Ok((None, None)) };
    let (file, kept) = SaveFile::load(path)?;
    if of(&kept) != schema {
        return Err(Failure::new(format!("`{}` is of the schema {}", path.display(), of(&kept))));
    }
    check(path, &kept)?;
    Ok((Some(file), Some(kept)))
}

/// A file that always holds a whole report: each save writes a new file and puts it in the place of the old one.
#[derive(Debug)]
pub(in crate::cli) struct SaveFile {
    path: PathBuf,
    directory: Held,
    name: OsString,
}

impl SaveFile {
    /// A file that is not there yet.
    ///
    /// # Errors
    /// There is something of that name.
    pub(in crate::cli) fn create(path: &Path) -> Result<Self, Failure> {
        let (directory, name) = place(path)?;
        if is_there(path, &directory, &name)? {
            return Err(Failure::new(format!("`{}` exists already", path.display()))
                .hint("choose another name, or go on with that run: --resume"));
        }
        Ok(Self { path: path.to_owned(), directory, name })
    }

    /// A file that an earlier run kept, and what it holds.
    ///
    /// # Errors
    /// It cannot be read, or is no report of this kind.
    pub(in crate::cli) fn load<T: DeserializeOwned>(path: &Path) -> Result<(Self, T), Failure> {
        const HINT: &str = "name a file that --save wrote";
        let text = foreign::text(path, LARGEST).map_err(|error| {
            let hint = Refusal::of(&error).map_or(HINT, Refusal::hint);
            Failure::new(format!("cannot read `{}`: {error}", path.display())).hint(hint)
        })?;
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
    pub(in crate::cli) fn keep<T: Serialize>(&self, report: &T) -> Result<(), Failure> {
        self.replace(report)
            .map_err(|error| Failure::new(format!("cannot save to `{}`: {error}", self.path.display())))
    }

    fn replace<T: Serialize>(&self, report: &T) -> io::Result<()> {
        // Names stay what they are for who goes on with it, and are obeyed by no terminal that shows the file.
        let text = serde_json::to_string_pretty(report)?;
        let text = sanitize::json(&text).into_owned() + "\n";
        self.directory.replace(&self.name, &self.unfinished(), text.as_bytes(), Readers::All)
    }

    fn unfinished(&self) -> OsString {
        [OsStr::new("."), &self.name, OsStr::new(".unfinished")].into_iter().collect()
    }
}

/// The directory that a typed file lies in, held open, and its name there.
fn place(path: &Path) -> Result<(Held, OsString), Failure> {
    let held = Held::parent_of(path, Aim::Write).map_err(|error| refused(path, &error))?;
    held.ok_or_else(|| Failure::new(format!("`{}` is no name of a file", path.display())))
}

fn refused(path: &Path, error: &HeldError) -> Failure {
    match error {
        HeldError::Io { source, .. } => cannot(path, source),
        error => Failure::new(format!("cannot write `{}`: {error}", path.display()))
            .maybe_hint(error.hint().map(str::to_owned)),
    }
}

fn is_there(path: &Path, directory: &Held, name: &OsStr) -> Result<bool, Failure> {
    directory.look(name).map(|found| found.is_some()).map_err(|error| cannot(path, &error))
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
pub(in crate::cli) fn refuse_existing(path: &Path) -> Result<(), Failure> {
    let (directory, name) = place(path)?;
    if is_there(path, &directory, &name)? {
        return Err(Failure::new(format!("`{}` exists already", path.display()))
            .hint("choose another name; narrows overwrites nothing"));
    }
    Ok(())
}

/// Writes text to a file that is not there yet, and that anybody may read whom the umask lets.
///
/// # Errors
/// There is something of that name, or it cannot be written.
pub(in crate::cli) fn write_new(path: &Path, text: &str) -> Result<(), Failure> {
    write_for(path, text.as_bytes(), Readers::All)
}

/// Writes a file that is not there yet, for these readers. Nothing stays behind when that fails.
///
/// # Errors
/// There is something of that name, or it cannot be written.
pub(in crate::cli) fn write_for(path: &Path, bytes: &[u8], readers: Readers) -> Result<(), Failure> {
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
        fs::write(dir.path().join(file.unfinished()), "half of a repor").unwrap();
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
