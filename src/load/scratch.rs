//! The scratch file: the only thing that narrows ever writes to.
//!
//! The file has no name (`O_TMPFILE`), or loses it right after it was made, so nothing is left behind however the
//! process ends; a process that is killed between the two leaves an empty file, which the next run removes. It is made by
//! us, so no data of anybody can be in it.

#![expect(clippy::disallowed_methods, reason = "making the scratch file is this file's job")]

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use nix::fcntl::{OFlag, openat};
use nix::libc;
use nix::sys::stat::Mode;
use nix::sys::statvfs::{FsFlags, fstatvfs};
use nix::unistd::{UnlinkatFlags, unlinkat};

use super::buffer::Buffer;
use super::error::LoadError;
use super::leftover::{scratch_name, sweep};
use super::random::Random;
use super::target::{Target, drop_direct};
use crate::units::Bytes;

/// Bytes in one write: large enough for the full rate of most devices at depth 1.
const CHUNK: u64 = 4 << 20;
/// Bytes after which the writes are made durable.
const SYNC_EVERY: u64 = 8 * CHUNK;
/// Every block of this size differs from every other, so that no deduplication shrinks the file.
const DISTINCT: usize = 4096;
/// Below this a file fits into the caches of drives and is read in a few milliseconds.
const MINIMUM: Bytes = Bytes::from_mib(64);

/// How a scratch file is made.
#[derive(Debug, Clone)]
pub struct ScratchOptions {
    /// What must stay free on the file system; by default the larger of 5 % of it and 1 GiB.
    pub reserve: Option<Bytes>,
    /// The smallest useful file; a file that does not fit shrinks no further.
    pub minimum: Bytes,
    /// How long the filling may take; a file that is not full by then, but larger than the minimum, stays as it is.
    pub time: Option<Duration>,
    /// Decides the contents.
    pub seed: u64,
}

impl Default for ScratchOptions {
    fn default() -> Self {
        Self { reserve: None, minimum: MINIMUM, time: None, seed: 0 }
    }
}

/// A file without a name, full of incompressible data, on stable storage.
#[derive(Debug)]
pub struct ScratchFile {
    target: Target,
}

impl ScratchFile {
    /// Makes a file of `size` in `dir`, or smaller when the space does not suffice, and fills it. `progress` is told
    /// the bytes written and the bytes to write; it ends the work by answering [`ControlFlow::Break`].
    ///
    /// # Errors
    /// `dir` is missing, no directory, not writable, on a read-only file system or too full; a write failed; or
    /// `progress` broke it off. Nothing is left behind in any case.
    pub fn create(
        dir: &Path,
        size: Bytes,
        options: &ScratchOptions,
        progress: &mut dyn FnMut(Bytes, Bytes) -> ControlFlow<()>,
    ) -> Result<Self, LoadError> {
        let failed = |error| LoadError::io("create a scratch file in", dir, error);
        let parent =
            OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY).open(dir).map_err(failed)?;
        let size = fitting_size(dir, &parent, size, options)?;
        let (file, direct) = open_nameless(&parent).map_err(failed)?;
        let mut fill = Fill { dir, file: &file, direct, random: Random::seeded(options.seed), options };
        let written = fill.write(size, progress)?;
        if written < options.minimum.get() {
            return Err(no_space(dir, &parent, options));
        }
        let direct = fill.direct;
        file.sync_data().map_err(|error| LoadError::io("write the scratch file in", dir, error))?;
        Ok(Self { target: Target::scratch(dir, file, direct)? })
    }

    /// The file as a target of runs.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The file as a target of runs, on its own.
    pub fn into_target(self) -> Target {
        self.target
    }
}

/// Space on the file system of `dir`: free for this user, and to be kept free.
fn space(parent: &File, options: &ScratchOptions) -> nix::Result<(Bytes, Bytes)> {
    let statistics = fstatvfs(parent)?;
    let unit = statistics.fragment_size();
    let free = statistics.blocks_available().saturating_mul(unit);
    let total = statistics.blocks().saturating_mul(unit);
    let reserve = options.reserve.unwrap_or(Bytes::new((total / 20).max(1 << 30)));
    Ok((Bytes::new(free), reserve))
}

fn no_space(dir: &Path, parent: &File, options: &ScratchOptions) -> LoadError {
    match space(parent, options) {
        Ok((free, reserve)) => {
            LoadError::NoSpace { dir: dir.to_owned(), free, reserve, minimum: options.minimum }
        }
        Err(error) => LoadError::io("look at the free space of", dir, error.into()),
    }
}

