//! The journal on disk: durable lines, and a lock that lasts as long as the lab or any tool that it started.

#![expect(clippy::disallowed_methods, reason = "the journal is this file's job")]

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, FdFlag, Flock, FlockArg, fcntl};
use rustix::fs::OFlags;

use super::journal::{Head, Journal, Line, NoJournal};
use crate::Failure;
use crate::trust::{self, DIRECTORY, Seal, Secret, Untrusted, unseal};
use narrows_load::held::Maker;

/// No journal is longer, in bytes: one of a hundred cells has some hundred kilobytes.
const LONGEST: u64 = 64 << 20;
/// How often the lock is tried.
const TICK: Duration = Duration::from_millis(50);

/// A journal that is open and ours alone.
#[derive(Debug)]
pub struct JournalFile {
    path: PathBuf,
    directory: File,
    file: Flock<File>,
    seal: Seal,
    /// What follows the last whole line and is cut off before the next is written.
    whole: Option<u64>,
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
    /// Others than root can have written it.
    #[error("this journal does not count, and nothing is done: {0}")]
    Untrusted(#[from] Untrusted),
    /// No lab of this machine wrote it.
    #[error(
        "`{}` does not count, and nothing is done: no lab on this machine wrote it as it stands there; it was changed, or copied \
         from another file",
        path.display()
    )]
    Forged {
        /// Which file.
        path: PathBuf,
    },
    /// A lab, or a tool that it started, still has it.
    #[error("`{}` is in use: that lab, or a tool that it started, still runs", path.display())]
    InUse {
        /// Which file.
        path: PathBuf,
    },
}

impl JournalError {
    /// What the kernel refused; or what is not trusted, where that is what the error is made of.
    fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        match source.downcast() {
            Ok(untrusted) => Self::Untrusted(untrusted),
            Err(source) => Self::Io { action, path: path.to_owned(), source },
        }
    }

    /// What to do next.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Untrusted(untrusted) => Some(&untrusted.hint),
            Self::Forged { .. } => Some(
                "undo with the journal itself, where that is; if there is none, `narrows guard` says what stands on a device; \
                 a lab of an earlier version is undone by that version",
            ),
            Self::NoJournal { .. } => Some(
                "journals are in /var/lib/narrows, or where --journal put them; without --journal all there are undone",
            ),
            Self::Io { .. } => Some(
                "name the journal itself: journals are in /var/lib/narrows, or where --journal put them; a symbolic link is not \
                 followed",
            ),
            Self::InUse { .. } => Some("wait until it has ended, or end it, then undo again"),
        }
    }
}

/// With what to do.
impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        Self::new(error.to_string()).hints(error.hint())
    }
}

impl JournalFile {
    /// Makes a new journal with its first line. The default place is [`DIRECTORY`], which is made if it is missing.
    ///
    /// # Errors
    /// There is a file of that name, others can write where it is, or it cannot be made durable.
    pub fn create(asked: Option<&Path>, head: &Head) -> Result<Self, JournalError> {
        let name = format!("lab-{}.jsonl", head.id.short());
        let path = asked.map_or_else(|| Path::new(DIRECTORY).join(name), Path::to_owned);
        let secret = secret(&path, true)?;
        Self::create_sealed(path, head, secret)
    }

    fn create_sealed(path: PathBuf, head: &Head, secret: Secret) -> Result<Self, JournalError> {
        let failed = |source| JournalError::io("make", &path, source);
        let (directory, name) = split(&path).map_err(failed)?;
        let directory = trust::directory(&directory).map_err(failed)?;
        let flags = OFlags::RDWR | OFlags::APPEND;
        let file = Maker::of(&directory).make_file(name.as_bytes(), flags).map_err(failed)?;
        // Whatever the umask is.
        file.set_permissions(Permissions::from_mode(0o600)).map_err(failed)?;
        let seal = Seal::new(secret, trust::place(&file).map_err(failed)?);
        let file = lock(&path, file, Duration::ZERO)?;
        let mut journal = Self { path: path.clone(), directory, file, seal, whole: None };
        journal.write(head)?;
        if !Maker::of(&journal.directory).is_there(name.as_bytes()).map_err(failed)? {
            // Somebody who undoes found it empty.
            return Err(JournalError::io("keep", &path, ErrorKind::NotFound.into()));
        }
        journal.sync_directory().map_err(failed)?;
        Ok(journal)
    }

    /// Opens a journal that an earlier lab left, and reads it. Waits so long for tools that this lab started and that
    /// live on after it. One of a lab that did nothing is removed, if it begins as a journal or lies in [`DIRECTORY`].
    ///
    /// # Errors
    /// It cannot be read, is none, does not count, or is still in use.
    pub fn open(path: &Path, patience: Duration) -> Result<(Self, Journal), JournalError> {
        Self::open_sealed(path, patience, |path| secret(path, false))
    }

