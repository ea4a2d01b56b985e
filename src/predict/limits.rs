//! Bounds that are no bytes of a hop: I/Os under way, I/Os of drives, adapters and cores, the stripe thread, copies.

use super::bound::{Bound, BoundKind};
use super::service::{Case, Spent, shown};
use crate::ceiling::{Basis, buffered, io_cost, parity};
use crate::path::file::{Engine, PartKind, Pattern};
use crate::path::{Hop, HopId, HopKind, HopSpec, RaidHop, RaidLevel};
use crate::units::{BytesPerSec, Iops, human};

/// All of them, for the rate that the hops' bytes allow and the hop that allows no more.
pub(super) fn all(case: &Case<'_>, by_bytes: BytesPerSec, narrowest: Option<&HopId>) -> Vec<Bound> {
    let mut bounds: Vec<Bound> = depth(case).into_iter().collect();
    bounds.extend(processor(case));
    bounds.extend(case.path.hops.iter().filter_map(|hop| adapter(case, hop)));
    bounds.extend(drives(case));
    bounds.extend(case.path.hops.iter().filter_map(|hop| stripes(case, hop)));
    bounds.extend(copied(case, by_bytes, narrowest));
    bounds
}

fn bound(kind: BoundKind, hop: &Hop, name: String, rate: f64, basis: Basis, formula: String) -> Bound {
    let rate = BytesPerSec::new(rate);
    Bound { kind, hop: hop.id.clone(), name, direction: None, rate, basis, formula, facts: Vec::new() }
}

/// Requests under way over the time of one; the hop is where an I/O spends most of its time.
fn depth(case: &Case<'_>) -> Option<Bound> {
    let stages = case.stages();
    let longest = stages.iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds))?;
    let hop = case.path.hops.get(longest.hop)?;
    let time: f64 = stages.iter().map(|stage| stage.seconds).sum();
    if !(time > 0.0 && time.is_finite()) {
        return None;
    }
    let said = |stage: &Spent| format!("{} {}", shown(stage.seconds), stage.what);
    let workload = case.workload;
    let rate = workload.in_flight() * workload.block_size.as_f64() / time;
    let stages: Vec<String> = stages.iter().map(said).collect();
    let formula = format!(
        "{:.0} under way × {} ÷ {} ({})",
        workload.in_flight(),
        human::block_size(workload.block_size),
        shown(time),
        stages.join(" + ")
    );
    Some(bound(BoundKind::Depth, hop, format!("time of one I/O, mostly {}", hop.name), rate, Basis::Formula, formula))
}

/// What the cores of the generator can start and complete.
fn processor(case: &Case<'_>) -> Option<Bound> {
    if case.drives().any(|(_, access)| access.is_memory) {
        return None;
    }
    let host = case.system.hosts().map(|(_, host)| host).next();
    let cost = match case.workload.engine {
        Engine::Uring => io_cost::URING,
        Engine::Polled => io_cost::POLLED,
        Engine::Libaio => io_cost::LIBAIO,
        Engine::Sync | Engine::Buffered => return None,
    };
    let cores = case.workload.jobs.clamp(1, host.and_then(|host| host.cores).unwrap_or(u32::MAX));
    let given = host.and_then(|host| host.core_iops);
    let iops = given.map_or_else(
        || io_cost::of_cores(cost, cores),
        |one| Iops::new(one.get() * f64::from(cores)),
    );
    let hop = case.path.hops.first()?;
    let rate = iops.get() * case.workload.block_size.as_f64();
    let formula = format!("{cores} of its cores × {} each", Iops::new(iops.get() / f64::from(cores)));
    let basis = if given.is_some() { Basis::Spec } else { Basis::Guess };
    Some(bound(BoundKind::Processor, hop, "cores that start and complete I/Os".to_owned(), rate, basis, formula))
}

/// What the chip of an adapter completes.
fn adapter(case: &Case<'_>, hop: &Hop) -> Option<Bound> {
    let name = hop.id.as_str().strip_prefix("hba:")?;
    let PartKind::Adapter(adapter) = &case.system.part(&name.into())?.kind else { return None };
    let iops = adapter.iops?;
    let share = ios(case, hop);
    let rate = iops.get() * case.workload.block_size.as_f64() / share;
    let formula = format!("{iops} of its chip, of which each I/O takes {share:.2}");
    Some(bound(BoundKind::Iops, hop, hop.name.clone(), rate, Basis::Spec, formula))
}

