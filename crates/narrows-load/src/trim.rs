//! How blocks are given back: as holes of a file, or as discards of a device.
//!
//! `FALLOC_FL_PUNCH_HOLE` on a block device is no discard: the block layer makes it a Write Zeroes that may unmap
//! (`blkdev_fallocate` in the kernel's `block/fops.c`), which another command of the drive carries out and which is
//! counted as a write. What a file system sends when it is mounted with `discard` is `REQ_OP_DISCARD`, and so is what is
//! sent here.

#![expect(unsafe_code, reason = "a discard outside a ring is an ioctl")]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use nix::fcntl::{FallocateFlags, fallocate};
use nix::libc;
use serde::{Deserialize, Serialize};

use super::engine::{Engine, Op, Request, first_result};
use super::error::LoadError;
use super::memory::Memory;
use super::offsets::Blocks;
use super::ring::{Ring, RingEngine};
use super::target::{Kind, Target};

nix::ioctl_write_ptr_bad!(
    /// `BLKDISCARD`: the first byte and the number of bytes (kernel `include/uapi/linux/fs.h`).
    blkdiscard,
    nix::request_code_none!(0x12, 119),
    [u64; 2]
);

nix::ioctl_read!(
    /// `BLKGETZONESZ`: sectors of a zone, 0 for a device without zones (kernel `include/uapi/linux/blkzoned.h`).
    blkgetzonesz,
    0x12,
    132,
    u32
);

/// Whether a device is written in zones, where a discard may reset all of one. A kernel that does not know the question
/// (before Linux 4.20) has no zones to write to without it.
pub(super) fn is_zoned(file: &File) -> bool {
    let mut sectors = 0;
    // SAFETY: the kernel writes one number, during the call, to where `sectors` lives.
    unsafe { blkgetzonesz(file.as_raw_fd(), &raw mut sectors) }.is_ok() && sectors > 0
}

/// How a trim is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TrimMethod {
    /// A hole in a file (`FALLOC_FL_PUNCH_HOLE`, fallocate(2)), which the file system discards if it is mounted so.
    PunchHole,
    /// A discard of a device, sent through the ring (`BLOCK_URING_CMD_DISCARD`, Linux 6.12).
    RingDiscard,
    /// A discard of a device by ioctl(2) `BLKDISCARD`, one at a time in each thread.
    Blkdiscard,
}

impl TrimMethod {
    /// In words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PunchHole => "trims are holes in the file",
            Self::RingDiscard => "trims are discards through the ring",
            Self::Blkdiscard => "trims are discards by BLKDISCARD",
        }
    }

    /// The method for a target, where trims go through a ring if `in_ring` and the kernel can do that. One block, the
    /// first of those that the run may trim, is discarded to find out.
    ///
    /// # Errors
    /// The device takes no discards, or this one failed.
    pub(super) fn of(target: &Target, blocks: Blocks, in_ring: bool) -> Result<Self, LoadError> {
        if target.kind() != Kind::Owned {
            return Ok(Self::PunchHole);
        }
        let length = u32::try_from(blocks.block_size).unwrap_or(u32::MAX);
        let request = Request { op: Op::Discard, offset: blocks.first, length };
        let failed = |error| LoadError::io("discard a block of", target.path(), error);
        if let Some(census) = target.census() {
            census.sends(request).map_err(failed)?;
        }
        if in_ring {
            match through_ring(target.file(), request) {
                Ok(()) => return Ok(Self::RingDiscard),
                Err(error) if is_unknown(&error) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        match Self::Blkdiscard.carry_out(target.file(), request) {
            Ok(_) => Ok(Self::Blkdiscard),
            Err(error) if is_unknown(&error) => {
                if let Some(census) = target.census() {
                    census.takes_no_discards(length.into());
                }
                Err(LoadError::NoDiscard(target.path().to_owned()))
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Carries out one trim outside a ring and returns its length.
    ///
    /// # Errors
    /// What the kernel answers.
    pub(super) fn carry_out(self, file: &File, request: Request) -> io::Result<usize> {
        match self {
            Self::PunchHole => {
                let flags = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
                let offset = i64::try_from(request.offset).map_err(|_| io::ErrorKind::InvalidInput)?;
                fallocate(file, flags, offset, request.length.into())?;
            }
            Self::RingDiscard | Self::Blkdiscard => {
                let range = [request.offset, request.length.into()];
                // SAFETY: the kernel reads the two numbers during the call and keeps no pointer to them.
                unsafe { blkdiscard(file.as_raw_fd(), &raw const range) }?;
            }
        }
        Ok(request.length as usize)
    }
}

/// Whether a kernel or device answers so to what it does not know: it has no such operation of a ring (EINVAL before
/// Linux 5.19), file (EOPNOTSUPP) or device (ENOTTY).
fn is_unknown(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EINVAL | libc::ENOTTY))
}

/// Discards one block of a device through a ring.
fn through_ring(file: &File, request: Request) -> io::Result<()> {
    let mut ring = Ring::open(1)?;
    let mut engine = RingEngine::on(&mut ring, file, Memory::new(0, 1, false, false, 0)?).discarding(true);
    engine.prepare(0, request)?;
    first_result(&mut engine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    const REQUEST: Request = Request { op: Op::Discard, offset: 4096, length: 4096 };

    #[test]
    fn a_hole_reads_as_zeros_and_nothing_beside_it_does() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[7; 12_288], 0).unwrap();
        match TrimMethod::PunchHole.carry_out(&file, REQUEST) {
            Err(error) => println!("skipped: this file system punches no holes: {error}"),
            Ok(length) => {
                let mut bytes = [1; 12_288];
                file.read_exact_at(&mut bytes, 0).unwrap();
                assert_eq!(length, 4096);
                assert!(bytes[4096..8192].iter().all(|byte| *byte == 0));
                assert!(bytes[..4096].iter().chain(&bytes[8192..]).all(|byte| *byte == 7));
            }
        }
    }

    #[test]
    fn a_file_is_no_device_and_says_so_in_a_way_that_is_understood() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[7; 12_288], 0).unwrap();
        assert!(is_unknown(&TrimMethod::Blkdiscard.carry_out(&file, REQUEST).unwrap_err()));
        if Ring::open(1).is_ok() {
            let refused = through_ring(&file, REQUEST).unwrap_err();
            assert!(is_unknown(&refused), "{refused}");
        }
        let mut bytes = [0; 12_288];
        file.read_exact_at(&mut bytes, 0).unwrap();
        assert!(bytes.iter().all(|byte| *byte == 7));
    }
}
