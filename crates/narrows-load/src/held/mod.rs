//! A directory that somebody typed, resolved once and held open from then on.
//!
//! Others may change what a path leads to between two looks at it. So a typed path is walked once (`walk`), a symbolic
//! link on it is followed only where other users can change neither the link nor the directory that holds it (`trust`),
//! and all that comes afterwards is relative to the open directory and follows no link (`open_beneath`). When narrows runs as
//! root and is to write, every directory on the way must be one that nobody else can change: then no name on it can be
//! swapped, and what stands in a journal or a manifest still leads there later.

mod new_file;
mod trust;

pub use new_file::{Maker, Readers};
pub use trust::Trust;

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, fstatfs, openat, openat2, readlink,
    readlinkat, statat,
};
use rustix::io::Errno;

use trust::Changer;

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
        let handle = walk(path, aim, trust, false)?;
        Ok(Self { handle, path: path.to_owned() })
    }

    /// The directory that a path leads to, or in which the file lies to which it leads.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn beside(path: &Path, aim: Aim) -> Result<Self, HeldError> {
        let handle = walk(path, aim, &Trust::of_process(), true)?;
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
        open_beneath(&self.handle, below, flags)
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

/// How often the kernel is asked again when a name was renamed while it looked (`openat2(2)`, EAGAIN).
const RETRIES: usize = 16;
/// The kernel takes no longer path at once (`PATH_MAX`, less its end).
const LONGEST: usize = 4095;

/// Opens `path` below `base`. A path that is too long for the kernel is walked in pieces.
///
/// # Errors
/// What `openat2(2)` answers; EXDEV for a path that leads out.
pub(crate) fn open_beneath(base: &File, path: &[u8], flags: OFlags) -> io::Result<File> {
    let (mut rest, mut at) = (path, None);
    while rest.len() > LONGEST {
        let cut = rest.get(..LONGEST).and_then(|piece| piece.iter().rposition(|byte| *byte == b'/'));
        let cut = cut.ok_or(Errno::NAMETOOLONG)?;
        let (piece, after) = rest.split_at(cut);
        at = Some(open_piece(at.as_ref().unwrap_or(base), piece, STEP)?);
        rest = after.get(1..).unwrap_or_default();
    }
    open_piece(at.as_ref().unwrap_or(base), rest, flags)
}

/// `openat2(2)` that stays beneath `base` and follows no link; step by step where the kernel (before 5.6) or a seccomp
/// filter lacks it.
fn open_piece(base: &File, path: &[u8], flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    for _ in 0..RETRIES {
        match openat2(base, path, flags, Mode::empty(), resolve) {
            Ok(opened) => return Ok(opened.into()),
            Err(Errno::AGAIN) => {}
            Err(Errno::NOSYS | Errno::PERM) => return open_stepwise(base, path, flags),
            Err(error) => return Err(error.into()),
        }
    }
    Err(Errno::AGAIN.into())
}

/// The same name by name: each is opened in the directory before it, and none is followed.
fn open_stepwise(base: &File, path: &[u8], flags: OFlags) -> io::Result<File> {
    let mut names = path.split(|byte| *byte == b'/').peekable();
    let mut at: Option<File> = None;
    while let Some(name) = names.next() {
        if name == b".." {
            return Err(Errno::XDEV.into());
        }
        let is_last = names.peek().is_none();
        let flags = if is_last { flags | OFlags::CLOEXEC | OFlags::NOFOLLOW } else { STEP };
        at = Some(openat(at.as_ref().unwrap_or(base), name, flags, Mode::empty())?.into());
    }
    at.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// Why a typed directory is not used.
#[derive(Debug, thiserror::Error)]
pub enum HeldError {
    /// The kernel refused.
    #[error("cannot open the directory `{}`: {source}", plain(path))]
    Io {
        /// What was typed.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A symbolic link that somebody else may have changed, or may change now.
    #[error(
        "`{}` is a symbolic link that other users can change ({changer}); now it leads to `{}`",
        plain(link),
        plain(leads_to)
    )]
    Link {
        /// The link.
        link: PathBuf,
        /// Where it leads.
        leads_to: PathBuf,
        /// Who can.
        changer: Changer,
    },
    /// A link of `/proc`, which leads to what a process has open and not to what it says.
    #[error("`{}` is a link of /proc, which leads to whatever a process has open", plain(.0))]
    Magic(PathBuf),
    /// Others can change what is in the directory.
    #[error("narrows runs as root, and other users can change what is in `{}`: {changer}", plain(directory))]
    Shared {
        /// The directory, on the way to what was typed or that itself.
        directory: PathBuf,
        /// Who can.
        changer: Changer,
    },
}

impl HeldError {
    fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }

    /// What to do next, where there is something to do.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Io { .. } => None,
            Self::Link { .. } | Self::Magic(_) => {
                Some("name the directory that it leads to, if that is the one you mean")
            }
            Self::Shared { .. } => Some(
                "use a directory that only root can change, on a path that only root can change (made with \
                 `mkdir -m 700`), or run as the user whose directory it is; `bench DIR`, `copy` and `snapshot` need no root",
            ),
        }
    }
}

/// A path for a terminal: others may have chosen the names in it.
fn plain(path: &Path) -> String {
    path.display().to_string().escape_debug().to_string()
}

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
fn walk(path: &Path, aim: Aim, trust: &Trust, to_file: bool) -> Result<File, HeldError> {
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

#[cfg(test)]
mod tests;
