//! Several targets, each alone and then at the same time: do they limit each other, and where?
//!
//! A hop is named only where the run shows it: what crosses it together reaches its known ceiling, and those who cross it
//! give clearly less than alone. narrows itself is suspected first. Differences within the intervals of both runs, or of
//! less than [`SIGNIFICANT`], are none.

mod foretold;
pub mod hidden;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use narrows_base::stats;
use narrows_base::units::{BytesPerSec, human};
use narrows_machine::Machine;
use narrows_model::ceiling::{Basis, Ceiling, Direction};
use narrows_model::path::{Hop, HopId, HopKind, HopSpec, Path};
use serde::{Deserialize, Serialize};

use crate::attribution::REACHED;
use crate::case::Case;
use crate::ladder::SIGNIFICANT;
use crate::{Code, Evidence, Finding, Run, Severity, Subject, judge, trust};

pub use foretold::{Conclusion, Fate, Foretold, conclude};

/// All processors together are full from here on, as in the ladder.
const FULL: f64 = 0.95;
/// A rate this far above a ceiling is no evidence for it: link ceilings calibrate to within 3 % of real drives.
const LAW_ERROR: f64 = 1.05;

/// A run of several targets at the same time.
#[derive(Debug, Clone)]
pub struct Group {
    /// Which targets, in ascending order.
    pub members: Vec<usize>,
    /// What each of them gave, in the same order.
    pub runs: Vec<Run>,
}

/// What several targets at the same time show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A hop that they share is at its ceiling, and they give less than alone.
    SharedLimit,
    /// They give as much as alone.
    NoSharedLimit,
    /// They give less than alone, and it is not known where.
    LimitEachOther,
    /// They give less than alone, and narrows or the processors could do no more.
    Generator,
    /// A run is not to be trusted, or a rate is not known well enough.
    #[default]
    NotKnown,
}

/// A hop that several of the targets cross.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SharedHop {
    /// Which one.
    pub id: HopId,
    /// What it is.
    pub kind: HopKind,
    /// Its name for a person.
    pub name: String,
    /// The targets that cross it, as places in the list of all.
    #[serde(skip)]
    pub members: Vec<usize>,
    /// The targets that cross it.
    pub targets: Vec<String>,
    /// What they move through it, each alone, in sum.
    #[serde(rename = "alone_bytes_per_second")]
    pub alone: BytesPerSec,
    /// What they move through it together.
    #[serde(rename = "together_bytes_per_second")]
    pub together: BytesPerSec,
    /// The most that it carries.
    #[serde(rename = "ceiling_bytes_per_second")]
    pub ceiling: Option<BytesPerSec>,
    /// What the ceiling rests on.
    pub basis: Option<Basis>,
    /// How the ceiling was computed.
    pub formula: Option<String>,
    /// Why the ceiling is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl SharedHop {
    /// What crosses it together as a part of its ceiling.
    pub fn fraction(&self) -> Option<f64> {
        self.ceiling.map(|ceiling| self.together.fraction_of(ceiling))
    }

    /// Whether its ceiling is known, and no estimate.
    pub fn is_known(&self) -> bool {
        self.basis.is_some_and(|basis| basis != Basis::Guess)
    }

    /// Whether it is at its ceiling. An estimate is no evidence.
    pub fn is_at_ceiling(&self) -> bool {
        self.is_known() && self.fraction().is_some_and(|part| (REACHED..=LAW_ERROR).contains(&part))
    }
}

/// The verdict on targets that ran at the same time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupVerdict {
    /// Which targets, as places in the list of all.
    #[serde(skip)]
    pub members: Vec<usize>,
    /// Which targets.
    pub targets: Vec<String>,
    /// What they show.
    pub outcome: Outcome,
    /// The sum of what each gives alone.
    pub alone: Rate,
    /// The sum of what they give at the same time.
    pub together: Rate,
    /// What each of them gives.
    pub shares: Vec<Share>,
    /// The hops that two or more of them cross, from the devices to the host.
    pub hops: Vec<SharedHop>,
    /// The hops that limit them.
    #[serde(rename = "limiting_hops")]
    pub limiting: Vec<HopId>,
    /// The hops at one of which the limit is, by who loses and who does not, where none is at a known ceiling.
    #[serde(rename = "located_hops")]
    pub located: Vec<HopId>,
    /// The observations behind it.
    pub evidence: Vec<Evidence>,
    /// The verdict in words.
    pub sentence: String,
}

