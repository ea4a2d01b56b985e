//! From facts to paths.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::{APPLICATION, Graph, NewHop, Node};
use super::stack::is_disk;
use super::{Hop, HopId, HopKind, HopSpec, Path, Target, Traffic, climb, endpoint, zfs};
use narrows_base::catalog::{Board, Catalog, Chipset, Processor, Switch, catalog};
use narrows_machine::Machine;
use narrows_machine::block::{BlockDevice, BlockKind};
use narrows_machine::mount::Mount;
use narrows_machine::pci::{PciAddress, PciDevice, PciId};
use narrows_machine::zfs::pool_of;

/// The path to one target, with the other targets that share its hops; `None` when the machine has no such target.
pub fn path(machine: &Machine, target: &Target) -> Option<Path> {
    let known = Catalogued::of(machine);
    let asked = one(known, target, None)?;
    let others = targets(machine).into_iter().filter(|other| !is_same(machine, other, target));
    let mut paths = vec![asked];
    paths.extend(others.filter_map(|other| one(known, &other, None)).take(MOST));
    fill_shared(&mut paths);
    paths.into_iter().next()
}

/// More paths than this nobody reads; each takes some kilobytes until it is shown.
pub const MOST: usize = 500;

/// Every storage path of a machine, the first five hundred of them: each whole or stacked block device and each mounted file system that holds data.
///
/// Left out are devices that hold nothing (no medium, no size), the hidden paths of NVMe multipath, and images that are
/// mounted read-only by a package manager (squashfs and the like on a loop device), each of which a machine can have
/// many of. A file system that is mounted in several places is shown at the first.
///
/// A machine that was put together from texts also has a path for endpoints that no disk or interface is known of.
pub fn all(machine: &Machine) -> Vec<Path> {
    let known = Catalogued::of(machine);
    let found = targets(machine);
    let found = found.iter().filter_map(|target| one(known, target, None));
    let mut paths: Vec<Path> = found.take(MOST).collect();
    fill_shared(&mut paths);
    paths
}

/// How many targets have no path among [`all`].
pub fn left_out(machine: &Machine, paths: usize) -> usize {
    if paths < MOST { 0 } else { targets(machine).len().saturating_sub(paths) }
}

/// The path to one target, without what it shares, for a reader on a NUMA node. `None`: on the node that most of the path's
/// devices are on, which is where the work belongs.
pub(super) fn one(known: Catalogued<'_>, target: &Target, reader_node: Option<u32>) -> Option<Path> {
    let machine = known.machine;
    let mut builder = Builder::new(known, reader_node);
    let name = builder.target(target)?;
    // The node that the data comes from is known only once the path is built.
    if let Some(home) = builder.home().filter(|_| reader_node.is_none() && climb::has_places(machine)) {
        builder = Builder::new(known, Some(home));
        builder.target(target)?;
    }
    let hops = builder.graph.into_hops(machine.cpus.memory.clone());
    Some(Path { target: name, asked: target.clone(), hops })
}

