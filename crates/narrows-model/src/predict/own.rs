//! Bounds that are a flow's own: its depth, its cores, its copies; and the I/Os that hops complete.

use std::borrow::Cow;

use super::hops::{Loaded, host_of, rate};
use super::law::{Law, Situation, Term};
use super::time::{self, Operations, Stage};
use super::{Bound, BoundKind, zfs};
use crate::ceiling::queueing::{self, Cap};
use crate::ceiling::{Basis, FactRef, cache, filesystem, memory as processor_copy, raid as spread};
use crate::path::file::{Engine, PartKind, System, Vm, Workload};
use crate::path::{HopId, HopKind, HopSpec};
use narrows_base::lists::grouped;
use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos, human};

/// What is asked of [`bounds`].
pub(super) struct Own<'a> {
    pub(super) workload: &'a Workload,
    /// What decides which laws hold.
    pub(super) situation: &'a Situation,
    /// The smallest of the other bounds.
    pub(super) narrowest: Option<Narrowest>,
    /// What drives that share the bytes would carry if each gave all it can alone.
    pub(super) spread: Option<Narrowest>,
    /// By how much the ceiling of a hop is raised.
    pub(super) factor: &'a dyn Fn(&HopId) -> f64,
}

/// The smallest of several bounds.
#[derive(Debug, Clone)]
pub(super) struct Narrowest {
    rate: f64,
    hop: HopId,
    name: String,
    terms: Vec<Term>,
}

impl Narrowest {
    pub(super) fn of(bound: &Bound) -> Self {
        let Bound { rate, hop, name, terms, .. } = bound;
        Self { rate: rate.get(), hop: hop.clone(), name: name.clone(), terms: terms.clone() }
    }
}

/// The bounds of the flow itself.
pub(super) fn bounds(system: &System, hops: &[Loaded], own: &Own<'_>) -> Vec<Bound> {
    let mut found = Vec::new();
    found.extend(depth(system, hops, own));
    found.extend(cores(system, hops, own.workload, own.situation));
    let spread = own.spread.as_ref().map(together);
    let cache = zfs::cached_bound(system, hops, own.workload);
    // The copy out of the page cache follows on what the cache gives, where that is less than the path.
    let given = cache.as_ref().or(spread.as_ref()).map(Narrowest::of);
    let narrowest = given.into_iter().chain(own.narrowest.clone()).min_by(|a, b| a.rate.total_cmp(&b.rate));
    found.extend(served(hops, own));
    found.extend(copied_by_cores(system, hops, own.workload));
    found.extend(copy(hops, own.workload, narrowest));
    found.extend(cache);
    found.extend(spread);
    found
}

/// Requests under way over the time of one.
fn depth(system: &System, hops: &[Loaded], own: &Own<'_>) -> Option<Bound> {
    let workload = own.workload;
    // Readahead keeps a stream through the page cache busy; what it costs is the copy.
    if matches!(workload.engine, Engine::Buffered | Engine::Hdparm)
        && workload.pattern == crate::path::file::Pattern::Sequential
    {
        return None;
    }
    let factor = |it: &Loaded| (own.factor)(&it.hop.id);
    let raised: Cow<'_, [Loaded]> = match hops.iter().any(|it| (factor(it) - 1.0).abs() > 0.0) {
        true => hops.iter().map(|it| raise(it, factor(it))).collect(),
        false => Cow::Borrowed(hops),
    };
    let stages = time::stages(system, &raised, workload, own.situation);
    let seconds: f64 = stages.iter().map(|stage| stage.seconds(workload.read_share)).sum();
    let longest = stages
        .iter()
        .max_by(|a, b| a.seconds(workload.read_share).total_cmp(&b.seconds(workload.read_share)))?;
    let memory = time::is_memory(system, hops);
    let in_flight = if memory { f64::from(workload.jobs.max(1)) } else { workload.in_flight() };
    let rate = time::per_second(workload.block_size, seconds) * in_flight;
    let nanos = |seconds: f64| Nanos::new((seconds * 1e9).round() as u64);
    let facts = stages.iter().map(|stage| FactRef {
        fact: stage.name.clone(),
        value: human::time(nanos(stage.seconds(workload.read_share))),
        source: stage.hop.to_string(),
    });
    let name = format!("time of one request, most of it in {}", longest.name);
    let formula = format!(
        "{in_flight} under way × {} ÷ {} that one takes = {rate}",
        human::block_size(workload.block_size),
        nanos(seconds)
    );
    let bound = Bound {
        facts: facts.collect(),
        terms: shares(&stages, workload.read_share),
        ..Bound::new(BoundKind::Depth, (&longest.hop, name), rate, formula, longest.law)
    };
    Some(near_knee(bound, system, hops, own))
}

