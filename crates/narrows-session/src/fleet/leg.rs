//! The network alone, without storage: each server opens one port on the address that clients reach its storage by, for this leg only,
//! for these clients only, and for those alone that know a token.
//!
//! iperf3 serves one client at a time and has no token without a key file; fio's net engine has one connection for each job and takes
//! whoever comes first. What goes over the wire here is the token and then bytes, so that one port serves all clients at once.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::link::{Leg, Link, Looked};
use super::script::Token;
use super::started::now;
use super::{each, fan_out};
use narrows_base::units::{Bytes, Nanos};
use narrows_verdict::fleet::record::{LegFlow, LegLost, NetworkLeg};

/// How much longer than one step a port waits for each client.
const CONNECT_OF_EACH: Duration = Duration::from_millis(200);
/// How long after the end of a leg a server is gone by itself.
pub(super) const GRACE: Duration = Duration::from_secs(3);
/// A leg is no longer than this: it fills queues in a fraction of a second.
pub(super) const LONGEST: Duration = Duration::from_secs(5);
/// From the word that the leg begins to its beginning.
const LEAD: Duration = Duration::from_millis(300);
/// Connections of each client, as one alone may be limited by one processor; of many clients one each.
const STREAMS: usize = 4;
/// With more clients than this each has one connection.
const MANY: usize = 64;

/// Hosts with one part in a run, each with its connection and what is known of it.
#[derive(Default)]
pub(super) struct Ends {
    pub(super) links: Vec<Option<Link>>,
    pub(super) known: Vec<Looked>,
}

impl Ends {
    /// The connection of one of them.
    pub(super) fn link(&self, place: usize) -> Option<&Link> {
        self.links.get(place)?.as_ref()
    }

    /// A moment of our clock on that of one of them.
    pub(super) fn on_host(&self, place: usize, ours: u64) -> u64 {
        self.known.get(place).map_or(ours, |known| known.clock.on_host(ours))
    }

    fn lost(&self, place: usize, reason: String) -> LegLost {
        let host = self.link(place).map_or_else(|| "?".to_owned(), |link| link.host.to_string());
        LegLost { host, reason }
    }
}

/// One client on its way to a server.
struct Pair {
    client: usize,
    server: usize,
    own: IpAddr,
    leg: Leg,
}

/// Runs a leg as `record` says, which gets what came of it. Why there is none stands among what is lost.
pub(super) fn run(clients: &Ends, servers: &Ends, mut record: NetworkLeg) -> NetworkLeg {
    let ways = ways(clients, &mut record.lost);
    if ways.is_empty() {
        return record;
    }
    let patience = LEG_STEP + CONNECT_OF_EACH * u32::try_from(ways.len()).unwrap_or(u32::MAX);
    let flow = LegLoad {
        is_write: record.is_write,
        time_ns: record.time_ns.get(),
        streams: if ways.len() > MANY { 1 } else { STREAMS },
        cap: record.rate_cap.map(|cap| (cap.get() / ways.len() as f64) as u64),
        patience_ns: Nanos::from(patience).get(),
    };
    let Ok(token) = Token::long() else { return record };
    let ports = listen(servers, &ways, (&token, flow), &mut record);
    let pairs = connect(clients, &ways, &ports, (&token, flow), &mut record.lost);
    // All are told the same moment, each on its own clock.
    let start = now().saturating_add(Nanos::from(LEAD).get());
    for (server, (_, leg)) in &ports {
        leg.tell(&LegOrder::Start { at_ns: servers.on_host(*server, start) });
    }
    for pair in &pairs {
        pair.leg.tell(&LegOrder::Start { at_ns: clients.on_host(pair.client, start) });
    }
    let patience = record.time_ns.duration() + GRACE;
    if record.is_write {
        for (server, (_, leg)) in &ports {
            let Ok(LegAnswer::Received(bytes)) = leg.answer(patience) else { continue };
            let of = |pair: &Pair| Some((pair.client, *bytes.get(&pair.own)?));
            let here = pairs.iter().filter(|pair| pair.server == *server).filter_map(of);
            record.flows.extend(here.map(|(client, bytes)| flow_of(client, *server, bytes)));
        }
    } else {
        for pair in &pairs {
            match pair.leg.answer(patience) {
                Ok(LegAnswer::Received(bytes)) => {
                    record.flows.push(flow_of(pair.client, pair.server, bytes.values().sum()));
                }
                other => record.lost.push(clients.lost(pair.client, said(other))),
            }
        }
    }
    record.flows.sort_by_key(|flow| (flow.client, flow.server));
    record
}

const fn flow_of(client: usize, server: usize, bytes: u64) -> LegFlow {
    LegFlow { client, server, bytes: Bytes::new(bytes) }
}

fn said(answer: Result<LegAnswer, String>) -> String {
    match answer {
        Ok(LegAnswer::Refused(why)) | Err(why) => why,
        Ok(_) => "it answers something else".to_owned(),
    }
}

