//! Blocks of a device are given back by a discard, where clearing wears nothing that way.
//!
//! `FALLOC_FL_PUNCH_HOLE` on a block device is no discard: the block layer makes it a Write Zeroes that may unmap
//! (`blkdev_fallocate` in the kernel's `block/fops.c`), which another command of the drive carries out and which is
//! counted as a write.

#![expect(unsafe_code, reason = "a discard is an ioctl")]

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;

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

/// Discards these bytes of a device.
///
/// # Errors
/// What the kernel answers: ENOTTY for a file, EOPNOTSUPP for a device that takes no discards.
pub(super) fn discard(file: &File, bytes: &Range<u64>) -> io::Result<()> {
    let range = [bytes.start, bytes.end.saturating_sub(bytes.start)];
    // SAFETY: the kernel reads the two numbers during the call and keeps no pointer to them.
    unsafe { blkdiscard(file.as_raw_fd(), &raw const range) }?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn a_file_is_no_device_and_loses_nothing() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[7; 12_288], 0).unwrap();
        let refused = discard(&file, &(4096..8192)).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(nix::libc::ENOTTY));
        let mut bytes = [0; 12_288];
        file.read_exact_at(&mut bytes, 0).unwrap();
        assert!(bytes.iter().all(|byte| *byte == 7));
        assert!(!is_zoned(&file));
    }
}
