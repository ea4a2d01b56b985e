//! `lsblk -J`: strings and numbers in quotes before util-linux 2.33, numbers and booleans since.

use serde_json::Value;

use super::row::Row;
use crate::capture::{Text, json};

/// The devices of every `blockdevices` document, those above before those below.
pub(super) fn rows(text: &Text) -> Vec<Row> {
    let mut rows = Vec::new();
    for (line, document) in json::documents(text) {
        if let Some(Value::Array(devices)) = document.get("blockdevices") {
            add(&mut rows, line, devices, None);
        }
    }
    rows
}

fn add(rows: &mut Vec<Row>, line: usize, devices: &[Value], parent: Option<&str>) {
    for device in devices {
        let Value::Object(members) = device else { continue };
        let mut row = Row { line, parent: parent.map(str::to_owned), ..Row::default() };
        for (column, value) in members {
            if let Some(value) = cell(value) {
                row.set(column, value);
            }
        }
        if parent.is_none() {
            row.parent = row.get("PKNAME").map(str::to_owned);
        }
        let Some(key) = row.key() else { continue };
        rows.push(row);
        if let Some(Value::Array(children)) = members.get("children") {
            add(rows, line, children, Some(&key));
        }
    }
}

/// Several mount points are an array; `[null]` when there are none.
fn cell(value: &Value) -> Option<String> {
    match value {
        Value::Array(values) => {
            let lines: Vec<String> = values.iter().filter_map(json::plain).collect();
            (!lines.is_empty()).then(|| lines.join("\n"))
        }
        other => json::plain(other).filter(|text| !text.is_empty()),
    }
}
