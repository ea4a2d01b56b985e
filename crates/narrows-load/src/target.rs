//! What is measured: a block device or a file, opened read-only and past the page cache where that is possible, or what
//! the scratch file and the guard have opened for writing.

#![expect(clippy::disallowed_methods, reason = "opening what is measured is this file's job")]

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::fcntl::{FcntlArg, OFlag, PosixFadviseAdvice, fcntl, posix_fadvise};
use nix::libc;

use super::buffer::Buffer;
use super::error::LoadError;
use super::guard::{Census, WritableDevice};
use super::marks::Marker;
use super::measurement::Access;
pub use super::workload::Region;
use narrows_base::units::Bytes;

/// The sizes that the probe tries: from the smallest logical block size to the largest page size of Linux.
const PROBES: [usize; 8] = [512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536];

/// What kind of thing is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A block device.
    Device {
        /// Whether nobody else can claim it while we hold it (`O_EXCL`): false when it is mounted, or part of an array
        /// or a volume.
        exclusive: bool,
    },
    /// A file that was there before.
    File,
    /// A scratch file that narrows made.
    Scratch,
    /// A block device that the guard opened for writing, of which nothing outside of the region that it was opened for is
    /// ever written.
    Owned,
}

/// Something opened for a run. Only scratch files and permitted devices are ever written.
///
/// A file system may accept `O_DIRECT` and still go through the page cache (ext4 with `data=journal`, FUSE, tmpfs since
/// Linux 6.6, compressed btrfs). That cannot be seen from here; it shows when the bytes read are compared with the
/// device's own counters.
#[derive(Debug)]
pub struct Target {
    path: PathBuf,
    file: File,
    kind: Kind,
    size: Bytes,
    block: Bytes,
    access: Access,
    region: Region,
    /// What runs may change, whatever they visit.
    changeable: Region,
    /// How what is written is marked.
    marker: Option<Marker>,
    /// What it counts beside what is sent to it.
    census: Option<Arc<Census>>,
    keep_cache: bool,
}

/// No part at all.
const NOTHING: Region = Region { start: Bytes::new(0), length: Bytes::new(0) };

impl Target {
    /// Opens a block device, never for writing. The device is claimed (`O_EXCL`) if nobody uses it, so that nobody
    /// mounts it meanwhile; see [`Kind::Device`].
    ///
    /// # Errors
    /// The path does not exist, is no block device, may not be opened, is empty, or its first block cannot be read.
    pub fn open_device(path: &Path) -> Result<Self, LoadError> {
        let metadata = fs::metadata(path).map_err(|error| LoadError::io("open", path, error))?;
        if !metadata.file_type().is_block_device() {
            return Err(LoadError::NotADevice(path.to_owned()));
        }
        let opened = open_reading(path, libc::O_EXCL).map_err(|error| LoadError::io("open", path, error))?;
        Self::probed(path, opened.file, Kind::Device { exclusive: opened.exclusive }, opened.direct)
    }

    /// Opens an existing regular file, past the page cache if the file system allows it.
    ///
    /// # Errors
    /// The path does not exist, is no regular file, may not be opened, is empty, or its first block cannot be read.
    pub fn open_file_read(path: &Path) -> Result<Self, LoadError> {
        check_regular(path)?;
        let opened = open_reading(path, 0).map_err(|error| LoadError::io("open", path, error))?;
        Self::probed(path, opened.file, Kind::File, opened.direct)
    }

    /// Opens an existing regular file to be read through the page cache on purpose, and leaves what is cached: this
    /// measures memory and the kernel, not storage.
    ///
    /// # Errors
    /// As for [`open_file_read`](Self::open_file_read).
    pub fn open_file_cached(path: &Path) -> Result<Self, LoadError> {
        check_regular(path)?;
        let opened =
            open_flagged(path, libc::O_NOATIME).map_err(|error| LoadError::io("open", path, error))?;
        let target = Self::probed(path, opened.file, Kind::File, false)?;
        Ok(Self { keep_cache: true, ..target })
    }

    /// A scratch file that was just filled.
    pub(super) fn scratch(path: &Path, file: File, direct: bool) -> Result<Self, LoadError> {
        let target = Self::probed(path, file, Kind::Scratch, direct)?;
        Ok(Self { changeable: target.region, ..target })
    }

    /// A device that may be written, of which runs visit the first `size` bytes of the region that may be.
    pub(super) fn owned(device: WritableDevice, size: Bytes) -> Result<Self, LoadError> {
        let (region, marker, path) = (device.region(), device.marker(), device.path().to_owned());
        let census = device.census().cloned();
        let target = Self::probed(&path, device.into_file(), Kind::Owned, true)?;
        let visited = Region { length: region.length.min(size), ..region };
        Ok(Self { changeable: region, marker, census, ..target.with_region(visited) })
    }

    /// How what is written to it is marked.
    pub(super) fn marker(&self) -> Option<Marker> {
        self.marker
    }

