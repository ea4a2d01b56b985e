//! What there is to copy: the tree below the source, listed before anything is written.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Dir, FileType, OFlags, Stat};

use super::fault::{Fault, Why};
use crate::held::{Aim, Held, HeldError};
use narrows_base::units::Bytes;

/// One name of the source.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// Its path below the top.
    pub(super) below: Below,
    pub(super) kind: EntryKind,
    /// What `lstat(2)` told.
    pub(super) stat: Stat,
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    Directory,
    File,
    Symlink,
    /// Another name of the file or symbolic link that is the entry of this index.
    HardLink(usize),
    /// A device, pipe or socket: not copied.
    Special(&'static str),
}

impl Entry {
    /// The size of a file.
    pub(super) fn size(&self) -> u64 {
        size(&self.stat)
    }
}

/// Names of the source, directories before what is in them.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) entries: Vec<Entry>,
    /// Directories that could not be listed.
    pub(super) faults: Vec<Fault>,
    /// Device and inode number of every directory.
    pub(super) directories: HashSet<(u64, u64)>,
}

impl Listing {
    /// Lists the tree.
    ///
    /// # Errors
    /// The top itself cannot be looked at. Anything below that cannot is a fault in the listing.
    pub(super) fn of(source: &Place, stop: &AtomicBool) -> io::Result<Self> {
        let mut listing = Self::default();
        let mut links = HashMap::new();
        let top = look(source.base(), source.name())?.ok_or(io::ErrorKind::NotFound)?;
        listing.add(Vec::new(), top, &mut links);
        // Entries are appended while they are worked off; each directory adds what it holds behind all others.
        let mut next = 0;
        while let Some(entry) = listing.entries.get(next) {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            if entry.kind == EntryKind::Directory {
                let below = entry.below.clone();
                if let Err(error) = listing.list(source, &below, &mut links) {
                    let why = Why::Io { action: "list it", error: error.to_string() };
                    listing.faults.push(Fault { path: source.shown(&below), why });
                }
            }
            next += 1;
        }
        Ok(listing)
    }

    fn list(
        &mut self,
        source: &Place,
        below: &[u8],
        links: &mut HashMap<(u64, u64), usize>,
    ) -> io::Result<()> {
        let directory = source.directory(below)?;
        let mut names = names(&directory)?;
        names.sort_unstable();
        for name in names {
            match look(&directory, &name) {
                Ok(Some(stat)) => self.add(join(below, &name), stat, links),
                // It went away since.
                Ok(None) => {}
                Err(error) => {
                    let path = source.shown(&join(below, &name));
                    self.faults.push(Fault { path, why: Why::io("look at it", &error) });
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, below: Below, stat: Stat, links: &mut HashMap<(u64, u64), usize>) {
        let id = identity(&stat);
        let index = self.entries.len();
        let first = (stat.st_nlink > 1).then(|| *links.entry(id).or_insert(index));
        let first = first.filter(|first| *first != index);
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            // Mounted a second time, perhaps inside itself.
            FileType::Directory if !self.directories.insert(id) => {
                EntryKind::Special("a directory listed already")
            }
            FileType::Directory => EntryKind::Directory,
            FileType::RegularFile => first.map_or(EntryKind::File, EntryKind::HardLink),
            // One link with two names stays one.
            FileType::Symlink => first.map_or(EntryKind::Symlink, EntryKind::HardLink),
            FileType::Fifo => EntryKind::Special("a pipe"),
            FileType::Socket => EntryKind::Special("a socket"),
            FileType::CharacterDevice => EntryKind::Special("a character device"),
            FileType::BlockDevice => EntryKind::Special("a block device"),
            _ => EntryKind::Special("of an unknown kind"),
        };
        self.entries.push(Entry { below, kind, stat });
    }

    /// The files to copy: how many, and their bytes as far as they hold data.
    pub(super) fn extent(&self) -> (u64, Bytes) {
        let files = self.entries.iter().filter(|entry| entry.kind == EntryKind::File);
        files.fold((0, Bytes::new(0)), |(count, sum), file| {
            (count + 1, sum + Bytes::new(allocated(&file.stat)))
        })
    }
}

/// The names in a directory.
///
/// # Errors
/// What `getdents64(2)` answers.
pub(super) fn names(directory: &File) -> io::Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(name.to_vec());
        }
    }
    Ok(names)
}

/// Device and inode number.
pub(super) fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

/// The size of a file.
pub(super) fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

/// The bytes of a file that are not in holes, as far as the number of its blocks tells.
pub(super) fn allocated(stat: &Stat) -> u64 {
    let blocks = u64::try_from(stat.st_blocks).unwrap_or(0);
    size(stat).min(blocks.saturating_mul(512))
}

/// Whether a file may have holes: it has fewer blocks than its size takes.
pub(super) fn may_have_holes(stat: &Stat) -> bool {
    allocated(stat) < size(stat)
}

/// The time of the last change of the data, in nanoseconds since 1970.
pub(super) fn modified(stat: &Stat) -> i128 {
    i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec)
}

pub(super) use crate::held::look;

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
    #![expect(clippy::disallowed_methods, reason = "tests make files")]

    use super::*;
    use crate::held::Aim;
    use std::fs;

    fn listing(dir: &std::path::Path) -> Listing {
        let place = Place::typed(&dir.join("top"), Aim::Read).unwrap().unwrap();
        Listing::of(&place, &AtomicBool::new(false)).unwrap()
    }

    #[test]
    fn every_kind_of_name_is_listed_after_its_directory() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().join("top");
        fs::create_dir_all(top.join("a/b")).unwrap();
        fs::write(top.join("a/file"), "12345").unwrap();
        fs::hard_link(top.join("a/file"), top.join("z")).unwrap();
        std::os::unix::fs::symlink("/nowhere", top.join("link")).unwrap();
        fs::hard_link(top.join("link"), top.join("a/twin")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(top.join("socket")).unwrap();
        let listing = listing(dir.path());
        let names: Vec<_> =
            listing.entries.iter().map(|e| String::from_utf8_lossy(&e.below).into_owned()).collect();
        assert_eq!(names, ["", "a", "link", "socket", "z", "a/b", "a/file", "a/twin"]);
        let kinds: Vec<EntryKind> = listing.entries.iter().map(|entry| entry.kind).collect();
        let want = [
            EntryKind::Directory,
            EntryKind::Directory,
            EntryKind::Symlink,
            EntryKind::Special("a socket"),
            EntryKind::File,
            EntryKind::Directory,
            EntryKind::HardLink(4),
            EntryKind::HardLink(2),
        ];
        assert_eq!(kinds, want);
        assert_eq!((listing.extent().0, listing.directories.len()), (1, 3));
        assert!(listing.faults.is_empty());
    }

    #[test]
    fn a_file_alone_is_a_tree_of_one_and_a_missing_one_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let place = Place::typed(&dir.path().join("top"), Aim::Read).unwrap().unwrap();
        assert!(Listing::of(&place, &AtomicBool::new(false)).is_err());
        fs::write(dir.path().join("top"), "x").unwrap();
        let listing = listing(dir.path());
        assert_eq!((listing.entries.len(), listing.entries[0].size()), (1, 1));
    }

    #[test]
    fn a_file_with_fewer_blocks_than_bytes_may_have_holes() {
        let dir = tempfile::tempdir().unwrap();
        let file = File::create(dir.path().join("top")).unwrap();
        file.set_len(1 << 20).unwrap();
        let entry = &listing(dir.path()).entries[0];
        assert!(may_have_holes(&entry.stat));
        assert_eq!((entry.size(), allocated(&entry.stat)), (1 << 20, 0));
    }

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
