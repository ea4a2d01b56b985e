//! What a flight recorder reads of a machine: little, often, and without waking anything.
//!
//! [`Places`] says what is there: it is found once, and again after something came or went. [`Reading`] is the state of all
//! of it at one moment. Nothing is asked of a device that does not run (`power/runtime_status`, `power_state`): reading its
//! registers would wake it. Only attributes are read that everybody may read.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::activity::{DiskCounters, parse_diskstats, parse_inflight};
use crate::health::{Monitors, monitored};
use crate::pci::{Aer, PciAddress, PciId, aer_of, id_of, parse_width, slot_names};
use crate::root::Root;
use narrows_base::units::{BitsPerSec, Bytes, Celsius, GtPerSec, Lanes};

/// What there is to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// Every link that has a port above it, by the function at its lower end.
    pub links: BTreeMap<PciAddress, LinkPlace>,
    /// Every md array, by kernel name.
    pub arrays: Vec<String>,
    /// Every drive with a hardware monitor, by kernel name.
    pub drives: BTreeMap<String, DrivePlace>,
    /// Every network interface with hardware of its own, and the directories whose power tells whether it runs.
    pub nics: BTreeMap<String, Vec<String>>,
}

impl Places {
    /// Finds everything. Only names, links and attributes that the kernel keeps in memory are read.
    pub fn find(root: &Root) -> Self {
        let arrays = root.list("/sys/class/block").into_iter();
        Self {
            links: find_links(root),
            arrays: arrays.filter(|name| root.exists(&format!("/sys/class/block/{name}/md"))).collect(),
            drives: find_drives(root),
            nics: nics(root),
        }
    }
}

/// Where a disk hangs; a partition is none.
fn whole_disk(root: &Root, name: &str) -> Option<String> {
    let place = root.resolve(&format!("/sys/class/block/{name}")).get()?;
    (!root.exists(&format!("{place}/partition"))).then_some(place)
}

fn nics(root: &Root) -> BTreeMap<String, Vec<String>> {
    let names = root.list("/sys/class/net").into_iter();
    names
        .filter_map(|name| {
            let place = root.resolve(&format!("/sys/class/net/{name}")).get()?;
            (!place.contains("/devices/virtual/")).then(|| (name, powered(&place)))
        })
        .collect()
}

/// The directories from a device up whose power state is that of something on the way to it.
pub(crate) fn powered(place: &str) -> Vec<String> {
    let up = std::iter::successors(Some(place), |place| Some(place.rsplit_once('/')?.0));
    up.take_while(|place| place.starts_with("/sys/devices/")).map(str::to_owned).collect()
}

/// The first of these devices that does not run: reading its registers, or what lies behind it, would wake it.
pub(crate) fn asleep(root: &Root, dirs: &[String]) -> Option<String> {
    let sleeps = |dir: &&String| {
        let status = root.text(&format!("{dir}/power/runtime_status")).get();
        // A device without power management of its own says `unsupported`, and always runs.
        let runs = status.as_deref().is_none_or(|status| matches!(status, "active" | "unsupported"));
        !runs || root.text(&format!("{dir}/power_state")).value().is_some_and(|state| state == "D3cold")
    };
    let dir = dirs.iter().find(sleeps)?;
    Some(dir.rsplit('/').next().unwrap_or(dir).to_owned())
}

/// The state of everything at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// Links, by the function at the lower end.
    pub links: BTreeMap<PciAddress, LinkReading>,
    /// md arrays, by kernel name.
    pub arrays: BTreeMap<String, ArrayReading>,
    /// Drives that were asked this time, by kernel name.
    pub drives: BTreeMap<String, DriveReading>,
    /// Network interfaces, by name; the rate of one that is down is not known.
    pub nics: BTreeMap<String, Option<BitsPerSec>>,
    /// `/proc/diskstats`, by kernel name.
    pub disks: BTreeMap<String, DiskCounters>,
}

