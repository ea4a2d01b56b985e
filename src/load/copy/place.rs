//! Both ends of a copy: a directory that is held open, and names below it that are never followed through a symbolic
//! link.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, Stat, openat, openat2, statat};
use rustix::io::Errno;

/// How often the kernel is asked again when a name was renamed while it looked (`openat2(2)`, EAGAIN).
const RETRIES: usize = 16;

/// A path below the top of a tree, as bytes; empty for the top itself.
pub(super) type Below = Vec<u8>;

/// The top of a tree: a directory that is open, and the name of the top in it.
#[derive(Debug)]
pub(super) struct Place {
    base: File,
    base_path: PathBuf,
    name: Vec<u8>,
}

impl Place {
    /// The top called `name` in the directory `base_path`, whose own links are followed: the user typed it. An empty path
    /// is the working directory.
    ///
    /// # Errors
    /// What `open(2)` answers.
    pub(super) fn new(base_path: &Path, name: &OsStr) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let to_open = if base_path.as_os_str().is_empty() { Path::new(".") } else { base_path };
        let base = rustix::fs::open(to_open, flags, Mode::empty())?;
        Ok(Self { base: base.into(), base_path: base_path.to_owned(), name: name.as_bytes().to_vec() })
    }

    /// The directory that holds the top.
    pub(super) fn base(&self) -> &File {
        &self.base
    }

    /// The name of the top.
    pub(super) fn name(&self) -> &[u8] {
        &self.name
    }

    /// The whole path of something below, for people.
    pub(super) fn shown(&self, below: &[u8]) -> PathBuf {
        self.base_path.join(OsStr::from_bytes(&self.path_of(below)))
    }

    fn path_of(&self, below: &[u8]) -> Vec<u8> {
        join(&self.name, below)
    }

    /// Opens what is there. No link on the way or at the end is followed.
    ///
    /// # Errors
    /// What `openat2(2)` answers; ELOOP for a symbolic link.
    pub(super) fn open(&self, below: &[u8], flags: OFlags) -> io::Result<File> {
        open_beneath(&self.base, &self.path_of(below), flags)
    }

    /// Opens the directory `below`.
    ///
    /// # Errors
    /// As for [`open`](Self::open); ENOTDIR for anything else.
    pub(super) fn directory(&self, below: &[u8]) -> io::Result<File> {
        self.open(below, OFlags::RDONLY | OFlags::DIRECTORY)
    }
}

/// The directories of a place, the last one kept open: files come directory by directory.
#[derive(Debug)]
pub(super) struct Parents<'a> {
    place: &'a Place,
    last: Option<(Below, File)>,
}

impl<'a> Parents<'a> {
    pub(super) fn of(place: &'a Place) -> Self {
        Self { place, last: None }
    }

    /// The directory that holds `below`, and its name there.
    ///
    /// # Errors
    /// The directory cannot be opened.
    pub(super) fn get<'b>(&'b mut self, below: &'b [u8]) -> io::Result<(&'b File, &'b [u8])> {
        let Some((parent, name)) = split(below) else {
            return Ok((&self.place.base, &self.place.name));
        };
        if self.last.as_ref().is_none_or(|(last, _)| last != parent) {
            self.last = Some((parent.to_vec(), self.place.directory(parent)?));
        }
        let (_, directory) = self.last.as_ref().ok_or(io::ErrorKind::NotFound)?;
        Ok((directory, name))
    }
}

/// The parent and the last name of a path below the top; `None` for the top.
pub(super) fn split(below: &[u8]) -> Option<(&[u8], &[u8])> {
    if below.is_empty() {
        return None;
    }
    let cut = below.iter().rposition(|byte| *byte == b'/');
    Some(cut.map_or((&[][..], below), |at| (&below[..at], &below[at + 1..])))
}

/// `name` in the directory `below`.
pub(super) fn join(below: &[u8], name: &[u8]) -> Below {
    match (below, name) {
        (_, []) => below.to_vec(),
        ([], _) => name.to_vec(),
        _ => [below, b"/", name].concat(),
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

/// `openat2(2)` that stays beneath `base` and follows no link; step by step where the kernel (before 5.6) or a seccomp
/// filter lacks it.
fn open_beneath(base: &File, path: &[u8], flags: OFlags) -> io::Result<File> {
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

fn open_stepwise(base: &File, path: &[u8], flags: OFlags) -> io::Result<File> {
    let mut names = path.split(|byte| *byte == b'/').peekable();
    let step = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at: Option<File> = None;
    while let Some(name) = names.next() {
        if name == b".." {
            return Err(Errno::XDEV.into());
        }
        let flags = if names.peek().is_some() { step } else { flags };
        at = Some(openat(at.as_ref().unwrap_or(base), name, flags, Mode::empty())?.into());
    }
    at.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make files")]

    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn paths_are_split_and_joined_at_the_last_slash() {
        assert_eq!(split(b""), None);
        assert_eq!(split(b"a"), Some((&b""[..], &b"a"[..])));
        assert_eq!(split(b"a/b/c"), Some((&b"a/b"[..], &b"c"[..])));
        assert_eq!(join(b"a/b", b"c"), b"a/b/c");
        assert_eq!(join(b"", b"c"), b"c");
        assert_eq!(join(b"top", b""), b"top");
    }

    #[test]
    fn no_way_of_opening_follows_a_link() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("real")).unwrap();
        std::fs::write(dir.path().join("real/file"), "x").unwrap();
        symlink("real", dir.path().join("link")).unwrap();
        symlink("real/file", dir.path().join("end")).unwrap();
        let place = Place::new(dir.path(), OsStr::new("real")).unwrap();
        assert!(place.open(b"file", OFlags::RDONLY).is_ok());
        for path in [&b"link/file"[..], b"end", b"real/../real/../../etc"] {
            assert!(open_beneath(place.base(), path, OFlags::RDONLY).is_err());
            assert!(open_stepwise(place.base(), path, OFlags::RDONLY | OFlags::NOFOLLOW).is_err());
        }
        assert!(open_stepwise(place.base(), b"real/file", OFlags::RDONLY | OFlags::NOFOLLOW).is_ok());
    }

    #[test]
    fn parents_are_opened_once_for_each_directory() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("top/a")).unwrap();
        let place = Place::new(dir.path(), OsStr::new("top")).unwrap();
        let mut parents = Parents::of(&place);
        assert_eq!(parents.get(b"").unwrap().1, b"top");
        assert_eq!(parents.get(b"x").unwrap().1, b"x");
        assert_eq!(parents.get(b"a/y").unwrap().1, b"y");
        assert!(parents.get(b"none/y").is_err());
    }
}
