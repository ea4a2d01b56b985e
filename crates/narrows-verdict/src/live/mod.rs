//! What crosses each hop now, without a load of our own: counters of drives and interfaces, summed over all that are behind a
//! hop, beside its ceiling.
//!
//! [`Lanes`] is made once of a machine's paths; [`Lanes::now`] is pure arithmetic on the [`Activity`] between two looks.
//! What crosses a hop and belongs to no drive or interface of a storage path (a display on the same chipset) is not
//! counted, so that a lane shows the least that crosses it.

mod lanes;

use std::collections::{BTreeMap, BTreeSet};

use narrows_base::units::{BytesPerSec, Iops, Nanos, human};
use narrows_machine::activity::{Activity, DiskActivity, Mover, Resync};
use narrows_model::ceiling::{Basis, Direction};
use narrows_model::path::HopKind;

use crate::attribution::REACHED;

pub use lanes::{CounterSource, Lane, Lanes};

/// Less than this in all is rest.
const REST: f64 = 100_000.0;
/// A link that carries at least this much is at the speed at which it carries load, in bytes per second.
const LOADED: f64 = 10e6;

/// What crosses the lanes of a machine now.
#[derive(Debug, Clone, Default)]
pub struct Picture {
    /// The time that it is about.
    pub elapsed: Nanos,
    /// One for each lane, in their order.
    pub lanes: Vec<LaneNow>,
    /// The lane that is nearest to its ceiling, as a place in `lanes`; estimated ceilings do not count.
    pub fullest: Option<usize>,
    /// What all drives and interfaces of the lanes move.
    pub moved: Flow,
    /// Arrays that work on themselves.
    pub resyncs: BTreeMap<String, Resync>,
    /// Processes that move bytes behind these lanes, and what they move.
    pub movers: Vec<Mover>,
    /// All of it in words.
    pub sentence: String,
}

/// What moves in both directions.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Flow {
    /// Towards the application.
    pub read: BytesPerSec,
    /// Towards the medium.
    pub write: BytesPerSec,
}

impl Flow {
    /// Both directions together.
    pub fn sum(self) -> BytesPerSec {
        self.read + self.write
    }

    /// One direction.
    pub const fn of(self, direction: Direction) -> BytesPerSec {
        direction.pick(self.read, self.write)
    }
}

/// What crosses one lane now.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LaneNow {
    /// Bytes.
    pub flow: Flow,
    /// I/Os completed; `None` where interfaces are among the sources, which count none.
    pub iops: Option<Iops>,
    /// The mean time of these I/Os; `None` where none completed.
    pub latency: Option<Nanos>,
    /// The mean number of requests in flight, where one device is the source.
    pub in_flight: Option<f64>,
    /// The fraction of time with a request in flight, where one device is the source.
    pub busy: Option<f64>,
    /// What crosses as a part of the ceiling, in the direction that is fuller, or of both where they share one capacity.
    pub fraction: Option<f64>,
    /// The direction that is fuller; `None` where both count.
    pub fuller: Option<Direction>,
    /// Whether the ceiling is an estimate.
    pub is_estimate: bool,
    /// Sources whose counters are gone: the lane is not known.
    pub gone: BTreeSet<CounterSource>,
}

impl Lanes {
    /// What crosses each lane, by the counters between two looks and by the processes that moved bytes.
    pub fn now(&self, activity: &Activity, movers: &[Mover]) -> Picture {
        let lanes: Vec<LaneNow> = self.all.iter().map(|lane| lane.now(activity)).collect();
        let known =
            lanes.iter().enumerate().filter(|(_, lane)| lane.flow.sum().get() >= REST && !lane.is_estimate);
        let by_fraction = known.filter_map(|(at, lane)| Some((at, lane.fraction?)));
        // Of two that are equally full the one nearer to the medium: it is what the other waits for.
        let fullest = by_fraction.max_by(|one, other| one.1.total_cmp(&other.1).then(one.0.cmp(&other.0)));
        // Where the open files of a process lie may not be known.
        let is_behind = |mover: &Mover| {
            mover.devices.is_empty() || self.all.iter().any(|lane| self.is_behind(mover, lane))
        };
        let picture = Picture {
            elapsed: activity.elapsed,
            fullest: fullest.map(|(at, _)| at),
            moved: flow_of(&self.sources(), activity).0,
            resyncs: activity.resyncs.clone(),
            movers: movers.iter().filter(|mover| is_behind(mover)).cloned().collect(),
            lanes,
            sentence: String::new(),
        };
        Picture { sentence: of(self, &picture), ..picture }
    }

