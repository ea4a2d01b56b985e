//! What can stop a run or a scratch file, and what the user can do about it.

use std::io;
use std::path::{Path, PathBuf};

use nix::sys::resource::{Resource, getrlimit};

use super::failure;
use super::guard::{OTHERS_HINT, Others, OverBudget};
use super::held::HeldError;
use super::measurement::Cause;
use narrows_base::units::{Bytes, human};

/// Why there is no measurement.
///
/// A run that began and then failed is no error: it yields a [`Measurement`](super::measurement::Measurement) that is
/// marked as cut short.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The kernel refused an operation on a path.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// What was tried: `open`, `read`, `write`.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// Others could have what was typed lead elsewhere.
    #[error(transparent)]
    Held(HeldError),
    /// Somebody else wrote to a device that is ours.
    #[error(transparent)]
    Others(Others),
    /// What was to be filled is more than may be written.
    #[error("{0}")]
    OverBudget(OverBudget),
    /// The path names something else than a block device.
    #[error("`{}` is not a block device", .0.display())]
    NotADevice(PathBuf),
    /// The path names something else than a regular file.
    #[error("`{}` is not a regular file", .0.display())]
    NotAFile(PathBuf),
    /// The path names something else than a directory.
    #[error("`{}` is not a directory", .0.display())]
    NotADirectory(PathBuf),
    /// The file system is mounted read-only, so it can hold no scratch file.
    #[error("the file system of `{}` is mounted read-only", .0.display())]
    ReadOnly(PathBuf),
    /// The file system has no room for a scratch file beside the reserve.
    #[error(
        "no room for a scratch file in `{}`: {} free, of which {} stay reserved, and {} are needed",
        dir.display(), human::bytes(*free), human::bytes(*reserve), human::bytes(*minimum)
    )]
    NoSpace {
        /// The directory.
        dir: PathBuf,
        /// What is free for this user.
        free: Bytes,
        /// What must stay free.
        reserve: Bytes,
        /// The smallest useful scratch file.
        minimum: Bytes,
    },
    /// The target holds not even one block.
    #[error("`{}` holds {}, less than one block of {}", path.display(), human::bytes(*size), human::block_size(*block_size))]
    TooSmall {
        /// The target.
        path: PathBuf,
        /// What the region holds.
        size: Bytes,
        /// What one I/O needs.
        block_size: Bytes,
    },
    /// The workload writes, and the target is not a scratch file that narrows made.
    #[error("`{}` is not a scratch file, so it is never written", .0.display())]
    NotOurs(PathBuf),
    /// The workload cannot be run on this target.
    #[error("{0}")]
    Workload(String),
    /// The process has as many files open as it may.
    #[error("no file descriptor is left: this process may have {0} files open")]
    Descriptors(u64),
    /// The engine that was asked for is not available.
    #[error("io_uring is not available: {0}")]
    NoRing(io::Error),
    /// There is not enough memory for the buffers.
    #[error("cannot get {} of memory for buffers: {source}", human::bytes(*bytes))]
    Memory {
        /// The size of the buffer.
        bytes: Bytes,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A worker thread could not be started, or it died.
    #[error("a worker thread failed: {0}")]
    Worker(String),
    /// The user interrupted the preparation.
    #[error("interrupted")]
    Interrupted,
}

