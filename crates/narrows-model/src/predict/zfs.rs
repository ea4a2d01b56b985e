//! What ZFS does with the I/Os of a workload, and what any cache before something slower gives.

use super::hops::{Loaded, Run};
use super::law::Law;
use super::{Bound, BoundKind, own, time};
use crate::ceiling::{Basis, FactRef, cache, raid};
use crate::path::file::{Cache, Filesystem, Name, PartKind, Pattern, Raid, RaidKind, System, Workload};
use crate::path::{Hop, HopId, HopKind};
use narrows_base::units::{Bytes, BytesPerSec, Iops, human};

// What ZFS does with the I/Os of a workload: reads that end in the ARC, whole records for parts of them, compression, parity
// groups that work as one, and memory that data crosses several times.

/// The record of a data set when nobody said another (`zfsprops(7)`, recordsize).
const USUAL_RECORD: Bytes = Bytes::from_kib(128);

/// The sector that records are cut into for the members of a vdev (`ashift` 12, usual since drives have 4 KiB sectors).
const SECTOR: f64 = 4096.0;

/// How often data that is read crosses memory: into the ARC, and a copy out that reads and writes. A hit is the copy alone.
const READ_COPIES: f64 = 3.0;

const HIT_COPIES: f64 = 2.0;

/// What a workload meets of ZFS.
#[derive(Debug, Clone)]
pub(super) struct Zfs {
    /// The file system's hop; `None` where arrays of ZFS are used as they are.
    pool: Option<HopId>,
    /// The host whose memory holds the ARC.
    host: Option<Name>,
    /// The share of reads that find their data in the ARC.
    pub(super) hit: f64,
    /// Bytes that are read of the members for each that is asked for.
    amplification: f64,
    /// Bytes before compression for each after it.
    compression: f64,
    /// What is read of the members at once.
    record: Bytes,
}

impl Zfs {
    /// What ZFS does on a path; `None` when there is none on it.
    pub(super) fn of(system: &System, hops: &[Hop], workload: &Workload) -> Option<Self> {
        let pool = hops.iter().find_map(|hop| match part(system, hop)? {
            PartKind::Filesystem(it) if hop.kind() == HopKind::Filesystem && it.kind == "zfs" => {
                Some((hop, it))
            }
            _ => None,
        });
        let is_array = |hop: &&Hop| matches!(part(system, hop), Some(PartKind::Raid(raid)) if is_zfs(raid));
        let top = pool.map(|(hop, _)| hop).or_else(|| hops.iter().find(is_array))?;
        let record = pool.map(|(_, it)| it.recordsize.unwrap_or(USUAL_RECORD));
        let random = workload.pattern == Pattern::Random;
        let whole = record.filter(|record| random && *record > workload.block_size);
        let block = workload.block_size.as_f64().max(1.0);
        Some(Self {
            pool: pool.map(|(hop, _)| hop.id.clone()),
            host: system.host_of(&Name::new(top.id.key())).map(|(part, _)| part.name.clone()),
            hit: pool.map_or(0.0, |(_, it)| hits(it, workload)),
            amplification: whole.map_or(1.0, |record| record.as_f64() / block),
            compression: pool.and_then(|(_, it)| it.compression).unwrap_or(1.0).max(1.0),
            record: whole.unwrap_or(workload.block_size),
        })
    }

    /// Changes what a hop carries; `above` are the hops above it.
    pub(super) fn load(&self, system: &System, above: &[&Hop], loaded: &mut Loaded<'_>, workload: &Workload) {
        if loaded.hop.kind() == HopKind::Memory {
            return self.memory(loaded);
        }
        if self.pool.as_ref().is_some_and(|pool| above.iter().any(|hop| hop.id == *pool)) {
            loaded.missed = 1.0 - self.hit;
            loaded.grown = self.amplification / self.compression;
            loaded.read *= loaded.missed * self.amplification;
        }
        let group = above.iter().find_map(|hop| match part(system, hop)? {
            PartKind::Raid(raid) => data_members(raid),
            _ => None,
        });
        if let Some(data) = group.filter(|_| workload.pattern == Pattern::Random) {
            let sectors = (self.record.as_f64() / self.compression / SECTOR).ceil();
            loaded.touched = sectors.clamp(1.0, f64::from(data));
        }
    }

    fn memory(&self, loaded: &mut Loaded<'_>) {
        if loaded.part.is_none_or(|part| self.host.as_ref() != Some(&part.name)) {
            return;
        }
        // Of each byte, wherever it lies below.
        (loaded.read, loaded.write) = ((1.0 - self.hit) * READ_COPIES + self.hit * HIT_COPIES, 1.0);
        let Some(limit) = loaded.ceilings.write.limit_mut() else { return };
        let (rate, times) = (raid::zfs_from_memory(limit.rate), raid::ZFS_MEMORY_COPIES);
        limit.change(rate, &format!("ZFS moves written data across it {times} times: {rate}"));
        loaded.copied_by_zfs = true;
    }
}

/// The share of reads that the ARC answers: all when it holds the files; of random reads what of them it holds. A long stream
/// pushes out what it will need next.
fn hits(pool: &Filesystem, workload: &Workload) -> f64 {
    let (Some(arc), Some(size)) = (pool.arc, workload.size) else { return 0.0 };
    match workload.pattern {
        _ if size <= arc => 1.0,
        Pattern::Random => arc.as_f64() / size.as_f64(),
        Pattern::Sequential => 0.0,
    }
}

