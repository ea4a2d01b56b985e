//! The view model of several targets, alone and together (`narrows A B --measure`): exactly what `--json` prints, and all that
//! the text is made of.
//!
//! Rates are bytes per second, sizes bytes, times nanoseconds. What is absent is `null`, and the same object then says
//! why in `reason`.

#[cfg(test)]
mod tests;
mod text;

pub use text::{document, render};

use serde::{Deserialize, Serialize};

use super::view::{MachineView, Tool, machine_view, tool};
use narrows_load::measurement::Workload;
use narrows_machine::Machine;
use narrows_verdict::together::hidden::HiddenVerdict;
use narrows_verdict::together::{Conclusion, Foretold, GroupVerdict, Rate};
use narrows_verdict::{Finding, PathVerdict, Subject};

/// The name and version of the schema, in [`TogetherReport::schema`].
pub const SCHEMA: &str = "narrows/together/1";

/// What several targets give alone and at the same time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TogetherReport {
    /// Always `narrows/together/1`.
    pub schema: String,
    /// The program that made this report.
    pub tool: Tool,
    /// The machine that it ran on.
    pub machine: MachineView,
    /// The load of each target, alone and together.
    pub workload: Workload,
    /// What each target gives alone.
    pub targets: Vec<TargetView>,
    /// Targets that ran at the same time: those that share a hop, the smallest groups first, and all of them at the end.
    pub groups: Vec<GroupVerdict>,
    /// What changed between the first run and the same at the end; `null` where nothing did, or it was not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<String>,
    /// Groups that share a limit, found from runs of chosen subsets; `null` unless `--find-shared` asked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<HiddenVerdict>,
    /// What became of shared limits that were foretold from facts.
    pub foretold: Vec<Foretold>,
    /// Findings by what is known after the runs, worst first.
    pub findings: Vec<Finding>,
    /// Targets that were named and not measured, and why.
    pub left_out: Vec<LeftOut>,
    /// Whether everything that was planned was measured.
    pub complete: bool,
    /// Why it is not complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A target that was not measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// Which one.
    pub target: String,
    /// Why.
    pub reason: String,
}

/// What a target gives alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TargetView {
    /// What it is.
    pub target: String,
    /// Its rate.
    pub alone: Option<Rate>,
    /// The verdict on its path.
    pub sentence: String,
    /// Why `alone` is `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a report is about, beside what was found.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// The load of each target.
    pub workload: Workload,
    /// Targets that were not measured, and why.
    pub left_out: Vec<(String, String)>,
    /// What changed between the first run and the same at the end.
    pub drift: Option<String>,
    /// What was found of hidden groups, where that was asked for.
    pub hidden: Option<HiddenVerdict>,
    /// Why it is not complete, if it is not.
    pub reason: Option<String>,
}

/// The whole report. `alone` holds the targets, each with its run alone.
pub fn report(
    machine: &Machine,
    about: About,
    alone: &[Subject],
    groups: &[GroupVerdict],
    conclusion: &Conclusion,
) -> TogetherReport {
    let left_out = about.left_out.into_iter();
    TogetherReport {
        schema: SCHEMA.to_owned(),
        tool: tool(),
        machine: machine_view(machine),
        workload: about.workload,
        targets: alone
            .iter()
            .zip(&conclusion.paths)
            .map(|(one, verdict)| target_view(one, verdict))
            .collect(),
        groups: groups.to_vec(),
        drift: about.drift,
        hidden: about.hidden,
        foretold: conclusion.foretold.clone(),
        findings: conclusion.findings.clone(),
        left_out: left_out.map(|(target, reason)| LeftOut { target, reason }).collect(),
        complete: about.reason.is_none(),
        reason: about.reason,
    }
}

fn target_view(subject: &Subject, verdict: &PathVerdict) -> TargetView {
    let alone = subject.runs.first().map(Rate::of);
    TargetView {
        target: subject.path.target.clone(),
        sentence: verdict.sentence.clone(),
        reason: alone.is_none().then(|| "it was not measured".to_owned()),
        alone,
    }
}
