//! What limited all hosts together. What speaks against the run itself is asked first, then the network by the set of its congested
//! connections, then the servers.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::flows::{Congested, Flow, congested};
use super::point::Point;
use super::record::{PointRecord, Run};
use super::samples::{Activity, FlowActivity};
use crate::Confidence;
use narrows_base::units::{BytesPerSec, human};

/// A processor that is busy for this share of the time is full.
const FULL: f64 = 0.95;
/// A drive with requests in flight for this share of the time is busy all the time.
const DRIVE_BUSY: f64 = 0.95;
/// What reaches this share of a cap or a ceiling is at it.
const AT: f64 = 0.95;
/// Bytes that are missing further along the way beyond this share came from a cache.
const MISSING: f64 = 0.1;

/// What limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
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
    /// Drives.
    Drive,
    /// It is not known.
    Unknown,
}

/// The limit of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The hosts that put load on.
    Clients,
    /// The hosts that serve.
    Servers,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// One sentence.
    pub sentence: String,
    /// The limit.
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
    let limit = limit(case, &conservation);
    let sentence = sentence(case, &limit);
    Verdict { sentence, limit, conservation }
}

impl Case<'_> {
    fn counted(&self) -> Vec<usize> {
        self.point.counted().map(|host| host.client).collect()
    }

    fn rate_of(&self, clients: &BTreeSet<usize>) -> BytesPerSec {
        let hosts = self.point.counted().filter(|host| clients.contains(&host.client));
        hosts.fold(BytesPerSec::default(), |sum, host| sum + host.read.rate + host.write.rate)
    }

    fn reads_most(&self) -> bool {
        self.point.read.rate.get() >= self.point.write.rate.get()
    }

    fn is_remote(&self) -> bool {
        let is_remote = |client: usize| {
            let target = self.run.clients.get(client)?.target.as_ref()?;
            Some(target.server.is_some())
        };
        let counted = self.counted();
        !counted.is_empty() && counted.into_iter().all(|client| is_remote(client) == Some(true))
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

    /// Connections between clients and servers, seen by the side that sends most.
    fn flows(&self) -> Vec<Flow> {
        let mut ends: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for (client, activity) in self.clients.iter().enumerate() {
            for flow in activity.iter().flat_map(|activity| &activity.flows) {
                ends.insert((&flow.remote, &flow.local), client);
            }
        }
        let counted = self.counted();
        let mut flows = Vec::new();
        for (server, activity) in self.servers.iter().enumerate() {
            for theirs in activity.iter().flat_map(|activity| &activity.flows) {
                let Some(client) = ends.get(&(theirs.local.as_str(), theirs.remote.as_str())).copied() else {
                    continue;
                };
                let sender = if self.reads_most() { Some(theirs) } else { self.of_client(client, theirs) };
                let carries = |flow: &FlowActivity| flow.sent.get() > 0.0;
                if let Some(flow) = sender.filter(|flow| carries(flow) && counted.contains(&client)) {
                    flows.push(Flow {
                        client,
                        server,
                        busy: flow.busy,
                        window_limited: flow.window_limited,
                        rtt: flow.rtt,
                        least_rtt: flow.least_rtt,
                    });
                }
            }
        }
        flows
    }

    fn of_client(&self, client: usize, theirs: &FlowActivity) -> Option<&FlowActivity> {
        let activity = self.clients.get(client)?.as_ref()?;
        activity.flows.iter().find(|flow| flow.local == theirs.remote && flow.remote == theirs.local)
    }
}

/// At most three names, and how many more.
fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    const MOST: usize = 3;
    let names: Vec<&str> = names.into_iter().collect();
    match names.len().checked_sub(MOST) {
        Some(more @ 1..) => format!("{} and {more} more", names.get(..MOST).unwrap_or_default().join(", ")),
        _ => names.join(", "),
    }
}

fn conserve(case: &Case<'_>) -> Conservation {
    let clients = case.point.rate();
    // Interfaces send what is read, and receive what is written.
    let side = usize::from(case.reads_most());
    let watched: Vec<&Activity> = case.servers.iter().flatten().collect();
    let is_whole = !watched.is_empty() && watched.len() == case.run.servers.len();
    let servers = (is_whole && case.is_remote())
        .then(|| watched.iter().fold(BytesPerSec::default(), |sum, activity| sum + activity.network()[side]));
    let drives = drives(case);
    let (differs, cache_of) = missing(case, clients, servers, drives).unzip();
    Conservation { clients, servers, drives, differs, cache_of }
}

