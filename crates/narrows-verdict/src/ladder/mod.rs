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

use narrows_base::measurement::Access;
use narrows_base::units::{Bytes, BytesPerSec, Nanos, human};
use narrows_machine::Machine;
use narrows_machine::activity::DiskActivity;
use narrows_model::ceiling::{self, Direction};
use narrows_model::path::{Hop, HopId, HopKind, HopSpec};
use serde::{Deserialize, Serialize};

use crate::attribution::{Attribution, Cause as Found, attribute};
use crate::case::Case;
use crate::finding::{Confidence, Evidence};
use crate::trust::Audit;
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
    let steps: Vec<Step> = (0..rungs.len()).map(|index| step_of(machine, rungs, index)).collect();
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
    let verdict = LadderVerdict { steps, limiting, at, next, sentence: String::new(), findings };
    LadderVerdict { sentence: sentence(rungs, top, &verdict), ..verdict }
}

/// The losses from the top down, and behind them what limits the lowest layers.
fn causes(machine: &Machine, rungs: &[Rung], steps: &[Step], top: Option<usize>) -> Vec<(usize, Loss)> {
    let is_on_way = |index: &usize| top.is_some_and(|top| *index <= top);
    let losses = steps.iter().enumerate().rev().filter(|(index, _)| is_on_way(index));
    let losses = losses.filter_map(|(index, step)| Some((index, step.loss.clone()?)));
    let lowest = top.and_then(|top| Some((top, plain(machine, rungs.get(top)?)?)));
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

/// All processors together are full from here on; sampling and the scheduler take the rest.
const FULL: f64 = 0.95;
/// A driver that holds fewer requests than this on average has none for a part of the time. One that is full holds as many
/// as its device takes, and that is at least one.
const IDLE_DRIVER: f64 = 0.75;

/// A rung with what lies below it.
struct At<'a> {
    rungs: &'a [Rung],
    rung: &'a Rung,
    case: Case<'a>,
    audit: Audit,
    /// The hop of the rung, in its own path.
    hop: &'a Hop,
    /// What the layers below give at once.
    below: BytesPerSec,
    /// What the rung gives.
    rate: BytesPerSec,
}

impl Loss {
    /// With more that shows it.
    fn with(mut self, evidence: impl IntoIterator<Item = Evidence>) -> Self {
        self.evidence.extend(evidence);
        self
    }

    fn seen(self, fact: impl Into<String>, value: impl ToString, source: &str) -> Self {
        self.with([Evidence::new(fact, value, source)])
    }
}

impl<'a> At<'a> {
    /// The rungs right below, each alone, that were measured.
    fn members(&self) -> impl Iterator<Item = &'a Rung> + use<'a> {
        let rungs = self.rungs;
        let members = self.rung.members.iter().filter_map(move |index| rungs.get(*index));
        members.filter(|rung| rung.rate().is_some())
    }

