//! What a run achieved, with everything needed to judge whether to believe it.

pub use super::workload::{Mode, Pattern, Workload};

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::ran::EngineRan;
use super::units::{Bytes, BytesPerSec, Iops, Nanos};

/// How the target was opened in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// O_DIRECT: past the page cache.
    #[default]
    Direct,
    /// Through the page cache, because the file system refused O_DIRECT.
    Buffered,
}

/// Latencies of completed I/Os in nanoseconds, from submission to completion.
///
/// Every I/O that ended well in the measured time is recorded. Count, least, mean and most are exact; a percentile is
/// the least latency that so many percent of the I/Os did not exceed, to within 1/128 of itself. One for which there are
/// too few I/Os is `null` ([`Percentile::least_samples`]).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Latency {
    /// The number of I/Os recorded.
    pub count: u64,
    /// The least.
    pub min: Nanos,
    /// The arithmetic mean.
    pub mean: Nanos,
    /// The median.
    pub p50: Option<Nanos>,
    /// The 90th percentile.
    #[serde(default)]
    pub p90: Option<Nanos>,
    /// The 95th percentile.
    #[serde(default)]
    pub p95: Option<Nanos>,
    /// The 99th percentile.
    pub p99: Option<Nanos>,
    /// The 99.9th percentile.
    pub p999: Option<Nanos>,
    /// The 99.99th percentile.
    #[serde(default)]
    pub p9999: Option<Nanos>,
    /// The 99.999th percentile.
    #[serde(default)]
    pub p99999: Option<Nanos>,
    /// The most.
    pub max: Nanos,
    /// I/Os so slow (over some 5 minutes) that a percentile among them is the most; they are in all other figures.
    #[serde(default)]
    pub overflow: u64,
    /// The slowest I/Os, slowest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slowest: Vec<SlowIo>,
    /// The percentiles of each tenth of the measured time, by their field: how much they vary. Without those for which a
    /// tenth has too few I/Os.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tenths: BTreeMap<String, Vec<Nanos>>,
    /// Why fields that are `null` are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Latency {
    /// The percentiles in order; `None` where there are too few I/Os.
    pub fn percentiles(&self) -> [(Percentile, Option<Nanos>); PERCENTILES.len()] {
        let values = [self.p50, self.p90, self.p95, self.p99, self.p999, self.p9999, self.p99999];
        std::array::from_fn(|index| (PERCENTILES[index], values[index]))
    }

    /// The same with the percentiles that `quantile` gives, as far as `count` supports them.
    pub fn with_percentiles(self, quantile: impl Fn(f64) -> Nanos) -> Self {
        let is_known = |percentile: &Percentile| self.count >= percentile.least_samples();
        let [p50, p90, p95, p99, p999, p9999, p99999] =
            PERCENTILES.map(|one| is_known(&one).then(|| quantile(one.fraction)));
        let unknown = PERCENTILES.iter().filter(|one| !is_known(one));
        let needs: Vec<String> =
            unknown.map(|one| format!("{} ({} needed)", one.key, one.least_samples())).collect();
        let reason = (!needs.is_empty()).then(|| format!("too few samples: {}", needs.join(", ")));
        Self { p50, p90, p95, p99, p999, p9999, p99999, reason, ..self }
    }
}

/// One of the slowest I/Os.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlowIo {
    /// How long it took.
    pub latency_ns: Nanos,
    /// Where it went.
    pub offset: Bytes,
    /// When it ended, since the measured time began.
    pub at_ns: Nanos,
}