/// The size that leaves the reserve free, in whole MiB where it had to shrink.
fn fitting_size(dir: &Path, parent: &File, size: Bytes, options: &ScratchOptions) -> Result<u64, LoadError> {
    // A full image (squashfs, ISO 9660) is read-only before it is full.
    if fstatvfs(parent).is_ok_and(|statistics| statistics.flags().contains(FsFlags::ST_RDONLY)) {
        return Err(LoadError::ReadOnly(dir.to_owned()));
    }
    let (free, reserve) = space(parent, options)
        .map_err(|error| LoadError::io("look at the free space of", dir, error.into()))?;
    let usable = free.saturating_sub(reserve).get();
    let size = if usable < size.get() { usable >> 20 << 20 } else { size.get() };
    if size < options.minimum.get() {
        return Err(LoadError::NoSpace { dir: dir.to_owned(), free, reserve, minimum: options.minimum });
    }
    Ok(size)
}

/// Opens a file without a name, for direct access if possible (second value).
fn open_nameless(parent: &File) -> io::Result<(File, bool)> {
    for direct in [OFlag::O_DIRECT, OFlag::empty()] {
        match open_tmpfile(parent, direct) {
            Err(nix::Error::EINVAL) => {}
            // The file system cannot make nameless files (NFS, FUSE, older overlayfs; EISDIR before Linux 3.11).
            Err(nix::Error::EOPNOTSUPP | nix::Error::EISDIR | nix::Error::ENOENT) => break,
            opened => return Ok((opened?, !direct.is_empty())),
        }
    }
    sweep(parent);
    for direct in [OFlag::O_DIRECT, OFlag::empty()] {
        match open_and_unlink(parent, direct) {
            Err(nix::Error::EINVAL) => {}
            opened => return Ok((opened?, !direct.is_empty())),
        }
    }
    Err(io::ErrorKind::InvalidInput.into())
}

fn open_tmpfile(parent: &File, direct: OFlag) -> nix::Result<File> {
    // With O_TMPFILE, O_EXCL means that the file can never be given a name.
    let flags = OFlag::O_TMPFILE | OFlag::O_EXCL | OFlag::O_RDWR | OFlag::O_CLOEXEC | direct;
    openat(parent, ".", flags, Mode::S_IRUSR | Mode::S_IWUSR).map(File::from)
}

/// Makes a file under a name that cannot be there before, and takes the name away at once.
fn open_and_unlink(parent: &File, direct: OFlag) -> nix::Result<File> {
    let random = getrandom::u64().map_err(|_| nix::Error::EAGAIN)?;
    let name = scratch_name(random);
    let flags =
        OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_RDWR | OFlag::O_CLOEXEC | direct;
    let opened = openat(parent, name.as_str(), flags, Mode::S_IRUSR | Mode::S_IWUSR);
    // EINVAL: some file systems make the file and then refuse to open it with O_DIRECT. After any other error, EEXIST
    // above all, there is no file of ours.
    if matches!(opened, Ok(_) | Err(nix::Error::EINVAL)) {
        let _ = unlinkat(parent, name.as_str(), UnlinkatFlags::NoRemoveDir);
    }
    opened.map(File::from)
}

/// The work of filling a file.
struct Fill<'a> {
    dir: &'a Path,
    file: &'a File,
    direct: bool,
    random: Random,
    options: &'a ScratchOptions,
}

