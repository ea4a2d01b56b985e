//! Comma-separated values (RFC 4180, with line feeds alone) that a spreadsheet shows and never computes.

use super::row::{COLUMNS, Row};

/// What makes a spreadsheet take a cell for a formula when it begins so, in ASCII and in the full width of East Asian
/// text (OWASP, "CSV Injection"). Tabs and line ends, of which the same is true, are escapes by then.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];

/// The first line: the names of the columns.
pub fn head() -> String {
    COLUMNS.join(",") + "\n"
}

/// A row as a line.
pub fn line(row: &Row) -> String {
    let mut line = String::new();
    for (number, value) in row.values.iter().enumerate() {
        if number > 0 {
            line.push(',');
        }
        put_cell(&mut line, value.as_deref().unwrap_or_default());
    }
    line.push('\n');
    line
}

/// A cell that would be a formula begins with an apostrophe, which spreadsheets take for "this is text".
pub(crate) fn put_cell(line: &mut String, value: &str) {
    let is_formula = value.trim_start().starts_with(FORMULA) || value.starts_with(['\t', '\r', '\n']);
    let guard = if is_formula { "'" } else { "" };
    if value.contains(['"', ',', '\n', '\r']) {
        line.push_str(&format!("\"{guard}{}\"", value.replace('"', "\"\"")));
    } else {
        line.push_str(guard);
        line.push_str(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cell(value: &str) -> String {
        let mut line = String::new();
        put_cell(&mut line, value);
        line
    }

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
    fn a_formula_in_a_model_name_is_text() {
        assert_eq!(cell("=HYPERLINK(\"http://x\")"), "\"'=HYPERLINK(\"\"http://x\"\")\"");
        for start in ["=1", "+1", "-1", "@SUM(A1)", " =1", "＝1", "\t=1"] {
            assert!(cell(start).starts_with('\''), "{start}");
        }
        for plain in ["x16", "8 GT/s", "0000:3b:00.0", "a=1", "<script>"] {
            assert_eq!(cell(plain), plain);
        }
    }

    #[test]
    fn the_head_names_every_column_once() {
        assert_eq!(head().trim_end().split(',').count(), COLUMNS.len());
        let unique: std::collections::BTreeSet<&str> = COLUMNS.into_iter().collect();
        assert_eq!(unique.len(), COLUMNS.len());
    }

    proptest! {
        #[test]
        fn every_row_reads_back_and_no_cell_is_a_formula(texts in prop::collection::vec(any::<Option<String>>(), COLUMNS.len())) {
            let mut row = Row::default();
            row.values.clone_from_slice(&texts);
            let text = line(&row);
            let cells = parse(text.strip_suffix('\n').expect("ends its line"));
            prop_assert_eq!(cells.len(), COLUMNS.len());
            for (cell, value) in cells.iter().zip(&texts) {
                let value = value.as_deref().unwrap_or_default();
                prop_assert!(cell == value || *cell == format!("'{value}"), "{cell} {value}");
                prop_assert!(!cell.starts_with(FORMULA) && !cell.starts_with(['\t', '\r', '\n']));
            }
        }
    }
}
