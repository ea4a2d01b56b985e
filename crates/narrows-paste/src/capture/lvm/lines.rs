//! The tables of `pvs` and `lvs`.

use super::Row;
use crate::capture::Text;
use crate::capture::table::{Head, words};

/// Heads of columns that are read, and what JSON calls them.
const FIELDS: &[(&str, &str)] = &[
    ("LV", "lv_name"),
    ("VG", "vg_name"),
    ("PV", "pv_name"),
    ("LSize", "lv_size"),
    ("Attr", "lv_attr"),
    ("Devices", "devices"),
    ("#Str", "stripes"),
    ("Stripe", "stripe_size"),
    ("Type", "segtype"),
];

/// Every row of every table.
pub(super) fn rows(text: &Text) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut table: Option<(Vec<&str>, Head)> = None;
    for (number, line) in text.lines() {
        let words = words(line);
        let names: Vec<&str> = words.iter().map(|word| word.text).collect();
        if is_head(&names) {
            table = Some((names, Head::new(&words)));
            continue;
        }
        let Some((names, head)) = table.as_ref().filter(|_| !words.is_empty()) else {
            table = None;
            continue;
        };
        let cells = head.cells(&words);
        let found = names.iter().zip(cells).filter_map(|(name, cell)| {
            let (_, field) = FIELDS.iter().find(|(known, _)| known == name)?;
            Some((*field, cell))
        });
        let row = Row { line: number, cells: found.collect() };
        if is_row(&row) { rows.push(row) } else { table = None }
    }
    rows
}

/// Heads name the volume and at least one thing that only LVM says.
fn is_head(names: &[&str]) -> bool {
    let has = |name: &str| names.contains(&name);
    (has("LV") && has("VG") && (has("LSize") || has("Attr") || has("Devices")))
        || (has("PV") && has("VG") && (has("PSize") || has("Attr") || has("Fmt")))
}

/// A prompt or message below a table is no row: its words do not stand where a name and its attributes would.
fn is_row(row: &Row) -> bool {
    let one_word = |field: &str| row.get(field).is_none_or(|value| !value.contains(' '));
    let attributes = row.get("lv_attr").is_none_or(|attributes| {
        (3..=10).contains(&attributes.len())
            && attributes.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    });
    let is_device = row.get("pv_name").is_none_or(|name| name.starts_with("/dev/"));
    let name = row.get("lv_name").or_else(|| row.get("pv_name"));
    name.is_some() && attributes && is_device && ["lv_name", "vg_name", "pv_name"].into_iter().all(one_word)
}