/// The bound of depth where the I/Os that a solid-state drive completes are the narrowest of the rest: near the knee both take
/// their part, and the larger part names the bound.
fn near_knee(bound: Bound, system: &System, hops: &[Loaded], own: &Own<'_>) -> Bound {
    let is_drive =
        |it: &&Narrowest| !it.terms.is_empty() && it.terms.iter().all(|term| term.law == Law::FlashIops);
    let is_random = own.situation.pattern == crate::path::file::Pattern::Random;
    let Some(drive) = own.narrowest.as_ref().filter(is_drive).filter(|_| is_random) else { return bound };
    let device = hops.iter().find(|it| it.hop.id == drive.hop).and_then(|it| it.device(system));
    let sharpness = device.map_or(queueing::FLASH_KNEE, time::sharpness);
    let rate = queueing::knee(bound.rate.get(), drive.rate, own.workload.in_flight(), sharpness);
    if rate.is_nan() || rate <= 0.0 {
        return bound;
    }
    let of_depth = libm::pow(rate / bound.rate.get(), sharpness).min(1.0);
    let part = |term: &Term| Term { share: term.share * of_depth, ..*term };
    let mut terms: Vec<Term> = bound.terms.iter().map(part).collect();
    terms.push(Term { law: Law::FlashIops, share: 1.0 - of_depth });
    let rate = BytesPerSec::new(rate);
    let formula = format!(
        "{}; beside {} of the drive with all dies at work: {rate}",
        bound.formula,
        BytesPerSec::new(drive.rate)
    );
    match of_depth < 0.5 {
        true => Bound {
            kind: BoundKind::Iops,
            hop: drive.hop.clone(),
            name: drive.name.clone(),
            rate,
            formula,
            terms,
            ..bound
        },
        false => Bound { rate, formula, terms, ..bound },
    }
}

/// The laws of the stages of a request, each with its share of the time.
fn shares(stages: &[Stage], read_share: f64) -> Vec<Term> {
    let all: f64 = stages.iter().map(|stage| stage.seconds(read_share)).sum();
    let taking = stages.iter().filter(|stage| stage.seconds(read_share) > 0.0);
    let laws = grouped(taking.map(|stage| (stage.law, stage.seconds(read_share) / all)));
    laws.into_iter().map(|(law, shares)| Term { law, share: shares.iter().sum() }).collect()
}

fn raise(loaded: &Loaded, factor: f64) -> Loaded {
    let mut raised = loaded.clone();
    for ceiling in [&mut raised.ceilings.read, &mut raised.ceilings.write] {
        if let crate::ceiling::Ceiling::Known(limit) = ceiling {
            limit.rate = limit.rate * factor;
        }
    }
    if let HopSpec::Crypt(crypt) = &mut raised.hop.spec {
        crypt.cipher = crypt.cipher.clone().map(|mut cipher| {
            cipher.decrypt = cipher.decrypt * factor;
            cipher.encrypt = cipher.encrypt * factor;
            cipher
        });
    }
    raised
}

/// I/Os that the cores can start and complete.
fn cores(system: &System, hops: &[Loaded], workload: &Workload, situation: &Situation) -> Option<Bound> {
    let first = hops.first()?;
    if hops.iter().any(|it| matches!(it.hop.kind(), HopKind::Remote | HopKind::Controller)) {
        // What a client or a virtual machine does is not what its server's cores do.
        return None;
    }
    if time::is_memory(system, hops) {
        return None;
    }
    if situation.is_dma() {
        // The card reads and writes memory by itself.
        return None;
    }
    let host = host_of(system, &workload.target);
    let there = host.and_then(|host| host.cores).unwrap_or(u32::MAX);
    let at_work = workload.jobs.clamp(1, there.max(1));
    let call = time::cost(system, workload);
    let cipher = time::inline_ciphers(system, hops, workload);
    let cost = Nanos::new(call.get().saturating_add(cipher.get()));
    let iops = queueing::of_cores(cost, at_work);
    let of_cipher = cipher.get() as f64 / (cost.get() as f64).max(1.0);
    let terms = match of_cipher > 0.0 {
        true => vec![
            Term { law: Law::Core, share: 1.0 - of_cipher },
            Term { law: Law::CryptTime, share: of_cipher },
        ],
        false => Term::whole(Law::Core),
    };
    let noun = if at_work == 1 { "core" } else { "cores" };
    let name = format!("{at_work} {noun} that start and complete I/Os");
    let rate = BytesPerSec::new(iops.get() * workload.block_size.as_f64());
    let formula = format!("{at_work} {noun} ÷ {cost} for each I/O = {iops}");
    let bound = Bound::new(BoundKind::Processor, (&first.hop.id, name), rate, formula, Law::Core);
    Some(Bound { terms, ..bound })
}

