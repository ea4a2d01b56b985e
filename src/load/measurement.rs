//! What a run achieved, with everything needed to judge whether to believe it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{Bytes, BytesPerSec, Iops, Nanos};

/// The order in which addresses are visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// One after another.
    Sequential,
    /// Uniformly at random.
    Random,
}

/// What was asked of the engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Workload {
    /// The order of addresses.
    pub pattern: Pattern,
    /// Bytes in each I/O.
    pub block_size: Bytes,
    /// I/Os kept in flight.
    pub queue_depth: u32,
    /// How long to run, without warm-up.
    pub duration_ns: Nanos,
}

/// How the target was opened in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// O_DIRECT: past the page cache.
    Direct,
    /// Through the page cache, because the file system refused O_DIRECT.
    Buffered,
}

/// Latencies of completed I/Os in nanoseconds, from submission to completion.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// The number of I/Os recorded.
    pub count: u64,
    /// The least.
    pub min: Nanos,
    /// The arithmetic mean.
    pub mean: Nanos,
    /// The median.
    pub p50: Nanos,
    /// The 99th percentile.
    pub p99: Nanos,
    /// The 99.9th percentile.
    pub p999: Nanos,
    /// The most.
    pub max: Nanos,
}

/// What the generator itself used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorUse {
    /// Processor time of the busiest worker thread over run time: 1 is a whole core.
    pub cpu: f64,
    /// Kernel entries for each I/O.
    pub enters_per_io: f64,
    /// Involuntary context switches.
    pub involuntary_switches: u64,
    /// The engine that ran: `io_uring` or `psync`, with what the kernel granted.
    pub engine: String,
}

/// The result of one workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measurement {
    /// What was asked.
    pub workload: Workload,
    /// How the target was opened.
    pub access: Access,
    /// The bytes moved in the measured time.
    pub bytes: Bytes,
    /// The measured time, without warm-up.
    pub elapsed_ns: Nanos,
    /// The mean rate.
    pub bytes_per_second: BytesPerSec,
    /// A 95 % confidence interval of the mean rate that allows for autocorrelation (batch means); `None` when the run
    /// was too short for one.
    pub ci95: Option<[BytesPerSec; 2]>,
    /// The mean I/O rate.
    pub iops: Iops,
    /// Latencies.
    pub latency: Latency,
    /// The rate in each 100 ms of the measured time.
    pub series: Vec<BytesPerSec>,
    /// I/Os that failed, with the first error.
    pub errors: u64,
    /// The first error, if any: errno text and offset.
    pub first_error: Option<String>,
    /// Whether the run ended before its time: interrupted, or the target failed.
    pub cut_short: Option<String>,
    /// What the generator used.
    pub generator: GeneratorUse,
    /// The bytes of the region that was visited.
    pub region: Bytes,
}
