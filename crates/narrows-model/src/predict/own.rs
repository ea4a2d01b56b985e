//! Bounds that are a flow's own: its depth, its cores, its copies; and the I/Os that hops complete.

use std::borrow::Cow;

use super::hops::{Loaded, Run, host_of};
use super::law::{self, Law, Term};
use super::solve::{Raised, factor};
use super::time::{self, Operations, Stage};
use super::{Bound, BoundKind, zfs};
use crate::ceiling::queueing::{self, Cap};
use crate::ceiling::{Basis, FactRef, cache, filesystem, memory as processor_copy, raid as spread};
use crate::path::file::{Engine, PartKind, Pattern, Workload};
use crate::path::{HopKind, HopSpec};
use narrows_base::lists::grouped;
use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos, human};

/// The bounds of the flow itself, beside those of the hops that it crosses.
pub(super) fn bounds(run: &Run<'_>, raised: Raised<'_>, of_hops: &[&Bound]) -> Vec<Bound> {
    let narrowest = of_hops.iter().copied().min_by(|a, b| a.by_rate(b));
    // What drives that share the bytes would carry if each gave all it can alone.
    let of_spread = of_hops.iter().copied().filter(|it| law::is_whole(&it.terms, Law::MediumTogether));
    let spread = of_spread.min_by(|a, b| a.by_rate(b)).map(together);
    let cache = zfs::cached_bound(run);
    // The copy out of the page cache follows on what the cache gives, where that is less than the path.
    let given = cache.as_ref().or(spread.as_ref()).into_iter().chain(narrowest);
    let copied = copy(run, given.min_by(|a, b| a.by_rate(b)));
    let depth = depth(run, raised, narrowest);
    let found = [depth, cores(run), served(run, raised), copied_by_cores(run), copied, cache, spread];
    found.into_iter().flatten().collect()
}

/// The least time of a request that counts, in seconds, so that depth is finite.
const LEAST: f64 = 1e-9;

