//! What crosses the lanes, in one or two sentences.

use super::{Flow, Lane, LaneNow, Lanes, Picture, REST};
use crate::attribution::REACHED;
use narrows_base::units::{BytesPerSec, human};
use narrows_machine::activity::Mover;
use narrows_model::ceiling::Direction;
use narrows_model::path::HopKind;

/// A drive that always has requests to work on, as far as a mean over the time between two looks tells.
const ALWAYS: f64 = 0.95;

pub(super) fn of(lanes: &Lanes, picture: &Picture) -> String {
    if picture.moved.sum().get() < REST {
        return at_rest(picture);
    }
    let place = |at: usize| Some((lanes.all().get(at)?, picture.lanes.get(at)?));
    let mut sentences = match picture.fullest.and_then(place) {
        Some((lane, now)) => vec![fullest(lane, now)],
        None => vec![format!("{} over hops whose ceilings are not known.", flow(picture.moved))],
    };
    let is_full = picture.fullest.and_then(place).is_some_and(|(_, now)| now.fraction >= Some(REACHED));
    if !is_full && let Some((lane, now)) = waiting(lanes, picture) {
        let waiting = human::count(now.in_flight.unwrap_or(0.0));
        sentences.push(format!("{} always has requests to work on, {waiting} on average.", lane.name));
    }
    let lane = picture.fullest.and_then(place).map(|(lane, _)| lane);
    sentences.extend(movers(lanes, lane, &picture.movers));
    sentences.extend(resyncs(picture));
    sentences.join(" ")
}

fn at_rest(picture: &Picture) -> String {
    let resyncs: Vec<String> = resyncs(picture).collect();
    if resyncs.is_empty() { "Nothing moves.".to_owned() } else { resyncs.join(" ") }
}

fn fullest(lane: &Lane, now: &LaneNow) -> String {
    let part = human::percent(now.fraction.unwrap_or(0.0));
    let drives = lane.disks().count();
    let share = match (lane.sources.len(), lane.sources.len() - drives) {
        (0 | 1, _) => String::new(),
        (_, 0) => format!(" {drives} drives share it."),
        (several, _) => format!(" {several} drives and interfaces share it."),
    };
    let carries = carries(lane, now);
    if now.fraction >= Some(REACHED) {
        return format!("{} is at its ceiling: {carries} ({part}).{share}", lane.name);
    }
    format!("The fullest hop is {}: {carries} ({part}).{share}", lane.name)
}

/// `3.2 GB/s of 3.9 GB/s read`.
fn carries(lane: &Lane, now: &LaneNow) -> String {
    let ceiling = |direction| lane.ceilings.of(direction).rate();
    let one = |direction, word: &str| {
        let most = ceiling(direction).map_or_else(String::new, |rate| format!(" of {rate}"));
        format!("{}{most} {word}", now.flow.of(direction))
    };
    let moves = |rate: BytesPerSec| rate.get() >= REST;
    match now.fuller {
        Some(Direction::Read) => one(Direction::Read, "read"),
        Some(Direction::Write) => one(Direction::Write, "written"),
        None if !moves(now.flow.write) => one(Direction::Read, "read"),
        None if !moves(now.flow.read) => one(Direction::Write, "written"),
        None => format!("{} and {}", one(Direction::Read, "read"), one(Direction::Write, "written")),
    }
}

fn flow(flow: Flow) -> String {
    match (flow.read.get() >= REST, flow.write.get() >= REST) {
        (_, false) => format!("{} read", flow.read),
        (false, true) => format!("{} written", flow.write),
        (true, true) => format!("{} read and {} written", flow.read, flow.write),
    }
}

/// The drive with most requests in flight among those that are never without one.
fn waiting<'a>(lanes: &'a Lanes, picture: &'a Picture) -> Option<(&'a Lane, &'a LaneNow)> {
    let all = lanes.all().iter().zip(&picture.lanes);
    let busy = all.filter(|(lane, now)| {
        lane.kind == HopKind::Device && now.busy >= Some(ALWAYS) && now.in_flight >= Some(1.0)
    });
    busy.max_by(|one, other| {
        one.1.in_flight.partial_cmp(&other.1.in_flight).unwrap_or(std::cmp::Ordering::Equal)
    })
}

/// Who moves most behind the lane that is named, or anywhere.
fn movers(lanes: &Lanes, lane: Option<&Lane>, movers: &[Mover]) -> Option<String> {
    let mover = movers.iter().find(|mover| lane.is_none_or(|lane| lanes.is_behind(mover, lane)))?;
    let what = match (mover.read.get() >= REST, mover.written.get() >= REST) {
        (_, false) => format!("reads {}", mover.read),
        (false, true) => format!("writes {}", mover.written),
        (true, true) => format!("reads {} and writes {}", mover.read, mover.written),
    };
    let places: Vec<&str> = mover.devices.iter().map(String::as_str).collect();
    let on = match places[..] {
        [] => String::new(),
        [one] => format!("; its open files are on {one}"),
        _ => format!("; its open files are on {}", places.join(", ")),
    };
    Some(format!("{} ({}) {what}{on}.", mover.name, mover.pid))
}

fn resyncs(picture: &Picture) -> impl Iterator<Item = String> + '_ {
    picture.resyncs.iter().map(|(array, resync)| {
        let speed = resync.speed.map(|speed| format!(" at {speed}")).unwrap_or_default();
        format!("{array} works on itself ({}){speed}.", resync.action)
    })
}
