//! What is asked of the engine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Nanos};

/// The order in which addresses are visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// One after another.
    #[default]
    Sequential,
    /// At random, with repetition.
    Random,
}

/// What was asked of the engine.
///
/// [`Workload::read`] and [`Workload::write`] make the plain cases; every further field has a default that changes
/// nothing, so a literal ends in `..Workload::default()`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
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
}

impl Workload {
    /// Only reads.
    pub fn read(pattern: Pattern, block_size: Bytes, queue_depth: u32, duration: Nanos) -> Self {
        Self { pattern, block_size, queue_depth, duration_ns: duration, ..Self::default() }
    }

    /// Only writes, which a run accepts on a scratch file alone.
    pub fn write(pattern: Pattern, block_size: Bytes, queue_depth: u32, duration: Nanos) -> Self {
        Self { write_percent: 100, ..Self::read(pattern, block_size, queue_depth, duration) }
    }

    /// Whether some of its I/Os are writes.
    pub fn writes(&self) -> bool {
        self.write_percent > 0
    }

    /// Whether some of its I/Os are reads.
    pub fn reads(&self) -> bool {
        self.write_percent < 100
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
