//! The hops that the bytes of a run crossed: hosts, the network between them, servers, drives. Hosts that are alike are one hop together.

use std::collections::{BTreeMap, BTreeSet};

use narrows_base::fact::Fact;
use narrows_base::lists::{distinct, ends};
use narrows_base::units::{BitsPerSec, Bytes, BytesPerSec};
use narrows_model::ceiling::{self, Direction};
use narrows_model::path::NetworkHop;
use serde::{Deserialize, Serialize};

use super::limit::FULL;
use super::{CARRIES_LOAD, Case, Kind, LegAlone, Limit};
use crate::fleet::flows::{Congested, congested};
use crate::fleet::record::Host;
use crate::fleet::samples::Activity;
use crate::word;

/// A drive that carried less than this share of what the busiest one of its host did is none of the storage that was asked.
const DRIVE_CARRIES: f64 = 0.01;

/// The hops of a run, in the direction in which more bytes went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetMap {
    /// The direction: that of most bytes.
    pub direction: Direction,
    /// The hops, from the hosts that put load on to the drives.
    pub hops: Vec<MapHop>,
}

/// Which part of the way a hop is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Processors of the hosts that put load on. They are on the map where they limit.
    #[default]
    ClientProcessors,
    /// Network cards of these hosts.
    ClientNetwork,
    /// What is between network cards: switches and cables.
    Network,
    /// Network cards of the hosts that serve.
    ServerNetwork,
    /// Processors of these hosts. They are on the map where they limit.
    ServerProcessors,
    Drives,
}

/// A hop, of one host or of several that are alike.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MapHop {
    /// What it is called by the others.
    pub id: String,
    /// Which part of the way it is.
    pub part: Part,
    /// The hosts whose hop it is; of the network those whose data crosses it.
    pub hosts: Vec<String>,
    /// Kernel names of the drives that carried data, of each host the same or those of the first; empty for other parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drives: Vec<String>,
    /// What all of them together can carry in the direction of the map, each second.
    pub ceiling: Option<BytesPerSec>,
    /// How the ceiling was worked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub formula: Option<String>,
    /// Why the ceiling is `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What all of them together carried in the common time, each second. Of clients what fio counted, of servers and drives what their
    /// counters did.
    pub measured: Option<BytesPerSec>,
    /// The least and the most that one host carried, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each: Option<[BytesPerSec; 2]>,
    /// The least and the most busy of them, as shares of the common time; only of what tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy: Option<[f64; 2]>,
    /// Hosts of it that have no result that counts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: usize,
    /// The hops that are next, towards the drives.
    pub behind: Vec<String>,
    /// Whether the verdict names it.
    pub is_narrowest: bool,
}

const fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The hops of a run. `apart` are clients that are unlike the others, which have a hop of their own. `None` where no host counts.
pub fn map(case: &Case<'_>, limit: &Limit, apart: &BTreeSet<usize>) -> Option<FleetMap> {
    if case.counted().is_empty() {
        return None;
    }
    let direction = if case.reads_most() { Direction::Read } else { Direction::Write };
    let mut made = Made { case, limit, direction, hops: Vec::new() };
    let groups = made.clients_alike(apart);
    match case.is_remote() {
        true => made.remote(&groups),
        false => made.local(&groups),
    }
    Some(FleetMap { direction, hops: made.hops })
}

/// Hosts, and what each of them did.
type Seen<'s> = (&'s [Host], &'s [Option<Activity>]);

/// The hops so far.
struct Made<'a> {
    case: &'a Case<'a>,
    limit: &'a Limit,
    direction: Direction,
    hops: Vec<MapHop>,
}

