//! What narrows predicts of a row, how far off that is, and what it may say.

use narrows_model::path::HopKind;
use narrows_model::path::file::Engine;
use narrows_model::predict::law::{self, Law, Residuals};
use narrows_model::predict::{Bound, BoundKind, Intervals, NotKnown, Prediction};
use serde::Serialize;

use crate::rows::Row;

/// One row with its outcome.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Score {
    pub(crate) id: String,
    pub(crate) what: String,
    /// Whose measurement it is.
    pub(crate) publisher: String,
    pub(crate) unit: &'static str,
    pub(crate) measured: f64,
    /// What the laws say, whether the program may say it or not, in the unit of the row.
    pub(crate) predicted: f64,
    /// The hop that limits.
    pub(crate) hop: Option<HopKind>,
    /// Whether that is the hop that the row blames; `None` when it blames none, or the rate is not known.
    pub(crate) hop_right: Option<bool>,
    /// How the prediction comes about.
    pub(crate) said: String,
    /// What was measured over what the laws say, as rates.
    pub(crate) factor: f64,
    /// The laws that decide, and by which logarithm they are off.
    #[serde(skip)]
    pub(crate) residuals: Vec<(Law, f64)>,
    #[serde(skip)]
    prediction: Prediction,
}

impl Score {
    /// What may be said, by these residuals.
    pub(crate) fn answer(&self, residuals: &Residuals) -> Result<Intervals, NotKnown> {
        self.prediction.answer_by(residuals)
    }

    /// A bound, over the prediction.
    pub(crate) fn bound(&self, at: usize) -> Option<f64> {
        Some(self.prediction.bounds.get(at)?.rate.get() / self.prediction.rate.get())
    }
}

/// A law that takes less than this share of the time of a byte is not measured by the whole.
const CHARGED: f64 = 0.05;

/// The same of a wire or a maker's rate, which are off by little: what is wrong with the whole is the fault of the rest.
const CHARGED_OF_BOUNDS: f64 = 0.3;

/// A law outside of its range that takes this share and more may be to blame for the whole: then no law is charged.
const TO_BLAME: f64 = 0.15;

/// The outcome of a row.
pub(crate) fn of(row: Row) -> Score {
    let narrow = limiting(&row.prediction);
    let hop = narrow.and_then(|bound| row.prediction.path.hops.iter().find(|hop| hop.id == bound.hop));
    let kind = hop.map(narrows_model::path::Hop::kind);
    let is_known = row.prediction.answer.is_ok();
    let right = |kinds: &Vec<HopKind>| kind.is_some_and(|kind| kinds.contains(&kind));
    let factor = row.factor();
    Score {
        hop: kind,
        hop_right: row.blamed.as_ref().filter(|_| is_known).map(right),
        said: narrow.map_or_else(String::new, |bound| format!("{}: {}", bound.name, bound.formula)),
        residuals: residuals(&row.prediction, factor),
        predicted: row.predicted(),
        factor,
        id: row.id,
        what: row.what,
        publisher: row.publisher,
        unit: row.unit,
        measured: row.measured,
        prediction: row.prediction,
    }
}

/// The laws that decide, each with the logarithm of the factor by which the prediction is off: a measurement of a sum is charged to
/// each law that makes a good part of it. What no law is said to hold for is charged to none.
fn residuals(it: &Prediction, factor: f64) -> Vec<(Law, f64)> {
    if law::is_gap(&it.situation) || !factor.is_finite() || factor <= 0.0 {
        return Vec::new();
    }
    let terms = it.narrowest().map_or(&[][..], |bound| &bound.terms);
    let in_range = |law: Law| law.validity().is_some_and(|validity| validity.range.has(&it.situation));
    // What a law without a say here takes is not the fault of the others.
    if terms.iter().any(|term| term.share >= TO_BLAME && !in_range(term.law)) {
        return Vec::new();
    }
    let is_bound = |law: Law| law.validity().is_some_and(|validity| validity.bounds);
    let least = |law: Law| if is_bound(law) { CHARGED_OF_BOUNDS } else { CHARGED };
    let charged = terms.iter().filter(|term| term.share >= least(term.law) && in_range(term.law));
    charged.map(|term| (term.law, factor.ln())).collect()
}

/// The bound that decides; of a copy out of the page cache and the path, which take turns, the one that takes longer.
fn limiting(prediction: &Prediction) -> Option<&Bound> {
    let first = prediction.narrowest()?;
    let buffered = matches!(prediction.workload.engine, Engine::Buffered | Engine::Hdparm);
    let path = prediction.bounds.iter().find(|bound| bound.kind == BoundKind::Bandwidth);
    let Some(path) = path.filter(|_| buffered && first.kind == BoundKind::Depth) else { return Some(first) };
    let (all, moving) = (1.0 / first.rate.get(), 1.0 / path.rate.get());
    Some(if moving >= all - moving { path } else { first })
}
