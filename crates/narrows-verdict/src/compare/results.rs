//! Makes runs of the tests of `narrows bench` and of the points of `narrows sweep`.

use serde_json::{Map, Value, json};

/// The runs in an object that lists tests (`results`) or points (`points`), in the form of those of `narrows check`: one
/// for each direction of a test, one for each point.
pub(super) fn runs(object: &Map<String, Value>) -> Vec<Value> {
    let list = |name: &str| object.get(name).and_then(Value::as_array).into_iter().flatten();
    let size = object.get("target").and_then(|target| target.get("size_bytes"));
    let sides = list("results").flat_map(|test| {
        ["read", "write"].into_iter().filter_map(move |direction| side(test, direction, size))
    });
    sides.chain(list("points").filter_map(|point| run(point, point, None, size))).collect()
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
