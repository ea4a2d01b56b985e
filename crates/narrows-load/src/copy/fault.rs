//! What can go wrong with one file of a copy, and with a copy as a whole.

use std::io;
use std::path::{Path, PathBuf};

use nix::libc;

use crate::held::HeldError;
use narrows_base::units::{Bytes, human};

/// A file that was not copied, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where: a path of the source, or of the destination where that is at fault.
    pub path: PathBuf,
    /// Why.
    pub why: Why,
}

/// Why a file was not copied. None of its data stays at the destination.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// Something is there already.
    #[error("is there already, and narrows overwrites nothing")]
    Exists,
    /// Others can change the directory that the copy would go into.
    #[error("is a directory that other users can change, and narrows runs as root")]
    Shared,
    /// Something else than a directory stands where a directory goes.
    #[error("is no directory, so nothing can go below it")]
    NotADirectory,
    /// The source changed while it was read.
    #[error("changed while it was copied")]
    Changed,
    /// The source directory is copied into itself by way of a mount.
    #[error("is a directory of the source")]
    Loop,
    /// The name of the file that it is linked to was not copied.
    #[error("is another name of a file that was not copied")]
    OtherName,
    /// The data that were read back differ from those that were written.
    #[error("differs from its source in the {length} bytes from byte {offset}", offset = offset.get(), length = length.get())]
    Mismatch {
        /// The first byte of the region that differs.
        offset: Bytes,
        /// How long the region is.
        length: Bytes,
    },
    /// The destination is full, or the quota used up.
    #[error("does not fit: no space is left at the destination")]
    NoSpace,
    /// The kernel refused.
    #[error("cannot {action}: {error}")]
    Io {
        /// What was tried, of `it`: the path.
        action: &'static str,
        /// The kernel's answer.
        error: String,
    },
}

/// Makes a fault of what an operation met.
pub(super) fn cannot<E: Into<io::Error>>(action: &'static str) -> impl Fn(E) -> Why {
    move |error| Why::io(action, &error.into())
}

impl Why {
    /// The fault that an operation met.
    pub(super) fn io(action: &'static str, error: &io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT) => Self::NoSpace,
            Some(libc::EEXIST) => Self::Exists,
            _ => Self::Io { action, error: error.to_string() },
        }
    }

    /// A stable word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Exists => "exists",
            Self::Shared => "shared",
            Self::NotADirectory => "not_a_directory",
            Self::Changed => "changed",
            Self::Loop => "loop",
            Self::OtherName => "other_name",
            Self::Mismatch { .. } => "mismatch",
            Self::NoSpace => "no_space",
            Self::Io { .. } => "io",
        }
    }

    /// Whether another run may well succeed without anything at the destination being removed first.
    pub(super) fn may_pass(&self) -> bool {
        !matches!(self, Self::Exists | Self::Shared | Self::NotADirectory | Self::Loop | Self::OtherName)
    }
}

