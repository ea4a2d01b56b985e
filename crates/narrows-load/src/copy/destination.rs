//! The writing end: the only place of a copy that makes, names or removes anything.
//!
//! A file is made under a name that cannot be there before, `.narrows-copy-<run>-<number>.part`, and gets its own name
//! by a rename that replaces nothing. Only names of that pattern are ever removed.

use std::fs::File;
use std::io;

use rustix::fs::{
    AtFlags, FallocateFlags, FileType, Mode, OFlags, RenameFlags, Stat, fallocate, fstat, linkat, mkdirat,
    openat, renameat_with, symlinkat, unlinkat,
};
use rustix::io::Errno;

use super::place::look;
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
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::RDWR | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    if direct {
        match openat(directory, name.text(), flags | OFlags::DIRECT, mode) {
            Ok(opened) => return Ok((opened.into(), true)),
            // Some file systems make the file and then refuse to open it so.
            Err(Errno::INVAL) => remove_part(directory, name)?,
            Err(error) => return Err(error.into()),
        }
    }
    Ok((openat(directory, name.text(), flags, mode)?.into(), false))
}

/// Opens a part of an earlier run to go on with it.
///
/// # Errors
/// As for [`create_part`]; ENOENT when it is gone.
pub(super) fn reopen_part(directory: &File, name: PartName, direct: bool) -> io::Result<(File, bool)> {
    let flags = OFlags::NOFOLLOW | OFlags::RDWR | OFlags::CLOEXEC;
    if direct {
        match openat(directory, name.text(), flags | OFlags::DIRECT, Mode::empty()) {
            Err(Errno::INVAL) => {}
            opened => return Ok((opened?.into(), true)),
        }
    }
    Ok((openat(directory, name.text(), flags, Mode::empty())?.into(), false))
}

/// Opens a part to read it back: past the page cache if possible (second value).
///
/// # Errors
/// What `openat(2)` answers.
pub(super) fn read_part(directory: &File, name: PartName) -> io::Result<(File, bool)> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(directory, name.text(), flags | OFlags::DIRECT, Mode::empty()) {
        Err(Errno::INVAL) => Ok((openat(directory, name.text(), flags, Mode::empty())?.into(), false)),
        opened => Ok((opened?.into(), true)),
    }
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

/// Makes a symbolic link.
///
/// # Errors
/// What `symlinkat(2)` answers.
pub(super) fn make_symlink(target: &[u8], directory: &File, name: &[u8]) -> io::Result<()> {
    Ok(symlinkat(target, directory, name)?)
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

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make files")]

    use super::*;
    use std::fs;

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
    fn a_manifest_is_fresh_or_there() {
        let (_dir, open) = directory();
        assert!(open_manifest(&open, "m", false).is_err());
        open_manifest(&open, "m", true).unwrap();
        assert!(open_manifest(&open, "m", true).is_err());
        open_manifest(&open, "m", false).unwrap();
        remove_manifest(&open, "m").unwrap();
    }
}
