//! The verdict as a sentence: what to build, what more drives gain on it, and why no more.

use super::{Aim, Place, counts, has_score, prediction, simplicity, words};
use crate::lab::layout::Layout;
use crate::lab::outcome::{Measured, Outcome};
use narrows_base::units::{BytesPerSec, human};

/// So little more is not worth a more involved layout: no law here is better than that.
const WORTH: f64 = 1.03;

/// A prediction this far from what was measured explains it.
const EXPLAINS: f64 = 0.15;

/// No more than this many are named as equal.
const NAMED: usize = 3;

/// What to build.
pub(super) fn best(outcomes: &[Outcome], places: &[Place], scored: &[Aim]) -> Option<usize> {
    let leader = places.first()?;
    let rate = |place: &Place| place.score.map(|score| score.value);
    let close = |place: &&Place| {
        place.rank == leader.rank
            || (is_rate(scored)
                && rate(place).zip(rate(leader)).is_some_and(|(one, best)| one * WORTH >= best))
    };
    let simplest = |place: &&Place| outcomes.get(place.outcome).map(|one| simplicity(&one.cell));
    places.iter().filter(close).min_by_key(simplest).map(|place| place.outcome)
}

/// Whether a single aim of rates is all that counts.
fn is_rate(scored: &[Aim]) -> bool {
    matches!(scored, [Aim::Sequential(_) | Aim::Writes(_) | Aim::Iops | Aim::Copy])
}

/// What is said of the places; `best` is what to build.
pub(super) fn sentence(outcomes: &[Outcome], places: &[Place], best: Option<usize>, aims: &[Aim]) -> String {
    let must = required(aims);
    let scored: Vec<Aim> = aims.iter().copied().filter(|aim| has_score(*aim)).collect();
    let find = |at: usize| Some((places.iter().find(|place| place.outcome == at)?, outcomes.get(at)?));
    let Some((place, outcome)) = best.and_then(find) else {
        let wanted: Vec<String> = aims.iter().map(|aim| words(*aim)).collect();
        return format!("Nothing that was measured here does all of: {}.", wanted.join(", "));
    };
    let mut text =
        if must.is_empty() { String::new() } else { format!("with {} required, ", must.join(" and ")) };
    text.push_str(&format!("{} is best here", outcome.cell));
    if !scored.is_empty() {
        let wanted: Vec<String> = scored.iter().map(|aim| words(*aim)).collect();
        text.push_str(&format!(" for {}", wanted.join(", then ")));
    }
    if let Some(value) = place.score.filter(|_| scored.first().is_some_and(|aim| is_rate(&[*aim]))) {
        text.push_str(&format!(", {}", BytesPerSec::new(value.value)));
    }
    let mut said = vec![place.outcome];
    if let Some(aim) = scored.first().filter(|aim| is_rate(&[**aim]))
        && let Some(other) = contrast(outcomes, places, outcome)
    {
        text.push_str(&compared(outcomes, place, other, *aim));
        said.push(other.outcome);
    }
    text.push('.');
    text.push_str(&equals(outcomes, places, place, &said));
    if outcome.resyncing {
        text.push_str(" It was measured while an array resynced.");
    }
    if !place.trusted {
        text.push_str(" Not all of its measurements are to be believed.");
    }
    capital(&text)
}

fn required(aims: &[Aim]) -> Vec<String> {
    aims.iter().filter(|aim| !has_score(**aim)).map(|aim| words(*aim)).collect()
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

const fn is_one_drive(layout: Layout) -> bool {
    matches!(layout, Layout::Single | Layout::LvmLinear)
}

/// The layout that a person would ask about beside the best: several drives beside one, or the other way round; encrypted in
/// the same way where there is such a one.
fn contrast<'p>(outcomes: &[Outcome], places: &'p [Place], best: &Outcome) -> Option<&'p Place> {
    let one = is_one_drive(best.cell.layout);
    let other = |place: &&Place| {
        outcomes.get(place.outcome).is_some_and(|other| {
            if one { !is_one_drive(other.cell.layout) } else { other.cell.layout == Layout::Single }
        })
    };
    let alike = |place: &&Place| {
        outcomes.get(place.outcome).is_some_and(|other| {
            other.cell.encryption == best.cell.encryption && other.cell.file_system == best.cell.file_system
        })
    };
    places.iter().filter(other).find(alike).or_else(|| places.iter().find(other))
}

/// What the other one gains or loses, and why.
fn compared(outcomes: &[Outcome], best: &Place, other: &Place, aim: Aim) -> String {
    let (Some(mine), Some(theirs)) = (outcomes.get(best.outcome), outcomes.get(other.outcome)) else {
        return String::new();
    };
    let (Some(ours), Some(its)) = (best.score, other.score) else { return String::new() };
    let change = its.value / ours.value - 1.0;
    let (relation, slower) = match change {
        _ if ours.overlaps(&its) => ("cannot be distinguished from it".to_owned(), theirs),
        change if change > 0.0 => (format!("gains only {}", human::percent(change)), theirs),
        change => (format!("gives {} less", human::percent(-change)), theirs),
    };
    let why = because(slower, aim).or_else(|| because(mine, aim)).unwrap_or_default();
    format!(": {} {relation}{why}", theirs.cell)
}

/// The bottleneck that the prediction names, where it explains what was measured in the first test of the aim.
fn because(outcome: &Outcome, aim: Aim) -> Option<String> {
    let measured: &Measured = outcome.measured.iter().find(|one| counts(aim, &one.load))?;
    let said = prediction(outcome, &measured.test)?;
    let rate = said.bytes_per_second?;
    let off = measured.measurement.bytes_per_second.fraction_of(rate) - 1.0;
    (off.abs() <= EXPLAINS).then(|| format!(", because the bottleneck is {} (predicted: {rate})", said.bound))
}

/// Others that share the rank, beside those of which something was said.
fn equals(outcomes: &[Outcome], places: &[Place], best: &Place, said: &[usize]) -> String {
    let mut names: Vec<String> = places
        .iter()
        .filter(|place| place.rank == best.rank && !said.contains(&place.outcome))
        .filter_map(|place| outcomes.get(place.outcome))
        .map(|outcome| outcome.cell.to_string())
        .collect();
    if names.is_empty() {
        return String::new();
    }
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!(" Equally good within what was measured: {}{more}.", names.join(", "))
}
