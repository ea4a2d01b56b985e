//! Walks a typed path, name by name, each relative to the directory before it.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, fstatfs, openat, readlinkat};
use rustix::io::Errno;

use super::Aim;
use super::error::HeldError;
use super::trust::Trust;

/// The links of one path that are followed (`path_resolution(7)`).
const MOST_LINKS: u32 = 40;
/// What `statfs(2)` says of proc.
const PROC: u64 = 0x9fa0;
/// How a directory on the way is opened: nothing but to go on from it, and to look at it.
const STEP: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Where the walk is.
struct Walk<'a> {
    typed: &'a Path,
    aim: Aim,
    trust: &'a Trust,
    at: File,
    /// The way to `at`, for people.
    shown: PathBuf,
    /// Names still to go.
    names: VecDeque<Vec<u8>>,
    links: u32,
    /// Whether the path may end at a file, in whose directory the walk then ends.
    to_file: bool,
}

/// Opens the directory that a path leads to, or with `to_file` that of the file or device to which it leads.
///
/// # Errors
/// [`HeldError`].
pub(super) fn walk(path: &Path, aim: Aim, trust: &Trust, to_file: bool) -> Result<File, HeldError> {
    let failed = |errno: Errno| HeldError::io(path, errno.into());
    let start = if path.is_absolute() { "/" } else { "." };
    let at = rustix::fs::open(start, STEP, Mode::empty()).map_err(failed)?.into();
    let shown = PathBuf::from(if path.is_absolute() { "/" } else { "" });
    let names = split(path.as_os_str().as_bytes()).collect();
    let mut walk = Walk { typed: path, aim, trust, at, shown, names, links: 0, to_file };
    walk.check()?;
    while let Some(name) = walk.names.pop_front() {
        walk.step(&name)?;
    }
    walk.end()
}

fn split(path: &[u8]) -> impl DoubleEndedIterator<Item = Vec<u8>> {
    let names = path.split(|byte| *byte == b'/');
    names.filter(|name| !name.is_empty() && *name != b".").map(<[u8]>::to_vec)
}

impl Walk<'_> {
    fn failed(&self, errno: Errno) -> HeldError {
        HeldError::io(self.typed, errno.into())
    }

    fn stat(&self) -> Result<Stat, HeldError> {
        fstat(&self.at).map_err(|errno| self.failed(errno))
    }

    /// Refuses a directory in which others could swap the next name, where that matters.
    fn check(&self) -> Result<(), HeldError> {
        if self.aim == Aim::Read {
            return Ok(());
        }
        let empty = self.shown.as_os_str().is_empty();
        let directory = if empty { PathBuf::from(".") } else { self.shown.clone() };
        let changer = self.trust.refuses(&self.stat()?);
        changer.map_or(Ok(()), |changer| Err(HeldError::Shared { directory, changer }))
    }

    fn step(&mut self, name: &[u8]) -> Result<(), HeldError> {
        match openat(&self.at, name, STEP, Mode::empty()) {
            Ok(next) => {
                self.at = next.into();
                self.shown.push(OsStr::from_bytes(name));
                self.check()
            }
            // A link is no directory here.
            Err(Errno::NOTDIR | Errno::LOOP) => self.link(name),
            Err(errno) => Err(self.failed(errno)),
        }
    }

    /// Follows a link that others cannot change.
    fn link(&mut self, name: &[u8]) -> Result<(), HeldError> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let link = openat(&self.at, name, flags, Mode::empty()).map_err(|errno| self.failed(errno))?;
        let stat = fstat(&link).map_err(|errno| self.failed(errno))?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind != FileType::Symlink && self.to_file && self.names.is_empty() {
            return Ok(());
        }
        if kind != FileType::Symlink {
            return Err(self.failed(Errno::NOTDIR));
        }
        let shown = self.shown.join(OsStr::from_bytes(name));
        if fstatfs(&self.at).is_ok_and(|system| system.f_type as u64 == PROC) {
            return Err(HeldError::Magic(shown));
        }
        let target = readlinkat(&link, "", Vec::new()).map_err(|errno| self.failed(errno))?;
        let target = target.as_bytes();
        if let Some(changer) = self.trust.link_changer(&self.stat()?, &stat) {
            let leads_to = self.shown.join(OsStr::from_bytes(target));
            return Err(HeldError::Link { link: shown, leads_to, changer });
        }
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(self.failed(Errno::LOOP));
        }
        for name in split(target).rev() {
            self.names.push_front(name);
        }
        if target.first() == Some(&b'/') {
            self.at = rustix::fs::open("/", STEP, Mode::empty()).map_err(|errno| self.failed(errno))?.into();
            self.shown = PathBuf::from("/");
        }
        Ok(())
    }

    /// Opens the end of the walk for use. One that may be entered and not be listed can still be used for what lies in it.
    fn end(self) -> Result<File, HeldError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match openat(&self.at, ".", flags, Mode::empty()) {
            Ok(handle) => Ok(handle.into()),
            Err(Errno::ACCESS) => Ok(self.at),
            Err(errno) => Err(self.failed(errno)),
        }
    }
}
