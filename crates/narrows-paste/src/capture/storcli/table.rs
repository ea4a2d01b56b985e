//! Lists between lines of dashes, whose columns are words of one line: `EID:Slt DID State DG Size Intf Med SED PI SeSz Model Sp`.

use std::collections::BTreeMap;

/// A list that is being read.
#[derive(Debug, Default)]
pub(super) struct Table {
    columns: Vec<String>,
    /// Whether rows have begun, so that the next line of dashes ends it.
    begun: bool,
}

impl Table {
    /// The cells of a row by their column; `None` of a line that is none.
    pub(super) fn row<'t>(&mut self, line: &'t str) -> Option<BTreeMap<&str, &'t str>> {
        let line = line.trim_end();
        let is_heading = |words: &str| words.contains("EID:Slt") || words.contains("DG/VD");
        if is_heading(line) && line.contains("State") {
            self.columns = line.split_whitespace().map(str::to_owned).collect();
            self.begun = false;
            return None;
        }
        if self.columns.is_empty() {
            return None;
        }
        if !line.is_empty() && line.trim().bytes().all(|byte| byte == b'-') {
            if self.begun {
                self.columns.clear();
            }
            return None;
        }
        if line.contains(" = ") {
            self.columns.clear();
            return None;
        }
        let row = cells(&self.columns, line);
        self.begun |= row.is_some();
        row
    }
}

/// A row has at least so many cells.
const LEAST: usize = 3;

/// Each column has one word; a size has a number and a unit, and a model or name all that the columns behind it leave.
fn cells<'c, 't>(columns: &'c [String], line: &'t str) -> Option<BTreeMap<&'c str, &'t str>> {
    let words = word_places(line);
    let mut at = 0;
    let mut cells = BTreeMap::new();
    for (index, column) in columns.iter().enumerate() {
        let behind = columns.len() - index - 1;
        let count = match column.as_str() {
            "Size" => 2,
            // The last columns may be missing in old versions and empty in new ones.
            "Model" | "Name" => words.len().saturating_sub(at + behind).max(usize::from(column == "Model")),
            _ => 1,
        };
        let (Some(first), Some(last)) = (words.get(at), words.get((at + count).checked_sub(1)?)) else {
            // A row may be cut off, but not before its state and size.
            if index < LEAST {
                return None;
            }
            break;
        };
        if count > 0 {
            cells.insert(column.as_str(), line.get(first.0..last.1)?);
        }
        at += count;
    }
    let is_row = cells.get("EID:Slt").or(cells.get("DG/VD")).is_some_and(|first| {
        first.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'/' | b'-'))
    });
    is_row.then_some(cells)
}

/// Where the words of a line begin and end.
fn word_places(line: &str) -> Vec<(usize, usize)> {
    let mut places = Vec::new();
    let mut begin = None;
    for (at, letter) in line.char_indices() {
        match (letter.is_whitespace(), begin) {
            (false, None) => begin = Some(at),
            (true, Some(first)) => {
                places.push((first, at));
                begin = None;
            }
            _ => {}
        }
    }
    places.extend(begin.map(|first| (first, line.len())));
    places
}
