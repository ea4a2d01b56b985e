//! Both ends of a copy: a directory that is held open, and names below it that are never followed through a symbolic
//! link.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

pub(super) use crate::held::look;
use crate::held::{Aim, Held, HeldError};

/// A path below the top of a tree, as bytes; empty for the top itself.
pub(super) type Below = Vec<u8>;

/// The top of a tree: a directory that is open, and the name of the top in it.
#[derive(Debug)]
pub(super) struct Place {
    base: Held,
    name: Vec<u8>,
}

impl Place {
    /// The top that was typed. Its own name is not followed; `None` for `/`, which has none.
    ///
    /// # Errors
    /// The directory that holds it cannot be opened, or others could have it lead elsewhere.
    pub(super) fn typed(path: &Path, aim: Aim) -> Result<Option<Self>, HeldError> {
        let held = Held::parent_of(path, aim)?;
        Ok(held.map(|(base, name)| Self { base, name: name.as_bytes().to_vec() }))
    }

    /// The directory that holds the top.
    pub(super) fn base(&self) -> &File {
        self.base.handle()
    }

    /// The top by its real path.
    ///
    /// # Errors
    /// The kernel does not tell it.
    pub(super) fn real_path(&self) -> io::Result<PathBuf> {
        Ok(self.base.real_path()?.join(OsStr::from_bytes(&self.name)))
    }

    /// The name of the top.
    pub(super) fn name(&self) -> &[u8] {
        &self.name
    }

    /// The whole path of something below, for people.
    pub(super) fn shown(&self, below: &[u8]) -> PathBuf {
        self.base.path().join(OsStr::from_bytes(&self.path_of(below)))
    }

    fn path_of(&self, below: &[u8]) -> Vec<u8> {
        join(&self.name, below)
    }

    /// Opens what is there. No link on the way or at the end is followed.
    ///
    /// # Errors
    /// What `openat2(2)` answers; ELOOP for a symbolic link.
    pub(super) fn open(&self, below: &[u8], flags: OFlags) -> io::Result<File> {
        self.base.open_beneath(&self.path_of(below), flags)
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
            return Ok((self.place.base(), &self.place.name));
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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn parents_are_opened_once_for_each_directory() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("top/a")).unwrap();
        let place = Place::typed(&dir.path().join("top"), Aim::Read).unwrap().unwrap();
        let mut parents = Parents::of(&place);
        assert_eq!(parents.get(b"").unwrap().1, b"top");
        assert_eq!(parents.get(b"x").unwrap().1, b"x");
        assert_eq!(parents.get(b"a/y").unwrap().1, b"y");
        assert!(parents.get(b"none/y").is_err());
    }
}