    /// Puts the speed and width that links show under load in place of what was expected of them. A link at rest may be slow to
    /// save power, which says nothing.
    pub fn settle(&mut self, activity: &Activity) {
        for lane in &mut self.all {
            let Some(link) = &mut lane.link else { continue };
            let Some(state) = activity.links.get(&link.device.address) else { continue };
            if flow_of(&lane.sources, activity).0.sum().get() < LOADED || lane.settled == Some(*state) {
                continue;
            }
            let source = format!("/sys/bus/pci/devices/{}, under load", link.device.address);
            lane.ceilings = crate::link::loaded(link, *state, &source);
            lane.settled = Some(*state);
        }
    }
}

impl Lane {
    fn now(&self, activity: &Activity) -> LaneNow {
        let (flow, gone) = flow_of(&self.sources, activity);
        let disks: Vec<&DiskActivity> = self.disks().filter_map(|name| activity.disks.get(name)).collect();
        let only_disks = self.disks().count() == self.sources.len();
        let seconds = activity.elapsed.duration().as_secs_f64();
        let done: u64 = disks.iter().map(|disk| disk.reads + disk.writes).sum();
        let spent: f64 = disks.iter().map(|disk| waited(disk)).sum();
        let (fraction, fuller, is_estimate) = self.fraction(flow);
        let one = (self.sources.len() == 1).then(|| disks.first()).flatten();
        LaneNow {
            flow,
            iops: (only_disks && seconds > 0.0).then(|| Iops::new(done as f64 / seconds)),
            latency: (only_disks && done > 0).then(|| Nanos::new((spent / done as f64) as u64)),
            in_flight: one.map(|disk| disk.in_flight),
            busy: one.map(|disk| disk.busy),
            fraction: fraction.filter(|_| gone.is_empty()),
            fuller,
            is_estimate,
            gone,
        }
    }

    /// What crosses as a part of the ceiling, in which direction, and whether that rests on an estimate.
    fn fraction(&self, flow: Flow) -> (Option<f64>, Option<Direction>, bool) {
        let part = |direction| {
            let limit = self.ceilings.of(direction).limit()?;
            let part = flow.of(direction).fraction_of(limit.rate);
            part.is_finite().then_some((part, limit.basis == Basis::Guess))
        };
        match (part(Direction::Read), part(Direction::Write)) {
            (Some(read), Some(write)) if self.shares_directions => {
                (Some(read.0 + write.0), None, read.1 || write.1)
            }
            (Some(read), Some(write)) if read.0 >= write.0 => (Some(read.0), Some(Direction::Read), read.1),
            (_, Some(write)) => (Some(write.0), Some(Direction::Write), write.1),
            (Some(read), None) => (Some(read.0), Some(Direction::Read), read.1),
            (None, None) => (None, None, false),
        }
    }
}

/// The time that requests took, in nanoseconds, summed over requests.
fn waited(disk: &DiskActivity) -> f64 {
    let of = |count: u64, mean: Option<Nanos>| mean.map_or(0.0, |mean| mean.get() as f64 * count as f64);
    of(disk.reads, disk.read_latency) + of(disk.writes, disk.write_latency)
}

/// What sources move, and which of them are gone.
fn flow_of(sources: &BTreeSet<CounterSource>, activity: &Activity) -> (Flow, BTreeSet<CounterSource>) {
    let (mut flow, mut gone) = (Flow::default(), BTreeSet::new());
    let over = activity.elapsed.duration();
    for source in sources {
        let moved = match source {
            CounterSource::Disk(name) => {
                let disk = activity.disks.get(name).filter(|_| !over.is_zero());
                disk.map(|disk| Flow { read: disk.read_bytes.per(over), write: disk.written_bytes.per(over) })
            }
            CounterSource::Nic(name) => {
                activity.nics.get(name).map(|nic| Flow { read: nic.received, write: nic.sent })
            }
        };
        match moved {
            Some(moved) => flow = Flow { read: flow.read + moved.read, write: flow.write + moved.write },
            None => drop(gone.insert(source.clone())),
        }
    }
    (flow, gone)
}

