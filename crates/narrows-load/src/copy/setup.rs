//! What is settled before anything is copied: both places, that they do not lie in one another, what there is to copy,
//! and what an earlier run left.

use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64};

use rustix::fs::{FileType, FlockOperation, Mode, OFlags, flock, fstat, openat};

use super::CopyOptions;
use super::block::checksum;
use super::destination::{Lost, is_of_us, open_manifest, remove_manifest};
use super::fault::CopyError;
use super::job::{CopyControl, Count, Job};
use super::manifest::{self, Known};
use super::result::{Doing, Meter, Spent};
use super::scan::{EntryKind, Listing, Place, identity, look};
use crate::held::{Aim, Trust};

/// Directories above one another; more is a loop of mounts.
const DEEPEST: usize = 4096;

/// Everything that a copy begins with.
#[derive(Debug)]
pub(super) struct Setup {
    source: Place,
    target: Place,
    pub(super) listing: Listing,
    known: Known,
    manifest: File,
    manifest_name: String,
    run: u64,
    /// The time that this took.
    pub(super) spent: Spent,
}

impl Setup {
    /// Looks at both ends, lists the source, and opens the manifest, which is the first thing to be written.
    ///
    /// # Errors
    /// [`CopyError`] when the copy cannot begin.
    pub(super) fn new(
        source_path: &Path,
        target_path: &Path,
        options: &CopyOptions,
        stop: &AtomicBool,
    ) -> Result<Self, CopyError> {
        let mut meter = Meter::start();
        let opening = |action, path: &Path| {
            let path = path.to_owned();
            move |source| CopyError::Io { action, path, source }
        };
        let held = |action, path: &Path| {
            let path = path.to_owned();
            move |error| CopyError::held(action, &path, error)
        };
        let source = Place::typed(source_path, Aim::Read).map_err(held("open", source_path))?;
        let source = source.ok_or_else(|| CopyError::NoName(source_path.to_owned()))?;
        let target = Place::typed(target_path, Aim::Write);
        let target = target.map_err(held("open the directory of", target_path))?;
        let target = target.ok_or_else(|| CopyError::NoName(target_path.to_owned()))?;
        let top = look(source.base(), source.name()).map_err(opening("look at", source_path))?;
        let top = top.ok_or_else(|| opening("open", source_path)(io::ErrorKind::NotFound.into()))?;
        let is_directory = FileType::from_raw_mode(top.st_mode) == FileType::Directory;
        let there = look(target.base(), target.name()).map_err(opening("look at", target_path))?;
        let inside =
            || CopyError::Inside { from: source_path.to_owned(), destination: target_path.to_owned() };
        let above =
            |place: &Place, id| is_above(place.base(), id).map_err(opening("look above", target_path));
        if is_directory && above(&target, identity(&top))? {
            return Err(inside());
        }
        if let Some(there) = &there {
            let is_target_directory = FileType::from_raw_mode(there.st_mode) == FileType::Directory;
            if identity(there) == identity(&top) || is_target_directory && above(&source, identity(there))? {
                return Err(inside());
            }
            if is_target_directory != is_directory || (!is_directory && !options.resume) {
                return Err(CopyError::Exists(target_path.to_owned()));
            }
        }
        let (manifest, manifest_name, known, run) =
            open(source_path, &source, target_path, &target, options)?;
        let listing = Listing::of(&source, stop).map_err(opening("list", source_path))?;
        let setup_failed = |what| {
            if known.source.is_empty() {
                let _ = remove_manifest(target.base(), &manifest_name);
            }
            CopyError::Special { path: source_path.to_owned(), what }
        };
        if let Some(EntryKind::Special(what)) = listing.entries.first().map(|top| top.kind) {
            return Err(setup_failed(what));
        }
        meter.lap(Doing::Metadata);
        Ok(Self { source, target, listing, known, manifest, manifest_name, run, spent: meter.spent() })
    }

    /// What the threads share.
    pub(super) fn job<'a>(&'a self, options: &'a CopyOptions, control: &'a CopyControl) -> Job<'a> {
        Job {
            source: &self.source,
            target: &self.target,
            options,
            control,
            trust: Trust::of_process(),
            known: &self.known,
            manifest: &self.manifest,
            run: self.run,
            next_part: AtomicU64::new(0),
            is_full: AtomicBool::new(false),
            faults: Mutex::new(Vec::new()),
            lost: Lost::default(),
            small: Count::default(),
            large: Count::default(),
            earlier: AtomicU64::new(0),
            kept: AtomicU64::new(0),
            read_direct: AtomicU64::new(0),
            read_advised: AtomicU64::new(0),
            direct_reads: AtomicU64::new(0),
        }
    }

    /// Where the manifest is.
    pub(super) fn manifest_path(&self) -> PathBuf {
        manifest_path(&self.target, &self.manifest_name)
    }

    /// Removes the manifest; its path if that failed.
    pub(super) fn remove_manifest(&self) -> Option<PathBuf> {
        remove_manifest(self.target.base(), &self.manifest_name).err().map(|_| self.manifest_path())
    }
}