impl Made<'_> {
    /// Clients, the network, servers, drives.
    fn remote(&mut self, groups: &[AlikeHosts]) {
        let far = self.servers();
        let network = self.network(groups, &far);
        for (number, group) in groups.iter().enumerate() {
            let behind = network[usize::from(network.len() > 1 && !group.is_limited())].clone();
            let mut hop = group.hop(Part::ClientNetwork, number, vec![behind]);
            hop.is_narrowest = self.limit.kind == Kind::ClientNic && group.is_limited();
            self.client(group, number, hop);
        }
        self.hops.sort_by_key(|hop| hop.part);
    }

    /// Hosts, each with drives of its own.
    fn local(&mut self, groups: &[AlikeHosts]) {
        for (number, group) in groups.iter().enumerate() {
            let hop = self.drives(group, (&self.case.run.clients, self.case.clients), number);
            let lost = group.hop(Part::Drives, number, Vec::new()).lost;
            self.client(group, number, MapHop { lost, ..hop });
        }
        self.hops.sort_by_key(|hop| hop.part);
    }

    /// The hop of a group of clients, with its processors before it where they limit.
    fn client(&mut self, group: &AlikeHosts, number: usize, hop: MapHop) {
        if self.limit.kind == Kind::Generator && group.is_limited() {
            let mut before = group.hop(Part::ClientProcessors, number, vec![hop.id.clone()]);
            before.no_ceiling("how much the processors can do is not known; they are full");
            before.is_narrowest = true;
            self.hops.push(before);
        }
        self.hops.push(hop);
    }

    /// What lies between network cards: one hop, or two where some clients share what limits them.
    fn network(&mut self, groups: &[AlikeHosts], far: &[String]) -> Vec<String> {
        let is_split = self.limit.kind == Kind::Fabric && groups.iter().any(|group| !group.is_limited());
        let sides: Vec<Option<bool>> = if is_split { vec![Some(true), Some(false)] } else { vec![None] };
        let mut ids = Vec::new();
        for (number, side) in sides.into_iter().enumerate() {
            let of: Vec<&AlikeHosts> =
                groups.iter().filter(|group| side.is_none_or(|side| group.is_limited() == side)).collect();
            let mut hop = AlikeHosts::united(&of).hop(Part::Network, number, far.to_vec());
            hop.no_ceiling("no switch or cable between the hosts was looked at");
            let alone = LegAlone::network(self.case).filter(|alone| side.is_none() && !alone.is_capped);
            if let Some(alone) = alone {
                (hop.ceiling, hop.reason) = (Some(alone.rate), None);
                hop.formula = Some("measured alone, from memory to memory (--alone network)".to_owned());
            }
            hop.is_narrowest = match self.limit.kind {
                Kind::Fabric => side != Some(false),
                Kind::Network => true,
                _ => false,
            };
            ids.push(hop.id.clone());
            self.hops.push(hop);
        }
        ids
    }

    /// The hosts that serve, with their drives; what the network leads to.
    fn servers(&mut self) -> Vec<String> {
        let case = self.case;
        if case.run.servers.is_empty() {
            return self.unwatched();
        }
        let full = match congested(&case.flows()) {
            Congested::Servers(servers) if self.limit.kind == Kind::ServerNic => servers,
            _ => BTreeSet::new(),
        };
        let mut ids = Vec::new();
        for (number, group) in self.servers_alike(&full).iter().enumerate() {
            let drives = self.drives(group, (&case.run.servers, case.servers), number);
            let mut behind = drives.id.clone();
            self.hops.push(drives);
            if self.limit.kind == Kind::ServerCpu && group.is_limited() {
                let mut hop = group.hop(Part::ServerProcessors, number, vec![behind]);
                hop.no_ceiling("how much the processors can do is not known; they are full");
                (hop.is_narrowest, hop.measured) = (true, None);
                behind = hop.id.clone();
                self.hops.push(hop);
            }
            let mut hop = group.hop(Part::ServerNetwork, number, vec![behind]);
            hop.is_narrowest = self.limit.kind == Kind::ServerNic && group.is_limited();
            ids.push(hop.id.clone());
            self.hops.push(hop);
        }
        ids
    }

    /// Servers of which only the addresses are known.
    fn unwatched(&mut self) -> Vec<String> {
        let targets = self.case.run.clients.iter().filter_map(|host| host.target.as_ref());
        let addresses: BTreeSet<&str> = targets.filter_map(|target| target.server.as_deref()).collect();
        let hop = MapHop {
            hosts: addresses.into_iter().map(str::to_owned).collect(),
            reason: Some("the servers were not watched (--servers names them)".to_owned()),
            ..empty(Part::ServerNetwork, 0)
        };
        let id = hop.id.clone();
        self.hops.push(hop);
        vec![id]
    }

    /// The drives of these hosts.
    fn drives(&self, group: &AlikeHosts, (hosts, activities): Seen<'_>, number: usize) -> MapHop {
        let mut hop = empty(Part::Drives, number);
        hop.reason = Some("the drives were not measured alone".to_owned());
        hop.is_narrowest = self.limit.kind == Kind::Drive;
        let (mut carried, mut busy) = (Vec::new(), Vec::new());
        for place in group.hosts.iter().map(|host| host.place) {
            let Some(host) = hosts.get(place) else { continue };
            hop.hosts.push(host.host.clone());
            let names = host.target.iter().flat_map(|target| &target.drives);
            let activity = activities.get(place).and_then(Option::as_ref);
            let disks = names.filter_map(|name| Some((name, activity?.disks.get(name)?)));
            let rates: Vec<_> =
                disks.map(|(name, disk)| (name, self.case.through(disk), disk.busy)).collect();
            let most = rates.iter().map(|(_, rate, _)| rate.get()).fold(0.0, f64::max);
            let is_used = |rate: f64| rate > 0.0 && rate >= most * DRIVE_CARRIES;
            let used = || rates.iter().filter(|(_, rate, _)| is_used(rate.get()));
            if hop.drives.is_empty() {
                hop.drives = used().map(|(name, ..)| (*name).clone()).collect();
            }
            busy.extend(used().map(|(.., busy)| *busy));
            if !rates.is_empty() {
                carried.push(rates.iter().map(|(_, rate, _)| *rate).sum());
            }
        }
        // The sum of some hosts is not that of all.
        if carried.len() == group.hosts.len() {
            (hop.measured, hop.each) = summed(&carried);
        }
        if carried.is_empty() {
            hop.reason = Some("which drives hold the data is not known".to_owned());
        }
        hop.busy = ends(&busy);
        hop
    }
}

