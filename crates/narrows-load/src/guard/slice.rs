//! A slice of a device: the part that was proven empty, as a partition that only the kernel knows or, where the kernel makes
//! none, as a linear mapping. Tools get the slice and never the device, so nothing outside of it can be written, trimmed or
//! discarded.
//!
//! While the slice is there nobody can mount or claim the device as a whole: its rest is a partition of its own that this
//! process has claimed, or the mapping has claimed all of the device.

#![expect(clippy::disallowed_methods, reason = "opens the devices that a slice is made of")]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use nix::libc;

use super::super::error::LoadError;
use super::super::marks::DeviceKey;
use super::open::{WritableDevice, claim};
use super::partition;

/// The blocks that disks have, in bytes.
const BLOCKS: [u64; 2] = [512, 4096];

/// Where a slice is, or is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlicePlan {
    /// The node of the disk.
    pub disk: PathBuf,
    /// The node of the slice.
    pub slice: PathBuf,
    /// Its number as a partition.
    pub number: u32,
    /// The slice: its first byte and its length.
    pub extent: (u64, u64),
    /// The rest; `None` where the slice is a mapping.
    pub rest: Option<PlannedRest>,
    /// How what the load engine writes to it is marked.
    pub key: DeviceKey,
}

/// The partition of what is behind a slice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedRest {
    /// Its node.
    pub node: PathBuf,
    /// Its number.
    pub number: u32,
    /// Its first byte and its length.
    pub extent: (u64, u64),
}

/// Why a slice was not made.
#[derive(Debug)]
pub enum Unmade {
    /// The kernel makes no partitions on such a disk, which is as it was before and still ours.
    NoPartitions(Box<WritableDevice>),
    /// Anything else.
    Failed(LoadError),
}

/// A slice that is held: it cannot be removed, and the rest of its device is claimed.
#[derive(Debug)]
pub struct Slice {
    plan: SlicePlan,
    disk: File,
    held: File,
    rest: Option<File>,
}

fn open(path: &Path, flags: i32) -> Result<File, LoadError> {
    let mut options = OpenOptions::new();
    let opened = options.read(true).custom_flags(libc::O_NONBLOCK | flags).open(path);
    opened.map_err(|error| LoadError::io("open", path, error))
}

impl Slice {
    /// Makes the slice on a disk that is `proven`: ours alone, and the slice's part of it nothing but zeros. The claim on the
    /// disk is given up for one on its rest when both partitions are there.
    ///
    /// # Errors
    /// The kernel makes no partitions on it, or somebody was faster. Then what was made is removed.
    pub fn make(proven: WritableDevice, plan: SlicePlan) -> Result<Self, Unmade> {
        let failed = |error| LoadError::io("make a partition of", &plan.disk, error);
        let Some(rest) = &plan.rest else { return Err(Unmade::NoPartitions(Box::new(proven))) };
        let disk = open(&plan.disk, 0).map_err(Unmade::Failed)?;
        match partition::add(&disk, plan.number, plan.extent.0, plan.extent.1) {
            Err(error) if takes_none(&error) => return Err(Unmade::NoPartitions(Box::new(proven))),
            added => added.map_err(failed).map_err(Unmade::Failed)?,
        }
        let added = partition::add(&disk, rest.number, rest.extent.0, rest.extent.1);
        let made = added.map_err(failed).and_then(|()| {
            drop(proven);
            Ok((open(&plan.slice, 0)?, open(&rest.node, libc::O_EXCL)?))
        });
        match made {
            Ok((held, behind)) => Ok(Self { plan, disk, held, rest: Some(behind) }),
            Err(error) => {
                // What was not made cannot be removed, which is no harm.
                let _ = partition::delete(&disk, rest.number);
                let _ = partition::delete(&disk, plan.number);
                Err(Unmade::Failed(error))
            }
        }
    }