fn manifest_path(target: &Place, name: &str) -> PathBuf {
    let top = target.shown(b"");
    top.parent().unwrap_or(&top).join(name)
}

/// Whether the directory `id` is `directory` or above it.
fn is_above(directory: &File, id: (u64, u64)) -> io::Result<bool> {
    let mut at = directory.try_clone()?;
    let mut last = None;
    for _ in 0..DEEPEST {
        let here = identity(&fstat(&at)?);
        if here == id {
            return Ok(true);
        }
        if last == Some(here) {
            return Ok(false);
        }
        last = Some(here);
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        at = openat(&at, "..", flags, Mode::empty())?.into();
    }
    Err(rustix::io::Errno::LOOP.into())
}

/// Opens the manifest, for us alone, and takes in what it says.
fn open(
    source_path: &Path,
    source: &Place,
    target_path: &Path,
    target: &Place,
    options: &CopyOptions,
) -> Result<(File, String, Known, u64), CopyError> {
    let name = format!(".narrows-copy-{:016x}.manifest", checksum(target.name()));
    let path = manifest_path(target, &name);
    let failed = |action| {
        let path = path.clone();
        move |source| CopyError::Io { action, path, source }
    };
    let real = source.real_path().map_err(failed("find the source of"))?;
    let run = getrandom::u64().map_err(|error| CopyError::Worker(error.to_string()))?;
    let head = manifest::head(real.as_os_str().as_bytes());
    let manifest = match open_manifest(target.base(), &name, true) {
        Ok(manifest) => {
            lock(&manifest, target_path)?;
            let lines = head + &manifest::run(run);
            manifest::append(&manifest, &lines).map_err(|error| {
                // Half a manifest stands in the way of the next run.
                let _ = remove_manifest(target.base(), &name);
                failed("write")(error)
            })?;
            return Ok((manifest, name, Known::default(), run));
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            open_manifest(target.base(), &name, false).map_err(failed("open"))?
        }
        Err(error) => return Err(failed("make")(error)),
    };
    let stat = fstat(&manifest).map_err(|errno| failed("look at")(errno.into()))?;
    if !is_of_us(target.base(), &stat, &Trust::of_process()).map_err(failed("look at"))? {
        return Err(CopyError::NotOurs(path));
    }
    lock(&manifest, target_path)?;
    if manifest::is_cut_short(&manifest, &head).map_err(failed("read"))? {
        manifest.set_len(0).map_err(failed("empty"))?;
        manifest::append(&manifest, &(head + &manifest::run(run))).map_err(failed("write"))?;
        return Ok((manifest, name, Known::default(), run));
    }
    if !options.resume {
        return Err(CopyError::Unfinished(target_path.to_owned(), path));
    }
    let known = manifest::read(&manifest).map_err(failed("read"))?;
    let foreign = || CopyError::Foreign { manifest: path.clone(), from: source_path.to_owned() };
    let known = known.filter(|known| known.source == real.as_os_str().as_bytes()).ok_or_else(foreign)?;
    // A line that was cut short gets its end first, or ours would be read as its rest.
    manifest::append(&manifest, &format!("\n{}", manifest::run(run))).map_err(failed("write"))?;
    Ok((manifest, name, known, run))
}

/// Makes sure that no other process copies to the same place.
fn lock(manifest: &File, target: &Path) -> Result<(), CopyError> {
    flock(manifest, FlockOperation::NonBlockingLockExclusive).map_err(|_| CopyError::Busy(target.to_owned()))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make files")]

    use super::*;

    #[test]
    fn a_directory_is_above_itself_and_what_is_in_it() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("a/b")).unwrap();
        std::fs::create_dir(dir.path().join("c")).unwrap();
        let open = |name: &str| File::open(dir.path().join(name)).unwrap();
        let id = |name: &str| identity(&fstat(open(name)).unwrap());
        assert!(is_above(&open("a"), id("a")).unwrap());
        assert!(is_above(&open("a/b"), id("a")).unwrap());
        assert!(!is_above(&open("c"), id("a")).unwrap());
        assert!(!is_above(&open("a"), id("a/b")).unwrap());
    }
}
