//! Hidden sharing: which drives share a limit that no topology shows, found from runs of chosen subsets.
//!
//! Whoever gives less beside all others than alone shares a limit. Whom it shares it with shows when somebody is left out: the
//! others of its group get more, and nobody else does. So the drive that loses most is left out; who gets more then is left out
//! by halves, so that each member is once among those that get much more; then the group runs alone, and carries what it carried
//! unless drives that lose nothing use its limit as well, which are searched for by halves.
//!
//! A rate is taken as changed where it changed by more than `CERTAIN` standard deviations of the noise between runs, which the
//! drives show that lose nothing. A group is found only if its limit binds: if its members, all at once, give less than alone.

use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::SQRT_2;

use serde::{Deserialize, Serialize};

use narrows_base::stats::median;
use narrows_base::units::{BytesPerSec, human};
use narrows_model::path::HopId;

use super::{GroupVerdict, Rate, SIGNIFICANT};

/// Standard deviations of noise that make a change certain: one of 700 is as large, upwards, by chance.
const CERTAIN: f64 = 3.0;
/// The noise between two runs of one load, as a part of the rate, where no drive shows it: steady drives in virtual machines.
const USUAL_NOISE: f64 = 0.01;
/// So many drives that lose nothing tell the noise; fewer do only where they show more than the usual.
const ENOUGH: usize = 8;
/// It is never taken to be less.
const LEAST_NOISE: f64 = 0.005;
/// A run is made so often at most to tell a change from noise.
const MOST_REPEATS: usize = 2;
/// Half of the width of a 95 % interval, in standard deviations.
const DEVIATIONS_OF_HALF: f64 = 1.96;
/// The median of absolute deviations, in standard deviations of a normal distribution.
const DEVIATIONS_OF_MEDIAN: f64 = 0.6745;

/// Drives that share a limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HiddenGroup {
    /// Which drives, in ascending order.
    #[serde(skip)]
    pub members: Vec<usize>,
    /// What they carry together, all at once.
    #[serde(rename = "limit_bytes_per_second")]
    pub limit: BytesPerSec,
    /// What they give each alone, in sum.
    #[serde(rename = "alone_bytes_per_second")]
    pub alone: BytesPerSec,
    /// Whether a run of these drives and no others carried the same. Where not, some of what they share is shared with others.
    pub is_confirmed: bool,
}

/// What the search found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hidden {
    /// The groups, in the order in which they were found.
    pub groups: Vec<HiddenGroup>,
    /// Drives that give less than alone beside all others, and of which nobody was found that they share with.
    pub unexplained: Vec<usize>,
    /// How many runs were made beyond those alone and the first of all.
    pub runs: usize,
    /// Why the groups are not certain: the last run of all differs from the first.
    pub drifted: Option<String>,
}

/// What each of the drives of a run gave, in their order.
pub type Gave<E> = Result<Vec<Rate>, E>;

/// Finds the groups. `alone` is what each drive gives alone, `all` what each gives beside all others; `run` runs the drives that
/// it is given, in ascending order, and tells what each gives. Where somebody loses, the last run is that of all once more.
///
/// # Errors
/// Whatever `run` answers.
pub fn find<E>(alone: &[Rate], all: &[Rate], run: &mut dyn FnMut(&[usize]) -> Gave<E>) -> Result<Hidden, E> {
    let noise = noise(alone, all);
    let seen = |rates: &[Rate]| rates.iter().map(|rate| Mean::of(*rate, noise)).enumerate().collect();
    let mut search = Search { alone: seen(alone), all: seen(all), noise, runs: 0, run };
    let everybody: Drives = search.all.keys().copied().collect();
    let mut free = everybody.clone();
    let mut left: Drives = everybody.iter().copied().filter(|at| search.loses(*at)).collect();
    let is_quiet = left.is_empty();
    let mut found = Hidden::default();
    while let Some(pivot) = search.most_lost(&left) {
        let group = search.group_of(pivot, &free)?;
        left.remove(&pivot);
        if group.members.len() < 2 {
            found.unexplained.push(pivot);
            continue;
        }
        left.retain(|at| !group.members.contains(at));
        free.retain(|at| !group.members.contains(at));
        found.groups.push(group);
    }
    if !is_quiet {
        let again = search.once(&everybody)?;
        found.drifted = drifted(&seen(all), &again);
    }
    found.runs = search.runs;
    Ok(found)
}

