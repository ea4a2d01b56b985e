//! Arrays and volumes: what each layout does to the rates of its members.

use narrows_base::stats;
use narrows_base::units::{Bytes, BytesPerSec, human};
use narrows_model::ceiling::queueing::at_work;
use narrows_model::path::{Hop, HopSpec, RaidLevel, VolumeLayout};
use serde::{Deserialize, Serialize};

use super::{At, Cause, Loss, Rung, SIGNIFICANT, gone};
use crate::finding::{Code, Confidence, Evidence, Finding, Severity};

/// A rate within this part of what the slowest member allows is that; chance, and what the array itself costs, is the rest.
const NEAR: std::ops::RangeInclusive<f64> = 0.85..=1.1;
/// Members whose rates alone are closer than this are alike.
const ALIKE: f64 = 0.95;
/// A member of a mirror that reads more than this many times its share is preferred.
const PREFERRED: f64 = 1.3;
/// Members of a mirror that have work less of the time than this are idle while others have too much.
const IDLE_BELOW: f64 = 0.9;
/// A member that served this much of a linear volume's bytes served them all.
const ALL: f64 = 0.9;
/// A thread of an array that uses this much of a core has no time left.
const FULL_CORE: f64 = 0.9;

/// How a layer spreads what it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RaidLayout {
    Striped,
    Mirrored,
    Parity,
    Linear,
}

fn layout(hop: &Hop) -> Option<RaidLayout> {
    match &hop.spec {
        HopSpec::Raid(raid) => Some(match raid.level? {
            RaidLevel::Raid0 => RaidLayout::Striped,
            RaidLevel::Raid1 | RaidLevel::Raid10 => RaidLayout::Mirrored,
            RaidLevel::Raid5 | RaidLevel::Raid6 => RaidLayout::Parity,
            RaidLevel::Linear => RaidLayout::Linear,
        }),
        HopSpec::Volume(volume) => match volume.layout {
            VolumeLayout::Linear => Some(RaidLayout::Linear),
            VolumeLayout::Striped { .. } => Some(RaidLayout::Striped),
            VolumeLayout::Multipath | VolumeLayout::Other(_) => None,
        },
        _ => None,
    }
}

/// Why the array at `at` gives less than its members.
pub(super) fn decide(at: &At<'_>) -> Option<Loss> {
    match layout(at.hop)? {
        RaidLayout::Striped => slowest(at).or_else(|| too_shallow(at)),
        RaidLayout::Parity => thread(at).or_else(|| slowest(at)).or_else(|| too_shallow(at)),
        RaidLayout::Mirrored => unbalanced(at),
        RaidLayout::Linear => one_after_another(at),
    }
}

/// A parity array handles stripes in one thread; reads only where a member is missing.
fn thread(at: &At<'_>) -> Option<Loss> {
    let HopSpec::Raid(raid) = &at.hop.spec else { return None };
    let prefix = format!("{}_raid", raid.block);
    let (_, busiest) = at.case.kernel_threads(|name| name.starts_with(&prefix));
    (busiest >= FULL_CORE).then(|| {
        let name = &at.hop.name;
        let degraded = raid.md.degraded.value().is_some_and(|missing| *missing > 0);
        let why = if degraded { " to make up for the missing member" } else { "" };
        let summary = format!("{name}: its one thread {prefix}… uses up a core{why}.");
        at.loss(Cause::StripeThread, at.hop, Confidence::High, summary)
            .seen(format!("thread {prefix}…"), format!("{busiest:.2} cores"), "/proc/[pid]/stat")
            .with([Evidence::from_fact("threads for stripes beside it", &raid.md.group_threads)])
    })
}

/// Each member gets the same share, so the layer gives what the slowest allows.
fn slowest(at: &At<'_>) -> Option<Loss> {
    let allowed = |rung: &Rung| Some(rung.rate()? / at.share(rung)?);
    let mut members: Vec<(&Rung, BytesPerSec)> =
        at.members().filter_map(|rung| Some((rung, allowed(rung)?))).collect();
    members.sort_by(|a, b| a.1.get().total_cmp(&b.1.get()));
    let (slow, bound) = *members.first()?;
    let (_, fastest) = *members.last()?;
    let is_bound = NEAR.contains(&at.rate.fraction_of(bound));
    if !is_bound || bound.fraction_of(fastest) >= ALIKE {
        return None;
    }
    let hop = at.case.path().hop(&slow.hop)?;
    let alone = slow.rate()?;
    let times = human::count(at.share(slow).map_or(0.0, |share| 1.0 / share));
    let summary = format!(
        "{} gives each member the same share: {times} times the {alone} of {} is {bound}, whatever the others can do.",
        at.hop.name, hop.name
    );
    Some(at.loss(Cause::SlowestMember, hop, Confidence::High, summary).with(alone_rates(at)))
}

