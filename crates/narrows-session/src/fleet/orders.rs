//! What the sides of the network's own leg are told and say: a line of JSON each.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How long one step may take.
pub const CONNECT: Duration = Duration::from_secs(10);

/// What one side of a leg is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
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
        flow: Flow,
    },
    /// Connect.
    Use {
        /// The port of a server.
        server: SocketAddr,
        /// What is said first.
        token: String,
        /// What is sent.
        flow: Flow,
    },
    /// When the leg begins, on the host's clock.
    Start {
        /// In nanoseconds since 1970.
        at_ns: u64,
    },
}

/// What flows in a leg.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Flow {
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
pub enum Answer {
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
