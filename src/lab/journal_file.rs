//! The journal on disk: durable lines, and a lock that lasts as long as the lab or any tool that it started.

#![expect(clippy::disallowed_methods, reason = "the journal is this file's job")]

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, FdFlag, Flock, FlockArg, fcntl};
use nix::libc;

use super::journal::{Head, Journal, Line, NoJournal, line};
use super::names::LabId;

/// Where journals are, unless another place is asked for.
pub const DIRECTORY: &str = "/var/lib/narrows";
/// No journal is longer.
const LONGEST: u64 = 1 << 30;
/// How often the lock is tried.
const TICK: Duration = Duration::from_millis(50);

/// A journal that is open and ours alone.
#[derive(Debug)]
pub struct JournalFile {
    path: PathBuf,
    file: Flock<File>,
}

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The kernel refused.
    #[error("cannot {action} the journal `{}`: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// Which file.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// It is none.
    #[error("`{}`: {source}", path.display())]
    NoJournal {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: NoJournal,
    },
    /// A lab, or a tool that it started, still has it.
    #[error("`{}` is in use: that lab, or a tool that it started, still runs", path.display())]
    InUse {
        /// Which file.
        path: PathBuf,
    },
}

impl JournalFile {
    /// Makes a new journal with its first line. The default place is [`DIRECTORY`], which is made if it is missing.
    ///
    /// # Errors
    /// There is a file of that name, or it cannot be made durable.
    pub fn create(asked: Option<&Path>, head: &Head) -> Result<Self, JournalError> {
        let path = asked.map_or_else(|| default_path(head.id), Path::to_owned);
        let failed = |source| JournalError::Io { action: "make", path: path.clone(), source };
        if asked.is_none() {
            fs::create_dir_all(DIRECTORY).map_err(failed)?;
            sync_directory(Path::new("/var/lib/narrows")).map_err(failed)?;
        }
        let mut options = OpenOptions::new();
        let options = options.read(true).append(true).create_new(true).mode(0o600);
        let file = options.custom_flags(libc::O_NOFOLLOW).open(&path).map_err(failed)?;
        let mut journal = Self { file: lock(&path, file, Duration::ZERO)?, path };
        journal.write(head)?;
        if fs::symlink_metadata(&journal.path).is_err() {
            // Somebody who undoes found it empty.
            let source = io::Error::from(ErrorKind::NotFound);
            return Err(JournalError::Io { action: "keep", path: journal.path.clone(), source });
        }
        sync_directory(&journal.path).map_err(|source| JournalError::Io {
            action: "make",
            path: journal.path.clone(),
            source,
        })?;
        Ok(journal)
    }

    /// Opens a journal that an earlier lab left, and reads it. Waits so long for tools that this lab started and that
    /// live on after it. One of a lab that did nothing is removed, if it begins as a journal or lies in [`DIRECTORY`].
    ///
    /// # Errors
    /// It cannot be read, is none, or still in use.
    pub fn open(path: &Path, patience: Duration) -> Result<(Self, Journal), JournalError> {
        let failed = |source| JournalError::Io { action: "read", path: path.to_owned(), source };
        let mut options = OpenOptions::new();
        let options = options.read(true).append(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        let file = lock(path, options.open(path).map_err(failed)?, patience)?;
        let mut text = Vec::new();
        (&*file).take(LONGEST).read_to_end(&mut text).map_err(failed)?;
        let journal = Journal::parse(&text);
        // A lab that was ended before it did anything. A file that somebody named may be anything until it begins as one.
        let is_labs = Journal::has_begun(&text) || path.parent() == Some(Path::new(DIRECTORY));
        if journal == Err(NoJournal::Empty) && is_labs {
            fs::remove_file(path).map_err(failed)?;
        }
        let journal = journal.map_err(|source| JournalError::NoJournal { path: path.to_owned(), source })?;
        let mut opened = Self { path: path.to_owned(), file };
        if !text.ends_with(b"\n") {
            // What was cut short must not become part of the next line; alone it counts as nothing.
            let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            opened.cut(whole as u64)?;
        }
        Ok((opened, journal))
    }

    fn cut(&mut self, length: u64) -> Result<(), JournalError> {
        let cut = self.file.set_len(length).and_then(|()| self.file.sync_all());
        cut.map_err(|source| JournalError::Io { action: "repair", path: self.path.clone(), source })
    }

    /// Appends a line; it is on stable storage when this returns.
    ///
    /// # Errors
    /// It is not. What the line announces must then not happen.
    pub fn append(&mut self, what: &Line) -> Result<(), JournalError> {
        self.write(what)
    }

    fn write<T: serde::Serialize>(&mut self, value: &T) -> Result<(), JournalError> {
        let text = line(value).map_err(io::Error::from);
        let written = text.and_then(|text| {
            self.file.write_all(text.as_bytes())?;
            self.file.sync_data()
        });
        written.map_err(|source| JournalError::Io { action: "write", path: self.path.clone(), source })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it: everything is undone, and nothing in it is needed any more.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove(self) -> Result<(), JournalError> {
        let failed = |source| JournalError::Io { action: "remove", path: self.path.clone(), source };
        fs::remove_file(&self.path).map_err(failed)?;
        // The removal need not be durable: undoing again what is undone does nothing.
        Ok(())
    }
}

/// Where the journal of a lab is, unless another place is asked for.
fn default_path(id: LabId) -> PathBuf {
    Path::new(DIRECTORY).join(format!("lab-{}.jsonl", id.short()))
}

/// The journals in the default place, in order.
pub fn journals() -> Vec<PathBuf> {
    let entries = fs::read_dir(DIRECTORY).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.path());
    let is_journal = |path: &PathBuf| {
        path.file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.starts_with("lab-") && name.ends_with(".jsonl"))
    };
    let mut found: Vec<PathBuf> = names.filter(is_journal).collect();
    found.sort();
    found
}

