//! Which outcome suits stated aims best, how sure that is, and why.
//!
//! An aim has a score for each outcome: the geometric mean of the rates of its tests, with an interval, or an exact property
//! of the layout. Aims that come first count most. Outcomes whose intervals overlap that of the best among them are not
//! distinguishable and share its rank; the next aim then divides them. Intervals are the 95 % intervals of the runs; independent
//! ones add up in squares of logarithms. A run without an interval is taken to be known to [`UNKNOWN`].

#[cfg(test)]
mod tests;

pub use narrows_model::plan::layout::{Aim, AimError};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::outcome::{Measured, Outcome};
use super::recipe::{Cell, Encryption, FileSystem, Layout};
use narrows_base::lists::{grouped, some_of};
use narrows_base::units::{BytesPerSec, human};
use narrows_load::measurement::Pattern;
use narrows_load::preset::LoadSpec;
use narrows_model::plan::layout::{Array, spread};
use narrows_verdict::capitalised;

/// How well a rate is known that has no interval: runs too short for one differ by about that.
pub const UNKNOWN: f64 = 0.1;
/// Laws are no better than 3 % ([`narrows_model::plan::layout`]), so predictions that are closer say the same.
const LAW: f64 = 0.015;

/// What one outcome reaches for one aim: a rate in bytes per second, or a fraction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Score {
    /// The best estimate.
    pub value: f64,
    /// The lower end of its 95 % interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Score {
    const fn within(value: f64, share: f64) -> Self {
        Self { value, low: value * (1.0 - share), high: value * (1.0 + share) }
    }

    /// Whether chance can make the two equal.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }
}

/// An outcome in the order of an aim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AimPlace {
    /// Its name.
    pub cell: String,
    /// Its place in the list of outcomes.
    #[serde(rename = "index")]
    pub outcome: usize,
    /// From 1; outcomes that cannot be distinguished share it.
    pub rank: usize,
    /// What it reaches for the first aim that has a measure: the geometric mean of its tests; `None` where none has.
    pub score: Option<Score>,
    /// What was predicted of that; `None` where not all that counts can be predicted.
    pub predicted: Option<f64>,
    /// The rank by prediction.
    pub predicted_rank: Option<usize>,
    /// Whether each of its measurements is to be believed.
    pub trusted: bool,
}

/// What outcomes are ranked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RankedBy {
    BytesPerSecond,
    /// The part of the capacity of all drives that is left.
    Capacity,
    /// Bytes that an application may write for each byte that a drive writes.
    Endurance,
}

/// An outcome that does not do what must be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnfitCell {
    /// Its name.
    pub cell: String,
    /// Why.
    pub reason: String,
}

/// How far the predicted order is the measured one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Agreement {
    /// Pairs of outcomes that measurement distinguishes, with a prediction each.
    pub pairs: usize,
    /// Those that are predicted in that order.
    #[serde(rename = "pairs_as_predicted")]
    pub agree: usize,
    /// Those that are predicted to be equal.
    #[serde(rename = "pairs_predicted_equal")]
    pub equal: usize,
}

/// All outcomes for the aims.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ranking {
    /// The aims in words; those that come first count most.
    pub aims: Vec<String>,
    /// What the values of the places are.
    pub unit: RankedBy,
    /// Those that do all that must be, the best first; within a rank the simplest first.
    pub places: Vec<AimPlace>,
    /// Those that do not, or were not measured, and why.
    pub unfit: Vec<UnfitCell>,
    /// Measured and predicted order.
    #[serde(flatten)]
    pub agreement: Agreement,
    /// The outcome to build, by its place in the list of outcomes: the simplest of the best, and of those that are so little behind that it is not worth more.
    pub best: Option<usize>,
    /// The verdict with its cause.
    pub sentence: String,
}

/// What an aim is called in a sentence.
pub fn words(aim: Aim) -> String {
    match aim {
        Aim::Capacity => "capacity".to_owned(),
        Aim::Survive(1) => "survival of one failed drive".to_owned(),
        Aim::Survive(count) => format!("survival of {count} failed drives"),
        Aim::Sequential(None) => "sequential reads".to_owned(),
        Aim::Sequential(Some(rate)) => format!("sequential reads of {rate} and more"),
        Aim::Writes(None) => "sequential writes".to_owned(),
        Aim::Writes(Some(rate)) => format!("sequential writes of {rate} and more"),
        Aim::Iops => "random I/O".to_owned(),
        Aim::Encryption => "encryption".to_owned(),
        Aim::Endurance => "endurance".to_owned(),
        Aim::Copy => "copying".to_owned(),
    }
}

