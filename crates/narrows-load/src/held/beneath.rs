//! Opens what lies below an open directory, without following a link or leaving it.

use std::fs::File;
use std::io;

use rustix::fs::{Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;

/// How often the kernel is asked again when a name was renamed while it looked (`openat2(2)`, EAGAIN).
const RETRIES: usize = 16;
/// The kernel takes no longer path at once (`PATH_MAX`, less its end).
const LONGEST: usize = 4095;
/// How a directory on the way is opened.
const STEP: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens `path` below `base`. A path that is too long for the kernel is walked in pieces.
///
/// # Errors
/// What `openat2(2)` answers; EXDEV for a path that leads out.
pub(crate) fn open(base: &File, path: &[u8], flags: OFlags) -> io::Result<File> {
    let (mut rest, mut at) = (path, None);
    while rest.len() > LONGEST {
        let cut = rest.get(..LONGEST).and_then(|piece| piece.iter().rposition(|byte| *byte == b'/'));
        let cut = cut.ok_or(Errno::NAMETOOLONG)?;
        let (piece, after) = rest.split_at(cut);
        at = Some(open_piece(at.as_ref().unwrap_or(base), piece, STEP)?);
        rest = after.get(1..).unwrap_or_default();
    }
    open_piece(at.as_ref().unwrap_or(base), rest, flags)
}

/// `openat2(2)` that stays beneath `base` and follows no link; step by step where the kernel (before 5.6) or a seccomp
/// filter lacks it.
fn open_piece(base: &File, path: &[u8], flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    for _ in 0..RETRIES {
        match openat2(base, path, flags, Mode::empty(), resolve) {
            Ok(opened) => return Ok(opened.into()),
            Err(Errno::AGAIN) => {}
            Err(Errno::NOSYS | Errno::PERM) => return open_stepwise(base, path, flags),
            Err(error) => return Err(error.into()),
        }
    }
    Err(Errno::AGAIN.into())
}

/// The same name by name: each is opened in the directory before it, and none is followed.
pub(super) fn open_stepwise(base: &File, path: &[u8], flags: OFlags) -> io::Result<File> {
    let mut names = path.split(|byte| *byte == b'/').peekable();
    let mut at: Option<File> = None;
    while let Some(name) = names.next() {
        if name == b".." {
            return Err(Errno::XDEV.into());
        }
        let is_last = names.peek().is_none();
        let flags = if is_last { flags | OFlags::CLOEXEC | OFlags::NOFOLLOW } else { STEP };
        at = Some(openat(at.as_ref().unwrap_or(base), name, flags, Mode::empty())?.into());
    }
    at.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}
