//! The view model of `narrows import`: exactly what `--json` prints, and all that the text is made from.
//!
//! Rates are bytes per second, sizes bytes, times nanoseconds, whatever unit the tool printed. What a text does not
//! tell is `null`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sanitize::inert;
use super::view::{FindingView, Tool, finding_view, tool};
use crate::path::HopKind;
use crate::results::{self, Cpu, Derived, DeviceUse, Imported, Latency, Measured, Side, Work};
use crate::units::Iops;
use crate::verdict::results::ResultVerdict;

/// The name and version of the schema, in [`ImportReport::schema`].
pub const SCHEMA: &str = "narrows/import/1";

/// What `narrows import` found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImportReport {
    /// Always `narrows/import/1`.
    pub schema: String,
    /// The program that made this report.
    pub tool: Tool,
    /// The results, in the order in which they were given.
    pub results: Vec<ResultView>,
}

/// One result of another tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Sums, means and scores that the tool printed, and what the numbers beside them make.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub derived: Vec<Derived>,
    /// Whether the text ends before the result does.
    pub truncated: bool,
    /// Whether the numbers say what they seem to say; findings say why not.
    pub trusted: bool,
    /// Why not, and what else is to be known, worst first.
    pub findings: Vec<FindingView>,
    /// What limited it, where the result itself shows that.
    pub limiting_hop: Option<LimitingView>,
    /// Why fields of this object are `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What limited a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LimitingView {
    /// The kind of hop.
    pub kind: HopKind,
    /// What it is, in words.
    pub name: String,
}

/// One measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasurementView {
    /// The line where it stands, from 1.
    pub line: usize,
    /// What was asked.
    pub workload: Work,
    /// The reads.
    pub read: Option<Side>,
    /// The writes.
    pub write: Option<Side>,
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
    /// Why fields of this object are `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl ImportReport {
    /// Whether every result is to be trusted.
    pub fn is_trusted(&self) -> bool {
        self.results.iter().all(|result| result.trusted)
    }
}

/// Puts results and what is thought of them together.
pub fn build(results: &[Imported], verdicts: &[ResultVerdict]) -> ImportReport {
    let results =
        results.iter().zip(verdicts).map(|(result, verdict)| result_view(result, verdict)).collect();
    ImportReport { schema: SCHEMA.to_owned(), tool: tool(), results }
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
        missing.push("the result alone does not show what limited it");
    }
    let all_inert = |texts: &[String]| texts.iter().map(|text| inert(text)).collect();
    ResultView {
        file: inert(&result.file),
        line: result.line,
        tool: result.tool,
        tool_version: result.version.as_deref().map(inert),
        command: result.command.as_deref().map(inert),
        measurements: result.measurements.iter().map(measurement_view).collect(),
        failures: all_inert(&result.failures),
        corrections: all_inert(&result.corrections),
        derived: result.derived.iter().map(|one| Derived { name: inert(&one.name), ..one.clone() }).collect(),
        truncated: result.truncated,
        trusted: verdict.trusted,
        findings: verdict.findings.iter().map(finding_view).collect(),
        limiting_hop: verdict
            .limiting
            .as_ref()
            .map(|(kind, name)| LimitingView { kind: *kind, name: inert(name) }),
        reason: (!missing.is_empty()).then(|| missing.join("; ")),
    }
}

fn measurement_view(measured: &Measured) -> MeasurementView {
    let mut workload = measured.work.clone();
    workload.label = inert(&workload.label);
    workload.engine = workload.engine.as_deref().map(inert);
    workload.target = workload.target.as_deref().map(inert);
    let device = |device: &DeviceUse| DeviceUse { name: inert(&device.name), ..device.clone() };
    MeasurementView {
        line: measured.line,
        workload,
        read: measured.read.clone(),
        write: measured.write.clone(),
        sync_ns: measured.sync_ns.clone(),
        cpu: measured.cpu,
        devices: measured.devices.iter().map(device).collect(),
        error: measured.error,
        memory_only: measured.memory_only,
        nodes: measured.nodes,
        entries_per_second: measured.entries,
        reason: Some(
            "`null` is what the text does not tell, or a direction that was not measured".to_owned(),
        ),
    }
}
