//! Why a run could not go on, of what the kernel says, and when a target counts as failed.

use nix::errno::Errno;
use nix::libc;

use super::engine::{Op, Request};
use super::error::LoadError;
use narrows_base::measurement::{Cause, RunFailure};
use narrows_base::units::Bytes;

/// The kind of a kernel error.
pub(super) const fn cause(errno: i32) -> Cause {
    match errno {
        libc::ENOSPC | libc::EDQUOT | libc::EFBIG => Cause::NoSpace,
        libc::EIO | libc::EBADMSG | libc::ENODATA | libc::EREMOTEIO | libc::EILSEQ | libc::ETIMEDOUT => {
            Cause::Medium
        }
        libc::ENODEV | libc::ENXIO | libc::ENOMEDIUM | libc::ESHUTDOWN => Cause::Gone,
        libc::EROFS => Cause::ReadOnly,
        libc::EOPNOTSUPP | libc::ENOSYS => Cause::Unsupported,
        _ => Cause::Other,
    }
}

/// An I/O that ended with `result`: a negated errno, or too few bytes.
pub(super) fn of_io(result: i32, request: Request) -> RunFailure {
    let errno = (result < 0).then(|| result.saturating_neg());
    RunFailure {
        cause: errno.map_or(Cause::Short, cause),
        errno: errno.map(|errno| format!("{:?}", Errno::from_raw(errno))),
        offset: (request.length > 0).then_some(Bytes::new(request.offset)),
        after_ios: 0,
        detail: describe(result, request),
    }
}

/// The engine itself failed.
pub(super) fn of_engine(error: &std::io::Error) -> RunFailure {
    let errno = error.raw_os_error().map(|errno| format!("{:?}", Errno::from_raw(errno)));
    let detail = format!("the engine failed: {error}");
    RunFailure { cause: Cause::Engine, errno, offset: None, after_ios: 0, detail }
}

/// I/Os that never came back.
pub(super) fn hung(detail: String) -> RunFailure {
    RunFailure { cause: Cause::Hung, errno: None, offset: None, after_ios: 0, detail }
}

/// A run that could not be begun.
pub fn of_error(error: &LoadError) -> RunFailure {
    let errno = match error {
        LoadError::Io { source, .. } | LoadError::NoRing(source) | LoadError::Memory { source, .. } => {
            source.raw_os_error()
        }
        _ => None,
    };
    let cause = match error {
        LoadError::Io { .. } => errno.map_or(Cause::Other, cause),
        LoadError::NoSpace { .. } => Cause::NoSpace,
        LoadError::ReadOnly(_) => Cause::ReadOnly,
        _ => Cause::Engine,
    };
    let errno = errno.map(|errno| format!("{:?}", Errno::from_raw(errno)));
    RunFailure { cause, errno, offset: None, after_ios: 0, detail: error.to_string() }
}

/// A failed I/O in words: who, what, where.
fn describe(result: i32, request: Request) -> String {
    let Request { op, offset, length } = request;
    let (what, moved) = match op {
        Op::Read => ("read", "came back"),
        Op::Write => ("write", "were taken"),
    };
    if result < 0 {
        let errno = Errno::from_raw(result.saturating_neg());
        format!("{what} of {length} bytes at offset {offset}: {} ({errno:?})", errno.desc())
    } else {
        format!("{what} of {length} bytes at offset {offset}: only {result} bytes {moved}")
    }
}

/// After so many failed I/Os in a row the target counts as failed.
const MOST: u32 = 16;

/// The failed I/Os since the last good one.
#[derive(Debug, Default)]
pub(super) struct Streak {
    length: u32,
    /// The first of them, or one before: that of an I/O that failed while good ones were on their way, of which none that
    /// was sent later ended well.
    first: Option<RunFailure>,
    /// When it was seen.
    since: u64,
    last: String,
    /// Whether the last one cannot heal.
    is_final: bool,
}

impl Streak {
    /// An I/O ended well that was sent at the tick `sent`.
    #[inline]
    pub(super) fn end(&mut self, sent: u64) {
        self.length = 0;
        if sent >= self.since {
            self.first = None;
        }
    }

