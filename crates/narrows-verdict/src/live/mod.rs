//! What crosses each hop now, without a load of our own: counters of drives and interfaces, summed over all that are behind a
//! hop, beside its ceiling.
//!
//! [`Lanes`] is made once of a machine's paths; [`Lanes::now`] is pure arithmetic on the [`Activity`] between two looks.
//! What crosses a hop and belongs to no drive or interface of a storage path (a display on the same chipset) is not
//! counted, so that a lane shows the least that crosses it.

use std::collections::{BTreeMap, BTreeSet};

use narrows_base::units::{BytesPerSec, Iops, Nanos, human};
use narrows_machine::Machine;
use narrows_machine::activity::{Activity, DiskActivity, LinkState, Mover, Resync};
use narrows_machine::pci::PciAddress;
use narrows_model::ceiling::{Basis, Ceilings, Direction, of_hop};
use narrows_model::path::{Hop, HopId, HopKind, HopSpec, LinkHop, Path, Target};
use narrows_model::predict::duplex;
use narrows_model::predict::flow::Duplex;

use crate::attribution::REACHED;

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

/// Whose counters tell what crosses a hop.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum CounterSource {
    /// A block device, by kernel name.
    Disk(String),
    /// A network interface.
    Nic(String),
}

impl CounterSource {
    /// Its kernel name.
    pub fn name(&self) -> &str {
        match self {
            Self::Disk(name) | Self::Nic(name) => name,
        }
    }
}

/// A hop whose traffic is followed.
#[derive(Debug, Clone)]
pub struct Lane {
    pub id: HopId,
    /// What it is.
    pub kind: HopKind,
    /// Its name for a person.
    pub name: String,
    /// How many lanes are between it and main memory.
    pub depth: usize,
    /// Whose bytes cross it.
    pub sources: BTreeSet<CounterSource>,
    /// The most that it carries.
    pub ceilings: Ceilings,
    /// Whether both directions share one capacity.
    pub shares_directions: bool,
    /// The link, where it is one whose ends tell the truth.
    link: Option<Box<LinkHop>>,
    /// What its link last showed under load.
    settled: Option<LinkState>,
}

impl Lane {
    fn of(hop: &Hop) -> Self {
        let link = hop.link().filter(|link| link.not_a_wire.is_none());
        Self {
            id: hop.id.clone(),
            kind: hop.kind(),
            name: hop.name.clone(),
            depth: 0,
            sources: BTreeSet::new(),
            ceilings: of_hop(hop),
            shares_directions: duplex(hop) == Duplex::Half,
            link: link.cloned().map(Box::new),
            settled: None,
        }
    }

    /// The disks among its sources.
    fn disks(&self) -> impl Iterator<Item = &str> {
        self.sources.iter().filter_map(|source| match source {
            CounterSource::Disk(name) => Some(name.as_str()),
            CounterSource::Nic(_) => None,
        })
    }

    /// The function below its link, where the link's state is to be followed.
    pub fn link(&self) -> Option<PciAddress> {
        self.link.as_ref().map(|link| link.device.address)
    }

    /// Whether it is worth a line: it has a ceiling or counters of its own, or several share it.
    fn is_shown(&self) -> bool {
        let is_known = [&self.ceilings.read, &self.ceilings.write].iter().any(|one| one.limit().is_some());
        let has_counters = matches!(self.kind, HopKind::Device | HopKind::Network);
        has_counters || self.sources.len() > 1 || is_known
    }
}

/// The lanes of a machine, or of the path to one target.
#[derive(Debug, Clone, Default)]
pub struct Lanes {
    all: Vec<Lane>,
    /// The drives behind each block device that is built on others.
    below: BTreeMap<String, BTreeSet<String>>,
}

impl Lanes {
    /// The lanes of every path of a machine, from memory to the media, then what is built on drives; with a target, those that its
    /// path crosses. What others move over them counts as well.
    pub fn of(machine: &Machine, every: &[Path], target: Option<&Path>) -> Self {
        let mut found: BTreeMap<HopId, Lane> = BTreeMap::new();
        let plain = every.iter().filter(|path| is_plain(path));
        let ways: Vec<Vec<HopId>> = plain.map(|path| walk(path, &mut found)).collect();
        let mut lanes = Self { all: in_order(found, ways), below: below(machine) };
        lanes.all.extend(stacked(every));
        if let Some(target) = target {
            lanes.all.retain(|lane| target.hop(&lane.id).is_some());
        }
        lanes
    }

