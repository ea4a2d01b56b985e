//! What a flight recorder reads of a machine: little, often, and without waking anything.
//!
//! [`Places`] says what is there: it is found once, and again after something came or went. [`Reading`] is the state of all
//! of it at one moment. Nothing is asked of a device that does not run (`power/runtime_status`, `power_state`): reading its
//! registers would wake it. Only attributes are read that everybody may read.

mod drives;
mod links;

use std::collections::BTreeMap;

pub use drives::DrivePlace;
pub use links::{LinkPlace, place_of};

use crate::activity::{DiskCounters, parse_diskstats, parse_inflight};
use crate::pci::{Aer, PciAddress};
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
    /// Finds the links alone.
    pub fn links(root: &Root) -> BTreeMap<PciAddress, LinkPlace> {
        links::find(root)
    }

    /// Finds everything. Only names, links and attributes that the kernel keeps in memory are read.
    pub fn find(root: &Root) -> Self {
        let arrays = root.list("/sys/class/block").into_iter();
        Self {
            links: links::find(root),
            arrays: arrays.filter(|name| root.exists(&format!("/sys/class/block/{name}/md"))).collect(),
            drives: drives::find(root),
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
    let mut dirs = Vec::new();
    let mut place = place;
    while place.starts_with("/sys/devices/") {
        dirs.push(place.to_owned());
        let Some((above, _)) = place.rsplit_once('/') else { break };
        place = above;
    }
    dirs
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
    /// Its temperature.
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
            (*address, links::read(root, place, || busy.iter().any(|disk| in_flight(root, disk))))
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
    let text = root.text(&format!("/sys/class/block/{disk}/inflight"));
    text.value().and_then(|text| parse_inflight(text)).is_some_and(|requests| requests > 0)
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

#[cfg(test)]
mod tests;