/// The random reads of a raidz vdev, of which every record lies on all members, so that they work as one.
pub(super) fn random_reads(system: &System, raid: &Raid, workload: &Workload) -> Option<Iops> {
    data_members(raid).filter(|_| workload.pattern == Pattern::Random)?;
    let depth = own::in_flight(workload);
    let of_member = |name: &Name| match &system.part(name)?.kind {
        PartKind::Device(device) => {
            time::medium_access(device, workload.pattern, workload.block_size, depth).operations.read
        }
        _ => None,
    };
    raid.members.iter().filter_map(of_member).min_by(|a, b| a.get().total_cmp(&b.get()))
}

const fn is_zfs(raid: &Raid) -> bool {
    matches!(raid.kind, RaidKind::Zfs(_))
}

/// Members' worth of data of a raidz vdev.
fn data_members(raid: &Raid) -> Option<u32> {
    match raid.kind {
        RaidKind::Zfs(_) if raid.kind.parity() > 0 => u32::try_from(raid.members.len())
            .ok()
            .map(|all| all.saturating_sub(raid.kind.parity().into()).max(1)),
        _ => None,
    }
}

/// What the part is that a hop is of.
fn part<'s>(system: &'s System, hop: &Hop) -> Option<&'s PartKind> {
    system.part(&Name::new(hop.id.key())).map(|part| &part.kind)
}

/// The bound of the cache that is on the way, by [`bcache`]; `None` with several readers or without one.
///
/// With more than one request under way both sides work at once, and each is a bound of its own.
pub(super) fn cached_bound(run: &Run<'_>) -> Option<Bound> {
    let workload = run.workload;
    if workload.jobs > 1 || !(workload.engine.is_cached() || workload.depth <= 1) {
        return None;
    }
    let loaded = run.hops.iter().find(|it| it.hop.kind() == HopKind::Cache)?;
    let part = loaded.part?;
    let PartKind::Cache(cache) = &part.kind else { return None };
    let side = |name: &Name| CacheSide::of(&run.hops, loaded, name);
    let (fast, slow) = (side(&cache.cache)?, side(&cache.backing)?);
    let read = cache::bcache_read(fast.read, slow.read, cache.hit);
    let write = cache::bcache_write(fast.write, slow.write, cache.writeback);
    let seconds = |share: f64, rate: BytesPerSec| if share > 0.0 { share / rate.get() } else { 0.0 };
    let time = seconds(workload.read_share, read) + seconds(1.0 - workload.read_share, write);
    let rate = BytesPerSec::new(1.0 / time);
    if !(rate.get().is_finite() && rate.get() > 0.0) {
        return None;
    }
    let hop = (&loaded.hop.id, format!("{}, hits and misses in turn", loaded.hop.name));
    let facts = vec![FactRef::new("share of hits", human::percent(cache.hit), &part.given)];
    let formula = formula(cache, (&fast, &slow), workload, rate);
    let bound = Bound::new(BoundKind::Depth, hop, rate, formula, Law::CacheTurns);
    Some(Bound { basis: Basis::Formula, facts, ..bound })
}

fn formula(
    cache: &Cache,
    (fast, slow): (&CacheSide, &CacheSide),
    workload: &Workload,
    rate: BytesPerSec,
) -> String {
    if workload.read_share > 0.0 {
        format!("1 ÷ ({:.3} ÷ {} + {:.3} ÷ {}) = {rate}", cache.hit, fast.read, 1.0 - cache.hit, slow.read)
    } else if cache.writeback {
        format!("written to the cache alone: {rate}")
    } else {
        format!("written to both, {} and {}: {rate}", fast.write, slow.write)
    }
}

/// What one side carries of its own bytes.
struct CacheSide {
    read: BytesPerSec,
    write: BytesPerSec,
}

impl CacheSide {
    /// The narrowest of the hops from the part `name`, right below the cache, on. What both sides share is a bound apart.
    fn of(hops: &[Loaded<'_>], cache: &Loaded<'_>, name: &Name) -> Option<Self> {
        let is_top = |it: &&Loaded<'_>| {
            it.hop.above.as_ref() == Some(&cache.hop.id) && it.part.is_some_and(|part| part.name == *name)
        };
        let top = hops.iter().find(is_top)?;
        let mut ids = vec![&top.hop.id];
        let (mut read, mut write) = (f64::INFINITY, f64::INFINITY);
        // Hops stand below those above them, so one pass finds all.
        for it in hops {
            let is_below = it.hop.above.as_ref().is_some_and(|above| ids.contains(&above));
            if !(is_below || it.hop.id == top.hop.id) {
                continue;
            }
            ids.push(&it.hop.id);
            let part = |ceiling: Option<BytesPerSec>, of_hop: f64, of_side: f64| match ceiling {
                Some(rate) if of_hop > 0.0 && of_side > 0.0 => rate.get() * of_side / of_hop,
                // Nothing of this workload crosses it, so its whole rate is there.
                Some(rate) if of_side <= 0.0 => rate.get(),
                _ => f64::INFINITY,
            };
            read = read.min(part(it.ceilings.read.rate(), it.read, top.read));
            write = write.min(part(it.ceilings.write.rate(), it.write, top.write));
        }
        (read.is_finite() && write.is_finite())
            .then(|| Self { read: BytesPerSec::new(read), write: BytesPerSec::new(write) })
    }
}
