//! The source of a copy before it is copied: how much there is, and whether a copy will find it in the page cache.

use std::io::{self, IoSliceMut};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Advice, OFlags, fadvise, statvfs};
use rustix::io::{Errno, ReadWriteFlags, preadv2};

use super::fault::CopyError;
use super::scan::{Entry, EntryKind, Listing, Parents, Place, allocated};
use crate::held::Aim;
use narrows_base::units::Bytes;

/// What is read at once when the source is read through.
const PIECE: usize = 1 << 20;
/// What is looked at of each [`PIECE`]: a page of the cache.
const PAGE: usize = 4096;

/// A file or tree that is to be copied, as it was when it was looked at.
#[derive(Debug)]
pub struct Source {
    place: Place,
    listing: Listing,
}

/// How much there is to copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Files, each once however many names it has.
    pub files: u64,
    /// All names: files, directories and links.
    pub names: u64,
    /// Data of the files, without holes.
    pub bytes: Bytes,
    /// What a file system with blocks of 4 KiB needs for files and directories, without its own tables.
    pub needed: Bytes,
}

/// What a file system has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Bytes, those that are kept for root among them.
    pub bytes: Bytes,
    /// Names; `None` where the file system makes room for them as they come.
    pub names: Option<u64>,
}

impl Room {
    /// What is left of the file system that holds `directory`.
    ///
    /// # Errors
    /// What `statvfs(2)` answers.
    pub fn of(directory: &Path) -> io::Result<Self> {
        let told = statvfs(directory)?;
        let names = (told.f_files > 0).then_some(told.f_ffree);
        Ok(Self { bytes: Bytes::new(told.f_bfree.saturating_mul(told.f_frsize)), names })
    }

    /// Whether so much may fit.
    pub fn holds(&self, extent: &Extent) -> bool {
        extent.needed <= self.bytes && self.names.is_none_or(|names| extent.names <= names)
    }
}

impl Source {
    /// Lists what there is. Nothing is followed out of the tree.
    ///
    /// # Errors
    /// [`CopyError`] when it cannot be listed, or is nothing that is copied.
    pub fn look(path: &Path, stop: &AtomicBool) -> Result<Self, CopyError> {
        let failed = |action| move |source| CopyError::Io { action, path: path.to_owned(), source };
        let place = Place::typed(path, Aim::Read).map_err(|error| CopyError::held("open", path, error))?;
        let place = place.ok_or_else(|| CopyError::NoName(path.to_owned()))?;
        let listing = Listing::of(&place, stop).map_err(failed("list"))?;
        match listing.entries.first().map(|top| top.kind) {
            Some(EntryKind::Special(what)) => Err(CopyError::Special { path: path.to_owned(), what }),
            _ => Ok(Self { place, listing }),
        }
    }

    /// How much it is.
    pub fn extent(&self) -> Extent {
        let (files, bytes) = self.listing.extent();
        let blocks = |entry: &Entry| match entry.kind {
            EntryKind::File => allocated(&entry.stat).div_ceil(PAGE as u64).max(1),
            EntryKind::Directory => 1,
            _ => 0,
        };
        let blocks: u64 = self.listing.entries.iter().map(blocks).sum();
        let names = self.listing.entries.len() as u64;
        Extent { files, names, bytes, needed: Bytes::new(blocks.saturating_mul(PAGE as u64)) }
    }

    /// Reads every file once through the page cache. What cannot be read is passed over: the copy will say so.
    /// `told` gets how many bytes are read so far.
    pub fn read_through(&self, stop: &AtomicBool, told: &mut dyn FnMut(Bytes)) {
        let (mut piece, mut done) = (vec![0; PIECE], 0);
        self.each_file(stop, |file| {
            let mut at = 0;
            while !stop.load(Ordering::Relaxed) {
                match file.read_at(&mut piece, at) {
                    Ok(0) | Err(_) => break,
                    Ok(count) => at += count as u64,
                }
                told(Bytes::new(done + at));
            }
            done += at;
        });
    }

