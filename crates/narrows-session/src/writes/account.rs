//! What a run may write and has written, for whoever shows or keeps it.

use std::time::Duration;

use super::Life;
use narrows_base::units::Bytes;

/// What may be and was written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Account {
    /// The most that may be written in all, whether the run is resumed or not: the filling of the target and the tests.
    pub limit: Bytes,
    /// Whether `--max-writes` said so.
    pub limit_is_asked: bool,
    /// The most by the counters of each device: `limit`, and what a file system adds.
    pub device_limit: Bytes,
    /// What was written so far: the filling of the target and the tests.
    pub written: Bytes,
    /// What the device below the file system has counted since this run began, whoever wrote it; `None` where none counts.
    pub device_written: Option<Bytes>,
    /// What would be written if every test took its longest at the ceiling of the path; `None` where that is not known.
    pub expected: Option<Bytes>,
    /// What may be written to the drive in its life; `None` where that is not known.
    pub life: Option<Life>,
    /// `device_limit` as a part of that life, 1 for all of it.
    pub limit_of_life: Option<f64>,
    /// Whether a write was refused since it would have been more than `limit`.
    pub limit_reached: bool,
    /// What the whole run was thought to take; `None` before it was estimated.
    pub estimate: Option<Estimated>,
}

/// What a run was thought to take, and what it took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimated {
    /// So much had been written when the estimate was made.
    pub after: Bytes,
    /// What the run was thought to write in all.
    pub bytes: Bytes,
    /// How long it was thought to take in all, from the announcement on.
    pub time: Duration,
    /// What it has written.
    pub actual_bytes: Bytes,
    /// How long it took.
    pub actual_time: Duration,
    /// Whether tests end so that neither is exceeded by more than half.
    pub is_held: bool,
}

/// What a saved run says of its writes, which count for the run that goes on with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Before {
    /// The most that it might write.
    pub limit: Bytes,
    /// Whether somebody asked for that; `None` where it was not kept.
    pub limit_is_asked: Option<bool>,
    /// What it wrote.
    pub written: Bytes,
}
