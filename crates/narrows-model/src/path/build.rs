//! From facts to paths.

use std::collections::BTreeSet;

use super::builder::Builder;
use super::graph::APPLICATION;
use super::lookup::{Published, published};
use super::stack::is_disk;
use super::{HopKind, Path, Target, Traffic, climb, endpoint, share, zfs};
use narrows_machine::Machine;
use narrows_machine::block::{BlockDevice, BlockKind};
use narrows_machine::mount::Mount;
use narrows_machine::pci::{PciAddress, PciDevice};
use narrows_machine::zfs::pool_of;

/// The path to one target, with the other targets that share its hops; `None` when the machine has no such target.
pub fn path(machine: &Machine, target: &Target) -> Option<Path> {
    let published = published();
    let asked = one(machine, published, target, None)?;
    let others = targets(machine).into_iter().filter(|other| !is_same(machine, other, target));
    let mut paths = vec![asked];
    paths.extend(others.filter_map(|other| one(machine, published, &other, None)).take(MOST));
    share::fill(&mut paths);
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
    let published = published();
    let found = targets(machine);
    let found = found.iter().filter_map(|target| one(machine, published, target, None));
    let mut paths: Vec<Path> = found.take(MOST).collect();
    share::fill(&mut paths);
    paths
}

/// How many targets have no path among [`all`].
pub fn left_out(machine: &Machine, paths: usize) -> usize {
    if paths < MOST { 0 } else { targets(machine).len().saturating_sub(paths) }
}

/// The path to one target, without what it shares, for a reader on a NUMA node. `None`: on the node that most of the path's
/// devices are on, which is where the work belongs.
pub(super) fn one(
    machine: &Machine,
    published: Published<'_>,
    target: &Target,
    reader_node: Option<u32>,
) -> Option<Path> {
    let mut builder = Builder::new(machine, published, reader_node);
    let name = builder.target(target)?;
    // The node that the data comes from is known only once the path is built.
    if let Some(home) = builder.home().filter(|_| reader_node.is_none() && climb::has_places(machine)) {
        builder = Builder::new(machine, published, Some(home));
        builder.target(target)?;
    }
    Some(Path { target: name, asked: target.clone(), hops: builder.into_hops() })
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
            let hop =
                self.controller_hop(HopKind::Controller, address.to_string(), called, Some(address), false);
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
    blocks
        .chain(mounts)
        .chain(endpoint::lone(machine).into_iter().map(Target::Pci))
        .chain(endpoint::lone_usb(machine))
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