    /// What the block device of a member did.
    fn disk(&self, member: &Rung) -> Option<&'a DiskActivity> {
        self.case.hop_disk(self.case.path().hop(&member.hop)?)
    }

    /// The part of the layer's traffic that crosses a member.
    fn share(&self, member: &Rung) -> Option<f64> {
        let traffic = |hop: &Hop| self.case.traffic(hop);
        let whole = traffic(self.hop);
        let part = traffic(self.case.path().hop(&member.hop)?);
        (whole > 0.0 && part > 0.0).then(|| part / whole)
    }

    /// A loss by a hop.
    fn loss(&self, cause: Cause, hop: &Hop, confidence: Confidence, summary: String) -> Loss {
        Loss { cause, hop: hop.id.clone(), summary, evidence: self.evidence(), confidence }
    }

    /// What every loss shows: both rates, and what the layers did.
    fn evidence(&self) -> Vec<Evidence> {
        let mut evidence = vec![
            Evidence::new("the layers below", self.below, "the run right before"),
            Evidence::new("this layer", self.rate, "the run"),
        ];
        let Some(asked) = self.case.asked_outstanding() else { return evidence };
        evidence.extend(block_flows(&self.case).into_iter().map(|flow| {
            let part = human::percent(flow.bytes_in_flight.as_f64() / asked);
            let size = human::block_size(flow.request_size);
            let value = format!("{:.1} requests of {size}, {part} of the bytes asked for", flow.in_flight);
            Evidence::new(format!("in flight at {}", flow.block), value, "/proc/diskstats")
        }));
        evidence
    }

    /// Whether every processor is busy.
    fn is_processor_full(&self) -> bool {
        processors(&self.case) >= FULL
    }

    /// The most that a thread uses that is not `named` so.
    fn most_of_others(&self, named: impl Fn(&str) -> bool) -> f64 {
        let threads = self.case.run.map_or(&[][..], |run| &run.activity.threads);
        threads.iter().filter(|thread| !named(&thread.name)).map(|thread| thread.cores).fold(0.0, f64::max)
    }

    /// The busiest kernel threads, busiest first.
    fn busiest(&self) -> Vec<Evidence> {
        const MOST: usize = 3;
        let threads = self.case.run.map_or(&[][..], |run| &run.activity.threads);
        let busy = threads.iter().filter(|thread| thread.cores >= 0.1).take(MOST);
        let shown = busy.map(|thread| {
            let cores = format!("{:.2} cores", thread.cores);
            Evidence::new(format!("thread {}", thread.name), cores, "/proc/[pid]/stat")
        });
        shown.collect()
    }
}

/// The busy part of all processors together.
fn processors(case: &Case<'_>) -> f64 {
    let cpus = case.run.map(|run| &run.activity.cpus);
    cpus.map_or(0.0, |cpus| cpus.values().sum::<f64>() / cpus.len().max(1) as f64)
}

/// The verdict on the rung at `index`.
fn step_of(machine: &Machine, rungs: &[Rung], index: usize) -> Step {
    let Some(rung) = rungs.get(index) else { return Step::default() };
    let case = Case::new(machine, &rung.subject, rung.direction());
    let Some(rate) = rung.rate() else { return Step { ceiling: ceiling(rung), ..Step::default() } };
    let audit = Audit::of(&case);
    let generator = attribute(&case, &audit).is_ok_and(|found| translated(&case, &found) == Cause::Generator);
    let trusted = Some(audit.is_clean() && !generator);
    let below = below(rungs, rung);
    let lost = below.map(|below| 1.0 - rate.fraction_of(below));
    let hop = rung.subject.path.hop(&rung.hop);
    let loss = below.zip(hop).filter(|(below, _)| rung.falls_short_of(*below)).map(|(below, hop)| {
        let at = At { rungs, rung, case, audit: audit.clone(), hop, below, rate };
        decide(&at)
    });
    Step { below, lost, loss, trusted, ceiling: ceiling(rung), flows: block_flows(&case) }
}

/// What the layers below give: all at once where that was measured, else what they give alone, together. Reads and writes
/// are not compared.
fn below(rungs: &[Rung], rung: &Rung) -> Option<BytesPerSec> {
    let same = |other: &&Rung| other.direction() == rung.direction();
    let together = rung.together.and_then(|index| rungs.get(index)).filter(same).and_then(Rung::rate);
    if together.is_some() {
        return together;
    }
    let rates: Option<Vec<BytesPerSec>> =
        rung.members.iter().map(|index| rungs.get(*index).filter(same)?.rate()).collect();
    rates.filter(|rates| !rates.is_empty()).map(|rates| rates.into_iter().sum())
}

