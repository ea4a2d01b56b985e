//! Where in a stack of layers is the rate lost?
//!
//! [`judge`] is handed one [`Rung`] for each measurement, from the media up: a layer alone, or the layers right below one
//! at the same time. The loss of a rung is what it falls short of the layers below it, which were measured with the same
//! load right before. Its cause is decided in a fixed order that suspects ourselves first: a cache that answered, the
//! generator, a resync; then what the layer itself is known to do (striping, read balance, a cipher); then what the
//! attribution of a single run finds (`verdict::attribution`), a full processor, and last that no counter tells.
//!
//! The bottleneck is the highest rung with a loss: what lies below it has room. Without any loss it is what limits the
//! layers below, as a single run shows it.

mod crypt;
mod raid;
mod step;

use narrows_base::units::{Bytes, BytesPerSec, Nanos};
use narrows_machine::Machine;
use narrows_model::ceiling::{self, Direction};
use narrows_model::path::{Hop, HopId, HopKind};
use serde::{Deserialize, Serialize};

use crate::attribution::{Attribution, Cause as Found};
use crate::case::Case;
use crate::finding::{Confidence, Evidence};
use crate::{Code, Finding, Subject};

pub use raid::NodeRun;

/// A rung that falls this much short of the layers below it has lost something: measurements of one thing differ by a few
/// percent.
pub const SIGNIFICANT: f64 = 0.05;

/// One measurement of a ladder.
#[derive(Debug, Clone)]
pub struct Rung {
    /// The layer; of several at once, the layer that joins them.
    pub hop: HopId,
    /// Whether this is the layers right below `hop` at the same time, not `hop` itself.
    pub at_once: bool,
    /// The path to the layer, its ceilings, and its run where there is one.
    pub subject: Subject,
    /// The rungs of the layers right below, each alone, as places in the list.
    pub members: Vec<usize>,
    /// The rung with all of `members` at once, where there is one.
    pub together: Option<usize>,
    /// Why it was not measured.
    pub unmeasured: Option<String>,
}

impl Rung {
    /// What was measured.
    pub fn rate(&self) -> Option<BytesPerSec> {
        self.subject.runs.first().map(|run| run.measurement.bytes_per_second)
    }

    /// The direction of its run; reads, without one.
    fn direction(&self) -> Direction {
        self.subject.runs.first().map_or(Direction::Read, |run| run.direction)
    }

    /// Whether it gives less than `before`, by more than chance explains.
    fn falls_short_of(&self, before: BytesPerSec) -> bool {
        let Some(run) = self.subject.runs.first() else { return false };
        let rate = run.measurement.bytes_per_second;
        let high = run.measurement.ci95.map_or(rate, |[_, high]| high);
        rate < before * (1.0 - SIGNIFICANT) && high < before
    }
}

/// Why a layer gives less than those below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Memory answered, so the rate is not that of the layer.
    Cache,
    /// narrows itself could ask for no more.
    Generator,
    /// An array moves bytes of its own.
    Resync,
    /// The cipher uses up the cores that it gets.
    CipherPerCore,
    /// The cipher is called for every 512 bytes, and the calls cost more than the cipher.
    CryptSectorSize,
    /// dm-crypt's hand-over to its work queues and back takes the time.
    CryptHandoff,
    /// Every member gets the same share, so all wait for the slowest.
    SlowestMember,
    /// The requests are too few or too small to keep all members of a stripe busy.
    ChunkOrDepth,
    /// A mirror does not read from all of its members alike.
    ReadBalance,
    /// The one thread of a parity array uses up its core.
    StripeThread,
    /// The bytes lie on one device after the other.
    Linear,
    /// Requests wait in the kernel's scheduler while the device has room.
    Scheduler,
    /// The file system.
    Filesystem,
    /// The processors that read are on another node than the device.
    NumaRemote,
    /// A hop on the way (a link, an uplink, a port) has reached its ceiling.
    CeilingReached,
    Network,
    /// The far end of a network.
    Remote,
    /// All processors are busy.
    Processor,
    /// The medium carries no more: nothing is lost above it.
    Medium,
    /// No counter tells.
    Unknown,
}

/// What a rung lost, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Loss {
    /// Why.
    pub cause: Cause,
    /// The hop that causes it.
    pub hop: HopId,
    /// One sentence with the numbers.
    pub summary: String,
    /// How we know.
    pub evidence: Vec<Evidence>,
    /// How sure we are.
    pub confidence: Confidence,
}

