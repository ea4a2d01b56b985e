//! What narrows thinks of a result, and whether that is right.

#![expect(clippy::disallowed_types, reason = "the scorer runs the real binary")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::contradictions::contradictions;

/// The share of scored cases that must be right.
const GOOD: f64 = 0.9;

/// What `case.json` says.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Case {
    id: String,
    tool: String,
    expected: Expected,
    /// `high`, `medium` or `low`: how sure the verdict is. Low ones are not scored.
    confidence: String,
    files: Vec<String>,
    /// Whether narrows says that it reads the tool; others are not scored.
    #[serde(default = "claimed")]
    supported_by_claim: bool,
}

/// Cases that do not say so are of tools that are read.
const fn claimed() -> bool {
    true
}

/// The verdict of a case.
#[derive(Debug, Clone, Deserialize)]
struct Expected {
    /// `None` where a result is neither.
    trusted: Option<bool>,
    flaws: Vec<String>,
    /// `yes`, `other` or `no`, where a case says it.
    #[serde(default)]
    trust: Option<String>,
    /// The rates that must come out, in bytes per second: `["r", 1.5e6]`; see [`is_kind`].
    #[serde(default)]
    numbers: Value,
}

impl Expected {
    /// The rates that must come out, where they are listed as such; older cases have figures by name, which are not scored.
    fn rates(&self) -> Option<Vec<(String, f64)>> {
        let all: Vec<(String, f64)> = serde_json::from_value(self.numbers.clone()).ok()?;
        Some(all).filter(|all| !all.is_empty())
    }
}

/// One case with its outcome.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Score {
    id: String,
    tool: String,
    scored: bool,
    right: bool,
    false_alarm: bool,
    expected_trusted: bool,
    /// `None` when no result was read.
    trusted: Option<bool>,
    expected_flaws: Vec<String>,
    missing: Vec<String>,
    found: Vec<String>,
    /// Whether every rate that is known came out; `None` where none is. It is counted whatever the verdict is worth.
    numbers_right: Option<bool>,
    /// Whether the tool was read when the case was labelled.
    claimed: bool,
    /// Whether `yes`, `other` or `no` is right, or where a case has none of these whether it is trusted; `None` where neither is
    /// known.
    trust_right: Option<bool>,
    /// Whether the first flaw was found; `None` where there is none, or none that a finding is for.
    main_flaw_found: Option<bool>,
    /// What the answer says that cannot both be so.
    broken: Vec<String>,
}

/// The finding that is a flaw; several where a flaw has several causes. Flaws in words (`other:`) that no finding is
/// for are right when the result is not trusted.
fn codes(flaw: &str) -> Vec<&str> {
    match flaw {
        "page_cache_or_arc_hit_despite_direct" | "page_cache" | "tmpfs" => vec!["cache_measured"],
        "cpu_bound" => vec!["generator_cpu", "crypto_cpu"],
        "wrong_queue_depth" => vec!["depth_too_low"],
        "slc_cache_exhausted" => vec!["slc_exhausted"],
        "client_limited" => vec!["network_limited", "generator_cpu"],
        "partial" => vec!["partial_input"],
        "other:run_failed" => vec!["run_failed"],
        "other:inconsistent_numbers" => vec!["inconsistent_numbers"],
        "other:not_sync_as_labelled" => vec!["not_synchronous"],
        zeros if zeros.starts_with("zeros") => vec!["zero_or_sparse_data"],
        // A flaw in words.
        other if other.starts_with("other:") || other.contains(' ') => Vec::new(),
        code => vec![code],
    }
}

/// Runs narrows on a case.
pub(crate) fn of(place: &Path, case: &Case) -> Result<Score, String> {
    let texts: Vec<PathBuf> = case.files.iter().map(|file| place.join(file)).collect();
    let done = Command::new(env!("CARGO_BIN_EXE_narrows"))
        .args(["--json"])
        .args(texts)
        .output()
        .map_err(|error| format!("narrows could not be started: {error}"))?;
    let report = serde_json::from_slice(&done.stdout).unwrap_or(Value::Null);
    Ok(judge(case, &report))
}

