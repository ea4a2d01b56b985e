//! Asks a loop device what is behind it: `LOOP_GET_STATUS64` (kernel `include/uapi/linux/loop.h`). The kernel answers with
//! the identity of the file that it holds, whatever became of the path in `loop/backing_file`.
#![expect(unsafe_code, reason = "an ioctl is the only interface that tells the identity")]

use std::os::fd::AsRawFd;

use nix::fcntl::{OFlag, open};
use nix::libc;
use nix::sys::stat::{Mode, fstat, major, minor};

use super::{Unanswered, reason};
use crate::root::FileId;

/// `struct loop_info64`, 232 bytes without padding.
#[repr(C)]
#[derive(Debug)]
struct Status {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    /// Numbers, flags, names and a key.
    rest: [u64; 24],
}

nix::ioctl_read_bad!(
    /// `LOOP_GET_STATUS64`.
    loop_get_status64,
    0x4c05,
    Status
);

/// What a loop device reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behind {
    /// The file: a regular file, or the node of a device.
    pub file: FileId,
    /// The block device, when the file is the node of one.
    pub device: Option<(u32, u32)>,
    /// The part of it: its first byte, and how many it may be at most (0: to the end). Not part of what is recorded.
    pub part: (u64, u64),
}

/// What is behind the loop device with this kernel name, which must have this number.
pub(crate) fn behind(name: &str, number: (u32, u32)) -> Result<Behind, Unanswered> {
    let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let device = open(format!("/dev/{name}").as_str(), flags, Mode::empty()).map_err(reason)?;
    let opened = fstat(&device).map_err(reason)?;
    let is_block = opened.st_mode & libc::S_IFMT == libc::S_IFBLK;
    if !is_block || (major(opened.st_rdev), minor(opened.st_rdev)) != (number.0.into(), number.1.into()) {
        return Err(Unanswered::Absent);
    }
    let mut status = Status { device: 0, inode: 0, rdevice: 0, offset: 0, size_limit: 0, rest: [0; 24] };
    // SAFETY: the kernel writes one `struct loop_info64`, whose size `Status` has (checked in the tests), and keeps no
    // pointer to it; `device` is open for the whole call. Of another driver the same number would be refused or be
    // unknown: the number of the device is that of the loop device which sysfs lists.
    unsafe { loop_get_status64(device.as_raw_fd(), &raw mut status) }.map_err(reason)?;
    Ok(decode(&status))
}

fn decode(status: &Status) -> Behind {
    let device = (status.rdevice != 0).then(|| huge(status.rdevice));
    Behind {
        file: FileId { device: huge(status.device), inode: status.inode },
        device,
        part: (status.offset, status.size_limit),
    }
}

/// The kernel's `huge_decode_dev` (`include/linux/kdev_t.h`).
fn huge(number: u64) -> (u32, u32) {
    let (major, minor) = ((number >> 8) & 0xfff, (number & 0xff) | ((number >> 12) & 0xf_ff00));
    (u32::try_from(major).unwrap_or(u32::MAX), u32::try_from(minor).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_laid_out_as_the_kernel_header_says() {
        assert_eq!(size_of::<Status>(), 232);
        assert_eq!((std::mem::offset_of!(Status, rdevice), std::mem::offset_of!(Status, offset)), (16, 24));
        // MKDEV(253, 300), as `device_mapper` encodes it; and a small one.
        assert_eq!(huge(0x0010_fd2c), (253, 300));
        assert_eq!(huge(0x0811), (8, 17));
        let status =
            Status { device: 0x0801, inode: 77, rdevice: 0, offset: 512, size_limit: 1024, rest: [0; 24] };
        let part = (512, 1024);
        let file = FileId { device: (8, 1), inode: 77 };
        assert_eq!(decode(&status), Behind { file, device: None, part });
        assert_eq!(
            decode(&Status { rdevice: 0x0820, ..status }),
            Behind { file, device: Some((8, 32)), part }
        );
    }

    #[test]
    fn what_is_no_loop_device_does_not_answer() {
        assert_eq!(behind("null", (1, 3)), Err(Unanswered::Absent));
        assert_eq!(behind("no-such-device", (7, 0)), Err(Unanswered::Absent));
    }
}