impl Fill<'_> {
    /// Writes `size` bytes and returns how many fit, a whole number of MiB if not all did.
    fn write(
        &mut self,
        size: u64,
        progress: &mut dyn FnMut(Bytes, Bytes) -> ControlFlow<()>,
    ) -> Result<u64, LoadError> {
        let mut buffer = Buffer::new(CHUNK as usize)
            .map_err(|source| LoadError::Memory { bytes: Bytes::new(CHUNK), source })?;
        let begin = Instant::now();
        let mut at = 0;
        while at < size {
            if self.is_late(begin, at) {
                return Ok(at);
            }
            if progress(Bytes::new(at), Bytes::new(size)).is_break() {
                return Err(LoadError::Interrupted);
            }
            let length = CHUNK.min(size - at);
            let chunk = buffer.bytes().get_mut(..length as usize).unwrap_or_default();
            self.random.fill(chunk);
            for (index, block) in (at / DISTINCT as u64..).zip(chunk.chunks_exact_mut(DISTINCT)) {
                block[..8].copy_from_slice(&index.to_le_bytes());
            }
            match self.write_chunk(chunk, at) {
                Ok(()) => at += length,
                Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT)) => {
                    return self.end_early(at);
                }
                Err(error) => return Err(LoadError::io("write the scratch file in", self.dir, error)),
            }
        }
        let _ = progress(Bytes::new(size), Bytes::new(size));
        Ok(size)
    }

    /// Whether the time is up for a file that is large enough.
    fn is_late(&self, begin: Instant, written: u64) -> bool {
        written >= self.options.minimum.get() && self.options.time.is_some_and(|time| begin.elapsed() >= time)
    }

    /// Writes one chunk, through the page cache from then on if the file system refuses direct writes.
    fn write_chunk(&mut self, chunk: &[u8], at: u64) -> io::Result<()> {
        match self.file.write_all_at(chunk, at) {
            Err(error) if self.direct && error.raw_os_error() == Some(libc::EINVAL) => {
                drop_direct(self.file)?;
                self.direct = false;
                self.file.write_all_at(chunk, at)?;
            }
            written => written?,
        }
        // Otherwise the page cache takes everything at once, and the time goes into one long sync at the end. (A file
        // system may accept O_DIRECT and use the page cache all the same.)
        if (at + chunk.len() as u64).is_multiple_of(SYNC_EVERY) { self.file.sync_data() } else { Ok(()) }
    }

    /// The disk or the quota is full although there seemed to be room: keeps the whole MiB that were written, less one
    /// so that the file system can still write its own data.
    fn end_early(&self, written: u64) -> Result<u64, LoadError> {
        let kept = (written >> 20).saturating_sub(1) << 20;
        self.file
            .set_len(kept)
            .map_err(|error| LoadError::io("shorten the scratch file in", self.dir, error))?;
        Ok(kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    const SMALL: ScratchOptions =
        ScratchOptions { reserve: Some(Bytes::new(0)), minimum: Bytes::new(4096), time: None, seed: 1 };

    fn go(_: Bytes, _: Bytes) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    #[test]
    fn the_file_has_no_name_and_its_size() {
        let dir = tempfile::tempdir().unwrap();
        let scratch = ScratchFile::create(dir.path(), Bytes::from_mib(5), &SMALL, &mut go).unwrap();
        assert_eq!(scratch.target().size(), Bytes::from_mib(5));
        assert_eq!(scratch.target().file().metadata().unwrap().nlink(), 0);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_with_a_name_loses_it_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let parent = File::open(dir.path()).unwrap();
        let file = open_and_unlink(&parent, OFlag::empty()).unwrap();
        assert_eq!(file.metadata().unwrap().nlink(), 0);
        assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn its_blocks_are_all_different_and_not_compressible() {
        let dir = tempfile::tempdir().unwrap();
        let scratch = ScratchFile::create(dir.path(), Bytes::from_mib(9), &SMALL, &mut go).unwrap();
        drop_direct(scratch.target().file()).unwrap();
        let mut data = vec![0; 9 << 20];
        scratch.target().file().read_exact_at(&mut data, 0).unwrap();
        let blocks: HashSet<&[u8]> = data.chunks(4096).collect();
        assert_eq!(blocks.len(), 9 << 8);
        // Entropy of the byte distribution; 8 bits would be perfect.
        let mut counts = [0u32; 256];
        data.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
        let share = |n: &u32| f64::from(*n) / data.len() as f64;
        let entropy: f64 = counts.iter().map(|n| -share(n) * share(n).log2()).sum();
        assert!(entropy > 7.99, "{entropy} bits in a byte");
    }

    #[test]
    fn progress_tells_the_truth_and_can_end_it() {
        let dir = tempfile::tempdir().unwrap();
        let mut seen = Vec::new();
        let scratch = ScratchFile::create(dir.path(), Bytes::from_mib(10), &SMALL, &mut |done, of| {
            seen.push((done.get() >> 20, of.get() >> 20));
            ControlFlow::Continue(())
        });
        assert_eq!(scratch.unwrap().into_target().size(), Bytes::from_mib(10));
        assert_eq!(seen, [(0, 10), (4, 10), (8, 10), (10, 10)]);
        let broken =
            ScratchFile::create(dir.path(), Bytes::from_mib(10), &SMALL, &mut |_, _| ControlFlow::Break(()));
        assert!(matches!(broken, Err(LoadError::Interrupted)));
    }

    #[test]
    fn the_reserve_is_respected() {
        let dir = tempfile::tempdir().unwrap();
        let parent = File::open(dir.path()).unwrap();
        let (free, _) = space(&parent, &SMALL).unwrap();
        let tight = ScratchOptions { reserve: Some(free), ..ScratchOptions::default() };
        let refused = ScratchFile::create(dir.path(), Bytes::from_mib(100), &tight, &mut go);
        assert!(matches!(refused, Err(LoadError::NoSpace { .. })), "{refused:?}");
    }

    #[test]
    fn what_is_no_directory_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "x").unwrap();
        let create =
            |path: &Path| ScratchFile::create(path, Bytes::from_mib(1), &SMALL, &mut go).unwrap_err();
        assert!(matches!(create(&file), LoadError::NotADirectory(_)));
        let missing = create(&dir.path().join("none"));
        assert_eq!(missing.hint(), Some("check the spelling of the path"));
        assert_eq!(fs::read(&file).unwrap(), b"x");
    }
}