fn decide(at: &At<'_>) -> Loss {
    let found = attribute(&at.case, &at.audit).ok();
    let cause = found.as_ref().map(|found| translated(&at.case, found));
    // Ourselves first, and what makes the run no measure of the layer at all.
    let suspects = [Cause::Cache, Cause::Generator, Cause::Resync];
    let by_run = || found.as_ref().and_then(|found| by_attribution(at, found));
    let suspect = cause.filter(|cause| suspects.contains(cause)).and_then(|_| by_run());
    suspect
        .or_else(|| by_layer(at))
        .or_else(|| by_run().filter(|loss| loss.cause != Cause::Medium))
        .or_else(|| {
            scheduler(&at.case).map(|(hop, evidence)| held_back(hop, [at.evidence(), evidence].concat()))
        })
        .or_else(|| processor(at))
        .or_else(|| leftover(at))
        .unwrap_or_else(|| {
            let summary = format!("{} gives {} less, and no counter tells why.", at.hop.name, gone(at));
            at.loss(Cause::Unknown, at.hop, Confidence::Low, summary)
        })
}

/// What the layer is known to do.
fn by_layer(at: &At<'_>) -> Option<Loss> {
    if at.rung.at_once {
        return None;
    }
    match &at.hop.spec {
        HopSpec::Raid(_) | HopSpec::Volume(_) => raid::decide(at),
        HopSpec::Crypt(table) => crypt::decide(at, table),
        _ => None,
    }
}

/// What a single run of the rung shows.
fn by_attribution(at: &At<'_>, found: &Attribution) -> Option<Loss> {
    let hop = at.case.path().hops.get(found.hop)?;
    let name = &hop.name;
    let cause = translated(&at.case, found);
    let summary = match cause {
        Cause::Cache => {
            format!("Memory answered: the devices moved fewer bytes than were read through {}.", at.hop.name)
        }
        Cause::Generator => "narrows itself uses up its core; the layer can do more.".to_owned(),
        Cause::Resync => format!("{name} is resyncing and takes part of its members."),
        Cause::CipherPerCore => format!("{name}: the cipher uses up the processor."),
        Cause::StripeThread => format!("{name}: its one kernel thread uses up a core."),
        Cause::Filesystem => format!("{name}: a kernel thread of it uses up a core."),
        Cause::SlowestMember => format!("{name} holds the queue while its siblings wait."),
        Cause::Network => format!("{name}: the network is full."),
        Cause::Remote => format!("{name}, at the far end, is the limit."),
        Cause::CeilingReached => format!("{name} carries no more than this."),
        _ => return None,
    };
    Some(at.loss(cause, hop, found.confidence, summary).with(found.evidence.clone()).with(at.busiest()))
}

/// A device whose driver is idle while requests wait in its scheduler, with what shows it. Where every processor is busy, taking
/// a sample keeps whoever hands requests to the driver from it, so that the driver is always seen idle.
fn scheduler<'a>(case: &Case<'a>) -> Option<(&'a Hop, Vec<Evidence>)> {
    if processors(case) >= FULL {
        return None;
    }
    case.hops().find_map(|(_, hop)| {
        let HopSpec::Device(device) = &hop.spec else { return None };
        let queue = &case.machine.block.get(&device.block)?.queue;
        let name = queue.scheduler.value().filter(|name| *name != "none")?;
        let disk = case.disk(&device.block)?;
        let held = disk.at_driver?;
        let (all, at_driver) = (format!("{:.1}", disk.in_flight), format!("{held:.1}"));
        let evidence = vec![
            Evidence::new("scheduler", name, queue.scheduler.source().as_str()),
            Evidence::new("requests in flight", all, "times of /proc/diskstats"),
            Evidence::new("of these at the driver", at_driver, "samples of /sys/block/*/inflight"),
        ];
        (disk.in_flight >= 2.0 && held <= IDLE_DRIVER).then_some((hop, evidence))
    })
}

fn held_back(hop: &Hop, evidence: Vec<Evidence>) -> Loss {
    let summary = format!("Requests wait in the scheduler of {} while its driver has room.", hop.name);
    Loss { cause: Cause::Scheduler, hop: hop.id.clone(), summary, evidence, confidence: Confidence::Medium }
}

