//! The same load at every layer of a path, from the media up: what is opened at each, and the climb.

mod climb;
mod opened;
mod scratch;

use std::time::Duration;

use narrows_base::units::Bytes;

pub use climb::{Climb, Climbed};
pub use opened::Opening;
pub use scratch::writes;

/// What is asked of a ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    /// Whether nothing is written: a file system is then measured through a file that is there.
    pub read: bool,
    /// Whether the load writes as well, to scratch files.
    pub write_scratch: bool,
    /// The size of a scratch file, if that was asked for.
    pub size: Option<Bytes>,
    /// The most that may be written, if that was asked for.
    pub max_writes: Option<Bytes>,
    /// How long each load runs.
    pub time: Duration,
    /// What is not counted.
    pub warm_up: Duration,
}
