//! The verdict on targets that ran at the same time, in words.

use std::collections::BTreeSet;

use narrows_base::lists::known_of;
use narrows_base::units::{BytesPerSec, human};
use narrows_model::path::HopId;

use super::{Evidence, GroupVerdict, LAW_ERROR, Outcome, Rate, Share, SharedHop};
use crate::attribution::REACHED;
use crate::sentence::counted;

/// Rates within this part of their mean are told as one.
const ALIKE: f64 = 0.05;

pub(super) fn not_known(why: &str) -> String {
    format!("Whether they limit each other is not known: {}.", why.trim_end_matches('.'))
}

pub(super) fn no_limit(verdict: &GroupVerdict) -> String {
    let up_to = human::rate(verdict.together.bytes_per_second);
    format!("No shared limit was seen up to {up_to}: {}.", compared(&verdict.shares))
}

pub(super) fn generator(verdict: &GroupVerdict, evidence: &[Evidence]) -> String {
    let who = evidence.first().map_or("narrows", |first| first.fact.as_str());
    let how =
        if who == "narrows" { "narrows itself could ask for no more" } else { "all processors were busy" };
    format!("At the same time {}; {how}, so this says nothing of a shared hop.", compared(&verdict.shares))
}

/// Where they limit each other, and who gets least.
pub(super) fn limited(verdict: &GroupVerdict, limiting: &[SharedHop]) -> String {
    let mut sentences: Vec<String> = limiting.iter().map(|hop| at_ceiling(verdict, hop)).collect();
    if limiting.is_empty() {
        sentences
            .push(format!("They limit each other: {}. The hop is not known.", compared(&verdict.shares)));
        let shared: Vec<&str> =
            verdict.hops.iter().filter(|hop| hop.ceiling.is_none()).map(|hop| hop.name.as_str()).collect();
        if !shared.is_empty() {
            sentences.push(format!("They share hops of unknown ceiling: {}.", shared.join(", ")));
        }
    } else {
        let is_explained = |share: &Share| limiting.iter().any(|hop| hop.members.contains(&share.member));
        let unexplained = verdict.shares.iter().filter(|share| share.falls_short() && !is_explained(share));
        let unexplained: Vec<&str> = unexplained.map(|share| share.target.as_str()).collect();
        if !unexplained.is_empty() {
            let who = unexplained.join(", ");
            sentences.push(format!("No hop at its ceiling explains why {who} gets less than alone."));
        }
    }
    sentences.extend(fairness(&verdict.shares));
    sentences.join(" ")
}

/// Where the limit is by who loses and who does not.
fn located(verdict: &GroupVerdict, places: &[&SharedHop]) -> String {
    let names: Vec<&str> = places.iter().map(|hop| hop.name.as_str()).collect();
    let is_crossing = |share: &&Share| places.iter().any(|hop| hop.members.contains(&share.member));
    let who = verdict.shares.iter().filter(is_crossing).map(|share| share.target.as_str());
    let who = who.collect::<Vec<_>>().join(", ");
    let place = match names[..] {
        [one] => one.to_owned(),
        _ => format!("one of these: {}", names.join("; ")),
    };
    let limited = format!("They limit each other: {}.", compared(&verdict.shares));
    let place = format!(
        "The limit is at {place}, which {who} cross and whose ceiling is not known, or at something that the topology does not show."
    );
    known_of([Some(limited), Some(place), fairness(&verdict.shares)], " ")
}

/// What is lost is lost in smaller groups already.
fn lost_already(verdict: &GroupVerdict, smaller: &[&GroupVerdict]) -> String {
    let groups: Vec<String> = smaller.iter().map(|one| one.targets.join(" + ")).collect();
    format!(
        "All at once lose no more than in smaller groups ({}): {}. No further limit was seen up to {}.",
        groups.join("; "),
        compared(&verdict.shares),
        verdict.together.bytes_per_second
    )
}

pub(super) fn at_ceiling(verdict: &GroupVerdict, hop: &SharedHop) -> String {
    let ceiling = hop.ceiling.map_or(String::new(), human::rate);
    let shares: Vec<Share> =
        verdict.shares.iter().filter(|share| hop.members.contains(&share.member)).cloned().collect();
    let carries = human::rate(hop.together);
    format!("{} carries {carries} of {ceiling}: {}.", hop.name, compared(&shares))
}

/// What disproves a ceiling: more crossed the hop.
pub(super) fn more_than_foretold(hop: &SharedHop) -> String {
    let carries = human::rate(hop.together);
    let ceiling = hop.ceiling.map_or(String::new(), human::rate);
    format!("{} carried {carries}, more than the {ceiling} that were foretold.", hop.name)
}

/// `four targets that give 3.5 GB/s alone get 3.2 GB/s each`, or in sum where they differ.
fn compared(shares: &[Share]) -> String {
    let count = counted(shares.len(), 12);
    let sum = |of: fn(&Share) -> Rate| -> BytesPerSec {
        shares.iter().map(|share| of(share).bytes_per_second).sum()
    };
    let (alone, together) = (sum(|share| share.alone), sum(|share| share.together));
    let is_alike = |of: fn(&Share) -> Rate, sum: BytesPerSec| {
        let mean = sum / shares.len().max(1) as f64;
        shares.iter().all(|share| (of(share).bytes_per_second.fraction_of(mean) - 1.0).abs() <= ALIKE)
    };
    if is_alike(|share| share.alone, alone) && is_alike(|share| share.together, together) {
        let each = |sum: BytesPerSec| human::rate(sum / shares.len().max(1) as f64);
        return format!("{count} targets that give {} alone get {} each", each(alone), each(together));
    }
    format!("{count} targets that give {alone} in sum, each alone, get {together} in sum together")
}

