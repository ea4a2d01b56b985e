//! The directory and the files that a lab on scratch files stands on.
//!
//! A lab runs as root, and its tools are told of files by their paths. So nobody but root may be able to change any directory
//! on the way: then no name on it can be swapped, now or when the lab is undone. What is made and taken away here is so by
//! handles, and follows no link.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::names::Names;
use super::step::Step;
use crate::Failure;
use narrows_load::held::{Aim, Held, HeldError, Maker, Trust};

/// Opens the directory that was asked for. Whoever called `sudo` counts as somebody else here: the tools go by paths.
///
/// # Errors
/// Others than root can change the way to it.
pub fn open(directory: &Path) -> Result<Held, HeldError> {
    Held::open_as(directory, Aim::Write, &Trust::of_process().without_caller())
}

/// The directory below it that the lab made, if it is there.
struct ScratchGround {
    held: Held,
    name: Vec<u8>,
    path: PathBuf,
}

impl ScratchGround {
    fn of(names: &Names) -> Result<Option<Self>, HeldError> {
        let Some((scratch, path)) = names.scratch.as_ref().zip(names.scratch_directory()) else {
            return Ok(None);
        };
        let name = path.file_name().unwrap_or_default().as_bytes().to_vec();
        Ok(Some(Self { held: open(scratch)?, name, path }))
    }

    /// The kernel refused.
    fn failed(&self, action: &'static str) -> impl Fn(io::Error) -> Failure {
        move |error| {
            let hint = match error.raw_os_error() {
                Some(nix::libc::ENOSPC | nix::libc::EDQUOT) => {
                    Some("use a smaller --size, or free some space")
                }
                Some(nix::libc::EOPNOTSUPP) => Some("name a directory on ext4, XFS or Btrfs"),
                _ => None,
            };
            Failure::new(format!("cannot {action} `{}`: {error}", self.path.display())).hints(hint)
        }
    }

    /// What stands there was not made by this lab.
    fn foreign(&self) -> Failure {
        let path = self.path.display();
        Failure::new(format!("`{path}` was not made by this lab: it is no directory or file of root alone"))
            .hint("look at it; remove it yourself if nobody needs it")
    }

    /// Opens the lab's own directory, which must be root's alone.
    fn own(&self) -> Result<File, Failure> {
        let opened = self.held.maker().directory(&self.name).map_err(self.failed("open"))?;
        opened.ok_or_else(|| self.foreign())
    }
}

/// The directory that was asked for cannot be used.
fn unusable(error: &HeldError) -> Failure {
    Failure::new(error.to_string()).hints(error.hint())
}

/// The name of a scratch file in its directory.
fn file_name(names: &Names, index: usize) -> Vec<u8> {
    let path = names.scratch_file(index).unwrap_or_default();
    path.file_name().map(OsStr::as_bytes).unwrap_or_default().to_vec()
}

/// Takes a step that is made without a tool; `false` for any other. Before the tool of a loop device runs, its file is looked
/// at.
///
/// # Errors
/// The directory cannot be used, what is there is not the lab's, or the kernel refuses.
pub(super) fn make(step: Step, names: &Names) -> Result<bool, Failure> {
    if !step.is_ground() {
        return Ok(false);
    }
    let ground = ScratchGround::of(names).map_err(|error| unusable(&error))?;
    let Some(ground) = ground else { return Ok(false) };
    match step {
        Step::Directory => {
            ground.held.maker().make_directory(&ground.name).map_err(ground.failed("make"))?;
            ground.own()?;
            Ok(true)
        }
        Step::File { index, bytes } => {
            let own = ground.own()?;
            let made = Maker::of(&own).make_room(&file_name(names, index), bytes);
            made.map_err(ground.failed("make a scratch file in"))?;
            Ok(true)
        }
        Step::Loop { index } => {
            let own = ground.own()?;
            let found =
                Maker::of(&own).is_ours(&file_name(names, index)).map_err(ground.failed("look into"))?;
            if found { Ok(false) } else { Err(ground.foreign()) }
        }
        _ => Ok(false),
    }
}

