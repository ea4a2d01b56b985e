//! A result of another tool.

use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};
use narrows_base::workload::Pattern;
use serde::{Deserialize, Serialize};

/// One result: what one call of a tool printed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Imported {
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
        Self { tool, file: file.to_owned(), line, ..Self::default() }
    }

    /// Where it stands: `fio.txt:12`.
    pub fn place(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }

    /// Adds a measurement of one direction.
    pub(super) fn push(&mut self, line: usize, work: Work, op: Op, side: Side) {
        self.measurements.push(Measured::of(line, work, op, side));
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

impl Work {
    /// Work of which only its name is told as yet.
    pub(super) fn named(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }

    /// Work of one thread that waits for each I/O.
    pub(super) fn one_at_a_time(label: impl Into<String>) -> Self {
        Self { queue_depth: Some(1), jobs: Some(1), ..Self::named(label) }
    }
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
    /// The direction that a word names.
    pub(super) fn named(word: &str) -> Option<Self> {
        [Self::Read, Self::Write].into_iter().find(|op| op.word().eq_ignore_ascii_case(word))
    }

    /// The word for it.
    pub const fn word(self) -> &'static str {
        self.pick("read", "write")
    }

    /// What is of this direction.
    pub const fn pick<T: Copy>(self, read: T, write: T) -> T {
        match self {
            Self::Read => read,
            Self::Write => write,
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
    pub read: Option<Side>,
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

    /// A measurement of one direction.
    pub(super) fn of(line: usize, work: Work, op: Op, side: Side) -> Self {
        let mut measured = Self::new(line, work);
        measured.put(op, side);
        measured
    }

    /// What was achieved, direction by direction.
    pub fn sides(&self) -> impl Iterator<Item = (Op, &Side)> {
        let read = self.read.as_ref().map(|side| (Op::Read, side));
        read.into_iter().chain(self.write.as_ref().map(|side| (Op::Write, side)))
    }

    /// One direction.
    pub const fn side(&self, op: Op) -> Option<&Side> {
        op.pick(self.read.as_ref(), self.write.as_ref())
    }

    /// One direction, to be filled.
    pub(super) const fn side_mut(&mut self, op: Op) -> &mut Option<Side> {
        match op {
            Op::Read => &mut self.read,
            Op::Write => &mut self.write,
        }
    }

    /// Puts one direction.
    pub fn put(&mut self, op: Op, side: Side) {
        *self.side_mut(op) = Some(side);
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

/// A percentile of latency.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Percentile {
    /// Of 100 I/Os, how many were no slower.
    pub percent: f64,
    /// Their greatest latency.
    pub latency_ns: f64,
}

/// Latencies in nanoseconds, as far as a tool tells them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Latency {
    /// The arithmetic mean.
    pub mean: Option<f64>,
    /// The median.
    pub p50: Option<f64>,
    /// The 99th percentile.
    pub p99: Option<f64>,
    /// The most.
    pub max: Option<f64>,
    /// The standard deviation of single latencies, if the tool tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deviation: Option<f64>,
    /// Every percentile, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub percentiles: Vec<Percentile>,
}

impl Latency {
    /// Latencies of which only the mean is known.
    pub fn of_mean(nanoseconds: f64) -> Self {
        Self { mean: Some(nanoseconds), ..Self::default() }
    }

    /// Adds percentiles, sorted, and takes the median and the 99th from them.
    pub fn with_percentiles(mut self, mut percentiles: Vec<Percentile>) -> Self {
        percentiles.retain(|one| one.percent > 0.0 && one.latency_ns.is_finite());
        percentiles.sort_by(|a, b| a.percent.total_cmp(&b.percent));
        let at = |percent: f64| {
            percentiles.iter().find(|one| (one.percent - percent).abs() < 1e-9).map(|one| one.latency_ns)
        };
        self.p50 = self.p50.or(at(50.0));
        self.p99 = self.p99.or(at(99.0));
        self.percentiles = percentiles;
        self
    }
}

/// How far a rate moved, by the tool's own samples. The unit is that of the samples: only quotients mean anything.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spread {
    /// The mean of the samples.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// How many there are, if the tool says so.
    pub samples: Option<u64>,
}

impl Spread {
    /// The mean of samples and their standard deviation; `None` of none.
    pub fn of(samples: &[f64]) -> Option<Self> {
        let count = samples.len() as f64;
        let mean = samples.iter().sum::<f64>() / count;
        let variance = samples.iter().map(|sample| (sample - mean).powi(2)).sum::<f64>() / count;
        let samples = u64::try_from(samples.len()).ok().filter(|count| *count > 0)?;
        Some(Self { mean, deviation: variance.sqrt(), samples: Some(samples) })
    }

    /// The standard deviation as a fraction of the mean; `None` when the mean is nothing.
    pub fn relative(&self) -> Option<f64> {
        (self.mean > 0.0).then_some(self.deviation / self.mean)
    }
}

/// What was achieved in one direction.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Side {
    /// The mean rate.
    pub bytes_per_second: BytesPerSec,
    /// I/Os per second.
    pub iops: Option<Iops>,
    /// The bytes that were moved.
    pub bytes: Option<Bytes>,
    /// The I/Os that were done.
    pub ios: Option<u64>,
    /// The measured time.
    pub elapsed_ns: Option<Nanos>,
    /// Latencies from the call to the end of an I/O.
    pub latency_ns: Option<Latency>,
    /// The mean time until an I/O was handed to the kernel, in nanoseconds.
    pub submission_ns: Option<f64>,
    /// The mean time from there to its end, in nanoseconds.
    pub completion_ns: Option<f64>,
    /// How far the rate moved.
    pub spread: Option<Spread>,
    /// The rate in equal spans of the run, all jobs together, where a log of it is there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<BytesPerSec>,
    /// The length of these spans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series_span_ns: Option<Nanos>,
    /// The log that tells them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series_source: Option<String>,
    /// The rate in another unit of the same text, for checks of consistency.
    #[serde(skip)]
    pub second_rate: Option<BytesPerSec>,
    /// The part of the datagrams that did not arrive, of a network without a protocol that sends them again.
    #[serde(skip)]
    pub lost: Option<f64>,
}

