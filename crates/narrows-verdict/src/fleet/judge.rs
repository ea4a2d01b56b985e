//! What limited all hosts together, and the sentence that says so.

mod alone;
mod conserve;
mod limit;
mod map;
mod numa;

pub use numa::NODE;

pub use map::{FleetMap, MapHop, Part, map};

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::flows::Flow;
use super::point::Point;
use super::record::{PointRecord, Run};
use super::samples::{Activity, FlowActivity};
use crate::Confidence;
use narrows_base::units::{BytesPerSec, human};

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
    /// Drives.
    Drive,
    /// It is not known.
    Unknown,
}

impl Kind {
    /// Whether how servers are built may be why, and not the network or the clients.
    const fn is_of_servers(self) -> bool {
        matches!(self, Self::ServerNic | Self::ServerCpu | Self::Network | Self::Drive | Self::Unknown)
    }
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
    let conservation = conserve::conserve(case);
    let mut limit = limit::limit(case, &conservation);
    if limit.kind.is_of_servers() {
        limit.evidence.extend(numa::evidence(case));
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
        hosts.fold(BytesPerSec::default(), |sum, host| sum + host.read.rate + host.write.rate)
    }

    fn reads_most(&self) -> bool {
        self.point.read.rate.get() >= self.point.write.rate.get()
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
        let mut ends: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for (client, activity) in self.clients.iter().enumerate() {
            for flow in activity.iter().flat_map(|activity| &activity.flows) {
                ends.insert((&flow.remote, &flow.local), client);
            }
        }
        let counted = self.counted();
        let mut flows: Vec<(f64, Flow)> = Vec::new();
        for (server, activity) in self.servers.iter().enumerate() {
            for theirs in activity.iter().flat_map(|activity| &activity.flows) {
                let Some(client) = ends.get(&(theirs.local.as_str(), theirs.remote.as_str())).copied() else {
                    continue;
                };
                let sender = if self.reads_most() { Some(theirs) } else { self.of_client(client, theirs) };
                if let Some(flow) = sender.filter(|_| counted.contains(&client)) {
                    let seen = Flow {
                        client,
                        server,
                        busy: flow.busy,
                        window_limited: flow.window_limited,
                        rtt: flow.rtt,
                        least_rtt: flow.least_rtt,
                        is_capped: limit::is_at_its_cap(self, client),
                    };
                    flows.push((flow.sent.get(), seen));
                }
            }
        }
        that_carry(flows)
    }

    fn of_client(&self, client: usize, theirs: &FlowActivity) -> Option<&FlowActivity> {
        let activity = self.clients.get(client)?.as_ref()?;
        activity.flows.iter().find(|flow| flow.local == theirs.remote && flow.remote == theirs.local)
    }
}

/// The connections that carry what their client asks for. NVMe/TCP has an administrative queue beside those of data, and controllers
/// that are not in use: a keep-alive now and then, which is never late, says nothing of a queue.
fn that_carry(flows: Vec<(f64, Flow)>) -> Vec<Flow> {
    /// Of the client's busiest connection. A keep-alive is a command of 72 bytes with its header, every few seconds (`NVME_DEFAULT_KATO`,
    /// 5 s, drivers/nvme/host/nvme.h): far less than a hundredth of what is load.
    const LEAST: f64 = 0.01;
    let mut most: BTreeMap<usize, f64> = BTreeMap::new();
    for (sent, flow) in &flows {
        let of_client = most.entry(flow.client).or_default();
        *of_client = of_client.max(*sent);
    }
    let carries = |sent: f64, flow: &Flow| sent > 0.0 && sent >= most[&flow.client] * LEAST;
    flows.into_iter().filter(|(sent, flow)| carries(*sent, flow)).map(|(_, flow)| flow).collect()
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
        Kind::RateCap if limit.clients.len() < counted => {
            let all = limit.clients.len();
            format!("{achieved}; {all} of them as much as was asked for: no limit of all was reached.")
        }
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