/// A drive that always has requests to work on, as far as a mean over the time between two looks tells.
const ALWAYS: f64 = 0.95;

/// What crosses the lanes, in one or two sentences.
fn of(lanes: &Lanes, picture: &Picture) -> String {
    if picture.moved.sum().get() < REST {
        return at_rest(picture);
    }
    let fullest_lane = picture.fullest.and_then(|at| Some((lanes.all().get(at)?, picture.lanes.get(at)?)));
    let mut sentences = match fullest_lane {
        Some((lane, now)) => vec![fullest(lane, now)],
        None => vec![format!("{} over hops whose ceilings are not known.", flow(picture.moved))],
    };
    let is_full = fullest_lane.is_some_and(|(_, now)| now.fraction >= Some(REACHED));
    if !is_full && let Some((lane, now)) = waiting(lanes, picture) {
        let waiting = human::count(now.in_flight.unwrap_or(0.0));
        sentences.push(format!("{} always has requests to work on, {waiting} on average.", lane.name));
    }
    sentences.extend(movers(lanes, fullest_lane.map(|(lane, _)| lane), &picture.movers));
    sentences.extend(resyncs(picture));
    sentences.join(" ")
}

fn at_rest(picture: &Picture) -> String {
    let resyncs: Vec<String> = resyncs(picture).collect();
    if resyncs.is_empty() { "Nothing moves.".to_owned() } else { resyncs.join(" ") }
}

fn fullest(lane: &Lane, now: &LaneNow) -> String {
    let part = human::percent(now.fraction.unwrap_or(0.0));
    let share = match lane.sources.len() {
        0 | 1 => String::new(),
        drives if drives == lane.disks().count() => format!(" {drives} drives share it."),
        several => format!(" {several} drives and interfaces share it."),
    };
    let (name, carries) = (&lane.name, carries(lane, now));
    match now.fraction >= Some(REACHED) {
        true => format!("{name} is at its ceiling: {carries} ({part}).{share}"),
        false => format!("The fullest hop is {name}: {carries} ({part}).{share}"),
    }
}

/// `3.2 GB/s of 3.9 GB/s read`.
fn carries(lane: &Lane, now: &LaneNow) -> String {
    let ceiling = |direction| lane.ceilings.of(direction).rate();
    let one = |direction, word: &str| {
        let most = ceiling(direction).map_or_else(String::new, |rate| format!(" of {rate}"));
        format!("{}{most} {word}", now.flow.of(direction))
    };
    let (read, write) = (one(Direction::Read, "read"), one(Direction::Write, "written"));
    match now.fuller {
        Some(Direction::Read) => read,
        Some(Direction::Write) => write,
        None => both_ways(now.flow, read, write),
    }
}

fn flow(flow: Flow) -> String {
    both_ways(flow, format!("{} read", flow.read), format!("{} written", flow.write))
}

/// What moves in each direction; what is at rest in one is left out.
fn both_ways(flow: Flow, read: String, write: String) -> String {
    match (flow.read.get() >= REST, flow.write.get() >= REST) {
        (_, false) => read,
        (false, true) => write,
        (true, true) => format!("{read} and {write}"),
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
    let flow = Flow { read: mover.read, write: mover.written };
    let what = both_ways(flow, format!("reads {}", mover.read), format!("writes {}", mover.written));
    let places: Vec<&str> = mover.devices.iter().map(String::as_str).collect();
    let on = match places.is_empty() {
        true => String::new(),
        false => format!("; its open files are on {}", places.join(", ")),
    };
    Some(format!("{} ({}) {what}{on}.", mover.name, mover.pid))
}

fn resyncs(picture: &Picture) -> impl Iterator<Item = String> + '_ {
    picture.resyncs.iter().map(|(array, resync)| {
        let speed = resync.speed.map(|speed| format!(" at {speed}")).unwrap_or_default();
        format!("{array} works on itself ({}){speed}.", resync.action)
    })
}

#[cfg(test)]
mod tests;