/// Where bytes are missing along the way, and so whose cache answered.
fn missing(
    case: &Case<'_>,
    clients: BytesPerSec,
    servers: Option<BytesPerSec>,
    drives: Option<BytesPerSec>,
) -> Option<(String, Side)> {
    let short = |of: BytesPerSec, is: &BytesPerSec| is.get() < of.get() * (1.0 - MISSING);
    if let Some(sent) = servers.filter(|sent| short(clients, sent)) {
        let (counted, sent) = (human::rate(clients), human::rate(sent));
        let text = format!(
            "the clients counted {counted}, the servers' network cards carried {sent}: a cache of the clients answered"
        );
        return Some((text, Side::Clients));
    }
    // What is written reaches drives later.
    let before = servers.unwrap_or(clients);
    let carried = drives.filter(|read| case.reads_most() && short(before, read))?;
    let (read, carried) = (human::rate(before), human::rate(carried));
    let side = if case.is_remote() { Side::Servers } else { Side::Clients };
    let of = if side == Side::Servers { "the servers'" } else { "the hosts'" };
    Some((format!("{read} were read, {of} drives carried {carried}: the rest came from memory"), side))
}

/// What the drives below all targets carried: those of the servers where the storage is theirs, else each client's own. `None` where
/// drives of one host are not known.
fn drives(case: &Case<'_>) -> Option<BytesPerSec> {
    let carried = |activity: &Activity, drives: &[String]| {
        drives.iter().try_fold(BytesPerSec::default(), |sum, name| {
            let disk = activity.disks.get(name)?;
            Some(sum + if case.reads_most() { disk.read } else { disk.written })
        })
    };
    let (hosts, activities, places): (_, _, Vec<usize>) = match case.is_remote() {
        true => (&case.run.servers, case.servers, (0..case.run.servers.len()).collect()),
        false => (&case.run.clients, case.clients, case.counted()),
    };
    let mut sum = BytesPerSec::default();
    for place in &places {
        let target = hosts.get(*place)?.target.as_ref()?;
        let activity = activities.get(*place)?.as_ref()?;
        let names = Some(&target.drives).filter(|drives| !drives.is_empty())?;
        sum = sum + carried(activity, names)?;
    }
    (!places.is_empty()).then_some(sum)
}

fn limit(case: &Case<'_>, conservation: &Conservation) -> Limit {
    let named = |kind, name: String, clients: Vec<usize>, confidence, evidence| Limit {
        bytes_per_second: case.rate_of(&clients.iter().copied().collect()),
        kind,
        name,
        clients,
        confidence,
        evidence,
    };
    let all = case.counted();
    if all.is_empty() {
        return named(
            Kind::Unknown,
            "not known".to_owned(),
            all,
            Confidence::Low,
            vec!["no host has a result that counts".to_owned()],
        );
    }
    // Each host has its part of the cap, those that are missing, too.
    let share = all.len() as f64 / case.record.hosts.len().max(1) as f64;
    if let Some(cap) = case.record.load.rate_cap
        && case.point.rate().get() >= cap.get() * share * AT
    {
        let evidence = vec![format!("--rate {} was reached", human::rate(cap))];
        return named(
            Kind::RateCap,
            "the rate that was asked for".to_owned(),
            all,
            Confidence::High,
            evidence,
        );
    }
    if let Some((clients, evidence)) = generator(case) {
        let name = format!("processors of {}", case.names(clients.iter().copied()));
        return named(Kind::Generator, name, clients, Confidence::Medium, evidence);
    }
    if let (Some(differs), Some(Side::Clients)) = (&conservation.differs, conservation.cache_of) {
        let name = "a cache: the storage was not measured".to_owned();
        return named(Kind::Cache, name, all, Confidence::High, vec![differs.clone()]);
    }
    let flows = case.flows();
    if let Some((kind, name, clients, confidence)) = network(case, &flows) {
        let evidence = flow_evidence(case, &flows);
        return named(kind, name, clients, confidence, evidence);
    }
    at_the_storage(case, &flows, conservation, named)
}

