//! Numbers of a check beside what was injected and what other tools say.

use std::collections::BTreeMap;

use narrows::units::{Bytes, BytesPerSec, Nanos, human};
use serde::Serialize;
use serde_json::Value;

use super::judge::{Names, Outcome};
use super::pointer;
use super::scenario::{Check, Figure, Unit};

/// A figure with the numbers that were found for it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Reading {
    /// Its name.
    pub(crate) name: String,
    /// The unit of its numbers.
    pub(crate) unit: Unit,
    /// What was injected.
    pub(crate) injected: Option<f64>,
    /// What narrows says, or what running it cost.
    pub(crate) narrows: Option<f64>,
    /// What each of the other tools says.
    pub(crate) peers: BTreeMap<String, Option<f64>>,
    /// What is wrong.
    #[serde(skip)]
    pub(crate) complaints: Vec<String>,
}

/// Reads the figures of a check.
pub(crate) fn read(check: &Check, outcome: &Outcome, names: &Names) -> Vec<Reading> {
    let document = serde_json::from_str(&outcome.stdout).unwrap_or(Value::Null);
    let peers: BTreeMap<&str, Value> =
        outcome.peers.iter().map(|(name, text)| (name.as_str(), first_object(text))).collect();
    check
        .figures
        .iter()
        .map(|figure| {
            let at = |document: &Value, place: &String| number(document, &names.fill(place));
            let of_peer = |(name, place): (&String, &String)| {
                (name.clone(), peers.get(name.as_str()).and_then(|document| at(document, place)))
            };
            let mut reading = Reading {
                name: figure.name.clone(),
                unit: figure.unit,
                injected: figure.injected.as_ref().and_then(|value| injected(value, names)),
                narrows: match figure.narrows.as_str() {
                    "seconds" => outcome.seconds,
                    "resident_bytes" => outcome.resident_bytes,
                    place => at(&document, &place.to_owned()),
                },
                peers: figure.peers.iter().map(of_peer).collect(),
                complaints: Vec::new(),
            };
            reading.complaints = complaints(figure, &reading);
            reading
        })
        .collect()
}

/// The first number at a place.
fn number(document: &Value, place: &str) -> Option<f64> {
    pointer::find(document, place).into_iter().find_map(Value::as_f64)
}

/// A number, or a text with names in it that becomes one.
fn injected(value: &Value, names: &Names) -> Option<f64> {
    value.as_f64().or_else(|| names.fill(value.as_str()?).trim().parse().ok())
}

/// The first JSON object in a text: fio prints notes around its report.
fn first_object(text: &str) -> Value {
    let objects = text.match_indices('{').filter_map(|(at, _)| {
        serde_json::Deserializer::from_str(text.get(at..)?).into_iter::<Value>().next()?.ok()
    });
    objects.into_iter().next().unwrap_or(Value::Null)
}

fn complaints(figure: &Figure, reading: &Reading) -> Vec<String> {
    let Reading { unit, narrows: Some(ours), .. } = reading else {
        return vec![format!("{}: narrows has no number at {}", figure.name, figure.narrows)];
    };
    let mut found = Vec::new();
    let mut compare = |whose: &str, theirs: Option<f64>, tolerance: f64| match theirs {
        None => found.push(format!("{}: there is no number of {whose}", figure.name)),
        Some(theirs) if (ours / theirs - 1.0).abs() <= tolerance => {}
        Some(theirs) => found.push(format!(
            "{}: expected {} ± {} % ({whose}), got {}{}",
            figure.name,
            unit.show(theirs),
            tolerance * 100.0,
            unit.show(*ours),
            apart(*ours, theirs)
        )),
    };
    if figure.injected.is_some() {
        compare("what was injected", reading.injected, figure.tolerance);
    }
    if let Some(tolerance) = figure.within_of_peers {
        for (name, theirs) in &reading.peers {
            compare(name, *theirs, tolerance);
        }
    }
    if let Some(times) = figure.at_least_times_peers {
        for (name, theirs) in &reading.peers {
            match theirs {
                None => found.push(format!("{}: there is no number of {name}", figure.name)),
                Some(theirs) if *ours >= times * theirs => {}
                Some(theirs) => found.push(format!(
                    "{}: expected at least {times} × {} ({name}), got {}",
                    figure.name,
                    unit.show(*theirs),
                    unit.show(*ours)
                )),
            }
        }
    }
    if let Some(least) = figure.at_least.filter(|least| ours < least) {
        found.push(format!(
            "{}: expected at least {}, got {}",
            figure.name,
            unit.show(least),
            unit.show(*ours)
        ));
    }
    if let Some(most) = figure.at_most.filter(|most| ours > most) {
        found.push(format!(
            "{}: expected at most {}, got {}",
            figure.name,
            unit.show(most),
            unit.show(*ours)
        ));
    }
    found
}

fn apart(number: f64, from: f64) -> String {
    format!(" ({:+.1} %)", (number / from - 1.0) * 100.0)
}

impl Unit {
    /// A number with its unit.
    pub(crate) fn show(self, number: f64) -> String {
        match self {
            Self::Nanoseconds => human::time(Nanos::new(number.max(0.0) as u64)),
            Self::Seconds => format!("{number:.1} s"),
            Self::BytesPerSecond => BytesPerSec::new(number).to_string(),
            Self::Bytes => Bytes::new(number.max(0.0) as u64).to_string(),
            Self::Iops => format!("{} IOPS", human::count(number)),
        }
    }
}

impl Reading {
    /// The figure in a line: `p99.9   injected 160 ms   narrows 162 ms (+1.3 %)   fio 163 ms (+1.9 %)`.
    pub(crate) fn line(&self) -> String {
        let beside = |number: f64| self.injected.map_or_else(String::new, |injected| apart(number, injected));
        let show = |number: Option<f64>| {
            number.map_or_else(|| "–".to_owned(), |number| self.unit.show(number) + &beside(number))
        };
        let mut parts = vec![format!("{:<20}", self.name)];
        parts.extend(self.injected.map(|injected| format!("injected {}", self.unit.show(injected))));
        parts.push(format!("narrows {}", show(self.narrows)));
        parts.extend(self.peers.iter().map(|(name, number)| format!("{name} {}", show(*number))));
        parts.join("   ")
    }
}
