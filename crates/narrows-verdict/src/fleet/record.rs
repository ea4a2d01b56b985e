//! What a run on many hosts keeps: `run.json` of its directory.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use narrows_base::units::{Bytes, BytesPerSec, Nanos};

/// The name and version of the record.
pub const SCHEMA: &str = "narrows/fleet-run-record/1";

/// A run on many hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The version of narrows.
    pub narrows: String,
    /// The version of fio on the hosts.
    pub fio: String,
    /// Hosts that put load on.
    pub clients: Vec<Host>,
    /// Hosts that serve the storage and are watched.
    pub servers: Vec<Host>,
    /// The runs, in the order in which they ran.
    pub points: Vec<PointRecord>,
    /// The network alone, where that was measured (`--alone network`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_leg: Option<NetworkLeg>,
    /// The servers' drives alone, where they were measured (`--alone drives=TARGET`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drives_leg: Option<DrivesLeg>,
    /// Why the run ended early.
    pub interrupted: Option<String>,
    /// What could not be taken away from hosts.
    pub left: Vec<Left>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Host {
    /// As it was typed.
    pub host: String,
    /// The directory of its files, below that of each run.
    pub directory: String,
    /// What its clock is ahead of the controller's, in nanoseconds.
    pub clock_ahead_ns: i64,
    /// By how much that may be wrong: half of the fastest round trip.
    pub clock_uncertainty_ns: u64,
    /// What is read or written there.
    pub target: Option<TargetRecord>,
    /// Facts that may tell it from the others: kernel, processor, speed of its network cards.
    pub facts: BTreeMap<String, String>,
}

/// What is read or written on a host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TargetRecord {
    /// What it is there: `/dev/nvme1n1`, `/srv/data`.
    pub found: String,
    pub size: Bytes,
    /// Whether it is read past the page cache.
    pub is_direct: bool,
    /// The storage server that it comes from, as `address:port`, where it is on another host.
    pub server: Option<String>,
    /// Kernel names of the drives that it lies on, where they are known.
    pub drives: Vec<String>,
}

/// One run of all hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PointRecord {
    pub directory: String,
    /// The load of each host.
    pub load: Load,
    /// The planned start, on the controller's clock, in nanoseconds since 1970.
    pub start_ns: u64,
    /// What became of each client that was asked to take part.
    pub hosts: Vec<HostOutcome>,
    /// Whether only a part of the clients was asked, to see what the whole does then (`--prove`).
    pub is_proof: bool,
}

/// What each host does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Load {
    pub block_size: Bytes,
    /// I/Os in flight of each job.
    pub depth: u32,
    /// Jobs of each host.
    pub jobs: u32,
    /// The share of reads, in per cent.
    pub read_percent: u8,
    /// Whether addresses are random.
    pub is_random: bool,
    /// How long.
    pub time_ns: Nanos,
    /// The cap of all hosts together.
    pub rate_cap: Option<BytesPerSec>,
}

/// What became of a host in one run, as the controller saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostOutcome {
    /// Its place among the clients, from 0.
    pub client: usize,
    pub state: State,
    /// Why it is not `ok`.
    pub reason: Option<String>,
    /// When that was known, since the planned start.
    pub known_after_ns: Option<Nanos>,
}

/// What the network carried alone, from memory to memory.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NetworkLeg {
    /// Whether clients sent, and servers received.
    pub is_write: bool,
    /// How long.
    pub time_ns: Nanos,
    /// The cap of all together.
    pub rate_cap: Option<BytesPerSec>,
    /// What came in at the receiving side of each client and server.
    pub flows: Vec<LegFlow>,
    /// The ports that were opened, `server: address:port`. They were closed when the leg began.
    pub opened: Vec<String>,
    /// Hosts that did not take part.
    pub lost: Vec<LegLost>,
}

/// What came in between one client and one server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LegFlow {
    /// The client, by its place.
    pub client: usize,
    /// The server, by its place among the servers.
    pub server: usize,
    /// Bytes within the time.
    pub bytes: Bytes,
}

/// A host that did not take part in a leg.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LegLost {
    pub host: String,
    /// Why.
    pub reason: String,
}

/// What the servers' drives gave alone: each server read its own, all at once.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DrivesLeg {
    /// What was read on each server, as it was typed.
    pub target: String,
    /// The load of each client that it stands for; no other run is compared with it.
    pub load: Option<Load>,
    /// How long.
    pub time_ns: Nanos,
    /// The cap of all together.
    pub rate_cap: Option<BytesPerSec>,
    /// What each server that has a result read.
    pub rates: Vec<DrivesRate>,
    /// Servers that have none.
    pub lost: Vec<LegLost>,
}

/// What one server read of its own drives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DrivesRate {
    /// The server, by its place among the servers.
    pub server: usize,
    /// Its rate in the time that all have in common.
    pub bytes_per_second: BytesPerSec,
}

impl DrivesLeg {
    /// What all together read a second; `None` where nothing was read.
    pub fn rate(&self) -> Option<BytesPerSec> {
        let sum: BytesPerSec = self.rates.iter().map(|one| one.bytes_per_second).sum();
        (sum.get() > 0.0).then_some(sum)
    }

    /// Whether the cap was reached, so that the drives give at least this.
    pub fn is_capped(&self) -> bool {
        is_at(self.rate(), self.rate_cap)
    }
}

/// Whether a rate is at a cap.
fn is_at(rate: Option<BytesPerSec>, cap: Option<BytesPerSec>) -> bool {
    /// What reaches this share of a cap is at it.
    const AT: f64 = 0.95;
    rate.zip(cap).is_some_and(|(rate, cap)| rate.get() >= cap.get() * AT)
}

impl NetworkLeg {
    /// What all together carried a second; `None` where nothing came in.
    pub fn rate(&self) -> Option<BytesPerSec> {
        let bytes: Bytes = self.flows.iter().map(|flow| flow.bytes).sum();
        (bytes.get() > 0 && self.time_ns.get() > 0).then(|| bytes.per(self.time_ns.duration()))
    }

    /// Whether the cap was reached, so that the network carries at least this.
    pub fn is_capped(&self) -> bool {
        is_at(self.rate(), self.rate_cap)
    }
}

/// How a host ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It took part from the beginning to the end.
    Ok,
    /// It began too late, so that less than 95 % of the time is common.
    Late,
    /// fio failed, was killed, or did no I/O.
    Failed,
    /// It did not end in time.
    Hung,
    /// It could not be reached, or not any more.
    Unreachable,
}

impl State {
    /// Whether its numbers count.
    pub const fn counts(self) -> bool {
        matches!(self, Self::Ok | Self::Late)
    }
}

/// What may be left on a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Left {
    pub host: String,
    /// Why it is not known to be clean.
    pub reason: String,
    /// What cleans it.
    pub command: String,
}
