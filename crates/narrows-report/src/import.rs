//! The view model of `narrows import`: exactly what `--json` prints, and all that the text is made from.
//!
//! Rates are bytes per second, sizes bytes, times nanoseconds, whatever unit the tool printed. What a text does not
//! tell is `null`.

pub mod csv;

use serde::{Deserialize, Serialize};

use super::view::{Tool, tool};
use narrows_paste::results::Imported;
use narrows_verdict::results::ResultVerdict;
use narrows_verdict::results::sweep::Sweep;
use narrows_verdict::{Finding, Severity};

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
    pub results: Vec<JudgedResult>,
    /// Results that differ in nothing but how many streams or I/Os there were, put together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sweeps: Vec<Sweep>,
}

/// One result of another tool, and what is thought of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JudgedResult {
    /// The result.
    #[serde(flatten)]
    pub result: Imported,
    /// What is thought of it.
    #[serde(flatten)]
    pub verdict: ResultVerdict,
}

impl ImportReport {
    /// Whether every result is to be trusted.
    pub fn is_trusted(&self) -> bool {
        self.results.iter().all(|result| result.verdict.trusted)
    }

    /// Whether there is anything to be done: a result that is not to be trusted, a hop that could be wider, or a series
    /// with a drop or a point that does not fit.
    pub fn has_findings(&self) -> bool {
        let counts = |finding: &Finding| finding.severity != Severity::Info;
        !self.is_trusted()
            || self.results.iter().flat_map(|result| &result.verdict.of_path).any(counts)
            || self
                .sweeps
                .iter()
                .any(|sweep| !sweep.shape.drops.is_empty() || !sweep.shape.anomalies.is_empty())
    }
}

/// Puts results and what is thought of them together.
pub fn build(results: &[Imported], verdicts: &[ResultVerdict], sweeps: &[Sweep]) -> ImportReport {
    let judged = |(result, verdict): (&Imported, &ResultVerdict)| JudgedResult {
        result: result.clone(),
        verdict: verdict.clone(),
    };
    let results = results.iter().zip(verdicts).map(judged).collect();
    ImportReport { schema: SCHEMA.to_owned(), tool: tool(), results, sweeps: sweeps.to_vec() }
}