/// The verdict on one rung.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Step {
    /// What the layers below give at once; `None` where nothing lies below, or was not measured.
    #[serde(rename = "below_bytes_per_second")]
    pub below: Option<BytesPerSec>,
    /// The part of it that is gone, negative where the rung is faster.
    pub lost: Option<f64>,
    /// Why, where it is more than chance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
    /// Whether to believe the measurement; `None` without one.
    pub trusted: Option<bool>,
    /// The narrowest known ceiling of the path to this rung, as a place in its path, and its rate for the application.
    #[serde(skip)]
    pub ceiling: Option<(usize, BytesPerSec)>,
    /// What each block layer of the rung's path did.
    #[serde(rename = "layers")]
    pub flows: Vec<BlockFlow>,
}

/// The verdict on a ladder.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LadderVerdict {
    /// One for each rung, in order.
    pub steps: Vec<Step>,
    /// The bottleneck, with its cause.
    pub limiting: Option<Loss>,
    /// The rung that shows it.
    pub at: Option<usize>,
    /// What comes next once that is gone.
    pub next: Option<Loss>,
    /// One sentence.
    pub sentence: String,
    /// All findings, worst first: those of the highest rung, and what the ladder alone shows.
    pub findings: Vec<Finding>,
}

/// Judges a ladder: `rungs` from the media up. The same input gives the same verdict.
pub fn judge(machine: &Machine, rungs: &[Rung], numa: &[NodeRun]) -> LadderVerdict {
    let steps: Vec<Step> = (0..rungs.len()).map(|index| step::of(machine, rungs, index)).collect();
    let top = rungs.iter().rposition(|rung| !rung.at_once && rung.rate().is_some());
    let mut named = causes(machine, rungs, &steps, top).into_iter();
    let (at, limiting) = named.next().unzip();
    let next = named
        .map(|(_, loss)| loss)
        .find(|loss| limiting.as_ref().is_none_or(|first: &Loss| first.hop != loss.hop));
    let highest = top.and_then(|top| rungs.get(top));
    let mut findings = highest
        .map_or_else(Vec::new, |rung| super::judge(machine, std::slice::from_ref(&rung.subject)).findings);
    if let Some(loss) = limiting.as_ref().filter(|loss| loss.cause == Cause::Scheduler) {
        // The single run cannot see whether requests wait at the device or in its scheduler.
        findings.retain(|found| found.code != Code::DeviceLimited || found.hop.as_ref() != Some(&loss.hop));
    }
    findings.extend(rungs.last().and_then(|rung| raid::numa_remote(numa, rung)));
    findings.sort_by_key(|finding| finding.severity);
    let sentence = step::sentence(rungs, &steps, top, limiting.as_ref(), next.as_ref());
    LadderVerdict { steps, limiting, at, next, sentence, findings }
}

/// The losses from the top down, and behind them what limits the lowest layers.
fn causes(machine: &Machine, rungs: &[Rung], steps: &[Step], top: Option<usize>) -> Vec<(usize, Loss)> {
    let is_on_way = |index: &usize| top.is_some_and(|top| *index <= top);
    let losses = steps.iter().enumerate().rev().filter(|(index, _)| is_on_way(index));
    let losses = losses.filter_map(|(index, step)| Some((index, step.loss.clone()?)));
    let lowest = top.and_then(|top| Some((top, step::plain(machine, rungs.get(top)?)?)));
    losses.chain(lowest).collect()
}

/// The narrowest known ceiling of the path to a rung. The hop that members hang on is no part of them.
fn ceiling(rung: &Rung) -> Option<(usize, BytesPerSec)> {
    let subject = &rung.subject;
    let ranked = ceiling::rank(&subject.path, &subject.ceilings, rung.direction());
    let is_own = |hop: &Hop| !(rung.at_once && hop.id == rung.hop);
    let mut own = ranked.into_iter().filter(|narrow| subject.path.hops.get(narrow.hop).is_some_and(is_own));
    own.next().map(|narrow| (narrow.hop, narrow.rate))
}

/// The same cause in the words of the ladder. A medium that gives what is published of it is no other cause than one that
/// gives what it gives.
fn translated(case: &Case<'_>, found: &Attribution) -> Cause {
    let is_medium = case.path().hops.get(found.hop).is_some_and(|hop| hop.kind() == HopKind::Device);
    match found.cause {
        Found::Explained if is_medium => Cause::Medium,
        Found::Cache => Cause::Cache,
        Found::Generator => Cause::Generator,
        Found::Resync => Cause::Resync,
        Found::Cipher => Cause::CipherPerCore,
        Found::MdThread => Cause::StripeThread,
        Found::Filesystem => Cause::Filesystem,
        Found::SlowMember => Cause::SlowestMember,
        Found::Network => Cause::Network,
        Found::Remote => Cause::Remote,
        Found::Explained => Cause::CeilingReached,
        Found::Smallest | Found::Medium => Cause::Medium,
    }
}