/// The state of a link.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LinkReading {
    /// The device on the way to it that sleeps; nothing else is known then.
    pub asleep: Option<String>,
    /// The lower of the widths that both ends tell.
    pub width: Option<Lanes>,
    /// The lower of the speeds that both ends tell.
    pub speed: Option<GtPerSec>,
    /// Whether data moved over it while it was read, so that its speed is not one that saves power.
    pub loaded: bool,
    /// Errors that both ends count together; `None` where neither counts.
    pub errors: Option<Errors>,
}

/// Sums of error counts since boot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Errors {
    /// Correctable ones.
    pub correctable: u64,
    /// Non-fatal ones.
    pub nonfatal: u64,
    /// Fatal ones.
    pub fatal: u64,
}

impl Errors {
    /// The sums of what a function counts.
    pub fn of(aer: &Aer) -> Self {
        let sum = |counts: &BTreeMap<String, u64>| counts.values().copied().fold(0, u64::saturating_add);
        Self { correctable: sum(&aer.correctable), nonfatal: sum(&aer.nonfatal), fatal: sum(&aer.fatal) }
    }

    const fn and(self, other: Self) -> Self {
        Self {
            correctable: self.correctable.saturating_add(other.correctable),
            nonfatal: self.nonfatal.saturating_add(other.nonfatal),
            fatal: self.fatal.saturating_add(other.fatal),
        }
    }
}

/// The state of an md array.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArrayReading {
    /// `idle`, `resync`, `recover`, `check`…; `None` for a level that has none.
    pub action: Option<String>,
    /// Members that are missing.
    pub missing: Option<u64>,
}

/// What a drive's hardware monitor says.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DriveReading {
    pub temperature: Option<Celsius>,
    /// From this temperature on it warns.
    pub warning: Option<Celsius>,
}

/// Bytes that must have moved since the reading before, so that a link counts as loaded: a link that woke for a moment does
/// not.
const LOAD: Bytes = Bytes::new(64 << 20);

impl Reading {
    /// The counters of all disks.
    pub fn disks_now(root: &Root) -> BTreeMap<String, DiskCounters> {
        parse_diskstats(&root.text("/proc/diskstats").get().unwrap_or_default())
    }

    /// Reads everything but the drives in `spared`. `before` is the reading before this one: a link is loaded when a drive
    /// behind it moved `LOAD` since, and has requests in flight both before and after the link is read.
    pub fn take(root: &Root, places: &Places, before: Option<&Self>, spared: impl Fn(&str) -> bool) -> Self {
        let disks = Self::disks_now(root);
        let moved = |disk: &String| {
            let now = disks.get(disk)?;
            let then = before?.disks.get(disk)?;
            Some(now.bytes().saturating_sub(then.bytes()) >= LOAD)
        };
        let links = places.links.iter().map(|(address, place)| {
            let busy: Vec<&String> = place.disks.iter().filter(|disk| moved(disk) == Some(true)).collect();
            (*address, read_link(root, place, || busy.iter().any(|disk| in_flight(root, disk))))
        });
        let drives = places.drives.iter().filter(|(name, _)| !spared(name));
        Self {
            links: links.collect(),
            arrays: places.arrays.iter().map(|name| (name.clone(), array(root, name))).collect(),
            drives: drives.filter_map(|(name, drive)| Some((name.clone(), drive.read(root)?))).collect(),
            nics: places.nics.iter().map(|(name, dirs)| (name.clone(), nic(root, name, dirs))).collect(),
            disks,
        }
    }
}

/// Whether a disk has requests with its driver now.
fn in_flight(root: &Root, disk: &str) -> bool {
    let held = root.parse(&format!("/sys/class/block/{disk}/inflight"), parse_inflight);
    held.value().is_some_and(|requests| *requests > 0)
}