    /// The lanes, in the order of [`Picture::lanes`].
    pub fn all(&self) -> &[Lane] {
        &self.all
    }

    /// The links whose state is to be followed.
    pub fn links(&self) -> impl Iterator<Item = PciAddress> {
        self.all.iter().filter_map(Lane::link)
    }

    /// The drives and interfaces of the lanes; a device that is built on drives moves no bytes beside theirs.
    pub fn sources(&self) -> BTreeSet<CounterSource> {
        let base = self.all.iter().filter(|lane| !is_stack(lane.kind));
        base.flat_map(|lane| lane.sources.iter().cloned()).collect()
    }

    /// Whether the open files of a process lie behind a lane.
    pub fn is_behind(&self, mover: &Mover, lane: &Lane) -> bool {
        let is_on = |name: &String, disk: &str| {
            name == disk || self.below.get(name).is_some_and(|below| below.contains(disk))
        };
        lane.disks().any(|disk| mover.devices.iter().any(|name| is_on(name, disk)))
    }
}

const fn is_stack(kind: HopKind) -> bool {
    matches!(kind, HopKind::Raid | HopKind::Crypt | HopKind::Cache | HopKind::LogicalVolume)
}

/// Whether each hop of a path carries the bytes of one drive or interface: the path to a drive, or to a server.
fn is_plain(path: &Path) -> bool {
    let drives = path.hops.iter().filter(|hop| hop.kind() == HopKind::Device);
    match &path.asked {
        Target::Block(name) => drives.take(1).any(|hop| hop.block_name() == Some(name)),
        _ => drives.count() == 0,
    }
}

/// Gives the hops of a path, from memory on, the source of their bytes.
fn walk(path: &Path, found: &mut BTreeMap<HopId, Lane>) -> Vec<HopId> {
    use HopKind::{BlockQueue, Filesystem, Memory, Remote};
    let mut source = None;
    let mut way = Vec::new();
    for hop in &path.hops {
        source = match &hop.spec {
            HopSpec::Device(device) => Some(CounterSource::Disk(device.block.clone())),
            HopSpec::Network(network) => Some(CounterSource::Nic(network.interface.clone())),
            _ => source,
        };
        let is_none = matches!(hop.kind(), Memory | BlockQueue | Remote | Filesystem);
        let Some(source) = source.as_ref().filter(|_| !is_none) else { continue };
        found.entry(hop.id.clone()).or_insert_with(|| Lane::of(hop)).sources.insert(source.clone());
        way.push(hop.id.clone());
    }
    way.reverse();
    way
}

/// The lanes that are shown, each below the lane that it hangs on.
fn in_order(mut found: BTreeMap<HopId, Lane>, mut ways: Vec<Vec<HopId>>) -> Vec<Lane> {
    found.retain(|_, lane| lane.is_shown());
    for way in &mut ways {
        way.retain(|id| found.contains_key(id));
    }
    ways.sort();
    let mut lanes = Vec::new();
    for way in ways {
        let new = way.iter().enumerate().filter_map(|(depth, id)| Some(Lane { depth, ..found.remove(id)? }));
        lanes.extend(new);
    }
    lanes
}

/// What is built on drives, each with its own counters.
fn stacked(every: &[Path]) -> Vec<Lane> {
    let mut found = BTreeMap::new();
    for hop in every.iter().flat_map(|path| &path.hops).filter(|hop| is_stack(hop.kind())) {
        let Some(name) = hop.block_name() else { continue };
        let sources = BTreeSet::from([CounterSource::Disk(name.to_owned())]);
        found.entry(hop.id.clone()).or_insert_with(|| Lane { sources, ..Lane::of(hop) });
    }
    found.into_values().collect()
}

/// The disks below each block device that is built on others, or is a part of one.
fn below(machine: &Machine) -> BTreeMap<String, BTreeSet<String>> {
    let direct = |name: &str| {
        let device = machine.block.get(name).into_iter();
        device.flat_map(|device| device.slaves.iter().chain(&device.partition_of))
    };
    let all = machine.block.keys().map(|name| {
        let (mut seen, mut left): (BTreeSet<String>, Vec<&String>) =
            (BTreeSet::new(), direct(name).collect());
        while let Some(next) = left.pop() {
            if seen.insert(next.clone()) {
                left.extend(direct(next));
            }
        }
        (name.clone(), seen)
    });
    all.collect()
}

#[cfg(test)]
mod tests;
