//! What is asked of the engine.

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Nanos};

/// The order in which addresses are visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// One after another.
    #[default]
    Sequential,
    /// At random, with repetition.
    Random,
}

impl Pattern {
    /// As it stands in JSON and in sentences.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Random => "random",
        }
    }
}

/// What was asked of the engine.
///
/// [`Workload::read`] makes the plain case; every further field has a default that changes nothing, so a literal ends in
/// `..Workload::default()`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Workload {
    /// The order of addresses.
    pub pattern: Pattern,
    /// Bytes in each I/O.
    pub block_size: Bytes,
    /// I/Os kept in flight by each worker.
    pub queue_depth: u32,
    /// How long to run, without warm-up.
    pub duration_ns: Nanos,
    /// How many of 100 I/Os are writes: 0 only reads, 100 only writes. Which ones they are is decided at random.
    #[serde(default, skip_serializing_if = "is_default")]
    pub write_percent: u8,
    /// An open loop: so many I/Os for each second of all workers together, each due at its own time whether or not
    /// those before it have ended. An I/O that finds no free place in the queue waits, and its latency counts from when
    /// it was due, so that a stall shows in every I/O that it delayed (no coordinated omission).
    #[serde(default, skip_serializing_if = "is_default")]
    pub paced_iops: Option<u64>,
}

/// What the latencies of a run mean. Numbers of different modes are not comparable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Completions were taken in batches, for the highest rate: each latency includes the wait for its batch.
    Peak,
    /// Completions were taken as they came and the next I/O followed each: what an application sees that keeps so many
    /// I/Os in flight.
    #[default]
    Latency,
    /// I/Os were due at a constant rate, and latencies count from when they were due: what independent clients see.
    Paced {
        /// The rate of all workers together.
        iops: u64,
    },
}

/// A part of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// The first byte.
    pub start: Bytes,
    /// How long it is.
    pub length: Bytes,
}

impl Workload {
    /// Only reads.
    pub fn read(pattern: Pattern, block_size: Bytes, queue_depth: u32, duration: Nanos) -> Self {
        Self { pattern, block_size, queue_depth, duration_ns: duration, ..Self::default() }
    }

    /// Whether some of its I/Os are writes.
    pub fn writes(&self) -> bool {
        self.write_percent > 0
    }

    /// Whether some of its I/Os are reads.
    pub fn reads(&self) -> bool {
        self.write_percent < 100
    }

    /// Whether it both reads and writes.
    pub fn is_mixed(&self) -> bool {
        self.reads() && self.writes()
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
