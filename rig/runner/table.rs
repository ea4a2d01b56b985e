//! Shows results: a table for people, `summary.json` for programs.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "the rig's results are for standard output and a file"
)]

use std::fs;
use std::path::Path;
use std::time::Duration;

use narrows::units::BytesPerSec;
use serde::Serialize;

use super::confusion::{Answer, Confusion};
use super::error::{Result, RigError};
use super::figure::Reading;

/// The result of one scenario.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    /// Its name.
    pub(crate) scenario: String,
    /// The limit that was injected.
    pub(crate) injected: String,
    /// The hop that narrows named.
    pub(crate) named: Option<String>,
    /// The rate that was injected.
    pub(crate) injected_bytes_per_second: Option<f64>,
    /// The rate that was measured.
    pub(crate) measured_bytes_per_second: Option<f64>,
    /// Whether all expectations held.
    pub(crate) pass: bool,
    /// Which attempt this was, from 1.
    pub(crate) attempt: u32,
    /// Numbers beside those of other tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) figures: Vec<Reading>,
    /// What each check expected to be the limiting hop, and which was named.
    #[serde(skip)]
    pub(crate) answers: Vec<Answer>,
    /// How long the machine ran.
    #[serde(skip)]
    pub(crate) elapsed: Duration,
    /// What did not hold.
    #[serde(skip)]
    pub(crate) complaints: Vec<String>,
    /// What helps to find out why.
    #[serde(skip)]
    pub(crate) log: String,
}

/// Prints the head of the table.
pub(crate) fn head() {
    println!(
        "{:<20} {:<34} {:<24} {:>12} {:>12} {:>7} {:>5}  result",
        "scenario", "injected", "named", "injected", "measured", "error", "time"
    );
}

impl Row {
    fn result(&self) -> String {
        let result = if self.pass { "pass" } else { "FAIL" };
        if self.attempt > 1 { format!("{result}, attempt {}", self.attempt) } else { result.to_owned() }
    }

    /// Prints the row, and for a failure what did not hold.
    pub(crate) fn print(&self) {
        let rate =
            |rate: Option<f64>| rate.map_or_else(|| "–".to_owned(), |r| BytesPerSec::new(r).to_string());
        let error = match (self.injected_bytes_per_second, self.measured_bytes_per_second) {
            (Some(injected), Some(measured)) => format!("{:+.1} %", (measured / injected - 1.0) * 100.0),
            _ => "–".to_owned(),
        };
        println!(
            "{:<20} {:<34} {:<24} {:>12} {:>12} {:>7} {:>3} s  {}",
            self.scenario,
            self.injected,
            self.named.as_deref().unwrap_or("–"),
            rate(self.injected_bytes_per_second),
            rate(self.measured_bytes_per_second),
            error,
            self.elapsed.as_secs(),
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

/// Prints the guests' logs of failures, how often the right hop was named, and the last line; writes `summary.json` and
/// `confusion.json`.
pub(crate) fn finish(rows: &[Row], target: &Path) -> Result<()> {
    for row in rows.iter().filter(|row| !row.pass) {
        println!("\n──── {} ────\n{}", row.scenario, row.log.trim_end());
    }
    let path = target.join("summary.json");
    let text = serde_json::to_string_pretty(rows).unwrap_or_default();
    fs::write(&path, text + "\n").map_err(RigError::file(&path))?;
    let answers =
        rows.iter().flat_map(|row| row.answers.iter().map(|answer| (row.scenario.as_str(), answer)));
    Confusion::count(answers).finish(target)?;
    let passed = rows.iter().filter(|row| row.pass).count();
    let again = rows.iter().filter(|row| row.pass && row.attempt > 1).count();
    let note = if again > 0 { format!(" ({again} not at the first attempt)") } else { String::new() };
    println!("\n{passed} passed{note}, {} failed", rows.len() - passed);
    // Once more, and last: of a long run often only the end is kept.
    for row in rows.iter().filter(|row| !row.pass) {
        println!("failed: {}: {}", row.scenario, beginning(&row.complaints.join("; "), 400));
    }
    Ok(())
}

/// A text on one line, of at most so many characters.
pub(crate) fn beginning(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= most { line } else { line.chars().take(most).chain(['…']).collect() }
}