/// Clients whose processors are full: all of them, or as many as fio's jobs can use.
fn generator(case: &Case<'_>) -> Option<(Vec<usize>, Vec<String>)> {
    let jobs = f64::from(case.record.load.jobs.max(1)) * 100.0;
    let full = |client: usize| {
        let own = case.point.hosts.iter().find(|host| host.client == client)?;
        let activity = case.clients.get(client).and_then(Option::as_ref);
        let cpu = activity.and_then(|activity| activity.cpu);
        // Where something else keeps the processors busy, that is no limit of the generator alone.
        let half = activity.map_or(0.0, |activity| activity.processors as f64 * 100.0 / 2.0);
        let is_starved = cpu.is_some_and(|share| share >= FULL) && own.cpu_percent >= half;
        let is_full = own.cpu_percent >= jobs * FULL || is_starved;
        is_full.then_some((client, own.cpu_percent, cpu))
    };
    let counted = case.counted();
    let found: Vec<_> = counted.iter().filter_map(|client| full(*client)).collect();
    // Some slow clients among others do not limit the whole.
    if found.is_empty() || found.len() * 2 < counted.len() {
        return None;
    }
    let evidence = found.iter().take(3).map(|(client, own, cpu)| {
        let all = cpu.map_or(String::new(), |share| format!(", all processors {}", human::percent(share)));
        format!("{}: fio's jobs take {own:.0} % of a processor{all}", case.client_name(*client))
    });
    Some((found.iter().map(|(client, ..)| *client).collect(), evidence.collect()))
}

/// The hop of the network that the set of congested connections names.
fn network(case: &Case<'_>, flows: &[Flow]) -> Option<(Kind, String, Vec<usize>, Confidence)> {
    let sorted = |clients: BTreeSet<usize>| clients.into_iter().collect::<Vec<usize>>();
    Some(match congested(flows) {
        Congested::None => return None,
        Congested::Servers(servers) => {
            let of: BTreeSet<usize> =
                flows.iter().filter(|flow| servers.contains(&flow.server)).map(|flow| flow.client).collect();
            let name = format!("network card of {}", case.server_names(servers));
            (Kind::ServerNic, name, sorted(of), Confidence::High)
        }
        Congested::Between(clients) => {
            let name = format!("the network between {} and the servers", case.names(clients.iter().copied()));
            (Kind::Fabric, name, sorted(clients), Confidence::High)
        }
        Congested::Clients(clients) => {
            let name = format!("network card of {}", case.names(clients.iter().copied()));
            (Kind::ClientNic, name, sorted(clients), Confidence::High)
        }
        Congested::EitherSide => {
            let of: BTreeSet<usize> = flows.iter().map(|flow| flow.client).collect();
            (
                Kind::Network,
                "the network; which side of it is not known".to_owned(),
                sorted(of),
                Confidence::Medium,
            )
        }
    })
}

fn flow_evidence(case: &Case<'_>, flows: &[Flow]) -> Vec<String> {
    let describe = |wanted: bool| {
        let of: Vec<&Flow> = flows.iter().filter(|flow| flow.is_congested(flows) == wanted).collect();
        let clients: BTreeSet<usize> = of.iter().map(|flow| flow.client).collect();
        let range = |values: Vec<f64>| {
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(0.0, f64::max);
            (low, high)
        };
        let (busy_low, busy_high) = range(of.iter().map(|flow| flow.busy).collect());
        let (rtt_low, rtt_high) = range(of.iter().map(|flow| flow.rtt.get() as f64).collect());
        let time = |ns: f64| human::time(narrows_base::units::Nanos::new(ns as u64));
        (!of.is_empty()).then(|| {
            format!(
                "connections of {}: data on its way {:.0}–{:.0} % of the time, round trip {} to {}",
                case.names(clients),
                busy_low * 100.0,
                busy_high * 100.0,
                time(rtt_low),
                time(rtt_high)
            )
        })
    };
    [describe(true), describe(false)].into_iter().flatten().collect()
}