/// The noise between two runs, by the drives that lose nothing: what each gives beside all others is what it gives alone, but for
/// that, and for what changed for all of them meanwhile. The median tells, so that a few that lose a little do not matter.
fn noise(alone: &[Rate], all: &[Rate]) -> f64 {
    let changes = alone.iter().zip(all).map(|(alone, all)| {
        (all.bytes_per_second.get().max(1.0) / alone.bytes_per_second.get().max(1.0)).ln()
    });
    let small: Vec<f64> = changes.filter(|change| change.abs() < SIGNIFICANT).collect();
    let count = small.len();
    let middle = median(&small);
    let deviations: Vec<f64> = small.into_iter().map(|change| (change - middle).abs()).collect();
    let deviation = median(&deviations);
    // Two runs are compared, each with the noise.
    let told = deviation / DEVIATIONS_OF_MEDIAN / SQRT_2;
    told.max(if count >= ENOUGH { LEAST_NOISE } else { USUAL_NOISE })
}

/// A rate that was measured once or more often.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Mean {
    rate: f64,
    /// The standard deviation of the mean, as a part of the rate.
    noise: f64,
    count: usize,
}

type SeenMeans = BTreeMap<usize, Mean>;

/// Some of the drives.
type Drives = BTreeSet<usize>;

impl Mean {
    fn of(rate: Rate, noise: f64) -> Self {
        let mean = rate.bytes_per_second.get().max(1.0);
        let within = rate.half().map_or(0.0, |half| half.get() / DEVIATIONS_OF_HALF / mean);
        Self { rate: mean, noise: within.max(noise), count: 1 }
    }

    fn and(self, other: Self) -> Self {
        let count = self.count + other.count;
        let part = |one: &Self| one.count as f64 / count as f64;
        let noise = (self.noise * part(&self)).hypot(other.noise * part(&other));
        Self { rate: self.rate * part(&self) + other.rate * part(&other), noise, count }
    }
}

/// How a rate changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Rose,
    Stayed,
    Unclear,
}

/// Whether a rate rose from `before` to `after`, where that of a member rises by the factor `expected`.
fn change(before: Mean, after: Mean, expected: f64) -> Change {
    let certain = CERTAIN * before.noise.hypot(after.noise);
    let rise = (after.rate / before.rate).ln();
    let expected = expected.max(1.0).ln();
    if expected < certain {
        return if rise > certain { Change::Rose } else { Change::Unclear };
    }
    if expected >= 2.0 * certain {
        return if rise > expected / 2.0 { Change::Rose } else { Change::Stayed };
    }
    match (rise > certain, rise < expected - certain) {
        (true, _) => Change::Rose,
        (false, true) => Change::Stayed,
        (false, false) => Change::Unclear,
    }
}

struct Search<'a, E> {
    alone: SeenMeans,
    all: SeenMeans,
    noise: f64,
    runs: usize,
    run: &'a mut dyn FnMut(&[usize]) -> Gave<E>,
}