impl LoadError {
    /// The error of `action` on `path`, in its most telling form.
    pub fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        match source.raw_os_error() {
            Some(nix::libc::EROFS) => Self::ReadOnly(path.to_owned()),
            Some(nix::libc::EMFILE) => Self::descriptors(),
            Some(nix::libc::ENOTDIR) => Self::NotADirectory(path.to_owned()),
            _ => Self::Io { action, path: path.to_owned(), source },
        }
    }

    /// Why the kernel gave no ring.
    pub(super) fn no_ring(source: io::Error) -> Self {
        if source.raw_os_error() == Some(nix::libc::EMFILE) {
            Self::descriptors()
        } else {
            Self::NoRing(source)
        }
    }

    fn descriptors() -> Self {
        Self::Descriptors(getrlimit(Resource::RLIMIT_NOFILE).map_or(0, |(soft, _)| soft))
    }

    /// Why the directory that `action` was to use is not used.
    pub(super) fn held(action: &'static str, dir: &Path, error: HeldError) -> Self {
        match error {
            HeldError::Io { source, .. } => Self::io(action, dir, source),
            unsafe_one => Self::Held(unsafe_one),
        }
    }

    /// What to do next, where there is something to do.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Held(error) => error.hint(),
            Self::Io { source, action, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied if *action == "create a scratch file in" => {
                    Some("name a directory that you may write to, or run as root")
                }
                // A file mode answers EACCES; EPERM for a reader of a device comes from the device control group.
                io::ErrorKind::PermissionDenied if source.raw_os_error() == Some(nix::libc::EPERM) => {
                    Some("a container or control group forbids it, even to root; allow the device there")
                }
                io::ErrorKind::PermissionDenied => {
                    Some("run as root, or join the group that owns the device (often `disk`)")
                }
                io::ErrorKind::NotFound => Some("check the spelling of the path"),
                _ => match source.raw_os_error().map(failure::cause) {
                    None | Some(Cause::Other) => None,
                    Some(cause) => Some(cause.hint()),
                },
            },
            Self::Others(_) => Some(OTHERS_HINT),
            Self::NotADevice(_) => Some("name a block device such as /dev/nvme0n1"),
            Self::NotAFile(_) | Self::NotADirectory(_) => Some("name a directory to measure its file system"),
            Self::ReadOnly(_) => Some("name a large file on it to read, or the block device below it"),
            Self::NoSpace { .. } => Some("free some space, or name the block device below the file system"),
            Self::TooSmall { .. } => Some("name a larger file or device, or use smaller blocks"),
            Self::NotOurs(_) => Some("name a directory on it, in which a scratch file can be made"),
            Self::Descriptors(_) => Some(
                "allow more: `ulimit -n 1024` where the hard limit (`ulimit -Hn`) is not lower, LimitNOFILE= in a unit of \
                 systemd, --ulimit nofile=1024 of a container",
            ),
            Self::NoRing(_) => {
                Some("check sysctl kernel.io_uring_disabled and the seccomp profile, or use the psync engine")
            }
            Self::OverBudget(_) => Some("allow more with --max-writes, or use a smaller --size"),
            Self::Memory { .. } => Some("use smaller blocks or a lower queue depth"),
            Self::Workload(_) | Self::Worker(_) | Self::Interrupted => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_a_container_forbids_is_not_blamed_on_the_user() {
        let error =
            LoadError::io("open", Path::new("/dev/x"), io::Error::from_raw_os_error(nix::libc::EPERM));
        assert!(error.hint().is_some_and(|hint| hint.contains("control group")));
    }

    #[test]
    fn a_limit_on_open_files_is_not_blamed_on_io_uring() {
        let full = || io::Error::from_raw_os_error(nix::libc::EMFILE);
        for error in [LoadError::no_ring(full()), LoadError::io("open", Path::new("/x"), full())] {
            assert!(matches!(error, LoadError::Descriptors(limit) if limit > 0), "{error}");
        }
        assert!(matches!(LoadError::no_ring(io::ErrorKind::Other.into()), LoadError::NoRing(_)));
    }

    #[test]
    fn a_read_only_file_system_is_named_as_such() {
        let error = LoadError::io("open", Path::new("/mnt"), io::Error::from_raw_os_error(nix::libc::EROFS));
        assert_eq!(error.to_string(), "the file system of `/mnt` is mounted read-only");
        assert!(error.hint().is_some());
    }

    #[test]
    fn an_error_names_the_path_and_the_next_step() {
        let error =
            LoadError::io("open", Path::new("/dev/x"), io::Error::from_raw_os_error(nix::libc::EACCES));
        assert_eq!(error.to_string(), "cannot open `/dev/x`: Permission denied (os error 13)");
        assert_eq!(error.hint(), Some("run as root, or join the group that owns the device (often `disk`)"));
    }
}
