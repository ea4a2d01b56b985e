//! A result of another tool.

mod rates;
mod tool;

pub use rates::{Latency, Percentile, Side, Spread};
pub use tool::Tool;

use serde::{Deserialize, Serialize};

use narrows_base::units::{Bytes, Iops, Nanos};
use narrows_base::workload::Pattern;

/// One result: what one call of a tool printed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Imported {
    /// The tool.
    pub tool: Tool,
    /// Its version, if it says so.
    #[serde(rename = "tool_version")]
    pub version: Option<String>,
    /// The text that it stands in.
    pub file: String,
    /// The line where it begins, from 1.
    pub line: usize,
    /// The command that was typed, if it stands there.
    pub command: Option<String>,
    /// What was measured, in the order of the text.
    pub measurements: Vec<Measured>,
    /// What the tool says went wrong.
    pub failures: Vec<String>,
    /// Numbers that were corrected on reading, and why.
    pub corrections: Vec<String>,
    /// What the text leaves open and was assumed, or what is to be known of a number that was not corrected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Numbers that the tool made from others that it printed too, and what those others make.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub derived: Vec<Derived>,
    /// Whether the text ends before the result does.
    pub truncated: bool,
    /// Whether its head is missing, so that the command beside it may be another run's.
    #[serde(skip)]
    pub is_headless: bool,
    /// The machine that ran the tool, if it says so.
    #[serde(skip)]
    pub host: Option<String>,
    /// When the run began, in seconds since 1970, if it says so.
    #[serde(skip)]
    pub started_s: Option<u64>,
    /// Whether the text empties the page cache before the run, or mounts the file system anew.
    #[serde(skip)]
    pub is_cold: bool,
    /// Lines that look like the tool's and could not be read, from 1.
    #[serde(skip)]
    pub unread: Vec<usize>,
    /// How many results behind this one were left out.
    #[serde(skip)]
    pub left_out: usize,
    /// How long the text is of which this is the first result, in bytes; 0 of others.
    #[serde(skip)]
    pub bytes: usize,
}

/// A number that a tool made from others of the same text: a sum, a mean, a score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Derived {
    /// What it is: `SUM host_to_device_memcpy_ce`.
    pub name: String,
    /// What the tool printed, in its own unit.
    pub printed: f64,
    /// What the printed parts make, in the same unit.
    pub computed: f64,
    /// How far both may be apart, as a fraction, by the rounding of what is printed.
    pub rounding: f64,
}

impl Derived {
    /// Whether both agree as far as rounding lets them.
    pub fn agrees(&self) -> bool {
        (self.printed - self.computed).abs() <= self.rounding * self.computed.abs().max(self.printed.abs())
    }
}

impl Imported {
    /// A result without measurements as yet.
    pub fn new(tool: Tool, file: &str, line: usize) -> Self {
        Self {
            tool,
            version: None,
            file: file.to_owned(),
            line,
            command: None,
            measurements: Vec::new(),
            failures: Vec::new(),
            corrections: Vec::new(),
            notes: Vec::new(),
            derived: Vec::new(),
            truncated: false,
            is_headless: false,
            host: None,
            started_s: None,
            is_cold: false,
            unread: Vec::new(),
            left_out: 0,
            bytes: 0,
        }
    }

    /// Where it stands: `fio.txt:12`.
    pub fn place(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }

    /// Adds a measurement of one direction.
    pub(super) fn push(&mut self, line: usize, work: Work, op: Op, side: Side) {
        let mut measured = Measured::new(line, work);
        measured.put(op, side);
        self.measurements.push(measured);
    }

    /// Whether it says anything.
    pub const fn is_empty(&self) -> bool {
        self.measurements.is_empty() && self.failures.is_empty()
    }
}

/// How soon written data was made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// Never: the tool did not ask for it.
    None,
    /// Once, at the end of the run.
    AtEnd,
    /// With every write, or every few.
    Each,
}

/// What the tool was asked to do. `None` is what the text does not tell.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Work {
    /// The tool's name for it: a job, a line of a table.
    pub label: String,
    /// The order of addresses.
    pub pattern: Option<Pattern>,
    /// Bytes in each I/O.
    pub block_size: Option<Bytes>,
    /// I/Os in flight that each job asked for.
    pub queue_depth: Option<u32>,
    /// Threads or processes.
    pub jobs: Option<u32>,
    /// How I/Os were sent: `libaio`, `sync`.
    pub engine: Option<String>,
    /// Whether the page cache was to be bypassed.
    pub direct: Option<bool>,
    /// How soon written data was made durable.
    pub durability: Option<Durability>,
    /// The bytes that all jobs together visit.
    pub working_set: Option<Bytes>,
    /// The file or device.
    pub target: Option<String>,
    /// Whether what was written were zeros.
    pub zeros: Option<bool>,
    /// The time that was asked for.
    pub asked_ns: Option<Nanos>,
    /// The option that told the tool to go no faster, as it was written: `rate_iops=500`.
    #[serde(skip)]
    pub held_to: Option<String>,
}

/// Reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// From the target.
    Read,
    /// To the target.
    Write,
}

impl Op {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// What the tool's own threads used, in fractions of one processor core for each job.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cpu {
    /// In the tool itself.
    pub user: f64,
    /// In the kernel.
    pub system: f64,
}

impl Cpu {
    /// Both together.
    pub fn total(self) -> f64 {
        self.user + self.system
    }
}

/// What a block device did meanwhile, by its kernel counters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceUse {
    /// Its kernel name.
    pub name: String,
    /// Reads that it completed.
    pub read_ios: u64,
    /// Writes that it completed.
    pub write_ios: u64,
    /// Reads that were merged into others before it saw them.
    pub read_merges: u64,
    /// Writes that were merged into others.
    pub write_merges: u64,
    /// The bytes it read, if told.
    pub read_bytes: Option<Bytes>,
    /// The bytes it wrote, if told.
    pub write_bytes: Option<Bytes>,
    /// The share of time in which it had something to do.
    pub busy: Option<f64>,
}

/// One measurement of a result. `None` is what the text does not tell, or a direction that was not measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measured {
    /// The line where it stands, from 1.
    pub line: usize,
    /// What was asked.
    #[serde(rename = "workload")]
    pub work: Work,
    /// The reads.
    pub read: Option<Side>,
    /// The writes.
    pub write: Option<Side>,
    /// Reads and writes together, where the tool does not tell them apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub both: Option<Side>,
    /// What crossed a network, where no storage was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Side>,
    /// Latencies of I/Os whose rate in this direction is not told, or of I/Os of every kind together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ns: Option<Latency>,
    /// Calls each second that make data durable.
    #[serde(rename = "syncs_per_second", skip_serializing_if = "Option::is_none")]
    pub syncs: Option<Iops>,
    /// What calls that make data durable took.
    pub sync_ns: Option<Latency>,
    /// What the tool's own threads used.
    pub cpu: Option<Cpu>,
    /// What devices did meanwhile.
    pub devices: Vec<DeviceUse>,
    /// The tool's own error number of this job; 0 is none.
    pub error: i64,
    /// Whether memory alone was measured, as the tool itself says.
    pub memory_only: bool,
    /// How many machines took part.
    pub nodes: Option<u32>,
    /// I/Os that waited in an interval in which none ended, by `iostat`.
    #[serde(skip)]
    pub stuck: Option<f64>,
    /// Files or directories that were created, looked up, read or removed each second, where that was measured.
    #[serde(rename = "entries_per_second", skip_serializing_if = "Option::is_none")]
    pub entries: Option<Iops>,
    /// How far that differed from one repetition to the next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries_spread: Option<Spread>,
    /// What the names of its logs begin with, if it was told to write any.
    #[serde(skip)]
    pub logs: Option<String>,
    /// What the tool itself says against it.
    #[serde(skip)]
    pub doubts: Vec<Doubt>,
}

/// What narrows said against a run of its own when it made it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Doubt {
    /// The code of its finding; empty where it says only that the run is not trusted.
    pub code: String,
    /// The finding in words.
    pub summary: String,
}

impl Measured {
    /// A measurement with nothing in it as yet.
    pub fn new(line: usize, work: Work) -> Self {
        Self { line, work, ..Self::default() }
    }

    /// What was achieved, direction by direction.
    pub fn sides(&self) -> impl Iterator<Item = (Op, &Side)> {
        let read = self.read.as_ref().map(|side| (Op::Read, side));
        read.into_iter().chain(self.write.as_ref().map(|side| (Op::Write, side)))
    }

    /// One direction.
    pub const fn side(&self, op: Op) -> Option<&Side> {
        match op {
            Op::Read => self.read.as_ref(),
            Op::Write => self.write.as_ref(),
        }
    }

    /// Puts one direction.
    pub fn put(&mut self, op: Op, side: Side) {
        match op {
            Op::Read => self.read = Some(side),
            Op::Write => self.write = Some(side),
        }
    }

    /// I/Os in flight that all jobs together asked for, `None` when not told. An engine that waits for each I/O keeps
    /// one, whatever was asked.
    pub fn asked_in_flight(&self) -> Option<f64> {
        let waits = self.work.engine.as_deref().is_some_and(|engine| {
            matches!(engine, "sync" | "psync" | "vsync" | "pvsync" | "pvsync2" | "mmap")
        });
        let depth = if waits { 1 } else { self.work.queue_depth? };
        Some(f64::from(depth) * f64::from(self.work.jobs.unwrap_or(1)))
    }
}