impl MapHop {
    fn no_ceiling(&mut self, why: &str) {
        (self.ceiling, self.formula, self.reason) = (None, None, Some(why.to_owned()));
    }
}

fn empty(part: Part, number: usize) -> MapHop {
    let id = format!("{}-{}", word(part).replace('_', "-"), number + 1);
    MapHop { id, part, ..MapHop::default() }
}

/// The sum of rates, and the least and the most of several; nothing of none.
fn summed(rates: &[BytesPerSec]) -> (Option<BytesPerSec>, Option<[BytesPerSec; 2]>) {
    let sum = rates.iter().copied().reduce(|a, b| a + b);
    (sum, ends(rates).filter(|_| rates.len() > 1))
}

/// The most hops of one kind. The hosts of further ones are one hop together.
const MOST_HOPS_OF_A_KIND: usize = 6;

#[derive(Debug, Clone, Default)]
struct AlikeHosts {
    hosts: Vec<MapHost>,
}

/// What makes hosts alike: whether the verdict is about all and not about them, whether they are like the others, whether they have
/// no result, their network cards and how many drives. Groups stand in this order.
type AlikeKey = (bool, bool, bool, String, usize);

/// One host.
#[derive(Debug, Clone)]
struct MapHost {
    /// Its place among the clients, or among the servers.
    place: usize,
    name: String,
    card: HostCards,
    measured: Option<BytesPerSec>,
    is_lost: bool,
    /// Whether the verdict is about it and not about all.
    is_limited: bool,
    /// Whether it is like the others.
    is_usual: bool,
}

impl MapHost {
    fn key(&self, host: &Host) -> AlikeKey {
        let drives = host.target.as_ref().map_or(0, |target| target.drives.len());
        let card = match &self.card.ceiling {
            // Filled with zeros, so that the narrowest stand first.
            Ok((rate, formula)) => format!("{:020.0} {formula}", rate.get()),
            Err(why) => why.clone(),
        };
        (!self.is_limited, self.is_usual, self.is_lost, card, drives)
    }
}