/// Who gets least of what it gives alone, where that is more than chance.
fn fairness(shares: &[Share]) -> Option<String> {
    let by_part = |a: &&Share, b: &&Share| a.part().unwrap_or(1.0).total_cmp(&b.part().unwrap_or(1.0));
    let (least, most) = (shares.iter().min_by(by_part)?, shares.iter().max_by(by_part)?);
    let ([_, high], [low, _]) = least.part_within().zip(most.part_within())?;
    (high < low).then(|| {
        let told = |share: &Share| (share.target.clone(), human::percent(share.part().unwrap_or(1.0)));
        let ((least, part), (most, other)) = (told(least), told(most));
        format!("{least} gets the least, {part} of what it gives alone; {most} gets {other}.")
    })
}

/// Where a limit is that no known ceiling explains: what several groups tell together.
///
/// A hop is the place of a limit only where all who lose cross it, where its ceiling is not known (or would be reached), and
/// where no other run sent clearly more across it. What a group loses that its members lose in a smaller group already is
/// the limit of the smaller one.
///
/// Locates the limit of each group that has one. `verdicts` are in the order of [`super::groups`]: smaller groups first.
pub(super) fn locate_all(verdicts: &mut [GroupVerdict]) {
    for at in 0..verdicts.len() {
        let (before, rest) = verdicts.split_at_mut(at);
        let Some((verdict, after)) = rest.split_first_mut() else { return };
        if verdict.outcome != Outcome::LimitEachOther {
            continue;
        }
        let losers = verdict.losers();
        let smaller = explaining(before, verdict, &losers);
        if let Some(smaller) = &smaller {
            let places = smaller.iter().flat_map(|one| one.limiting.iter().chain(&one.located));
            verdict.located = places.cloned().collect::<BTreeSet<HopId>>().into_iter().collect();
            verdict.sentence = lost_already(verdict, smaller);
            continue;
        }
        let others = || before.iter().chain(&*after);
        let places: Vec<SharedHop> = candidates(verdict, &losers)
            .filter(|hop| !others().any(|other| carried_more(other, hop)))
            .cloned()
            .collect();
        // Of hops that all losers cross, those that fewest others cross say most.
        let fewest = places.iter().map(|hop| hop.members.len()).min();
        let places: Vec<&SharedHop> = places.iter().filter(|hop| Some(hop.members.len()) == fewest).collect();
        verdict.located = places.iter().map(|hop| hop.id.clone()).collect();
        if !places.is_empty() {
            verdict.sentence = located(verdict, &places);
        }
    }
}

/// The smaller groups with a limit in which each loser has lost as much already; `None` where one loses more.
fn explaining<'v>(
    before: &'v [GroupVerdict],
    verdict: &GroupVerdict,
    losers: &BTreeSet<usize>,
) -> Option<Vec<&'v GroupVerdict>> {
    let limited = |one: &&GroupVerdict| {
        matches!(one.outcome, Outcome::LimitEachOther | Outcome::SharedLimit)
            && one.members.len() < verdict.members.len()
            && one.members.iter().all(|member| verdict.members.contains(member))
    };
    let mut found: Vec<&GroupVerdict> = Vec::new();
    for loser in losers {
        let share_of = |one: &GroupVerdict| one.shares.iter().find(|share| share.member == *loser).cloned();
        let now: Share = share_of(verdict)?;
        // The largest group that it is in: what it loses there it may lose here without a limit of this one.
        let smaller = before.iter().rev().filter(limited).find(|one| share_of(one).is_some())?;
        if now.together.falls_short_of(share_of(smaller)?.together) {
            return None;
        }
        if !found.iter().any(|one| one.members == smaller.members) {
            found.push(smaller);
        }
    }
    (!found.is_empty()).then_some(found)
}

/// The hops that all losers cross and that have no known ceiling with room left.
fn candidates<'v>(
    verdict: &'v GroupVerdict,
    losers: &BTreeSet<usize>,
) -> impl Iterator<Item = &'v SharedHop> {
    let has_room = |hop: &SharedHop| hop.is_known() && hop.fraction().is_some_and(|part| part < REACHED);
    let crossed =
        verdict.hops.iter().filter(move |hop| losers.iter().all(|loser| hop.members.contains(loser)));
    crossed.filter(move |hop| !has_room(hop))
}

/// Whether another run sent clearly more across a hop than this one did.
fn carried_more(other: &GroupVerdict, hop: &SharedHop) -> bool {
    let is_sound =
        matches!(other.outcome, Outcome::NoSharedLimit | Outcome::SharedLimit | Outcome::LimitEachOther);
    let mut same = other.hops.iter().filter(|same| same.id == hop.id && is_sound);
    same.any(|same| same.together.get() > hop.together.get() * LAW_ERROR)
}
