//! The writing end: the only place of a copy that makes, names or removes anything.
//!
//! A file is made under a name that cannot be there before, `.narrows-copy-<run>-<number>.part`, and gets its own name
//! by a rename that replaces nothing. Only names of that pattern are ever removed.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::unistd::geteuid;
use rustix::fs::{
    AtFlags, FallocateFlags, FileType, Gid, Mode, OFlags, RenameFlags, Stat, Timespec, Timestamps, Uid,
    XattrFlags, chownat, fallocate, fchmod, fchown, fgetxattr, flistxattr, fsetxattr, fstat, futimens,
    linkat, mkdirat, openat, renameat_with, symlinkat, unlinkat, utimensat,
};
use rustix::io::Errno;

use super::scan::look;
use crate::held::Trust;

/// What the names of unfinished files begin with.
const PREFIX: &str = ".narrows-copy-";
/// And end with.
const SUFFIX: &str = ".part";

/// The name of an unfinished file: the number of the run that made it, and that of the file in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct PartName {
    pub(super) run: u64,
    pub(super) number: u64,
}

impl PartName {
    pub(super) fn text(self) -> String {
        format!("{PREFIX}{:016x}-{}{SUFFIX}", self.run, self.number)
    }

    /// The name of a part; `None` for any other name.
    pub(super) fn parse(name: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(name).ok()?;
        let (run, number) = text.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.split_once('-')?;
        let found = Self { run: u64::from_str_radix(run, 16).ok()?, number: number.parse().ok()? };
        (found.text() == text).then_some(found)
    }
}

/// Makes a new file for the user alone; direct if that is asked for and possible (second value).
///
/// # Errors
/// What `openat(2)` answers; EEXIST if there is a file of that name.
pub(super) fn create_part(directory: &File, name: PartName, direct: bool) -> io::Result<(File, bool)> {
    open_part(directory, name, OFlags::CREATE | OFlags::EXCL | OFlags::RDWR, direct)
}

/// Opens a part of an earlier run to go on with it.
///
/// # Errors
/// As for [`create_part`]; ENOENT when it is gone.
pub(super) fn reopen_part(directory: &File, name: PartName, direct: bool) -> io::Result<(File, bool)> {
    open_part(directory, name, OFlags::RDWR, direct)
}

/// Opens a part to read it back: past the page cache if possible (second value).
///
/// # Errors
/// What `openat(2)` answers.
pub(super) fn read_part(directory: &File, name: PartName) -> io::Result<(File, bool)> {
    open_part(directory, name, OFlags::RDONLY, true)
}

fn open_part(directory: &File, name: PartName, flags: OFlags, direct: bool) -> io::Result<(File, bool)> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    if direct {
        match openat(directory, name.text(), flags | OFlags::DIRECT, mode) {
            // Some file systems make the file and then refuse to open it so.
            Err(Errno::INVAL) if flags.contains(OFlags::CREATE) => remove_part(directory, name)?,
            Err(Errno::INVAL) => {}
            opened => return Ok((opened?.into(), true)),
        }
    }
    Ok((openat(directory, name.text(), flags, mode)?.into(), false))
}

/// Asks for the room of `length` bytes in one piece.
///
/// # Errors
/// There is none (ENOSPC, EDQUOT). A file system that cannot tell in advance is no error.
pub(super) fn reserve(part: &File, length: u64) -> io::Result<()> {
    match fallocate(part, FallocateFlags::KEEP_SIZE, 0, length) {
        Err(error @ (Errno::NOSPC | Errno::DQUOT)) => Err(error.into()),
        _ => Ok(()),
    }
}

/// Gives a finished part its name. Whatever has that name already stays.
///
/// # Errors
/// EEXIST when the name is taken, else what `renameat2(2)` answers.
pub(super) fn publish(directory: &File, part: PartName, name: &[u8]) -> io::Result<()> {
    match renameat_with(directory, part.text(), directory, name, RenameFlags::NOREPLACE) {
        // A file system without NOREPLACE (NFS, some FUSE ones): a second name fails if there is one, and the first is
        // then taken away.
        Err(Errno::INVAL | Errno::NOSYS) => {
            linkat(directory, part.text(), directory, name, AtFlags::empty())?;
            remove_part(directory, part)
        }
        renamed => Ok(renamed?),
    }
}

/// Removes a part. One that is gone already is fine.
///
/// # Errors
/// What `unlinkat(2)` answers.
pub(super) fn remove_part(directory: &File, part: PartName) -> io::Result<()> {
    match unlinkat(directory, part.text(), AtFlags::empty()) {
        Err(Errno::NOENT) => Ok(()),
        removed => Ok(removed?),
    }
}

/// Makes a directory for the user alone.
///
/// # Errors
/// What `mkdirat(2)` answers.
pub(super) fn make_directory(parent: &File, name: &[u8]) -> io::Result<()> {
    Ok(mkdirat(parent, name, Mode::RWXU)?)
}

/// Makes a symbolic link that is complete when it gets its name, as a file is: a later run would take one without the
/// times of `stat` for done.
///
/// # Errors
/// What `symlinkat(2)` answers; its times cannot be set; EEXIST when the name is taken.
pub(super) fn make_symlink(
    target: &[u8],
    stat: &Stat,
    directory: &File,
    (part, name): (PartName, &[u8]),
    lost: &Lost,
) -> io::Result<()> {
    symlinkat(target, directory, part.text())?;
    let made = apply_to_link(stat, directory, part.text().as_bytes(), lost)
        .and_then(|()| publish(directory, part, name));
    if made.is_err() {
        // The next run looks for it again.
        let _ = remove_part(directory, part);
    }
    made
}

