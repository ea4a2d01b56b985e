//! Makes runs of the tests of `narrows bench`, the points of `narrows sweep`, the rungs of `narrows ladder`, the cells of
//! `narrows lab` and the targets and groups of `narrows A B --measure`.

use serde_json::{Map, Value, json};

/// The runs in an object that lists tests (`results`), points (`points`), rungs (`ladders`), cells (`cells`) or groups
/// (`groups`), in the form of those of `narrows check`: one for each direction of a test, one for each point. With each what
/// it is of, where that is not the whole report.
pub(super) fn runs(object: &Map<String, Value>) -> impl Iterator<Item = (Option<String>, Value)> {
    let parts = of_ladders(object).into_iter().chain(of_cells(object)).chain(of_groups(object));
    whole(object).map(|run| (None, run)).chain(parts)
}

fn list<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> {
    value.get(name).and_then(Value::as_array).into_iter().flatten()
}

fn word(value: &Value, name: &str) -> Option<String> {
    value.get(name)?.as_str().map(str::to_owned)
}

fn of_ladders(object: &Map<String, Value>) -> Vec<(Option<String>, Value)> {
    let mut found = Vec::new();
    for ladder in object.get("ladders").and_then(Value::as_array).into_iter().flatten() {
        for rung in list(ladder, "rungs") {
            let run = ladder.get("load").and_then(|load| part(load, rung.get("measurement")?, rung));
            found.extend(run.map(|run| (word(rung, "id").or(word(rung, "name")), run)));
        }
    }
    found
}

fn of_cells(object: &Map<String, Value>) -> Vec<(Option<String>, Value)> {
    let mut found = Vec::new();
    for cell in object.get("cells").and_then(Value::as_array).into_iter().flatten() {
        for test in list(cell, "measured") {
            let run = test.get("load").and_then(|load| part(load, test.get("measurement")?, test));
            found.extend(run.map(|run| (word(cell, "name"), run)));
        }
    }
    found
}

fn of_groups(object: &Map<String, Value>) -> Vec<(Option<String>, Value)> {
    let Some(load) = object.get("workload") else { return Vec::new() };
    let each = |name: &str| object.get(name).and_then(Value::as_array).into_iter().flatten();
    let alone =
        each("targets").filter_map(|one| Some((word(one, "target"), part(load, one.get("alone")?, one)?)));
    let together = each("groups").filter_map(|group| {
        let names: Vec<&str> = list(group, "targets").filter_map(Value::as_str).collect();
        Some((Some(format!("together: {}", names.join(" "))), part(load, group.get("together")?, group)?))
    });
    alone.chain(together).collect()
}

/// A run of a measurement, of which `beside` says whether it is to be trusted.
fn part(load: &Value, measurement: &Value, beside: &Value) -> Option<Value> {
    let mut measurement = measurement.as_object()?.clone();
    measurement.get("bytes_per_second")?;
    measurement.insert("workload".to_owned(), Value::Object(load.as_object()?.clone()));
    let writes = load.get("write_percent").and_then(Value::as_f64);
    let direction = match writes {
        Some(percent) if percent > 0.0 && percent < 100.0 => None,
        Some(100.0..) => Some("write"),
        _ => Some("read"),
    };
    Some(json!({ "direction": direction, "trusted": beside.get("trusted"), "measurement": measurement }))
}

fn whole(object: &Map<String, Value>) -> impl Iterator<Item = Value> {
    let list = move |name: &str| object.get(name).and_then(Value::as_array).into_iter().flatten();
    let size = object.get("target").and_then(|target| target.get("size_bytes"));
    let sides = list("results").flat_map(move |test| {
        ["read", "write"].into_iter().filter_map(move |direction| side(test, direction, size))
    });
    sides.chain(list("points").filter_map(move |point| run(point, point, None, size)))
}

fn side(test: &Value, direction: &str, size: Option<&Value>) -> Option<Value> {
    run(test, test.get(direction)?, Some(direction), size)
}

/// A run with the figures of `figures`; the rest is said of the whole test.
fn run(test: &Value, figures: &Value, direction: Option<&str>, size: Option<&Value>) -> Option<Value> {
    let load = test.get("load")?.as_object()?;
    figures.get("bytes_per_second")?;
    let of = |value: &Value, name: &str| value.get(name).cloned().unwrap_or_default();
    // The series of a mixed test is that of both directions.
    let is_mixed = ["read", "write"].iter().all(|side| test.get(side).is_some_and(|side| !side.is_null()));
    Some(json!({
        "name": match (test.get("name").and_then(Value::as_str), direction) {
            (Some(name), Some(direction)) if is_mixed => json!(format!("{name}, {direction}")),
            _ => of(test, "name"),
        },
        "direction": direction,
        "trusted": of(test, "trusted"),
        "measurement": {
            "workload": load,
            "bytes_per_second": of(figures, "bytes_per_second"),
            "ci95": of(figures, "ci95"),
            "latency_ns": of(figures, "latency_ns"),
            "series": if is_mixed { Value::Null } else { of(test, "series") },
            "errors": of(test, "errors"),
            "cut_short": of(test, "cut_short"),
            "generator": test.get("checks").map(|checks| of(checks, "generator")),
            "region_bytes": size,
        }
    }))
}
