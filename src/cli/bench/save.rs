//! Results on disk after every step: a run that was killed goes on where it was.

#![expect(clippy::disallowed_methods, reason = "the files were named on the command line")]

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::libc;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::cli::Failure;
use crate::machine::capture::foreign::{self, Refusal};

/// No saved run is larger, in bytes: a sweep of a thousand points with all their samples has some 100 MB.
const LARGEST: u64 = 256 << 20;

/// A file that always holds a whole report: each save writes a new file and puts it in the place of the old one.
#[derive(Debug)]
pub(in crate::cli) struct SaveFile {
    path: PathBuf,
}

impl SaveFile {
    /// A file that is not there yet.
    ///
    /// # Errors
    /// There is something of that name.
    pub(in crate::cli) fn create(path: &Path) -> Result<Self, Failure> {
        if fs::symlink_metadata(path).is_ok() {
            return Err(Failure::new(format!("`{}` exists already", path.display()))
                .hint("choose another name, or go on with that run: --resume"));
        }
        Ok(Self { path: path.to_owned() })
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
        Ok((Self { path: path.to_owned() }, report))
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
        let text = serde_json::to_string_pretty(report)?;
        let new = self.unfinished();
        // Left by a run that was killed while it saved.
        match fs::remove_file(&new) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file =
            OpenOptions::new().write(true).create_new(true).custom_flags(libc::O_NOFOLLOW).open(&new)?;
        let written = file
            .write_all(text.as_bytes())
            .and_then(|()| file.write_all(b"\n"))
            .and_then(|()| file.sync_all());
        if let Err(error) = written.and_then(|()| fs::rename(&new, &self.path)) {
            let _ = fs::remove_file(&new);
            return Err(error);
        }
        // The name is durable when the directory is; file systems that cannot sync one keep it anyway.
        let _ = self.directory().and_then(|dir| dir.sync_all());
        Ok(())
    }

    fn directory(&self) -> io::Result<File> {
        let parent = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))
    }

    fn unfinished(&self) -> PathBuf {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.path.with_file_name(format!(".{name}.unfinished"))
    }
}

/// Refuses a name under which something is, before a run whose results are to be written there.
///
/// # Errors
/// There is something of that name.
pub(in crate::cli) fn refuse_existing(path: &Path) -> Result<(), Failure> {
    match fs::symlink_metadata(path) {
        Ok(_) => Err(Failure::new(format!("`{}` exists already", path.display()))
            .hint("choose another name; narrows overwrites nothing")),
        Err(_) => Ok(()),
    }
}

/// Writes text to a file that is not there yet.
///
/// # Errors
/// There is something of that name, or it cannot be written.
pub(in crate::cli) fn write_new(path: &Path, text: &str) -> Result<(), Failure> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| {
            let failure = Failure::new(format!("cannot write `{}`: {error}", path.display()));
            match error.kind() {
                ErrorKind::AlreadyExists => failure.hint("choose another name; narrows overwrites nothing"),
                _ => failure,
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_replaced_whole_and_nothing_else_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.json");
        let file = SaveFile::create(&path).unwrap();
        file.keep(&vec![1, 2, 3]).unwrap();
        fs::write(file.unfinished(), "half of a repor").unwrap();
        file.keep(&vec![4]).unwrap();
        let (_, kept): (_, Vec<i32>) = SaveFile::load(&path).unwrap();
        assert_eq!(kept, [4]);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
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