/// Whether the rate of a test counts for an aim.
pub fn counts(aim: Aim, load: &LoadSpec) -> bool {
    match aim {
        Aim::Sequential(_) => load.pattern == Pattern::Sequential && !load.writes(),
        Aim::Writes(_) => load.pattern == Pattern::Sequential && load.write_percent >= 100,
        Aim::Iops => load.pattern == Pattern::Random,
        Aim::Capacity | Aim::Survive(_) | Aim::Encryption | Aim::Endurance | Aim::Copy => false,
    }
}

/// An outcome with its place in the list of outcomes.
type Entry<'o> = (usize, &'o Outcome);

/// An outcome with its place in the order.
struct Placed<'o> {
    place: AimPlace,
    outcome: &'o Outcome,
}

/// Ranks outcomes on `devices` devices for `aims`.
pub fn rank(outcomes: &[Outcome], devices: usize, aims: &[Aim]) -> Ranking {
    let tests = tests_of(outcomes);
    let (mut unfit, mut fitting) = (Vec::new(), Vec::new());
    for (at, outcome) in outcomes.iter().enumerate() {
        match why_unfit(outcome, devices, aims, &tests) {
            Some(reason) => unfit.push(UnfitCell { cell: outcome.cell.to_string(), reason }),
            None => fitting.push((at, outcome)),
        }
    }
    let score = |(_, one): Entry<'_>, aim: Aim| score(one, devices, aim, &tests);
    let said = |(_, one): Entry<'_>, aim: Aim| predicted(one, devices, aim, &tests);
    let scored: Vec<Aim> = aims.iter().copied().filter(|aim| has_score(*aim)).collect();
    let groups = divide(fitting.clone(), &scored, &score);
    let by_prediction =
        divide(fitting, &scored, &|one, aim| said(one, aim).map(|said| Score::within(said, LAW)));
    let predicted_ranks: BTreeMap<usize, usize> = numbered(by_prediction)
        .flat_map(|(rank, group)| group.into_iter().map(move |(at, _)| (at, rank)))
        .collect();
    let first = scored.first().copied();
    let mut ranked = Vec::new();
    for (rank, mut group) in numbered(groups) {
        group.sort_by_key(|(_, one)| simplicity(&one.cell));
        ranked.extend(group.into_iter().map(|(at, outcome)| {
            let predicted = first.and_then(|aim| said((at, outcome), aim));
            let place = AimPlace {
                cell: outcome.cell.to_string(),
                outcome: at,
                rank,
                score: first.and_then(|aim| score((at, outcome), aim)),
                predicted,
                predicted_rank: predicted.and(predicted_ranks.get(&at).copied()),
                trusted: is_trusted(outcome, aims),
            };
            Placed { place, outcome }
        }));
    }
    let best = best(&ranked, &scored);
    let sentence = reason(&ranked, best, aims, &scored);
    let best = best.map(|best| best.place.outcome);
    let places: Vec<AimPlace> = ranked.into_iter().map(|one| one.place).collect();
    let agreement = agreement(&places);
    let unit = match first {
        Some(Aim::Capacity) => RankedBy::Capacity,
        Some(Aim::Endurance) => RankedBy::Endurance,
        _ => RankedBy::BytesPerSecond,
    };
    let aims = aims.iter().map(|aim| words(*aim)).collect();
    Ranking { aims, unit, places, unfit, agreement, best, sentence }
}

const fn has_score(aim: Aim) -> bool {
    !matches!(aim, Aim::Survive(_) | Aim::Encryption)
}

/// The tests that an outcome must have for a rate to be compared: every one that any outcome has.
pub(super) fn tests_of(outcomes: &[Outcome]) -> Vec<(String, LoadSpec)> {
    let all = outcomes.iter().flat_map(|outcome| &outcome.measured);
    let by_name = grouped(all.map(|measured| (measured.test.clone(), measured.load.clone())));
    by_name.into_iter().filter_map(|(name, loads)| Some((name, loads.into_iter().next()?))).collect()
}