/// What the generator itself used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GeneratorUse {
    /// Processor time of the busiest worker thread over run time: 1 is a whole core.
    pub cpu: f64,
    /// Processor time of the kernel's worker threads for our rings (io-wq) over run time, all together: 1 is a whole core.
    /// They take the I/Os that a device or a layer above it cannot take without waiting.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub io_workers: f64,
    /// That of the busiest of them. Not written down; findings show it.
    #[serde(skip)]
    pub busiest_io_worker: f64,
    /// The time over run time that a worker thread stood in the queue of a processor because others had it, or because
    /// its control group may use no more: the longest. Not written down; findings show it.
    #[serde(skip)]
    pub queued: f64,
    /// Kernel entries for each I/O.
    pub enters_per_io: f64,
    /// Involuntary context switches.
    pub involuntary_switches: u64,
    /// The engine that ran: `io_uring` or `psync`, with what the kernel granted.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub engine: EngineRan,
    /// The I/Os that the engine could keep in flight. Less than was asked where the engine cannot do more.
    #[serde(default)]
    pub queue_depth: u32,
    /// The mean number of I/Os in flight: the sum of all latencies over the measured time (Little's law). Close to
    /// `queue_depth` when the target was kept busy.
    #[serde(default)]
    pub mean_in_flight: f64,
    /// Worker threads.
    #[serde(default)]
    pub threads: u32,
    /// The CPUs that worker threads were pinned to; empty when they were free to move.
    #[serde(default)]
    pub pinned_to: Vec<u32>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn is_zero(part: &f64) -> bool {
    *part == 0.0
}

/// Whether the counts of a run agree with each other.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SelfChecks {
    /// The sum of all latencies over the integral of the I/Os in flight, which was counted on its own: 1 by Little's
    /// law, but for the I/Os that cross the ends of the measured time. `None` for a paced run, whose I/Os also wait
    /// outside the queue, and when nothing was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub little: Option<f64>,
    /// I/Os that ended well in the measured time.
    pub completed: u64,
    /// Latencies that were recorded; equal to `completed`.
    pub recorded: u64,
    /// What one I/O costs the engine on the CPU of the first worker, in nanoseconds, by NOPs through a ring right before
    /// the run; `None` unless `RunOptions::measure_nop` asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nop_ns_per_io: Option<f64>,
}

/// What one kind of I/O achieved: the reads of a run, or its writes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpTotals {
    /// I/Os that ended well in the measured time.
    pub count: u64,
    /// The bytes they moved.
    pub bytes: Bytes,
    /// Their mean rate.
    pub bytes_per_second: BytesPerSec,
    /// Their mean I/O rate.
    pub iops: Iops,
    /// Their latencies.
    #[serde(rename = "latency_ns")]
    pub latency: Latency,
}

/// The result of one workload. Totals are of reads and writes together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measurement {
    /// What was asked.
    pub workload: Workload,
    /// What the latencies mean.
    #[serde(default)]
    pub mode: Mode,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci95: Option<[BytesPerSec; 2]>,
    /// The mean I/O rate.
    pub iops: Iops,
    /// Latencies.
    #[serde(rename = "latency_ns")]
    pub latency: Latency,
    /// The reads alone; absent where there were none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reads: OpTotals,
    /// The writes alone; absent where there were none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub writes: OpTotals,
    /// The rate in each 100 ms of the measured time. The bytes of an I/O count for the time since the one before it ended,
    /// so that few large I/Os at a steady rate are steady here, too. A remainder shorter than that is left out here (its bytes are in
    /// `bytes`), since its rate would look like a drop.
    pub series: Vec<BytesPerSec>,
    /// I/Os that failed or returned too little, warm-up included. Their bytes and latencies are not counted.
    pub errors: u64,
    /// The first error, if any: errno text and offset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_error: Option<String>,
    /// Whether the run ended before its time: interrupted, or the target failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<String>,
    /// What ended the run, when it was neither its time nor a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<RunFailure>,
    /// What the generator used.
    pub generator: GeneratorUse,
    /// Whether the counts of the run agree with each other.
    #[serde(default)]
    pub checks: SelfChecks,
    /// The bytes of the region that was visited.
    #[serde(rename = "region_bytes")]
    pub region: Bytes,
}

/// What kind of thing went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// No room is left for what is written (ENOSPC, EDQUOT).
    NoSpace,
    /// The device, or something between it and us, failed the I/O (EIO and what the kernel distinguishes of it).
    Medium,
    /// The device went away (ENODEV, ENXIO, ENOMEDIUM).
    Gone,
    /// The target became read-only (EROFS), which file systems do after an error.
    ReadOnly,
    /// The target cannot do this kind of I/O (EOPNOTSUPP).
    Unsupported,
    /// The kernel moved fewer bytes than were asked for.
    Short,
    /// I/Os did not come back.
    Hung,
    /// The engine broke down, or could not be set up.
    Engine,
    /// Anything else.
    Other,
}