fn array(root: &Root, name: &str) -> ArrayReading {
    let at = |file: &str| format!("/sys/class/block/{name}/md/{file}");
    ArrayReading {
        action: root.text(&at("sync_action")).absent_when(|text| text.is_empty()).get(),
        missing: root.number(&at("degraded")).get(),
    }
}

fn nic(root: &Root, name: &str, dirs: &[String]) -> Option<BitsPerSec> {
    if asleep(root, dirs).is_some() {
        return None;
    }
    crate::nic::speed(root, &format!("/sys/class/net/{name}")).get()
}

const DEVICES: &str = "/sys/bus/pci/devices";
/// A bridge to another PCI bus: class 06, sub-class 04 (PCI Code and ID Assignment Specification, section 1.7).
const BRIDGE: u64 = 0x0604;

/// A link: the function at its lower end and the port at its upper one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinkPlace {
    /// The function at the lower end.
    pub device: PciAddress,
    /// The port at the upper end.
    pub port: PciAddress,
    /// Where it is wired, whatever numbers the buses have this time: `0000:1c.4/00.0`.
    pub place: String,
    /// The name of its slot.
    pub slot: Option<String>,
    /// Vendor and device of the lower end.
    pub id: Option<PciId>,
    /// The class of the lower end, 24 bits.
    pub class: Option<u32>,
    /// What tells this device from another of its kind: serial number of an NVMe drive, hardware address of a network card.
    /// Never to be shown.
    pub serial: Option<String>,
    /// The disks behind the link.
    pub disks: Vec<String>,
    /// The directories whose power state tells whether both ends run.
    pub powered: Vec<String>,
}

/// Finds every link. Of a card with several functions the first stands for its link.
pub(crate) fn find_links(root: &Root) -> BTreeMap<PciAddress, LinkPlace> {
    let (slots, disks, serials) = (slot_names(root), disks(root), serials(root));
    let links = root.list_of(DEVICES).into_iter().filter_map(|address| {
        let dir = format!("{DEVICES}/{address}");
        let real = root.resolve(&dir).get()?;
        let chain = chain(&real);
        let (_, ports) = chain.split_last()?;
        // From the root down, ports face down, up, down: a link lies below each that faces down.
        (ports.len() % 2 == 1).then_some(())?;
        let port = *ports.last()?;
        root.exists(&format!("{dir}/current_link_width")).then_some(())?;
        let (class, above) = (class(root, address), class(root, port)?);
        (above >> 8 == BRIDGE).then_some(())?;
        let is_below =
            |path: &str| path.strip_prefix(real.as_str()).is_some_and(|rest| rest.starts_with('/'));
        let names_below = |of: &[(String, String)]| -> Vec<String> {
            of.iter().filter(|(path, _)| is_below(path)).map(|(_, name)| name.clone()).collect()
        };
        let link = LinkPlace {
            device: address,
            port,
            place: place_of(&real)?,
            slot: slots(address),
            id: id_of(root, &dir).get(),
            class: class.and_then(|class| u32::try_from(class).ok()),
            // A bridge has the serial numbers of all that is behind it; none of them is its own.
            serial: if class.is_some_and(|class| class >> 8 == BRIDGE) {
                None
            } else {
                names_below(&serials).into_iter().next()
            },
            disks: names_below(&disks),
            powered: powered(&real),
        };
        Some((address, link))
    });
    let links: BTreeMap<PciAddress, LinkPlace> = links.collect();
    let is_first = |address: &PciAddress| address.function == 0 || !links.contains_key(&address.card());
    links
        .iter()
        .filter(|(address, _)| is_first(address))
        .map(|(address, link)| (*address, link.clone()))
        .collect()
}

fn class(root: &Root, address: PciAddress) -> Option<u64> {
    root.number(&format!("{DEVICES}/{address}/class")).get()
}

/// The functions on the way to one, from the root bus on, by its path in sysfs.
fn chain(real: &str) -> Vec<PciAddress> {
    let is_address = |part: &&str| part.matches(':').count() == 2;
    // A domain below a function, as VMD makes it, begins anew.
    let from = real.rfind("/pci").map_or(real, |at| real.get(at..).unwrap_or_default());
    from.split('/').filter(is_address).filter_map(|part| part.parse().ok()).collect()
}