fn why_unfit(
    outcome: &Outcome,
    devices: usize,
    aims: &[Aim],
    tests: &[(String, LoadSpec)],
) -> Option<String> {
    for aim in aims {
        let why = match *aim {
            Aim::Encryption if outcome.cell.encryption == Encryption::Plain => {
                "it is not encrypted".to_owned()
            }
            Aim::Survive(count) if outcome.cell.layout.survives(devices) < usize::from(count) => {
                format!("it survives {} failed drives", outcome.cell.layout.survives(devices))
            }
            aim if !has_score(aim) => continue,
            aim => match (score(outcome, devices, aim, tests), aim) {
                (None, aim) => {
                    let not_copied = outcome.not_copied().filter(|_| aim == Aim::Copy).map(str::to_owned);
                    let failed = not_copied.or_else(|| outcome.failed.clone());
                    failed.unwrap_or_else(|| format!("{} was not measured", words(aim)))
                }
                (Some(score), Aim::Sequential(Some(wanted)) | Aim::Writes(Some(wanted)))
                    if score.high < wanted.get() =>
                {
                    format!("it gives {}, not {wanted}", BytesPerSec::new(score.value))
                }
                _ => continue,
            },
        };
        return Some(why);
    }
    None
}

/// What an outcome reaches for an aim; `None` when a test of it is missing.
fn score(outcome: &Outcome, devices: usize, aim: Aim, tests: &[(String, LoadSpec)]) -> Option<Score> {
    if let Some(exact) = property(outcome.cell.layout, devices, aim) {
        return Some(Score::within(exact, 0.0));
    }
    if aim == Aim::Copy {
        return outcome.copied().map(|copied| Score::within(copied.bytes_per_second.get(), UNKNOWN));
    }
    over_tests(aim, tests, |name| outcome.measured.iter().find(|one| one.test == name).map(interval))
}

/// The mean of the rates of all tests that count for an aim; `None` where one has no rate, or none counts.
fn over_tests(aim: Aim, tests: &[(String, LoadSpec)], rate: impl Fn(&str) -> Option<Score>) -> Option<Score> {
    let wanted = tests.iter().filter(|(_, load)| counts(aim, load));
    let rates: Option<Vec<Score>> = wanted.map(|(name, _)| rate(name)).collect();
    rates.filter(|rates| !rates.is_empty()).map(|rates| mean(&rates))
}

/// A rate with its interval.
pub fn interval(measured: &Measured) -> Score {
    let value = measured.measurement.bytes_per_second.get();
    measured.measurement.ci95.map_or(Score::within(value, UNKNOWN), |ends| {
        let [low, high] = ends.map(BytesPerSec::get);
        Score { value, low: low.min(value), high: high.max(value) }
    })
}

/// The geometric mean, and its interval when the rates are independent; a single rate keeps its own.
fn mean(rates: &[Score]) -> Score {
    const LEAST: f64 = 1.0;
    if let [only] = rates {
        return *only;
    }
    let (mut sum, mut squares) = (0.0, 0.0);
    for rate in rates {
        let [value, low, high] = [rate.value, rate.low, rate.high].map(|rate| rate.max(LEAST).ln());
        sum += value;
        squares += ((high - low) / 2.0).powi(2);
    }
    let count = rates.len().max(1) as f64;
    let (middle, half) = (sum / count, squares.sqrt() / count);
    Score { value: middle.exp(), low: (middle - half).exp(), high: (middle + half).exp() }
}

/// What was predicted of the same.
fn predicted(outcome: &Outcome, devices: usize, aim: Aim, tests: &[(String, LoadSpec)]) -> Option<f64> {
    if let Some(exact) = property(outcome.cell.layout, devices, aim) {
        return Some(exact);
    }
    let find = |name: &str| outcome.predicted.iter().find(|one| one.test == name)?.bytes_per_second;
    let mean = over_tests(aim, tests, |name| find(name).map(|rate| Score::within(rate.get(), 0.0)));
    mean.map(|mean| mean.value)
}

/// What a layout has whatever the drives do: capacity, and how little it writes on each drive.
pub fn property(layout: Layout, devices: usize, aim: Aim) -> Option<f64> {
    let array = match layout {
        Layout::Single => Array::Single,
        Layout::LvmLinear => Array::LvmLinear,
        Layout::LvmStriped => Array::LvmStriped,
        Layout::Raid0 | Layout::ZfsStripe => Array::Raid0,
        Layout::Raid1 | Layout::ZfsMirror => Array::Raid1,
        // Two devices are one mirror.
        Layout::Raid10 if devices == 2 => Array::Raid1,
        Layout::Raid10 => Array::Raid10,
        Layout::Raid5 => Array::Raid5,
    };
    if !matches!(aim, Aim::Capacity | Aim::Endurance) {
        return None;
    }
    let drives = u8::try_from(devices).ok().filter(|drives| array.fits(*drives))?;
    let found = spread(array, drives);
    Some(if aim == Aim::Capacity { found.capacity } else { 1.0 / found.wear })
}

