//! Is another tool's result to be believed, and what did it measure? One rule for each file.
//!
//! A rule suspects only what the text itself gives reason to: a number that the medium cannot reach, counters that
//! disagree, a run that ended too soon. Each finding ends with what would disprove it. What a text does not tell is no
//! reason to doubt it.

pub mod against;
mod beside;
mod cache_measured;
mod cached_command;
mod cached_counters;
mod cached_latency;
mod cached_medium;
mod case;
mod concurrent_load;
mod crypto_cpu;
mod depth_too_low;
mod generator_cpu;
mod inconsistent_numbers;
mod measures;
mod network_limited;
mod network_run;
mod not_synchronous;
mod own;
mod partial_input;
mod raid_resync;
mod run_failed;
mod slc_exhausted;
mod stalls;
mod stuck;
pub mod sweep;
mod throttled;
mod too_short;
mod uneven_nodes;
mod units_suspect;
mod unsteady;
mod window;
mod zero_or_sparse_data;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use measures::Trust;

use against::{Against, Stated};
use beside::Beside;
use case::Case;

use super::Subject;
use super::finding::{Code, Finding, Severity};
use narrows_machine::Machine;
use narrows_model::path::HopKind;
use narrows_paste::results::surroundings::Surroundings;
use narrows_paste::results::{Imported, Tool};

/// What is thought of one result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResultVerdict {
    /// Whether its numbers say what they seem to say.
    pub trusted: bool,
    /// Whether to trust them, and for what they claim or for something else.
    pub trust: Trust,
    /// What they measure, where that is not what they are usually taken for, or no storage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measures: Option<String>,
    /// Why not: the main finding; `None` of those that are trusted.
    #[serde(rename = "trust_reason", skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why not, and what else is to be known, worst first.
    pub findings: Vec<Finding>,
    /// What limited it, where the result itself or its path shows that.
    #[serde(rename = "limiting_hop")]
    pub limiting: Option<ResultLimit>,
    /// Each direction of each measurement against its path, where that is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub against: Vec<Against>,
    /// What is to be said of the hops that the result is at the ceiling of.
    #[serde(rename = "path_findings", default, skip_serializing_if = "Vec::is_empty")]
    pub of_path: Vec<Finding>,
}

/// What limited a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResultLimit {
    /// The kind of hop.
    pub kind: HopKind,
    /// What it is, in words.
    pub name: String,
}

/// What results are judged on.
#[derive(Debug, Clone, Copy)]
pub struct Ground<'a> {
    /// The machine that they were measured on, as far as it is known.
    pub machine: Option<&'a Machine>,
    /// The paths of the targets that results name, by what stands there.
    pub paths: &'a BTreeMap<String, Subject>,
    /// The path of results that name no target.
    pub default: Option<&'a Subject>,
    /// Ceilings that were stated.
    pub stated: &'a [Stated],
}