    /// What it counts beside what is sent to it, for a device that the guard permitted.
    pub(super) fn census(&self) -> Option<&Census> {
        self.census.as_deref()
    }

    /// Whether nobody else has written to it, as far as its counters tell. When nothing is in flight, they tell all of it.
    pub fn is_alone(&self) -> bool {
        self.census().is_none_or(|census| census.check().is_ok())
    }

    /// Whether what is written to it bears marks, and is cleared afterwards: a device that the guard permitted.
    pub fn is_marked(&self) -> bool {
        self.marker.is_some()
    }

    /// What runs may change, whatever they visit; nothing of what is only read.
    pub fn changeable(&self) -> Region {
        self.changeable
    }

    /// Whether runs may change the bytes from `start` to `end`.
    pub(super) fn may_change(&self, start: u64, end: u64) -> bool {
        let Region { start: first, length } = self.changeable;
        first.get() <= start && end <= (first + length).get() && length.get() > 0
    }

    fn probed(path: &Path, mut file: File, kind: Kind, direct: bool) -> Result<Self, LoadError> {
        let failed = |error| LoadError::io("read", path, error);
        let size = Bytes::new(file.seek(SeekFrom::End(0)).map_err(failed)?);
        if size.get() == 0 {
            return Err(LoadError::TooSmall { path: path.to_owned(), size, block_size: Bytes::new(512) });
        }
        let granularity = if direct { direct_granularity(&file).map_err(failed)? } else { None };
        if direct && granularity.is_none() {
            drop_direct(&file).map_err(failed)?;
        }
        let block = Bytes::new(granularity.unwrap_or(1));
        Ok(Self {
            path: path.to_owned(),
            file,
            kind,
            size,
            block,
            access: if granularity.is_some() { Access::Direct } else { Access::Buffered },
            region: Region { start: Bytes::new(0), length: size },
            changeable: NOTHING,
            marker: None,
            census: None,
            keep_cache: false,
        })
    }

    /// The same target, of which only a part is visited. The part is cut off at the end of the target.
    #[must_use]
    pub fn with_region(self, region: Region) -> Self {
        let start = Bytes::new(region.start.get().min(self.size.get()));
        let length = Bytes::new(region.length.get().min(self.size.saturating_sub(start).get()));
        Self { region: Region { start, length }, ..self }
    }

    /// The path it was opened by; for a scratch file, the directory that holds it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What kind of thing it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// How large it is.
    pub fn size(&self) -> Bytes {
        self.size
    }

    /// The smallest read that the kernel accepts past the page cache, which is the logical block size of the device
    /// below; 1 for buffered access.
    pub fn logical_block_size(&self) -> Bytes {
        self.block
    }

    /// Whether it is read past the page cache.
    pub fn access(&self) -> Access {
        self.access
    }

    /// The part that runs visit.
    pub fn region(&self) -> Region {
        self.region
    }

    /// A path by which this process and others of its user can open the same thing as long as we live, though it may have
    /// no name.
    pub fn reopen_path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()))
    }

    /// The same target, read through the page cache, which is asked to forget it before each run.
    ///
    /// # Errors
    /// The kernel opens it no second time.
    pub fn buffered(&self) -> Result<Self, LoadError> {
        let failed = |error| LoadError::io("open", &self.path, error);
        let file = File::open(self.reopen_path()).map_err(failed)?;
        let target = Self::probed(&self.path, file, self.kind, false)?;
        Ok(Self { changeable: self.changeable, marker: self.marker, ..target.with_region(self.region) })
    }

    pub(super) fn into_file(self) -> File {
        self.file
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Before a run with buffered access: asks the kernel to forget what it has cached of the region, so that the run
    /// at least begins on the medium. The kernel may keep pages that are dirty or mapped.
    pub(super) fn forget_cached(&self) {
        if self.access == Access::Buffered && !self.keep_cache {
            let start = i64::try_from(self.region.start.get()).unwrap_or(i64::MAX);
            let length = i64::try_from(self.region.length.get()).unwrap_or(0);
            // A refusal leaves a cache that the comparison with the device's counters reveals.
            let _ = posix_fadvise(&self.file, start, length, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
        }
    }
}

fn check_regular(path: &Path) -> Result<(), LoadError> {
    let metadata = fs::metadata(path).map_err(|error| LoadError::io("open", path, error))?;
    if metadata.is_file() { Ok(()) } else { Err(LoadError::NotAFile(path.to_owned())) }
}

struct Opened {
    file: File,
    direct: bool,
    exclusive: bool,
}

/// Opens for reading with `O_DIRECT`, `O_NOATIME` (which spares a write to the inode) and `extra`, and gives up what is
/// refused: `O_EXCL` when the device is in use, `O_NOATIME` when the file is not ours, `O_DIRECT` when the file system
/// has none. The standard library adds `O_CLOEXEC`.
fn open_reading(path: &Path, extra: i32) -> io::Result<Opened> {
    open_flagged(path, libc::O_DIRECT | libc::O_NOATIME | extra)
}

fn open_flagged(path: &Path, mut flags: i32) -> io::Result<Opened> {
    loop {
        let error = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
            Ok(file) => {
                let (direct, exclusive) = (flags & libc::O_DIRECT != 0, flags & libc::O_EXCL != 0);
                return Ok(Opened { file, direct, exclusive });
            }
            Err(error) => error,
        };
        let refused = match error.raw_os_error() {
            Some(libc::EBUSY) => libc::O_EXCL,
            Some(libc::EPERM) => libc::O_NOATIME,
            Some(libc::EINVAL | libc::EOPNOTSUPP) => libc::O_DIRECT,
            _ => 0,
        };
        if flags & refused == 0 {
            return Err(error);
        }
        flags &= !refused;
    }
}