/// Gives a file a second name.
///
/// # Errors
/// What `linkat(2)` answers.
pub(super) fn make_hard_link(from: (&File, &[u8]), to: (&File, &[u8])) -> io::Result<()> {
    // A link that somebody put in place of the file is not followed: without AT_SYMLINK_FOLLOW it is linked itself.
    Ok(linkat(from.0, from.1, to.0, to.1, AtFlags::empty())?)
}

/// Opens the manifest of this destination, made now if `fresh`.
///
/// # Errors
/// What `openat(2)` answers: EEXIST if it must be fresh and is there, ENOENT if it must be there and is not.
pub(super) fn open_manifest(directory: &File, name: &str, fresh: bool) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::RDWR | OFlags::APPEND | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let flags = if fresh { flags | OFlags::CREATE | OFlags::EXCL } else { flags };
    Ok(openat(directory, name, flags, Mode::RUSR | Mode::WUSR)?.into())
}

/// Removes the manifest.
///
/// # Errors
/// What `unlinkat(2)` answers.
pub(super) fn remove_manifest(directory: &File, name: &str) -> io::Result<()> {
    Ok(unlinkat(directory, name, AtFlags::empty())?)
}

/// The part, if it is still there, is the file with this inode number, and is of us.
pub(super) fn find_part(
    directory: &File,
    part: PartName,
    inode: u64,
    trust: &Trust,
) -> io::Result<Option<Stat>> {
    let found = look(directory, part.text().as_bytes())?.filter(|stat| stat.st_ino == inode);
    let Some(found) = found else { return Ok(None) };
    Ok(is_of_us(directory, &found, trust)?.then_some(found))
}

/// Whether a file that is there can only have been made by us.
///
/// # Errors
/// What `fstat(2)` answers.
pub(super) fn is_of_us(directory: &File, file: &Stat, trust: &Trust) -> io::Result<bool> {
    let is_file = FileType::from_raw_mode(file.st_mode) == FileType::RegularFile;
    Ok(is_file && trust.is_of_us(&fstat(directory)?, file))
}

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
fn apply_to_link(stat: &Stat, directory: &File, name: &[u8], lost: &Lost) -> io::Result<()> {
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
    use std::fs;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    const NAME: PartName = PartName { run: 0xab, number: 7 };

    fn directory() -> (tempfile::TempDir, File) {
        let dir = tempfile::tempdir().unwrap();
        let open = File::open(dir.path()).unwrap();
        (dir, open)
    }

    #[test]
    fn only_our_own_names_are_parts() {
        assert_eq!(NAME.text(), ".narrows-copy-00000000000000ab-7.part");
        assert_eq!(PartName::parse(NAME.text().as_bytes()), Some(NAME));
        for name in
            ["", ".part", ".narrows-copy-ab-7.part", ".narrows-copy-00000000000000ab-+7.part", "x\u{e9}"]
        {
            assert_eq!(PartName::parse(name.as_bytes()), None, "{name}");
        }
        assert_eq!(PartName::parse(b".narrows-copy-00000000000000ab-7.par\xff"), None);
    }

    #[test]
    fn publishing_replaces_nothing() {
        let (dir, open) = directory();
        create_part(&open, NAME, false).unwrap();
        fs::write(dir.path().join("taken"), "mine").unwrap();
        let error = publish(&open, NAME, b"taken").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(dir.path().join("taken")).unwrap(), b"mine");
        publish(&open, NAME, b"free").unwrap();
        assert!(dir.path().join("free").exists() && !dir.path().join(NAME.text()).exists());
    }

    #[test]
    fn a_part_is_never_made_through_a_link_or_over_a_file() {
        let (dir, open) = directory();
        std::os::unix::fs::symlink("elsewhere", dir.path().join(NAME.text())).unwrap();
        for direct in [false, true] {
            assert!(create_part(&open, NAME, direct).is_err());
        }
        assert!(reopen_part(&open, NAME, false).is_err() && read_part(&open, NAME).is_err());
        assert!(!dir.path().join("elsewhere").exists());
    }

    #[test]
    fn a_link_has_its_times_with_its_name_or_leaves_nothing() {
        let (dir, open) = directory();
        let mut stat = fstat(&open).unwrap();
        (stat.st_mtime, stat.st_mtime_nsec) = (1_000_000_002, 7);
        let lost = Lost::default();
        make_symlink(b"/nowhere", &stat, &open, (NAME, b"free"), &lost).unwrap();
        let made = fs::symlink_metadata(dir.path().join("free")).unwrap();
        assert_eq!((made.mtime(), made.mtime_nsec()), (1_000_000_002, 7));
        let error = make_symlink(b"/else", &stat, &open, (NAME, b"free"), &lost).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_link(dir.path().join("free")).unwrap(), Path::new("/nowhere"));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_manifest_is_fresh_or_there() {
        let (_dir, open) = directory();
        assert!(open_manifest(&open, "m", false).is_err());
        open_manifest(&open, "m", true).unwrap();
        assert!(open_manifest(&open, "m", true).is_err());
        open_manifest(&open, "m", false).unwrap();
        remove_manifest(&open, "m").unwrap();
    }

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
