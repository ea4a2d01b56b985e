//! Is another tool's result to be believed, and what did it measure?
//!
//! A rule suspects only what the text itself gives reason to: a number that the medium cannot reach, counters that
//! disagree, a run that ended too soon. Each finding ends with what would disprove it. What a text does not tell is no
//! reason to doubt it.

pub mod against;
pub mod sweep;
#[cfg(test)]
pub(super) mod testing;

use std::collections::BTreeMap;

use narrows_base::units::human;
use narrows_machine::Machine;
use narrows_model::path::{HopId, HopKind};
use narrows_paste::results::surroundings::{Surroundings, Word};
use narrows_paste::results::{Durability, Imported, Measured, Tool};
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};
use serde::{Deserialize, Serialize};

use crate::Subject;
use crate::finding::{Code, Finding, Severity};
use crate::rules;
use crate::rules::depth_too_low::in_flight;
use crate::rules::result::{Beside, Case, declares_memory};
use against::{Against, Stated};

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
    pub kind: HopKind,
    /// What it is, in words.
    pub name: String,
}

/// What results are judged on.
#[derive(Debug, Clone, Copy)]
pub struct Ground<'a> {
    /// The machine that they were measured on, as far as it is known.
    pub machine: Option<&'a Machine>,
    /// The paths of the targets that results name, by what stands there; and those of single measurements, by their place
    /// (`a.txt:12`), where the machine was another one then.
    pub paths: &'a BTreeMap<String, Subject>,
    /// The path of results that name no target.
    pub default: Option<&'a Subject>,
    /// Ceilings that were stated.
    pub stated: &'a [Stated],
}

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
        |result| judge_one(&Case { result, beside: &beside, around, machine: ground.machine }, &ground);
    results.iter().map(judge).collect()
}

fn judge_one(case: &Case<'_>, ground: &Ground<'_>) -> ResultVerdict {
    let against = against::of(case, ground);
    let mut findings = rules::of_result(case);
    findings.extend(against::find(case, &against));
    findings.extend(own_doubts(case, &findings));
    findings.sort_by_key(|finding| finding.severity);
    let trusted = !findings.iter().any(breaks_trust);
    let measures = what_is_measured(case);
    // These say themselves what they measure, so that a result of theirs is not taken for another.
    let is_claimed = matches!(case.result.tool, Tool::Iperf3 | Tool::Nvbandwidth);
    let is_other = measures.is_some() && !is_claimed;
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
        of_path: of_path(ground, &against),
        findings,
        against,
    }
}

/// The findings on hops that the result is at the ceiling of: what would widen them.
fn of_path(ground: &Ground<'_>, against: &[Against]) -> Vec<Finding> {
    let at = against.iter().filter(|one| one.standing == against::Standing::At);
    let at: Vec<&HopId> = at.filter_map(|one| one.hop.as_ref()).collect();
    let Some(machine) = ground.machine.filter(|_| !at.is_empty()) else { return Vec::new() };
    let subjects: Vec<Subject> = ground.paths.values().chain(ground.default).cloned().collect();
    let findings = super::judge(machine, &subjects).findings;
    let is_at = |finding: &Finding| finding.hop.as_ref().is_some_and(|hop| at.contains(&hop));
    findings.into_iter().filter(|finding| finding.severity != Severity::Info && is_at(finding)).collect()
}

/// Whether a finding says that the numbers are not what they seem; others explain them.
fn breaks_trust(finding: &Finding) -> bool {
    const EXPLAIN: [Code; 4] = [Code::NetworkLimited, Code::CryptoCpu, Code::PartialInput, Code::UnevenNodes];
    finding.severity != Severity::Info && !EXPLAIN.contains(&finding.code)
}

/// The part of the path that a result shows to be its limit.
fn limiting(case: &Case<'_>, findings: &[Finding]) -> Option<ResultLimit> {
    let mut serious = findings.iter().filter(|finding| finding.severity != Severity::Info);
    let by_finding = serious.find_map(|finding| match finding.code {
        Code::CacheMeasured => Some((HopKind::Memory, "a cache in memory")),
        Code::GeneratorCpu => Some((HopKind::Generator, "the processor time of the tool's own threads")),
        Code::Throttled => Some((HopKind::Remote, "a rate limiter")),
        Code::NetworkLimited => Some((HopKind::Network, "the network")),
        Code::CryptoCpu => Some((HopKind::Crypt, "encryption on the processor")),
        Code::RaidResync => Some((HopKind::Raid, "an array that was busy with itself")),
        _ => None,
    });
    // Copies between main memory and GPUs cross links, which their rates alone do not name.
    let is_one_core = case.result.tool != Tool::Nvbandwidth && are_all(case.result, |one| one.memory_only);
    let limit = by_finding.or(is_one_core.then_some((HopKind::Cpu, "one processor core, in memory")));
    limit.map(|(kind, name)| ResultLimit { kind, name: name.to_owned() })
}