/// The least size and alignment at which a direct read succeeds, found by reading; `None` when none does, so that
/// access must be buffered.
pub(super) fn direct_granularity(file: &File) -> io::Result<Option<u64>> {
    let mut buffer = Buffer::new(PROBES[PROBES.len() - 1])?;
    for size in PROBES {
        // Buffers are aligned to 4 KiB or more, so the length is what the kernel may object to.
        match file.read_at(&mut buffer.bytes()[..size], 0) {
            Ok(_) => return Ok(Some(size as u64)),
            Err(error) => match error.raw_os_error() {
                Some(libc::EINVAL) => {}
                Some(libc::EOPNOTSUPP) => return Ok(None),
                _ => return Err(error),
            },
        }
    }
    Ok(None)
}

/// Turns an open file back to buffered access.
pub(super) fn drop_direct(file: &File) -> io::Result<()> {
    let flags = OFlag::from_bits_retain(fcntl(file, FcntlArg::F_GETFL)?);
    fcntl(file, FcntlArg::F_SETFL(flags & !OFlag::O_DIRECT))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn file_of(size: usize) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().write_all_at(&vec![5; size], 0).unwrap();
        file
    }

    #[test]
    fn a_file_is_opened_whole_and_read_only() {
        let file = file_of(20_000);
        let target = Target::open_file_read(file.path()).unwrap();
        assert_eq!((target.kind(), target.size()), (Kind::File, Bytes::new(20_000)));
        assert_eq!(target.region(), Region { start: Bytes::new(0), length: Bytes::new(20_000) });
        let error = target.file().write_at(&[1], 0).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EBADF));
    }

    #[test]
    fn direct_access_was_really_tried_and_buffered_access_is_said() {
        let file = file_of(65_536);
        let target = Target::open_file_read(file.path()).unwrap();
        let flags = OFlag::from_bits_retain(fcntl(target.file(), FcntlArg::F_GETFL).unwrap());
        assert_eq!(target.access() == Access::Direct, flags.contains(OFlag::O_DIRECT));
        assert!(target.logical_block_size().get().is_power_of_two());
        let cached = Target::open_file_cached(file.path()).unwrap();
        assert_eq!((cached.access(), cached.logical_block_size()), (Access::Buffered, Bytes::new(1)));
    }

    #[test]
    fn dropping_direct_access_allows_any_length() {
        let file = file_of(65_536);
        let target = Target::open_file_read(file.path()).unwrap();
        drop_direct(target.file()).unwrap();
        assert_eq!(target.file().read_at(&mut [0; 13], 1).unwrap(), 13);
    }

    #[test]
    fn the_same_bytes_are_read_through_the_page_cache() {
        let file = file_of(65_536);
        let target = Target::open_file_read(file.path()).unwrap();
        let buffered = target.buffered().unwrap();
        assert_eq!((buffered.access(), buffered.size()), (Access::Buffered, target.size()));
        assert_eq!(fs::read(target.reopen_path()).unwrap(), fs::read(file.path()).unwrap());
    }

    #[test]
    fn a_region_is_cut_off_at_the_end() {
        let file = file_of(10_000);
        let target = Target::open_file_read(file.path()).unwrap();
        let region = Region { start: Bytes::new(8_000), length: Bytes::new(u64::MAX) };
        assert_eq!(target.with_region(region).region().length, Bytes::new(2_000));
    }

    #[test]
    fn what_is_not_there_or_of_the_wrong_kind_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("none");
        assert!(matches!(Target::open_file_read(&missing), Err(LoadError::Io { action: "open", .. })));
        assert!(matches!(Target::open_device(&missing), Err(LoadError::Io { action: "open", .. })));
        assert!(matches!(Target::open_file_read(directory.path()), Err(LoadError::NotAFile(_))));
        let link = directory.path().join("null");
        symlink("/dev/null", &link).unwrap();
        assert!(matches!(Target::open_device(&link), Err(LoadError::NotADevice(_))));
        assert!(matches!(Target::open_file_read(&link), Err(LoadError::NotAFile(_))));
        let empty = file_of(0);
        assert!(matches!(Target::open_file_read(empty.path()), Err(LoadError::TooSmall { .. })));
    }
}