impl Made<'_> {
    /// The clients that were asked.
    fn clients_alike(&self, apart: &BTreeSet<usize>) -> Vec<AlikeHosts> {
        let (case, limit) = (self.case, self.limit);
        let is_about_some = matches!(limit.kind, Kind::Fabric | Kind::ClientNic | Kind::Generator);
        let hosts = case.point.hosts.iter().filter_map(|seen| {
            let host = case.run.clients.get(seen.client)?;
            let activity = case.clients.get(seen.client).and_then(Option::as_ref);
            let side = self.direction.pick(&seen.read, &seen.write);
            let counts = seen.outcome.state.counts();
            let one = MapHost {
                place: seen.client,
                name: host.host.clone(),
                card: HostCards::of(host, activity, self.direction == Direction::Read),
                measured: counts.then_some(side.rate),
                is_lost: !counts,
                is_limited: is_about_some && limit.clients.contains(&seen.client),
                is_usual: !apart.contains(&seen.client),
            };
            Some((one.key(host), one))
        });
        grouped(hosts)
    }

    /// The servers that were watched; `full` are those whose network cards are.
    fn servers_alike(&self, full: &BTreeSet<usize>) -> Vec<AlikeHosts> {
        let hosts = self.case.run.servers.iter().enumerate().map(|(place, host)| {
            let activity = self.case.servers.get(place).and_then(Option::as_ref);
            let card = HostCards::of(host, activity, self.direction == Direction::Write);
            let is_busy = activity.and_then(|activity| activity.cpu).is_some_and(|share| share >= FULL);
            let one = MapHost {
                place,
                name: host.host.clone(),
                measured: card.carried,
                card,
                is_lost: false,
                is_limited: full.contains(&place) || self.limit.kind == Kind::ServerCpu && is_busy,
                is_usual: true,
            };
            (one.key(host), one)
        });
        grouped(hosts)
    }
}

fn grouped(hosts: impl Iterator<Item = (AlikeKey, MapHost)>) -> Vec<AlikeHosts> {
    let mut groups: BTreeMap<AlikeKey, AlikeHosts> = BTreeMap::new();
    hosts.for_each(|(key, one)| groups.entry(key).or_default().hosts.push(one));
    let mut groups: Vec<AlikeHosts> = groups.into_values().collect();
    // What the verdict names stays apart from what it does not.
    while groups.len() > MOST_HOPS_OF_A_KIND {
        let (Some(last), Some(before)) = (groups.pop(), groups.pop()) else { break };
        if last.is_limited() != before.is_limited() {
            groups.extend([before, last]);
            break;
        }
        groups.push(AlikeHosts::united(&[&before, &last]));
    }
    groups
}

impl AlikeHosts {
    /// All hosts of these.
    fn united(groups: &[&Self]) -> Self {
        let hosts = groups.iter().flat_map(|group| group.hosts.iter().cloned()).collect();
        Self { hosts }
    }

    fn is_limited(&self) -> bool {
        self.hosts.iter().all(|host| host.is_limited)
    }

    /// These hosts as one hop, with what their network cards can carry.
    fn hop(&self, part: Part, number: usize, behind: Vec<String>) -> MapHop {
        let names = self.hosts.iter().map(|host| host.name.clone()).collect();
        let lost = self.hosts.iter().filter(|host| host.is_lost).count();
        let mut hop = MapHop { hosts: names, lost, behind, ..empty(part, number) };
        match self.hosts.iter().map(|host| host.card.ceiling.clone()).collect::<Result<Vec<_>, String>>() {
            Ok(cards) => {
                hop.ceiling = summed(&cards.iter().map(|(rate, _)| *rate).collect::<Vec<_>>()).0;
                hop.formula = cards.first().map(|first| match cards.len() {
                    1 => first.1.clone(),
                    // `58 × 1.18 GB/s: why`.
                    count if cards.iter().all(|card| card == first) => {
                        format!("{count} × {}: {}", first.0, first.1)
                    }
                    count => format!("the network cards of {count} hosts together"),
                });
            }
            Err(why) => hop.reason = Some(why),
        }
        let measured: Vec<BytesPerSec> = self.hosts.iter().filter_map(|host| host.measured).collect();
        // A host without a result carried nothing that counts; a server without counters may have.
        if measured.len() + lost == self.hosts.len() {
            (hop.measured, hop.each) = summed(&measured);
        }
        hop
    }
}