fn is_trusted(outcome: &Outcome, aims: &[Aim]) -> bool {
    let counted = |measured: &&Measured| aims.iter().any(|aim| counts(*aim, &measured.load));
    let copied = !aims.contains(&Aim::Copy) || outcome.copied().is_none_or(|copied| copied.trusted);
    copied && outcome.measured.iter().filter(counted).all(|measured| measured.trusted)
}

/// What is least to build and to look after comes first.
const fn simplicity(cell: &Cell) -> (u8, Encryption, FileSystem) {
    let layout = match cell.layout {
        Layout::Single => 0,
        Layout::LvmLinear => 1,
        Layout::Raid1 => 2,
        Layout::Raid0 => 3,
        Layout::LvmStriped => 4,
        Layout::Raid10 => 5,
        Layout::Raid5 => 6,
        Layout::ZfsMirror => 7,
        Layout::ZfsStripe => 8,
    };
    (layout, cell.encryption, cell.file_system)
}

/// Divides outcomes by the first aim into groups of those that overlap with the best left, and each group by the next.
fn divide<T: Copy>(all: Vec<T>, aims: &[Aim], score: &impl Fn(T, Aim) -> Option<Score>) -> Vec<Vec<T>> {
    let Some((aim, rest)) = aims.split_first() else { return vec![all] };
    let mut left: Vec<(T, Option<Score>)> = all.into_iter().map(|one| (one, score(one, *aim))).collect();
    let value = |score: &Option<Score>| score.map_or(f64::NEG_INFINITY, |score| score.value);
    left.sort_by(|a, b| value(&b.1).total_cmp(&value(&a.1)));
    let mut groups = Vec::new();
    while let Some((_, leader)) = left.first().copied() {
        let same = |other: &Option<Score>| match (leader, other) {
            (Some(leader), Some(other)) => leader.overlaps(other),
            (leader, other) => leader.is_none() && other.is_none(),
        };
        // A wide interval may reach the leader over one that does not: then nothing says that it is the worse.
        let (group, others): (Vec<_>, Vec<_>) = left.into_iter().partition(|(_, score)| same(score));
        left = others;
        groups.extend(divide(group.into_iter().map(|(one, _)| one).collect(), rest, score));
    }
    groups.into_iter().filter(|group| !group.is_empty()).collect()
}

/// Groups with the rank that their members share: one more than how many come before.
fn numbered<T>(groups: Vec<Vec<T>>) -> impl Iterator<Item = (usize, Vec<T>)> {
    groups.into_iter().scan(1, |next, group| {
        let rank = *next;
        *next += group.len();
        Some((rank, group))
    })
}

fn agreement(places: &[AimPlace]) -> Agreement {
    let mut found = Agreement::default();
    for (at, one) in places.iter().enumerate() {
        for other in places.iter().skip(at + 1).filter(|other| other.rank != one.rank) {
            let (Some(mine), Some(theirs)) = (one.predicted_rank, other.predicted_rank) else { continue };
            found.pairs += 1;
            found.agree += usize::from(mine < theirs);
            found.equal += usize::from(mine == theirs);
        }
    }
    found
}

/// So little more is not worth a more involved layout: no law here is better than that.
const WORTH: f64 = 1.03;

/// A prediction this far from what was measured explains it.
const EXPLAINS: f64 = 0.15;

/// No more than this many are named as equal.
const NAMED: usize = 3;

/// What to build.
fn best<'r, 'o>(ranked: &'r [Placed<'o>], scored: &[Aim]) -> Option<&'r Placed<'o>> {
    let leader = &ranked.first()?.place;
    let is_close = |place: &AimPlace| {
        let scores = place.score.zip(leader.score).filter(|_| is_rate(scored));
        place.rank == leader.rank || scores.is_some_and(|(one, best)| one.value * WORTH >= best.value)
    };
    ranked.iter().filter(|one| is_close(&one.place)).min_by_key(|one| simplicity(&one.outcome.cell))
}