/// What kind of leg it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LegKind {
    /// A cipher, decrypting.
    Cipher,
    /// Copying from memory to memory.
    MemoryCopy,
    /// I/Os that do nothing, through our own engine.
    Nop,
    /// The network to a peer.
    Network,
}

/// One leg.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Leg {
    /// What kind of leg it is.
    pub kind: LegKind,
    /// What was run: `xts(aes), 512 bit key`.
    pub name: String,
    /// Cores that worked on it.
    pub cores: u32,
    /// What came of it; a NOP counts as a block of the load.
    pub bytes_per_second: Option<BytesPerSec>,
    /// By what means: the kernel's driver, AF_ALG, io_uring, iperf3.
    pub means: String,
    /// Why it was not measured, and what would measure it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Leg {
    /// A leg that was measured.
    pub fn measured(
        kind: LegKind,
        name: impl Into<String>,
        cores: u32,
        rate: BytesPerSec,
        means: &str,
    ) -> Self {
        let bytes_per_second = Some(rate);
        Self { kind, name: name.into(), cores, bytes_per_second, means: means.to_owned(), reason: None }
    }

    /// A leg that was not measured, for this reason.
    pub fn missing(kind: LegKind, name: impl Into<String>, reason: impl Into<String>) -> Self {
        let (name, reason) = (name.into(), Some(reason.into()));
        Self { kind, name, cores: 0, bytes_per_second: None, means: String::new(), reason }
    }

    /// The engine's own ceiling on one core for blocks of this size, from what an I/O that does nothing costs it in
    /// nanoseconds.
    pub fn nop(ns_per_io: f64, block: Bytes, engine: &str) -> Self {
        let rate = if ns_per_io > 0.0 { block.as_f64() / ns_per_io * 1e9 } else { 0.0 };
        let name = format!("I/O that does nothing, {ns_per_io:.0} ns each");
        Self::measured(LegKind::Nop, name, 1, BytesPerSec::new(rate), engine)
    }
}

/// What each block layer of a path did in a run: how requests were split and merged, and where they waited.
///
/// What a block layer did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlockFlow {
    /// Its kernel name.
    pub block: String,
    /// What it is.
    pub kind: HopKind,
    /// Bytes that it moved in the run's direction.
    pub bytes: Bytes,
    /// Requests that it completed in either direction.
    pub requests: u64,
    /// The mean size of a request.
    #[serde(rename = "request_bytes")]
    pub request_size: Bytes,
    /// The mean number of requests in flight (Little's law).
    pub in_flight: f64,
    /// The mean number of bytes in flight.
    #[serde(rename = "in_flight_bytes")]
    pub bytes_in_flight: Bytes,
    /// The mean number of requests that the driver held; `None` where it was not sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_driver: Option<f64>,
    /// The fraction of time with a request in flight.
    pub busy: f64,
    /// The mean time of a read; `None` without reads.
    #[serde(rename = "read_latency_ns", skip_serializing_if = "Option::is_none")]
    pub latency: Option<Nanos>,
}

/// The layers of a case that the kernel keeps counters of, in path order.
fn block_flows(case: &Case<'_>) -> Vec<BlockFlow> {
    case.hops().filter_map(|(_, hop)| block_flow(case, hop)).collect()
}

/// One of them.
fn block_flow(case: &Case<'_>, hop: &Hop) -> Option<BlockFlow> {
    if hop.kind() == HopKind::BlockQueue {
        return None;
    }
    let block = hop.block_name()?;
    let disk = case.disk(block)?;
    let requests = disk.reads.saturating_add(disk.writes);
    let all = (disk.read_bytes + disk.written_bytes).get();
    let size = all.checked_div(requests).unwrap_or(0);
    Some(BlockFlow {
        block: block.to_owned(),
        kind: hop.kind(),
        bytes: Bytes::new(case.moved(disk) as u64),
        requests,
        request_size: Bytes::new(size),
        in_flight: disk.in_flight,
        bytes_in_flight: Bytes::new((disk.in_flight * size as f64) as u64),
        at_driver: disk.at_driver,
        busy: disk.busy,
        latency: disk.read_latency,
    })
}

#[cfg(test)]
mod tests;