impl GroupVerdict {
    /// Who gives less than alone; all, where each falls by less than its own interval and all together by more than theirs.
    fn losers(&self) -> BTreeSet<usize> {
        let fallen: BTreeSet<usize> =
            self.shares.iter().filter(|share| share.falls_short()).map(|share| share.member).collect();
        if fallen.is_empty() { self.members.iter().copied().collect() } else { fallen }
    }
}

/// Which targets are to run at the same time: all that cross a common hop, for each such hop, the smallest groups first, and
/// at the end all. A group that several hops have in common is there once.
pub fn groups(paths: &[Path]) -> Vec<Vec<usize>> {
    let mut sets: BTreeSet<Vec<usize>> =
        crossing(paths.iter().enumerate()).into_iter().map(|(_, members)| members).collect();
    sets.insert((0..paths.len()).collect());
    let mut sets: Vec<_> = sets.into_iter().filter(|set| set.len() > 1).collect();
    sets.sort_by_key(Vec::len);
    sets
}

/// The hops that two or more of these paths cross, from the media to the host, and which do. Everything crosses the
/// application and main memory.
fn crossing<'a>(paths: impl Iterator<Item = (usize, &'a Path)>) -> Vec<(HopId, Vec<usize>)> {
    let mut found: BTreeMap<&HopId, (usize, Vec<usize>)> = BTreeMap::new();
    let is_own = |hop: &Hop| !matches!(hop.kind(), HopKind::Application | HopKind::Memory);
    for (index, path) in paths {
        for (place, hop) in path.hops.iter().enumerate().filter(|(_, hop)| is_own(hop)) {
            let (_, members) = found.entry(&hop.id).or_insert((place, Vec::new()));
            if members.last() != Some(&index) {
                members.push(index);
            }
        }
    }
    let mut shared: Vec<_> = found.into_iter().filter(|(_, (_, members))| members.len() > 1).collect();
    shared.sort_by_key(|(_, (place, _))| *place);
    shared.into_iter().map(|(id, (_, members))| (id.clone(), members)).collect()
}

/// Judges each group, then what they tell of each other. `alone` holds the targets, each with its run alone.
pub fn judge_groups(machine: &Machine, alone: &[Subject], groups: &[Group]) -> Vec<GroupVerdict> {
    let mut verdicts: Vec<GroupVerdict> = groups.iter().map(|group| one(machine, alone, group)).collect();
    words::locate_all(&mut verdicts);
    verdicts
}

/// What the first run, made once more at the end, says of the runs in between: where a target no longer gives what it gave alone
/// (burst credit that is used up, a neighbour that came), what groups lose is no longer known to be a limit of theirs. Returns
/// what changed, in words.
pub fn doubt_by_drift(first: &Subject, again: &Run, verdicts: &mut [GroupVerdict]) -> Option<String> {
    let (before, after) = (first.runs.first().map(Rate::of)?, Rate::of(again));
    if !after.falls_short_of(before) && !before.falls_short_of(after) {
        return None;
    }
    let (target, then, now) = (&first.path.target, before.bytes_per_second, after.bytes_per_second);
    let drift = format!("{target} alone gave {then} at the beginning and {now} at the end");
    for verdict in verdicts.iter_mut().filter(|verdict| verdict.outcome == Outcome::LimitEachOther) {
        verdict.outcome = Outcome::NotKnown;
        verdict.located.clear();
        verdict.sentence = words::not_known(&drift);
    }
    Some(drift)
}

/// A target with its run alone and its run beside the others.
struct Member<'a> {
    index: usize,
    alone: &'a Subject,
    before: &'a Run,
    after: &'a Run,
}

impl Member<'_> {
    /// What is found of its path by one of its runs.
    fn findings(&self, machine: &Machine, run: &Run) -> Vec<Finding> {
        judge(machine, &[self.alone.with_runs(vec![run.clone()])]).findings
    }
}

