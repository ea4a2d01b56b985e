//! The view model of `narrows sweep`: exactly what `--json` prints and `--save` keeps.
//!
//! Rates are bytes per second, sizes bytes, times nanoseconds. What is absent is `null`, and the same object then says
//! why in `reason`.

mod curve;
mod text;

pub use curve::{Along, Curve, curves};
pub(crate) use curve::{fixed, x};
pub use text::document;

use serde::{Deserialize, Serialize};

use super::{Checks, FailedView, PathCeilings, TargetView};
use crate::view::{self, MachineView, Tool};
use narrows_base::units::{BytesPerSec, Iops, Nanos};
use narrows_load::measurement::{Latency, Measurement};
use narrows_load::preset::LoadSpec;
use narrows_machine::Machine;
use narrows_session::measure::Timing;
use narrows_session::runner::Allowed;
use narrows_session::writes::Account;

/// The name and version of the schema, in [`SweepReport::schema`].
pub const SCHEMA: &str = "narrows/sweep/1";

/// How rate and latency of a target depend on the load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweepReport {
    /// Always `narrows/sweep/1`.
    pub schema: String,
    /// The program that made this report.
    pub tool: Tool,
    /// The machine that it ran on.
    pub machine: MachineView,
    /// What was measured.
    pub target: TargetView,
    /// The most that the application can move through the path.
    pub ceilings: PathCeilings,
    /// Half of the confidence interval at which a point is done, as a part of the rate.
    pub precision: f64,
    /// The longest that one point takes.
    pub max_time_ns: Nanos,
    /// The exact time of each point, where one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ns: Option<Nanos>,
    /// What is run before each point and not counted.
    #[serde(default)]
    pub warm_up_ns: Nanos,
    /// The loads that were asked for.
    pub asked: Vec<LoadSpec>,
    /// What was measured so far, in the order of `asked`.
    pub points: Vec<SweepPoint>,
    /// What the points show, along depth or streams.
    pub curves: Vec<Curve>,
    /// The load that failed, and what was measured of it until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<FailedPoint>,
    /// What may be and was written; absent when nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<Account>,
    /// Whether every load was run.
    pub complete: bool,
    /// Why it is not complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl SweepReport {
    /// A report without points.
    pub fn new(
        machine: &Machine,
        target: TargetView,
        ceilings: PathCeilings,
        timing: &Timing,
        asked: Vec<LoadSpec>,
    ) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            tool: view::tool(),
            machine: view::machine_view(machine),
            target,
            ceilings,
            precision: timing.precision,
            max_time_ns: timing.longest().into(),
            duration_ns: timing.fixed.map(Nanos::from),
            warm_up_ns: timing.warm_up.into(),
            asked,
            points: Vec::new(),
            curves: Vec::new(),
            failed: None,
            writes: None,
            complete: false,
            reason: Some("not all loads have run yet".to_owned()),
        }
    }

    /// The loads that have no point yet.
    pub fn missing(&self) -> Vec<LoadSpec> {
        self.asked
            .iter()
            .filter(|load| !self.points.iter().any(|point| point.load == **load))
            .cloned()
            .collect()
    }

    /// Whether a point is not to be trusted, or one does not fit its neighbours.
    pub fn has_doubts(&self) -> bool {
        let odd = |curve: &Curve| !curve.shape.anomalies.is_empty() || !curve.shape.drops.is_empty();
        self.points.iter().any(|point| point.trusted == Some(false)) || self.curves.iter().any(odd)
    }
}

/// A load that failed. It is in no curve, and is run again when the sweep is resumed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailedPoint {
    pub load: LoadSpec,
    /// What was measured until then; absent when it could not begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<SweepPoint>,
    /// What happened.
    pub failed: FailedView,
}

/// What one load achieved, reads and writes together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweepPoint {
    pub load: LoadSpec,
    /// The mean rate.
    pub bytes_per_second: BytesPerSec,
    /// A 95 % confidence interval of it.
    pub ci95: Option<[BytesPerSec; 2]>,
    /// I/Os per second.
    pub iops: Iops,
    /// Latencies in nanoseconds.
    pub latency_ns: Latency,
    /// Whether to believe it.
    pub trusted: Option<bool>,
    /// I/Os that failed.
    pub errors: u64,
    /// Why the point ended.
    pub ended: String,
    /// What the load might write; absent where it writes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowance: Option<Allowed>,
    /// What the generator says of itself, and what links and drives did.
    #[serde(default)]
    pub checks: Option<Checks>,
    /// Why fields that are `null` are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl SweepPoint {
    /// The point of a run.
    pub fn new(
        load: &LoadSpec,
        measurement: &Measurement,
        ended: String,
        trusted: Option<bool>,
        checks: Checks,
    ) -> Self {
        let why = [
            (measurement.ci95.is_none(), "ci95: the run was too short for a confidence interval"),
            (trusted.is_none(), "trusted: the run was not judged"),
        ];
        Self {
            load: load.clone(),
            bytes_per_second: measurement.bytes_per_second,
            ci95: measurement.ci95,
            iops: measurement.iops,
            latency_ns: measurement.latency.clone(),
            trusted,
            errors: measurement.errors,
            ended,
            allowance: None,
            checks: Some(checks),
            reason: view::why_null(why),
        }
    }
}