/// Requests under way over the time of one.
fn depth(run: &Run<'_>, raised: Raised<'_>, narrowest: Option<&Bound>) -> Option<Bound> {
    let workload = run.workload;
    // Readahead keeps a stream through the page cache busy; what it costs is the copy.
    if workload.engine.is_cached() && workload.pattern == Pattern::Sequential {
        return None;
    }
    let hops: Cow<'_, [Loaded<'_>]> = match raised {
        Some(_) => run.hops.iter().map(|it| raise(it, factor(raised, &it.hop.id))).collect(),
        None => Cow::Borrowed(&run.hops),
    };
    let stages = time::stages(run, &hops);
    let taken = |stage: &Stage| stage.seconds(workload.read_share);
    let seconds: f64 = stages.iter().map(taken).sum();
    let longest = stages.iter().max_by(|a, b| taken(a).total_cmp(&taken(b)))?;
    let in_flight = if run.is_memory() { f64::from(workload.jobs.max(1)) } else { workload.in_flight() };
    let rate = BytesPerSec::new(workload.block_size.as_f64() / seconds.max(LEAST)) * in_flight;
    let nanos = |seconds: f64| Nanos::new((seconds * 1e9).round() as u64);
    let facts = stages.iter().map(|stage| FactRef {
        fact: stage.name.clone(),
        value: human::time(nanos(taken(stage))),
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
    Some(near_knee(bound, run, narrowest))
}

/// The bound of depth where the I/Os that a solid-state drive completes are the narrowest of the rest: near the knee both take
/// their part, and the larger part names the bound.
fn near_knee(bound: Bound, run: &Run<'_>, narrowest: Option<&Bound>) -> Bound {
    let is_random = run.situation.pattern == Pattern::Random;
    let is_drive = |it: &&Bound| is_random && law::is_whole(&it.terms, Law::FlashIops);
    let Some(drive) = narrowest.filter(is_drive) else { return bound };
    let device = run.hops.iter().find(|it| it.hop.id == drive.hop).and_then(Loaded::device);
    let sharpness = device.map_or(queueing::FLASH_KNEE, time::sharpness);
    let rate = queueing::knee(bound.rate.get(), drive.rate.get(), run.workload.in_flight(), sharpness);
    if rate.is_nan() || rate <= 0.0 {
        return bound;
    }
    let of_depth = libm::pow(rate / bound.rate.get(), sharpness).min(1.0);
    let part = |term: &Term| Term { share: term.share * of_depth, ..*term };
    let mut terms: Vec<Term> = bound.terms.iter().map(part).collect();
    terms.push(Term { law: Law::FlashIops, share: 1.0 - of_depth });
    let rate = BytesPerSec::new(rate);
    let formula =
        format!("{}; beside {} of the drive with all dies at work: {rate}", bound.formula, drive.rate);
    let both = Bound { rate, formula, terms, ..bound };
    match of_depth < 0.5 {
        true => Bound { kind: BoundKind::Iops, hop: drive.hop.clone(), name: drive.name.clone(), ..both },
        false => both,
    }
}

/// The laws of the stages of a request, each with its share of the time.
fn shares(stages: &[Stage], read_share: f64) -> Vec<Term> {
    let all: f64 = stages.iter().map(|stage| stage.seconds(read_share)).sum();
    let taking = stages.iter().filter(|stage| stage.seconds(read_share) > 0.0);
    let laws = grouped(taking.map(|stage| (stage.law, stage.seconds(read_share) / all)));
    laws.into_iter().map(|(law, shares)| Term { law, share: shares.iter().sum() }).collect()
}

fn raise<'s>(loaded: &Loaded<'s>, factor: f64) -> Loaded<'s> {
    let mut raised = loaded.clone();
    raised.ceilings.limits_mut().for_each(|limit| limit.rate = limit.rate * factor);
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
fn cores(run: &Run<'_>) -> Option<Bound> {
    let (first, workload) = (run.hops.first()?, run.workload);
    // What a client or a virtual machine does is not what its server's cores do.
    let is_away = run.hops.iter().any(|it| matches!(it.hop.kind(), HopKind::Remote | HopKind::Controller));
    // A card reads and writes memory by itself.
    if is_away || run.is_memory() || run.situation.is_dma() {
        return None;
    }
    let (at_work, cores) = run.at_work(workload.jobs);
    let (call, cipher) = (time::cost(run), time::inline_ciphers(run));
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
    let name = format!("{cores} that start and complete I/Os");
    let rate = BytesPerSec::new(iops.get() * workload.block_size.as_f64());
    let formula = format!("{cores} ÷ {cost} for each I/O = {iops}");
    let bound = Bound::new(BoundKind::Processor, (&first.hop.id, name), rate, formula, Law::Core);
    Some(Bound { terms, ..bound })
}

/// What drives carry together of the sum of what each carries alone.
fn together(spread: &Bound) -> Bound {
    let sum = spread.rate;
    let rate = spread::carried_together(sum);
    let name = format!("{} and the drives beside it", spread.name);
    let formula =
        format!("{sum} of all drives × {} that drives carry together = {rate}", spread::TOGETHER_SHARE);
    Bound::new(BoundKind::Bandwidth, (&spread.hop, name), rate, formula, Law::MediumTogether)
}

/// What a file or block server writes of what its network carries.
fn served(run: &Run<'_>, raised: Raised<'_>) -> Option<Bound> {
    let writes = run.workload.read_share <= 0.0 && run.situation.has("file-server");
    let networks = run.hops.iter().filter(|it| writes && it.hop.kind() == HopKind::Network);
    let rated = networks.filter_map(|it| Some((it, it.ceilings.write.rate()? * factor(raised, &it.hop.id))));
    let (network, carried) = rated.min_by(|a, b| a.1.get().total_cmp(&b.1.get()))?;
    let written = filesystem::written_by_server(carried);
    let hop = (&network.hop.id, format!("{}, as servers write over it", network.hop.name));
    let formula = format!("{carried} × {} = {written}", filesystem::SERVED_WRITE_SHARE);
    Some(Bound::new(BoundKind::Bandwidth, hop, written, formula, Law::FileServerWrite))
}