impl<E> Search<'_, E> {
    fn once(&mut self, who: &Drives) -> Result<SeenMeans, E> {
        let who: Vec<usize> = who.iter().copied().collect();
        self.runs += 1;
        let rates = (self.run)(&who)?;
        Ok(who.into_iter().zip(rates.into_iter().map(|rate| Mean::of(rate, self.noise))).collect())
    }

    /// Everybody but `out`.
    fn without(&mut self, out: &Drives) -> Result<SeenMeans, E> {
        let present = self.all.keys().copied().filter(|at| !out.contains(at)).collect();
        self.once(&present)
    }

    /// What a drive gives beside all others as a part of what it gives alone.
    fn part(&self, at: usize) -> f64 {
        let rate = |seen: &SeenMeans| seen.get(&at).map(|mean| mean.rate);
        rate(&self.all).zip(rate(&self.alone)).map_or(1.0, |(all, alone)| all / alone)
    }

    /// Whether a drive gives less than alone, by more than noise explains.
    fn loses(&self, at: usize) -> bool {
        let pair = self.all.get(&at).zip(self.alone.get(&at));
        let part = self.part(at);
        part < 1.0 - SIGNIFICANT
            && pair.is_some_and(|(all, alone)| -part.ln() > CERTAIN * all.noise.hypot(alone.noise))
    }

    fn most_lost(&self, left: &Drives) -> Option<usize> {
        left.iter().copied().min_by(|one, other| self.part(*one).total_cmp(&self.part(*other)))
    }

    /// By which factor the rate of a member rises where some of a group are left out: by what these had, as far as it gives that
    /// alone.
    fn expected(&self, group: &Drives, out: &Drives, at: usize) -> f64 {
        let members: Drives = group.iter().copied().chain([at]).collect();
        let stay: Drives = members.difference(out).copied().collect();
        let (whole, stays) = (sum(&self.all, &members).rate, sum(&self.all, &stay).rate);
        (whole / stays.max(1.0)).min(1.0 / self.part(at)).max(1.0)
    }

    /// How each of `who` changes where some of a group are left out. The run is repeated while that is not clear.
    fn changes(&mut self, who: &Drives, group: &Drives, out: &Drives) -> Result<BTreeMap<usize, Change>, E> {
        let mut seen = self.without(out)?;
        for repeat in 1.. {
            let of = |at: &usize| {
                let pair = self.all.get(at).zip(seen.get(at));
                let expected = self.expected(group, out, *at);
                pair.map_or(Change::Stayed, |(before, after)| change(*before, *after, expected))
            };
            let changes: BTreeMap<usize, Change> = who.difference(out).map(|at| (*at, of(at))).collect();
            let is_clear = changes.values().all(|change| *change != Change::Unclear);
            if is_clear || repeat == MOST_REPEATS {
                return Ok(changes);
            }
            for (at, mean) in self.without(out)? {
                seen.entry(at).and_modify(|before| *before = before.and(mean));
            }
        }
        Ok(BTreeMap::new())
    }

    /// The group of a drive that loses.
    fn group_of(&mut self, pivot: usize, free: &Drives) -> Result<HiddenGroup, E> {
        let own = BTreeSet::from([pivot]);
        let losers: Drives = free.iter().copied().filter(|at| self.loses(*at)).collect();
        let others: Drives = losers.difference(&own).copied().collect();
        // The more there are in a group, the less each rises: all that may be are taken to be.
        let first = if others.is_empty() { BTreeMap::new() } else { self.changes(&others, &losers, &own)? };
        let rose = |changes: &BTreeMap<usize, Change>| -> Drives {
            changes.iter().filter(|(_, change)| **change == Change::Rose).map(|(at, _)| *at).collect()
        };
        let mut members: Drives = &rose(&first) | &own;
        if members.len() > 2 {
            members = self.by_halves(pivot, &others, members)?;
        }
        let (found, carried) = self.confirmed(&members)?;
        if found.is_confirmed && members.len() > 1 {
            return Ok(found);
        }
        let rest: Drives = free.difference(&members).copied().collect();
        if change(sum(&self.all, &members), carried, self.expected_without(&members, &rest)) != Change::Rose {
            return Ok(found);
        }
        let more = self.quiet(&members, rest)?;
        if more.is_empty() {
            return Ok(found);
        }
        Ok(self.confirmed(&(&members | &more))?.0)
    }

    /// The members among those that lose: each half of what is suspected is left out once. Who was suspected has to rise where it is
    /// present, anybody else in both runs.
    fn by_halves(&mut self, pivot: usize, others: &Drives, suspected: Drives) -> Result<Drives, E> {
        let all = others | &suspected;
        let mut rises: BTreeMap<usize, usize> = BTreeMap::new();
        for out in halves(&suspected, pivot) {
            for (at, change) in self.changes(&all, &suspected, &out)? {
                *rises.entry(at).or_default() += usize::from(change == Change::Rose);
            }
        }
        let times = |at: &usize| rises.get(at).copied().unwrap_or(0);
        let is_member = |at: &usize| times(at) >= if suspected.contains(at) { 1 } else { 2 };
        Ok(all.into_iter().filter(is_member).chain([pivot]).collect())
    }

    /// Who else uses the group's limit, such as a slow drive that gets all that it wants and so loses nothing: leaving it out gives
    /// the group more. Halves are tried until each is known.
    fn quiet(&mut self, group: &Drives, among: Drives) -> Result<Drives, E> {
        let mut found = BTreeSet::new();
        // That the whole has one is known for the first part, by the run of the group alone.
        let mut left = vec![(among, true)];
        while let Some((part, is_known)) = left.pop() {
            if part.is_empty() || !(is_known || self.gives_more_without(group, &part)?) {
                continue;
            }
            if part.len() == 1 {
                found.extend(part);
                continue;
            }
            let part: Vec<usize> = part.into_iter().collect();
            let (first, second) = part.split_at(part.len() / 2);
            let (first, second) = (first.iter().copied().collect(), second.iter().copied().collect());
            if self.gives_more_without(group, &first)? {
                left.push((second, false));
                left.push((first, true));
            } else {
                left.push((second, true));
            }
        }
        Ok(found)
    }

    /// Whether the sum of a group rises where others are left out, by half of what the least of these gives.
    fn gives_more_without(&mut self, group: &Drives, out: &Drives) -> Result<bool, E> {
        let before = sum(&self.all, group);
        let expected = self.expected_without(group, out);
        let mut after: Option<Mean> = None;
        for _ in 0..MOST_REPEATS {
            let now = sum(&self.without(out)?, group);
            let mean = after.map_or(now, |mean| mean.and(now));
            after = Some(mean);
            match change(before, mean, expected) {
                Change::Rose => return Ok(true),
                Change::Stayed => return Ok(false),
                Change::Unclear => {}
            }
        }
        Ok(false)
    }

    /// By which factor the sum of a group rises at least where one of these is left out that uses its limit.
    fn expected_without(&self, group: &Drives, out: &Drives) -> f64 {
        let before = sum(&self.all, group).rate;
        let least = out.iter().filter_map(|at| self.all.get(at)).map(|mean| mean.rate);
        let expected = 1.0 + least.fold(f64::INFINITY, f64::min) / before;
        expected.min(sum(&self.alone, group).rate / before)
    }

    /// The group with what it carries, and whether it carries the same without all others.
    fn confirmed(&mut self, members: &Drives) -> Result<(HiddenGroup, Mean), E> {
        let together = sum(&self.all, members);
        // What one drive gives without all others is known.
        let by_itself = match members.len() {
            1 => sum(&self.alone, members),
            _ => sum(&self.once(members)?, members),
        };
        let difference = (by_itself.rate / together.rate).ln().abs();
        let group = HiddenGroup {
            members: members.iter().copied().collect(),
            limit: BytesPerSec::new(together.and(by_itself).rate),
            alone: BytesPerSec::new(sum(&self.alone, members).rate),
            is_confirmed: difference <= CERTAIN * together.noise.hypot(by_itself.noise),
        };
        Ok((group, by_itself))
    }
}

