//! Reads results: any JSON that has `runs` with a `measurement` each, as `narrows measure --json` writes it, the
//! `results` of its tests, and what its layers and `lab` list.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use serde_json::{Map, Value};
use thiserror::Error;

use super::{Change, Mean, PathState, Unmatched, foreign, paths};
use narrows_base::measurement::PERCENTILES;
use narrows_base::ran::EngineRan;
use narrows_base::stats::{BatchMeans, student_t};
use narrows_base::units::{Bytes, BytesPerSec, Nanos, human};
use narrows_paste::results::{Long, MOST_MEASUREMENTS, document};

/// Why a file cannot be compared.
#[derive(Debug, Error)]
pub enum InputError {
    /// It is neither JSON nor a result of a known tool.
    #[error("it is not JSON, nor the result of a tool that narrows reads: {0}")]
    Json(#[from] serde_json::Error),
    /// It holds no measurement.
    #[error(
        "it holds no measurement (no `runs` with a `measurement`, no `results`, `ladders` or `cells` of a load, and no result of another tool)"
    )]
    NoRuns,
}

/// A result that can be compared.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Input {
    /// The name that it is shown by.
    pub(super) name: String,
    pub(super) runs: Vec<ComparedEntry>,
    pub(super) inventory: Inventory,
    /// Its paths.
    pub(super) paths: Vec<PathState>,
    /// The lines of a text about a machine, each without its stamp, blanks as one.
    pub(super) lines: Vec<String>,
    /// Whether it is of another tool, which states other things than ours.
    pub(super) is_foreign: bool,
    /// What was left out, in words.
    pub(super) left_out: Option<String>,
}

/// One run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ComparedEntry {
    /// What must be the same in both: the fields of the workload but its duration, and the direction.
    pub(super) key: Vec<(String, String)>,
    /// The same in what every tool states: direction, pattern, block size, I/Os in flight, mix, access.
    pub(super) shape: Vec<(String, String)>,
    pub(super) label: String,
    pub(super) rate: BytesPerSec,
    pub(super) means: Option<BatchMeans>,
    pub(super) tails: Vec<Tail>,
    pub(super) access: Option<String>,
    pub(super) depth: Option<String>,
    pub(super) engine: Option<String>,
    pub(super) region: Option<String>,
    pub(super) cautions: Vec<String>,
    /// Whether it is a single number, of which nobody knows how much a repeat would differ.
    pub(super) is_single: bool,
}

/// A percentile of the latency.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tail {
    /// `p99.9`.
    pub(super) label: &'static str,
    /// That of the whole run.
    pub(super) value: Nanos,
    /// The mean over the tenths of the run, if it has them.
    pub(super) mean: Option<Mean>,
}

impl Input {
    /// Reads a result that is shown as `name`.
    ///
    /// # Errors
    /// The text is not JSON, or holds no measurement.
    pub fn parse(name: &str, text: &str) -> Result<Self, InputError> {
        // JSON of fio may be of any length, and is never held as a whole.
        if text.len() > foreign::LONGEST && Long::of(name, text.as_bytes(), false).is_some() {
            return Self::foreign(name, text).ok_or(InputError::NoRuns);
        }
        match Self::ours(name, text) {
            Ok(Some(found)) => Ok(found),
            Ok(None) => Self::foreign(name, text).ok_or(InputError::NoRuns),
            Err(error) => Self::foreign(name, text).ok_or(InputError::Json(error)),
        }
    }

    /// A result of narrows itself; `None` where the JSON holds no run.
    fn ours(name: &str, text: &str) -> Result<Option<Self>, serde_json::Error> {
        let (value, is_cut) = document(text)?;
        let mut found = Vec::new();
        collect(&value, &mut found);
        let is_of_several =
            found.iter().any(|(target, _)| *target != found.first().and_then(|first| first.0));
        let mut tests = foreign::runs(&value);
        let runs = found.iter().map(|(target, run)| entry(run, target.filter(|_| is_of_several)));
        let runs = runs.chain(tests.by_ref().map(|(of, run)| entry(&run, of.as_deref())));
        let runs: Vec<ComparedEntry> = runs.take(MOST_MEASUREMENTS).flatten().collect();
        let more = found.len().saturating_sub(MOST_MEASUREMENTS) + tests.count();
        let left_out = if is_cut { Some("what stands behind that".to_owned()) } else { further(more) };
        let found = Self { runs, left_out, ..Self::machine(name, &value) };
        Ok((!found.runs.is_empty() || !found.paths.is_empty()).then_some(found))
    }