/// What drives carry together of the sum of what each carries alone.
fn together(spread: &Narrowest) -> Bound {
    let sum = BytesPerSec::new(spread.rate);
    let rate = spread::carried_together(sum);
    let name = format!("{} and the drives beside it", spread.name);
    let formula =
        format!("{sum} of all drives × {} that drives carry together = {rate}", spread::TOGETHER_SHARE);
    Bound::new(BoundKind::Bandwidth, (&spread.hop, name), rate, formula, Law::MediumTogether)
}

/// What a file or block server writes of what its network carries.
fn served(hops: &[Loaded], own: &Own<'_>) -> Option<Bound> {
    let writes = own.workload.read_share <= 0.0 && own.situation.has("file-server");
    let networks = hops.iter().filter(|it| writes && it.hop.kind() == HopKind::Network);
    let rated = networks.filter_map(|it| Some((it, rate(&it.ceilings, false)? * (own.factor)(&it.hop.id))));
    let (network, carried) = rated.min_by(|a, b| a.1.get().total_cmp(&b.1.get()))?;
    let written = filesystem::written_by_server(carried);
    let hop = (&network.hop.id, format!("{}, as servers write over it", network.hop.name));
    let formula = format!("{carried} × {} = {written}", filesystem::SERVED_WRITE_SHARE);
    Some(Bound::new(BoundKind::Bandwidth, hop, written, formula, Law::FileServerWrite))
}

/// What cores copy at most, where a RAM disk or the page cache of this host answers.
fn copied_by_cores(system: &System, hops: &[Loaded], workload: &Workload) -> Option<Bound> {
    let is_away = |it: &Loaded| matches!(it.hop.kind(), HopKind::Remote | HopKind::LogicalVolume);
    let is_cached = matches!(workload.engine, Engine::Buffered | Engine::Hdparm);
    if !(is_cached || time::is_memory(system, hops)) || hops.iter().any(is_away) {
        return None;
    }
    let first = hops.first()?;
    let there = host_of(system, &workload.target).and_then(|host| host.cores).unwrap_or(u32::MAX);
    // Each I/O may be copied by a core of its own.
    let at_work = in_flight(workload).clamp(1, there.max(1));
    let rate = processor_copy::most_copied(at_work);
    let noun = if at_work == 1 { "core" } else { "cores" };
    let hop = (&first.hop.id, format!("{at_work} {noun} that copy"));
    let formula = format!(
        "{} bytes a cycle × {} GHz, the highest clock, × {at_work} {noun} = {rate}",
        processor_copy::COPY_STORED,
        processor_copy::COPY_FASTEST
    );
    let bound = Bound::new(BoundKind::Bandwidth, hop, rate, formula, Law::Copy);
    Some(Bound { basis: Basis::Spec, ..bound })
}

/// The copy out of the page cache, which does not overlap with the path.
fn copy(hops: &[Loaded], workload: &Workload, narrowest: Option<Narrowest>) -> Option<Bound> {
    let nanoseconds = match workload.engine {
        Engine::Buffered => cache::READAHEAD,
        Engine::Hdparm => cache::HDPARM,
        _ => return None,
    };
    let Narrowest { rate: narrowest, hop, name, terms } = narrowest.filter(|_| workload.read_share >= 1.0)?;
    let path = BytesPerSec::new(narrowest);
    let rate = cache::read_rate(path, nanoseconds, workload.jobs);
    // Both stand one after the other; what takes longer is what narrows.
    let is_path = path.get() <= cache::copy_rate(nanoseconds, workload.jobs).get();
    let hop = match is_path {
        true => (&hop, format!("{name}, then a copy out of the page cache")),
        false => (&hops.first()?.hop.id, "copy out of the page cache".to_owned()),
    };
    let formula =
        format!("1 ÷ (1 ÷ {path} + {nanoseconds} ns for each byte ÷ {} readers) = {rate}", workload.jobs);
    let bound = Bound::new(BoundKind::Depth, hop, rate, formula, Law::PageCache);
    Some(Bound { basis: Basis::Formula, terms: copied(&terms, rate.get() / path.get()), ..bound })
}

/// The terms of a path of which this share of the time is, and of the copy that follows on it.
fn copied(path: &[Term], share: f64) -> Vec<Term> {
    let share = share.clamp(0.0, 1.0);
    let part = |term: &Term| Term { share: term.share * share, ..*term };
    path.iter().map(part).chain([Term { law: Law::PageCache, share: 1.0 - share }]).collect()
}