impl Cause {
    /// Whether trying again cannot help, so that the first such error ends a run.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::NoSpace | Self::Gone | Self::ReadOnly | Self::Unsupported)
    }

    /// What the user can do.
    pub const fn hint(self) -> &'static str {
        match self {
            Self::NoSpace => {
                "free some space: a file system that compresses, copies on write or is thinly provisioned needs room even to overwrite"
            }
            Self::Medium => {
                "look for the device in the kernel log (`dmesg`) and at its health (`smartctl -a`); save what is on it"
            }
            Self::Gone => "the device went away: look at cables, power and the kernel log (`dmesg`)",
            Self::ReadOnly => "the kernel made it read-only, as it does after an error: see `dmesg`",
            Self::Unsupported => "the file system or device cannot do this; leave these tests out",
            Self::Short => "the target shrank: see whether something else works on it",
            Self::Hung => {
                "the device does not answer: see `dmesg`; the kernel may need minutes to give it up"
            }
            Self::Engine => "run it again; if it stays, use the smaller tests, and report it as a bug",
            Self::Other => "see the kernel log (`dmesg`)",
        }
    }
}

/// Why a run ended before its time, when it was not asked to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunFailure {
    /// The kind.
    pub cause: Cause,
    /// The kernel's name of the error: `EIO`; `None` when it was no error of the kernel.
    pub errno: Option<String>,
    /// Where the I/O went; `None` when it was none in particular.
    pub offset: Option<Bytes>,
    /// I/Os of all workers that ended well until then, warm-up included.
    pub after_ios: u64,
    /// The failure in words.
    pub detail: String,
}

impl fmt::Display for RunFailure {
    /// `EIO at offset 4096 after 17 I/Os`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.errno, self.cause) {
            (Some(errno), _) => f.write_str(errno)?,
            (None, Cause::Short) => f.write_str("too few bytes")?,
            (None, Cause::Hung) => f.write_str("no answer")?,
            (None, _) => f.write_str(&self.detail)?,
        }
        if let Some(offset) = self.offset {
            write!(f, " at offset {}", offset.get())?;
        }
        write!(f, " after {} I/Os", self.after_ios)
    }
}

/// A percentile of latencies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Percentile {
    /// How people write it: `p99.9`.
    pub label: &'static str,
    /// Its field in JSON: `p999`.
    pub key: &'static str,
    /// The fraction of I/Os that do not exceed it.
    pub fraction: f64,
}

/// The percentiles of every result, from the median to five nines.
pub const PERCENTILES: [Percentile; 7] = [
    Percentile { label: "p50", key: "p50", fraction: 0.5 },
    Percentile { label: "p90", key: "p90", fraction: 0.9 },
    Percentile { label: "p95", key: "p95", fraction: 0.95 },
    Percentile { label: "p99", key: "p99", fraction: 0.99 },
    Percentile { label: "p99.9", key: "p999", fraction: 0.999 },
    Percentile { label: "p99.99", key: "p9999", fraction: 0.9999 },
    Percentile { label: "p99.999", key: "p99999", fraction: 0.99999 },
];

/// How sure it must be that the slowest of the samples lies beyond a percentile.
const CONFIDENCE: f64 = 0.95;

impl Percentile {
    /// The fewest samples that say something of it: with fewer, all of them may lie below it, and what is taken for the
    /// percentile is merely the slowest sample.
    ///
    /// The slowest of n samples exceeds the quantile q with a probability of 1 − qⁿ (Wilks, "Determination of sample
    /// sizes for setting tolerance limits", Annals of Mathematical Statistics 12, 1941), which must be 95 %.
    pub fn least_samples(&self) -> u64 {
        ((1.0 - CONFIDENCE).ln() / self.fraction.ln()).ceil() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_samples_are_those_of_wilks() {
        // 59 for 95/95 and 299 for 95/99 are in every table of one-sided tolerance limits.
        let least: Vec<u64> = PERCENTILES.iter().map(Percentile::least_samples).collect();
        assert_eq!(least, [5, 29, 59, 299, 2995, 29_956, 299_572]);
    }
}
