//! The table for a person and `summary.json` for a program.

use std::fmt::Write;
use std::path::Path;

use serde_json::json;

use crate::files;
use crate::score::Score;

/// The share of scored cases that must be right.
const GOOD: f64 = 0.95;

/// How many of the scored cases are right, and how many there are.
fn count(scores: &[Score]) -> (usize, usize) {
    let scored = scores.iter().filter(|score| score.scored);
    scored.fold((0, 0), |(right, all), score| (right + usize::from(score.is_right()), all + 1))
}

fn false_alarms(scores: &[Score]) -> usize {
    scores.iter().filter(|score| score.scored && score.false_alarm).count()
}

fn share(right: usize, all: usize) -> f64 {
    if all == 0 { 0.0 } else { right as f64 / all as f64 }
}

/// Whether enough cases are right, no healthy machine was blamed, and what holds of every capture holds.
pub(crate) fn is_good_enough(scores: &[Score]) -> bool {
    let (right, all) = count(scores);
    share(right, all) >= GOOD
        && false_alarms(scores) == 0
        && scores.iter().all(|score| score.broken.is_empty())
}

/// Every miss, and the count.
pub(crate) fn table(scores: &[Score]) -> String {
    let mut out = String::new();
    for score in scores.iter().filter(|score| !score.is_right()) {
        let weight = if score.scored { "" } else { " (low confidence, not scored)" };
        let _ = writeln!(out, "miss  {}{weight}", score.id);
        let _ = writeln!(out, "      expected {:<24} {}", score.expected, score.expected_hop);
        let _ = writeln!(out, "      got      {:<24} {}", score.verdict, score.hop);
        let _ = writeln!(out, "      said     {}", score.said);
    }
    for (score, broken) in scores.iter().flat_map(|score| score.broken.iter().map(move |one| (score, one))) {
        let _ = writeln!(out, "broken {}: {broken}", score.id);
    }
    let (right, all) = count(scores);
    let _ = writeln!(
        out,
        "{right} of {all} scored cases right ({:.1} %), {} false alarms",
        100.0 * share(right, all),
        false_alarms(scores)
    );
    out
}

/// Writes the summary.
pub(crate) fn write(path: &Path, cases: &Path, scores: &[Score]) -> Result<(), String> {
    let (right, all) = count(scores);
    let summary = json!({
        "cases": cases,
        "scored": all,
        "right": right,
        "share": share(right, all),
        "false_alarms": false_alarms(scores),
        "results": scores,
    });
    files::write(path, &summary)
}
