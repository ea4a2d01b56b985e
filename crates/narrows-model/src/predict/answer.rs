//! What may be said of a prediction: an interval out of the residuals of its laws, or that nothing is known but a bound.

use std::collections::{BTreeMap, BTreeSet};

use super::law::{self, LEAST_ROWS, LEAST_SOURCES, Law, Residuals, Situation};
use super::{Bound, BoundKind};
use crate::ceiling::Basis;
use narrows_base::units::{BytesPerSec, human};

/// Where the true rate lies, as factors of the predicted one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Intervals {
    /// In 80 of 100 cases.
    pub in_80: (f64, f64),
    /// In 95 of 100 cases.
    pub in_95: (f64, f64),
}

/// Why a rate is not known, and what is.
#[derive(Debug, Clone, PartialEq)]
pub struct NotKnown {
    /// Why, for a person.
    pub because: String,
    /// What would have to be measured.
    pub measure: String,
    /// The place in the bounds of the lowest that nothing exceeds.
    pub at_most: Option<usize>,
}

/// A law that has no estimate leaves the prediction unknown when its bound is below so many times the rate: it may be the one
/// that decides.
const MAY_DECIDE: f64 = 1.25;

/// A term that takes less of the time of a byte than this does not decide.
const LEAST_SHARE: f64 = 0.05;

/// Bounds above so many times the rate never decide a draw.
const FAR: f64 = 4.0;

/// Draws for an interval. Their error at the ends of a 95 % interval is some 0.3 % of the cases.
const DRAWS: usize = 2000;

/// What is known, by these residuals.
pub(super) fn answer(
    situation: &Situation,
    bounds: &[Bound],
    (rate, decides): (BytesPerSec, Option<usize>),
    residuals: &Residuals,
) -> Result<Intervals, NotKnown> {
    let at_most = at_most(situation, bounds);
    let not =
        |because: String, measure: &str| Err(NotKnown { because, measure: measure.to_owned(), at_most });
    if let Some(gap) = law::gap(situation) {
        return not(gap.because.clone(), &gap.measure);
    }
    if decides.is_none() || rate.get() <= 0.0 {
        return not(
            "no hop of this path has a known ceiling".to_owned(),
            "the rate of the drive alone, or its model",
        );
    }
    let may_decide = bounds.iter().filter(|bound| bound.rate.get() <= rate.get() * MAY_DECIDE);
    let terms = may_decide.flat_map(|bound| &bound.terms).filter(|term| term.share >= LEAST_SHARE);
    for term in terms {
        let Some(validity) = term.law.validity() else { continue };
        if !validity.range.has(situation) {
            let because =
                format!("no measurement of this kind was compared with what is taken for {}", term.law);
            return not(because, &validity.measure);
        }
        if !residuals.knows(term.law) {
            return not(few(term.law, residuals), &validity.measure);
        }
    }
    Ok(intervals(bounds, rate, residuals))
}

fn few(law: Law, residuals: &Residuals) -> String {
    let (rows, sources) = residuals.count(law);
    let (rows, sources) = (human::counted(rows, "measurement"), human::counted(sources, "source"));
    format!("of {law} there are {rows} of {sources}, and an estimate needs {LEAST_ROWS} of {LEAST_SOURCES}")
}

/// The lowest bound that nothing exceeds: a wire, a cap, a rate that the maker states. A cache in main memory answers before any
/// drive does.
fn at_most(situation: &Situation, bounds: &[Bound]) -> Option<usize> {
    let is_cached = situation.has("buffered") || situation.has("zfs");
    let before_drives = |law: Law| {
        matches!(law, Law::Network | Law::FileServer | Law::NvmeFabric | Law::CardSlot | Law::Cap | Law::Copy)
    };
    bounds.iter().position(|bound| {
        let whole = bound.terms.iter().map(|term| term.law);
        matches!(bound.kind, BoundKind::Bandwidth | BoundKind::Cap)
            && bound.basis != Basis::Guess
            && whole.clone().all(|law| law.validity().is_some_and(|it| it.bounds))
            && (!is_cached || whole.clone().all(before_drives))
    })
}

/// The intervals of the smallest bound when each law is off by a residual of its own, the same for all hops of that law.
fn intervals(bounds: &[Bound], rate: BytesPerSec, residuals: &Residuals) -> Intervals {
    let near = distinct(bounds, rate);
    let nominal = near.iter().map(|bound| bound.rate.get()).fold(f64::INFINITY, f64::min);
    let laws: BTreeSet<Law> = near.iter().flat_map(|bound| &bound.terms).map(|term| term.law).collect();
    let mut drawn: Vec<f64> = (0..DRAWS)
        .map(|draw| {
            let off: BTreeMap<Law, f64> =
                laws.iter().map(|&law| (law, residuals.quantile(law, place(law, draw)))).collect();
            let of = |bound: &&Bound| {
                let time: f64 = bound
                    .terms
                    .iter()
                    .map(|term| term.share / off.get(&term.law).map_or(1.0, |it| libm::exp(*it)))
                    .sum();
                bound.rate.get() / time.max(f64::MIN_POSITIVE)
            };
            near.iter().map(of).fold(f64::INFINITY, f64::min) / nominal
        })
        .collect();
    drawn.sort_by(f64::total_cmp);
    let at = |part: f64| drawn.get((part * (DRAWS - 1) as f64).round() as usize).copied().unwrap_or(1.0);
    // What is printed as the rate lies in its own interval.
    let pair = |low: f64, high: f64| (at(low).min(1.0), at(high).max(1.0));
    Intervals { in_80: pair(0.1, 0.9), in_95: pair(0.025, 0.975) }
}

/// The bounds that may decide a draw; of those that are off by the same residuals, the lowest.
fn distinct(bounds: &[Bound], rate: BytesPerSec) -> Vec<&Bound> {
    let mut found: Vec<&Bound> = Vec::new();
    // They are in the order of their rates.
    for bound in bounds.iter().filter(|bound| bound.rate.get() <= rate.get().max(least(bounds)) * FAR) {
        if found.iter().all(|known| known.terms != bound.terms) {
            found.push(bound);
        }
    }
    found
}

fn least(bounds: &[Bound]) -> f64 {
    bounds.first().map_or(0.0, |bound| bound.rate.get())
}

/// Where among all measurements of a law a draw falls, 0 to 1: each law in an order of its own, spread evenly, the same each time.
fn place(law: Law, draw: usize) -> f64 {
    let mut word = (draw as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ ((law as u64 + 1) << 40);
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^= word >> 31;
    (word >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests;
