//! What somebody saw a device do, in another tool than this one.

use serde::{Deserialize, Serialize};

use narrows_base::units::{BytesPerSec, Nanos};

/// What a block device did in an interval, as `iostat -x` in a capture says; `None` where this version does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceLoad {
    /// The part of the time in which something was in flight. A device that serves many I/Os at once may be busy all the time
    /// and still be able to do more.
    pub busy: Option<f64>,
    /// I/Os in flight, the mean.
    pub depth: Option<f64>,
    /// Bytes that it read each second.
    #[serde(rename = "read_bytes_per_second")]
    pub read: Option<BytesPerSec>,
    /// Bytes that it wrote each second.
    #[serde(rename = "write_bytes_per_second")]
    pub write: Option<BytesPerSec>,
    /// The time that a read took from request to answer, the mean; `None` where nothing was read.
    #[serde(rename = "read_wait_ns")]
    pub read_wait: Option<Nanos>,
    /// The same of a write.
    #[serde(rename = "write_wait_ns")]
    pub write_wait: Option<Nanos>,
    /// Of how many intervals this was the busiest; 0 for the mean since the start.
    pub intervals: u32,
    /// Whether it is the mean since the machine started, which tells of no load.
    pub since_start: bool,
}
