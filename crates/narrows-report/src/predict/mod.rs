//! The view model of `narrows predict`: exactly what `--json` prints, and all that the text is made from.
//!
//! Rates are bytes per second, sizes bytes, times nanoseconds.

mod text;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use text::render;

use super::view::{Tool, tool};
use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};
use narrows_model::ceiling::{Basis, Direction, FactRef};
use narrows_model::path::file::{Engine, Pattern, Published, PublishedValue, Workload};
use narrows_model::predict::{Bound, BoundKind, Prediction};

/// The name and version of the schema, in [`PredictReport::schema`].
pub const SCHEMA: &str = "narrows/predict/1";

/// A prediction may differ from what was published by so much, as a part of the latter, before it needs an explanation.
pub const TOLERANCE: f64 = 0.15;

/// What `narrows predict` found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictReport {
    /// Always `narrows/predict/1`.
    pub schema: String,
    /// The program that made this report.
    pub tool: Tool,
    /// The systems, in the order in which they were given.
    pub systems: Vec<SystemView>,
}

/// One system.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SystemView {
    /// The file that describes it.
    pub file: String,
    /// Its name.
    pub name: String,
    /// Where its facts are from.
    pub source: String,
    /// What was changed on the command line.
    pub changes: Vec<String>,
    /// What its workloads will get.
    pub predictions: Vec<PredictionView>,
    /// Predicted against published.
    pub published: Vec<PublishedView>,
}

/// What a workload will get.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictionView {
    /// The workload.
    pub workload: WorkloadView,
    /// The same workload before the changes; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Before>,
    /// Bytes in a second, reads and writes together.
    pub bytes_per_second: BytesPerSec,
    /// Those of them that are read.
    pub read_bytes_per_second: BytesPerSec,
    /// Those that are written.
    pub write_bytes_per_second: BytesPerSec,
    /// I/Os in a second.
    pub iops: Iops,
    /// The mean time of one I/O.
    pub latency_ns: Nanos,
    /// How far off the truth may be, as parts of the prediction, below and above.
    pub expected_error: (f64, f64),
    /// The bound that decides; `null` when nothing is known that bounds.
    pub limiting: Option<BoundView>,
    /// The next one.
    pub next: Option<BoundView>,
    /// All bounds, narrowest first.
    pub bounds: Vec<BoundView>,
    /// What the rate does when a hop's ceiling is raised by a part: by so many parts itself.
    pub sensitivity: Vec<SensitivityView>,
    /// What was assumed, and what is not covered.
    pub notes: Vec<String>,
}

/// A workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadView {
    /// Its name.
    pub name: String,
    /// What it reads and writes.
    pub target: String,
    /// `sequential` or `random`.
    pub pattern: String,
    /// Bytes in each I/O.
    pub block_size: Bytes,
    /// I/Os under way for each job.
    pub queue_depth: u32,
    /// Jobs.
    pub jobs: u32,
    /// The share of I/Os that read.
    pub read_share: f64,
    /// How I/Os are handed to the kernel.
    pub engine: String,
}

/// What was, before something was changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Before {
    /// The rate.
    pub bytes_per_second: BytesPerSec,
    /// I/Os in a second.
    pub iops: Iops,
    /// The hop that decided.
    pub limiting_hop: Option<String>,
    /// Its name.
    pub limiting_name: Option<String>,
    /// The rate now, less the rate before: negative for a loss.
    pub gain_bytes_per_second: f64,
    /// The rate now over the rate before.
    pub factor: Option<f64>,
}

/// One bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BoundView {
    /// The hop.
    pub hop: String,
    /// Its name.
    pub name: String,
    /// `bandwidth`, `iops`, `depth`, `processor` or `cap`.
    pub kind: String,
    /// The direction, where it has one alone.
    pub direction: Option<Direction>,
    /// What the workload could move if there were no other bound.
    pub bytes_per_second: BytesPerSec,
    /// What that rests on.
    pub basis: Basis,
    /// How it comes about.
    pub formula: String,
    /// From what.
    pub facts: Vec<FactRef>,
}

/// What the rate does when a hop's ceiling is raised.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SensitivityView {
    /// The hop.
    pub hop: String,
    /// Parts by which the rate changes for each part by which the ceiling does.
    pub elasticity: f64,
}

