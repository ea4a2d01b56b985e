//! Who is told how far a run is: a bar, or what counts the writes.

use std::time::Duration;

use narrows_base::units::Bytes;
use narrows_load::stats::Outlook;

/// A moment of a run in its measured time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// The measured time so far.
    pub elapsed: Duration,
    /// What was moved in it, by all targets.
    pub done: Bytes,
    /// How well the rate is known; `None` where the time alone decides when it ends.
    pub outlook: Option<Outlook>,
}

/// Is told of a run while it goes on, in the thread that watches.
pub trait Follower {
    /// Load is being set up.
    fn begin(&self) {}

    /// About every 100 ms of the measured time.
    fn look(&self, _look: &Look) {}

    /// Load is over. No counter was read after it yet, so this must be quick.
    fn end(&self) {}
}

/// Nobody follows.
impl Follower for () {}
