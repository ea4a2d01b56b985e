//! The view model of `narrows predict`: exactly what `--json` prints, and all that the text is made from.
//!
//! Rates are bytes per second, sizes bytes, times nanoseconds.

mod text;

use serde::{Deserialize, Serialize};

pub use text::{document, render};

use super::view::{Tool, tool};
use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};
use narrows_model::path::file::{Engine, Pattern, Published, PublishedValue, Workload};
use narrows_model::predict::{Bound, Prediction, Sensitivity};

/// The name and version of the schema, in [`PredictReport::schema`].
pub const SCHEMA: &str = "narrows/predict/1";

/// What `narrows predict` found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PredictReport {
    /// Always `narrows/predict/1`.
    pub schema: String,
    /// The program that made this report.
    pub tool: Tool,
    /// The systems, in the order in which they were given.
    pub systems: Vec<SystemView>,
}

/// One system.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PredictionView {
    /// The workload.
    pub workload: WorkloadView,
    /// The same workload before the changes; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Before>,
    /// Whether the laws that decide hold for this workload. When not, all that follows up to `limiting` and `next` is `null`,
    /// but `at_most`, `not_known_because` and `measure_instead`.
    pub known: bool,
    /// Bytes in a second, reads and writes together.
    pub bytes_per_second: Option<BytesPerSec>,
    /// Those of them that are read.
    pub read_bytes_per_second: Option<BytesPerSec>,
    /// Those that are written.
    pub write_bytes_per_second: Option<BytesPerSec>,
    /// I/Os in a second.
    pub iops: Option<Iops>,
    /// The mean time of one I/O.
    pub latency_ns: Option<Nanos>,
    /// Where the bytes in a second lie in 80 of 100 cases.
    pub interval_80: Option<(BytesPerSec, BytesPerSec)>,
    /// Where they lie in 95 of 100 cases.
    pub interval_95: Option<(BytesPerSec, BytesPerSec)>,
    /// What the rate does not exceed, where it is not known; `null` when it is, or when nothing is known that bounds it.
    pub at_most: Option<Bound>,
    /// Why the rate is not known.
    pub not_known_because: Option<String>,
    /// What would have to be measured to know it.
    pub measure_instead: Option<String>,
    /// The bound that decides.
    pub limiting: Option<Bound>,
    /// The next one.
    pub next: Option<Bound>,
    /// All bounds, narrowest first: what the workload could move if there were no other bound. They are no prediction.
    pub bounds: Vec<Bound>,
    /// What the rate does when a hop's ceiling is raised by a part: by so many parts itself. Empty when the rate is not known.
    pub sensitivity: Vec<Sensitivity>,
    /// What was assumed, and what is not covered.
    pub notes: Vec<String>,
}

/// A workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Before {
    /// The rate; `null` when it is not known.
    pub bytes_per_second: Option<BytesPerSec>,
    /// I/Os in a second.
    pub iops: Option<Iops>,
    /// What the rate did not exceed, where it is not known.
    pub at_most_bytes_per_second: Option<BytesPerSec>,
    /// The hop that decided; `null` when the rate is not known.
    pub limiting_hop: Option<String>,
    /// Its name.
    pub limiting_name: Option<String>,
    /// The rate now, less the rate before: negative for a loss. `null` when one of them is not known.
    pub gain_bytes_per_second: Option<f64>,
    /// The rate now over the rate before.
    pub factor: Option<f64>,
}

/// One published result beside what is predicted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublishedView {
    /// What was measured.
    pub what: String,
    /// `bytes_per_second`, `iops` or `latency_ns`.
    pub unit: String,
    /// What was published.
    pub published: f64,
    /// What is predicted; `null` when it is not known.
    pub predicted: Option<f64>,
    /// The prediction over what was published, less one.
    pub difference: Option<f64>,
    /// Where the result lies in 95 of 100 cases.
    pub interval_95: Option<(f64, f64)>,
    /// What it does not exceed, where it is not known; of a time, what it is not below.
    pub at_most: Option<f64>,
    /// Whether the two agree.
    pub outcome: Outcome,
    /// Why nothing is predicted.
    pub not_known_because: Option<String>,
    /// The hop that decides the prediction, or the bound.
    pub limiting_hop: Option<String>,
    /// Its name.
    pub limiting_name: Option<String>,
    /// What the file says of a result that is not inside the interval.
    pub why: Option<String>,
    /// Where it was published.
    pub source: String,
}

/// How a published result stands to its prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It lies inside the 95 % interval.
    Inside,
    /// It does not.
    Outside,
    /// Nothing was predicted, and what was published does not exceed the bound.
    Refused,
    /// It exceeds a bound that nothing should exceed.
    AboveBound,
}

impl Outcome {
    /// Whether it speaks against a law.
    pub const fn is_wrong(self) -> bool {
        matches!(self, Self::Outside | Self::AboveBound)
    }
}

/// A report of these systems.
pub fn report(systems: Vec<SystemView>) -> PredictReport {
    PredictReport { schema: SCHEMA.to_owned(), tool: tool(), systems }
}

