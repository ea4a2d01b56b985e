//! From a look to the view model: joins, and decides nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::{LaneView, ProcessView, ResyncView, SCHEMA, SideView, TopReport};
use crate::view::tool;
use narrows_machine::activity::{LinkState, Mover};
use narrows_machine::pci::PciAddress;
use narrows_model::ceiling::{Ceiling, Direction};
use narrows_verdict::live::{Lane, LaneNow, Lanes, Picture};

/// What a report is about, beside what moves.
#[derive(Debug, Clone, Default)]
pub struct About<'a> {
    /// The target, where one was asked for.
    pub target: Option<&'a str>,
    /// The state of links, by the function below each.
    pub links: BTreeMap<PciAddress, LinkState>,
    /// Functions that sleep and were not asked.
    pub asleep: BTreeSet<PciAddress>,
    /// What is not seen, and what would show it.
    pub notes: Vec<String>,
}

/// The whole report of one look.
pub fn report(about: &About<'_>, lanes: &Lanes, picture: &Picture) -> TopReport {
    let id = |at: usize| lanes.all().get(at).map(|lane| lane.id.to_string());
    let fullest = picture.fullest.and_then(id);
    TopReport {
        schema: SCHEMA.to_owned(),
        tool: tool(),
        target: about.target.map(str::to_owned),
        elapsed_ns: picture.elapsed,
        read_bytes_per_second: picture.moved.read,
        write_bytes_per_second: picture.moved.write,
        lanes: lanes
            .all()
            .iter()
            .zip(&picture.lanes)
            .map(|(lane, now)| lane_view(about, lane, now))
            .collect(),
        reason: fullest.is_none().then(|| "no hop of known ceiling moves anything".to_owned()),
        fullest_hop: fullest,
        processes: picture.movers.iter().map(|mover| process_view(lanes, mover)).collect(),
        resyncs: picture
            .resyncs
            .iter()
            .map(|(array, resync)| ResyncView {
                array: array.to_owned(),
                action: resync.action.clone(),
                bytes_per_second: resync.speed,
            })
            .collect(),
        sentence: picture.sentence.clone(),
        notes: about.notes.clone(),
    }
}

fn lane_view(about: &About<'_>, lane: &Lane, now: &LaneNow) -> LaneView {
    let is_whole = now.gone.is_empty();
    let side = |direction| {
        let limit = lane.ceilings.of(direction).limit();
        SideView {
            bytes_per_second: is_whole.then(|| now.flow.of(direction)),
            ceiling_bytes_per_second: limit.map(|limit| limit.rate),
            basis: limit.map(|limit| limit.basis),
        }
    };
    LaneView {
        hop: lane.id.to_string(),
        kind: lane.kind,
        name: lane.name.clone(),
        depth: lane.depth,
        sources: lane.sources.iter().map(|source| source.name().to_owned()).collect(),
        read: side(Direction::Read),
        write: side(Direction::Write),
        iops: now.iops.filter(|_| is_whole),
        latency_ns: now.latency.filter(|_| is_whole),
        in_flight: now.in_flight,
        busy: now.busy,
        part_of_ceiling: now.fraction,
        is_estimate: now.is_estimate,
        link: lane.link().and_then(|address| link(about, address)),
        reason: reason(lane, now),
    }
}

fn link(about: &About<'_>, address: PciAddress) -> Option<String> {
    if about.asleep.contains(&address) {
        return Some("asleep".to_owned());
    }
    let state = about.links.get(&address)?;
    let speed = state.speed.map(|speed| speed.to_string());
    let width = state.width.map(|width| width.to_string());
    Some([speed, width].into_iter().flatten().collect::<Vec<_>>().join(" "))
}

fn reason(lane: &Lane, now: &LaneNow) -> Option<String> {
    if !now.gone.is_empty() {
        let gone: Vec<&str> = now.gone.iter().map(|source| source.name()).collect();
        return Some(format!("the counters of {} are gone", gone.join(", ")));
    }
    let why = |ceiling: &Ceiling| match ceiling {
        Ceiling::Unknown(why) | Ceiling::Transparent(why) => Some(why.to_owned()),
        Ceiling::Known(_) => None,
    };
    why(&lane.ceilings.read).or_else(|| why(&lane.ceilings.write))
}

fn process_view(lanes: &Lanes, mover: &Mover) -> ProcessView {
    let behind = lanes.all().iter().filter(|lane| lanes.is_behind(mover, lane));
    ProcessView {
        pid: mover.pid,
        name: mover.name.clone(),
        read_bytes_per_second: mover.read,
        write_bytes_per_second: mover.written,
        devices: mover.devices.iter().cloned().collect(),
        hops: behind.map(|lane| lane.id.to_string()).collect(),
    }
}
