//! Makes files in a held directory. Nothing that is there is opened, followed or replaced, but where a file of ours takes
//! the place of an older one by `rename(2)`.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};

use rustix::fs::{
    AtFlags, FallocateFlags, FileType, Mode, OFlags, Stat, fallocate, fstat, mkdirat, openat, renameat,
    unlinkat,
};
use rustix::io::Errno;

use super::{Held, Trust, look};

/// Who may read a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    /// Everybody whom the umask does not shut out: a report that was asked for. Nobody else may ever write to it.
    All,
    /// This user.
    Us,
}

impl Readers {
    fn mode(self) -> Mode {
        match self {
            Self::All => Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH,
            Self::Us => Mode::RUSR | Mode::WUSR,
        }
    }
}

/// Makes and removes things in an open directory.
#[derive(Debug, Clone, Copy)]
pub struct Maker<'a> {
    directory: &'a File,
}

impl<'a> Maker<'a> {
    /// In this directory.
    pub const fn of(directory: &'a File) -> Self {
        Self { directory }
    }

    /// Makes a directory for this user alone.
    ///
    /// # Errors
    /// What `mkdirat(2)` answers.
    pub fn make_directory(&self, name: &[u8]) -> io::Result<()> {
        Ok(mkdirat(self.directory, name, Mode::RWXU)?)
    }

    /// Opens a directory that is this user's alone; `None` when something else has that name.
    ///
    /// # Errors
    /// What `openat(2)` answers.
    pub fn directory(&self, name: &[u8]) -> io::Result<Option<File>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = match openat(self.directory, name, flags, Mode::empty()) {
            Err(Errno::NOTDIR | Errno::LOOP) => return Ok(None),
            opened => File::from(opened?),
        };
        Ok(Trust::of_process().is_ours_alone(&fstat(&opened)?).then_some(opened))
    }

    /// Opens something in it. No link is followed, and nothing leads out.
    ///
    /// # Errors
    /// What `openat2(2)` answers.
    pub fn open(&self, name: &[u8], flags: OFlags) -> io::Result<File> {
        super::open_beneath(self.directory, name, flags)
    }

    /// Makes a file for this user alone and opens it so.
    ///
    /// # Errors
    /// Something has that name, or what else `openat(2)` answers.
    pub fn make_file(&self, name: &[u8], flags: OFlags) -> io::Result<File> {
        let new = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(self.directory, name, flags | new, Mode::RUSR | Mode::WUSR)?.into())
    }

    /// Whether anything has this name.
    ///
    /// # Errors
    /// What `fstatat(2)` answers but ENOENT.
    pub fn is_there(&self, name: &[u8]) -> io::Result<bool> {
        Ok(look(self.directory, name)?.is_some())
    }

    /// Makes a file for this user alone with room for so many bytes.
    ///
    /// # Errors
    /// Something has that name, or there is no room; then nothing stays behind.
    pub fn make_room(&self, name: &[u8], bytes: u64) -> io::Result<()> {
        let file = self.make_file(name, OFlags::WRONLY)?;
        let room = fallocate(&file, FallocateFlags::empty(), 0, bytes);
        if room.is_err() {
            let _ = self.remove(name);
        }
        Ok(room?)
    }

    /// Whether a name is that of a file that is this user's alone.
    ///
    /// # Errors
    /// What `fstatat(2)` answers.
    pub fn is_ours(&self, name: &[u8]) -> io::Result<bool> {
        let is_ours = |stat: Stat| {
            FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
                && Trust::of_process().is_ours_alone(&stat)
        };
        Ok(look(self.directory, name)?.is_some_and(is_ours))
    }

    /// Removes a file; `false` when there is none.
    ///
    /// # Errors
    /// What `unlinkat(2)` answers.
    pub fn remove(&self, name: &[u8]) -> io::Result<bool> {
        match unlinkat(self.directory, name, AtFlags::empty()) {
            Err(Errno::NOENT) => Ok(false),
            removed => Ok(removed.map(|()| true)?),
        }
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// What `unlinkat(2)` answers.
    pub fn remove_directory(&self, name: &[u8]) -> io::Result<()> {
        Ok(unlinkat(self.directory, name, AtFlags::REMOVEDIR)?)
    }
}

impl Held {
    /// Makes and removes things here.
    pub const fn maker(&self) -> Maker<'_> {
        Maker::of(self.handle())
    }

    /// Makes a file that is not there yet and writes all of it. When that fails nothing stays behind.
    ///
    /// # Errors
    /// EEXIST when something has that name, or it cannot be written.
    pub fn write_new(&self, name: &OsStr, bytes: &[u8], readers: Readers) -> io::Result<()> {
        let mut file = self.create(name, readers)?;
        file.write_all(bytes).inspect_err(|_| {
            let _ = self.take_back(name, &file);
        })
    }

    /// Puts a whole new file in the place of `name`, which may be there, on stable storage when it returns. `meanwhile` is
    /// the name that it has until it is whole; what a killed run left there goes.
    ///
    /// # Errors
    /// It cannot be written. What had the name still has it.
    pub fn replace(&self, name: &OsStr, meanwhile: &OsStr, bytes: &[u8], readers: Readers) -> io::Result<()> {
        match unlinkat(self.handle(), meanwhile, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno.into()),
        }
        let mut file = self.create(meanwhile, readers)?;
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        let renamed = written.and_then(|()| Ok(renameat(self.handle(), meanwhile, self.handle(), name)?));
        renamed.inspect_err(|_| {
            let _ = self.take_back(meanwhile, &file);
        })?;
        // The name is durable when the directory is; file systems that cannot sync one keep it anyway.
        let _ = self.handle().sync_all();
        Ok(())
    }

    fn create(&self, name: &OsStr, readers: Readers) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(self.handle(), name, flags, readers.mode())?.into())
    }

    /// Removes a name if it is still that of `file`.
    fn take_back(&self, name: &OsStr, file: &File) -> io::Result<()> {
        let ours = fstat(file)?;
        match self.look(name)? {
            Some(there) if (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino) => {
                Ok(unlinkat(self.handle(), name, AtFlags::empty())?)
            }
            _ => Ok(()),
        }
    }
}