    /// Asks the kernel to drop every file from its page cache. That is a hint, which it may not follow.
    pub fn drop_from_cache(&self, stop: &AtomicBool) {
        self.each_file(stop, |file| {
            let _ = fadvise(file, 0, None, Advice::DontNeed);
        });
    }

    /// The part of the data that lies in the page cache, by one page of each MiB; `None` where the file system does not
    /// tell, or there are no data.
    pub fn cached(&self, stop: &AtomicBool) -> Option<f64> {
        let (mut looked, mut found, mut refused) = (0_u64, 0_u64, false);
        let mut page = [0; PAGE];
        self.each_file(stop, |file| {
            let size = file.metadata().map_or(0, |about| about.len());
            for at in (0..size).step_by(PIECE) {
                let into = &mut [IoSliceMut::new(&mut page)];
                match preadv2(file, into, at, ReadWriteFlags::NOWAIT) {
                    Ok(_) => (looked, found) = (looked + 1, found + 1),
                    Err(Errno::AGAIN) => looked += 1,
                    Err(_) => refused = true,
                }
            }
        });
        (looked > 0 && !refused).then(|| found as f64 / looked as f64)
    }

    fn each_file(&self, stop: &AtomicBool, mut with: impl FnMut(&std::fs::File)) {
        let mut parents = Parents::of(&self.place);
        let files = self.listing.entries.iter().filter(|entry| entry.kind == EntryKind::File);
        for entry in files.take_while(|_| !stop.load(Ordering::Relaxed)) {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
            let opened = parents.get(&entry.below).and_then(|(directory, name)| {
                Ok(rustix::fs::openat(directory, name, flags, rustix::fs::Mode::empty())?)
            });
            if let Ok(file) = opened {
                with(&file.into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make files")]

    use super::*;
    use std::fs;

    static GO: AtomicBool = AtomicBool::new(false);

    #[test]
    fn a_tree_is_counted_in_blocks_and_read_to_its_end() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("top/empty")).unwrap();
        fs::write(dir.path().join("top/large"), vec![7; 3 << 20]).unwrap();
        fs::write(dir.path().join("top/small"), "x").unwrap();
        fs::hard_link(dir.path().join("top/small"), dir.path().join("top/twin")).unwrap();
        let source = Source::look(&dir.path().join("top"), &GO).unwrap();
        let extent = source.extent();
        assert_eq!((extent.files, extent.names), (2, 5));
        // 768 blocks of data and one of the small file, two directories.
        assert_eq!(extent.needed, Bytes::new(771 * 4096));
        let mut read = Bytes::new(0);
        source.read_through(&GO, &mut |so_far| read = so_far);
        assert_eq!(read, Bytes::new((3 << 20) + 1));
        assert!(source.cached(&GO).is_none_or(|part| part == 1.0));
        let stopped = AtomicBool::new(true);
        source.read_through(&stopped, &mut |_| panic!("nothing is read once it is stopped"));
    }

    #[test]
    fn what_does_not_fit_is_known_before() {
        let dir = tempfile::tempdir().unwrap();
        let room = Room::of(dir.path()).unwrap();
        let extent = Extent { files: 1, names: 1, bytes: Bytes::new(1), needed: Bytes::new(4096) };
        assert!(room.holds(&extent));
        assert!(!room.holds(&Extent { needed: Bytes::new(room.bytes.get() + 1), ..extent }));
        assert!(!Room { names: Some(0), ..room }.holds(&extent));
        assert!(Room { names: None, ..room }.holds(&extent));
    }

    #[test]
    fn what_is_no_file_or_tree_is_refused() {
        assert!(matches!(Source::look(Path::new("/dev/null"), &GO), Err(CopyError::Special { .. })));
        assert!(Source::look(Path::new("/nonexistent/tree"), &GO).is_err());
    }
}
