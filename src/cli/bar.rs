//! The bar of a run of a known length.

use std::time::Duration;

use narrows_report::progress::Progress;
use narrows_session::measure::{Follower, Look};

/// Shows how far a run is, and its rate so far.
pub(super) struct Bar<'a> {
    pub(super) progress: &'a Progress,
    /// What of the length that was announced is over when the measured time begins.
    pub(super) before: Duration,
}

impl Follower for Bar<'_> {
    fn look(&self, look: &Look) {
        self.progress.update(self.before + look.elapsed, Some(look.done.per(look.elapsed)));
    }
}
