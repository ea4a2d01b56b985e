//! Is another tool's result to be believed, and what did it measure? One rule for each file.
//!
//! A rule suspects only what the text itself gives reason to: a number that the medium cannot reach, counters that
//! disagree, a run that ended too soon. Each finding ends with what would disprove it. What a text does not tell is no
//! reason to doubt it.

mod cache_measured;
mod cached_command;
mod cached_counters;
mod case;
mod crypto_cpu;
mod depth_too_low;
mod generator_cpu;
mod inconsistent_numbers;
mod network_limited;
mod not_synchronous;
mod partial_input;
mod run_failed;
mod slc_exhausted;
mod throttled;
mod too_short;
mod uneven_nodes;
mod units_suspect;
mod unsteady;
mod window;
mod zero_or_sparse_data;

use case::Case;

use super::finding::{Code, Evidence, Finding, Severity};
use crate::machine::Machine;
use crate::path::HopKind;
use crate::results::Imported;
use crate::results::surroundings::Surroundings;

/// What is thought of one result.
#[derive(Debug, Clone, Default)]
pub struct ResultVerdict {
    /// Whether its numbers say what they seem to say.
    pub trusted: bool,
    /// Why not, and what else is to be known, worst first.
    pub findings: Vec<Finding>,
    /// What limited it, where the result itself shows that.
    pub limiting: Option<(HopKind, String)>,
}

/// A rule: what it finds in one result.
type Rule = fn(&Case<'_>) -> Vec<Finding>;

const RULES: &[Rule] = &[
    run_failed::find,
    cache_measured::find,
    generator_cpu::find,
    throttled::find,
    unsteady::find,
    slc_exhausted::find,
    too_short::find,
    zero_or_sparse_data::find,
    inconsistent_numbers::find,
    not_synchronous::find,
    network_limited::find,
    crypto_cpu::find,
    depth_too_low::find,
    uneven_nodes::find,
    units_suspect::find,
    partial_input::find,
];

/// Judges results that were given together: they may be evidence for and against each other.
pub fn judge_results(
    results: &[Imported],
    around: &Surroundings,
    machine: Option<&Machine>,
) -> Vec<ResultVerdict> {
    results
        .iter()
        .map(|result| {
            let case = Case { result, all: results, around, machine };
            let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(&case)).collect();
            findings.sort_by_key(|finding| finding.severity);
            ResultVerdict {
                trusted: !findings.iter().any(breaks_trust),
                limiting: limiting(&case, &findings),
                findings,
            }
        })
        .collect()
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
fn limiting(case: &Case<'_>, findings: &[Finding]) -> Option<(HopKind, String)> {
    let by_finding =
        findings.iter().filter(|finding| finding.severity != Severity::Info).find_map(|finding| {
            Some(match finding.code {
                Code::CacheMeasured => (HopKind::Memory, "a cache in memory"),
                Code::GeneratorCpu => (HopKind::Generator, "the processor time of the tool's own threads"),
                Code::Throttled => (HopKind::Remote, "a rate limiter"),
                Code::NetworkLimited => (HopKind::Network, "the network"),
                Code::CryptoCpu => (HopKind::Crypt, "encryption on the processor"),
                _ => return None,
            })
        });
    let memory = case.result.measurements.iter().all(|one| one.memory_only) && !case.result.is_empty();
    by_finding
        .or(memory.then_some((HopKind::Cpu, "one processor core, in memory")))
        .map(|(kind, name)| (kind, name.to_owned()))
}

/// What would show that a finding does not hold, as its last evidence.
fn not_so_when(text: &str) -> Evidence {
    Evidence::new("not so when", text, "the rule itself")
}

#[cfg(test)]
pub(super) mod testing;