    fn open_sealed(
        path: &Path,
        patience: Duration,
        secret: impl FnOnce(&Path) -> Result<Secret, JournalError>,
    ) -> Result<(Self, Journal), JournalError> {
        let failed = |source| JournalError::io("read", path, source);
        let (directory, name) = split(path).map_err(failed)?;
        let directory = trust::directory(&directory).map_err(failed)?;
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::NONBLOCK;
        let file = Maker::of(&directory).open(name.as_bytes(), flags).map_err(failed)?;
        trust::file(path, &file).map_err(failed)?;
        let file = lock(path, file, patience)?;
        if file.metadata().map_err(failed)?.len() > LONGEST {
            return Err(failed(io::Error::other("no journal of a lab is longer than 64 MiB")));
        }
        let mut text = Vec::new();
        (&*file).take(LONGEST).read_to_end(&mut text).map_err(failed)?;
        // A lab that was ended before it did anything. A file that somebody named may be anything until it begins as one.
        let is_labs = Journal::has_begun(&text) || path.parent() == Some(Path::new(DIRECTORY));
        if let Some(source) = Journal::without_head(&text) {
            if source == NoJournal::Empty && is_labs {
                Maker::of(&directory).remove(name.as_bytes()).map_err(failed)?;
            }
            return Err(JournalError::NoJournal { path: path.to_owned(), source });
        }
        let mut seal = Seal::new(secret(path)?, trust::place(&file).map_err(failed)?);
        let unsealed = unseal(&text, &mut seal);
        if unsealed.lines.is_empty() {
            return Err(JournalError::Forged { path: path.to_owned() });
        }
        let no_journal = |source| JournalError::NoJournal { path: path.to_owned(), source };
        let mut journal = Journal::parse(&unsealed.lines).map_err(no_journal)?;
        journal.damaged += usize::from(unsealed.is_damaged);
        let mut opened = Self { path: path.to_owned(), directory, file, seal, whole: Some(unsealed.whole) };
        if !unsealed.is_damaged {
            // What was cut short must not become part of the next line; alone it counts as nothing.
            opened.cut()?;
        }
        Ok((opened, journal))
    }

    /// Cuts off what follows the last whole line. Of a damaged journal it stays until something is written behind it.
    fn cut(&mut self) -> Result<(), JournalError> {
        let Some(whole) = self.whole.take() else { return Ok(()) };
        let cut = self.file.set_len(whole).and_then(|()| self.file.sync_all());
        cut.map_err(|source| JournalError::io("repair", &self.path, source))
    }

    /// Appends a line; it is on stable storage when this returns.
    ///
    /// # Errors
    /// It is not. What the line announces must then not happen.
    pub fn append(&mut self, what: &Line) -> Result<(), JournalError> {
        self.write(what)
    }

    fn write<T: serde::Serialize>(&mut self, value: &T) -> Result<(), JournalError> {
        self.cut()?;
        // serde_json writes no line ends of its own, and escapes those in texts.
        let text = serde_json::to_string(value).map_err(io::Error::from);
        let written = text.and_then(|text| {
            self.file.write_all(self.seal.sealed(&text).as_bytes())?;
            self.file.sync_data()
        });
        written.map_err(|source| JournalError::io("write", &self.path, source))
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
        let failed = |source| JournalError::io("remove", &self.path, source);
        let (_, name) = split(&self.path).map_err(failed)?;
        if !Maker::of(&self.directory).remove(name.as_bytes()).map_err(failed)? {
            return Err(failed(ErrorKind::NotFound.into()));
        }
        // The removal need not be durable: undoing again what is undone does nothing.
        Ok(())
    }

    /// The name of a file is durable when its directory is. File systems that cannot sync one keep it anyway.
    fn sync_directory(&self) -> io::Result<()> {
        match self.directory.sync_all() {
            Err(error) if error.kind() == ErrorKind::InvalidInput => Ok(()),
            synced => synced,
        }
    }
}

/// The directory of a file, and its name there.
fn split(path: &Path) -> io::Result<(PathBuf, OsString)> {
    let name = path.file_name().ok_or(ErrorKind::InvalidFilename)?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok((parent.to_owned(), name.to_owned()))
}

/// The secret of this machine, by which its journals are sealed.
fn secret(journal: &Path, make: bool) -> Result<Secret, JournalError> {
    let place = Path::new(DIRECTORY);
    let failed = |source: io::Error| match source.kind() {
        ErrorKind::NotFound if !make => JournalError::Forged { path: journal.to_owned() },
        _ => JournalError::io("seal", journal, source),
    };
    if make {
        trust::make_directory(place).map_err(failed)?;
    }
    let directory = trust::directory(place).map_err(failed)?;
    trust::secret(&directory, make).map_err(failed)
}

/// The journals in the default place, in order.
pub fn journals() -> Vec<PathBuf> {
    let entries = fs::read_dir(DIRECTORY).into_iter().flatten().flatten();
    let is_journal = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().as_bytes();
        name.starts_with(b"lab-") && name.ends_with(b".jsonl")
    };
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_journal).collect();
    found.sort();
    found
}

/// Locks a file, and lets the programs that we start inherit it: the lock is given up when the last of them has ended, so
/// that nobody undoes what a tool is still doing.
fn lock(path: &Path, file: File, patience: Duration) -> Result<Flock<File>, JournalError> {
    let begin = Instant::now();
    let failed = |error: nix::Error| JournalError::io("lock", path, error.into());
    fcntl(&file, FcntlArg::F_SETFD(FdFlag::empty())).map_err(failed)?;
    let mut file = file;
    loop {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(locked) => return Ok(locked),
            Err((back, nix::Error::EWOULDBLOCK)) if begin.elapsed() < patience => file = back,
            Err((_, nix::Error::EWOULDBLOCK)) => return Err(JournalError::InUse { path: path.to_owned() }),
            Err((_, error)) => return Err(failed(error)),
        }
        std::thread::sleep(TICK);
    }
}

#[cfg(test)]
#[path = "journal_file_tests.rs"]
mod tests;
