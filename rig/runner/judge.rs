//! Compares what narrows said with what it must say.

use std::collections::BTreeMap;

use narrows::units::BytesPerSec;
use serde_json::Value;

use super::confusion::Answer;
use super::pointer;
use super::scenario::{Check, Expectation, Place};

/// What a check left behind in the guest.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// The exit status of narrows; `None` when it did not end.
    pub(crate) exit: Option<i32>,
    /// Its standard output.
    pub(crate) stdout: String,
    /// Its standard error.
    pub(crate) stderr: String,
    /// The rate that the reference command printed.
    pub(crate) reference: Option<f64>,
    /// The commands that must succeed afterwards and did not, with what they said.
    pub(crate) unverified: Vec<String>,
    /// How long it took.
    pub(crate) seconds: Option<f64>,
    /// The most memory that it had.
    pub(crate) resident_bytes: Option<f64>,
    /// What each of the other tools printed.
    pub(crate) peers: BTreeMap<String, String>,
}

/// The judgement on a check.
#[derive(Debug, Default)]
pub(crate) struct Judgement {
    /// The id of the hop that narrows named as limiting.
    pub(crate) named: Option<String>,
    /// The injected rate; `None` where the expectation compares no rates.
    pub(crate) injected: Option<f64>,
    /// The measured rate.
    pub(crate) measured: Option<f64>,
    /// Which hop was injected and which was named.
    pub(crate) answer: Answer,
    /// What is wrong; nothing when the check passed.
    pub(crate) complaints: Vec<String>,
}

/// Texts with the names of the guest filled in.
#[derive(Debug, Default)]
pub(crate) struct Names(BTreeMap<String, String>);

impl Names {
    /// Reads lines of `key=value`.
    pub(crate) fn parse(text: &str) -> Self {
        let pair = |line: &str| line.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
        Self(text.lines().filter_map(pair).collect())
    }

    /// Puts names in place of `{key}`; an unknown key stays as it is.
    pub(crate) fn fill(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (key, value)| text.replace(&format!("{{{key}}}"), value))
    }
}

/// Judges a check. Where several expectations are allowed and none holds, each complains.
pub(crate) fn judge(check: &Check, outcome: &Outcome, names: &Names) -> Judgement {
    let document = serde_json::from_str::<Value>(&outcome.stdout);
    let json = document.as_ref().unwrap_or(&Value::Null);
    let injected = check.injected_bytes_per_second.or(outcome.reference);
    let comparison = Comparison { check, outcome, names, json, injected };
    let mut judgement = comparison.best_of(&check.expectations);
    if outcome.exit.is_none() {
        judgement.complaints = vec!["the command did not run to its end".to_owned()];
    }
    if check.run.contains("--json")
        && matches!(outcome.exit, Some(0 | 1))
        && let Err(error) = &document
    {
        judgement.complaints.push(format!("standard output is not JSON: {error}"));
    }
    if outcome.stderr.contains("panicked at") {
        judgement.complaints.push("it panicked".to_owned());
    }
    judgement.complaints.extend(outcome.unverified.iter().cloned());
    judgement
}

struct Comparison<'a> {
    check: &'a Check,
    outcome: &'a Outcome,
    names: &'a Names,
    json: &'a Value,
    injected: Option<f64>,
}

