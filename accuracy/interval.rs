//! How well intervals hold: each row judged by residuals of other sources than its own.

use narrows_model::predict::Intervals;
use narrows_model::predict::law::{Residual, Residuals};
use serde::Serialize;

use crate::score::Score;

/// Of so many rows in their order, the last is looked at only when everything is set.
const KEPT_BACK: usize = 3;

/// A prediction off by more than this factor is one that misled.
const MISLED: f64 = 2.0;

/// Which rows figures are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// All.
    All,
    /// Those that were looked at while laws and ranges were set.
    Seen,
    /// Every third, judged by residuals of the others alone.
    KeptBack,
}

/// The figures of one way to judge.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub(crate) struct Figures {
    /// Rows, all of which a path file expresses.
    pub(crate) rows: usize,
    /// Those of them that have a rate and intervals.
    pub(crate) answered: usize,
    /// Median of the absolute error of these.
    pub(crate) median: f64,
    /// Their 90th percentile.
    pub(crate) ninety: f64,
    /// The share whose 80 % interval holds the measurement.
    pub(crate) held_80: f64,
    /// The share whose 95 % interval does.
    pub(crate) held_95: f64,
    /// Median of half the width of the 80 % interval, as a part of the prediction.
    pub(crate) half_width: f64,
    /// Its 90th percentile.
    pub(crate) half_width_ninety: f64,
    /// The mean interval score of the 80 % intervals of logarithms: their width, and ten times what lies outside (T. Gneiting
    /// and A. Raftery, JASA 102, 2007, section 6.2). Smaller is better.
    pub(crate) score_80: f64,
    /// The same of 95 % intervals, with forty times.
    pub(crate) score_95: f64,
    /// Rows off by more than a factor of two.
    pub(crate) misled: Vec<String>,
    /// Refused rows with a bound.
    pub(crate) bounded: usize,
    /// Those of them that exceed it.
    pub(crate) above_bound: Vec<String>,
}

/// The residuals that rows give.
pub(crate) fn residuals(scores: &[Score]) -> Residuals {
    let rows = scores.iter().flat_map(|score| {
        let of = |&(law, log)| Residual { law, source: score.publisher.clone(), row: score.id.clone(), log };
        score.residuals.iter().map(of)
    });
    Residuals::of(rows.collect())
}

/// The rows of which the rate is not known, and why.
pub(crate) fn refused(scores: &[Score]) -> Vec<(&Score, String)> {
    let all = residuals(scores);
    let because = |score: &Score| Some(score.answer(&all).err()?.because);
    scores.iter().filter_map(|score| Some((score, because(score)?))).collect()
}

/// Which rows are kept back: every third in their order.
fn is_kept_back(scores: &[Score], id: &str) -> bool {
    scores.iter().position(|score| score.id == id).is_some_and(|at| at % KEPT_BACK == KEPT_BACK - 1)
}

/// The figures of a part of the rows; with `crossed`, no row is judged by residuals of its own source.
pub(crate) fn figures(scores: &[Score], part: Part, crossed: bool) -> Figures {
    let all = residuals(scores);
    let mut judged = Judged::default();
    for (at, score) in scores.iter().enumerate() {
        let is_kept_back = at % KEPT_BACK == KEPT_BACK - 1;
        let wanted = match part {
            Part::All => true,
            Part::Seen => !is_kept_back,
            Part::KeptBack => is_kept_back,
        };
        if !wanted {
            continue;
        }
        let others = all.without(|row| {
            (crossed && row.source == score.publisher)
                || (part != Part::All && self::is_kept_back(scores, &row.row))
        });
        // Who is answered is what the program does; by which residuals is what is tried.
        judged.put(score, &all, if crossed { &others } else { &all });
    }
    judged.figures()
}

#[derive(Default)]
struct Judged {
    figures: Figures,
    errors: Vec<f64>,
    widths: Vec<f64>,
    held: (usize, usize),
    scores: (f64, f64),
}

impl Judged {
    fn put(&mut self, score: &Score, all: &Residuals, others: &Residuals) {
        self.figures.rows += 1;
        let first = score.answer(all);
        let answer = if first.is_ok() { score.answer(others) } else { first };
        match answer {
            Ok(intervals) => self.answered(&score.id, score.factor, &intervals),
            Err(it) => {
                let most = it.at_most.and_then(|at| score.bound(at));
                self.figures.bounded += usize::from(most.is_some());
                // Rounding aside.
                if most.is_some_and(|most| score.factor > most * 1.01) {
                    self.figures.above_bound.push(score.id.clone());
                }
            }
        }
    }

    fn answered(&mut self, id: &str, factor: f64, it: &Intervals) {
        self.figures.answered += 1;
        self.errors.push((1.0 / factor - 1.0).abs());
        self.widths.push((it.in_80.1 - it.in_80.0) / 2.0);
        let holds = |(low, high): (f64, f64)| (low..=high).contains(&factor);
        self.held.0 += usize::from(holds(it.in_80));
        self.held.1 += usize::from(holds(it.in_95));
        self.scores.0 += interval_score(factor, it.in_80, 0.2);
        self.scores.1 += interval_score(factor, it.in_95, 0.05);
        if !(1.0 / MISLED..=MISLED).contains(&factor) {
            self.figures.misled.push(id.to_owned());
        }
    }

    fn figures(mut self) -> Figures {
        self.errors.sort_by(f64::total_cmp);
        self.widths.sort_by(f64::total_cmp);
        let count = self.errors.len().max(1) as f64;
        let quantile = crate::report::quantile;
        Figures {
            median: quantile(&self.errors, 0.5),
            ninety: quantile(&self.errors, 0.9),
            held_80: self.held.0 as f64 / count,
            held_95: self.held.1 as f64 / count,
            half_width: quantile(&self.widths, 0.5),
            half_width_ninety: quantile(&self.widths, 0.9),
            score_80: self.scores.0 / count,
            score_95: self.scores.1 / count,
            ..self.figures
        }
    }
}

/// The interval score of the logarithm of what was measured over what was predicted.
pub(crate) fn interval_score(factor: f64, (low, high): (f64, f64), alpha: f64) -> f64 {
    let (at, low, high) = (factor.ln(), low.max(1e-9).ln(), high.ln());
    let outside = (low - at).max(0.0) + (at - high).max(0.0);
    high - low + 2.0 / alpha * outside
}
