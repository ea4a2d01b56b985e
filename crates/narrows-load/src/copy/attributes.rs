//! Owner, permissions, times and extended attributes.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::unistd::geteuid;
use rustix::fs::{
    AtFlags, Gid, Mode, Stat, Timespec, Timestamps, Uid, XattrFlags, chownat, fchmod, fchown, fgetxattr,
    flistxattr, fsetxattr, futimens, utimensat,
};
use rustix::io::Errno;

/// Set-user-ID and set-group-ID.
const SET_ID: u32 = 0o6000;
/// No attribute, and no list of attribute names, is longer (`XATTR_SIZE_MAX` and `XATTR_LIST_MAX`,
/// include/uapi/linux/limits.h).
const LONGEST: usize = 65_536;

/// How many names lost something that the destination cannot hold or this user may not set.
#[derive(Debug, Default)]
pub(super) struct Lost {
    owners: AtomicU64,
    xattrs: AtomicU64,
}

impl Lost {
    /// Names without their owner, and names without one of their extended attributes.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.owners.load(Ordering::Relaxed), self.xattrs.load(Ordering::Relaxed))
    }
}

/// Gives `to` what `from`, whose status is `stat`, has. The owner comes first: changing it clears capabilities and the
/// set-ID bits.
///
/// # Errors
/// Permissions or times cannot be set. Owners and extended attributes that cannot be are counted in `lost`.
pub(super) fn apply(from: &File, stat: &Stat, to: &File, lost: &Lost) -> io::Result<()> {
    let mut mode = stat.st_mode & 0o7777;
    let owned = match is_root() {
        true => fchown(to, owner(stat), group(stat)).is_ok(),
        // Anybody may hand a file to a group of their own; another's file becomes ours.
        false => fchown(to, None, group(stat)).is_ok() && stat.st_uid == geteuid().as_raw(),
    };
    if !owned {
        // A program of somebody else must not become one that runs as us.
        mode &= !SET_ID;
        if is_root() {
            lost.owners.fetch_add(1, Ordering::Relaxed);
        }
    }
    if !copy_xattrs(from, to) {
        lost.xattrs.fetch_add(1, Ordering::Relaxed);
    }
    fchmod(to, Mode::from_raw_mode(mode))?;
    Ok(futimens(to, &times(stat))?)
}

/// The same for the symbolic link `name`, which has no permissions.
///
/// # Errors
/// Its times cannot be set.
pub(super) fn apply_to_link(stat: &Stat, directory: &File, name: &[u8], lost: &Lost) -> io::Result<()> {
    if is_root() && chownat(directory, name, owner(stat), group(stat), AtFlags::SYMLINK_NOFOLLOW).is_err() {
        lost.owners.fetch_add(1, Ordering::Relaxed);
    }
    Ok(utimensat(directory, name, &times(stat), AtFlags::SYMLINK_NOFOLLOW)?)
}

fn is_root() -> bool {
    geteuid().is_root()
}

fn owner(stat: &Stat) -> Option<Uid> {
    Some(Uid::from_raw(stat.st_uid))
}

fn group(stat: &Stat) -> Option<Gid> {
    Some(Gid::from_raw(stat.st_gid))
}

fn times(stat: &Stat) -> Timestamps {
    let time = |seconds: i64, nanos: u64| Timespec { tv_sec: seconds, tv_nsec: nanos as i64 };
    Timestamps {
        last_access: time(stat.st_atime, stat.st_atime_nsec),
        last_modification: time(stat.st_mtime, stat.st_mtime_nsec),
    }
}

/// Whether every attribute of `from` is on `to` now. A source without any is complete.
fn copy_xattrs(from: &File, to: &File) -> bool {
    // Few files have more than a handful of names.
    let mut few = [0; 512];
    let mut many = Vec::new();
    let names = match flistxattr(from, &mut few[..]) {
        Ok(0) | Err(Errno::OPNOTSUPP) => return true,
        Ok(length) => few.get(..length),
        Err(Errno::RANGE) => {
            many.resize(LONGEST, 0);
            flistxattr(from, &mut many[..]).ok().and_then(|length| many.get(..length))
        }
        Err(_) => None,
    };
    let Some(names) = names else { return false };
    let mut value = vec![0; LONGEST];
    let mut all = true;
    for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let copied = fgetxattr(from, name, &mut value[..]).and_then(|length| {
            fsetxattr(to, name, value.get(..length).unwrap_or_default(), XattrFlags::empty())
        });
        all &= copied.is_ok();
    }
    all
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make files")]

    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn permissions_times_and_attributes_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        let (source, target) = (File::create(&from).unwrap(), File::create(&to).unwrap());
        fchmod(&source, Mode::from_raw_mode(0o640)).unwrap();
        let old = Timestamps {
            last_access: Timespec { tv_sec: 1_000_000_001, tv_nsec: 5 },
            last_modification: Timespec { tv_sec: 1_000_000_002, tv_nsec: 123_456_789 },
        };
        futimens(&source, &old).unwrap();
        let has_xattrs = fsetxattr(&source, "user.colour", b"blue\0green", XattrFlags::empty()).is_ok();
        let many = (0..40).map(|number| format!("user.a-name-of-some-length-{number}"));
        let has_many = many.clone().all(|name| fsetxattr(&source, &name, b"", XattrFlags::empty()).is_ok());
        let lost = Lost::default();
        apply(&source, &rustix::fs::fstat(&source).unwrap(), &target, &lost).unwrap();
        let kept = target.metadata().unwrap();
        assert_eq!(
            (kept.mode() & 0o7777, kept.mtime(), kept.mtime_nsec()),
            (0o640, 1_000_000_002, 123_456_789)
        );
        if has_xattrs {
            let mut value = [0; 64];
            let length = fgetxattr(&target, "user.colour", &mut value[..]).unwrap();
            assert_eq!(&value[..length], b"blue\0green");
            assert_eq!(lost.counts().1, 0);
        }
        if has_many {
            let mut value = [0; 64];
            assert!(many.clone().all(|name| fgetxattr(&target, &name, &mut value[..]) == Ok(0)));
        }
    }
}