/// One published result beside what is predicted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedView {
    /// What was measured.
    pub what: String,
    /// `bytes_per_second`, `iops` or `latency_ns`.
    pub unit: String,
    /// What was published.
    pub published: f64,
    /// What is predicted.
    pub predicted: f64,
    /// The prediction over what was published, less one.
    pub difference: f64,
    /// Whether that is small, by [`TOLERANCE`].
    pub agrees: bool,
    /// The hop that decides the prediction.
    pub limiting_hop: Option<String>,
    /// Its name.
    pub limiting_name: Option<String>,
    /// Why they differ; `null` when they agree or nobody knows.
    pub why: Option<String>,
    /// Where it was published.
    pub source: String,
}

/// A report of these systems.
pub fn report(systems: Vec<SystemView>) -> PredictReport {
    PredictReport { schema: SCHEMA.to_owned(), tool: tool(), systems }
}

impl PredictReport {
    /// Whether a published result differs from its prediction and nobody says why.
    pub fn has_unexplained(&self) -> bool {
        let mut rows = self.systems.iter().flat_map(|system| &system.published);
        rows.any(|row| !row.agrees && row.why.is_none())
    }
}

/// The view of a prediction, with the one before something was changed.
pub fn prediction(now: &Prediction, before: Option<&Prediction>) -> PredictionView {
    PredictionView {
        workload: workload(&now.workload),
        before: before.map(|before| {
            let factor = now.rate.get() / before.rate.get();
            Before {
                bytes_per_second: before.rate,
                iops: before.iops,
                limiting_hop: before.narrowest().map(|bound| bound.hop.to_string()),
                limiting_name: before.narrowest().map(|bound| bound.name.clone()),
                gain_bytes_per_second: now.rate.get() - before.rate.get(),
                factor: factor.is_finite().then_some(factor),
            }
        }),
        bytes_per_second: now.rate,
        read_bytes_per_second: now.read,
        write_bytes_per_second: now.write,
        iops: now.iops,
        latency_ns: now.latency,
        expected_error: now.error,
        limiting: now.narrowest().map(bound),
        next: now.next().map(bound),
        bounds: now.bounds.iter().map(bound).collect(),
        sensitivity: now
            .sensitivity
            .iter()
            .map(|it| SensitivityView { hop: it.hop.to_string(), elasticity: it.elasticity })
            .collect(),
        notes: now.notes.clone(),
    }
}

fn workload(it: &Workload) -> WorkloadView {
    let pattern = match it.pattern {
        Pattern::Sequential => "sequential",
        Pattern::Random => "random",
    };
    let engine = match it.engine {
        Engine::Uring => "io_uring",
        Engine::Polled => "polled",
        Engine::Libaio => "libaio",
        Engine::Sync => "sync",
        Engine::Buffered => "buffered",
        Engine::Hdparm => "hdparm",
    };
    WorkloadView {
        name: it.name.to_string(),
        target: it.target.to_string(),
        pattern: pattern.to_owned(),
        block_size: it.block_size,
        queue_depth: it.depth,
        jobs: it.jobs,
        read_share: it.read_share,
        engine: engine.to_owned(),
    }
}

fn bound(it: &Bound) -> BoundView {
    let kind = match it.kind {
        BoundKind::Bandwidth => "bandwidth",
        BoundKind::Iops => "iops",
        BoundKind::Depth => "depth",
        BoundKind::Processor => "processor",
        BoundKind::Cap => "cap",
    };
    BoundView {
        hop: it.hop.to_string(),
        name: it.name.clone(),
        kind: kind.to_owned(),
        direction: it.direction,
        bytes_per_second: it.rate,
        basis: it.basis,
        formula: it.formula.clone(),
        facts: it.facts.clone(),
    }
}

/// The view of a published result beside its prediction.
pub fn published(row: &Published, prediction: &Prediction, source: &str) -> PublishedView {
    let (unit, published, predicted) = match row.value {
        PublishedValue::Rate(rate) => ("bytes_per_second", rate.get(), prediction.rate.get()),
        PublishedValue::Iops(iops) => ("iops", iops.get(), prediction.iops.get()),
        PublishedValue::Latency(time) => ("latency_ns", time.get() as f64, prediction.latency.get() as f64),
    };
    let difference = if published > 0.0 { predicted / published - 1.0 } else { 0.0 };
    let agrees = difference.abs() <= TOLERANCE;
    let narrowest = prediction.narrowest();
    PublishedView {
        what: row.what.clone(),
        unit: unit.to_owned(),
        published,
        predicted,
        difference,
        agrees,
        limiting_hop: narrowest.map(|bound| bound.hop.to_string()),
        limiting_name: narrowest.map(|bound| bound.name.clone()),
        why: row.why.clone().filter(|_| !agrees),
        source: if row.source.is_empty() { source.to_owned() } else { row.source.clone() },
    }
}