/// A rule: what it finds in one result.
type Rule = fn(&Case<'_>) -> Vec<Finding>;

const RULES: &[Rule] = &[
    run_failed::find,
    cache_measured::find,
    generator_cpu::find,
    throttled::find,
    raid_resync::find,
    concurrent_load::find,
    unsteady::find,
    slc_exhausted::find,
    too_short::find,
    zero_or_sparse_data::find,
    inconsistent_numbers::find,
    not_synchronous::find,
    network_limited::find,
    network_run::find,
    stuck::find,
    crypto_cpu::find,
    depth_too_low::find,
    uneven_nodes::find,
    units_suspect::find,
    partial_input::find,
];

/// What counters of devices may show by themselves: no command was given, so none was missed.
const OF_ACTIVITY: &[Rule] = &[raid_resync::find, unsteady::find, stuck::find, partial_input::find];

/// Judges results that were given together: they may be evidence for and against each other.
pub fn judge_results(
    results: &[Imported],
    around: &Surroundings,
    machine: Option<&Machine>,
) -> Vec<ResultVerdict> {
    judge_on(results, around, Ground { machine, paths: &BTreeMap::new(), default: None, stated: &[] })
}

/// The same, with the paths that the results were measured on.
pub fn judge_on(results: &[Imported], around: &Surroundings, ground: Ground<'_>) -> Vec<ResultVerdict> {
    let beside = Beside::of(results, around);
    let judge =
        |result| judge_one(&Case { result, beside: &beside, around, machine: ground.machine, ground });
    results.iter().map(judge).collect()
}

fn judge_one(case: &Case<'_>) -> ResultVerdict {
    let against = against::of(case);
    let is_activity = matches!(case.result.tool, Tool::Iostat | Tool::Zpooliostat);
    let rules = if is_activity { OF_ACTIVITY } else { RULES };
    let mut findings: Vec<Finding> = rules.iter().flat_map(|rule| rule(case)).collect();
    findings.extend(against::find(case, &against));
    findings.extend(own::find(case, &findings));
    findings.sort_by_key(|finding| finding.severity);
    let trusted = !findings.iter().any(breaks_trust);
    let measures = measures::of(case);
    let is_other = measures.is_some() && !measures::is_claimed(case.result.tool);
    let at = || against::limiting(&against).map(|one| ResultLimit { kind: one.kind, name: one.name.clone() });
    ResultVerdict {
        trusted,
        trust: match (trusted, is_other) {
            (false, _) => Trust::No,
            (true, true) => Trust::Other,
            (true, false) => Trust::Yes,
        },
        reason: findings.iter().find(|finding| breaks_trust(finding)).map(|finding| finding.summary.clone()),
        measures,
        limiting: limiting(case, &findings).or_else(at),
        of_path: of_path(case, &against),
        findings,
        against,
    }
}

/// The findings on hops that the result is at the ceiling of: what would widen them.
fn of_path(case: &Case<'_>, against: &[Against]) -> Vec<Finding> {
    let is_at = against.iter().any(|one| one.standing == against::Standing::At && one.hop.is_some());
    let Some(machine) = case.machine.filter(|_| is_at) else { return Vec::new() };
    let at = |finding: &Finding| {
        let mut hops = against.iter().filter(|one| one.standing == against::Standing::At);
        finding.hop.is_some() && hops.any(|one| one.hop == finding.hop)
    };
    let subjects: Vec<Subject> = case.ground.paths.values().chain(case.ground.default).cloned().collect();
    let findings = super::judge(machine, &subjects).findings;
    findings.into_iter().filter(|finding| finding.severity != Severity::Info && at(finding)).collect()
}

/// Whether a finding says that the numbers are not what they seem; others explain them.
fn breaks_trust(finding: &Finding) -> bool {
    let explains = matches!(
        finding.code,
        Code::NetworkLimited | Code::CryptoCpu | Code::PartialInput | Code::UnevenNodes
    );
    finding.severity != Severity::Info && !explains
}

/// The part of the path that a result shows to be its limit.
fn limiting(case: &Case<'_>, findings: &[Finding]) -> Option<ResultLimit> {
    let by_finding =
        findings.iter().filter(|finding| finding.severity != Severity::Info).find_map(|finding| {
            Some(match finding.code {
                Code::CacheMeasured => (HopKind::Memory, "a cache in memory"),
                Code::GeneratorCpu => (HopKind::Generator, "the processor time of the tool's own threads"),
                Code::Throttled => (HopKind::Remote, "a rate limiter"),
                Code::NetworkLimited => (HopKind::Network, "the network"),
                Code::CryptoCpu => (HopKind::Crypt, "encryption on the processor"),
                Code::RaidResync => (HopKind::Raid, "an array that was busy with itself"),
                _ => return None,
            })
        });
    // Copies between main memory and GPUs cross links, which their rates alone do not name.
    let is_one_core = case.result.tool != Tool::Nvbandwidth;
    let measured = &case.result.measurements;
    let is_memory = !measured.is_empty() && measured.iter().all(|one| one.memory_only);
    let memory = is_one_core && is_memory;
    by_finding
        .or(memory.then_some((HopKind::Cpu, "one processor core, in memory")))
        .map(|(kind, name)| ResultLimit { kind, name: name.to_owned() })
}

#[cfg(test)]
pub(super) mod testing;
