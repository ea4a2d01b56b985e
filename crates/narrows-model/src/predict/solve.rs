//! From bounds to rates: what each flow uses of each hop, and what it gets.

use std::collections::BTreeMap;

use super::flow::{self, CapacityUse, Duplex, Flow, HopCapacity, Pool, Stop};
use super::hops::{Loaded, Run};
use super::law::{self, Law, Residuals};
use super::{Bound, BoundKind, Prediction, Sensitivity, answer, notes_of, own};
use crate::ceiling::{Basis, Direction, FactRef, Limit};
use crate::path::HopId;
use crate::path::file::{BuildError, System, Workload};
use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};

/// What a workload will get, beside those that run at the same time (`with`).
///
/// # Errors
/// The description is no path: a part is missing, lies on itself, or hangs where it cannot.
pub fn predict(system: &System, workload: &Workload) -> Result<Prediction, BuildError> {
    let others = workload.with.iter().filter(|name| **name != workload.name);
    let others = others.filter_map(|name| system.workload(name)).cloned();
    let all: Vec<Workload> = std::iter::once(workload.clone()).chain(others).collect();
    let mut predictions = predict_together(system, &all)?;
    Ok(predictions.swap_remove(0))
}

/// What each of several workloads that run at the same time will get, in their order.
///
/// # Errors
/// The same as [`predict`].
pub fn predict_together(system: &System, workloads: &[Workload]) -> Result<Vec<Prediction>, BuildError> {
    let runs = runs(system, workloads)?;
    let solved = solve(&runs, None);
    let steps: Vec<Vec<Sensitivity>> =
        solved.iter().enumerate().map(|(at, now)| sensitivity(&runs, at, now)).collect();
    let solved = solved.into_iter().zip(steps);
    Ok(runs.into_iter().zip(solved).map(|(run, (solved, steps))| finish(run, solved, steps)).collect())
}

/// What a workload would get alone if one hop of its path carried `factor` times as much. The formulas of bounds stay those of the hop as it
/// is, and sensitivities are left out.
///
/// # Errors
/// The same as [`predict`].
pub fn predict_widened(
    system: &System,
    workload: &Workload,
    (hop, factor): (&HopId, f64),
) -> Result<Prediction, BuildError> {
    let mut runs = runs(system, std::slice::from_ref(workload))?;
    let mut solved = solve(&runs, Some((hop, factor)));
    Ok(finish(runs.swap_remove(0), solved.swap_remove(0), Vec::new()))
}

/// All workloads on their paths.
fn runs<'s>(system: &'s System, workloads: &'s [Workload]) -> Result<Vec<Run<'s>>, BuildError> {
    let jobs: u32 = workloads.iter().map(|workload| workload.jobs.max(1)).fold(0, u32::saturating_add);
    workloads.iter().map(|workload| Run::new(system, workload, jobs)).collect()
}

/// What became of one flow.
struct Solved {
    rate: f64,
    stop: Stop,
    /// The bounds, and the capacity that each is; `None` for the flow's own.
    bounds: Vec<(Bound, Option<usize>)>,
}

/// A hop whose ceilings are taken for larger, and the factor.
pub(super) type Raised<'h> = Option<(&'h HopId, f64)>;

pub(super) fn factor(raised: Raised<'_>, hop: &HopId) -> f64 {
    raised.filter(|(id, _)| *id == hop).map_or(1.0, |(_, factor)| factor)
}