fn judge(case: &Case, report: &Value) -> Score {
    let empty = Vec::new();
    let results = report["results"].as_array().unwrap_or(&empty);
    let own: Vec<&Value> = results.iter().filter(|result| is_own(case, result)).collect();
    let own = if own.is_empty() { results.iter().collect() } else { own };
    let trusted = (!own.is_empty()).then(|| own.iter().all(|result| result["trusted"] == true));
    let findings = own.iter().filter_map(|result| result["findings"].as_array()).flatten();
    let found: BTreeSet<String> =
        findings.filter_map(|finding| finding["code"].as_str()).map(str::to_owned).collect();
    let flaws = &case.expected.flaws;
    let is_missing = |flaw: &&String| {
        let codes = codes(flaw);
        !codes.is_empty() && !codes.iter().any(|code| found.contains(*code))
    };
    let missing: Vec<String> = flaws.iter().filter(is_missing).cloned().collect();
    Score {
        id: case.id.clone(),
        tool: case.tool.clone(),
        scored: case.confidence != "low" && case.supported_by_claim && case.expected.trusted.is_some(),
        right: trusted == case.expected.trusted && missing.is_empty(),
        numbers_right: case.expected.rates().map(|all| have_come_out(&all, &own)),
        claimed: case.supported_by_claim,
        trust_right: match &case.expected.trust {
            Some(trust) => Some(worst_trust(&own) == Some(trust.as_str())),
            None => case.expected.trusted.map(|_| trusted == case.expected.trusted),
        },
        main_flaw_found: flaws
            .first()
            .filter(|flaw| !codes(flaw).is_empty())
            .map(|flaw| !missing.contains(flaw)),
        false_alarm: case.expected.trusted == Some(true) && trusted == Some(false),
        expected_trusted: case.expected.trusted == Some(true),
        trusted,
        broken: contradictions(report),
        expected_flaws: flaws.clone(),
        missing,
        found: found.into_iter().collect(),
    }
}

/// What is thought of results that are scored as one.
fn worst_trust<'v>(results: &[&'v Value]) -> Option<&'v str> {
    let all: Vec<&str> = results.iter().filter_map(|result| result["trust"].as_str()).collect();
    ["no", "other", "yes"].into_iter().find_map(|trust| all.iter().find(|one| **one == trust).copied())
}

/// Whether each rate came out, once for each time that it is expected. The known ones are computed from amount and time
/// where a text has both, and the printed ones are rounded to two digits at worst.
fn have_come_out(expected: &[(String, f64)], results: &[&Value]) -> bool {
    const ROUNDED: f64 = 0.01;
    let mut found: Vec<(&str, f64)> = results.iter().flat_map(|result| rates(result)).collect();
    expected.iter().all(|(kind, rate)| {
        let is_it = |(known, value): &(&str, f64)| {
            is_kind(kind, known) && (value - rate).abs() <= ROUNDED * rate.abs()
        };
        // A rate of nothing may also be left out.
        found.iter().position(is_it).map(|at| found.swap_remove(at)).is_some() || *rate == 0.0
    })
}

/// `r` reads, `w` writes, `rw` both together, `net` a network, `meta` files, `?` any of them.
fn is_kind(expected: &str, found: &str) -> bool {
    match expected {
        "r" => found == "read",
        "w" => found == "write",
        "rw" => matches!(found, "both" | "sum"),
        "net" => found == "network",
        "meta" => found == "write",
        _ => true,
    }
}

/// The rates of a result, and of reads and writes of one measurement also the sum.
fn rates(result: &Value) -> Vec<(&'static str, f64)> {
    let mut all = Vec::new();
    for measured in result["measurements"].as_array().into_iter().flatten() {
        let rate = |side: &str| measured[side]["bytes_per_second"].as_f64();
        all.extend(rate("read").zip(rate("write")).map(|(read, write)| ("sum", read + write)));
        all.extend(
            ["read", "write", "both", "network"].into_iter().filter_map(|side| Some((side, rate(side)?))),
        );
    }
    all
}

/// Whether a result stands in the text that is named after the tool.
fn is_own(case: &Case, result: &Value) -> bool {
    let tool = if case.tool == "crystaldiskmark" { "cdm" } else { case.tool.as_str() };
    let file = result["file"].as_str().unwrap_or_default();
    Path::new(file).file_stem().is_some_and(|stem| stem == tool)
}

