//! What an answer says that cannot both be so, whatever it was asked of.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::files::{list, word};

/// Findings that leave nothing of a rate.
const VOID: [&str; 3] = ["cache_measured", "above_ceiling", "run_failed"];

/// Two findings that say of one run where its rate comes from.
const CAUSES: [[&str; 2]; 2] = [["cache_measured", "throttled"], ["cache_measured", "network_limited"]];

/// The pairs of an answer that cannot both be so.
pub(crate) fn contradictions(report: &Value) -> Vec<String> {
    let mut all = Vec::new();
    for result in list(report, "results") {
        let place = format!("{}:{}", word(result, "file"), result["line"]);
        all.extend(trust(result).into_iter().chain(two_hops(result)).map(|what| format!("{place}: {what}")));
        all.extend(two_causes(result).map(|what| format!("{place}: {what}")));
    }
    for path in list(report, "paths") {
        all.extend(no_such_hop(path));
    }
    all
}

/// A rate that is trusted although nothing is left of it.
fn trust(result: &Value) -> Option<String> {
    let trusted = result["trusted"].as_bool()?;
    let said = word(result, "trust");
    if trusted == (said == "no") {
        return Some(format!("trusted is {trusted} and trust is {said}"));
    }
    let mut void = list(result, "findings").filter(|one| word(one, "severity") != "info");
    let code = void.find(|one| VOID.contains(&word(one, "code"))).map(|one| word(one, "code"));
    code.filter(|_| trusted).map(|code| format!("trusted, and {code}"))
}

/// Another hop limits the result than the one at whose ceiling it stands.
fn two_hops(result: &Value) -> Option<String> {
    let kind = word(&result["limiting_hop"], "kind");
    let mut full = list(result, "against").filter(|one| word(one, "standing") == "at");
    let other = full.find(|one| !kind.is_empty() && word(one, "kind") != kind)?;
    Some(format!("limited by {kind}, and at the ceiling of {}", word(other, "name")))
}

/// Runs whose rate two findings explain each in its own way.
fn two_causes(result: &Value) -> impl Iterator<Item = String> {
    let runs = |code: &str| -> BTreeSet<String> {
        let with = list(result, "findings").filter(|one| word(one, "code") == code);
        with.flat_map(|one| runs_of(word(one, "summary"))).collect()
    };
    let both = |[one, other]: [&str; 2]| {
        let run = runs(one).intersection(&runs(other)).next().cloned()?;
        Some(format!("{run}: {one}, and {other}"))
    };
    CAUSES.into_iter().filter_map(both).collect::<Vec<_>>().into_iter()
}

/// The runs that a summary names: ``sequential writes of `label` ``.
fn runs_of(summary: &str) -> Vec<String> {
    let parts: Vec<&str> = summary.split('`').collect();
    let named = parts.chunks_exact(2).filter_map(|pair| {
        let words: Vec<&str> = pair.first()?.split_whitespace().collect();
        let [.., order, direction, "of"] = words.as_slice() else { return None };
        Some(format!("{order} {direction} of {}", pair.get(1)?))
    });
    named.collect()
}

/// A limiting hop that the path does not have.
fn no_such_hop(path: &Value) -> Vec<String> {
    let ids: BTreeSet<&str> = list(path, "hops").map(|hop| word(hop, "id")).collect();
    let limits = ["limiting_hop", "next_hop"].into_iter().flat_map(|key| {
        let of = |direction| path.pointer(&format!("/{key}/{direction}")).and_then(Value::as_str);
        [of("read"), of("write")].into_iter().flatten()
    });
    let unknown = limits.filter(|id| !ids.contains(id));
    unknown.map(|id| format!("{}: no hop {id}", word(path, "target"))).collect()
}