/// The cards of which facts are known carried the load if they carried this share of what the busiest interface did.
const SHARE_OF_KNOWN_CARDS: f64 = 0.5;

/// What the network cards of a host can carry that carried the load, and what they did.
///
/// The network cards of a host.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HostCards {
    /// What they can carry and how that was worked out, or why it is not known.
    pub(super) ceiling: Result<(BytesPerSec, String), String>,
    /// What they carried; absent where no counter was seen.
    pub(super) carried: Option<BytesPerSec>,
}

impl HostCards {
    /// Whether it carries all that it can. One that does not tell its line rate, or that something shapes, is never known to.
    pub(super) fn is_full(&self) -> bool {
        /// What reaches this share of a ceiling is at it; counters have headers besides, which the ceiling has not.
        const FULL: f64 = 0.95;
        let ceiling = self.ceiling.as_ref().ok().map(|(ceiling, _)| ceiling.get());
        self.carried.zip(ceiling).is_some_and(|(carried, ceiling)| carried.get() >= ceiling * FULL)
    }

    /// `receives`: whether the bytes of the map come in here, or go out.
    pub(super) fn of(host: &Host, activity: Option<&Activity>, receives: bool) -> Self {
        let Some(activity) = activity else {
            return Self { ceiling: Err("its network cards were not seen".to_owned()), carried: None };
        };
        let side = usize::from(!receives);
        let rate = |name: &str| activity.nics.get(name).map_or(0.0, |rates| rates[side].get());
        let most =
            activity.nics.keys().filter(|name| *name != "lo").map(|name| rate(name)).fold(0.0, f64::max);
        let names = host.facts.keys().filter_map(|fact| fact.strip_prefix("speed of "));
        let used: Vec<&str> =
            names.filter(|name| rate(name) > 0.0 && rate(name) >= most * CARRIES_LOAD).collect();
        let carried = used.iter().map(|name| rate(name)).sum::<f64>();
        if used.is_empty() || carried < most * SHARE_OF_KNOWN_CARDS {
            let why = "the interface that carried the load is no network card of its own, or did not tell its line rate";
            return Self { ceiling: Err(why.to_owned()), carried: Some(activity.network()[side]) };
        }
        Self { ceiling: cards_together(host, &used), carried: Some(BytesPerSec::new(carried)) }
    }
}

/// What these interfaces can carry together; not known where it is not of one of them.
fn cards_together(host: &Host, names: &[&str]) -> Result<(BytesPerSec, String), String> {
    let limits = names
        .iter()
        .map(|name| card(host, name).ok_or_else(|| format!("{name} does not tell its line rate")));
    let limits: Vec<ceiling::Limit> = limits.collect::<Result<_, String>>()?;
    let sum = limits.iter().map(|limit| limit.rate).sum();
    let formulas = distinct(limits.into_iter().map(|limit| limit.formula)).join("; ");
    let count = if names.len() == 1 { String::new() } else { format!("{} cards: ", names.len()) };
    Ok((sum, format!("{count}{formulas}")))
}

/// What an interface can carry.
fn card(host: &Host, name: &str) -> Option<ceiling::Limit> {
    let number = |fact: &str| {
        let text = host.facts.get(&format!("{fact} of {name}"))?;
        text.trim().parse::<f64>().ok().filter(|value| *value > 0.0 && value.is_finite())
    };
    let (speed, mtu) =
        (BitsPerSec::new(number("speed")? * 1e6), number("MTU").map(|mtu| Bytes::new(mtu as u64)));
    let hop = NetworkHop {
        interface: name.to_owned(),
        speed: Fact::known(speed, format!("/sys/class/net/{name}/speed")),
        mtu: mtu.map_or_else(Fact::default, |mtu| Fact::known(mtu, format!("/sys/class/net/{name}/mtu"))),
        ..NetworkHop::default()
    };
    // Both directions carry the same.
    ceiling::network::of_network(&hop).read.limit().cloned()
}

#[cfg(test)]
mod tests;
