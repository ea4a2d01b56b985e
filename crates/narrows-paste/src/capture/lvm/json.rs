//! `--reportformat json`: `{"report": [{"lv": [{"lv_name": "root", …}]}]}`.

use serde_json::Value;

use super::Row;
use crate::capture::Text;
use crate::capture::json::{documents, text_of};

/// The fields that are read.
const FIELDS: &[&str] =
    &["lv_name", "vg_name", "pv_name", "lv_size", "lv_attr", "devices", "stripes", "stripe_size", "segtype"];

/// Every row of every report.
pub(super) fn rows(text: &Text) -> Vec<Row> {
    let mut rows = Vec::new();
    for (line, document) in documents(text) {
        let reports = document.get("report").and_then(Value::as_array);
        let members =
            reports.into_iter().flatten().filter_map(Value::as_object).flat_map(|report| report.iter());
        let lists = members.filter(|(kind, _)| matches!(kind.as_str(), "lv" | "pv" | "seg" | "pvseg"));
        for value in lists.filter_map(|(_, list)| list.as_array()).flatten() {
            let cells = FIELDS.iter().filter_map(|field| Some((*field, text_of(value, field)?)));
            rows.push(Row { line, cells: cells.collect() });
        }
    }
    rows
}
