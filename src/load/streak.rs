//! When failed I/Os mean that the target has failed.

use super::failure::RunFailure;

/// After so many failed I/Os in a row the target counts as failed.
const MOST: u32 = 16;

/// The failed I/Os since the last good one.
#[derive(Debug, Default)]
pub(super) struct Streak {
    length: u32,
    first: Option<RunFailure>,
    last: String,
    /// Whether the last one cannot heal.
    is_final: bool,
}

impl Streak {
    /// An I/O ended well.
    #[inline]
    pub(super) fn end(&mut self) {
        self.length = 0;
    }

    /// An I/O failed.
    pub(super) fn add(&mut self, failure: RunFailure) {
        if self.length == 0 {
            self.first = None;
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
