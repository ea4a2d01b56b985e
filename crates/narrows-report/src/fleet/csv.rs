//! Comma-separated values (RFC 4180, with line feeds alone) that a spreadsheet shows and never computes.

use super::row::{COLUMNS, Row};
use crate::csv::{self, cell};

/// The first line: the names of the columns.
pub fn head() -> String {
    COLUMNS.join(",") + "\n"
}

/// A row as a line.
pub fn line(row: &Row) -> String {
    csv::line(row.values.iter().map(|value| cell(value.as_deref().unwrap_or_default())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sanitize::one_line;
    use proptest::prelude::*;

    /// Reads one line of RFC 4180 back, by a machine of its own.
    fn parse(line: &str) -> Vec<String> {
        let mut cells = vec![String::new()];
        let mut is_quoted = false;
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            let cell = cells.last_mut().expect("there is a cell");
            match c {
                '"' if is_quoted && chars.peek() == Some(&'"') => {
                    chars.next();
                    cell.push('"');
                }
                '"' => is_quoted = !is_quoted,
                ',' if !is_quoted => cells.push(String::new()),
                c => cell.push(c),
            }
        }
        cells
    }

    #[test]
    fn the_head_names_every_column_once() {
        assert_eq!(head().trim_end().split(',').count(), COLUMNS.len());
        let unique: std::collections::BTreeSet<&str> = COLUMNS.into_iter().collect();
        assert_eq!(unique.len(), COLUMNS.len());
    }

    proptest! {
        #[test]
        fn every_row_reads_back_in_its_inert_form(texts in prop::collection::vec(any::<Option<String>>(), COLUMNS.len())) {
            let mut row = Row::default();
            row.values.clone_from_slice(&texts);
            let text = line(&row);
            let cells = parse(text.strip_suffix('\n').expect("ends its line"));
            prop_assert_eq!(cells.len(), COLUMNS.len());
            for (cell, value) in cells.iter().zip(&texts) {
                let value = one_line(value.as_deref().unwrap_or_default());
                prop_assert!(*cell == value || *cell == format!("'{value}"), "{cell} {value}");
            }
        }
    }
}
