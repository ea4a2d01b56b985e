//! What tells a file from all others: `stat(2)`, `statfs(2)` and `statx(2)`.

#![expect(clippy::disallowed_methods, reason = "the machine is read through its root, which asks here")]

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use nix::sys::stat::{major, minor};
use rustix::fs::{AtFlags, CWD, StatxFlags, statfs, statx};

use crate::root::{FileId, FileKind, Stat};

/// What is at `path`, links followed.
pub(crate) fn stat(path: &str) -> Option<Stat> {
    let meta = fs::metadata(path).ok()?;
    Some(Stat { kind: kind_of(&meta), file: id_of(&meta), bytes: meta.len() })
}

/// Which file is at `path`, links followed, and when its content or what is known of it was last changed, in nanoseconds.
pub(crate) fn changed(path: &str) -> Option<(FileId, i128)> {
    let meta = fs::metadata(path).ok()?;
    let nanoseconds = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    let content = nanoseconds(meta.mtime(), meta.mtime_nsec());
    let known = nanoseconds(meta.ctime(), meta.ctime_nsec());
    Some((id_of(&meta), content.max(known)))
}

/// The number of the kind of file system that holds `path` (`include/uapi/linux/magic.h`).
pub(crate) fn file_system(path: &str) -> Option<u64> {
    u64::try_from(statfs(path).ok()?.f_type).ok()
}

/// The number of the mount that holds `path` (Linux 5.8).
pub(crate) fn mount_id(path: &str) -> Option<u64> {
    let found = statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID).ok()?;
    (found.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(found.stx_mnt_id)
}

fn id_of(meta: &fs::Metadata) -> FileId {
    FileId { device: split(meta.dev()), inode: meta.ino() }
}

fn kind_of(meta: &fs::Metadata) -> FileKind {
    let kind = meta.file_type();
    let (major, minor) = split(meta.rdev());
    match () {
        () if kind.is_dir() => FileKind::Directory,
        () if kind.is_block_device() => FileKind::Block(major, minor),
        () if kind.is_char_device() => FileKind::Character(major, minor),
        () if kind.is_fifo() => FileKind::Pipe,
        () if kind.is_socket() => FileKind::Socket,
        () => FileKind::File,
    }
}

/// Major and minor of a device number as the C library has it. Linux has 12 and 20 bits (`include/linux/kdev_t.h`).
fn split(number: u64) -> (u32, u32) {
    let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    (small(major(number)), small(minor(number)))
}