impl Side {
    /// A rate of which nothing else is told as yet.
    pub(super) fn at(bytes_per_second: BytesPerSec) -> Self {
        Self { bytes_per_second, ..Self::default() }
    }
}

/// The tool that measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Tool {
    /// The Flexible I/O Tester.
    #[default]
    Fio,
    /// dd of coreutils, busybox or a BSD.
    Dd,
    /// `hdparm -t` and `-T`.
    Hdparm,
    /// KDiskMark.
    Kdiskmark,
    /// CrystalDiskMark.
    Crystaldiskmark,
    /// Microsoft's diskspd.
    Diskspd,
    Iozone,
    Ior,
    Elbencho,
    Bonnie,
    /// `cryptsetup benchmark`.
    Cryptsetup,
    Vdbench,
    /// IO500, whose phases are those of IOR and mdtest.
    Io500,
    /// GNOME Disks.
    Gnomedisks,
    /// Yet Another Bench Script.
    Yabs,
    /// NVIDIA's nvbandwidth.
    Nvbandwidth,
    /// rsync, cp and mv.
    Copy,
    /// `rados bench` of Ceph.
    Radosbench,
    /// `rbd bench` of Ceph.
    Rbdbench,
    /// `pwrite` and `pread` of xfs_io.
    Xfsio,
    /// `stress-ng --hdd`.
    Stressng,
    Dbench,
    /// bench.sh of teddysun, and scripts that print the same table.
    Benchsh,
    Nench,
    /// iperf3: a network, no storage.
    Iperf3,
    /// `sysbench fileio`.
    Sysbench,
    Mdtest,
    /// pveperf of Proxmox VE.
    Pveperf,
    Ioping,
    /// f3write, f3read and f3probe.
    F3,
    /// H2testw, which fills a drive under Windows and reads it back.
    H2testw,
    /// `t/io_uring` of fio.
    Iouring,
    /// `iostat` by itself: what devices did under a load that is not told.
    Iostat,
    /// `zpool iostat` by itself.
    Zpooliostat,
    /// `btrfs scrub`.
    Btrfsscrub,
    /// fs_mark.
    Fsmark,
    /// `winsat disk` of Windows.
    Winsat,
    /// HD Tune.
    Hdtune,
    /// `spdk_nvme_perf` and `bdevperf` of SPDK.
    Spdk,
    /// `gdsio` of NVIDIA's GPUDirect Storage.
    Gdsio,
    /// `pg_test_fsync` of PostgreSQL.
    Pgtestfsync,
    /// AS SSD Benchmark.
    Asssd,
    /// iobench, for models that are read from a drive.
    Iobench,
    /// warp of MinIO.
    Warp,
    /// narrows itself: what it saved as JSON.
    Narrows,
}

impl Tool {
    /// Its name as its makers write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fio => "fio",
            Self::Dd => "dd",
            Self::Hdparm => "hdparm",
            Self::Kdiskmark => "KDiskMark",
            Self::Crystaldiskmark => "CrystalDiskMark",
            Self::Diskspd => "diskspd",
            Self::Iozone => "IOzone",
            Self::Ior => "IOR",
            Self::Elbencho => "elbencho",
            Self::Bonnie => "bonnie++",
            Self::Cryptsetup => "cryptsetup benchmark",
            Self::Vdbench => "Vdbench",
            Self::Io500 => "IO500",
            Self::Gnomedisks => "GNOME Disks",
            Self::Yabs => "YABS",
            Self::Nvbandwidth => "nvbandwidth",
            Self::Copy => "copy",
            Self::Radosbench => "rados bench",
            Self::Rbdbench => "rbd bench",
            Self::Xfsio => "xfs_io",
            Self::Stressng => "stress-ng --hdd",
            Self::Dbench => "dbench",
            Self::Benchsh => "bench.sh",
            Self::Nench => "nench",
            Self::Iperf3 => "iperf3",
            Self::Sysbench => "sysbench fileio",
            Self::Mdtest => "mdtest",
            Self::Pveperf => "pveperf",
            Self::Ioping => "ioping",
            Self::F3 => "f3",
            Self::H2testw => "H2testw",
            Self::Iouring => "t/io_uring",
            Self::Iostat => "iostat",
            Self::Zpooliostat => "zpool iostat",
            Self::Btrfsscrub => "btrfs scrub",
            Self::Fsmark => "fs_mark",
            Self::Winsat => "winsat disk",
            Self::Hdtune => "HD Tune",
            Self::Spdk => "SPDK perf",
            Self::Gdsio => "gdsio",
            Self::Pgtestfsync => "pg_test_fsync",
            Self::Asssd => "AS SSD",
            Self::Iobench => "iobench",
            Self::Warp => "warp",
            Self::Narrows => "narrows",
        }
    }
}