    /// What a report of narrows says of a machine, without measurements.
    pub fn machine(name: &str, report: &Value) -> Self {
        let (inventory, paths) = (Inventory::of(report), paths::of(report));
        Self { name: name.to_owned(), inventory, paths, ..Self::default() }
    }

    /// The same with the lines of the text that says it, for another text that tells no path.
    pub fn with_lines<'t>(self, lines: impl IntoIterator<Item = &'t str>) -> Self {
        let lines = lines.into_iter().map(plain_line).filter(|line| !line.is_empty()).take(MOST_LINES);
        Self { lines: lines.collect(), ..self }
    }

    /// Whether it holds a measurement.
    pub fn is_measured(&self) -> bool {
        !self.runs.is_empty()
    }

    /// The result of another tool, if there is one in the text.
    fn foreign(name: &str, text: &str) -> Option<Self> {
        let (runs, left_out) = foreign::entries(name, text);
        let none = Self::machine(name, &Value::Null);
        let found = Self { runs, is_foreign: true, left_out: further(left_out), ..none };
        (!found.runs.is_empty()).then_some(found)
    }
}

/// More lines of a text are not compared.
const MOST_LINES: usize = 100_000;

/// A line without the stamp of the kernel's log, `[   12.345678]`, and with one blank for several.
fn plain_line(line: &str) -> String {
    let stamp = line.trim_start().strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let is_time = |stamp: &str| stamp.trim().parse::<f64>().is_ok();
    let bare = stamp.filter(|(stamp, _)| is_time(stamp)).map_or(line, |(_, rest)| rest);
    bare.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn further(count: usize) -> Option<String> {
    (count > 0).then(|| format!("{} further results", human::grouped(count as u64)))
}

/// Every run with the target that it is of. serde_json limits how deep a file is nested.
fn collect<'a>(value: &'a Value, found: &mut Vec<(Option<&'a str>, &'a Value)>) {
    match value {
        Value::Object(fields) => {
            let target = fields.get("target").and_then(Value::as_str);
            for (name, field) in fields {
                match field.as_array().filter(|_| name == "runs") {
                    Some(runs) => found.extend(runs.iter().map(|run| (target, run))),
                    None => collect(field, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        _ => {}
    }
}

fn text(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn entry(run: &Value, target: Option<&str>) -> Option<ComparedEntry> {
    let measurement = run.get("measurement")?;
    let workload = measurement.get("workload")?.as_object()?;
    let rate = BytesPerSec::new(measurement.get("bytes_per_second")?.as_f64()?);
    let direction = text(run.get("direction")).or_else(|| direction_of(workload));
    let access = text(measurement.get("access")).or_else(|| foreign::access_of(workload));
    let shape = foreign::shape_of(workload, direction.as_deref(), measurement);
    let workload = &plain(workload);
    let fields = workload.iter().filter(|(name, _)| *name != "duration_ns");
    let fields = fields.filter_map(|(name, value)| Some((name.clone(), text(Some(value))?)));
    let of_direction = direction.clone().map(|direction| ("direction".to_owned(), direction));
    let of_target = target.map(|target| ("target".to_owned(), target.to_owned()));
    let mut key: Vec<(String, String)> = fields.chain(of_direction).chain(of_target).collect();
    key.sort();
    let generator = |name: &str| text(measurement.get("generator").and_then(|generator| generator.get(name)));
    let engine = generator("engine").map(EngineRan::from);
    Some(ComparedEntry {
        shape,
        is_single: false,
        label: text(run.get("name")).unwrap_or_else(|| label(workload, direction.as_deref(), target)),
        key,
        rate,
        means: means(measurement, rate),
        tails: tails(measurement),
        access,
        depth: generator("queue_depth").filter(|depth| depth != "0"),
        engine: engine.map(|engine| engine.name().to_owned()).filter(|name| !name.is_empty()),
        region: text(measurement.get("region_bytes")),
        cautions: cautions(run, measurement),
    })
}

/// What a load says of its direction, where it has one alone.
fn direction_of(load: &Map<String, Value>) -> Option<String> {
    match load.get("write_percent").and_then(Value::as_f64)? {
        0.0 => Some("read".to_owned()),
        100.0 => Some("write".to_owned()),
        _ => None,
    }
}

/// A load in the fields in which commands agree: what tests and `lab` say of one thread, one direction and the
/// page cache, `narrows WHAT` leaves out or says elsewhere.
fn plain(load: &Map<String, Value>) -> Map<String, Value> {
    let is_usual = |name: &str, value: &Value| match name {
        "parallel" => foreign::streams(value) == 1.0,
        "write_percent" => direction_of(load).is_some(),
        "buffered" => true,
        _ => false,
    };
    let unusual = load.iter().filter(|(name, value)| !is_usual(name, value));
    let mut plain: Map<String, Value> = unusual.map(|(name, value)| (name.clone(), value.clone())).collect();
    // Another access is another workload, where both state it.
    if load.get("buffered").and_then(Value::as_bool) == Some(true) {
        plain.insert("access".to_owned(), Value::from("buffered"));
    }
    if let Some(parallel) = plain.get_mut("parallel") {
        *parallel = Value::from(foreign::streams(parallel));
    }
    plain
}

/// `read sequential 1 MiB × 8`, and what else the workload states.
fn label(workload: &Map<String, Value>, direction: Option<&str>, target: Option<&str>) -> String {
    const KNOWN: [&str; 6] =
        ["pattern", "block_size", "queue_depth", "duration_ns", "parallel", "write_percent"];
    let mut parts: Vec<String> = target.into_iter().chain(direction).map(str::to_owned).collect();
    parts.extend(text(workload.get("pattern")));
    let block = workload.get("block_size");
    let size = block.and_then(Value::as_u64).map(|size| human::block_size(Bytes::new(size)));
    parts.extend(size.or_else(|| text(block)));
    parts.extend(text(workload.get("queue_depth")).map(|depth| format!("× {depth}")));
    let number = |name: &str| workload.get(name).and_then(Value::as_f64);
    parts.extend(number("parallel").map(|count| format!("in {count} threads")));
    parts.extend(number("write_percent").map(|percent| format!("{percent} % writes")));
    let others = workload.iter().filter(|(name, _)| !KNOWN.contains(&name.as_str()));
    parts.extend(others.filter_map(|(name, value)| Some(format!("{name} {}", text(Some(value))?))));
    parts.join(" ")
}

/// The batch means of the series, or what the interval in the file says of them.
fn means(measurement: &Value, rate: BytesPerSec) -> Option<BatchMeans> {
    let numbers =
        |name: &str| -> Vec<f64> { foreign::list(measurement, name).filter_map(Value::as_f64).collect() };
    let series: Vec<BytesPerSec> = numbers("series").into_iter().map(BytesPerSec::new).collect();
    if let Some(means) = BatchMeans::of(&series) {
        return Some(means);
    }
    let [low, high] = numbers("ci95")[..] else { return None };
    // An interval of ours comes from ten batch means.
    const BATCHES: usize = 10;
    let error = (high - low).abs() / 2.0 / student_t(0.95, (BATCHES - 1) as f64);
    Some(BatchMeans { mean: rate, variance: error * error * BATCHES as f64, batches: BATCHES })
}

fn tails(measurement: &Value) -> Vec<Tail> {
    /// Tenths of a run.
    const TENTHS: usize = 10;
    let latency = measurement.get("latency_ns").or_else(|| measurement.get("latency"));
    let tenths = |key: &str| -> Option<Mean> {
        let items = latency?.get("tenths")?.get(key)?.as_array()?;
        let values: Option<Vec<f64>> = items.iter().map(Value::as_f64).collect();
        Mean::of(&values.filter(|values| values.len() == TENTHS)?)
    };
    let tail = |label: &'static str, key: &str| {
        Some(Tail { label, value: Nanos::new(latency?.get(key)?.as_u64()?), mean: tenths(key) })
    };
    PERCENTILES.iter().filter_map(|percentile| tail(percentile.label, percentile.key)).collect()
}

fn cautions(run: &Value, measurement: &Value) -> Vec<String> {
    let is_distrusted = run.get("trusted").and_then(Value::as_bool) == Some(false);
    let errors = measurement.get("errors").and_then(Value::as_u64).filter(|errors| *errors > 0);
    let found = [
        is_distrusted.then(|| "the run is not trusted".to_owned()),
        text(measurement.get("cut_short")).map(|why| format!("the run was cut short: {why}")),
        errors.map(|errors| format!("{errors} I/Os failed")),
    ];
    found.into_iter().flatten().collect()
}

/// Runs of the same workload, and those that only one side has. Several runs of one workload are paired in their order.
pub(super) fn matched<'a>(
    a: &'a Input,
    b: &'a Input,
) -> (Vec<(&'a ComparedEntry, &'a ComparedEntry)>, Vec<Unmatched>) {
    let across = a.is_foreign || b.is_foreign;
    let kind = |run: &'a ComparedEntry| match across {
        true => foreign::kind(run),
        false => (run.key.iter().flat_map(|(name, value)| [name.as_str(), value.as_str()]).collect(), None),
    };
    let shapes = |input: &'a Input| -> BTreeSet<&Shape> {
        input.runs.iter().map(|run| if across { &run.shape } else { &run.key }).collect()
    };
    let mut left: HashMap<_, VecDeque<&ComparedEntry>> = HashMap::new();
    b.runs.iter().for_each(|run| left.entry(kind(run)).or_default().push_back(run));
    let (mut pairs, mut alone) = (Vec::new(), Vec::new());
    let of_b = shapes(b);
    for run in &a.runs {
        let (same, access) = kind(run);
        // What is not stated fits what is.
        let fitting = access.map_or([None, Some("direct"), Some("buffered")], |one| [Some(one), None, None]);
        let found = fitting.into_iter().find_map(|access| left.get_mut(&(same.clone(), access))?.pop_front());
        match found {
            Some(other) => pairs.push((run, other)),
            None => alone.push(unmatched("A", run, &of_b, across)),
        }
    }
    let is_left: HashSet<*const ComparedEntry> =
        left.into_values().flatten().map(std::ptr::from_ref).collect();
    let (of_a, left) = (shapes(a), b.runs.iter().filter(|run| is_left.contains(&std::ptr::from_ref(*run))));
    alone.extend(left.map(|run| unmatched("B", run, &of_a, across)));
    for (side, input) in [("A", a), ("B", b)] {
        alone.extend(input.left_out.as_ref().map(|what| Unmatched {
            only_in: side.to_owned(),
            workload: what.clone(),
            reason: format!("left out: the first {} runs are compared", input.runs.len()),
        }));
    }
    (pairs, alone)
}

type Shape = Vec<(String, String)>;

fn unmatched(side: &str, run: &ComparedEntry, others: &BTreeSet<&Shape>, across: bool) -> Unmatched {
    /// So many are looked at for the nearest.
    const MOST: usize = 64;
    let own = if across { &run.shape } else { &run.key };
    let differences = others.iter().take(MOST).map(|other| differing(own, other));
    let nearest = differences.min_by_key(Vec::len).filter(|_| !others.contains(own)).unwrap_or_default();
    let reason = if nearest.is_empty() {
        "the other file has fewer runs of it".to_owned()
    } else {
        format!("the nearest run of the other file differs in {}", nearest.join(", "))
    };
    Unmatched { only_in: side.to_owned(), workload: run.label.clone(), reason }
}

/// The fields that differ, with both values.
fn differing(a: &[(String, String)], b: &[(String, String)]) -> Vec<String> {
    let value = |key: &[(String, String)], name: &str| {
        key.iter().find(|(known, _)| known == name).map_or("not stated".to_owned(), |(_, v)| v.clone())
    };
    let names: BTreeSet<&String> = a.iter().chain(b).map(|(name, _)| name).collect();
    let both = names.into_iter().map(|name| (name, value(a, name), value(b, name)));
    both.filter(|(_, a, b)| a != b).map(|(name, a, b)| format!("{name} ({a}, {b})")).collect()
}

/// More hops or facts than this no machine has: they are compared with each other.
const MOST: usize = 4000;

/// Facts of the machine and of the hops of its paths.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Inventory {
    machine: Vec<(String, String)>,
    hops: Vec<Hop>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Hop {
    id: String,
    kind: String,
    facts: Vec<(String, String)>,
}

impl Inventory {
    /// Takes what a result says of its machine (`machine`) and its paths (`paths[].hops[]`).
    pub(super) fn of(result: &Value) -> Self {
        let fields = result.get("machine").and_then(Value::as_object).into_iter().flatten();
        let machine = fields
            .filter(|(name, _)| *name != "reason")
            .filter_map(|(name, value)| Some((name.clone(), scalar(value)?)));
        let hops = foreign::list(result, "paths").flat_map(|path| foreign::list(path, "hops")).take(MOST);
        // Paths share hops.
        let mut known = HashSet::new();
        let hops = hops.map(hop).filter(|hop| hop.id.is_empty() || known.insert(hop.id.clone()));
        Self { machine: machine.take(MOST).collect(), hops: hops.collect() }
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

fn hop(value: &Value) -> Hop {
    let text = |name: &str| value.get(name).and_then(scalar);
    let mut facts: Vec<(String, String)> =
        text("name").into_iter().map(|name| ("name".to_owned(), name)).collect();
    for direction in ["read", "write"] {
        let Some(ceiling) = value.get("ceiling").and_then(|ceiling| ceiling.get(direction)) else { continue };
        if let Some(rate) = ceiling.get("bytes_per_second").and_then(Value::as_f64) {
            facts.push((format!("{direction} ceiling"), BytesPerSec::new(rate).to_string()));
        }
        for fact in foreign::list(ceiling, "facts") {
            let of = |name: &str| fact.get(name).and_then(scalar);
            if let (Some(name), Some(value)) = (of("fact"), of("value"))
                && !facts.iter().any(|(known, _)| *known == name)
            {
                facts.push((name, value));
            }
        }
    }
    Hop { id: text("id").unwrap_or_default(), kind: text("kind").unwrap_or_default(), facts }
}

/// What two results were measured on, as far as it differs.
///
/// What is not the same in both. Hops are matched by their id, and what is left by its kind, in order.
pub(super) fn changes(a: &Inventory, b: &Inventory) -> Vec<Change> {
    let mut found = Vec::new();
    diff("machine", &a.machine, &b.machine, &mut found);
    let mut left: Vec<&Hop> = b.hops.iter().collect();
    let ids: BTreeSet<&str> = a.hops.iter().map(|hop| hop.id.as_str()).collect();
    let is_in_a = |hop: &Hop| ids.contains(hop.id.as_str());
    for hop in &a.hops {
        let same = left.iter().position(|other| other.id == hop.id);
        let alike = || left.iter().position(|other| other.kind == hop.kind && !is_in_a(other));
        match same.or_else(alike).map(|index| left.remove(index)) {
            Some(other) if other.id == hop.id => diff(&hop.id, &hop.facts, &other.facts, &mut found),
            Some(other) => diff(&format!("{} → {}", hop.id, other.id), &hop.facts, &other.facts, &mut found),
            None => found.push(change("hop", Some(&hop.id), None)),
        }
    }
    found.extend(left.iter().map(|hop| change("hop", None, Some(&hop.id))));
    found
}

fn diff(of: &str, a: &[(String, String)], b: &[(String, String)], found: &mut Vec<Change>) {
    let value = |facts: &[(String, String)], name: &str| {
        facts.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    };
    for (name, before) in a {
        let after = value(b, name);
        if after.as_ref() != Some(before) {
            found.push(change(&format!("{of}: {name}"), Some(before), after.as_deref()));
        }
    }
    for (name, after) in b.iter().filter(|(name, _)| value(a, name).is_none()) {
        found.push(change(&format!("{of}: {name}"), None, Some(after)));
    }
}

fn change(what: &str, a: Option<&str>, b: Option<&str>) -> Change {
    let reason = match (a, b) {
        (None, _) => Some("A does not state it".to_owned()),
        (_, None) => Some("B does not state it".to_owned()),
        _ => None,
    };
    Change { what: what.to_owned(), a: a.map(str::to_owned), b: b.map(str::to_owned), reason }
}