/// Locks a file, and lets the programs that we start inherit it: the lock is given up when the last of them has ended, so
/// that nobody undoes what a tool is still doing.
fn lock(path: &Path, file: File, patience: Duration) -> Result<Flock<File>, JournalError> {
    let begin = Instant::now();
    let failed = |source: io::Error| JournalError::Io { action: "lock", path: path.to_owned(), source };
    fcntl(&file, FcntlArg::F_SETFD(FdFlag::empty())).map_err(|error| failed(error.into()))?;
    let mut file = file;
    loop {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(locked) => return Ok(locked),
            Err((back, nix::Error::EWOULDBLOCK)) if begin.elapsed() < patience => file = back,
            Err((_, nix::Error::EWOULDBLOCK)) => return Err(JournalError::InUse { path: path.to_owned() }),
            Err((_, error)) => return Err(failed(error.into())),
        }
        std::thread::sleep(TICK);
    }
}

/// The name of a file is durable when its directory is. File systems that cannot sync one keep it anyway.
fn sync_directory(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match File::open(parent)?.sync_all() {
        Err(error) if error.kind() == ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

#[cfg(test)]
mod tests {
    use super::super::step::Step;
    use super::*;
    use std::os::fd::AsRawFd;

    fn head() -> Head {
        Head::new(LabId::new([9; 16]), "b".to_owned(), "md127".to_owned())
    }

    #[test]
    fn a_journal_is_ours_alone_and_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lab.jsonl");
        let mut journal = JournalFile::create(Some(&path), &head()).unwrap();
        journal.append(&Line::Step(Step::Group)).unwrap();
        assert!(JournalFile::create(Some(&path), &head()).is_err(), "nothing is overwritten");
        let taken = JournalFile::open(&path, Duration::from_millis(1)).unwrap_err();
        assert!(matches!(taken, JournalError::InUse { .. }), "{taken}");
        drop(journal);
        let (mut journal, read) = JournalFile::open(&path, Duration::ZERO).unwrap();
        assert_eq!(read.steps, [Step::Group]);
        journal.append(&Line::Clean).unwrap();
        journal.remove().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn what_was_cut_short_does_not_spoil_the_next_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lab.jsonl");
        drop(JournalFile::create(Some(&path), &head()).unwrap());
        let whole = fs::read(&path).unwrap();
        fs::write(&path, [&whole[..], b"{\"step\":{\"thi"].concat()).unwrap();
        let (mut journal, read) = JournalFile::open(&path, Duration::ZERO).unwrap();
        assert!(!read.has_left());
        journal.append(&Line::Step(Step::Group)).unwrap();
        drop(journal);
        let (_, read) = JournalFile::open(&path, Duration::ZERO).unwrap();
        assert_eq!((read.steps, read.damaged), (vec![Step::Group], 0));
    }

    #[test]
    fn a_journal_of_a_lab_that_did_nothing_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lab.jsonl");
        fs::write(&path, "{\"format\":\"narrows-lab/1\",\"id").unwrap();
        let opened = JournalFile::open(&path, Duration::ZERO);
        assert!(matches!(opened, Err(JournalError::NoJournal { source: NoJournal::Empty, .. })));
        assert!(!path.exists());
    }

    #[test]
    fn a_file_that_is_no_journal_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notes");
        for text in
            ["", "{", "{\"format\":\"narr", "one line without an end", "lines\nof mine\n", "{\"a\":1}\n{\"b"]
        {
            fs::write(&path, text).unwrap();
            let opened = JournalFile::open(&path, Duration::ZERO);
            assert!(matches!(opened, Err(JournalError::NoJournal { .. })), "{text:?}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    #[expect(clippy::disallowed_types, reason = "the test is about a program that inherits the lock")]
    fn a_program_that_we_started_keeps_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lab.jsonl");
        let journal = JournalFile::create(Some(&path), &head()).unwrap();
        let mut child = std::process::Command::new("sleep").arg("30").spawn().unwrap();
        // As a process that is killed does: nobody calls flock(LOCK_UN).
        let descriptor = journal.file.as_raw_fd();
        std::mem::forget(journal);
        nix::unistd::close(descriptor).unwrap();
        let taken = JournalFile::open(&path, Duration::from_millis(1));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(matches!(taken, Err(JournalError::InUse { .. })));
        assert!(JournalFile::open(&path, Duration::from_secs(5)).is_ok());
    }
}