impl Operations {
    pub(super) fn shown(&self) -> String {
        let one = |iops: Option<Iops>| iops.map_or_else(|| "any".to_owned(), |iops| iops.to_string());
        match self.read == self.write {
            true => one(self.read),
            false => format!("{} read, {} written", one(self.read), one(self.write)),
        }
    }

    pub(super) fn formula(&self, size: Bytes) -> String {
        format!("{} of {} each", self.shown(), human::block_size(size))
    }
}

/// The I/Os that a hop completes, where it limits them.
pub(super) fn operations(system: &System, loaded: &Loaded, workload: &Workload) -> Option<Operations> {
    if let Some(device) = loaded.device(system) {
        let access = time::medium_access(device, workload.pattern, workload.block_size, in_flight(workload));
        return Some(access.operations).filter(|them| them.read.or(them.write).is_some());
    }
    let part = system.part(&loaded.part())?;
    let both = |iops: Iops| Operations {
        read: Some(iops),
        write: Some(iops),
        basis: Basis::Spec,
        source: part.given.to_string(),
    };
    match (&part.kind, loaded.hop.kind()) {
        (PartKind::Adapter(adapter), HopKind::Hba) => adapter.iops.map(both),
        (PartKind::Raid(raid), HopKind::Raid) => {
            let reads = zfs::random_reads(system, raid, workload)?;
            Some(Operations { write: None, basis: Basis::Guess, ..both(reads) })
        }
        (PartKind::Cluster(cluster), HopKind::LogicalVolume) => {
            let each = cluster.core_iops?;
            let member = cluster.members.first().and_then(|name| host_of(system, name))?;
            let hosts = cluster.networks.len().max(1) as f64;
            Some(both(Iops::new(each.get() * hosts * f64::from(member.cores?))))
        }
        _ => None,
    }
}

/// I/Os under way, for the elevator of a disk.
fn in_flight(workload: &Workload) -> u32 {
    workload.depth.saturating_mul(workload.jobs).max(1)
}

/// The size of the I/Os that a hop sees of blocks of `size`: what of one is on a member.
pub(super) fn piece(loaded: &Loaded, size: Bytes) -> Bytes {
    match loaded.hop.kind() {
        HopKind::Device | HopKind::Hba => {
            Bytes::new((size.as_f64() * loaded.grown / loaded.touched.max(1.0)) as u64)
        }
        HopKind::Raid => Bytes::new((size.as_f64() * loaded.grown) as u64),
        _ => size,
    }
}

/// One bucket of a cap: what passes with the blocks of a workload, as a bound.
pub(super) struct Bucket {
    /// Which of several that the hop has.
    pub(super) which: u8,
    /// What of it a byte uses up, in seconds.
    pub(super) per_byte: f64,
    pub(super) bound: Bound,
}

/// The buckets of a hop: one for I/Os and one for bytes, each shared by all who cross the hop.
pub(super) fn buckets(system: &System, loaded: &Loaded, workload: &Workload) -> Vec<Bucket> {
    if loaded.hop.kind() != HopKind::Controller {
        return Vec::new();
    }
    let Some(part) = system.part(&loaded.part()) else { return Vec::new() };
    let PartKind::Vm(vm) = &part.kind else { return Vec::new() };
    let size = workload.block_size;
    let caps = [Cap { iops: vm.iops, rate: None }, Cap { iops: None, rate: vm.rate }];
    let passing = (0u8..).zip(caps).filter(|(_, cap)| cap.passes(size).is_some());
    let made = passing.map(|(which, cap)| {
        let rate = queueing::caps_together(cap, vm.count, size, BytesPerSec::new(f64::INFINITY));
        let bound = cap_bound(loaded, part.given.as_str(), (vm, cap), size, rate);
        Bucket { which, per_byte: 1.0 / rate.get(), bound }
    });
    made.filter(|bucket| bucket.per_byte.is_finite() && bucket.per_byte > 0.0).collect()
}

fn cap_bound(loaded: &Loaded, given: &str, (vm, cap): (&Vm, Cap), size: Bytes, rate: BytesPerSec) -> Bound {
    let (value, each) = match (cap.iops, cap.rate) {
        (Some(iops), _) => (iops.to_string(), format!("{iops} × {}", human::block_size(size))),
        (None, Some(rate)) => (rate.to_string(), rate.to_string()),
        (None, None) => Default::default(),
    };
    let noun = if vm.count == 1 { "machine" } else { "machines" };
    let hop = (&loaded.hop.id, format!("cap of {}", loaded.hop.name));
    let formula = format!("{} {noun} × {each} = {rate}", vm.count);
    let facts = vec![FactRef { fact: "cap of each".to_owned(), value, source: given.to_owned() }];
    Bound { basis: Basis::Spec, facts, ..Bound::new(BoundKind::Cap, hop, rate, formula, Law::Cap) }
}
