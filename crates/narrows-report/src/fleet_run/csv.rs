//! One row for each host and run, for a spreadsheet.

use super::FleetRunReport;
use super::rows::{COLUMNS, Value, rows};
use crate::csv::put_row;

/// The whole as text.
pub fn render(report: &FleetRunReport) -> String {
    let mut out = COLUMNS.map(|(name, _)| name).join(",") + "\n";
    for row in rows(report) {
        let cells = row.map(|value| match value {
            None => String::new(),
            Some(Value::Text(text)) => text,
            Some(Value::Whole(number)) => number.to_string(),
            Some(Value::Share(share)) => format!("{share:.4}"),
            Some(Value::Truth(truth)) => truth.to_string(),
        });
        put_row(&mut out, &cells);
    }
    out
}