/// Where no connection is congested: the servers' processors, drives, or nothing that was seen.
fn at_the_storage(
    case: &Case<'_>,
    flows: &[Flow],
    conservation: &Conservation,
    named: impl Fn(Kind, String, Vec<usize>, Confidence, Vec<String>) -> Limit,
) -> Limit {
    let all = case.counted();
    for (place, activity) in case.servers.iter().enumerate() {
        let Some(activity) = activity else { continue };
        if activity.cpu.is_some_and(|share| share >= FULL) {
            let name = format!("processors of {}", case.server_names([place]));
            let evidence = vec![format!("busy {} of the time", human::percent(activity.cpu.unwrap_or(0.0)))];
            return named(Kind::ServerCpu, name, all, Confidence::Medium, evidence);
        }
    }
    if let Some(differs) = &conservation.differs {
        let mut evidence =
            vec![differs.clone(), "no connection is congested, no processor is full".to_owned()];
        evidence.extend(flow_evidence(case, flows));
        let name = "what the servers serve from memory".to_owned();
        return named(Kind::Cache, name, all, Confidence::Medium, evidence);
    }
    let (hosts, activities) = match case.is_remote() {
        true => (&case.run.servers, case.servers),
        false => (&case.run.clients, case.clients),
    };
    let mut busy = Vec::new();
    for (host, activity) in hosts.iter().zip(activities) {
        let (Some(target), Some(activity)) = (&host.target, activity) else { continue };
        for drive in &target.drives {
            if let Some(disk) = activity.disks.get(drive).filter(|disk| disk.busy >= DRIVE_BUSY) {
                busy.push(format!(
                    "{drive} of {} is busy {} of the time",
                    host.host,
                    human::percent(disk.busy)
                ));
            }
        }
    }
    if !busy.is_empty() {
        busy.truncate(3);
        let name = if case.is_remote() { "drives of the servers" } else { "each host's own drives" };
        return named(Kind::Drive, name.to_owned(), all, Confidence::Medium, busy);
    }
    if !flows.is_empty() {
        let mut evidence = flow_evidence(case, flows);
        evidence.push("no connection is congested, no processor is full".to_owned());
        let name = "the storage of the servers (drives, or the software before them)".to_owned();
        return named(Kind::Drive, name, all, Confidence::Low, evidence);
    }
    let why = match (case.is_remote(), case.run.servers.is_empty()) {
        (true, true) => "the servers were not watched (--servers)",
        (true, false) => "no connection between clients and servers was seen",
        (false, _) => "nothing that was watched was full",
    };
    named(Kind::Unknown, "not known".to_owned(), all, Confidence::Low, vec![why.to_owned()])
}

fn sentence(case: &Case<'_>, limit: &Limit) -> String {
    let counted = case.point.counted().count();
    let hosts = if counted == 1 { "1 client" } else { "clients" };
    let number = if counted == 1 { String::new() } else { format!("{counted} ") };
    let verb = match (case.point.read.rate.get() > 0.0, case.point.write.rate.get() > 0.0) {
        (true, true) => "read and wrote",
        (false, true) => "wrote",
        _ => "read",
    };
    let achieved = format!("{number}{hosts} {verb} {}", human::rate(case.point.rate()));
    if counted == 0 {
        return "No client has a result that counts.".to_owned();
    }
    let share = match limit.clients.len() {
        some if some < counted => {
            format!(" {some} of them ({})", human::rate(limit.bytes_per_second))
        }
        _ => " them".to_owned(),
    };
    match limit.kind {
        Kind::Unknown => format!(
            "{achieved}; what limits them is not known: {}.",
            limit.evidence.first().map_or("nothing was seen", String::as_str)
        ),
        Kind::RateCap => format!("{achieved}, as much as was asked for: no limit was reached."),
        Kind::Cache if limit.confidence == Confidence::High => {
            format!("{achieved}, but from {}.", limit.name)
        }
        Kind::Network => format!("{achieved}; the network limits{share}, and which side of it is not known."),
        _ => format!("{achieved}; {} {}{share}.", limit.name, verb_of(limit)),
    }
}

/// `limits` of one thing, `limit` of several.
fn verb_of(limit: &Limit) -> &'static str {
    let is_many = ["processors", "drives", "each host's own drives"];
    if is_many.iter().any(|many| limit.name.starts_with(many)) { "limit" } else { "limits" }
}

#[cfg(test)]
mod tests;
