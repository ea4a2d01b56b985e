//! What the kernel tells through ioctl(2), or another system call that reads no file, only. All `unsafe` of this folder is here.

pub(super) mod device_mapper;
pub(super) mod kcmp;
pub(super) mod loop_device;
pub(super) mod nvme;
pub(super) mod zvol;

use nix::errno::Errno;

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unanswered {
    /// It takes root to ask.
    Denied,
    /// There is nothing to ask, or it cannot tell.
    Absent,
}

fn reason(error: Errno) -> Unanswered {
    match error {
        Errno::EACCES | Errno::EPERM => Unanswered::Denied,
        _ => Unanswered::Absent,
    }
}
