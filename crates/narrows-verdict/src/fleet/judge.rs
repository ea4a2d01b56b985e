//! What limited all hosts together, and the sentence that says so.

mod limit;
mod map;

use std::collections::{BTreeMap, BTreeSet};

use narrows_base::lists::some_of;
use narrows_base::units::{BytesPerSec, human};
use serde::{Deserialize, Serialize};

use super::flows::Flow;
use super::point::{HostPoint, Point};
use super::record::{Host, Load, PointRecord, Run};
use super::samples::{Activity, DiskActivity, FlowActivity};
use crate::Confidence;

pub use map::{FleetMap, MapHop, Part, map};

/// What limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The cap that was asked for.
    RateCap,
    /// The processors of the clients.
    Generator,
    /// A cache answered, not the storage.
    Cache,
    /// The network cards of servers, or what all their connections share.
    ServerNic,
    /// What some clients share on the way to a server.
    Fabric,
    /// The network cards of clients.
    ClientNic,
    /// The network, and it is not known which side of it.
    Network,
    /// The processors of servers.
    ServerCpu,
    Drive,
    /// It is not known.
    Unknown,
}

/// The limit of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limit {
    /// What it is.
    pub kind: Kind,
    /// Its name, for people.
    pub name: String,
    /// The clients that it limits, by their places.
    pub clients: Vec<usize>,
    /// What went through it.
    pub bytes_per_second: BytesPerSec,
    /// How sure that is.
    pub confidence: Confidence,
    /// Why it is named.
    pub evidence: Vec<String>,
}

/// Bytes at each end of the way, a second.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Conservation {
    /// What fio counted on all clients.
    pub clients: BytesPerSec,
    /// What the servers' interfaces carried in that direction; absent where no server was watched.
    pub servers: Option<BytesPerSec>,
    /// What the drives carried; absent where none is known.
    pub drives: Option<BytesPerSec>,
    /// What does not agree, in words.
    pub differs: Option<String>,
    /// Whose cache answered, where bytes are missing further along the way.
    pub cache_of: Option<Side>,
}

/// Clients or servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The hosts that put load on.
    Clients,
    /// The hosts that serve.
    Servers,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// One sentence.
    pub sentence: String,
    pub limit: Limit,
    /// Where bytes are missing.
    pub conservation: Conservation,
}

/// What is known of a run.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The run of all points.
    pub run: &'a Run,
    /// This one.
    pub record: &'a PointRecord,
    /// What was counted.
    pub point: &'a Point,
    /// What each client did, by its place.
    pub clients: &'a [Option<Activity>],
    /// What each server did, by its place.
    pub servers: &'a [Option<Activity>],
}

/// Judges a run.
pub fn judge(case: &Case<'_>) -> Verdict {
    let conservation = conserve(case);
    let mut limit = limit::limit(case, &conservation);
    // How servers are built may be why, and not the network or the clients.
    let is_of_servers =
        matches!(limit.kind, Kind::ServerNic | Kind::ServerCpu | Kind::Network | Kind::Drive | Kind::Unknown);
    if is_of_servers {
        limit.evidence.extend(sockets_evidence(case));
    }
    let sentence = sentence(case, &limit);
    Verdict { sentence, limit, conservation }
}

