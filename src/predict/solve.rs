//! From bounds to rates.

use super::bound::{Bound, BoundKind};
use super::flow::{self, Duplex, Flow, Pool, Stop};
use super::medium;
use super::prediction::Prediction;
use crate::ceiling::{self, Basis, Ceilings};
use crate::path::file::{BuildError, PartKind, System, Workload, path};
use crate::path::{Hop, HopKind, HopSpec, Path};
use crate::units::{BytesPerSec, Iops, Nanos};

/// What a workload will get, beside those that run at the same time (`with`).
///
/// # Errors
/// The description is no path: a part is missing, lies on itself, or hangs where it cannot.
pub fn predict(system: &System, workload: &Workload) -> Result<Prediction, BuildError> {
    let others = workload.with.iter().filter_map(|name| system.workload(name)).cloned();
    let all: Vec<Workload> = std::iter::once(workload.clone()).chain(others).collect();
    let mut predictions = predict_together(system, &all)?;
    Ok(predictions.swap_remove(0))
}

/// What each of several workloads that run at the same time will get, in their order.
///
/// # Errors
/// The same as [`predict`].
pub fn predict_together(system: &System, workloads: &[Workload]) -> Result<Vec<Prediction>, BuildError> {
    workloads.iter().map(|workload| alone(system, workload)).collect()
}

fn alone(system: &System, workload: &Workload) -> Result<Prediction, BuildError> {
    let path = path(system, &workload.target)?;
    let ceilings: Vec<Ceilings> = path.hops.iter().map(ceiling::of_hop).collect();
    let mut pool = Pool::default();
    let mut bounds = Vec::new();
    let mut flow = Flow { weight: 1.0, demand: None, uses: Vec::new() };
    for (hop, ceilings) in path.hops.iter().zip(&ceilings) {
        let (read, write) = (ceilings.read.rate(), ceilings.write.rate());
        let capacity = pool.hop(read.map(BytesPerSec::get), write.map(BytesPerSec::get), duplex(hop));
        let (reads, writes) =
            (workload.read_share * hop.traffic.read, (1.0 - workload.read_share) * hop.traffic.write);
        for used in capacity.uses(reads, writes).into_iter().filter(|used| used.per_unit > 0.0) {
            let rate = pool.capacities()[used.capacity] / used.per_unit;
            bounds.push(bandwidth(hop, ceilings, BytesPerSec::new(rate)));
            flow.uses.push(used);
        }
    }
    let time = request_time(system, workload, &path, &ceilings);
    let rate = workload.in_flight() * workload.block_size.as_f64() / time.max(1e-9);
    flow.demand = Some(rate);
    bounds.push(depth(&path, workload, rate, time));
    let share = flow::max_min(pool.capacities(), &[flow])[0];
    Ok(finish(workload, path, bounds, share.rate, share.stop))
}

fn finish(workload: &Workload, path: Path, mut bounds: Vec<Bound>, rate: f64, _stop: Stop) -> Prediction {
    bounds.sort_by(|a, b| a.rate.get().total_cmp(&b.rate.get()));
    let iops = rate / workload.block_size.as_f64().max(1.0);
    let latency = if iops > 0.0 { workload.in_flight() / iops * 1e9 } else { 0.0 };
    Prediction {
        workload: workload.clone(),
        path,
        rate: BytesPerSec::new(rate),
        read: BytesPerSec::new(rate * workload.read_share),
        write: BytesPerSec::new(rate * (1.0 - workload.read_share)),
        iops: Iops::new(iops),
        latency: Nanos::new(latency as u64),
        decides: (!bounds.is_empty()).then_some(0),
        bounds,
        sensitivity: Vec::new(),
        error: (-0.15, 0.15),
        notes: Vec::new(),
    }
}

fn bandwidth(hop: &Hop, ceilings: &Ceilings, rate: BytesPerSec) -> Bound {
    let limit = ceilings.read.limit().or_else(|| ceilings.write.limit());
    Bound {
        kind: BoundKind::Bandwidth,
        hop: hop.id.clone(),
        name: hop.name.clone(),
        direction: None,
        rate,
        basis: limit.map_or(Basis::Guess, |limit| limit.basis),
        formula: limit.map(|limit| limit.formula.clone()).unwrap_or_default(),
        facts: limit.map(|limit| limit.facts.clone()).unwrap_or_default(),
    }
}

fn depth(path: &Path, workload: &Workload, rate: f64, time: f64) -> Bound {
    let hop = &path.hops[0];
    Bound {
        kind: BoundKind::Depth,
        hop: hop.id.clone(),
        name: "requests under way".to_owned(),
        direction: None,
        rate: BytesPerSec::new(rate),
        basis: Basis::Formula,
        formula: format!(
            "{} × {} ÷ {}",
            workload.in_flight(),
            workload.block_size,
            Nanos::new((time * 1e9) as u64)
        ),
        facts: Vec::new(),
    }
}

fn duplex(hop: &Hop) -> Duplex {
    match &hop.spec {
        HopSpec::Network(network) if network.both_ways => Duplex::Half,
        _ => match hop.kind() {
            HopKind::Device | HopKind::Memory | HopKind::Sata | HopKind::Usb | HopKind::Crypt => Duplex::Half,
            _ => Duplex::Full,
        },
    }
}

/// Seconds that one request takes alone.
fn request_time(system: &System, workload: &Workload, path: &Path, ceilings: &[Ceilings]) -> f64 {
    let mut access: f64 = 0.0;
    for part in path.hops.iter().filter(|hop| hop.kind() == HopKind::Device) {
        let name = part.id.as_str().trim_start_matches("device:");
        if let Some(PartKind::Device(device)) = system.part(&name.into()).map(|part| &part.kind) {
            let it = medium::access(device, workload.pattern);
            let read = it.read_time.as_secs_f64() * workload.read_share;
            access = access.max(read + it.write_time.as_secs_f64() * (1.0 - workload.read_share));
        }
    }
    let narrowest =
        ceilings.iter().filter_map(|it| it.read.rate()).fold(f64::INFINITY, |low, it| low.min(it.get()));
    access + workload.block_size.as_f64() / narrowest
}
