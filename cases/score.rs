//! What narrows says of a case, and whether that is right.

#![expect(clippy::disallowed_types, reason = "the scorer runs the real binary")]

use std::path::PathBuf;
use std::process::Command;

use serde::Serialize;
use serde_json::Value;

use crate::case::{Case, addresses};
use crate::properties;

/// Findings that tell of the input and not of the machine.
const CLERICAL: [&str; 2] = ["partial_input", "smbios_contradiction"];

/// One case with its outcome.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Score {
    /// The case.
    pub(crate) id: String,
    /// How sure its verdict is.
    pub(crate) confidence: String,
    /// Whether it counts.
    pub(crate) scored: bool,
    /// The verdict that is known.
    pub(crate) expected: String,
    /// The verdict of narrows.
    pub(crate) verdict: String,
    /// The hop that is known.
    pub(crate) expected_hop: String,
    /// The hop of narrows.
    pub(crate) hop: String,
    /// Whether the verdict is right.
    pub(crate) verdict_right: bool,
    /// Whether the hop is right.
    pub(crate) hop_right: bool,
    /// Whether a fault or limit was claimed on a healthy machine.
    pub(crate) false_alarm: bool,
    /// What narrows said in words.
    pub(crate) said: String,
    /// What holds of every capture and not of this report.
    pub(crate) broken: Vec<String>,
}

impl Score {
    /// Whether both are right.
    pub(crate) const fn is_right(&self) -> bool {
        self.verdict_right && self.hop_right
    }
}

/// Runs narrows on a case.
pub(crate) fn of(case: &Case) -> Result<Score, String> {
    let (report, said, broken) = run(&case.texts())?;
    Ok(Score { broken, ..judge(case, &report, &said) })
}

/// What narrows says of texts, as JSON and in words, and what of it cannot be.
pub(crate) fn run(texts: &[PathBuf]) -> Result<(Value, String, Vec<String>), String> {
    let done = Command::new(env!("CARGO_BIN_EXE_narrows"))
        .args(["--json"])
        .args(texts)
        .output()
        .map_err(|error| format!("narrows could not be started: {error}"))?;
    let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
    let report: Value = serde_json::from_slice(&done.stdout).unwrap_or(Value::Null);
    let ended = matches!(done.status.code(), Some(0..=2)) && !said.contains("panicked at");
    let mut broken = if ended { Vec::new() } else { vec![format!("it ended with {}: {said}", done.status)] };
    if !report.is_null() {
        broken.extend(properties::broken(&report, &properties::texts(texts)));
    }
    Ok((report, said, broken))
}

/// Compares a report with what is known.
pub(crate) fn judge(case: &Case, report: &Value, said: &str) -> Score {
    let empty = Vec::new();
    let findings = report["findings"].as_array().unwrap_or(&empty);
    let first = findings.iter().find(|finding| !CLERICAL.contains(&text(&finding["code"])));
    let alarm = findings.iter().find(|finding| text(&finding["severity"]) != "info");
    let (verdict, hop) = match first {
        None if report.is_null() => ("nothing", String::new()),
        None => ("ok", String::new()),
        Some(finding) => (text(&finding["code"]), text(&finding["hop"]).to_owned()),
    };
    let verdict_right = match case.expected.verdict.as_str() {
        _ if report.is_null() => false,
        "ok" | "other" => alarm.is_none(),
        _ => case.accepted().contains(verdict),
    };
    let quiet = matches!(case.expected.verdict.as_str(), "ok" | "other");
    Score {
        id: case.id.clone(),
        confidence: case.confidence.clone(),
        scored: case.is_scored(),
        expected: case.expected.verdict.clone(),
        verdict: verdict.to_owned(),
        expected_hop: case.expected.limiting_hop.clone(),
        hop,
        verdict_right,
        hop_right: verdict_right && (quiet || first.is_some_and(|finding| is_hop(case, report, finding))),
        false_alarm: case.is_healthy() && alarm.is_some(),
        said: first.map_or(said, |finding| text(&finding["summary"])).to_owned(),
        broken: Vec::new(),
    }
}

/// Whether a finding is about the hop that is known: one of the addresses or device names that the case gives is an end
/// of the finding's hop, or what the finding is about. A hop that is known only in words is right with the verdict.
fn is_hop(case: &Case, report: &Value, finding: &Value) -> bool {
    let (known, names) = (case.addresses(), case.devices());
    if known.is_empty() && names.is_empty() {
        return true;
    }
    let about = about(report, finding);
    let found = addresses(&about);
    // A bus is named `usb5`, a device on it `5-1`.
    let about = about.replace("usb:", "usb");
    let is_named = |name: &String| about.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == name);
    let place = text(&finding["hop"]).split_once(':').map_or("", |(_, place)| place);
    let mut words = case.expected.limiting_hop.split([' ', ',', '(', ')']);
    known.iter().any(|known| found.iter().any(|found| is_same(known, found)))
        || names.iter().any(is_named)
        || words.any(|word| !word.is_empty() && word == place)
}

fn is_same(known: &str, found: &str) -> bool {
    known == found || known.strip_suffix('x').is_some_and(|any| found.starts_with(any))
}

/// The hop of a finding with both its ends, what the finding is about, and the places that its evidence names.
fn about(report: &Value, finding: &Value) -> String {
    let id = text(&finding["hop"]);
    let mut words = vec![id.to_owned(), text(&finding["subject"]).to_owned()];
    let empty = Vec::new();
    for path in report["paths"].as_array().unwrap_or(&empty) {
        let hops = path["hops"].as_array().unwrap_or(&empty);
        for hop in hops.iter().filter(|hop| !id.is_empty() && is_same_part(text(&hop["id"]), id)) {
            words.push(text(&hop["port"]).to_owned());
            words.push(text(&hop["name"]).to_owned());
        }
    }
    words.join(" ")
}

/// Whether two hops are one part: the same, or a switch and its own uplink.
fn is_same_part(a: &str, b: &str) -> bool {
    let place = |id: &str| id.split_once(':').map(|(_, place)| place.to_owned());
    a == b || place(a) == place(b)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
