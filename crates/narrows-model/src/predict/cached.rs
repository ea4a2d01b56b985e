//! What a cache before something slower gives one reader: hits and misses one after the other.

use super::bound::{Bound, BoundKind};
use super::hops::Loaded;
use super::law::{Law, Term};
use crate::ceiling::{Basis, FactRef, bcache};
use crate::path::HopKind;
use crate::path::file::{Cache, Engine, Name, PartKind, System, Workload};
use narrows_base::units::{BytesPerSec, human};

/// The bound of the cache that is on the way, by [`bcache`]; `None` with several readers or without one.
///
/// With more than one request under way both sides work at once, and each is a bound of its own.
pub(super) fn bound(system: &System, hops: &[Loaded], workload: &Workload) -> Option<Bound> {
    let streams = matches!(workload.engine, Engine::Buffered | Engine::Hdparm);
    if workload.jobs > 1 || !(streams || workload.depth <= 1) {
        return None;
    }
    let loaded = hops.iter().find(|it| it.hop.kind() == HopKind::Cache)?;
    let PartKind::Cache(cache) = &system.part(&loaded.part())?.kind else { return None };
    let side = |name: &Name| Side::of(hops, loaded, name);
    let (fast, slow) = (side(&cache.cache)?, side(&cache.backing)?);
    let read = bcache::read(fast.read, slow.read, cache.hit);
    let write = bcache::write(fast.write, slow.write, cache.writeback);
    let seconds = |share: f64, rate: BytesPerSec| if share > 0.0 { share / rate.get() } else { 0.0 };
    let time = seconds(workload.read_share, read) + seconds(1.0 - workload.read_share, write);
    let rate = BytesPerSec::new(1.0 / time);
    if !(rate.get().is_finite() && rate.get() > 0.0) {
        return None;
    }
    Some(Bound {
        kind: BoundKind::Depth,
        hop: loaded.hop.id.clone(),
        name: format!("{}, hits and misses in turn", loaded.hop.name),
        direction: None,
        rate,
        basis: Basis::Formula,
        formula: formula(cache, (&fast, &slow), workload, rate),
        facts: vec![FactRef {
            fact: "share of hits".to_owned(),
            value: human::percent(cache.hit),
            source: given(system, loaded),
        }],
        terms: Term::whole(Law::CacheTurns),
    })
}

fn given(system: &System, loaded: &Loaded) -> String {
    system.part(&loaded.part()).map(|part| part.given.to_string()).unwrap_or_default()
}

fn formula(cache: &Cache, (fast, slow): (&Side, &Side), workload: &Workload, rate: BytesPerSec) -> String {
    if workload.read_share > 0.0 {
        format!("1 ÷ ({:.3} ÷ {} + {:.3} ÷ {}) = {rate}", cache.hit, fast.read, 1.0 - cache.hit, slow.read)
    } else if cache.writeback {
        format!("written to the cache alone: {rate}")
    } else {
        format!("written to both, {} and {}: {rate}", fast.write, slow.write)
    }
}

/// What one side carries of its own bytes.
struct Side {
    read: BytesPerSec,
    write: BytesPerSec,
}

impl Side {
    /// The narrowest of the hops from the part `name`, right below the cache, on. What both sides share is a bound apart.
    fn of(hops: &[Loaded], cache: &Loaded, name: &Name) -> Option<Self> {
        let is_top = |it: &&Loaded| it.hop.above.as_ref() == Some(&cache.hop.id) && it.part() == *name;
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