/// Why nothing was copied at all.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The kernel refused an operation on a path.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// Others could have what was typed lead elsewhere.
    #[error(transparent)]
    Held(HeldError),
    /// Something at the destination, of which this would be the rest, was made by somebody else.
    #[error("`{}` was not made by this user alone, so it is not gone on with", .0.display())]
    NotOurs(PathBuf),
    /// The destination lies in the source, or the other way round.
    #[error("`{}` and `{}` lie in one another", from.display(), destination.display())]
    Inside {
        /// The source.
        from: PathBuf,
        /// The destination.
        destination: PathBuf,
    },
    /// The path does not end in a name.
    #[error("`{}` does not end in a name", .0.display())]
    NoName(PathBuf),
    /// The source is a device, pipe or socket.
    #[error("`{}` is {what}, which narrows does not copy", path.display())]
    Special {
        /// The source.
        path: PathBuf,
        /// `a pipe`, `a block device`…
        what: &'static str,
    },
    /// The destination is a symbolic link, or something of another kind than the source.
    #[error("`{}` is there already, and narrows overwrites nothing", .0.display())]
    Exists(PathBuf),
    /// An earlier copy to this destination did not come to its end.
    #[error("an earlier copy to `{}` did not come to its end", .0.display())]
    Unfinished(PathBuf, PathBuf),
    /// Another process copies to this destination.
    #[error("another process copies to `{}`", .0.display())]
    Busy(PathBuf),
    /// The manifest of the earlier copy is of another source, or no manifest.
    #[error("`{}` is not the manifest of a copy from `{}`", manifest.display(), from.display())]
    Foreign {
        /// The manifest.
        manifest: PathBuf,
        /// The source.
        from: PathBuf,
    },
    /// A block size or depth that cannot be.
    #[error("{0}")]
    Options(String),
    /// The blocks in flight would take too much memory.
    #[error(
        "{depth} blocks of {} in flight take {} of memory, and {} is what a copy may take here",
        human::block_size(*block), human::bytes(*needed), human::bytes(*most)
    )]
    Memory {
        /// What they take together.
        needed: Bytes,
        /// What they may take.
        most: Bytes,
        /// One.
        block: Bytes,
        /// How many.
        depth: u32,
    },
    /// A thread died, or there is no memory.
    #[error("the copy failed: {0}")]
    Worker(String),
}

impl CopyError {
    /// Why the directory that `action` was to use is not used.
    pub(super) fn held(action: &'static str, path: &Path, error: HeldError) -> Self {
        match error {
            HeldError::Io { source, .. } => Self::Io { action, path: path.to_owned(), source },
            unsafe_one => Self::Held(unsafe_one),
        }
    }

    /// What to do next, where there is something to do.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Held(error) => error.hint().map(str::to_owned),
            Self::NotOurs(path) => Some(format!("look at it; remove `{}` to begin anew", path.display())),
            Self::Memory { most, block, .. } => {
                let depth = most.get() / block.get().max(1);
                Some(match depth {
                    0 => "use a smaller --block-size, or free some memory".to_owned(),
                    depth => format!("use --depth {depth}, or a smaller --block-size"),
                })
            }
            Self::Inside { .. } => Some("name a destination outside".to_owned()),
            Self::NoName(_) => Some("name the copy, such as /mnt/backup/photos".to_owned()),
            Self::Exists(_) => {
                Some("DST is the name of the copy itself, not a directory to put it into".to_owned())
            }
            Self::Unfinished(_, manifest) => Some(format!(
                "go on with it with --resume, or remove `{}` and the .narrows-copy-*.part files",
                manifest.display()
            )),
            Self::Foreign { manifest, .. } => Some(format!("remove `{}` to begin anew", manifest.display())),
            Self::Io { source, .. } if source.raw_os_error() == Some(libc::EMFILE) => {
                Some("this process may have too few files open: `ulimit -n 1024` allows more".to_owned())
            }
            Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => Some(
                "check the spelling of the path; the directory that DST lies in must be there".to_owned(),
            ),
            Self::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                Some("run as a user who may read SRC and write beside DST".to_owned())
            }
            Self::Io { .. } | Self::Special { .. } | Self::Busy(_) | Self::Options(_) | Self::Worker(_) => {
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_and_a_used_up_quota_are_one_fault() {
        for code in [libc::ENOSPC, libc::EDQUOT] {
            assert_eq!(Why::io("write it", &io::Error::from_raw_os_error(code)), Why::NoSpace);
        }
        let eio = Why::io("write it", &io::Error::from_raw_os_error(libc::EIO));
        assert_eq!(eio.to_string(), "cannot write it: Input/output error (os error 5)");
        assert!(eio.may_pass() && !Why::Exists.may_pass());
    }

    #[test]
    fn a_mismatch_names_its_region() {
        let why = Why::Mismatch { offset: Bytes::from_mib(3), length: Bytes::from_mib(1) };
        assert_eq!(why.to_string(), "differs from its source in the 1048576 bytes from byte 3145728");
    }
}
