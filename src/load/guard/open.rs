//! Opens block devices: to look at them, and, with a permit, to write.

#![expect(clippy::disallowed_methods, reason = "opening the device that is written is this file's job")]

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::libc;
use nix::sys::stat::{major, minor};

use super::super::buffer::Buffer;
use super::super::error::LoadError;
use super::decide::{Permit, Refusal};
use super::reason::Reason;
use super::scan::{Medium, examine};
use crate::units::Bytes;

/// A block device that is open to be looked at.
#[derive(Debug)]
pub struct Device {
    path: PathBuf,
    file: File,
    number: (u32, u32),
    size: Bytes,
}

impl Device {
    /// Opens a block device for reading. Symbolic links are followed; what counts from then on is the number.
    ///
    /// # Errors
    /// There is none, it is no block device, or it may not be opened.
    pub fn open(path: &Path) -> Result<Self, LoadError> {
        // Without O_NONBLOCK a pipe of this name would block, and a drive with removable media wait for one.
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
        Self::of(path, file.map_err(|error| LoadError::io("open", path, error))?)
    }

    fn of(path: &Path, mut file: File) -> Result<Self, LoadError> {
        let failed = |error| LoadError::io("look at", path, error);
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.file_type().is_block_device() {
            return Err(LoadError::NotADevice(path.to_owned()));
        }
        let number = (narrow(major(metadata.rdev())), narrow(minor(metadata.rdev())));
        let size = Bytes::new(file.seek(SeekFrom::End(0)).map_err(failed)?);
        Ok(Self { path: path.to_owned(), file, number, size })
    }

    /// A file that is taken for a device, to test decisions.
    #[cfg(test)]
    pub(super) fn pretend(path: &Path, number: (u32, u32)) -> Self {
        let mut file = File::open(path).expect("a file");
        let size = Bytes::new(file.seek(SeekFrom::End(0)).expect("a size"));
        Self { path: path.to_owned(), file, number, size }
    }

    /// Major and minor number.
    pub const fn number(&self) -> (u32, u32) {
        self.number
    }

    /// The path that it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether somebody else has an exclusive claim on it: a mount, an array, a mapping, a pool.
    pub fn is_claimed(&self) -> bool {
        OpenOptions::new().read(true).custom_flags(libc::O_EXCL | libc::O_NONBLOCK).open(&self.path).is_err()
    }
}

/// Device numbers of Linux have 12 and 20 bits (`include/linux/kdev_t.h`).
fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl Medium for Device {
    fn size(&self) -> Bytes {
        self.size
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(into, offset)
    }
}

/// A block device that is ours alone and may be written past the page cache.
#[derive(Debug)]
pub struct WritableDevice {
    path: PathBuf,
    file: File,
    size: Bytes,
}

impl WritableDevice {
    /// The handle to write through (`O_EXCL | O_RDWR | O_DIRECT`): while it is open, nobody can mount or claim the
    /// device.
    pub const fn file(&self) -> &File {
        &self.file
    }

    /// The path that it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The handle on its own.
    pub(in crate::load) fn into_file(self) -> File {
        self.file
    }
}

impl Medium for WritableDevice {
    fn size(&self) -> Bytes {
        self.size
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let mut buffer = Buffer::new(into.len())?;
        self.file.read_exact_at(buffer.bytes().get_mut(..into.len()).unwrap_or_default(), offset)?;
        into.copy_from_slice(buffer.bytes().get(..into.len()).unwrap_or_default());
        Ok(())
    }
}

/// Why a permitted device could not be opened for writing after all.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The kernel refused to open it.
    #[error(transparent)]
    Open(#[from] LoadError),
    /// What the handle shows is not what was examined.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// Opens the device of a permit for writing, exclusively, and examines it once more through the very handle that
/// writes: whatever came onto it since the decision is found, and nothing can be mounted on it from then on.
///
/// [`open_built`](super::open_built) and [`restore`](super::restore) do the same for what the lab built, and built on.
///
/// # Errors
/// The kernel refuses, above all because somebody claimed the device meanwhile; or it is another device, has another
/// size, or is no longer empty.
pub fn open_for_writing(permit: Permit) -> Result<WritableDevice, WriteError> {
    let Permit { device, name } = permit;
    let claimed = claim(&device.path)?;
    let path = device.path.clone();
    let mut reasons = Vec::new();
    if claimed.number != device.number {
        reasons.push(Reason::Changed { what: format!("`{}` is another device now", path.display()) });
    }
    if claimed.size != device.size {
        reasons.push(Reason::Changed { what: format!("the size of {name} changed") });
    }
    let writable = WritableDevice::of(claimed);
    let found = examine(&name, &writable);
    reasons.extend(
        found.signatures.into_iter().map(|signature| Reason::Content { device: name.clone(), signature }),
    );
    reasons.extend(found.unreadable.map(|error| Reason::Unreadable { device: name.clone(), error }));
    if reasons.is_empty() { Ok(writable) } else { Err(Refusal { device: name, reasons }.into()) }
}

/// Opens a device for reading and writing, exclusively and past the page cache. Whoever calls this has reasons why it may.
pub(super) fn claim(path: &Path) -> Result<Device, LoadError> {
    let failed = |error| LoadError::io("open for writing", path, error);
    let flags = libc::O_EXCL | libc::O_DIRECT | libc::O_NONBLOCK;
    let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path).map_err(failed)?;
    let claimed = Device::of(path, file)?;
    // With O_NONBLOCK io_uring would fail a write to a full queue instead of waiting.
    let waiting = fcntl(&claimed.file, FcntlArg::F_SETFL(OFlag::O_DIRECT));
    waiting.map_err(|error| failed(error.into()))?;
    Ok(claimed)
}

impl WritableDevice {
    /// What [`claim`] opened.
    pub(super) fn of(claimed: Device) -> Self {
        Self { path: claimed.path, file: claimed.file, size: claimed.size }
    }
}