impl Comparison<'_> {
    fn best_of(&self, expectations: &[Expectation]) -> Judgement {
        let mut judgements: Vec<Judgement> = expectations.iter().map(|one| self.make(one)).collect();
        if let Some(holds) = judgements.iter().position(|one| one.complaints.is_empty()) {
            return judgements.swap_remove(holds);
        }
        let several = judgements.len() > 1;
        let complaints = judgements.iter_mut().enumerate().flat_map(|(index, one)| {
            let label = if several { format!("expectation {}: ", index + 1) } else { String::new() };
            std::mem::take(&mut one.complaints).into_iter().map(move |complaint| label.clone() + &complaint)
        });
        let complaints = complaints.collect();
        judgements.into_iter().next().map(|first| Judgement { complaints, ..first }).unwrap_or_default()
    }

    fn make(&self, expectation: &Expectation) -> Judgement {
        let path = self.path(expectation);
        let direction = expectation.direction.key();
        let named = first_text(self.json, &named_place(&path, direction));
        let measured = self.application_hop(&path, direction);
        let mut complaints = Vec::new();
        self.exit(expectation, &mut complaints);
        self.limiting(expectation, named.as_deref(), &path, &mut complaints);
        self.rate(expectation, measured, &path, &mut complaints);
        self.findings(expectation, &mut complaints);
        self.stderr(expectation, &mut complaints);
        complaints.extend(expectation.places.iter().filter_map(|place| self.place(place)));
        let measured = measured.and_then(rate_of);
        let injected = self.compares_rates(expectation).then_some(self.injected).flatten();
        let answer = self.answer(expectation, named.as_deref());
        Judgement { named, injected, measured, answer, complaints }
    }

    fn answer(&self, expectation: &Expectation, named: Option<&str>) -> Answer {
        let injected = expectation.limiting.as_ref().map(|hop| self.names.fill(hop));
        let right = match (&injected, &expectation.limiting_kind) {
            (Some(hop), _) => named == Some(hop),
            (None, Some(kind)) => named.and_then(|named| named.split(':').next()) == Some(kind),
            (None, None) => false,
        };
        let is_healthy = !expectation.no_severities.is_empty() && !self.json.is_null();
        Answer {
            injected: injected.or_else(|| expectation.limiting_kind.clone()),
            named: named.map(str::to_owned),
            right,
            false_alarms: is_healthy.then(|| self.alarms(expectation)),
        }
    }

    /// How many findings have a severity that none may have.
    fn alarms(&self, expectation: &Expectation) -> usize {
        let severities = texts(self.json, &format!("{}/*/severity", self.findings_place()));
        severities.iter().filter(|severity| expectation.no_severities.contains(severity)).count()
    }

    fn findings_place(&self) -> &'static str {
        if self.json.get("ladders").is_some() { "/ladders/0/findings" } else { "/findings" }
    }

    /// Where the path that is looked at stands; in a report of `narrows measure --as layers`, the first ladder, in one of `narrows fleet run` its last
    /// run.
    fn path(&self, expectation: &Expectation) -> String {
        if self.json.get("ladders").is_some() {
            return "/ladders/0".to_owned();
        }
        let is_fleet = self.json.get("schema").is_some_and(|schema| schema == "narrows/fleet-run/1");
        if let Some(points) = self.json.get("points").and_then(Value::as_array).filter(|_| is_fleet) {
            return format!("{FLEET}{}", points.len().saturating_sub(1));
        }
        expectation.path.as_ref().map_or_else(
            || "/paths/0".to_owned(),
            |target| {
                format!("/paths/target={}", self.names.fill(target).replace('~', "~0").replace('/', "~1"))
            },
        )
    }

    /// What was measured where the application stands: the first hop of the path that has a measurement, or the highest
    /// rung of a ladder.
    fn application_hop(&self, path: &str, direction: &str) -> Option<&Value> {
        if path.starts_with(FLEET) {
            return self.json.pointer(&format!("{path}/verdict/limit"));
        }
        let rungs = pointer::find(self.json, &format!("{path}/rungs/*"));
        let is_measured = |rung: &&Value| rung.get("measurement").is_some_and(Value::is_object);
        if let Some(top) = rungs.into_iter().rfind(is_measured) {
            return Some(top);
        }
        pointer::find(self.json, &format!("{path}/hops/*/measured/{direction}"))
            .into_iter()
            .find(|measured| measured.get("bytes_per_second").is_some_and(Value::is_number))
    }

    fn compares_rates(&self, expectation: &Expectation) -> bool {
        let named = expectation.limiting.is_some() || expectation.limiting_kind.is_some();
        expectation.rate.unwrap_or(named && self.check.has_rate())
    }

    fn exit(&self, expectation: &Expectation, complaints: &mut Vec<String>) {
        if let Some(exit) = self.outcome.exit
            && !expectation.exit.contains(&exit)
        {
            complaints.push(format!("exit status: expected {:?}, got {exit}", expectation.exit));
        }
    }

    fn limiting(
        &self,
        expectation: &Expectation,
        named: Option<&str>,
        path: &str,
        complaints: &mut Vec<String>,
    ) {
        let place = named_place(path, expectation.direction.key());
        let got = named.unwrap_or("nothing");
        if let Some(wanted) = &expectation.limiting {
            let wanted = self.names.fill(wanted);
            if got != wanted {
                complaints.push(format!("{place}: expected {wanted}, got {got}"));
            }
        }
        if let Some(wanted) = &expectation.limiting_kind
            && got.split(':').next() != Some(wanted)
        {
            complaints.push(format!("{place}: expected a hop of kind {wanted}, got {got}"));
        }
    }

    fn rate(
        &self,
        expectation: &Expectation,
        measured: Option<&Value>,
        path: &str,
        complaints: &mut Vec<String>,
    ) {
        let place = format!("{path}/hops/*/measured/{}", expectation.direction.key());
        let rate = measured.and_then(rate_of);
        if self.compares_rates(expectation) {
            complaints.extend(
                rate_complaint(self.injected, rate, self.check.tolerance).map(|c| format!("{place}: {c}")),
            );
        }
        if let Some(wanted) = expectation.trusted {
            let got = measured.and_then(|hop| hop.get("trusted")).unwrap_or(&Value::Null);
            if *got != Value::Bool(wanted) {
                complaints.push(format!("{place}/trusted: expected {wanted}, got {got}"));
            }
        }
    }

    fn findings(&self, expectation: &Expectation, complaints: &mut Vec<String>) {
        let place = self.findings_place();
        let codes = texts(self.json, &format!("{place}/*/code"));
        for wanted in expectation.findings.iter().filter(|code| !codes.contains(code)) {
            complaints.push(format!("{place}/*/code: expected {wanted}, got [{}]", codes.join(", ")));
        }
        for finding in pointer::find(self.json, &format!("{place}/*")) {
            let text = |key: &str| finding.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            let (code, severity) = (text("code"), text("severity"));
            if expectation.no_findings.contains(&code) || expectation.no_severities.contains(&severity) {
                complaints.push(format!("{place}: unexpected {severity} {code}: {}", text("summary")));
            }
        }
    }

    fn stderr(&self, expectation: &Expectation, complaints: &mut Vec<String>) {
        let said = self.outcome.stderr.to_lowercase();
        for wanted in &expectation.stderr {
            let wanted = self.names.fill(wanted).to_lowercase();
            if !said.contains(&wanted) {
                complaints.push(format!("standard error: expected \"{wanted}\", got \"{}\"", said.trim()));
            }
        }
    }

    fn place(&self, place: &Place) -> Option<String> {
        let at = self.names.fill(&place.pointer);
        let mut values = pointer::find(self.json, &at);
        // `null` says that there is none.
        values.retain(|value| !value.is_null());
        let holds = values.iter().any(|value| self.matches(place, value));
        let wanted = describe(place, self.names);
        let got = values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match (holds, place.exists) {
            (false, true) if values.is_empty() => Some(format!("{at}: expected {wanted}, got nothing there")),
            (false, true) => Some(format!("{at}: expected {wanted}, got {}", shorten(&got))),
            (true, false) => Some(format!("{at}: expected nothing that is {wanted}, got {}", shorten(&got))),
            _ => None,
        }
    }

    fn matches(&self, place: &Place, value: &Value) -> bool {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let equals = place.equals.as_ref().is_none_or(|wanted| match wanted {
            Value::String(wanted) => text == self.names.fill(wanted),
            Value::Number(wanted) => value.as_f64() == wanted.as_f64(),
            other => value == other,
        });
        equals
            && place.contains.as_ref().is_none_or(|wanted| text.contains(&self.names.fill(wanted)))
            && place.at_least.is_none_or(|least| value.as_f64().is_some_and(|n| n >= least))
            && place.at_most.is_none_or(|most| value.as_f64().is_some_and(|n| n <= most))
    }
}

