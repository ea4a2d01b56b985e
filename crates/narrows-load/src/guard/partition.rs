//! Partitions that only the kernel knows: `BLKPG` makes, resizes and removes them without writing anything (kernel
//! `include/uapi/linux/blkpg.h`).

#![expect(unsafe_code, reason = "an ioctl is the only interface that makes a partition without a table")]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use nix::libc::{c_char, c_int, c_longlong, c_void};

/// `BLKPG_ADD_PARTITION`.
const ADD: c_int = 1;
/// `BLKPG_DEL_PARTITION`.
const DELETE: c_int = 2;
/// `BLKPG_RESIZE_PARTITION`.
const RESIZE: c_int = 3;
/// The longest of both names.
const NAME: usize = 64;

/// `struct blkpg_partition`.
#[repr(C)]
struct Partition {
    start: c_longlong,
    length: c_longlong,
    number: c_int,
    device: [c_char; NAME],
    volume: [c_char; NAME],
}

/// `struct blkpg_ioctl_arg`.
#[repr(C)]
pub(super) struct Argument {
    operation: c_int,
    flags: c_int,
    length: c_int,
    data: *mut c_void,
}

nix::ioctl_write_ptr_bad!(
    /// `BLKPG`.
    blkpg,
    nix::request_code_none!(0x12, 105),
    Argument
);

/// Makes the partition `number` of `length` bytes from `start` on the disk that is open. Both are multiples of its blocks.
///
/// # Errors
/// What the kernel answers: above all that there is one of this number or at this place.
pub(super) fn add(disk: &File, number: u32, start: u64, length: u64) -> io::Result<()> {
    ask(disk, ADD, number, start, length)
}

/// Removes the partition `number` of the disk that is open.
///
/// # Errors
/// What the kernel answers: above all that somebody has it open.
pub(super) fn delete(disk: &File, number: u32) -> io::Result<()> {
    ask(disk, DELETE, number, 0, 0)
}

/// Gives the partition `number` at `start` another length, whoever has it open. What goes past its end fails from then on.
///
/// # Errors
/// What the kernel answers: above all that it begins elsewhere, or that the length is no multiple of the disk's blocks.
pub(super) fn resize(disk: &File, number: u32, start: u64, length: u64) -> io::Result<()> {
    ask(disk, RESIZE, number, start, length)
}

fn ask(disk: &File, operation: c_int, number: u32, start: u64, length: u64) -> io::Result<()> {
    let invalid = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let mut partition = Partition {
        start: c_longlong::try_from(start).map_err(invalid)?,
        length: c_longlong::try_from(length).map_err(invalid)?,
        number: c_int::try_from(number).map_err(invalid)?,
        device: [0; NAME],
        volume: [0; NAME],
    };
    let argument = Argument {
        operation,
        flags: 0,
        length: c_int::try_from(size_of::<Partition>()).unwrap_or(c_int::MAX),
        data: (&raw mut partition).cast(),
    };
    // SAFETY: `argument` is laid out as the kernel's structure, and its pointer is to a `Partition` that lives until the call
    // is over; the kernel reads both during the call and keeps no pointer.
    unsafe { blkpg(disk.as_raw_fd(), &raw const argument) }?;
    Ok(())
}
