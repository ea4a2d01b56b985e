//! What runs on a system, and what was published of it.

use super::Name;
use crate::path::HopKind;
use narrows_base::fact::Source;
use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};

/// The order in which addresses are visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pattern {
    /// One after another.
    #[default]
    Sequential,
    /// At random.
    Random,
}

/// How I/Os are handed to the kernel. Decides what each costs a core, and how many are under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Engine {
    /// `io_uring` with interrupts.
    #[default]
    Uring,
    /// `io_uring` that polls for completions.
    Polled,
    /// Linux native AIO, one submission at a time.
    Libaio,
    /// One call for each I/O, past the page cache.
    Sync,
    /// One call for each I/O, through the page cache with its readahead: `dd`, `cp`.
    Buffered,
    /// `hdparm -t`: through the page cache, 2 MiB at a time.
    Hdparm,
}

impl Engine {
    /// The engine that a file or an option calls so: `io_uring`, `polled`, `libaio`, `sync`, `buffered`, `hdparm`.
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "io_uring" => Self::Uring,
            "polled" => Self::Polled,
            "libaio" => Self::Libaio,
            "sync" => Self::Sync,
            "buffered" => Self::Buffered,
            "hdparm" => Self::Hdparm,
            _ => return None,
        })
    }
}

/// A workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// Its name.
    pub name: Name,
    /// The part that it reads and writes.
    pub target: Name,
    /// The order of addresses.
    pub pattern: Pattern,
    /// Bytes in each I/O.
    pub block_size: Bytes,
    /// I/Os that each job keeps under way, at least 1.
    pub depth: u32,
    /// Jobs (threads, processes, streams) at work together, at least 1.
    pub jobs: u32,
    /// The share of I/Os that read, 0 to 1.
    pub read_share: f64,
    /// Bytes that are visited by all jobs together; `None`: so many that no cache matters.
    pub size: Option<Bytes>,
    /// How I/Os are handed to the kernel.
    pub engine: Engine,
    /// Whether each write is made durable before the next (fsync, fdatasync, O_DSYNC); `None` when nobody says.
    pub flush: Option<bool>,
    /// Workloads that run at the same time, by name.
    pub with: Vec<Name>,
    /// Where it was given.
    pub given: Source,
}

impl Workload {
    /// Sequential reads of 1 MiB, 8 under way, by one job.
    pub fn reading(target: impl Into<String>) -> Self {
        Self {
            name: Name::new("read"),
            target: Name::new(target),
            pattern: Pattern::Sequential,
            block_size: Bytes::from_mib(1),
            depth: 8,
            jobs: 1,
            read_share: 1.0,
            size: None,
            engine: Engine::Uring,
            flush: None,
            with: Vec::new(),
            given: Source::new("made in code"),
        }
    }

    /// The same with writes.
    #[must_use]
    pub fn writing(self) -> Self {
        Self { read_share: 0.0, ..self }
    }

    /// I/Os that all jobs together keep under way.
    pub fn in_flight(&self) -> f64 {
        f64::from(self.depth.max(1)) * f64::from(self.jobs.max(1))
    }
}

/// A value that was published.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PublishedValue {
    /// A rate of reads and writes together.
    Rate(BytesPerSec),
    /// I/Os in a second.
    Iops(Iops),
    /// The mean time of one I/O.
    Latency(Nanos),
}

/// One published result.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// What was measured, in a few words.
    pub what: String,
    /// The workload.
    pub workload: Name,
    /// What was different from the rest of the file: `name.key` and its value.
    pub set: Vec<(String, String)>,
    /// The result.
    pub value: PublishedValue,
    /// Where it was published; that of the system when empty.
    pub source: String,
    /// Why the prediction is another, when it is.
    pub why: Option<String>,
    /// The kinds of hop that its source blames, by any of which it may be limited; empty when it blames none.
    pub limited_by: Vec<HopKind>,
    /// Where it was given.
    pub given: Source,
}
