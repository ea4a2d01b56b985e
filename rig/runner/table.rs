//! Shows results: a table for people, `summary.json` for programs.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "the rig's results are for standard output and a file"
)]

use std::fs;
use std::path::Path;

use narrows::units::BytesPerSec;

use super::confusion::Confusion;
use super::error::{Result, RigError};
use super::row::Row;

/// Prints the head of the table.
pub(crate) fn head() {
    println!(
        "{:>7} {:>6}  {:<20} {:<34} {:<24} {:>12} {:>12} {:>7} {:>5}  result",
        "done", "left", "scenario", "injected", "named", "injected", "measured", "error", "time"
    );
}

impl Row {
    fn result(&self) -> String {
        match (&self.inconclusive, self.pass) {
            (Some(reason), _) => format!("inconclusive: {reason}"),
            (None, true) if self.attempt > 1 => "pass, the second time".to_owned(),
            (None, true) => "pass".to_owned(),
            (None, false) => "FAIL".to_owned(),
        }
    }

    /// Prints the row behind how far the run is, and for a failure what did not hold.
    pub(crate) fn print(&self, progress: &str) {
        let rate =
            |rate: Option<f64>| rate.map_or_else(|| "–".to_owned(), |r| BytesPerSec::new(r).to_string());
        let error = match (self.injected_bytes_per_second, self.measured_bytes_per_second) {
            (Some(injected), Some(measured)) => format!("{:+.1} %", (measured / injected - 1.0) * 100.0),
            _ => "–".to_owned(),
        };
        println!(
            "{progress}  {:<20} {:<34} {:<24} {:>12} {:>12} {:>7} {:>3.0} s  {}",
            self.scenario,
            self.injected,
            self.named.as_deref().unwrap_or("–"),
            rate(self.injected_bytes_per_second),
            rate(self.measured_bytes_per_second),
            error,
            self.seconds,
            self.result()
        );
        for figure in &self.figures {
            println!("    {}", figure.line());
        }
        for complaint in &self.complaints {
            println!("    {}", complaint.trim().replace('\n', "\n    "));
        }
    }
}

/// So many inconclusive scenarios do not fail a run.
const INCONCLUSIVE: usize = 2;

/// Prints the guests' logs of failures, how often the right hop was named, and the last line; writes `summary.json` and
/// `confusion.json`. Whether the run has passed.
pub(crate) fn finish(rows: &[Row], target: &Path) -> Result<bool> {
    for row in rows.iter().filter(|row| !row.log.is_empty()) {
        println!("\n──── {} ────\n{}", row.scenario, row.log.trim_end());
    }
    let path = target.join(SUMMARY);
    let text = serde_json::to_string_pretty(rows).unwrap_or_default();
    fs::write(&path, text + "\n").map_err(RigError::file(&path))?;
    let answers = rows
        .iter()
        .filter(|row| row.inconclusive.is_none())
        .flat_map(|row| row.answers.iter().map(|answer| (row.scenario.as_str(), answer)));
    Confusion::count(answers).finish(target)?;
    let passed = rows.iter().filter(|row| row.pass).count();
    let failed = rows.iter().filter(|row| row.is_failure()).count();
    let open = rows.len() - passed - failed;
    let note = if open > 0 { format!(", {open} inconclusive") } else { String::new() };
    println!("\n{passed} passed, {failed} failed{note}");
    // Once more, and last: of a long run often only the end is kept.
    for row in rows.iter().filter(|row| row.inconclusive.is_some()) {
        println!("inconclusive: {}: {}", row.scenario, row.inconclusive.as_deref().unwrap_or_default());
    }
    if open > INCONCLUSIVE {
        println!("failed: more than {INCONCLUSIVE} scenarios are inconclusive on this host");
    }
    for row in rows.iter().filter(|row| row.is_failure()) {
        let again = match row.passes_alone {
            Some(true) => " (run once more, alone, it passes)",
            Some(false) => " (run once more, alone, it fails as well)",
            None => "",
        };
        println!("failed: {}{again}: {}", row.scenario, beginning(&row.complaints.join("; "), 400));
    }
    Ok(failed == 0 && open <= INCONCLUSIVE)
}

/// The results of a run, for programs.
pub(crate) const SUMMARY: &str = "summary.json";

/// A text on one line, of at most so many characters.
pub(crate) fn beginning(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= most { line } else { line.chars().take(most).chain(['…']).collect() }
}