/// Whether a single aim of rates is all that counts.
fn is_rate(scored: &[Aim]) -> bool {
    matches!(scored, [Aim::Sequential(_) | Aim::Writes(_) | Aim::Iops | Aim::Copy])
}

/// What is said of the places; `best` is what to build.
fn reason(ranked: &[Placed<'_>], best: Option<&Placed<'_>>, aims: &[Aim], scored: &[Aim]) -> String {
    let all = |aims: &[Aim]| aims.iter().map(|aim| words(*aim)).collect::<Vec<_>>();
    let Some(best) = best else {
        return format!("Nothing that was measured here does all of: {}.", all(aims).join(", "));
    };
    let must: Vec<Aim> = aims.iter().copied().filter(|aim| !has_score(*aim)).collect();
    let mut text =
        if must.is_empty() { String::new() } else { format!("with {} required, ", all(&must).join(" and ")) };
    text.push_str(&format!("{} is best here", best.outcome.cell));
    if !scored.is_empty() {
        text.push_str(&format!(" for {}", all(scored).join(", then ")));
    }
    let mut said = vec![best.place.outcome];
    if let Some(aim) = scored.first().filter(|aim| is_rate(&[**aim])) {
        if let Some(score) = best.place.score {
            text.push_str(&format!(", {}", BytesPerSec::new(score.value)));
        }
        if let Some(other) = contrast(ranked, best.outcome) {
            text.push_str(&compared(best, other, *aim));
            said.push(other.place.outcome);
        }
    }
    text.push('.');
    text.push_str(&equals(ranked, best, &said));
    if best.outcome.resyncing {
        text.push_str(" It was measured while an array resynced.");
    }
    if !best.place.trusted {
        text.push_str(" Not all of its measurements are to be believed.");
    }
    capitalised(&text)
}

const fn is_one_drive(layout: Layout) -> bool {
    matches!(layout, Layout::Single | Layout::LvmLinear)
}

/// The layout that a person would ask about beside the best: several drives beside one, or the other way round; encrypted in
/// the same way where there is such a one.
fn contrast<'r, 'o>(ranked: &'r [Placed<'o>], best: &Outcome) -> Option<&'r Placed<'o>> {
    let is_other = |other: &&Placed<'_>| match is_one_drive(best.cell.layout) {
        true => !is_one_drive(other.outcome.cell.layout),
        false => other.outcome.cell.layout == Layout::Single,
    };
    let is_alike = |other: &&Placed<'_>| Cell { layout: best.cell.layout, ..other.outcome.cell } == best.cell;
    ranked.iter().filter(is_other).find(is_alike).or_else(|| ranked.iter().find(is_other))
}

/// What the other one gains or loses, and why.
fn compared(best: &Placed<'_>, other: &Placed<'_>, aim: Aim) -> String {
    let (Some(ours), Some(its)) = (best.place.score, other.place.score) else { return String::new() };
    let relation = match its.value / ours.value - 1.0 {
        _ if ours.overlaps(&its) => "cannot be distinguished from it".to_owned(),
        change if change > 0.0 => format!("gains only {}", human::percent(change)),
        change => format!("gives {} less", human::percent(-change)),
    };
    let why = because(other.outcome, aim).or_else(|| because(best.outcome, aim)).unwrap_or_default();
    format!(": {} {relation}{why}", other.outcome.cell)
}

/// The bottleneck that the prediction names, where it explains what was measured in the first test of the aim.
fn because(outcome: &Outcome, aim: Aim) -> Option<String> {
    let measured: &Measured = outcome.measured.iter().find(|one| counts(aim, &one.load))?;
    let said = outcome.predicted.iter().find(|one| one.test == measured.test)?;
    let rate = said.bytes_per_second?;
    let off = measured.measurement.bytes_per_second.fraction_of(rate) - 1.0;
    (off.abs() <= EXPLAINS).then(|| format!(", because the bottleneck is {} (predicted: {rate})", said.bound))
}

/// Others that share the rank, beside those of which something was said.
fn equals(ranked: &[Placed<'_>], best: &Placed<'_>, said: &[usize]) -> String {
    let places = ranked.iter().map(|one| &one.place);
    let equal = places.filter(|place| place.rank == best.place.rank && !said.contains(&place.outcome));
    let names: Vec<&str> = equal.map(|place| place.cell.as_str()).collect();
    if names.is_empty() {
        return String::new();
    }
    format!(" Equally good within what was measured: {}.", some_of(&names, NAMED, ", "))
}
