//! The view model of several targets, alone and together (`narrows A B --measure`): exactly what `--json` prints, and all that
//! the text is made of.
//!
//! Rates are bytes per second, sizes bytes, times nanoseconds. What is absent is `null`, and the same object then says
//! why in `reason`.

mod build;
#[cfg(test)]
mod tests;
mod text;

pub use build::{About, report};
pub use text::{document, render};

use serde::{Deserialize, Serialize};

use super::view::{FindingView, MachineView, Tool};
use narrows_base::units::BytesPerSec;
use narrows_load::measurement::Workload;
use narrows_model::ceiling::Basis;
use narrows_model::path::HopKind;
use narrows_verdict::together::{Fate, Outcome, Rate};
use narrows_verdict::{Code, Evidence};

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
    pub groups: Vec<GroupView>,
    /// What changed between the first run and the same at the end; `null` where nothing did, or it was not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<String>,
    /// Groups that share a limit, found from runs of chosen subsets; `null` unless `--find-shared` asked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<HiddenView>,
    /// What became of shared limits that were foretold from facts.
    pub foretold: Vec<ForetoldView>,
    /// Findings by what is known after the runs, worst first.
    pub findings: Vec<FindingView>,
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

/// Targets that ran at the same time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupView {
    /// Which ones.
    pub targets: Vec<String>,
    /// What they show.
    pub outcome: Outcome,
    /// The sum of what each gives alone.
    pub alone: Rate,
    /// The sum of what they give at the same time.
    pub together: Rate,
    /// What each of them gives.
    pub shares: Vec<ShareView>,
    /// The hops that two or more of them cross, from the media to the host.
    pub hops: Vec<SharedHopView>,
    /// The ids of the hops that limit them.
    pub limiting_hops: Vec<String>,
    /// The hops at one of which the limit is, where none is at a known ceiling: all who give less cross them, and no other
    /// run sent more across them. Or it is at something that the topology does not show.
    #[serde(default)]
    pub located_hops: Vec<String>,
    /// The observations behind it.
    pub evidence: Vec<Evidence>,
    /// The verdict in words.
    pub sentence: String,
}

/// What was found of targets that share a limit, whether the topology shows it or not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HiddenView {
    /// The groups.
    pub groups: Vec<HiddenGroupView>,
    /// Targets that give less than alone, and of which nobody was found that they share with.
    pub unexplained: Vec<String>,
    /// How many runs were made beyond those alone and together.
    pub runs: usize,
    /// Whether the run of all, repeated at the end, gave what it gave at the beginning.
    pub is_certain: bool,
    /// The verdict in words.
    pub sentence: String,
    /// Why it is not certain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Targets that share a limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HiddenGroupView {
    /// Which ones.
    pub targets: Vec<String>,
    /// What they carry together.
    pub limit_bytes_per_second: BytesPerSec,
    /// What they give each alone, in sum.
    pub alone_bytes_per_second: BytesPerSec,
    /// Whether a run of these and no others carried the same.
    pub is_confirmed: bool,
    /// The hops that exactly these cross; none where the topology hides what they share.
    pub hops: Vec<String>,
}

/// What one target gives alone and beside the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShareView {
    /// Which one.
    pub target: String,
    /// Alone.
    pub alone: Rate,
    /// At the same time as the others.
    pub together: Rate,
    /// The second as a part of the first.
    pub part: Option<f64>,
    /// Why `part` is `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A hop that several targets of a group cross.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SharedHopView {
    /// Its identity, as in `narrows check`.
    pub id: String,
    /// What it is.
    pub kind: HopKind,
    /// Its name for a person.
    pub name: String,
    /// Which targets cross it.
    pub targets: Vec<String>,
    /// What they move through it, each alone, in sum.
    pub alone_bytes_per_second: BytesPerSec,
    /// What they move through it at the same time.
    pub together_bytes_per_second: BytesPerSec,
    /// The most that it carries.
    pub ceiling_bytes_per_second: Option<BytesPerSec>,
    /// What the ceiling rests on.
    pub basis: Option<Basis>,
    /// How the ceiling was computed.
    pub formula: Option<String>,
    /// What crosses it together as a part of its ceiling.
    pub part_of_ceiling: Option<f64>,
    /// Whether that is its ceiling.
    pub at_ceiling: bool,
    /// Why the ceiling is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A shared limit that was foretold from facts, and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ForetoldView {
    /// The code of the finding that foretold it.
    pub code: Code,
    /// The hop.
    pub hop: String,
    /// The device that the hop is.
    pub subject: String,
    /// What was foretold.
    pub summary: String,
    /// What became of it.
    pub fate: Fate,
    /// Why, in words.
    pub sentence: String,
}