impl Builder<'_> {
    /// Puts everything below the application that leads to a target. Returns the target's name.
    fn target(&mut self, target: &Target) -> Option<String> {
        let name = match target {
            Target::Block(block) => {
                let device = self.machine.block.get(block)?;
                self.later(APPLICATION, block, Traffic::ONE);
                device_name(device)
            }
            Target::Mount { index, path } => {
                let mount = self.machine.mounts.get(*index)?;
                self.filesystem(APPLICATION, mount);
                if path.is_empty() { mount.point.clone() } else { path.clone() }
            }
            Target::Pci(address) => {
                self.machine.pci.get(address)?;
                self.function(*address);
                address.to_string()
            }
            Target::Usb(address) => {
                let device = self.machine.usb.get(address)?;
                self.usb_storage(APPLICATION, device)
            }
            Target::Pool(pool) => {
                self.machine.zfs.iter().find(|known| known.name == *pool)?;
                self.pool(APPLICATION, pool);
                pool.clone()
            }
            Target::Nic(nic) => {
                self.machine.nics.get(nic)?;
                self.network(APPLICATION, nic, None, Traffic::ONE);
                nic.clone()
            }
        };
        self.finish_blocks();
        Some(name)
    }

    /// The path of a PCI function: that of the disks or interfaces that hang on it, over which the application spreads
    /// its traffic; or else of the function alone.
    fn function(&mut self, address: PciAddress) {
        let machine = self.machine;
        let is_on = |device: &&BlockDevice| {
            device.transport.function() == Some(address) && is_disk(device) && !is_hidden(device)
        };
        let disks: Vec<&BlockDevice> =
            machine.block.values().filter(|device| device.partition_of.is_none()).filter(is_on).collect();
        let nics: Vec<&str> = machine
            .nics
            .values()
            .filter(|nic| nic.pci == Some(address) && !nic.is_virtual)
            .map(|nic| nic.name.as_str())
            .collect();
        let share = Traffic::both(1.0 / (disks.len() + nics.len()).max(1) as f64);
        for disk in &disks {
            self.later(APPLICATION, &disk.name, share);
        }
        for nic in &nics {
            self.network(APPLICATION, nic, None, share);
        }
        if disks.is_empty() && nics.is_empty() {
            let function = machine.pci.get(&address);
            let driver = function.and_then(|function| function.driver.get());
            let kind = function.filter(|_| machine.captured.is_some()).map(PciDevice::class_name);
            let called = match (driver, kind) {
                (Some(driver), kind) => (driver, kind.unwrap_or("function")),
                (None, Some(kind)) => (String::new(), kind),
                (None, None) => ("without driver".to_owned(), "function"),
            };
            let key = address.to_string();
            let hop = self.controller_hop(HopSpec::Controller, key, called, Some(address), false);
            if let Some(node) = self.chain(APPLICATION, [hop]) {
                self.climb(node, address);
            }
        }
    }
}

/// `/dev/nvme0n1`, or the name below `/dev/mapper` of a mapping.
fn device_name(device: &BlockDevice) -> String {
    match &device.kind {
        BlockKind::Dm(dm) => dm.name.value().map(|name| format!("/dev/mapper/{name}")),
        _ => None,
    }
    .unwrap_or_else(|| format!("/dev/{}", device.name.replace('!', "/")))
}

/// Whether two targets are the same thing, whatever file of a file system was named.
fn is_same(machine: &Machine, a: &Target, b: &Target) -> bool {
    let number = |index: &usize| machine.mounts.get(*index).map(identity);
    match (a, b) {
        (Target::Mount { index: a, .. }, Target::Mount { index: b, .. }) => a == b || number(a) == number(b),
        _ => a == b,
    }
}

fn targets(machine: &Machine) -> Vec<Target> {
    let is_shown = |device: &&BlockDevice| device.partition_of.is_none() && !is_empty(device);
    let blocks = machine
        .block
        .values()
        .filter(is_shown)
        .filter(|device| !is_hidden(device) && !is_image(machine, device))
        .map(|device| Target::Block(device.name.clone()));
    let mut seen = BTreeSet::new();
    let holds_data = |mount: &Mount| {
        !mount.devices.is_empty() || mount.remote.is_some() || zfs::pool(machine, mount).is_some()
    };
    let mounts = machine.mounts.iter().enumerate();
    let mounts = mounts
        .filter(|(_, mount)| holds_data(mount) && !is_image_type(&mount.fstype))
        .filter(|(_, mount)| seen.insert(identity(mount)))
        .map(|(index, mount)| Target::Mount { index, path: mount.point.clone() });
    let named = blocks.chain(mounts);
    // A machine that answers itself has a disk, mount or interface for all that is of interest.
    if machine.captured.is_none() {
        return named.collect();
    }
    named
        .chain(endpoint::lone(machine).into_iter().map(Target::Pci))
        .chain(endpoint::lone_usb(machine))
        .chain(endpoint::lone_nics(machine))
        .chain(zfs::unmounted(machine))
        .collect()
}

/// What tells a file system from others: its number, or its source where a text does not tell the number. The file systems
/// of a ZFS pool, often hundreds, all lie on the same devices in the same way, so that one stands for all.
fn identity(mount: &Mount) -> ((u32, u32), Option<&str>) {
    if mount.fstype == "zfs" {
        return ((0, 0), Some(pool_of(&mount.source)));
    }
    let source = (mount.number == (0, 0)).then_some(mount.source.as_str());
    (mount.number, source)
}

fn is_empty(device: &BlockDevice) -> bool {
    let is_closed_loop = match &device.kind {
        BlockKind::Loop(file) => file.file.value().is_none_or(String::is_empty),
        _ => false,
    };
    is_closed_loop || device.size.value().is_some_and(|size| size.get() == 0)
}