    /// An I/O was seen to have failed at the tick `now`.
    pub(super) fn add(&mut self, failure: RunFailure, now: u64) {
        if self.first.is_none() {
            self.since = now;
        }
        self.length += 1;
        self.last.clone_from(&failure.detail);
        if failure.cause.is_final() && !self.is_final {
            self.is_final = true;
            self.first = Some(failure);
        } else {
            self.first.get_or_insert(failure);
        }
    }

    /// Whether the target counts as failed.
    #[inline]
    pub(super) fn is_failure(&self) -> bool {
        self.is_final || self.length >= MOST
    }

    /// The failure, with the whole story in words.
    pub(super) fn failure(&mut self) -> Option<RunFailure> {
        let first = self.first.take()?;
        let detail = if self.is_final {
            format!("the target failed: {}", first.detail)
        } else {
            format!("the target failed: {} errors in a row, the last: {}", self.length, self.last)
        };
        Some(RunFailure { detail, ..first })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Op, Request};
    use nix::libc;

    const READ: Request = Request { op: Op::Read, offset: 8192, length: 4096 };

    #[test]
    fn a_failure_says_what_where_and_after_how_many() {
        let failure = RunFailure { after_ios: 17, ..of_io(-libc::EIO, READ) };
        assert_eq!(failure.to_string(), "EIO at offset 8192 after 17 I/Os");
        assert_eq!(failure.detail, "read of 4096 bytes at offset 8192: I/O error (EIO)");
        assert_eq!(failure.cause, Cause::Medium);
        let short = of_io(512, READ);
        assert_eq!(short.to_string(), "too few bytes at offset 8192 after 0 I/Os");
    }

    #[test]
    fn what_cannot_heal_is_told_from_what_can() {
        for (errno, cause, is_final) in [
            (libc::ENOSPC, Cause::NoSpace, true),
            (libc::EDQUOT, Cause::NoSpace, true),
            (libc::ENODEV, Cause::Gone, true),
            (libc::ENXIO, Cause::Gone, true),
            (libc::EROFS, Cause::ReadOnly, true),
            (libc::EOPNOTSUPP, Cause::Unsupported, true),
            (libc::EIO, Cause::Medium, false),
            (libc::EINVAL, Cause::Other, false),
        ] {
            let found = super::cause(errno);
            assert_eq!((found, found.is_final()), (cause, is_final), "{errno}");
        }
    }

    #[test]
    fn a_run_that_could_not_begin_keeps_the_words_of_its_error() {
        let error = LoadError::NoRing(std::io::Error::from_raw_os_error(libc::EPERM));
        let failure = of_error(&error);
        assert_eq!((failure.cause, failure.errno.as_deref()), (Cause::Engine, Some("EPERM")));
        assert!(failure.detail.starts_with("io_uring is not available"), "{failure:?}");
    }

    fn failure(errno: i32, offset: u64) -> RunFailure {
        of_io(-errno, Request { op: Op::Read, offset, length: 512 })
    }

    #[test]
    fn a_good_io_that_was_on_its_way_does_not_hide_where_the_failures_began() {
        let mut streak = Streak::default();
        streak.add(failure(libc::EIO, 512), 100);
        streak.end(90);
        for i in 0..u64::from(MOST) {
            assert!(!streak.is_failure(), "{i} in a row");
            streak.add(failure(libc::EIO, 1024), 110 + i);
        }
        assert!(streak.is_failure());
        let failure = streak.failure().unwrap();
        assert_eq!(failure.offset, Some(Bytes::new(512)));
        assert!(failure.detail.contains("16 errors in a row"), "{}", failure.detail);
    }

    #[test]
    fn a_good_io_that_was_sent_later_begins_anew() {
        let mut streak = Streak::default();
        streak.add(failure(libc::EIO, 512), 100);
        streak.end(100);
        (0..u64::from(MOST)).for_each(|i| streak.add(failure(libc::EIO, 1024 + i), 110 + i));
        assert_eq!(streak.failure().unwrap().offset, Some(Bytes::new(1024)));
    }

    #[test]
    fn one_that_cannot_heal_is_the_failure_whatever_came_before() {
        let mut streak = Streak::default();
        streak.add(failure(libc::EIO, 512), 100);
        streak.add(failure(libc::ENODEV, 1024), 101);
        assert!(streak.is_failure());
        assert_eq!(streak.failure().unwrap().offset, Some(Bytes::new(1024)));
    }
}