/// Where a load on many hosts has its runs.
const FLEET: &str = "/points/";

/// Where it stands what limits a path; of a load on many hosts, where the kind of limit stands.
fn named_place(path: &str, direction: &str) -> String {
    match path.starts_with(FLEET) {
        true => format!("{path}/verdict/limit/kind"),
        false => format!("{path}/limiting_hop/{direction}"),
    }
}

fn describe(place: &Place, names: &Names) -> String {
    let words = [
        place.equals.as_ref().map(|value| names.fill(&value.to_string())),
        place.contains.as_ref().map(|text| format!("containing \"{}\"", names.fill(text))),
        place.at_least.map(|least| format!("at least {least}")),
        place.at_most.map(|most| format!("at most {most}")),
    ];
    let given: Vec<String> = words.into_iter().flatten().collect();
    if given.is_empty() { "a value".to_owned() } else { given.join(" and ") }
}

/// What is wrong with a measured rate.
pub(crate) fn rate_complaint(injected: Option<f64>, measured: Option<f64>, tolerance: f64) -> Option<String> {
    let show = |rate: f64| BytesPerSec::new(rate).to_string();
    match (injected, measured) {
        (None, _) => Some("the reference command printed no rate".to_owned()),
        (Some(injected), None) => Some(format!("expected {}, got no measurement", show(injected))),
        (Some(injected), Some(measured)) if (measured / injected - 1.0).abs() <= tolerance => None,
        (Some(injected), Some(measured)) => Some(format!(
            "expected {} ± {:.0} %, got {} ({:+.1} %)",
            show(injected),
            tolerance * 100.0,
            show(measured),
            (measured / injected - 1.0) * 100.0
        )),
    }
}

fn texts(json: &Value, at: &str) -> Vec<String> {
    pointer::find(json, at).into_iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn first_text(json: &Value, at: &str) -> Option<String> {
    texts(json, at).into_iter().next()
}

fn shorten(text: &str) -> String {
    const LONGEST: usize = 300;
    let mut short: String = text.chars().take(LONGEST).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// The rate of a hop, of a rung that of its measurement.
fn rate_of(measured: &Value) -> Option<f64> {
    measured.get("measurement").unwrap_or(measured).get("bytes_per_second").and_then(Value::as_f64)
}
