//! Hosts that are alike, so that many are one hop.

use std::collections::{BTreeMap, BTreeSet};

use narrows_base::units::BytesPerSec;
use narrows_model::ceiling::Direction;

use super::card::Card;
use super::{Case, FULL, Kind, Limit, MapHop, Part, empty, summed, times};

/// The most hops of one kind. The hosts of further ones are one hop together.
const MOST: usize = 6;

/// Hosts that are alike.
#[derive(Debug, Clone, Default)]
pub(super) struct Group {
    /// Their places among the clients, or among the servers.
    pub(super) places: Vec<usize>,
    /// Whether the verdict is about them and not about all.
    pub(super) is_limited: bool,
    names: Vec<String>,
    cards: Vec<Result<(BytesPerSec, String), String>>,
    measured: Vec<Option<BytesPerSec>>,
    lost: usize,
}

/// What makes hosts alike; groups stand in this order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    is_free: bool,
    is_usual: bool,
    is_lost: bool,
    card: String,
    drives: usize,
}

/// One host.
struct One {
    place: usize,
    name: String,
    card: Card,
    measured: Option<BytesPerSec>,
    is_lost: bool,
}

/// The clients that were asked.
pub(super) fn clients(
    case: &Case<'_>,
    limit: &Limit,
    direction: Direction,
    apart: &BTreeSet<usize>,
) -> Vec<Group> {
    let is_about_some = matches!(limit.kind, Kind::Fabric | Kind::ClientNic | Kind::Generator);
    let hosts = case.point.hosts.iter().filter_map(|seen| {
        let host = case.run.clients.get(seen.client)?;
        let activity = case.clients.get(seen.client).and_then(Option::as_ref);
        let side = if direction == Direction::Read { &seen.read } else { &seen.write };
        let counts = seen.outcome.state.counts();
        let one = One {
            place: seen.client,
            name: host.host.clone(),
            card: Card::of(host, activity, direction == Direction::Read),
            measured: counts.then_some(side.rate),
            is_lost: !counts,
        };
        let drives = host.target.as_ref().map_or(0, |target| target.drives.len());
        let key = key(
            &one,
            is_about_some && limit.clients.contains(&seen.client),
            !apart.contains(&seen.client),
            drives,
        );
        Some((key, one))
    });
    grouped(hosts)
}

/// The servers that were watched; `full` are those whose network cards are.
pub(super) fn servers(
    case: &Case<'_>,
    direction: Direction,
    full: &BTreeSet<usize>,
    limit: &Limit,
) -> Vec<Group> {
    let hosts = case.run.servers.iter().enumerate().map(|(place, host)| {
        let activity = case.servers.get(place).and_then(Option::as_ref);
        let card = Card::of(host, activity, direction == Direction::Write);
        let is_busy = limit.kind == Kind::ServerCpu
            && activity.and_then(|activity| activity.cpu).is_some_and(|share| share >= FULL);
        let one = One { place, name: host.host.clone(), measured: card.carried, card, is_lost: false };
        let drives = host.target.as_ref().map_or(0, |target| target.drives.len());
        (key(&one, full.contains(&place) || is_busy, true, drives), one)
    });
    grouped(hosts)
}

fn key(one: &One, is_limited: bool, is_usual: bool, drives: usize) -> Key {
    let card = match &one.card.ceiling {
        // Filled with zeros, so that the narrowest stand first.
        Ok((rate, formula)) => format!("{:020.0} {formula}", rate.get()),
        Err(why) => why.clone(),
    };
    Key { is_free: !is_limited, is_usual, is_lost: one.is_lost, card, drives }
}

fn grouped(hosts: impl Iterator<Item = (Key, One)>) -> Vec<Group> {
    let mut groups: BTreeMap<Key, Group> = BTreeMap::new();
    for (key, one) in hosts {
        let group = groups.entry(key.clone()).or_default();
        group.is_limited = !key.is_free;
        group.places.push(one.place);
        group.names.push(one.name);
        group.cards.push(one.card.ceiling);
        group.measured.push(one.measured);
        group.lost += usize::from(one.is_lost);
    }
    let mut groups: Vec<Group> = groups.into_values().collect();
    // What the verdict names stays apart from what it does not.
    while groups.len() > MOST {
        let (Some(last), Some(before)) = (groups.pop(), groups.pop()) else { break };
        if last.is_limited != before.is_limited {
            groups.extend([before, last]);
            break;
        }
        groups.push(Group::united(&[&before, &last]));
    }
    groups
}

impl Group {
    /// All hosts of these.
    pub(super) fn united(groups: &[&Self]) -> Self {
        let mut all = Self { is_limited: groups.iter().all(|group| group.is_limited), ..Self::default() };
        for group in groups {
            all.places.extend(&group.places);
            all.names.extend(group.names.iter().cloned());
            all.cards.extend(group.cards.iter().cloned());
            all.measured.extend(&group.measured);
            all.lost += group.lost;
        }
        all
    }

    /// These hosts as one hop, with what their network cards can carry.
    pub(super) fn hop(&self, part: Part, number: usize, behind: Vec<String>) -> MapHop {
        let mut hop = MapHop { hosts: self.names.clone(), lost: self.lost, behind, ..empty(part, number) };
        match self.cards.iter().cloned().collect::<Result<Vec<_>, String>>() {
            Ok(cards) => {
                hop.ceiling = summed(&cards.iter().map(|(rate, _)| *rate).collect::<Vec<_>>()).0;
                let alike = cards.iter().all(|card| Some(card) == cards.first());
                hop.formula = cards.first().map(|(rate, formula)| match alike {
                    true => times(cards.len(), *rate, formula),
                    false => format!("the network cards of {} hosts together", cards.len()),
                });
            }
            Err(why) => hop.reason = Some(why),
        }
        let measured: Vec<BytesPerSec> = self.measured.iter().copied().flatten().collect();
        // A host without a result carried nothing that counts; a server without counters may have.
        if measured.len() + self.lost == self.measured.len() {
            (hop.measured, hop.each) = summed(&measured);
        }
        hop
    }
}