fn one(machine: &Machine, alone: &[Subject], group: &Group) -> GroupVerdict {
    let members = group.members.iter().zip(&group.runs).filter_map(|(index, after)| {
        let alone = alone.get(*index)?;
        Some(Member { index: *index, alone, before: alone.runs.first()?, after })
    });
    let members: Vec<Member<'_>> = members.collect();
    let shares: Vec<Share> = members.iter().map(Share::of).collect();
    let mut verdict = GroupVerdict {
        targets: named(alone, &group.members),
        members: group.members.clone(),
        alone: Rate::of_runs_one_by_one(shares.iter().map(|share| share.alone)),
        together: Rate::of_runs_at_once(members.iter().map(|member| member.after)),
        hops: hops(machine, &members),
        shares,
        ..GroupVerdict::default()
    };
    decide(machine, &members, &mut verdict);
    verdict
}

fn named(alone: &[Subject], members: &[usize]) -> Vec<String> {
    members.iter().filter_map(|at| alone.get(*at)).map(|one| one.path.target.clone()).collect()
}

fn decide(machine: &Machine, members: &[Member<'_>], verdict: &mut GroupVerdict) {
    let doubt = match members.len() == verdict.members.len() {
        true => doubt(machine, members).or_else(|| vague(verdict)),
        false => Some("not all of them were measured".to_owned()),
    };
    if let Some(why) = doubt {
        verdict.sentence = words::not_known(&why);
        return;
    }
    let one_starves = verdict.shares.iter().any(Share::falls_short);
    if !one_starves && !verdict.together.falls_short_of(verdict.alone) {
        verdict.outcome = Outcome::NoSharedLimit;
        verdict.sentence = words::no_limit(verdict);
        return;
    }
    if let Some(evidence) = ourselves(machine, members) {
        verdict.outcome = Outcome::Generator;
        verdict.sentence = words::generator(verdict, &evidence);
        verdict.evidence = evidence;
        return;
    }
    let limiting = limiting(verdict);
    verdict.outcome = if limiting.is_empty() { Outcome::LimitEachOther } else { Outcome::SharedLimit };
    verdict.limiting = limiting.iter().map(|hop| hop.id.clone()).collect();
    verdict.evidence = limiting.iter().flat_map(evidence_of).collect();
    verdict.sentence = words::limited(verdict, &limiting);
}

/// Why a run says nothing of its path.
fn doubt(machine: &Machine, members: &[Member<'_>]) -> Option<String> {
    use Code::{AboveCeiling, CacheMeasured, NoReadEnded, RaidResync, RunFailed, Thermal, TooShort};
    let tells_nothing = |finding: &Finding| match finding.code {
        CacheMeasured | AboveCeiling | TooShort | NoReadEnded | RunFailed | RaidResync => true,
        // A drive that is hot and keeps its rate is only good to know.
        Thermal => finding.severity != Severity::Info,
        _ => false,
    };
    let both = members.iter().map(|member| (member, [(member.before, "alone"), (member.after, "together")]));
    let mut runs = both.flat_map(|(member, runs)| runs.map(|(run, when)| (member, run, when)));
    runs.find_map(|(member, run, when)| {
        let found = member.findings(machine, run).into_iter().find(tells_nothing)?;
        Some(format!("the run of {} {when} says nothing: {}", member.alone.path.target, found.summary))
    })
}

/// Why the sums cannot be compared.
fn vague(verdict: &GroupVerdict) -> Option<String> {
    let within = |rate: Rate| rate.half().map(|half| half.fraction_of(rate.bytes_per_second));
    let Some((alone, together)) = within(verdict.alone).zip(within(verdict.together)) else {
        return Some("the runs were too short to say how well their rates are known".to_owned());
    };
    let widest = alone.max(together);
    (widest > trust::WIDEST_INTERVAL)
        .then(|| format!("the rates are known to ±{} only", human::percent(widest)))
}

/// What shows that narrows or the processors could do no more.
fn ourselves(machine: &Machine, members: &[Member<'_>]) -> Option<Vec<Evidence>> {
    let busy = stats::mean(&members.first()?.after.activity.cpus.values().copied().collect::<Vec<f64>>());
    if busy >= FULL {
        return Some(vec![Evidence::new("processors busy", human::percent(busy), "/proc/stat")]);
    }
    members.iter().find_map(|member| {
        let findings = member.findings(machine, member.after);
        let found = findings.into_iter().find(|finding| finding.code == Code::GeneratorCpu)?;
        let narrows = Evidence::new("narrows", found.summary, "the run");
        Some(std::iter::once(narrows).chain(found.evidence).collect())
    })
}

/// The hops at their ceiling that those who give less than alone cross: that which explains most of them first.
fn limiting(verdict: &GroupVerdict) -> Vec<SharedHop> {
    let mut fallen = verdict.losers();
    let mut left: Vec<&SharedHop> = verdict.hops.iter().filter(|hop| hop.is_at_ceiling()).collect();
    let mut chosen = Vec::new();
    loop {
        let explains = |hop: &SharedHop| hop.members.iter().filter(|member| fallen.contains(*member)).count();
        let by_rank = |a: &&SharedHop, b: &&SharedHop| {
            let part = |hop: &SharedHop| hop.fraction().unwrap_or(0.0);
            explains(a).cmp(&explains(b)).then(part(a).total_cmp(&part(b)))
        };
        let Some(best) = left.iter().copied().filter(|hop| explains(hop) > 0).max_by(by_rank) else { break };
        fallen.retain(|member| !best.members.contains(member));
        left.retain(|hop| hop.id != best.id);
        chosen.push(best.clone());
    }
    chosen
}

fn evidence_of(hop: &SharedHop) -> Vec<Evidence> {
    let (Some(ceiling), Some(formula)) = (hop.ceiling, &hop.formula) else { return Vec::new() };
    vec![
        Evidence::new(format!("through {} together", hop.name), hop.together, "the run"),
        Evidence::new(format!("ceiling of {}", hop.name), ceiling, formula.as_str()),
    ]
}

/// The hops that several members cross, with what crosses them. What a hop carries for each byte of a target is what the
/// target's run alone shows: together, the counters of a device hold what others move, too.
fn hops(machine: &Machine, members: &[Member<'_>]) -> Vec<SharedHop> {
    let paths = members.iter().map(|member| (member.index, &member.alone.path));
    let factors: BTreeMap<(usize, HopId), f64> =
        members.iter().flat_map(|member| factors(machine, member)).collect();
    crossing(paths)
        .into_iter()
        .filter_map(|(id, crossing)| {
            let those: Vec<&Member<'_>> =
                members.iter().filter(|member| crossing.contains(&member.index)).collect();
            let first = those.first()?;
            let place = first.alone.path.hops.iter().position(|hop| hop.id == id)?;
            let hop = first.alone.path.hops.get(place)?;
            let through = |of: fn(&Share) -> Rate| -> BytesPerSec {
                let rate = |member: &&Member<'_>| {
                    let factor = factors.get(&(member.index, id.clone())).copied().unwrap_or(0.0);
                    of(&Share::of(member)).bytes_per_second * factor
                };
                those.iter().map(rate).sum()
            };
            let (alone, together) = (through(|share| share.alone), through(|share| share.together));
            let case = Case::new(machine, first.alone, Direction::Read);
            let ceiling = case.ceiling(place)?;
            let limit = ceiling.limit();
            let reason = match (ceiling, &hop.spec) {
                (Ceiling::Known(_), _) => None,
                (Ceiling::Unknown(why), _) => Some(why.clone()),
                // An adapter is no limit to a single drive, and may be one to several.
                (_, HopSpec::Hba(adapter) | HopSpec::Controller(adapter)) if adapter.fabric.is_none() => {
                    Some("what the adapter itself carries is not published".to_owned())
                }
                // It passes on what others allow, however many cross it.
                (Ceiling::Transparent(_), _) => return None,
            };
            Some(SharedHop {
                id,
                kind: hop.kind(),
                name: hop.name.clone(),
                targets: those.iter().map(|member| member.alone.path.target.clone()).collect(),
                members: crossing,
                alone,
                together,
                ceiling: limit.map(|limit| limit.rate),
                basis: limit.map(|limit| limit.basis),
                formula: limit.map(|limit| limit.formula.clone()),
                reason,
            })
        })
        .collect()
}

/// Bytes across each hop for each byte that a target moved alone.
fn factors(machine: &Machine, member: &Member<'_>) -> Vec<((usize, HopId), f64)> {
    let verdict = judge(machine, std::slice::from_ref(member.alone));
    let rate = member.before.measurement.bytes_per_second;
    let measured = verdict.paths.into_iter().flat_map(|path| path.measured);
    measured
        .filter(|((_, direction), _)| *direction == Direction::Read)
        .map(|((hop, _), through)| ((member.index, hop), through.rate.fraction_of(rate)))
        .collect()
}

/// A rate and how well it is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rate {
    /// The mean rate.
    pub bytes_per_second: BytesPerSec,
    /// A 95 % confidence interval of it; `null` where the run was too short for one.
    pub ci95: Option<[BytesPerSec; 2]>,
}

impl Rate {
    /// What a run gave.
    pub fn of(run: &Run) -> Self {
        Self { bytes_per_second: run.measurement.bytes_per_second, ci95: run.measurement.ci95 }
    }

    /// Half the width of the interval.
    pub fn half(&self) -> Option<BytesPerSec> {
        self.ci95.map(|[low, high]| (high - low) / 2.0)
    }

    /// The sum of runs one after another, which are independent: the squares of their halves add up.
    fn of_runs_one_by_one(rates: impl Iterator<Item = Self> + Clone) -> Self {
        let squares: Option<f64> = rates.clone().map(|rate| rate.half().map(|half| half.get().powi(2))).sum();
        Self::sum(rates, squares.map(f64::sqrt))
    }

    /// The sum of runs at the same time, which depend on each other: drives behind one limit take it from each other, so that their sum is
    /// steadier than each. The series of the sum tells; where a run is too short for that, the halves add up, which is the most that the
    /// interval can be.
    fn of_runs_at_once<'a>(runs: impl Iterator<Item = &'a Run> + Clone) -> Self {
        let rates = runs.clone().map(Self::of);
        let buckets = runs.clone().map(|run| run.measurement.series.len()).min().unwrap_or(0);
        let sum = |at: usize| runs.clone().filter_map(|run| run.measurement.series.get(at).copied()).sum();
        let series: Vec<BytesPerSec> = (0..buckets).map(sum).collect();
        let of_series = stats::ci95(&series).map(|[low, high]| (high - low).get() / 2.0);
        let halves: Option<f64> = rates.clone().map(|rate| rate.half().map(BytesPerSec::get)).sum();
        Self::sum(rates, of_series.zip(halves).map(|(of_series, halves)| of_series.min(halves)).or(halves))
    }

    fn sum(rates: impl Iterator<Item = Self>, half: Option<f64>) -> Self {
        let bytes_per_second: BytesPerSec = rates.map(|rate| rate.bytes_per_second).sum();
        let around = |half: f64| {
            let mean = bytes_per_second.get();
            [BytesPerSec::new((mean - half).max(0.0)), BytesPerSec::new(mean + half)]
        };
        Self { bytes_per_second, ci95: half.map(around) }
    }

    /// Whether it is less than `before` by more than chance explains: the intervals do not touch.
    pub fn falls_short_of(&self, before: Self) -> bool {
        let apart = self.ci95.zip(before.ci95).is_some_and(|([_, high], [low, _])| high < low);
        apart && self.bytes_per_second < before.bytes_per_second * (1.0 - SIGNIFICANT)
    }
}

/// What one target gives alone and beside the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Share {
    /// Which target, as a place in the list of all.
    #[serde(skip)]
    pub member: usize,
    /// Which target.
    pub target: String,
    pub alone: Rate,
    /// At the same time as the others.
    pub together: Rate,
}

impl Share {
    fn of(member: &Member<'_>) -> Self {
        let target = member.alone.path.target.clone();
        let (alone, together) = (Rate::of(member.before), Rate::of(member.after));
        Self { member: member.index, target, alone, together }
    }

    /// What it gives together as a part of what it gives alone; `None` where it gives nothing alone.
    pub fn part(&self) -> Option<f64> {
        let alone = self.alone.bytes_per_second;
        (alone.get() > 0.0).then(|| self.together.bytes_per_second.fraction_of(alone))
    }

    /// The interval of that part, by the ends of both intervals.
    fn part_within(&self) -> Option<[f64; 2]> {
        let ([low, high], [least, most]) = self.together.ci95.zip(self.alone.ci95)?;
        (least.get() > 0.0).then(|| [low.fraction_of(most), high.fraction_of(least)])
    }

    fn falls_short(&self) -> bool {
        self.together.falls_short_of(self.alone)
    }
}

#[cfg(test)]
mod tests;
