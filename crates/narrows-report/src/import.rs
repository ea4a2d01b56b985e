//! The view model of `narrows import`: exactly what `--json` prints, and all that the text is made from.
//!
//! Rates are bytes per second, sizes bytes, times nanoseconds, whatever unit the tool printed. What a text does not
//! tell is `null`.

pub mod csv;

use serde::{Deserialize, Serialize};

use super::view::{FindingView, Tool, finding_view, tool};
use narrows_base::units::{BytesPerSec, Iops};
use narrows_load::stats::sweep::{Point, Shape};
use narrows_model::path::HopKind;
use narrows_paste::results::{
    self, Cpu, Derived, DeviceUse, Imported, Latency, Measured, Op, Side, Spread, Work,
};
use narrows_verdict::Severity;
use narrows_verdict::results::against::{Against, Standing};
use narrows_verdict::results::sweep::Sweep;
use narrows_verdict::results::{ResultVerdict, Trust};

/// The name and version of the schema, in [`ImportReport::schema`].
pub const SCHEMA: &str = "narrows/import/1";

/// What `narrows import` found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImportReport {
    /// Always `narrows/import/1`.
    pub schema: String,
    /// The program that made this report.
    pub tool: Tool,
    /// The results, in the order in which they were given.
    pub results: Vec<ResultView>,
    /// Results that differ in nothing but how many streams or I/Os there were, put together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sweeps: Vec<SweepView>,
}

/// A series of results over streams or depth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweepView {
    /// The tool that measured.
    pub tool: results::Tool,
    /// What was measured.
    pub label: String,
    /// The direction.
    pub direction: Op,
    /// What was varied: `jobs` or `I/Os in flight`; `x` of each point.
    pub varied: String,
    /// The steps, ascending.
    pub points: Vec<Point>,
    /// Plateau, drops and points that do not fit.
    pub shape: Shape,
    /// The best rate against ceilings that were stated.
    pub efficiency: Vec<EfficiencyView>,
    /// What it shows, one sentence each.
    pub summary: Vec<String>,
}

/// The best rate of a series against a ceiling.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EfficiencyView {
    /// What the ceiling is of.
    pub of: String,
    /// The ceiling.
    pub bytes_per_second: BytesPerSec,
    /// The best rate as a fraction of it.
    pub fraction: f64,
}

/// One result of another tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResultView {
    /// The text that it stands in.
    pub file: String,
    /// The line where it begins, from 1.
    pub line: usize,
    /// The tool that measured.
    pub tool: results::Tool,
    /// Its version, if it says so.
    pub tool_version: Option<String>,
    /// The command that was typed, if it stands there.
    pub command: Option<String>,
    /// What was measured.
    pub measurements: Vec<MeasurementView>,
    /// What the tool says went wrong.
    pub failures: Vec<String>,
    /// Numbers that were corrected on reading, and why.
    pub corrections: Vec<String>,
    /// What the text leaves open and was assumed, or what else is to be known of its numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Sums, means and scores that the tool printed, and what the numbers beside them make.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub derived: Vec<Derived>,
    /// Whether the text ends before the result does.
    pub truncated: bool,
    /// Whether the numbers say what they seem to say; findings say why not.
    pub trusted: bool,
    /// `yes`: for what the output claims; `other`: the numbers are right, but of something else; `no`.
    pub trust: Trust,
    /// What they measure, where that is not what they are usually taken for, or no storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measures: Option<String>,
    /// Why they are not to be trusted: the main finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust_reason: Option<String>,
    /// Why not, and what else is to be known, worst first.
    pub findings: Vec<FindingView>,
    /// What limited it, where the result itself shows that.
    pub limiting_hop: Option<LimitingView>,
    /// Each direction of each measurement against the path that it was measured on, where that is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub against: Vec<AgainstView>,
    /// What is to be said of the hops that it is at the ceiling of: what would widen them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path_findings: Vec<FindingView>,
    /// Why fields of this object are `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// One direction of a measurement against its path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgainstView {
    /// The line of the measurement, from 1.
    pub line: usize,
    /// What it is called.
    pub label: String,
    /// The direction.
    pub direction: Op,
    /// The rate that the tool reached.
    pub bytes_per_second: BytesPerSec,
    /// The target of the path.
    pub target: String,
    /// The hop that it is held against: the narrowest, or the narrowest that it exceeds; `null` for a stated ceiling.
    pub hop: Option<String>,
    /// The kind of that hop.
    pub kind: HopKind,
    /// Its name.
    pub name: String,
    /// What it carries, as bytes of the application.
    pub ceiling_bytes_per_second: BytesPerSec,
    /// How that was computed.
    pub formula: String,
    /// The rate as a fraction of it.
    pub fraction: f64,
    /// `above` the ceiling: no measurement of this path; `at`: the hop limits it; `below`: something else does.
    pub standing: StandingView,
    /// What that means, in a sentence.
    pub summary: String,
    /// Why `hop` is `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Where a rate stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StandingView {
    /// Above what the hop carries.
    Above,
    /// Near the narrowest ceiling.
    At,
    /// Far below every known ceiling.
    Below,
}

/// What limited a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitingView {
    /// The kind of hop.
    pub kind: HopKind,
    /// What it is, in words.
    pub name: String,
}

