//! When failed I/Os mean that the target has failed.

use super::failure::RunFailure;

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
    use narrows_base::units::Bytes;
    use nix::libc;

    fn failure(errno: i32, offset: u64) -> RunFailure {
        RunFailure::of_io(-errno, Request { op: Op::Read, offset, length: 512 })
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
