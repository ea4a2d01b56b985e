//! Asks a ZFS volume which data set it is: `BLKZNAME` (OpenZFS `include/sys/fs/zfs.h`, `_IOR(0x12, 125, char[256])`). It
//! stands in no file of `/sys` or `/proc`.
#![expect(unsafe_code, reason = "an ioctl is the only interface that tells it")]

use std::os::fd::AsRawFd;

use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;

/// The longest name with its end (`ZFS_MAX_DATASET_NAME_LEN`).
const LONGEST: usize = 256;

nix::ioctl_read!(
    /// `BLKZNAME`.
    blkzname,
    0x12,
    125,
    [u8; LONGEST]
);

/// The data set of the volume with this kernel name, which must be one of a ZFS volume: `zd0`.
pub(crate) fn name(kernel_name: &str) -> Option<String> {
    let digits = kernel_name.strip_prefix("zd")?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let device = open(format!("/dev/{kernel_name}").as_str(), flags, Mode::empty()).ok()?;
    let mut name = [0; LONGEST];
    // SAFETY: the kernel writes at most `LONGEST` bytes, which the request says and `name` has; it keeps no pointer, and
    // `device` is open for the whole call.
    unsafe { blkzname(device.as_raw_fd(), &raw mut name) }.ok()?;
    let end = name.iter().position(|byte| *byte == 0)?;
    String::from_utf8(name.get(..end)?.to_vec()).ok().filter(|name| !name.is_empty())
}