/// Whether a device is one of the paths of NVMe multipath, `nvme0c1n1`, which no one can open (kernel
/// `drivers/nvme/host/multipath.c`, `GENHD_FL_HIDDEN`).
fn is_hidden(device: &BlockDevice) -> bool {
    let rest = device.name.strip_prefix("nvme").unwrap_or_default();
    rest.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with('c')
}

fn is_image(machine: &Machine, device: &BlockDevice) -> bool {
    let is_loop = matches!(device.kind, BlockKind::Loop(_));
    is_loop
        && machine
            .mounts
            .iter()
            .any(|mount| mount.devices.contains(&device.name) && is_image_type(&mount.fstype))
}

fn is_image_type(fstype: &str) -> bool {
    ["squashfs", "erofs", "iso9660"].contains(&fstype)
}

/// No more block devices lie one on another: a file system on LVM on LUKS on an array of partitions has seven. What a
/// hostile capture piles up beyond that is left out.
const MOST_LAYERS: usize = 64;

/// A path that is being built.
pub(super) struct Builder<'m> {
    pub(super) machine: &'m Machine,
    known: Catalogued<'m>,
    /// The NUMA node of the processors that read.
    reader: Option<u32>,
    pub(super) graph: Graph,
    /// The NUMA nodes of the functions that data comes from, each as often as it is met.
    nodes: Vec<u32>,
    /// Block devices that are still to be put in: below which hop, which, and the fraction that each gets.
    pending: Vec<(Node, String, Traffic)>,
}

impl<'m> Builder<'m> {
    fn new(known: Catalogued<'m>, reader: Option<u32>) -> Self {
        let (machine, graph) = (known.machine, Graph::new());
        Self { machine, known, reader, graph, nodes: Vec::new(), pending: Vec::new() }
    }

    /// Puts a hop below `above`, which hands `fraction` of its traffic to it. `Some` when what lies below it is still
    /// to be put in.
    pub(super) fn add(&mut self, above: Node, hop: NewHop, fraction: Traffic) -> Option<Node> {
        self.graph.join(above, hop, fraction).new_node()
    }

    /// Puts a chain of hops below `above`, each carrying all of what the one before does. `Some` with the last of
    /// them when it is new.
    pub(super) fn chain(&mut self, above: Node, hops: impl IntoIterator<Item = NewHop>) -> Option<Node> {
        hops.into_iter().try_fold(above, |above, hop| self.add(above, hop, Traffic::ONE))
    }

    /// Puts the way from a PCI function to memory below `above`.
    pub(super) fn climb(&mut self, above: Node, address: PciAddress) {
        self.nodes.extend(climb::node(self.machine, address));
        self.chain(above, climb::steps(self.known, address, self.reader));
    }

    /// Puts a block device below `above`, later.
    pub(super) fn later(&mut self, above: Node, block: &str, fraction: Traffic) {
        self.pending.push((above, block.to_owned(), fraction));
    }

    /// Puts in all block devices that are still to be put in, and those that they are built on.
    fn finish_blocks(&mut self) {
        // What was asked for first is put in first, so that members stand in their order.
        for _ in 0..MOST_LAYERS {
            for (above, block, fraction) in std::mem::take(&mut self.pending) {
                self.block(above, &block, fraction);
            }
        }
        self.pending.clear();
    }

    /// The node that most of the data comes from, the lowest of several; `None` when no function says where it is.
    fn home(&self) -> Option<u32> {
        let count = |node: u32| self.nodes.iter().filter(|other| **other == node).count();
        self.nodes.iter().copied().max_by_key(|node| (count(*node), std::cmp::Reverse(*node)))
    }
}

/// A machine, and what is published of its parts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Catalogued<'m> {
    pub(super) machine: &'m Machine,
    pub(super) catalog: &'m Catalog,
}

impl<'m> Catalogued<'m> {
    pub(crate) fn of(machine: &'m Machine) -> Self {
        Self { machine, catalog: catalog() }
    }