/// Two halves of a group, the pivot in the first.
fn halves(group: &Drives, pivot: usize) -> [Drives; 2] {
    let others: Vec<usize> = group.iter().copied().filter(|at| *at != pivot).collect();
    let (first, second) = others.split_at(others.len() / 2);
    [first.iter().copied().chain([pivot]).collect(), second.iter().copied().collect()]
}

/// The sum over some drives, each with noise of its own.
fn sum(seen: &SeenMeans, who: &Drives) -> Mean {
    let of: Vec<&Mean> = who.iter().filter_map(|at| seen.get(at)).collect();
    let rate: f64 = of.iter().map(|mean| mean.rate).sum::<f64>().max(1.0);
    let squares: f64 = of.iter().map(|mean| (mean.noise * mean.rate).powi(2)).sum();
    Mean { rate, noise: (squares.sqrt() / rate).max(LEAST_NOISE), count: 1 }
}

/// Why the last run of all says that the machine is not as it was at the first.
fn drifted(first: &SeenMeans, last: &SeenMeans) -> Option<String> {
    let everybody: Drives = first.keys().copied().collect();
    let (first, last) = (sum(first, &everybody), sum(last, &everybody));
    let difference = (last.rate / first.rate).ln().abs();
    (difference > (CERTAIN * first.noise.hypot(last.noise)).max(SIGNIFICANT)).then(|| {
        format!(
            "all at once gave {} at the beginning and {} at the end",
            BytesPerSec::new(first.rate),
            BytesPerSec::new(last.rate)
        )
    })
}