fn alone_rates(at: &At<'_>) -> Vec<Evidence> {
    let shown = |rung: &Rung| Some(Evidence::new(format!("{} alone", rung.hop), rung.rate()?, "its own run"));
    at.members().filter_map(shown).collect()
}

/// The members have room, so too few of them had work at a time.
fn too_shallow(at: &At<'_>) -> Option<Loss> {
    let measurement = at.case.measurement()?;
    let members = at.members().count();
    let (block, depth) = (measurement.workload.block_size, measurement.workload.queue_depth);
    let chunk = chunk(at.hop)?;
    let pieces = block.get().div_ceil(chunk.get().max(1)).max(1);
    let working = at_work(members as f64, pieces as f64, f64::from(depth));
    let busy = at.members().filter_map(|rung| at.disk(rung)).map(|disk| disk.busy).fold(0.0, f64::max);
    if at.is_processor_full() {
        return None;
    }
    let summary = format!(
        "{}: {depth} requests of {} over chunks of {} give {working:.1} of {members} members work at a time; more or \
         larger requests would bring more.",
        at.hop.name,
        human::block_size(block),
        human::block_size(chunk),
    );
    let confidence = if working < 0.9 * members as f64 { Confidence::High } else { Confidence::Low };
    let found = at.loss(Cause::ChunkOrDepth, at.hop, confidence, summary).seen(
        "chunk",
        human::block_size(chunk),
        "the layout",
    );
    Some(found.seen("busiest member", human::percent(busy), "/proc/diskstats"))
}

fn chunk(hop: &Hop) -> Option<Bytes> {
    match &hop.spec {
        HopSpec::Raid(raid) => raid.md.chunk.get(),
        HopSpec::Volume(volume) => volume.layout.chunk(),
        _ => None,
    }
}

/// The part of the layer's bytes that each member served, largest first, from the members' own counters.
fn served<'a>(at: &At<'a>) -> Vec<(&'a Hop, f64)> {
    let hops = at.members().filter_map(|rung| at.case.path().hop(&rung.hop));
    let mut parts: Vec<(&Hop, f64)> =
        hops.filter_map(|hop| Some((hop, at.case.moved(at.case.hop_disk(hop)?)))).collect();
    let all: f64 = parts.iter().map(|(_, bytes)| bytes).sum();
    parts.iter_mut().for_each(|(_, part)| *part = if all > 0.0 { *part / all } else { 0.0 });
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    parts
}

/// What each member served, and what it gives alone.
fn shares(at: &At<'_>, parts: &[(&Hop, f64)]) -> Vec<Evidence> {
    let shown = |(hop, part): &(&Hop, f64)| {
        Evidence::new(format!("part served by {}", hop.id), human::percent(*part), "/proc/diskstats")
    };
    parts.iter().map(shown).chain(alone_rates(at)).collect()
}

/// A mirror reads one stream from one member.
fn unbalanced(at: &At<'_>) -> Option<Loss> {
    let parts = served(at);
    let (preferred, part) = *parts.first()?;
    let even = 1.0 / parts.len() as f64;
    if part <= PREFERRED * even {
        return uneven_in_time(at, &parts);
    }
    let summary = format!(
        "{} read {} of its bytes from {}: a mirror keeps a sequential stream on one member, so the others bring nothing \
         to it. Several streams would be spread.",
        at.hop.name,
        human::percent(part),
        preferred.name
    );
    Some(at.loss(Cause::ReadBalance, at.hop, Confidence::High, summary).with(shares(at, &parts)))
}

