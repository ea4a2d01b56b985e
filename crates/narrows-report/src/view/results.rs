//! Results of other tools, and what is thought of them. Rates are bytes per second, sizes bytes, times nanoseconds, whatever unit the
//! tool printed. What a text does not tell is `null`.

use serde::{Deserialize, Serialize};

use narrows_paste::results::Imported;
use narrows_verdict::results::ResultVerdict;
use narrows_verdict::results::sweep::Sweep;
use narrows_verdict::{Finding, Severity};

/// One result of another tool, and what is thought of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JudgedResult {
    #[serde(flatten)]
    pub result: Imported,
    /// What is thought of it.
    #[serde(flatten)]
    pub verdict: ResultVerdict,
}

/// Whether there is anything to be done: a result that is not to be trusted, a hop that could be wider, or a series
/// with a drop or a point that does not fit.
pub fn has_findings(results: &[JudgedResult], sweeps: &[Sweep]) -> bool {
    let counts = |finding: &Finding| finding.severity != Severity::Info;
    let has_some = |one: &JudgedResult| !one.verdict.trusted || one.verdict.of_path.iter().any(counts);
    let is_odd = |sweep: &Sweep| !sweep.shape.drops.is_empty() || !sweep.shape.anomalies.is_empty();
    results.iter().any(has_some) || sweeps.iter().any(is_odd)
}

/// Puts results and what is thought of them together.
pub fn judged(results: &[Imported], verdicts: &[ResultVerdict]) -> Vec<JudgedResult> {
    let both = results.iter().zip(verdicts);
    both.map(|(result, verdict)| JudgedResult { result: result.clone(), verdict: verdict.clone() }).collect()
}
