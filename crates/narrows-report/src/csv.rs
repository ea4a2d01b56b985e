//! A cell of comma-separated values (RFC 4180) that a spreadsheet shows and never computes.

use crate::sanitize::inert;

/// What makes a spreadsheet take a cell for a formula when it begins so, in ASCII and in the full width of East Asian
/// text (OWASP, "CSV Injection"). Tabs and line ends, of which the same is true, become escapes.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];

/// A cell, made inert. One that would be a formula begins with an apostrophe, which spreadsheets take for "this is text".
pub fn cell(value: &str) -> String {
    let value = inert(value);
    let guard = if value.trim_start().starts_with(FORMULA) { "'" } else { "" };
    match value.contains(['"', ',']) {
        true => format!("\"{guard}{}\"", value.replace('"', "\"\"")),
        false => format!("{guard}{value}"),
    }
}

/// As [`cell`]; a number, which may begin as a formula does, stays one.
fn number_or_cell(value: &str) -> String {
    if value.parse::<f64>().is_ok() { value.to_owned() } else { cell(value) }
}

/// The name of a column, and what it says of a row.
pub type Column<T> = (&'static str, fn(&T) -> String);

/// The line of names.
pub fn head<T>(columns: &[Column<T>]) -> String {
    line(columns.iter().map(|(name, _)| (*name).to_owned()))
}

/// Adds the line of a row, each cell as `number_or_cell` has it.
pub fn put<T>(out: &mut String, columns: &[Column<T>], row: &T) {
    out.push_str(&line(columns.iter().map(|(_, of)| number_or_cell(&of(row)))));
}

/// A line of cells.
pub fn line(cells: impl Iterator<Item = String>) -> String {
    cells.collect::<Vec<_>>().join(",") + "\n"
}

/// A value that is not known is an empty cell.
pub fn shown(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_formula_in_a_model_name_is_text() {
        assert_eq!(cell("=HYPERLINK(\"http://x\")"), "\"'=HYPERLINK(\"\"http://x\"\")\"");
        for start in ["=1", "+1", "-1", "@SUM(A1)", " =1", "＝1"] {
            assert!(cell(start).starts_with('\''), "{start}");
        }
        for plain in ["x16", "8 GT/s", "0000:3b:00.0", "a=1", "<script>"] {
            assert_eq!(cell(plain), plain);
        }
    }

    #[test]
    fn a_number_stays_a_number() {
        assert_eq!(["-5", "=1+1"].map(number_or_cell), ["-5", "'=1+1"]);
    }

    #[test]
    fn an_end_of_line_in_a_name_begins_no_other() {
        assert_eq!(cell("a\n=1"), "a\\n=1");
        assert_eq!(cell("\t=1\x1b[2J"), "\\t=1\\x1b[2J");
    }

    proptest! {
        #[test]
        fn no_cell_is_a_formula_or_a_second_line(text: String) {
            let cell = cell(&text);
            let shown = cell.strip_prefix('"').unwrap_or(&cell);
            prop_assert!(!shown.starts_with(FORMULA) && !cell.contains(['\n', '\r', '\t']));
        }
    }
}