impl PredictReport {
    /// Whether a published result lies outside of its 95 % interval, or above its bound.
    pub fn has_wrong(&self) -> bool {
        let mut rows = self.systems.iter().flat_map(|system| &system.published);
        rows.any(|row| row.outcome.is_wrong())
    }
}

/// The view of a prediction, with the one before something was changed.
pub fn prediction(now: &Prediction, before: Option<&Prediction>) -> PredictionView {
    let known = now.answer.intervals();
    let refused = now.answer.not_known();
    let shown = known.is_some();
    let around = |(low, high): (f64, f64)| (now.rate * low, now.rate * high);
    let felt = now.sensitivity.iter().filter(|_| shown);
    PredictionView {
        workload: workload(&now.workload),
        before: before.map(|before| earlier(now, before)),
        known: shown,
        bytes_per_second: shown.then_some(now.rate),
        read_bytes_per_second: shown.then_some(now.read),
        write_bytes_per_second: shown.then_some(now.write),
        iops: shown.then_some(now.iops),
        latency_ns: shown.then_some(now.latency),
        interval_80: known.map(|it| around(it.in_80)),
        interval_95: known.map(|it| around(it.in_95)),
        at_most: now.at_most().cloned(),
        not_known_because: refused.map(|it| it.because.clone()),
        measure_instead: refused.map(|it| it.measure.clone()),
        limiting: now.narrowest().filter(|_| shown).cloned(),
        next: now.next().filter(|_| shown).cloned(),
        bounds: now.bounds.clone(),
        sensitivity: felt.cloned().collect(),
        notes: now.notes.clone(),
    }
}

fn earlier(now: &Prediction, before: &Prediction) -> Before {
    let shown = before.answer.intervals().is_some();
    let both = shown && now.answer.intervals().is_some();
    let factor = now.rate.get() / before.rate.get();
    let limiting = before.narrowest().filter(|_| shown);
    Before {
        bytes_per_second: shown.then_some(before.rate),
        iops: shown.then_some(before.iops),
        at_most_bytes_per_second: before.at_most().map(|bound| bound.rate),
        limiting_hop: limiting.map(|bound| bound.hop.to_string()),
        limiting_name: limiting.map(|bound| bound.name.clone()),
        gain_bytes_per_second: both.then_some(now.rate.get() - before.rate.get()),
        factor: Some(factor).filter(|factor| both && factor.is_finite()),
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

/// The view of a published result beside its prediction.
pub fn published(row: &Published, prediction: &Prediction, source: &str) -> PublishedView {
    let (unit, published, predicted) = match row.value {
        PublishedValue::Rate(rate) => ("bytes_per_second", rate.get(), prediction.rate.get()),
        PublishedValue::Iops(iops) => ("iops", iops.get(), prediction.iops.get()),
        PublishedValue::Latency(time) => ("latency_ns", time.get() as f64, prediction.latency.get() as f64),
    };
    let is_time = matches!(row.value, PublishedValue::Latency(_));
    // The bound in the unit of the row; a time is not below what it takes at the highest rate.
    let scaled = |factor: f64| if is_time { predicted / factor } else { predicted * factor };
    let at_most = prediction.at_most();
    let most = at_most.map(|bound| scaled(bound.rate.get() / prediction.rate.get().max(f64::MIN_POSITIVE)));
    let known = prediction.answer.intervals();
    let interval = known.map(|it| {
        let (low, high) = (scaled(it.in_95.0), scaled(it.in_95.1));
        (low.min(high), low.max(high))
    });
    let outcome = outcome(published, interval, most, is_time);
    let limiting = if known.is_some() { prediction.narrowest() } else { at_most };
    PublishedView {
        what: row.what.clone(),
        unit: unit.to_owned(),
        published,
        predicted: known.map(|_| predicted),
        difference: known.filter(|_| published > 0.0).map(|_| predicted / published - 1.0),
        interval_95: interval,
        at_most: most,
        outcome,
        not_known_because: prediction.answer.not_known().map(|it| it.because.clone()),
        limiting_hop: limiting.map(|bound| bound.hop.to_string()),
        limiting_name: limiting.map(|bound| bound.name.clone()),
        why: row.why.clone().filter(|_| outcome != Outcome::Inside),
        source: if row.source.is_empty() { source.to_owned() } else { row.source.clone() },
    }
}

/// A result above a bound by less than this part is one of rounding.
const ROUNDING: f64 = 0.01;

fn outcome(published: f64, interval: Option<(f64, f64)>, most: Option<f64>, is_time: bool) -> Outcome {
    match (interval, most) {
        (Some((low, high)), _) if low <= published && published <= high => Outcome::Inside,
        (Some(_), _) => Outcome::Outside,
        (None, Some(least)) if is_time && published < least * (1.0 - ROUNDING) => Outcome::AboveBound,
        (None, Some(most)) if !is_time && published > most * (1.0 + ROUNDING) => Outcome::AboveBound,
        _ => Outcome::Refused,
    }
}
