//! The table for a person and `summary.json` for a program.

use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};

use crate::interval::{self, Part};
use crate::score::Score;

/// The median error that is good enough.
const MEDIAN: f64 = 0.10;

/// The error that nine of ten rows must stay below.
const NINETY: f64 = 0.25;

/// The share of rows whose hop must be right, of those that name one.
const HOPS: f64 = 0.90;

/// The share of rows that must be covered.
const COVERAGE: f64 = 0.60;

/// What counts.
struct Figures {
    rows: usize,
    covered: usize,
    median: f64,
    ninety: f64,
    hops: usize,
    hops_right: usize,
}

impl Figures {
    fn of(scores: &[Score]) -> Self {
        let mut errors: Vec<f64> = scores.iter().filter_map(|score| score.error).map(f64::abs).collect();
        errors.sort_by(f64::total_cmp);
        let hops: Vec<bool> = scores.iter().filter_map(|score| score.hop_right).collect();
        Self {
            rows: scores.len(),
            covered: errors.len(),
            median: quantile(&errors, 0.5),
            ninety: quantile(&errors, 0.9),
            hops: hops.len(),
            hops_right: hops.iter().filter(|right| **right).count(),
        }
    }

    fn coverage(&self) -> f64 {
        share(self.covered, self.rows)
    }

    fn hops_share(&self) -> f64 {
        share(self.hops_right, self.hops)
    }
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The smallest value that at least `part` of all values do not exceed; 0 of none.
pub(crate) fn quantile(sorted: &[f64], part: f64) -> f64 {
    let rank = (part * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied().unwrap_or_default()
}

/// Whether all four targets are met.
pub(crate) fn is_good_enough(scores: &[Score]) -> bool {
    let figures = Figures::of(scores);
    let hops = figures.hops == 0 || figures.hops_share() >= HOPS;
    figures.median <= MEDIAN && figures.ninety <= NINETY && figures.coverage() >= COVERAGE && hops
}

/// Each row, then those that are not covered with the reason, then the figures.
pub(crate) fn table(scores: &[Score]) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{:<6} {:>12} {:>12} {:<7} {:>8}  {:<14} what",
        "row", "measured", "predicted", "unit", "error", "limiting hop"
    );
    for score in scores {
        let (Some(predicted), Some(error), Some(hop)) = (score.predicted, score.error, score.hop) else {
            continue;
        };
        let mark = match score.hop_right {
            Some(true) => " ✓",
            Some(false) => " ✗",
            None => "",
        };
        let _ = writeln!(
            out,
            "{:<6} {:>12} {:>12} {:<7} {:>+7.1}%  {:<14} {}",
            score.id,
            short(score.measured),
            short(predicted),
            score.unit,
            100.0 * error,
            format!("{hop}{mark}"),
            score.what
        );
    }
    let _ = writeln!(out, "\nnot covered:");
    for score in scores.iter().filter(|score| score.predicted.is_none()) {
        let _ = writeln!(out, "{:<6} {}: {}", score.id, score.said, score.what);
    }
    let figures = Figures::of(scores);
    let _ = writeln!(
        out,
        "\n{} of {} rows covered ({:.1} %); absolute error: median {:.1} %, 90th percentile {:.1} %; \
         limiting hop right in {} of {} rows that name one ({:.1} %)",
        figures.covered,
        figures.rows,
        100.0 * figures.coverage(),
        100.0 * figures.median,
        100.0 * figures.ninety,
        figures.hops_right,
        figures.hops,
        100.0 * figures.hops_share(),
    );
    let _ = writeln!(out, "\nnot known to predict:");
    for (score, because) in interval::refused(scores) {
        let _ = writeln!(out, "{:<6} {because}: {}", score.id, score.what);
    }
    let ways = [
        ("all rows", Part::All, false),
        ("all rows, crossed by source", Part::All, true),
        ("looked at, crossed", Part::Seen, true),
        ("kept back, crossed", Part::KeptBack, true),
    ];
    for (name, part, crossed) in ways {
        put_figures(&mut out, name, &interval::figures(scores, part, crossed));
    }
    out
}

fn put_figures(out: &mut String, name: &str, it: &interval::Figures) {
    let _ = writeln!(
        out,
        "\n{name}: {} of {} in scope answered ({:.1} %); absolute error: median {:.1} %, 90th percentile {:.1} %\n  \
         80 % intervals hold {:.1} %, 95 % ones {:.1} %; half-width of the first: median {:.1} %, 90th percentile {:.1} %\n  \
         interval score {:.3} (80 %), {:.3} (95 %); off by more than twice: {}; above their bound, of {} refused with one: {}",
        it.answered,
        it.in_scope,
        100.0 * share(it.answered, it.in_scope),
        100.0 * it.median,
        100.0 * it.ninety,
        100.0 * it.held_80,
        100.0 * it.held_95,
        100.0 * it.half_width,
        100.0 * it.half_width_ninety,
        it.score_80,
        it.score_95,
        named(&it.misled),
        it.bounded,
        named(&it.above_bound),
    );
}

fn named(rows: &[String]) -> String {
    if rows.is_empty() { "none".to_owned() } else { rows.join(", ") }
}

fn short(value: f64) -> String {
    if value.abs() >= 1000.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

/// The summary.
pub(crate) fn summary(table: &Path, scores: &[Score]) -> Value {
    let figures = Figures::of(scores);
    json!({
        "table": table,
        "rows": figures.rows,
        "covered": figures.covered,
        "coverage": figures.coverage(),
        "median_absolute_error": figures.median,
        "absolute_error_90th_percentile": figures.ninety,
        "hops_named": figures.hops,
        "hops_right": figures.hops_right,
        "hops_share": figures.hops_share(),
        "good_enough": is_good_enough(scores),
        "intervals": interval::figures(scores, Part::All, false),
        "intervals_crossed_by_source": interval::figures(scores, Part::All, true),
        "results": scores,
    })
}
