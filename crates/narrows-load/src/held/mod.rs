//! A directory that somebody typed, resolved once and held open from then on.
//!
//! Others may change what a path leads to between two looks at it. So a typed path is walked once (`walk`), a symbolic
//! link on it is followed only where other users can change neither the link nor the directory that holds it (`trust`),
//! and all that comes afterwards is relative to the open directory and follows no link (`beneath`). When narrows runs as
//! root and is to write, every directory on the way must be one that nobody else can change: then no name on it can be
//! swapped, and what stands in a journal or a manifest still leads there later.

mod beneath;
mod error;
mod new_file;
mod trust;
mod walk;

pub use error::HeldError;
pub use new_file::{Maker, Readers};
pub use trust::Trust;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, OFlags, Stat, fstat, readlink, statat};
use rustix::io::Errno;

/// What a directory is held for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// To read what is in it. Anybody may own it.
    Read,
    /// To make things in it. Root refuses one that others can change.
    Write,
}

/// A directory that is open.
#[derive(Debug)]
pub struct Held {
    handle: File,
    path: PathBuf,
}

impl Held {
    /// Resolves a typed path once. An empty one is the working directory.
    ///
    /// # Errors
    /// [`HeldError`]: it is not there, or others could have it lead elsewhere.
    pub fn open(path: &Path, aim: Aim) -> Result<Self, HeldError> {
        Self::open_as(path, aim, &Trust::of_process())
    }

    /// As [`open`](Self::open), for somebody else.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn open_as(path: &Path, aim: Aim, trust: &Trust) -> Result<Self, HeldError> {
        let handle = walk::walk(path, aim, trust, false)?;
        Ok(Self { handle, path: path.to_owned() })
    }

    /// The directory that a path leads to, or in which the file lies to which it leads.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn beside(path: &Path, aim: Aim) -> Result<Self, HeldError> {
        let handle = walk::walk(path, aim, &Trust::of_process(), true)?;
        Ok(Self { handle, path: path.to_owned() })
    }

    /// Whether both are the same directory.
    ///
    /// # Errors
    /// What `fstat(2)` answers.
    pub fn is(&self, other: &Self) -> io::Result<bool> {
        let (ours, theirs) = (fstat(&self.handle)?, fstat(&other.handle)?);
        Ok((ours.st_dev, ours.st_ino) == (theirs.st_dev, theirs.st_ino))
    }

    /// The directory that holds what was typed, and its name there, which is not followed; `None` for `/`, which has no
    /// name. `.` and `..` have one only once it is known where they lead.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn parent_of(path: &Path, aim: Aim) -> Result<Option<(Self, OsString)>, HeldError> {
        let whole = match path.components().next_back() {
            Some(Component::Normal(name)) => {
                let parent = path.parent().unwrap_or(Path::new(""));
                return Ok(Some((Self::open(parent, aim)?, name.to_owned())));
            }
            None => return Err(HeldError::io(path, io::ErrorKind::NotFound.into())),
            // Only what it leads to is looked at here; what is held is its parent.
            Some(_) => {
                Self::open(path, Aim::Read)?.real_path().map_err(|error| HeldError::io(path, error))?
            }
        };
        let Some((parent, name)) = whole.parent().zip(whole.file_name()) else { return Ok(None) };
        Ok(Some((Self::open(parent, aim)?, name.to_owned())))
    }

    /// The open directory.
    pub const fn handle(&self) -> &File {
        &self.handle
    }

    /// The path as it was typed, for people.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the directory is now, as the kernel tells it.
    ///
    /// # Errors
    /// The path is longer than 4095 bytes.
    pub fn real_path(&self) -> io::Result<PathBuf> {
        match readlink(format!("/proc/self/fd/{}", self.handle.as_raw_fd()), Vec::new()) {
            Ok(told) => Ok(PathBuf::from(OsStr::from_bytes(told.as_bytes()))),
            Err(Errno::NOENT) => self.canonical(),
            Err(errno) => Err(errno.into()),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "without /proc the path is what is left to ask")]
    fn canonical(&self) -> io::Result<PathBuf> {
        let empty = self.path.as_os_str().is_empty();
        std::fs::canonicalize(if empty { Path::new(".") } else { &self.path })
    }

    /// Opens something below. No link on the way or at the end is followed, and nothing leads out.
    ///
    /// # Errors
    /// What `openat2(2)` answers; ELOOP or ENOTDIR for a symbolic link.
    pub fn open_beneath(&self, below: &[u8], flags: OFlags) -> io::Result<File> {
        beneath::open(&self.handle, below, flags)
    }

    /// What is called `name` here, without following it; `None` when there is nothing.
    ///
    /// # Errors
    /// What `fstatat(2)` answers but ENOENT.
    pub fn look(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        look(&self.handle, name.as_bytes())
    }
}

/// What is called `name` in a directory, without following it; `None` when there is nothing.
///
/// # Errors
/// What `fstatat(2)` answers but ENOENT.
pub(super) fn look(directory: &File, name: &[u8]) -> io::Result<Option<Stat>> {
    match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests;