/// Takes away what a step made without a tool; `false` for any other, and where it is gone already. What is not the lab's own
/// stays.
///
/// # Errors
/// As for [`make`].
pub(super) fn remove(step: Step, names: &Names) -> Result<bool, Failure> {
    if !matches!(step, Step::Directory | Step::File { .. }) {
        return Ok(false);
    }
    let ground = match ScratchGround::of(names) {
        // Whoever removed the directory removed what was in it.
        Err(HeldError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(false),
        ground => ground.map_err(|error| unusable(&error))?,
    };
    let Some(ground) = ground else { return Ok(false) };
    let there = ground.held.look(OsStr::from_bytes(&ground.name)).map_err(ground.failed("look at"))?;
    if there.is_none() {
        return Ok(false);
    }
    let own = ground.own()?;
    match step {
        Step::File { index, .. } => Maker::of(&own)
            .remove(&file_name(names, index))
            .map_err(ground.failed("remove a scratch file in")),
        _ => {
            ground.held.maker().remove_directory(&ground.name).map_err(ground.failed("remove"))?;
            Ok(true)
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make files")]

    use super::*;
    use crate::testing::names;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};

    const FILE: Step = Step::File { index: 0, bytes: 1 << 20 };

    fn in_directory(dir: &Path) -> Names {
        Names { scratch: Some(fs::canonicalize(dir).unwrap()), ..names() }
    }

    #[test]
    fn directory_and_file_are_ours_alone_and_go_again() {
        let dir = tempfile::tempdir().unwrap();
        let names = in_directory(dir.path());
        assert!(make(Step::Directory, &names).unwrap() && make(FILE, &names).unwrap());
        let file = fs::metadata(names.scratch_file(0).unwrap()).unwrap();
        assert_eq!((file.mode() & 0o777, file.len()), (0o600, 1 << 20));
        assert!(file.blocks() >= 2048, "its room is reserved");
        assert_eq!(fs::metadata(names.scratch_directory().unwrap()).unwrap().mode() & 0o777, 0o700);
        assert!(!make(Step::Loop { index: 0 }, &names).unwrap(), "the tool makes it");
        assert!(
            make(Step::Directory, &names).is_err() && make(FILE, &names).is_err(),
            "nothing is overwritten"
        );
        assert!(remove(FILE, &names).unwrap() && remove(Step::Directory, &names).unwrap());
        assert!(!remove(FILE, &names).unwrap() && !remove(Step::Directory, &names).unwrap(), "gone already");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    fn is_refused(came: Result<bool, Failure>, why: &str) -> bool {
        came.is_err_and(|objection| objection.to_string().contains(why))
    }

    #[test]
    fn what_somebody_put_in_its_place_is_not_touched() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let names = in_directory(dir.path());
        fs::write(other.path().join("0.img"), "mine").unwrap();
        symlink(other.path(), names.scratch_directory().unwrap()).unwrap();
        for step in [FILE, Step::Directory, Step::Loop { index: 0 }] {
            assert!(make(step, &names).is_err(), "{step:?}");
            assert!(!matches!(remove(step, &names), Ok(true)), "{step:?}");
        }
        assert_eq!(fs::read(other.path().join("0.img")).unwrap(), b"mine");
        fs::remove_file(names.scratch_directory().unwrap()).unwrap();
        assert!(make(Step::Directory, &names).unwrap());
        symlink(other.path().join("0.img"), names.scratch_file(0).unwrap()).unwrap();
        assert!(is_refused(make(Step::Loop { index: 0 }, &names), "was not made by this lab"));
        assert!(remove(FILE, &names).unwrap(), "a link in our own directory goes as a link");
        assert_eq!(fs::read(other.path().join("0.img")).unwrap(), b"mine");
    }

    #[test]
    fn a_directory_of_somebody_else_is_refused_to_root() {
        if !nix::unistd::geteuid().is_root() {
            return eprintln!("skipped: needs root to make files of others");
        }
        let dir = tempfile::tempdir().unwrap();
        let names = in_directory(dir.path());
        chown(dir.path(), Some(4711), None).unwrap();
        assert!(is_refused(make(Step::Directory, &names), "can change"));
        chown(dir.path(), Some(0), None).unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(make(Step::Directory, &names).is_err());
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o1777)).unwrap();
        assert!(make(Step::Directory, &names).unwrap());
        chown(names.scratch_directory().unwrap(), Some(4711), None).unwrap();
        assert!(is_refused(remove(Step::Directory, &names), "was not made by this lab"));
    }
}