    /// The chipset that a function belongs to, when it is one that gives its chipset away.
    pub(super) fn chipset_at(self, address: PciAddress) -> Option<&'m Chipset> {
        match self.id(address) {
            Some(PciId { vendor, device }) => self.catalog.chipset_by_id(vendor, device),
            None => self.catalog.chipset_by_name(self.name(address)?),
        }
    }

    /// The chipset of the machine, by the PCI id or name of one of its functions.
    pub(crate) fn chipset(self) -> Option<&'m Chipset> {
        self.machine.pci.keys().find_map(|address| self.chipset_at(*address))
    }

    /// The switch that a port belongs to.
    pub(super) fn switch_at(self, address: PciAddress) -> Option<&'m Switch> {
        match self.id(address) {
            Some(PciId { vendor, device }) => self.catalog.switch_by_id(vendor, device),
            None => self.catalog.switch_by_name(self.name(address)?),
        }
    }

    /// The board of the machine, or the server, which is known by its product name.
    pub(crate) fn board(self) -> Option<&'m Board> {
        let dmi = &self.machine.dmi;
        let vendor = dmi.board_vendor.value().or(dmi.system_vendor.value())?;
        let name = |name: Option<&'_ String>| name.cloned().unwrap_or_default();
        self.catalog.board(vendor, &name(dmi.board.value()), &name(dmi.product.value()))
    }

    /// The platform of the processors.
    pub(crate) fn processor(self) -> Option<&'m Processor> {
        let cpus = &self.machine.cpus;
        let (family, model, _) = cpus.signature.get()?;
        self.catalog.processor(family, model, cpus.model.value().map_or("", String::as_str))
    }

    /// What a text without numbers calls a function.
    fn name(self, address: PciAddress) -> Option<&'m str> {
        self.machine.pci.get(&address)?.name.value().map(String::as_str)
    }

    fn id(self, address: PciAddress) -> Option<PciId> {
        self.machine.pci.get(&address)?.id.get()
    }
}

/// Notes at every hop of every path the other targets whose data crosses it too.
///
/// A target that is a layer of the path (the disk below a file system), or that the path is a layer of, is no rival:
/// its data is the path's own. Of targets that are stacked on each other only the lowest is named. The application and
/// main memory, which everything crosses, are left out.
fn fill_shared(paths: &mut [Path]) {
    // Of very many paths each names some of the others: all names at all of them would grow with the square.
    let most = (1 << 15) / paths.len().max(1);
    let layers = layers(paths);
    let mut crossing: BTreeMap<HopId, BTreeSet<usize>> = BTreeMap::new();
    for (at, path) in paths.iter().enumerate() {
        for hop in path.hops.iter().filter(|hop| is_shareable(hop)) {
            crossing.entry(hop.id.clone()).or_default().insert(at);
        }
    }
    let targets: Vec<String> = paths.iter().map(|path| path.target.clone()).collect();
    for (at, path) in paths.iter_mut().enumerate() {
        for hop in &mut path.hops {
            let others = crossing.get(&hop.id).into_iter().flatten().copied();
            let rivals: BTreeSet<usize> = others.filter(|other| is_rival(&layers, at, *other)).collect();
            let lowest = rivals.iter().filter(|rival| layers[**rival].lower.is_disjoint(&rivals));
            hop.shared_with = lowest.map(|rival| targets[*rival].clone()).take(most).collect();
        }
    }
}

/// The paths to the target of one, and those whose target is one of its layers.
struct Below {
    same: BTreeSet<usize>,
    lower: BTreeSet<usize>,
}

fn layers(paths: &[Path]) -> Vec<Below> {
    let mut heads: BTreeMap<&HopId, BTreeSet<usize>> = BTreeMap::new();
    for (at, path) in paths.iter().enumerate() {
        // The hop right below the application stands for the target itself.
        if let Some(head) = path.hops.get(1).filter(|hop| is_shareable(hop)) {
            heads.entry(&head.id).or_default().insert(at);
        }
    }
    let of = |hops: &[Hop]| hops.iter().filter_map(|hop| heads.get(&hop.id)).flatten().copied().collect();
    let below = |path: &Path| Below {
        same: of(path.hops.get(1..2).unwrap_or_default()),
        lower: of(path.hops.get(2..).unwrap_or_default()),
    };
    paths.iter().map(below).collect()
}

fn is_rival(layers: &[Below], path: usize, other: usize) -> bool {
    let stands_on = |upper: usize, lower: usize| layers[upper].lower.contains(&lower);
    let is_same = path == other || layers[path].same.contains(&other);
    !is_same && !stands_on(path, other) && !stands_on(other, path)
}

fn is_shareable(hop: &Hop) -> bool {
    !matches!(hop.kind(), HopKind::Application | HopKind::Memory)
}