impl Case<'_> {
    fn counted(&self) -> Vec<usize> {
        self.point.counted().map(|host| host.client).collect()
    }

    fn rate_of(&self, clients: &BTreeSet<usize>) -> BytesPerSec {
        let hosts = self.point.counted().filter(|host| clients.contains(&host.client));
        hosts.map(HostPoint::rate).sum()
    }

    /// A limit of these clients, with how sure it is and why.
    fn limit(&self, kind: Kind, name: &str, clients: Vec<usize>, why: (Confidence, Vec<String>)) -> Limit {
        let (confidence, evidence) = why;
        let bytes_per_second = self.rate_of(&clients.iter().copied().collect());
        Limit { bytes_per_second, kind, name: name.to_owned(), clients, confidence, evidence }
    }

    fn reads_most(&self) -> bool {
        self.point.read.rate.get() >= self.point.write.rate.get()
    }

    /// What a drive carried in the direction of most bytes.
    fn through(&self, disk: &DiskActivity) -> BytesPerSec {
        if self.reads_most() { disk.read } else { disk.written }
    }

    fn is_remote(&self) -> bool {
        self.all_are(true)
    }

    fn is_local(&self) -> bool {
        self.all_are(false)
    }

    /// Whether the storage of each client that counts is known to be a server's, or known to be its own.
    fn all_are(&self, remote: bool) -> bool {
        let is_remote = |client: usize| {
            let target = self.run.clients.get(client)?.target.as_ref()?;
            Some(target.server.is_some())
        };
        let counted = self.counted();
        !counted.is_empty() && counted.into_iter().all(|client| is_remote(client) == Some(remote))
    }

    fn client_name(&self, client: usize) -> &str {
        self.run.clients.get(client).map_or("?", |host| &host.host)
    }

    fn names(&self, clients: impl IntoIterator<Item = usize>) -> String {
        listed(clients.into_iter().map(|client| self.client_name(client)))
    }

    fn server_names(&self, servers: impl IntoIterator<Item = usize>) -> String {
        listed(servers.into_iter().filter_map(|server| Some(self.run.servers.get(server)?.host.as_str())))
    }

    /// Connections between clients and servers, seen by the side that sends most; none where the clients read storage of their own.
    fn flows(&self) -> Vec<Flow> {
        if self.is_local() {
            return Vec::new();
        }
        let ends: BTreeMap<(&str, &str), usize> =
            each_flow(self.clients).map(|(client, flow)| ((&*flow.remote, &*flow.local), client)).collect();
        let counted = self.counted();
        let flows = each_flow(self.servers).filter_map(|(server, theirs)| {
            let client =
                *ends.get(&(&*theirs.local, &*theirs.remote)).filter(|client| counted.contains(client))?;
            let seen = if self.reads_most() { theirs } else { self.of_client(client, theirs)? };
            Some(Flow { client, server, seen: seen.clone(), is_capped: limit::is_at_its_cap(self, client) })
        });
        that_carry(flows.collect())
    }

    fn of_client(&self, client: usize, theirs: &FlowActivity) -> Option<&FlowActivity> {
        let activity = self.clients.get(client)?.as_ref()?;
        activity.flows.iter().find(|flow| flow.local == theirs.remote && flow.remote == theirs.local)
    }
}

/// Each connection that hosts saw, with the place of the host.
fn each_flow(hosts: &[Option<Activity>]) -> impl Iterator<Item = (usize, &FlowActivity)> {
    let seen =
        hosts.iter().enumerate().flat_map(|(place, activity)| activity.iter().map(move |it| (place, it)));
    seen.flat_map(|(place, activity)| activity.flows.iter().map(move |flow| (place, flow)))
}

/// The connections that carry what their client asks for. NVMe/TCP has an administrative queue beside those of data, and controllers
/// that are not in use: a keep-alive now and then, which is never late, says nothing of a queue.
fn that_carry(flows: Vec<Flow>) -> Vec<Flow> {
    /// Of the client's busiest connection. A keep-alive is a command of 72 bytes with its header, every few seconds (`NVME_DEFAULT_KATO`,
    /// 5 s, drivers/nvme/host/nvme.h): far less than a hundredth of what is load.
    const LEAST: f64 = 0.01;
    let mut most: BTreeMap<usize, f64> = BTreeMap::new();
    let sent = |flow: &Flow| flow.seen.sent.get();
    for flow in &flows {
        let of_client = most.entry(flow.client).or_default();
        *of_client = of_client.max(sent(flow));
    }
    let carries = |flow: &Flow| sent(flow) > 0.0 && sent(flow) >= most[&flow.client] * LEAST;
    flows.into_iter().filter(carries).collect()
}

/// At most three names, and how many more.
fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    some_of(&names.into_iter().collect::<Vec<_>>(), 3, ", ")
}

fn sentence(case: &Case<'_>, limit: &Limit) -> String {
    let counted = case.point.counted().count();
    let verb = match (case.point.read.rate.get() > 0.0, case.point.write.rate.get() > 0.0) {
        (true, true) => "read and wrote",
        (false, true) => "wrote",
        _ => "read",
    };
    let achieved = format!("{} {verb} {}", human::counted(counted, "client"), case.point.rate());
    if counted == 0 {
        return "No client has a result that counts.".to_owned();
    }
    let share = match limit.clients.len() {
        some if some < counted => format!(" {some} of them ({})", limit.bytes_per_second),
        _ => " them".to_owned(),
    };
    match limit.kind {
        Kind::Unknown => format!(
            "{achieved}; what limits them is not known: {}.",
            limit.evidence.first().map_or("nothing was seen", String::as_str)
        ),
        Kind::RateCap if limit.clients.len() < counted => {
            let all = limit.clients.len();
            format!("{achieved}; {all} of them as much as was asked for: no limit of all was reached.")
        }
        Kind::RateCap => format!("{achieved}, as much as was asked for: no limit was reached."),
        Kind::Cache if limit.confidence == Confidence::High => {
            format!("{achieved}, but from {}.", limit.name)
        }
        Kind::Network => format!("{achieved}; the network limits{share}, and which side of it is not known."),
        _ => {
            let several = ["processors", "drives", "each host's own drives"];
            let are_several = several.iter().any(|those| limit.name.starts_with(those));
            let verb = if are_several { "limit" } else { "limits" };
            format!("{achieved}; {} {verb}{share}.", limit.name)
        }
    }
}