/// Whether to trust the figures, and for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// For what the output claims.
    Yes,
    /// The figures are right, but of something else.
    Other,
    /// Not at all.
    #[default]
    No,
}

/// What was measured, in words; `None` where it is what the output claims, as far as is known.
fn what_is_measured(case: &Case<'_>) -> Option<String> {
    let result = case.result;
    let is_memory = are_all(result, |one| one.memory_only || declares_memory(one));
    let memory = is_memory.then(|| "memory, no drive".to_owned());
    measured_by_tool(result).or(memory).or_else(|| of_windows(case)).or_else(|| {
        let (real, asked) = in_flight(case)?;
        let one = "one I/O at a time".to_owned();
        let shown = if real <= 1.0 { one } else { format!("{} I/Os in flight", human::count(real)) };
        Some(format!("{shown}, not {}", human::count(asked)))
    })
}

/// Linux within Windows reaches the drives of Windows through a file server (drvfs, 9P; learn.microsoft.com/windows/wsl/filesystems),
/// not through the block layer.
fn of_windows(case: &Case<'_>) -> Option<String> {
    let is_of_windows = |target: &str| {
        let rest = target.strip_prefix("/mnt/").unwrap_or_default();
        rest.starts_with(|c: char| c.is_ascii_lowercase())
            && rest.get(1..).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let is_all = are_all(case.result, |one| one.work.target.as_deref().is_some_and(is_of_windows));
    case.around.has(Word::Wsl).filter(|_| is_all)?;
    Some("the way from WSL to a drive of Windows, not the drive".to_owned())
}

fn measured_by_tool(result: &Imported) -> Option<String> {
    let first = result.measurements.first()?;
    let count = |one: &str, many: &str| match first.work.jobs {
        Some(1) => format!("1 {one}"),
        Some(jobs) => format!("{jobs} {many}"),
        None => many.to_owned(),
    };
    Some(match result.tool {
        Tool::Cryptsetup => "the cipher in memory, not the disk".to_owned(),
        Tool::Nvbandwidth => "copies between memory and GPUs, no storage".to_owned(),
        Tool::Iperf3 => "the network, no storage".to_owned(),
        Tool::Dbench if first.network.is_some() => "sockets under a file server's load, no storage".to_owned(),
        Tool::Dbench => {
            let sync = if first.work.durability == Some(Durability::Each) { " with O_SYNC" } else { "" };
            format!("a file server's load of {}{sync}, whose reads mostly come from memory", count("client", "clients"))
        }
        Tool::Ioping => "one request at a time, for a short while".to_owned(),
        Tool::Pveperf => {
            "one small file with fsync at a time, and seconds of buffered reads of the device below the file system"
                .to_owned()
        }
        Tool::Sysbench => measured_by_sysbench(first, &count("thread", "threads")),
        Tool::Iouring if !declares_memory(first) => {
            format!("what {} submit and reap, not what the drives can do", count("thread", "threads"))
        }
        Tool::Iostat | Tool::Zpooliostat => "what the devices carried under a load that is not told".to_owned(),
        _ => return None,
    })
}

/// Threads that wait for each request, mostly through the page cache.
fn measured_by_sysbench(first: &Measured, threads: &str) -> String {
    let cache = match first.work.direct {
        Some(true) => "past the page cache",
        Some(false) => "through the page cache",
        None => "through the page cache unless its options say otherwise",
    };
    let syncs =
        if first.work.durability.is_some() { ", with fsyncs of all files among the requests" } else { "" };
    format!("{threads} that wait for each request, {cache}{syncs}")
}

/// Whether there is a measurement, and all are so.
fn are_all(result: &Imported, is_so: impl Fn(&Measured) -> bool) -> bool {
    !result.measurements.is_empty() && result.measurements.iter().all(is_so)
}

/// What narrows said against its own run when it made it.
///
/// The doubts that no other rule has found, one for each code.
fn own_doubts(case: &Case<'_>, found: &[Finding]) -> Vec<Finding> {
    let mut all: Vec<Finding> = Vec::new();
    let doubts =
        case.result.measurements.iter().flat_map(|one| one.doubts.iter().map(move |doubt| (one, doubt)));
    for (measured, doubt) in doubts {
        let code = code_named(&doubt.code);
        if found.iter().chain(&all).any(|other| other.code == code && other.severity != Severity::Info) {
            continue;
        }
        let label = match measured.work.label.as_str() {
            "" => "a run",
            label => label,
        };
        let summary = format!("narrows itself did not trust {label}: {}", doubt.summary);
        let found = Finding::of(case, code, Severity::Limit, summary)
            .seen(format!("narrows said of {label}"), &doubt.summary, case.source(measured))
            .not_so_when("a run without this finding has the same rate");
        all.push(found.advise("remove the cause that is named, and measure again"));
    }
    all
}

/// The code of that name. What a later version has and this one does not is a run that failed its own checks.
fn code_named(name: &str) -> Code {
    let named: StrDeserializer<'_, Error> = name.into_deserializer();
    Code::deserialize(named).unwrap_or(Code::RunFailed)
}

#[cfg(test)]
mod tests {
    use super::testing::{codes, verdicts};
    use super::*;

    fn of(text: &str) -> (Trust, Option<String>) {
        let verdict = verdicts(text).remove(0);
        (verdict.trust, verdict.measures)
    }

    #[test]
    fn figures_may_be_right_and_of_something_else() {
        let (trust, measures) =
            of("/dev/sda:\n Timing cached reads:   3462 MB in  2.00 seconds = 1731.24 MB/sec\n");
        assert_eq!((trust, measures.as_deref()), (Trust::Other, Some("memory, no drive")));
        let (trust, measures) =
            of("/dev/sda:\n Timing buffered disk reads: 510 MB in  3.01 seconds = 169.62 MB/sec\n");
        assert_eq!((trust, measures), (Trust::Yes, None));
        let row = "[  5]   0.00-10.00  sec  118 MBytes  99.0 Mbits/sec                  receiver\n";
        let (trust, measures) = of(row);
        assert_eq!((trust, measures.as_deref()), (Trust::Yes, Some("the network, no storage")));
        let dd = "# dd if=/dev/zero of=/mnt/e/x bs=1M count=16000 conv=fdatasync\n\
            16777216000 bytes (17 GB, 16 GiB) copied, 1004.6 s, 16.7 MB/s\n";
        assert_eq!(of(dd), (Trust::Yes, None));
        let windows = Some("the way from WSL to a drive of Windows, not the drive".to_owned());
        assert_eq!(of(&format!("wsl2:\n{dd}")), (Trust::Other, windows));
        assert_eq!(of(&format!("wsl2:\n{}", dd.replace("/mnt/e/x", "/home/x"))), (Trust::Yes, None));
    }

    #[test]
    fn a_depth_that_was_not_reached_is_another_measurement() {
        let text = r#"{"fio version": "fio-3.36", "jobs": [{"jobname": "x", "job options": {"rw": "randread", "direct": "1", "ioengine": "psync", "iodepth": "16"},
            "read": {"io_bytes": 4096000000, "bw_bytes": 68266666, "bw": 66666, "iops": 16666, "runtime": 60000, "total_ios": 1000000}}]}"#;
        let (trust, measures) = of(text);
        assert_eq!((trust, measures.as_deref()), (Trust::Other, Some("one I/O at a time, not 16")));
    }

    fn report(trusted: bool, code: &str) -> String {
        format!(
            r#"{{"schema": "narrows/measure/1", "target": {{"name": "sda", "kind": "device", "size_bytes": 1000000000000}},
            "results": [{{"name": "SEQ1M", "elapsed_ns": 60000000000, "trusted": {trusted},
            "load": {{"pattern": "sequential", "block_size": 1048576, "queue_depth": 8, "parallel": {{"threads": 1}}, "write_percent": 0, "buffered": false}},
            "findings": [{{"code": "{code}", "severity": "limit", "summary": "another program read"}}],
            "read": {{"bytes_per_second": 2e8, "iops": 190.7}}}}]}}"#
        )
    }

    #[test]
    fn what_was_said_then_is_said_again_and_a_trusted_run_stays_so() {
        let doubted = verdicts(&report(false, "raid_resync"));
        assert_eq!((doubted[0].trusted, codes(&doubted[0])), (false, vec![Code::RaidResync]));
        assert!(doubted[0].reason.as_deref().is_some_and(|why| why.contains("another program read")));
        assert_eq!(codes(&verdicts(&report(false, "made_in_2030"))[0]), [Code::RunFailed]);
        assert!(verdicts(&report(true, "raid_resync"))[0].trusted);
    }
}