/// A name for the place of a function that does not change with the numbers of buses: its domain, and device and function of
/// each step from the root bus on.
pub fn place_of(real: &str) -> Option<String> {
    let chain = chain(real);
    let domain = chain.first()?.domain;
    let steps: Vec<String> = chain.iter().map(|at| format!("{:02x}.{}", at.device, at.function)).collect();
    Some(format!("{domain:04x}:{}", steps.join("/")))
}

/// Every disk, by where it hangs.
fn disks(root: &Root) -> Vec<(String, String)> {
    let names = root.list("/sys/class/block").into_iter();
    names.filter_map(|name| Some((whole_disk(root, &name)?, name))).collect()
}

/// What tells devices from others of their kind, by where they hang.
fn serials(root: &Root) -> Vec<(String, String)> {
    let of = |class: &str, file: &str| -> Vec<(String, String)> {
        let dirs = root.list(class).into_iter().map(|name| format!("{class}/{name}"));
        dirs.filter_map(|dir| {
            let serial = root.text(&format!("{dir}/{file}")).absent_when(|text| text.is_empty()).get()?;
            Some((root.resolve(&dir).get()?, serial))
        })
        .collect()
    };
    [of("/sys/class/nvme", "serial"), of("/sys/class/net", "address")].concat()
}

/// Reads both ends of a link, unless something on the way sleeps. `is_busy` is asked before and after.
fn read_link(root: &Root, place: &LinkPlace, is_busy: impl Fn() -> bool) -> LinkReading {
    let ends = [place.device, place.port];
    let errors = ends.into_iter().filter_map(|end| {
        // The kernel counts them itself: no register is read.
        aer_of(root, &format!("{DEVICES}/{end}")).value().map(Errors::of)
    });
    let errors = errors.reduce(Errors::and);
    if let Some(asleep) = asleep(root, &place.powered) {
        return LinkReading { asleep: Some(asleep), errors, ..LinkReading::default() };
    }
    let was_busy = is_busy();
    let parse = |end: PciAddress, file: &str| root.text(&format!("{DEVICES}/{end}/{file}")).get();
    let widths = ends.into_iter().filter_map(|end| parse_width(&parse(end, "current_link_width")?));
    let speeds = ends.into_iter().filter_map(|end| GtPerSec::parse(&parse(end, "current_link_speed")?));
    let (width, speed) = (widths.min(), speeds.min());
    LinkReading { asleep: None, width, speed, errors, loaded: was_busy && is_busy() }
}

/// A drive with a hardware monitor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrivePlace {
    /// The directory of its monitor.
    monitor: String,
    /// Whether it answers without interrupting anything. A SATA or SAS drive empties its queue for the answer, and one that
    /// stands still may start.
    pub answers_freely: bool,
    powered: Vec<String>,
}

/// Finds the drives, by kernel name.
fn find_drives(root: &Root) -> BTreeMap<String, DrivePlace> {
    let monitors = Monitors::find(root);
    let names = root.list("/sys/class/block").into_iter();
    names
        .filter_map(|name| {
            let place = whole_disk(root, &name)?;
            let monitor = monitors.of(&place)?.to_owned();
            let answers_freely = name.starts_with("nvme");
            Some((name, DrivePlace { monitor, answers_freely, powered: powered(&place) }))
        })
        .collect()
}

impl DrivePlace {
    /// Asks the monitor, unless something on the way sleeps.
    fn read(&self, root: &Root) -> Option<DriveReading> {
        if asleep(root, &self.powered).is_some() {
            return None;
        }
        let of = |attribute: &str| monitored(root, &self.monitor, attribute).get();
        Some(DriveReading { temperature: of("temp1_input"), warning: of("temp1_max") })
    }
}
