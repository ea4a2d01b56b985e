//! What two results were measured on, as far as it differs.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Change;

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
        let paths = result.get("paths").and_then(Value::as_array).into_iter().flatten();
        let hops = paths.filter_map(|path| path.get("hops")?.as_array()).flatten().take(MOST).map(hop);
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
            facts.push((
                format!("{direction} ceiling"),
                narrows_base::units::BytesPerSec::new(rate).to_string(),
            ));
        }
        for fact in ceiling.get("facts").and_then(Value::as_array).into_iter().flatten() {
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