fn solve(runs: &[Run<'_>], raised: Raised<'_>) -> Vec<Solved> {
    let mut shared = Shared::default();
    let (flows, bounds): (Vec<Flow>, Vec<_>) = runs.iter().map(|run| shared.flow(run, raised)).unzip();
    let shares = flow::max_min(shared.pool.capacities(), &flows);
    shares
        .into_iter()
        .zip(bounds)
        .map(|(share, bounds)| Solved { rate: share.rate, stop: share.stop, bounds })
        .collect()
}

/// The capacities of all hops that flows meet at, by hop and what of it.
#[derive(Default)]
struct Shared {
    pool: Pool,
    known: BTreeMap<(HopId, BoundKind), HopCapacity>,
    buckets: BTreeMap<(HopId, u8), usize>,
}

impl Shared {
    fn flow(&mut self, run: &Run<'_>, raised: Raised<'_>) -> (Flow, Vec<(Bound, Option<usize>)>) {
        let mut used = Vec::new();
        for loaded in &run.hops {
            used.extend(self.bandwidth(run, loaded, raised));
            used.extend(self.operations(run, loaded));
            used.extend(self.caps(run, loaded, raised));
        }
        let of_hops: Vec<&Bound> = used.iter().map(|(bound, _)| bound).collect();
        let own = own::bounds(run, raised, &of_hops);
        let demand = own.iter().map(|bound| bound.rate.get()).reduce(f64::min);
        let uses = used.iter().map(|(_, used)| *used).collect();
        let of_hops = used.into_iter().map(|(bound, used)| (bound, Some(used.capacity)));
        let bounds = of_hops.chain(own.into_iter().map(|bound| (bound, None))).collect();
        (Flow { weight: weight(run.workload), demand, uses }, bounds)
    }

    /// What a hop has of this kind, the same for all flows.
    fn capacity(
        &mut self,
        loaded: &Loaded<'_>,
        kind: BoundKind,
        (read, write): (Option<f64>, Option<f64>),
        duplex: Duplex,
    ) -> HopCapacity {
        let key = (loaded.hop.id.clone(), kind);
        *self.known.entry(key).or_insert_with(|| self.pool.hop(read, write, duplex))
    }

    /// What a flow gets that has a capacity alone.
    fn alone(&self, used: CapacityUse) -> BytesPerSec {
        let there = self.pool.capacities().get(used.capacity).copied().unwrap_or(0.0);
        BytesPerSec::new(there / used.per_unit)
    }

    /// What the flow uses of the bytes that a hop carries, and the bounds that these are.
    fn bandwidth(
        &mut self,
        run: &Run<'_>,
        loaded: &Loaded<'_>,
        raised: Raised<'_>,
    ) -> Vec<(Bound, CapacityUse)> {
        let factor = factor(raised, &loaded.hop.id);
        let ceiling = |direction| loaded.ceilings.of(direction).rate().map(|rate| rate.get() * factor);
        let rates = (ceiling(Direction::Read), ceiling(Direction::Write));
        if rates == (None, None) {
            return Vec::new();
        }
        let capacity = self.capacity(loaded, BoundKind::Bandwidth, rates, loaded.duplex);
        let (reads, writes) = loaded.moved(run.workload.read_share);
        let bound = |used: CapacityUse| {
            let direction = direction_of(loaded, (reads, writes), &capacity, used);
            let law = law::bandwidth_law(loaded, &run.situation, direction);
            (hop_bound(loaded, direction, self.alone(used), law), used)
        };
        capacity.uses(reads, writes).into_iter().filter(|used| used.per_unit > 0.0).map(bound).collect()
    }

    /// What the flow uses up of what virtual machines may move.
    fn caps(&mut self, run: &Run<'_>, loaded: &Loaded<'_>, raised: Raised<'_>) -> Vec<(Bound, CapacityUse)> {
        let factor = factor(raised, &loaded.hop.id);
        let (reads, writes) = loaded.moved(run.workload.read_share);
        let mut found = Vec::new();
        for bucket in own::buckets(loaded, run.workload.block_size) {
            let key = (loaded.hop.id.clone(), bucket.which);
            // A bucket holds a second of its own time.
            let capacity = *self.buckets.entry(key).or_insert_with(|| self.pool.add(factor));
            let per_unit = (reads + writes) * bucket.per_byte;
            if per_unit > 0.0 {
                let rate = BytesPerSec::new(factor / per_unit);
                found.push((Bound { rate, ..bucket.bound }, CapacityUse { capacity, per_unit }));
            }
        }
        found
    }

    /// What the flow uses of the I/Os that a drive, an adapter or virtual machines complete.
    fn operations(&mut self, run: &Run<'_>, loaded: &Loaded<'_>) -> Vec<(Bound, CapacityUse)> {
        let Some(limit) = own::operations(run, loaded) else { return Vec::new() };
        let rates = (limit.read.map(Iops::get), limit.write.map(Iops::get));
        let capacity = self.capacity(loaded, BoundKind::Iops, rates, Duplex::Half);
        let size = own::piece(loaded, run.workload.block_size).as_f64().max(1.0);
        let (reads, writes) = loaded.moved(run.workload.read_share);
        let bound = |used: CapacityUse| {
            let (value, source) = (limit.shown(), limit.source.clone());
            let facts = vec![FactRef { fact: "I/Os a second".to_owned(), value, source }];
            let hop = (&loaded.hop.id, loaded.hop.name.clone());
            let (formula, law) = (limit.formula(Bytes::new(size as u64)), law::operations_law(loaded));
            let bound = Bound::new(BoundKind::Iops, hop, self.alone(used), formula, law);
            (Bound { basis: limit.basis, facts, ..bound }, used)
        };
        let uses = capacity.uses(reads / size, writes / size).into_iter();
        uses.filter(|used| used.per_unit > 0.0).map(bound).collect()
    }
}

/// Flows get of a hop that is full what they have waiting there: requests under way times their size.
fn weight(workload: &Workload) -> f64 {
    workload.in_flight() * workload.block_size.as_f64().max(1.0)
}

/// The one direction that a capacity is of, if it is not of both.
fn direction_of(
    loaded: &Loaded<'_>,
    (reads, writes): (f64, f64),
    capacity: &HopCapacity,
    used: CapacityUse,
) -> Option<Direction> {
    match loaded.duplex {
        Duplex::Full => {
            let is_read = capacity.uses(1.0, 0.0).first().is_some_and(|read| read.capacity == used.capacity);
            Some(if is_read { Direction::Read } else { Direction::Write })
        }
        Duplex::Half if writes <= 0.0 => Some(Direction::Read),
        Duplex::Half if reads <= 0.0 => Some(Direction::Write),
        Duplex::Half => None,
    }
}

fn hop_bound(loaded: &Loaded<'_>, direction: Option<Direction>, rate: BytesPerSec, law: Law) -> Bound {
    let limit = |direction: Direction| loaded.ceilings.of(direction).limit();
    let first: Option<&Limit> = match direction {
        Some(direction) => limit(direction),
        None => limit(Direction::Read).or_else(|| limit(Direction::Write)),
    };
    let mut formula = first.map(|limit| limit.formula.clone()).unwrap_or_default();
    match (direction, first) {
        (None, _) => formula.push_str(&format!("; reads and writes take turns: {rate} together")),
        (Some(_), Some(limit)) if (rate.get() / limit.rate.get() - 1.0).abs() > 1e-9 => {
            let share = limit.rate.get() / rate.get();
            formula.push_str(&format!("; {share:.3} of each byte crosses it: {rate}"));
        }
        _ => {}
    }
    let hop = (&loaded.hop.id, loaded.hop.name.clone());
    let (basis, facts) = first.map_or((Basis::Guess, Vec::new()), |it| (it.basis, it.facts.clone()));
    Bound { direction, basis, facts, ..Bound::new(BoundKind::Bandwidth, hop, rate, formula, law) }
}

/// The step by which ceilings are raised to see what the rate does.
const STEP: f64 = 1.01;

/// Hops whose ceilings are tried: the narrowest and those of which a request spends its time in.
const MOST_TRIED: usize = 12;

fn sensitivity(runs: &[Run<'_>], at: usize, now: &Solved) -> Vec<Sensitivity> {
    let tried = worth_raising(now, runs.len() == 1);
    let mut found: Vec<Sensitivity> = tried
        .into_iter()
        .map(|hop| {
            let raised = solve(runs, Some((hop, STEP)));
            let rate = raised.get(at).map_or(now.rate, |solved| solved.rate);
            let elasticity = if now.rate > 0.0 { (rate / now.rate - 1.0) / (STEP - 1.0) } else { 0.0 };
            Sensitivity { hop: hop.clone(), elasticity: (elasticity * 1e6).round() / 1e6 }
        })
        .filter(|it| it.elasticity.abs() > 1e-3)
        .collect();
    found.sort_by(|a, b| b.elasticity.total_cmp(&a.elasticity));
    found
}

/// The hops whose ceilings may decide, lowest first. A flow alone that is stopped by a capacity gets its lowest bound: no other
/// hop matters, and none where several hops have that bound.
fn worth_raising(now: &Solved, is_alone: bool) -> Vec<&HopId> {
    let mut bounds: Vec<&Bound> = now.bounds.iter().map(|(bound, _)| bound).collect();
    bounds.sort_by(|a, b| a.by_rate(b));
    let is_stopped = is_alone && matches!(now.stop, Stop::Capacity(_));
    if is_stopped {
        bounds.retain(|bound| bound.rate.get() <= now.rate * (1.0 + SAME_RATE));
        if bounds.iter().any(|bound| bounds.first().is_some_and(|first| first.hop != bound.hop)) {
            return Vec::new();
        }
    }
    let mut tried: Vec<&HopId> = Vec::new();
    let is_raised = |bound: &&Bound| matches!(bound.kind, BoundKind::Bandwidth | BoundKind::Cap);
    for bound in bounds.into_iter().filter(is_raised) {
        if tried.len() < MOST_TRIED && !tried.contains(&&bound.hop) {
            tried.push(&bound.hop);
        }
    }
    tried
}

/// Rates that differ by less than this part of themselves are one.
const SAME_RATE: f64 = 1e-9;

fn finish(run: Run<'_>, solved: Solved, sensitivity: Vec<Sensitivity>) -> Prediction {
    let Run { workload, path, hops, situation, .. } = run;
    let Solved { rate, stop, mut bounds } = solved;
    let rate = if rate.is_finite() { rate } else { 0.0 };
    bounds.sort_by(|(a, _), (b, _)| a.by_rate(b));
    let decides = bounds.iter().position(|(_, capacity)| match stop {
        Stop::Capacity(full) => *capacity == Some(full),
        Stop::Demand => capacity.is_none(),
        Stop::Nothing => false,
    });
    let bounds: Vec<Bound> = bounds.into_iter().map(|(bound, _)| bound).collect();
    let iops = rate / workload.block_size.as_f64().max(1.0);
    let latency = if iops > 0.0 { workload.in_flight() / iops * 1e9 } else { 0.0 };
    let deciding = decides.and_then(|at| bounds.get(at));
    let answer = answer::answer(&situation, &bounds, (BytesPerSec::new(rate), decides), Residuals::shipped());
    Prediction {
        rate: BytesPerSec::new(rate),
        read: BytesPerSec::new(rate * workload.read_share),
        write: BytesPerSec::new(rate * (1.0 - workload.read_share)),
        iops: Iops::new(iops),
        latency: Nanos::new(latency as u64),
        answer,
        situation,
        notes: notes_of(workload, &hops, &bounds, deciding),
        workload: workload.clone(),
        path,
        bounds,
        decides,
        sensitivity,
    }
}