/// A group, and the hops that explain it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FoundGroup {
    pub targets: Vec<String>,
    #[serde(flatten)]
    pub group: HiddenGroup,
    /// The hops that its members cross and no other target does; none where the topology hides what they share.
    pub hops: Vec<HopId>,
    /// In words.
    pub sentence: String,
}

/// The verdict on hidden sharing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HiddenVerdict {
    /// The groups that were found.
    pub groups: Vec<FoundGroup>,
    /// Targets that give less than alone, and of which nobody was found that they share with.
    pub unexplained: Vec<String>,
    /// How many runs were made beyond those alone and together.
    pub runs: usize,
    /// Why nothing is certain, where that is so.
    #[serde(rename = "reason", skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// All of it in words.
    pub sentence: String,
}

/// Judges what was found, or why nothing could be. `all` is the verdict on all at once.
pub fn judge(found: Result<Hidden, String>, all: &GroupVerdict) -> HiddenVerdict {
    let found = match found {
        Ok(found) => found,
        Err(why) => {
            let sentence = format!("Hidden groups were not found out: {}.", why.trim_end_matches('.'));
            return HiddenVerdict { doubt: Some(why), sentence, ..HiddenVerdict::default() };
        }
    };
    let groups: Vec<FoundGroup> = found.groups.into_iter().map(|group| explained(group, all)).collect();
    let mut sentences: Vec<String> = groups.iter().map(|one| one.sentence.clone()).collect();
    if groups.is_empty() && found.unexplained.is_empty() {
        let up_to = human::rate(all.together.bytes_per_second);
        sentences.push(format!("No group that shares a limit was seen up to {up_to}."));
    }
    let unexplained = named(all, &found.unexplained);
    if !unexplained.is_empty() {
        sentences.push(format!(
            "{} gives less than alone, and nobody was found that it shares a limit with.",
            unexplained.join(", ")
        ));
    }
    if let Some(drift) = &found.drifted {
        sentences.push(format!("None of this is certain: {drift}."));
    }
    HiddenVerdict {
        groups,
        unexplained,
        runs: found.runs,
        doubt: found.drifted,
        sentence: sentences.join(" "),
    }
}

/// The names of some of all targets.
fn named(all: &GroupVerdict, places: &[usize]) -> Vec<String> {
    let name = |at: &usize| all.targets.get(all.members.iter().position(|member| member == at)?).cloned();
    places.iter().filter_map(name).collect()
}

fn explained(group: HiddenGroup, all: &GroupVerdict) -> FoundGroup {
    let hops: Vec<_> = all.hops.iter().filter(|hop| hop.members == group.members).collect();
    let targets = named(all, &group.members);
    let place = match &hops[..] {
        [] => "no hop that the topology shows is crossed by exactly these".to_owned(),
        several => {
            let names: Vec<&str> = several.iter().map(|hop| hop.name.as_str()).collect();
            format!("exactly these cross {}", names.join(" and "))
        }
    };
    let doubt = if group.is_confirmed { "" } else { ", not confirmed by a run of these alone" };
    let sentence = format!(
        "{} share a limit of {} ({} in sum, each alone){doubt}: {place}.",
        targets.join(" + "),
        group.limit,
        group.alone
    );
    FoundGroup { targets, hops: hops.iter().map(|hop| hop.id.clone()).collect(), group, sentence }
}

#[cfg(test)]
mod tests;
