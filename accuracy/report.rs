//! The table for a person and `summary.json` for a program.

use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};

use crate::interval::{self, Figures, Part};
use crate::score::Score;

/// The share of rows that must be answered.
const ANSWERED: f64 = 0.60;

/// The median error that is good enough, and the error that nine of ten rows must stay below.
const ERRORS: (f64, f64) = (0.08, 0.30);

/// The most that half of the 80 % interval may be of the prediction: the median, and nine of ten.
const WIDTHS: (f64, f64) = (0.20, 0.60);

/// The shares of rows that intervals must hold, from and to: those of 80 %, and those of 95 %.
const HELD: [(f64, f64); 2] = [(0.72, 0.90), (0.90, 0.99)];

/// The most answered rows that may be off by more than a factor of two.
const MISLED: f64 = 0.02;

/// The share of rows whose hop must be right, of those that name one.
const HOPS: f64 = 0.90;

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The smallest value that at least `part` of all values do not exceed; 0 of none.
pub(crate) fn quantile(sorted: &[f64], part: f64) -> f64 {
    let rank = (part * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied().unwrap_or_default()
}

/// The rows that name a hop and are answered, and those of them of which it is right.
fn hops(scores: &[Score]) -> (usize, usize) {
    let named: Vec<bool> = scores.iter().filter_map(|score| score.hop_right).collect();
    (named.len(), named.iter().filter(|right| **right).count())
}

/// What is asked, each with whether it is met: of each row judged by other sources.
fn targets(scores: &[Score], it: &Figures) -> Vec<(&'static str, bool)> {
    let (named, right) = hops(scores);
    let within = |value: f64, (low, high): (f64, f64)| (low..=high).contains(&value);
    vec![
        ("answered", share(it.answered, it.rows) >= ANSWERED),
        ("median error", it.median <= ERRORS.0),
        ("90th percentile of errors", it.ninety <= ERRORS.1),
        ("80 % intervals hold", within(it.held_80, HELD[0])),
        ("95 % intervals hold", within(it.held_95, HELD[1])),
        ("median half-width", it.half_width <= WIDTHS.0),
        ("90th percentile of half-widths", it.half_width_ninety <= WIDTHS.1),
        ("off by more than twice", share(it.misled.len(), it.answered) <= MISLED),
        ("nothing above its bound", it.above_bound.is_empty()),
        ("limiting hop", named == 0 || share(right, named) >= HOPS),
    ]
}

/// Whether all targets are met.
pub(crate) fn is_good_enough(scores: &[Score]) -> bool {
    targets(scores, &interval::figures(scores, Part::All, true)).iter().all(|(_, met)| *met)
}

/// Each row, then those that are not known with the reason, then the figures.
pub(crate) fn table(scores: &[Score]) -> String {
    let refused = interval::refused(scores);
    let is_refused = |score: &Score| refused.iter().any(|(other, _)| other.id == score.id);
    let mut out = String::new();
    put_answered(&mut out, scores.iter().filter(|score| !is_refused(score)));
    let _ = writeln!(out, "\nnot known to predict:");
    for (score, because) in &refused {
        let _ = writeln!(out, "{:<6} {because}: {}", score.id, score.what);
    }
    let (named, right) = hops(scores);
    let _ = writeln!(out, "\nlimiting hop right in {right} of {named} answered rows that name one");
    let ways = [
        ("all rows", Part::All, false),
        ("all rows, crossed by source", Part::All, true),
        ("looked at, crossed", Part::Seen, true),
        ("kept back, crossed", Part::KeptBack, true),
    ];
    for (name, part, crossed) in ways {
        put_figures(&mut out, name, &interval::figures(scores, part, crossed));
    }
    let missed = targets(scores, &interval::figures(scores, Part::All, true));
    let missed: Vec<String> =
        missed.into_iter().filter(|(_, met)| !met).map(|(name, _)| name.to_owned()).collect();
    let _ = writeln!(out, "\ntargets missed, crossed by source: {}", named_or_none(&missed));
    out
}

fn put_answered<'s>(out: &mut String, scores: impl Iterator<Item = &'s Score>) {
    let _ = writeln!(
        out,
        "{:<6} {:>12} {:>12} {:<16} {:>8}  {:<14} what",
        "row", "measured", "predicted", "unit", "error", "limiting hop"
    );
    for score in scores {
        let mark = match score.hop_right {
            Some(true) => " ✓",
            Some(false) => " ✗",
            None => "",
        };
        let _ = writeln!(
            out,
            "{:<6} {:>12.4e} {:>12.4e} {:<16} {:>+7.1}%  {:<14} {}",
            score.id,
            score.measured,
            score.predicted,
            score.unit,
            100.0 * (score.predicted / score.measured - 1.0),
            format!("{}{mark}", score.hop.map_or_else(|| "-".to_owned(), |hop| hop.to_string())),
            score.what
        );
    }
}

fn put_figures(out: &mut String, name: &str, it: &Figures) {
    let _ = writeln!(
        out,
        "\n{name}: {} of {} answered ({:.1} %); absolute error: median {:.1} %, 90th percentile {:.1} %\n  \
         80 % intervals hold {:.1} %, 95 % ones {:.1} %; half-width of the first: median {:.1} %, 90th percentile {:.1} %\n  \
         interval score {:.3} (80 %), {:.3} (95 %); off by more than twice: {}; above their bound, of {} refused with one: {}",
        it.answered,
        it.rows,
        100.0 * share(it.answered, it.rows),
        100.0 * it.median,
        100.0 * it.ninety,
        100.0 * it.held_80,
        100.0 * it.held_95,
        100.0 * it.half_width,
        100.0 * it.half_width_ninety,
        it.score_80,
        it.score_95,
        named_or_none(&it.misled),
        it.bounded,
        named_or_none(&it.above_bound),
    );
}

fn named_or_none(rows: &[String]) -> String {
    if rows.is_empty() { "none".to_owned() } else { rows.join(", ") }
}

/// The summary.
pub(crate) fn summary(place: &Path, scores: &[Score]) -> Value {
    let crossed = interval::figures(scores, Part::All, true);
    let (named, right) = hops(scores);
    let met = targets(scores, &crossed);
    let met: serde_json::Map<String, Value> =
        met.into_iter().map(|(name, met)| (name.to_owned(), Value::Bool(met))).collect();
    json!({
        "directory": place,
        "hops_named": named,
        "hops_right": right,
        "good_enough": is_good_enough(scores),
        "targets_met": met,
        "intervals": interval::figures(scores, Part::All, false),
        "intervals_crossed_by_source": crossed,
        "results": scores,
    })
}