/// Bytes that are missing further along the way beyond this share came from a cache.
const MISSING: f64 = 0.1;

/// Whether the bytes that clients count also cross the servers' interfaces and their drives.
fn conserve(case: &Case<'_>) -> Conservation {
    let clients = case.point.rate();
    // Interfaces send what is read, and receive what is written.
    let side = usize::from(case.reads_most());
    let watched: Vec<&Activity> = case.servers.iter().flatten().collect();
    let is_whole = !watched.is_empty() && watched.len() == case.run.servers.len();
    let servers =
        (is_whole && case.is_remote()).then(|| watched.iter().map(|activity| activity.network()[side]).sum());
    let drives = drives_carried(case);
    let whole = Conservation { clients, servers, drives, ..Conservation::default() };
    let (differs, cache_of) = missing_bytes(case, &whole).unzip();
    Conservation { differs, cache_of, ..whole }
}

/// Where bytes are missing along the way, and so whose cache answered.
fn missing_bytes(case: &Case<'_>, whole: &Conservation) -> Option<(String, Side)> {
    let Conservation { clients, servers, drives, .. } = *whole;
    let short = |of: BytesPerSec, is: &BytesPerSec| is.get() < of.get() * (1.0 - MISSING);
    if let Some(sent) = servers.filter(|sent| short(clients, sent)) {
        let text = format!(
            "the clients counted {clients}, the servers' network cards carried {sent}: a cache of the clients answered"
        );
        return Some((text, Side::Clients));
    }
    // What is written reaches drives later.
    let before = servers.unwrap_or(clients);
    let carried = drives.filter(|read| case.reads_most() && short(before, read))?;
    let (side, of) = match case.is_remote() {
        true => (Side::Servers, "the servers'"),
        false => (Side::Clients, "the hosts'"),
    };
    Some((format!("{before} were read, {of} drives carried {carried}: the rest came from memory"), side))
}

/// What the drives below all targets carried: those of the servers where the storage is theirs, else each client's own. `None` where
/// drives of one host are not known.
fn drives_carried(case: &Case<'_>) -> Option<BytesPerSec> {
    let (hosts, activities, places): (_, _, Vec<usize>) = match case.is_remote() {
        true => (&case.run.servers, case.servers, (0..case.run.servers.len()).collect()),
        false => (&case.run.clients, case.clients, case.counted()),
    };
    let carried = |place: &usize| -> Option<BytesPerSec> {
        let names = &hosts.get(*place)?.target.as_ref()?.drives;
        let disks = &activities.get(*place)?.as_ref()?.disks;
        let sum: Option<BytesPerSec> = names.iter().map(|name| Some(case.through(disks.get(name)?))).sum();
        sum.filter(|_| !names.is_empty())
    };
    let sum: Option<BytesPerSec> = places.iter().map(carried).sum();
    sum.filter(|_| !places.is_empty())
}

/// A run that gets this share of what a part gave alone is at that part's limit.
const AT_LEG: f64 = 0.9;
/// One that gets less than this share is not limited by it.
const BELOW_LEG: f64 = 0.8;

/// A part of the way alone, with the clients and in the direction of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
struct LegAlone {
    /// Who gave it, for people.
    who: &'static str,
    /// What it gave.
    rate: BytesPerSec,
    /// Whether that was as much as was asked for.
    is_capped: bool,
    /// What the run got.
    run: BytesPerSec,
}

