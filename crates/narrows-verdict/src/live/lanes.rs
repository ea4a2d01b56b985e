//! Which hops are lanes, in which order, and whose counters tell what crosses each.

use std::collections::{BTreeMap, BTreeSet};

use narrows_machine::Machine;
use narrows_machine::activity::{LinkState, Mover};
use narrows_model::ceiling::{Ceilings, of_hop};
use narrows_model::path::{Hop, HopId, HopKind, HopSpec, LinkHop, Path, Target};
use narrows_model::predict::duplex;
use narrows_model::predict::flow::Duplex;

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
    pub(super) link: Option<Box<LinkHop>>,
    /// What its link last showed under load.
    pub(super) settled: Option<LinkState>,
}

impl Lane {
    fn of(hop: &Hop) -> Self {
        let link = hop.link().filter(|link| link.not_a_wire.is_none() && !link.device.is_virtual);
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
    pub(super) fn disks(&self) -> impl Iterator<Item = &str> {
        self.sources.iter().filter_map(|source| match source {
            CounterSource::Disk(name) => Some(name.as_str()),
            CounterSource::Nic(_) => None,
        })
    }

    /// The function below its link, where the link's state is to be followed.
    pub fn link(&self) -> Option<narrows_machine::pci::PciAddress> {
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
    pub(super) all: Vec<Lane>,
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

    /// The lanes, in the order of [`super::Picture::lanes`].
    pub fn all(&self) -> &[Lane] {
        &self.all
    }

    /// The links whose state is to be followed.
    pub fn links(&self) -> impl Iterator<Item = narrows_machine::pci::PciAddress> {
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
        let (mut seen, mut left): (BTreeSet<String>, Vec<&String>) = (BTreeSet::new(), direct(name).collect());
        while let Some(next) = left.pop() {
            if seen.insert(next.clone()) {
                left.extend(direct(next));
            }
        }
        (name.clone(), seen)
    });
    all.collect()
}