/// A mirror that reads all members alike, but not at any one time: they hold what was asked for, and still each is idle for
/// a part of the time.
fn uneven_in_time(at: &At<'_>, parts: &[(&Hop, f64)]) -> Option<Loss> {
    let busy: Vec<f64> = parts.iter().filter_map(|(hop, _)| Some(at.case.hop_disk(hop)?.busy)).collect();
    let mean = stats::mean(&busy);
    if mean >= IDLE_BELOW || !at.case.media_are_saturated() {
        return None;
    }
    let summary = format!(
        "{} reads its members in turns: they hold all that is asked for, and each has work only {} of the time. Several \
         streams or a deeper queue would keep all at work.",
        at.hop.name,
        human::percent(mean),
    );
    Some(at.loss(Cause::ReadBalance, at.hop, Confidence::Medium, summary).with(shares(at, parts)))
}

/// The bytes lie on one device after the other, so one of them works at a time.
fn one_after_another(at: &At<'_>) -> Option<Loss> {
    let parts = served(at);
    let (first, part) = *parts.first().filter(|_| parts.len() > 1)?;
    if part < ALL {
        return None;
    }
    let (name, member, part) = (&at.hop.name, &first.name, human::percent(part));
    let summary = format!(
        "{name} is linear: {part} of the bytes lay on {member}, and the others had no work. It takes {}.",
        gone(at)
    );
    Some(at.loss(Cause::Linear, first, Confidence::High, summary).with(shares(at, &parts)))
}

/// The top of the ladder, read from one node.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeRun {
    /// The node whose processors read.
    pub node: u32,
    /// Whether it is the node that the path's controller is on; `None` where that is not known.
    pub local: Option<bool>,
    /// What was measured.
    pub bytes_per_second: BytesPerSec,
    /// A 95 % confidence interval of it.
    pub ci95: Option<[BytesPerSec; 2]>,
}

/// The local node and the slowest remote one; `None` where chance explains the difference.
fn slower_node(runs: &[NodeRun]) -> Option<[NodeRun; 2]> {
    let local = *runs.iter().find(|run| run.local == Some(true))?;
    let remote = runs.iter().filter(|run| run.local == Some(false));
    let remote = remote.min_by(|a, b| a.bytes_per_second.get().total_cmp(&b.bytes_per_second.get()))?;
    let high = remote.ci95.map_or(remote.bytes_per_second, |[_, high]| high);
    let low = local.ci95.map_or(local.bytes_per_second, |[low, _]| low);
    let lost = 1.0 - remote.bytes_per_second.fraction_of(local.bytes_per_second);
    (lost > SIGNIFICANT && high < low).then_some([local, *remote])
}

/// The same load from the processors of each NUMA node: what is lost on the slowest remote one, about the target of `rung`.
pub(super) fn numa_remote(runs: &[NodeRun], rung: &Rung) -> Option<Finding> {
    let [local, remote] = slower_node(runs)?;
    let lost = 1.0 - remote.bytes_per_second.fraction_of(local.bytes_per_second);
    let target = &rung.subject.path.target;
    let (near, far) = (local.node, remote.node);
    let (most, least, lost) = (local.bytes_per_second, remote.bytes_per_second, human::percent(lost));
    let summary = format!(
        "Processors of node {far} read {target} at {least}, {lost} less than those of node {near}, where it is attached ({most})."
    );
    let found = Finding::on(Code::NumaRemote, Severity::Limit, target, summary)
        .seen(format!("read from node {near}"), most, "the run")
        .seen(format!("read from node {far}"), least, "the run");
    let action = format!("Run what reads it on node {near} (numactl --cpunodebind).");
    Some(found.advise_gain(action, Some(most - least)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(node: u32, megabytes: f64) -> NodeRun {
        let rate = BytesPerSec::from_mb(megabytes);
        NodeRun {
            node,
            local: Some(node == 0),
            bytes_per_second: rate,
            ci95: Some([rate * 0.99, rate * 1.01]),
        }
    }

    #[test]
    fn a_remote_node_that_is_slower_is_named_and_one_that_is_not_is_silent() {
        assert_eq!(slower_node(&[run(0, 3000.0), run(1, 2400.0)]), Some([run(0, 3000.0), run(1, 2400.0)]));
        assert_eq!(slower_node(&[run(0, 3000.0), run(1, 2950.0)]), None);
        assert_eq!(slower_node(&[run(0, 3000.0)]), None);
        let nowhere = |node| NodeRun { local: None, ..run(node, 1000.0 * f64::from(node + 1)) };
        assert_eq!(slower_node(&[nowhere(0), nowhere(1)]), None);
    }
}