/// The address of each client's server as the client reaches it, and the client's own towards it.
fn ways(clients: &Ends, missing: &mut Vec<LegLost>) -> Vec<(usize, IpAddr, IpAddr)> {
    let with_target = clients.known.iter().enumerate().filter_map(|(place, known)| {
        let target = known.look.target.as_ref()?.as_ref().ok()?;
        Some((place, clients.link(place)?, target.server.clone()))
    });
    let asked: Vec<_> = with_target.collect();
    let told = each(&asked, fan_out(), |(place, link, server)| {
        let Some(server) = server else { return Err((*place, "its target is on no server".to_owned())) };
        let leg = link.side(&LegOrder::Way { server: server.clone() }).map_err(|why| (*place, why))?;
        match leg.answer(LEG_STEP) {
            Ok(LegAnswer::Way { server, own }) => Ok((*place, server, own)),
            other => Err((*place, said(other))),
        }
    });
    came(told, clients, missing)
}

/// Opens the port of each server; a server without one of the addresses is named.
fn listen(
    servers: &Ends,
    ways: &[(usize, IpAddr, IpAddr)],
    (token, flow): (&Token, LegLoad),
    record: &mut NetworkLeg,
) -> BTreeMap<usize, (SocketAddr, Leg)> {
    let order = LegOrder::Serve {
        addresses: ways.iter().map(|(_, server, _)| *server).collect(),
        clients: ways.iter().map(|(.., own)| *own).collect(),
        token: token.to_string(),
        flow,
    };
    let mut ports = BTreeMap::new();
    for (place, link) in servers.links.iter().enumerate() {
        let Some(link) = link else { continue };
        let opened = link.side(&order).and_then(|leg| match leg.answer(LEG_STEP) {
            Ok(LegAnswer::Listening(port)) => Ok((port, leg)),
            other => Err(said(other)),
        });
        match opened {
            Ok(opened) => {
                record.opened.push(format!("{}: {}", link.host, opened.0));
                ports.insert(place, opened);
            }
            Err(why) => record.lost.push(servers.lost(place, why)),
        }
    }
    ports
}

/// Connects each client with the server that has its address.
fn connect(
    clients: &Ends,
    ways: &[(usize, IpAddr, IpAddr)],
    ports: &BTreeMap<usize, (SocketAddr, Leg)>,
    (token, flow): (&Token, LegLoad),
    missing: &mut Vec<LegLost>,
) -> Vec<Pair> {
    let open: Vec<(usize, SocketAddr)> = ports.iter().map(|(server, (port, _))| (*server, *port)).collect();
    let port_of = |address: &IpAddr| open.iter().find(|(_, port)| port.ip() == *address).copied();
    let connected = each(ways, fan_out(), |(client, address, own)| {
        let (server, port) = port_of(address)
            .ok_or_else(|| (*client, format!("{address} is an address of none of --servers")))?;
        let link = clients.link(*client).ok_or_else(|| (*client, "it is gone".to_owned()))?;
        let order = LegOrder::Use { server: port, token: token.to_string(), flow };
        let leg = link.side(&order).map_err(|why| (*client, why))?;
        match leg.answer(LEG_STEP) {
            Ok(LegAnswer::Connected) => Ok(Pair { client: *client, server, own: *own, leg }),
            other => Err((*client, said(other))),
        }
    });
    came(connected, clients, missing)
}

/// Those that came; the others are missing.
fn came<T>(all: Vec<Result<T, (usize, String)>>, of: &Ends, missing: &mut Vec<LegLost>) -> Vec<T> {
    let mut gone = |(place, why)| missing.push(of.lost(place, why));
    all.into_iter().filter_map(|one| one.map_err(&mut gone).ok()).collect()
}

/// How long one step may take.
pub const LEG_STEP: Duration = Duration::from_secs(10);

/// What one side of a leg is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LegOrder {
    /// Say by which address a server is reached, and from which.
    Way {
        /// The server, with its port where that is named.
        server: String,
    },
    /// Open a port.
    Serve {
        /// Addresses of storage servers, of which one is this host's.
        addresses: BTreeSet<IpAddr>,
        /// Who may connect.
        clients: BTreeSet<IpAddr>,
        /// What all say first.
        token: String,
        /// What is sent.
        flow: LegLoad,
    },
    /// Connect.
    Use {
        /// The port of a server.
        server: SocketAddr,
        /// What is said first.
        token: String,
        /// What is sent.
        flow: LegLoad,
    },
    /// When the leg begins, on the host's clock.
    Start {
        /// In nanoseconds since 1970.
        at_ns: u64,
    },
}

/// What flows in a leg.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LegLoad {
    /// Whether clients send, as they do when they write.
    pub is_write: bool,
    /// For so long.
    pub time_ns: u64,
    /// Connections of each client.
    pub streams: usize,
    /// The cap of one client, in bytes a second.
    pub cap: Option<u64>,
    /// How long a port waits for the beginning, after which it is closed.
    pub patience_ns: u64,
}

/// What a side of a leg says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LegAnswer {
    /// The server's address, and ours towards it.
    Way {
        /// Its address.
        server: IpAddr,
        /// Ours.
        own: IpAddr,
    },
    /// A port is open.
    Listening(SocketAddr),
    /// All connections are there.
    Connected,
    /// Bytes that came in within the leg, by the address of the other side.
    Received(BTreeMap<IpAddr, u64>),
    /// It cannot be done.
    Refused(String),
}