/// What cores copy at most, where a RAM disk or the page cache of this host answers.
fn copied_by_cores(run: &Run<'_>) -> Option<Bound> {
    let is_away = |it: &Loaded<'_>| matches!(it.hop.kind(), HopKind::Remote | HopKind::LogicalVolume);
    if !(run.workload.engine.is_cached() || run.is_memory()) || run.hops.iter().any(is_away) {
        return None;
    }
    let first = run.hops.first()?;
    // Each I/O may be copied by a core of its own.
    let (at_work, cores) = run.at_work(in_flight(run.workload));
    let rate = processor_copy::most_copied(at_work);
    let hop = (&first.hop.id, format!("{cores} that copy"));
    let formula = format!(
        "{} bytes a cycle × {} GHz, the highest clock, × {cores} = {rate}",
        processor_copy::COPY_STORED,
        processor_copy::COPY_FASTEST
    );
    let bound = Bound::new(BoundKind::Bandwidth, hop, rate, formula, Law::Copy);
    Some(Bound { basis: Basis::Spec, ..bound })
}

/// The copy out of the page cache, which does not overlap with the path.
fn copy(run: &Run<'_>, narrowest: Option<&Bound>) -> Option<Bound> {
    let jobs = run.workload.jobs;
    let nanoseconds = match run.workload.engine {
        Engine::Buffered => cache::READAHEAD,
        Engine::Hdparm => cache::HDPARM,
        _ => return None,
    };
    let path = narrowest.filter(|_| run.workload.read_share >= 1.0)?;
    let rate = cache::read_rate(path.rate, nanoseconds, jobs);
    // Both stand one after the other; what takes longer is what narrows.
    let is_path = path.rate.get() <= cache::copy_rate(nanoseconds, jobs).get();
    let hop = match is_path {
        true => (&path.hop, format!("{}, then a copy out of the page cache", path.name)),
        false => (&run.hops.first()?.hop.id, "copy out of the page cache".to_owned()),
    };
    let formula =
        format!("1 ÷ (1 ÷ {} + {nanoseconds} ns for each byte ÷ {jobs} readers) = {rate}", path.rate);
    let bound = Bound::new(BoundKind::Depth, hop, rate, formula, Law::PageCache);
    let terms = copied(&path.terms, rate.get() / path.rate.get());
    Some(Bound { basis: Basis::Formula, terms, ..bound })
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
pub(super) fn operations(run: &Run<'_>, loaded: &Loaded<'_>) -> Option<Operations> {
    let (system, workload) = (run.system, run.workload);
    if let Some(device) = loaded.device() {
        let access = time::medium_access(device, workload.pattern, workload.block_size, in_flight(workload));
        return Some(access.operations).filter(|them| them.read.or(them.write).is_some());
    }
    let part = loaded.part?;
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
pub(super) fn in_flight(workload: &Workload) -> u32 {
    workload.depth.saturating_mul(workload.jobs).max(1)
}

/// The size of the I/Os that a hop sees of blocks of `size`: what of one is on a member.
pub(super) fn piece(loaded: &Loaded<'_>, size: Bytes) -> Bytes {
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
pub(super) fn buckets(loaded: &Loaded<'_>, size: Bytes) -> Vec<Bucket> {
    let part = loaded.part.filter(|_| loaded.hop.kind() == HopKind::Controller);
    let Some((part, PartKind::Vm(vm))) = part.map(|part| (part, &part.kind)) else { return Vec::new() };
    let caps = [Cap { iops: vm.iops, rate: None }, Cap { iops: None, rate: vm.rate }];
    let passing = (0u8..).zip(caps).filter(|(_, cap)| cap.passes(size).is_some());
    let made = passing.map(|(which, cap)| {
        let rate = queueing::caps_together(cap, vm.count, size, BytesPerSec::new(f64::INFINITY));
        let (value, each) = match (cap.iops, cap.rate) {
            (Some(iops), _) => (iops.to_string(), format!("{iops} × {}", human::block_size(size))),
            (None, Some(rate)) => (rate.to_string(), rate.to_string()),
            (None, None) => Default::default(),
        };
        let hop = (&loaded.hop.id, format!("cap of {}", loaded.hop.name));
        let formula = format!("{} × {each} = {rate}", human::counted(vm.count, "machine"));
        let facts = vec![FactRef::new("cap of each", value, &part.given)];
        let bound = Bound::new(BoundKind::Cap, hop, rate, formula, Law::Cap);
        let bound = Bound { basis: Basis::Spec, facts, ..bound };
        Bucket { which, per_byte: 1.0 / rate.get(), bound }
    });
    made.filter(|bucket| bucket.per_byte.is_finite() && bucket.per_byte > 0.0).collect()
}
