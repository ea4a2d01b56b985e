//! Where a limit is that no known ceiling explains: what several groups tell together.
//!
//! A hop is the place of a limit only where all who lose cross it, where its ceiling is not known (or would be reached), and
//! where no other run sent clearly more across it. What a group loses that its members lose in a smaller group already is
//! the limit of the smaller one.

use std::collections::BTreeSet;

use super::{GroupVerdict, LAW_ERROR, Outcome, Share, SharedHop, words};
use crate::attribution::REACHED;
use narrows_model::path::HopId;

/// Locates the limit of each group that has one. `verdicts` are in the order of [`super::groups`]: smaller groups first.
pub(super) fn all<'a>(verdicts: &mut [GroupVerdict], name: &dyn Fn(usize) -> &'a str) {
    for at in 0..verdicts.len() {
        let (before, rest) = verdicts.split_at_mut(at);
        let Some((verdict, after)) = rest.split_first_mut() else { return };
        if verdict.outcome != Outcome::LimitEachOther {
            continue;
        }
        let losers = losers(verdict);
        let smaller = explaining(before, verdict, &losers);
        if let Some(smaller) = &smaller {
            let places = smaller.iter().flat_map(|one| one.limiting.iter().chain(&one.located));
            verdict.located = places.cloned().collect::<BTreeSet<HopId>>().into_iter().collect();
            verdict.sentence = words::lost_already(verdict, smaller, name);
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
            verdict.sentence = words::located(verdict, &places, name);
        }
    }
}

/// Who gives less than alone; all, where each falls by less than its own interval.
fn losers(verdict: &GroupVerdict) -> BTreeSet<usize> {
    let fallen: BTreeSet<usize> =
        verdict.shares.iter().filter(|share| share.falls_short()).map(|share| share.member).collect();
    if fallen.is_empty() { verdict.members.iter().copied().collect() } else { fallen }
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
    let has_room = |hop: &SharedHop| {
        let is_known = hop.is_known();
        is_known && hop.fraction().is_some_and(|part| part < REACHED)
    };
    verdict
        .hops
        .iter()
        .filter(move |hop| losers.iter().all(|loser| hop.members.contains(loser)) && !has_room(hop))
}

/// Whether another run sent clearly more across a hop than this one did.
fn carried_more(other: &GroupVerdict, hop: &SharedHop) -> bool {
    let is_sound =
        matches!(other.outcome, Outcome::NoSharedLimit | Outcome::SharedLimit | Outcome::LimitEachOther);
    is_sound
        && other
            .hops
            .iter()
            .any(|same| same.id == hop.id && same.together.get() > hop.together.get() * LAW_ERROR)
}
