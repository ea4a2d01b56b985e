//! Whether a file at the destination is the whole copy of its source, where no manifest tells: that of a copy which came to
//! its end is gone.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Advice, FileType, Mode, OFlags, Stat, fadvise, fstat, openat};

use super::scan::{identity, modified, size};

/// What is read of each at once.
const PIECE: usize = 1 << 20;
/// File systems keep times to 2 s at worst (FAT).
const COARSEST: u128 = 2_000_000_000;

/// What a look at both told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Likeness {
    /// It is the copy.
    Same,
    /// It is something else.
    Other,
    /// The copy was stopped.
    Stopped,
}

/// Compares `found`, which is called `name` in `directory`, with its source: size and time of change, and with `whole` every
/// byte.
///
/// # Errors
/// One cannot be read.
pub(super) fn compare(
    (source, stat): (&File, &Stat),
    (directory, name, found): (&File, &[u8], &Stat),
    whole: bool,
    stop: &AtomicBool,
) -> io::Result<Likeness> {
    let is_file = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
    let is_as_old = modified(found).abs_diff(modified(stat)) < COARSEST;
    if !is_file || size(found) != size(stat) || !is_as_old {
        return Ok(Likeness::Other);
    }
    if !whole {
        return Ok(Likeness::Same);
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let copy = File::from(openat(directory, name, flags, Mode::empty())?);
    if identity(&fstat(&copy)?) != identity(found) {
        return Ok(Likeness::Other);
    }
    // What the drive has is asked for, as far as the kernel lets go of what it remembers.
    let _ = fadvise(&copy, 0, None, Advice::DontNeed);
    bytes(source, &copy, stop)
}

fn bytes(one: &File, other: &File, stop: &AtomicBool) -> io::Result<Likeness> {
    let (mut left, mut right, mut at) = (vec![0; PIECE], vec![0; PIECE], 0);
    while !stop.load(Ordering::Relaxed) {
        let length = fill(one, &mut left, at)?;
        let is_same = fill(other, &mut right, at)? == length && left.get(..length) == right.get(..length);
        if !is_same {
            return Ok(Likeness::Other);
        }
        if length < PIECE {
            return Ok(Likeness::Same);
        }
        at += length as u64;
    }
    Ok(Likeness::Stopped)
}

/// Reads until the piece is full or the file at its end.
fn fill(file: &File, piece: &mut [u8], at: u64) -> io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = piece.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, at + done as u64) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make files")]

    use super::*;
    use std::fs;

    fn likeness(source: &[u8], copy: &[u8], whole: bool, stop: bool) -> Likeness {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("source"), source).unwrap();
        fs::write(dir.path().join("copy"), copy).unwrap();
        let (directory, file) =
            (File::open(dir.path()).unwrap(), File::open(dir.path().join("source")).unwrap());
        let found = super::super::place::look(&directory, b"copy").unwrap().unwrap();
        let stat = fstat(&file).unwrap();
        compare((&file, &stat), (&directory, b"copy", &found), whole, &AtomicBool::new(stop)).unwrap()
    }

    #[test]
    fn a_copy_is_the_same_to_the_last_byte() {
        let long = vec![7; 2 * PIECE + 5];
        let mut other = long.clone();
        other[2 * PIECE + 4] = 8;
        assert_eq!(likeness(&long, &long, true, false), Likeness::Same);
        assert_eq!(likeness(&long[..PIECE], &long[..PIECE], true, false), Likeness::Same);
        assert_eq!(likeness(b"", b"", true, false), Likeness::Same);
        assert_eq!(likeness(&long, &other, true, false), Likeness::Other);
        assert_eq!(
            likeness(&long, &other, false, false),
            Likeness::Same,
            "nothing but size and time is looked at"
        );
        assert_eq!(likeness(b"ab", b"a", false, false), Likeness::Other);
        assert_eq!(likeness(&long, &long, true, true), Likeness::Stopped);
    }
}