/// One measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeasurementView {
    /// The line where it stands, from 1.
    pub line: usize,
    /// What was asked.
    pub workload: Work,
    /// The reads.
    pub read: Option<Side>,
    /// The writes.
    pub write: Option<Side>,
    /// Reads and writes together, where the tool does not tell them apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub both: Option<Side>,
    /// What crossed a network, where no storage was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Side>,
    /// Latencies of I/Os whose rate in a direction is not told, or of I/Os of every kind together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ns: Option<Latency>,
    /// Calls each second that make data durable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syncs_per_second: Option<Iops>,
    /// What calls that make data durable took.
    pub sync_ns: Option<Latency>,
    /// What the tool's own threads used.
    pub cpu: Option<Cpu>,
    /// What block devices did meanwhile, by the tool's account.
    pub devices: Vec<DeviceUse>,
    /// The tool's own error number; 0 is none.
    pub error: i64,
    /// Whether memory alone was measured, as the tool itself says.
    pub memory_only: bool,
    /// How many machines took part.
    pub nodes: Option<u32>,
    /// Files or directories that were created, looked up, read or removed each second, where that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entries_per_second: Option<Iops>,
    /// How far that differed between repetitions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entries_spread: Option<Spread>,
    /// Why fields of this object are `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl ImportReport {
    /// Whether every result is to be trusted.
    pub fn is_trusted(&self) -> bool {
        self.results.iter().all(|result| result.trusted)
    }

    /// Whether there is anything to be done: a result that is not to be trusted, a hop that could be wider, or a series
    /// with a drop or a point that does not fit.
    pub fn has_findings(&self) -> bool {
        let counts = |finding: &FindingView| finding.severity != Severity::Info;
        !self.is_trusted()
            || self.results.iter().flat_map(|result| &result.path_findings).any(counts)
            || self
                .sweeps
                .iter()
                .any(|sweep| !sweep.shape.drops.is_empty() || !sweep.shape.anomalies.is_empty())
    }
}

/// Puts results and what is thought of them together.
pub fn build(results: &[Imported], verdicts: &[ResultVerdict], sweeps: &[Sweep]) -> ImportReport {
    let results =
        results.iter().zip(verdicts).map(|(result, verdict)| result_view(result, verdict)).collect();
    let sweeps = sweeps.iter().map(sweep_view).collect();
    ImportReport { schema: SCHEMA.to_owned(), tool: tool(), results, sweeps }
}

fn sweep_view(sweep: &Sweep) -> SweepView {
    let efficiency = sweep.efficiency.iter().map(|(stated, fraction)| EfficiencyView {
        of: stated.name.clone(),
        bytes_per_second: stated.rate,
        fraction: *fraction,
    });
    SweepView {
        tool: sweep.tool,
        label: sweep.label.clone(),
        direction: sweep.op,
        varied: sweep.varied.to_owned(),
        points: sweep.points.clone(),
        shape: sweep.shape.clone(),
        efficiency: efficiency.collect(),
        summary: sweep.sentences(),
    }
}

fn against_view(against: &Against) -> AgainstView {
    AgainstView {
        line: against.line,
        label: against.label.clone(),
        direction: against.op,
        bytes_per_second: against.rate,
        target: against.target.clone(),
        hop: against.hop.as_ref().map(ToString::to_string),
        kind: against.kind,
        name: against.name.clone(),
        ceiling_bytes_per_second: against.ceiling,
        formula: against.formula.clone(),
        fraction: against.share(),
        standing: match against.standing {
            Standing::Above => StandingView::Above,
            Standing::At => StandingView::At,
            Standing::Below => StandingView::Below,
        },
        summary: against.sentence(),
        reason: against
            .hop
            .is_none()
            .then(|| "the ceiling was stated, it is of no hop of this machine".to_owned()),
    }
}

fn result_view(result: &Imported, verdict: &ResultVerdict) -> ResultView {
    let mut missing: Vec<&str> = Vec::new();
    if result.version.is_none() {
        missing.push("the text does not tell the version");
    }
    if result.command.is_none() {
        missing.push("the command does not stand in it");
    }
    if verdict.limiting.is_none() {
        missing.push("neither the result nor a path shows what limited it");
    }
    ResultView {
        file: result.file.clone(),
        line: result.line,
        tool: result.tool,
        tool_version: result.version.clone(),
        command: result.command.clone(),
        measurements: result.measurements.iter().map(measurement_view).collect(),
        failures: result.failures.clone(),
        corrections: result.corrections.clone(),
        notes: result.notes.clone(),
        derived: result.derived.clone(),
        truncated: result.truncated,
        trusted: verdict.trusted,
        trust: verdict.trust,
        measures: verdict.measures.clone(),
        trust_reason: verdict.reason.clone(),
        findings: verdict.findings.iter().map(finding_view).collect(),
        limiting_hop: verdict
            .limiting
            .as_ref()
            .map(|(kind, name)| LimitingView { kind: *kind, name: name.to_owned() }),
        against: verdict.against.iter().map(against_view).collect(),
        path_findings: verdict.of_path.iter().map(finding_view).collect(),
        reason: (!missing.is_empty()).then(|| missing.join("; ")),
    }
}

fn measurement_view(measured: &Measured) -> MeasurementView {
    MeasurementView {
        line: measured.line,
        workload: measured.work.clone(),
        read: measured.read.clone(),
        write: measured.write.clone(),
        both: measured.both.clone(),
        network: measured.network.clone(),
        latency_ns: measured.latency_ns.clone(),
        syncs_per_second: measured.syncs,
        sync_ns: measured.sync_ns.clone(),
        cpu: measured.cpu,
        devices: measured.devices.clone(),
        error: measured.error,
        memory_only: measured.memory_only,
        nodes: measured.nodes,
        entries_per_second: measured.entries,
        entries_spread: measured.entries_spread,
        reason: Some(
            "`null` is what the text does not tell, or a direction that was not measured".to_owned(),
        ),
    }
}