    /// Holds a slice that is there. The rest is claimed, unless somebody else has claimed it.
    ///
    /// # Errors
    /// It is not there, or may not be opened.
    pub fn hold(plan: SlicePlan) -> Result<Self, LoadError> {
        let disk = open(&plan.disk, 0)?;
        let held = open(&plan.slice, 0)?;
        let rest = plan.rest.as_ref().and_then(|rest| open(&rest.node, libc::O_EXCL).ok());
        Ok(Self { plan, disk, held, rest })
    }

    /// Opens the slice for writing, exclusively: no tool has it then.
    ///
    /// # Errors
    /// Somebody has claimed it, or the kernel refuses.
    pub fn writable(&self) -> Result<WritableDevice, LoadError> {
        Ok(WritableDevice::of(claim(&self.plan.slice)?)?.marked_by(self.plan.key))
    }

    /// What sends on its way what others wrote to the disk and the kernel still keeps.
    ///
    /// # Errors
    /// There is no room for another handle.
    pub fn flusher(&self) -> io::Result<Flusher> {
        let files = std::iter::once(&self.disk).chain(&self.rest);
        Ok(Flusher(files.map(File::try_clone).collect::<io::Result<_>>()?))
    }

    /// Waits until what others wrote to the disk past its slice is written, and so counted.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn sync_disk(&self) -> io::Result<()> {
        self.disk.sync_all()
    }

    /// Makes the kernel refuse what is still to be written through the slice, also by a file system that is mounted on it: its
    /// partition ends with its first block until [`reopen_slice`]. Whether it does; a mapping stays as it is.
    pub fn shut(&self) -> bool {
        let (number, start) = (self.plan.number, self.plan.extent.0);
        self.plan.rest.is_some()
            && BLOCKS.iter().any(|block| partition::resize(&self.disk, number, start, *block).is_ok())
    }

    /// Where it is.
    pub const fn plan(&self) -> &SlicePlan {
        &self.plan
    }

    /// Waits until what anybody wrote to the disk or to its slice is written, and so counted.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn sync(&self) -> io::Result<()> {
        self.disk.sync_all()?;
        self.held.sync_all()
    }
}

/// Sends on its way what others wrote to a disk and the kernel still keeps, so that it is counted.
#[derive(Debug)]
pub struct Flusher(Vec<File>);

impl Flusher {
    /// Of one device.
    pub(super) fn of(file: &File) -> io::Result<Self> {
        Ok(Self(vec![file.try_clone()?]))
    }

    /// Does it, and waits for nothing.
    pub fn flush(&self) {
        for file in &self.0 {
            // Advice that is not taken is no harm: the kernel writes it later by itself.
            let _ = posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
        }
    }
}

/// Whether this is the kernel's answer for a disk that takes no partitions. Number and place of ours are such that all others
/// take them.
fn takes_none(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOTTY | libc::EOPNOTSUPP))
}

/// Gives a slice that was [shut](Slice::shut) its length again. A mapping stays as it is.
///
/// # Errors
/// There is none, or something else is in its place.
pub fn reopen_slice(plan: &SlicePlan) -> Result<(), LoadError> {
    if plan.rest.is_none() {
        return Ok(());
    }
    let resized = partition::resize(&open(&plan.disk, 0)?, plan.number, plan.extent.0, plan.extent.1);
    resized.map_err(|error| LoadError::io("reopen the lab's partition of", &plan.disk, error))
}

/// Whether a partition of this length may be a slice that was shut.
pub fn is_shut(bytes: u64) -> bool {
    BLOCKS.contains(&bytes)
}

/// Removes the partitions that are there of a slice that nobody holds.
///
/// # Errors
/// Somebody has a part of it open.
pub fn remove_slice(plan: &SlicePlan) -> Result<(), LoadError> {
    remove(&open(&plan.disk, 0)?, plan)
}

fn remove(disk: &File, plan: &SlicePlan) -> Result<(), LoadError> {
    let rest = plan.rest.as_ref().map(|rest| rest.number);
    for number in rest.into_iter().chain([plan.number]) {
        match partition::delete(disk, number) {
            Err(error) if error.raw_os_error() != Some(libc::ENXIO) => {
                return Err(LoadError::io("remove the lab's partition of", &plan.disk, error));
            }
            _ => {}
        }
    }
    Ok(())
}