/// Every processor is busy.
fn processor(at: &At<'_>) -> Option<Loss> {
    let mean = processors(&at.case);
    at.is_processor_full().then(|| {
        let count = at.case.run.map_or(0, |run| run.activity.cpus.len());
        let summary = format!("All {count} processors are busy: no more can be asked for or worked on.");
        at.loss(Cause::Processor, at.hop, Confidence::Medium, summary)
            .seen("processors busy", human::percent(mean), "/proc/stat")
            .with(at.busiest())
    })
}

/// What remains when no counter names another: the layer itself, where it does work of its own.
fn leftover(at: &At<'_>) -> Option<Loss> {
    if at.rung.at_once || at.hop.kind() != HopKind::Filesystem {
        return None;
    }
    let buffered = at.case.measurement()?.access == Access::Buffered;
    let how = if buffered { "it refuses O_DIRECT and copies every byte" } else { "no device below is full" };
    let summary = format!("{} itself takes {}: {how}.", at.hop.name, gone(at));
    Some(at.loss(Cause::Filesystem, at.hop, Confidence::Medium, summary).with(at.busiest()))
}

/// `12 % (40 MB/s)`.
fn gone(at: &At<'_>) -> String {
    let part = 1.0 - at.rate.fraction_of(at.below);
    format!("{} ({})", human::percent(part), at.below - at.rate)
}

/// What limits a rung that lost nothing: the same as without a ladder.
fn plain(machine: &Machine, rung: &Rung) -> Option<Loss> {
    let case = Case::new(machine, &rung.subject, rung.direction());
    case.run?;
    let found = attribute(&case, &Audit::of(&case)).ok()?;
    let hop = case.path().hops.get(found.hop)?;
    let cause = translated(&case, &found);
    if cause == Cause::Medium
        && let Some((hop, evidence)) = scheduler(&case)
    {
        return Some(held_back(hop, evidence));
    }
    let summary = format!("{} carries no more than this.", hop.name);
    Some(Loss { cause, hop: hop.id.clone(), summary, evidence: found.evidence, confidence: found.confidence })
}

/// The verdict on a ladder in one or two sentences.
///
/// What the top gives, what is the bottleneck, and what comes next.
fn sentence(rungs: &[Rung], top: Option<usize>, verdict: &LadderVerdict) -> String {
    let Some(rung) = top.and_then(|top| rungs.get(top)) else {
        return "Nothing could be measured.".to_owned();
    };
    let target = &rung.subject.path.target;
    let verb = format!("{} {target}", rung.direction().pick("Reads of", "Writes to"));
    let rate = rung.rate().map(|rate| rate.to_string()).unwrap_or_default();
    let Some(limiting) = &verdict.limiting else {
        return format!("{verb} reach {rate}; what limits them cannot be seen.");
    };
    let any_loss = verdict.steps.iter().any(|step| step.loss.is_some());
    // What a scheduler holds back is no property of the device that it belongs to.
    let first = if any_loss || limiting.cause == Cause::Scheduler {
        format!("{verb} reach {rate}. {}", limiting.summary)
    } else {
        let lost = top.and_then(|top| verdict.steps.get(top)?.lost).map(|lost| lost.max(SIGNIFICANT));
        let above = lost.map(|lost| format!(" No layer loses more than {}.", human::percent(lost)));
        let above = above.unwrap_or_default();
        format!("{verb} reach {rate}, limited by {}.{above}", named(rung, limiting))
    };
    match verdict.next.as_ref().filter(|next| next.cause != Cause::Unknown) {
        Some(next) if any_loss => format!("{first} Behind it comes {}.", named(rung, next)),
        _ => first,
    }
}

/// The hop of a loss by its name. Of a network only the interface is known, which may be faster than what lies behind it.
fn named(rung: &Rung, loss: &Loss) -> String {
    let name = rung.subject.path.hop(&loss.hop).map_or_else(|| loss.hop.to_string(), |hop| hop.name.clone());
    if loss.cause == Cause::Network { format!("the network behind {name}") } else { name }
}

#[cfg(test)]
mod tests;