fn count<'s>(scores: impl Iterator<Item = &'s Score>) -> (usize, usize) {
    scores
        .filter(|score| score.scored)
        .fold((0, 0), |(right, all), score| (right + usize::from(score.right), all + 1))
}

fn share((right, all): (usize, usize)) -> f64 {
    if all == 0 { 0.0 } else { right as f64 / all as f64 }
}

fn false_alarms(scores: &[Score]) -> usize {
    scores.iter().filter(|score| score.scored && score.false_alarm).count()
}

/// Whether enough cases are right, and no result that is to be trusted was called untrusted.
pub(crate) fn is_good_enough(scores: &[Score]) -> bool {
    share(count(scores.iter())) >= GOOD
        && false_alarms(scores) == 0
        && scores.iter().all(|score| score.broken.is_empty())
}

/// A part of a verdict that is counted by itself: `None` of cases that do not tell, or are not scored.
type Column = fn(&Score) -> Option<bool>;

/// Rates are right or wrong whatever a verdict is worth; those of tools that were not read when they were labelled are
/// counted apart.
const COLUMNS: &[(&str, Column)] = &[
    ("-- numbers", |score| score.numbers_right.filter(|_| score.claimed)),
    ("-- new tools", |score| score.numbers_right.filter(|_| !score.claimed)),
    ("-- trust", |score| score.trust_right.filter(|_| score.scored)),
    ("-- main flaw", |score| score.main_flaw_found.filter(|_| score.scored)),
];

fn column_of(scores: &[Score], column: Column) -> (usize, usize) {
    let known = scores.iter().filter_map(column);
    known.fold((0, 0), |(right, all), one| (right + usize::from(one), all + 1))
}

/// Every miss, and the count for each tool.
pub(crate) fn table(scores: &[Score]) -> String {
    let mut out = String::new();
    let word = |trusted| if trusted { "trusted" } else { "not trusted" };
    for score in scores.iter().filter(|score| !score.right) {
        let weight = if score.scored { "" } else { " (low confidence, not scored)" };
        let got = score.trusted.map_or("nothing read", word);
        let _ = writeln!(out, "miss  {}{weight}", score.id);
        let _ = writeln!(
            out,
            "      expected {:<12} {}",
            word(score.expected_trusted),
            score.expected_flaws.join(", ")
        );
        let _ = writeln!(out, "      got      {got:<12} {}", score.found.join(", "));
    }
    for score in scores {
        let wrong = COLUMNS.iter().filter(|(_, column)| column(score) == Some(false));
        let names: Vec<&str> = wrong.map(|(name, _)| name.trim_start_matches("-- ")).collect();
        if !names.is_empty() {
            let _ = writeln!(out, "part  {}: {}", score.id, names.join(", "));
        }
    }
    for (score, broken) in scores.iter().flat_map(|score| score.broken.iter().map(move |one| (score, one))) {
        let _ = writeln!(out, "broken {}: {broken}", score.id);
    }
    let mut tools: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for score in scores.iter().filter(|score| score.scored) {
        let (right, all) = tools.entry(&score.tool).or_default();
        (*right, *all) = (*right + usize::from(score.right), *all + 1);
    }
    for (tool, (right, all)) in tools {
        let _ = writeln!(out, "{tool:<16} {right} of {all}");
    }
    for (name, column) in COLUMNS {
        let (right, all) = column_of(scores, *column);
        if all > 0 {
            let _ = writeln!(out, "{name:<16} {right} of {all}");
        }
    }
    let (right, all) = count(scores.iter());
    let percent = 100.0 * share((right, all));
    let _ = writeln!(
        out,
        "{right} of {all} scored cases right ({percent:.1} %), {} false alarms",
        false_alarms(scores)
    );
    out
}

/// The summary for a program.
pub(crate) fn summary(cases: &Path, scores: &[Score]) -> Value {
    let (right, all) = count(scores.iter());
    json!({
        "cases": cases,
        "scored": all,
        "right": right,
        "share": share((right, all)),
        "false_alarms": false_alarms(scores),
        "results": scores,
    })
}