impl LegAlone {
    /// The network. `None` where it was not measured, or with other clients, or the other way.
    fn network(case: &Case<'_>) -> Option<Self> {
        let leg = case.run.network_leg.as_ref().filter(|leg| leg.is_write != case.reads_most())?;
        let of_leg: BTreeSet<usize> =
            leg.flows.iter().filter(|flow| flow.bytes.get() > 0).map(|flow| flow.client).collect();
        let is_same = of_leg == case.counted().into_iter().collect();
        let run = if case.reads_most() { case.point.read.rate } else { case.point.write.rate };
        let who = "the network alone carried";
        leg.rate().filter(|_| is_same).map(|rate| Self { who, rate, is_capped: leg.is_capped(), run })
    }

    /// The drives of all servers. `None` where they were not measured, not on every server, with another load than this run's or for
    /// other clients than those that count, or where the clients have drives of their own: what drives give depends on blocks, order
    /// and I/Os in flight.
    fn drives(case: &Case<'_>) -> Option<Self> {
        let is_same = |of: &Load| *of == case.record.load && !case.record.is_proof;
        let leg = case.run.drives_leg.as_ref().filter(|leg| leg.load.as_ref().is_some_and(is_same))?;
        let all_count = case.counted().len() == case.run.clients.len();
        let is_whole = leg.rates.len() == case.run.servers.len() && all_count && !case.is_local();
        let (who, run) = ("the servers' drives alone gave", case.point.read.rate);
        leg.rate().filter(|_| is_whole).map(|rate| Self { who, rate, is_capped: leg.is_capped(), run })
    }

    /// Whether clients get as much as it gave alone.
    fn is_reached(&self) -> bool {
        !self.is_capped && self.run.get() >= self.rate.get() * AT_LEG
    }

    /// Whether alone it gave clearly more.
    fn gives_more(&self) -> bool {
        self.run.get() < self.rate.get() * BELOW_LEG
    }

    /// For people.
    fn in_words(&self) -> String {
        let more = if self.is_capped { ", as much as was asked for" } else { "" };
        format!("{} {}{more}", self.who, self.rate)
    }
}

/// What the fact is called that tells the node of a drive or an interface.
pub const NODE: &str = "NUMA node of ";
/// What carried less than this share of what the busiest of its kind did carried something else.
const CARRIES_LOAD: f64 = 0.05;

/// Servers whose drives and network cards hang on different sockets: what is served crosses the link between these.
///
/// A sentence for each watched server of which some cards that carried the load are on other nodes than all drives that did, three at
/// most.
fn sockets_evidence(case: &Case<'_>) -> Vec<String> {
    const MOST: usize = 3;
    let servers = case.run.servers.iter().zip(case.servers);
    let said = servers.filter_map(|(host, activity)| across_sockets(case, host, activity.as_ref()?));
    said.take(MOST).collect()
}

fn across_sockets(case: &Case<'_>, host: &Host, activity: &Activity) -> Option<String> {
    let side = usize::from(case.reads_most());
    let nics = activity.nics.iter().map(|(name, rates)| (name, rates[side].get()));
    let disk = |name: &String| Some(case.through(activity.disks.get(name)?).get());
    let drives = host.target.iter().flat_map(|target| &target.drives);
    let drives = drives.filter_map(|name| Some((name, disk(name)?)));
    let (nics, drives) = (by_node(host, nics.collect()), by_node(host, drives.collect()));
    let far: Vec<(&u32, &BTreeSet<&str>)> =
        nics.iter().filter(|(node, _)| !drives.contains_key(node)).collect();
    if far.is_empty() || drives.is_empty() {
        return None;
    }
    let names: Vec<&str> = far.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    let verb = if names.len() == 1 { "is" } else { "are" };
    let of_drives = numbers(drives.keys());
    Some(format!(
        "{}: its drives are on NUMA node {of_drives}, {} {verb} on node {}: what goes through there crosses the link between sockets",
        host.host,
        names.join(", "),
        numbers(far.iter().map(|(node, _)| *node))
    ))
}

/// The names that carried the load, by the node that a fact tells.
fn by_node<'a>(host: &Host, rates: Vec<(&'a String, f64)>) -> BTreeMap<u32, BTreeSet<&'a str>> {
    let most = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let mut nodes: BTreeMap<u32, BTreeSet<&str>> = BTreeMap::new();
    for (name, rate) in rates {
        let node = host.facts.get(&format!("{NODE}{name}")).and_then(|node| node.trim().parse().ok());
        if let Some(node) = node.filter(|_| rate > 0.0 && rate >= most * CARRIES_LOAD) {
            nodes.entry(node).or_default().insert(name);
        }
    }
    nodes
}

fn numbers<'a>(nodes: impl Iterator<Item = &'a u32>) -> String {
    nodes.map(u32::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