/// The part of all I/Os that a hop gets, reads and writes together.
fn ios(case: &Case<'_>, hop: &Hop) -> f64 {
    let read = case.workload.read_share;
    (read * hop.traffic.read + (1.0 - read) * hop.traffic.write).max(1e-9)
}

/// What the busiest drive completes: reads and writes share its time. A small write with parity is several I/Os.
fn drives(case: &Case<'_>) -> Option<Bound> {
    let read = case.workload.read_share;
    let rewrites = case.path.hops.iter().find_map(|hop| match &hop.spec {
        HopSpec::Raid(raid) => parity_of(raid),
        _ => None,
    });
    let time = |share: f64, iops: Option<Iops>| iops.map(|iops| share / iops.get().max(1e-9));
    let all = case.drives().filter_map(|(hop, access)| {
        // Each small write of a parity array is several I/Os, spread over all members.
        let written = rewrites.map_or(hop.traffic.write, |(parity, members)| {
            f64::from(parity::small_write_ios(parity)) / members.max(1) as f64
        });
        let seconds = time(read * hop.traffic.read, access.read_iops)?
            + time((1.0 - read) * written, access.write_iops)?;
        (seconds > 0.0).then_some((hop, seconds, access.basis))
    });
    let (hop, seconds, basis) = all.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let rate = case.workload.block_size.as_f64() / seconds;
    let formula = format!("each I/O takes {} of its time with full queues", shown(seconds));
    Some(bound(BoundKind::Iops, hop, hop.name.clone(), rate, basis, formula))
}

/// The parity and members of a parity array.
fn parity_of(raid: &RaidHop) -> Option<(u32, usize)> {
    match raid.level? {
        RaidLevel::Raid5 => Some((1, raid.members.len())),
        RaidLevel::Raid6 => Some((2, raid.members.len())),
        _ => None,
    }
}

/// What the stripe thread of a parity array writes for one writer.
fn stripes(case: &Case<'_>, hop: &Hop) -> Option<Bound> {
    let HopSpec::Raid(raid) = &hop.spec else { return None };
    let (parity, members) = parity_of(raid)?;
    let written = (1.0 - case.workload.read_share) * hop.traffic.write;
    if written <= 0.0 || case.workload.pattern == Pattern::Random {
        return None;
    }
    let data = members.saturating_sub(parity as usize) as u64;
    let chunk = raid.md.chunk.value().map_or(512 * 1024, |chunk| chunk.get());
    let stripe = chunk.saturating_mul(data).max(1);
    let aligned = case.workload.block_size.get().is_multiple_of(stripe);
    let threads = raid.md.group_threads.value().copied().unwrap_or(0).max(1);
    let rate = parity::stripe_threads(aligned, threads);
    let how = if aligned { "full stripes" } else { "writes that do not fill stripes" };
    let formula = format!("{threads} stripe thread(s) with {how} = {rate}");
    Some(bound(BoundKind::Processor, hop, hop.name.clone(), rate.get() / written, Basis::Guess, formula))
}

/// The copy out of the page cache, which does not overlap with the device.
fn copied(case: &Case<'_>, by_bytes: BytesPerSec, narrowest: Option<&HopId>) -> Option<Bound> {
    let buffered = case.workload.engine == Engine::Buffered && case.workload.read_share >= 1.0;
    if !buffered || case.drives().any(|(_, access)| access.is_memory) {
        return None;
    }
    let jobs = case.workload.jobs;
    let rate = buffered::read_rate(by_bytes, buffered::COPY, jobs);
    let copy = buffered::copy_rate(buffered::COPY, jobs);
    // Whichever takes longer for a byte, the path or the copy, is what limits.
    let limits = |hop: &&Hop| match copy < by_bytes {
        true => hop.kind() == HopKind::Application,
        false => Some(&hop.id) == narrowest,
    };
    let narrow = case.path.hops.iter().find(limits)?;
    let formula = format!("{by_bytes}, and one after the other a copy out of the page cache at {copy}");
    Some(bound(BoundKind::Processor, narrow, narrow.name.clone(), rate.get(), Basis::Guess, formula))
}
