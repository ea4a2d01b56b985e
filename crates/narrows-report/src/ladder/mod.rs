//! The view model of `narrows ladder`: exactly what `--json` prints, and all that the text is made of.
//!
//! Rates are bytes per second, sizes bytes, times nanoseconds. What is absent is `null`, and the same object then says
//! why in `reason`.

mod build;
mod text;

pub use build::{About, ladder, report};
pub use text::{document, render};

use serde::{Deserialize, Serialize};

use super::view::{FindingView, HopPair, MachineView, Tool};
use crate::bench::WritesView;
use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};
use narrows_load::measurement::{Access, GeneratorUse, Latency};
use narrows_load::preset::LoadSpec;
use narrows_model::ceiling::Basis;
use narrows_model::path::HopKind;
use narrows_verdict::ladder::{Cause, Leg, NodeRun};
use narrows_verdict::{Confidence, Evidence};

/// The name and version of the schema, in [`LadderReport::schema`].
pub const SCHEMA: &str = "narrows/ladder/1";

/// Where a stack of layers loses its rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LadderReport {
    /// Always `narrows/ladder/1`.
    pub schema: String,
    /// The program that made this report.
    pub tool: Tool,
    /// The machine that it ran on.
    pub machine: MachineView,
    /// The target as it was typed.
    pub target: String,
    /// The measured time of each rung, without warm-up.
    pub duration_ns: Nanos,
    /// What processor, memory, engine and network give without storage.
    pub legs: Vec<Leg>,
    /// One for each load.
    pub ladders: Vec<LadderView>,
    /// What may be and was written to the scratch file; absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<WritesView>,
    /// What could not be measured, and why.
    pub left_out: Vec<LeftOut>,
    /// Whether every rung was measured.
    pub complete: bool,
    /// Why it is not complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl LadderReport {
    /// Whether a layer loses something, a scheduler holds requests back, or there is a fault or limit.
    pub fn has_findings(&self) -> bool {
        use narrows_verdict::Severity;
        let bad = |finding: &FindingView| finding.severity != Severity::Info;
        self.ladders.iter().any(|ladder| {
            ladder.rungs.iter().any(|rung| rung.loss.is_some())
                || ladder.cause == Some(Cause::Scheduler)
                || ladder.findings.iter().any(bad)
        })
    }

    /// Whether anything was measured.
    pub fn has_rates(&self) -> bool {
        self.ladders.iter().flat_map(|ladder| &ladder.rungs).any(|rung| rung.measured.is_some())
    }
}

/// Something that was not measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// The layer.
    pub hop: String,
    /// Why, and what it needs.
    pub reason: String,
}

/// The same load at every layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LadderView {
    /// The load, at each layer alone.
    pub load: LoadSpec,
    /// The measurements, from the media up.
    pub rungs: Vec<RungView>,
    /// The bottleneck, for the direction of the load.
    pub limiting_hop: HopPair,
    /// Why it is the bottleneck.
    pub cause: Option<Cause>,
    /// The hop that comes next, once that is gone.
    pub next_hop: HopPair,
    /// Why that one is.
    pub next_cause: Option<Cause>,
    /// How sure that is.
    pub confidence: Option<Confidence>,
    /// The verdict in words.
    pub sentence: String,
    /// The top of the ladder from the processors of each NUMA node; empty on a machine with one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub numa: Vec<NodeRun>,
    /// Findings on the path, worst first.
    pub findings: Vec<FindingView>,
    /// Why fields that are `null` are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// One measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RungView {
    /// `raid:md0`, or `at_once:raid:md0` for the layers right below it at the same time.
    pub id: String,
    /// The layer.
    pub hop: String,
    /// What it is.
    pub kind: HopKind,
    /// Its name for a person.
    pub name: String,
    /// Whether it is the layers right below `hop` at the same time.
    pub at_once: bool,
    /// The layers right below it.
    pub members: Vec<String>,
    /// What was measured, by direction.
    pub measured: Option<RungPair>,
    /// What the layers below give with the same load.
    pub below_bytes_per_second: Option<BytesPerSec>,
    /// The part of that which is gone here; negative where this layer is faster.
    pub lost: Option<f64>,
    /// The same in bytes per second.
    pub lost_bytes_per_second: Option<BytesPerSec>,
    /// Why, where it is more than chance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossView>,
    /// The narrowest known ceiling of the path to this layer.
    pub ceiling: Option<RungCeiling>,
    /// What each block layer on the way did meanwhile.
    pub layers: Vec<FlowView>,
    /// Threads of the kernel and of narrows that used the processor, busiest first.
    pub threads: Vec<ThreadView>,
    /// The busy fraction of each CPU, by number.
    pub cpus: Vec<CpuView>,
    /// Why fields that are `null` are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A measurement for the direction of its load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RungPair {
    /// When it read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<RungRate>,
    /// When it wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<RungRate>,
}

impl RungPair {
    /// The one that there is.
    pub fn rate(&self) -> Option<&RungRate> {
        self.read.as_ref().or(self.write.as_ref())
    }
}

/// A rate and what belongs to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RungRate {
    /// The mean rate.
    pub bytes_per_second: BytesPerSec,
    /// A 95 % confidence interval of it.
    pub ci95: Option<[BytesPerSec; 2]>,
    /// Whether to believe it.
    pub trusted: bool,
    /// I/Os per second.
    pub iops: Iops,
    /// Latencies in nanoseconds; of several at once the slowest one's.
    pub latency_ns: Latency,
    /// Bytes that were read past the page cache or through it.
    pub access: Access,
    /// What the generator itself used; of several at once the busiest.
    pub generator: GeneratorUse,
    /// Why it ended before its time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<String>,
}

/// Why a layer gives less than those below.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LossView {
    /// The cause.
    pub cause: Cause,
    /// The hop that causes it.
    pub hop: String,
    /// One sentence with the numbers.
    pub summary: String,
    /// How we know.
    pub evidence: Vec<Evidence>,
    /// How sure we are.
    pub confidence: Confidence,
}

/// A ceiling of the path to a layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RungCeiling {
    /// The hop.
    pub hop: String,
    /// The most that can be moved through it here.
    pub bytes_per_second: BytesPerSec,
    /// What it rests on.
    pub basis: Basis,
    /// How it was computed.
    pub formula: String,
}

/// What a block layer did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowView {
    /// Its kernel name.
    pub block: String,
    /// What it is.
    pub kind: HopKind,
    /// Bytes that it moved in the direction of the load.
    pub bytes: Bytes,
    /// Requests that it completed.
    pub requests: u64,
    /// The mean size of a request.
    pub request_bytes: Bytes,
    /// The mean number of requests in flight.
    pub in_flight: f64,
    /// The mean number of bytes in flight.
    pub in_flight_bytes: Bytes,
    /// The mean number of requests that the driver held; the others waited in the scheduler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_driver: Option<f64>,
    /// The fraction of time with a request in flight.
    pub busy: f64,
    /// The mean time of a read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_latency_ns: Option<Nanos>,
}

/// What a thread used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadView {
    /// Its name; a kernel worker is called after its work queue.
    pub name: String,
    /// Cores.
    pub cores: f64,
}

/// How busy a CPU was.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuView {
    /// Its number.
    pub cpu: u32,
    /// The busy fraction of time.
    pub busy: f64,
}
