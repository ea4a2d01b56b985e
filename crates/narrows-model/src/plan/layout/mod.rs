//! What should be built on the drives?
//!
//! Each layout is judged by what it leaves of capacity, how many drives may fail, what it reads and writes in sequence,
//! how many I/Os it takes compared with one drive, and how often each byte is written. Large sequential I/O by one
//! submitter, n equal drives:
//!
//! | layout | capacity | read | write | I/Os read, written |
//! |---|---|---|---|---|
//! | RAID-0, striped LVM | n | n | n | n, n |
//! | RAID-1 | 1 | 1 | 1 | n, 1 |
//! | RAID-10 | n/2 | n | n/2 | n, n/2 |
//! | RAID-5 | n−1 | n−1 | n−1, at most what stripe threads move | n, n/4 |
//! | RAID-6 | n−2 | n−2 | n−2, at most what stripe threads move | n, n/6 |
//!
//! (md(4); small writes with parity read and write data and parity, 4 and 6 I/Os.) dm-crypt above an array is one mapping
//! that one submitter keeps one core busy with ([`crate::ceiling::crypt`]); below it each member has its own. Expected
//! error: that of those laws, ±6 % for dm-crypt, up to 2× for writes with parity.

mod rank;

pub use rank::{Advice, Aim, AimError, Ranked, rank};

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::ceiling::crypt::{READ_SHARE, WRITE_SHARE};
use crate::ceiling::raid::of_raid;
use crate::path::file::{BuildError, DeviceKind, Name, Part, PartKind, System, Workload};
use crate::path::{RaidHop, RaidLevel};
use crate::predict::{Prediction, predict_together};
use narrows_base::units::BytesPerSec;

/// How the drives are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Array {
    /// One drive; the others are used apart.
    Single,
    /// One volume over one drive after another.
    LvmLinear,
    /// One volume in stripes.
    LvmStriped,
    /// Striping.
    Raid0,
    /// Mirroring on all drives.
    Raid1,
    /// Striped mirrors of two.
    Raid10,
    /// One parity.
    Raid5,
    /// Two parities.
    Raid6,
}

impl Array {
    /// Every array.
    pub const ALL: [Self; 8] = [
        Self::Single,
        Self::LvmLinear,
        Self::LvmStriped,
        Self::Raid0,
        Self::Raid1,
        Self::Raid10,
        Self::Raid5,
        Self::Raid6,
    ];

    /// What people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Single => "single drive",
            Self::LvmLinear => "LVM linear",
            Self::LvmStriped => "LVM striped",
            Self::Raid0 => "RAID-0",
            Self::Raid1 => "RAID-1",
            Self::Raid10 => "RAID-10",
            Self::Raid5 => "RAID-5",
            Self::Raid6 => "RAID-6",
        }
    }

    /// The fewest drives that make one.
    const fn fewest(self) -> u8 {
        match self {
            Self::Single => 1,
            Self::LvmLinear | Self::LvmStriped | Self::Raid0 | Self::Raid1 => 2,
            Self::Raid5 => 3,
            Self::Raid10 | Self::Raid6 => 4,
        }
    }
}

/// Where encryption sits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Encryption {
    /// Nowhere.
    None,
    /// One mapping above the array.
    Above,
    /// One mapping on each drive, below the array.
    Below,
}

/// What the drives and the processor can do.
#[derive(Debug, Clone, PartialEq)]
pub struct Resources {
    /// How many drives there are.
    pub drives: u8,
    /// What one reads.
    pub read: BytesPerSec,
    /// What one writes.
    pub write: BytesPerSec,
    /// What all read together, where they share an uplink.
    pub read_together: BytesPerSec,
    /// What all write together.
    pub write_together: BytesPerSec,
    /// What one core decrypts and encrypts, and where that is from; `None` when it is not known.
    pub cipher: Option<Cipher>,
}

/// How fast one core encrypts.
#[derive(Debug, Clone, PartialEq)]
pub struct Cipher {
    /// Decryption on one core.
    pub decrypt: BytesPerSec,
    /// Encryption on one core.
    pub encrypt: BytesPerSec,
    /// Physical cores, where that is known.
    pub cores: Option<u32>,
    /// Where the rates are from.
    pub source: String,
}

/// What a layout gives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Layout {
    /// What people call it.
    pub name: String,
    pub array: Array,
    /// Where encryption sits.
    pub encryption: Encryption,
    /// What is left of the capacity of all drives, 0 to 1.
    pub capacity: f64,
    /// How many drives may fail, whichever they are.
    pub survives: u8,
    /// Sequential reads; `None` when the rate of the cipher is not known.
    #[serde(rename = "read_bytes_per_second")]
    pub read: Option<BytesPerSec>,
    /// Sequential writes likewise.
    #[serde(rename = "write_bytes_per_second")]
    pub write: Option<BytesPerSec>,
    /// Small random reads, in drives.
    #[serde(rename = "read_iops_drives")]
    pub read_iops: f64,
    /// Small random writes, in drives.
    #[serde(rename = "write_iops_drives")]
    pub write_iops: f64,
    /// Bytes that each drive writes for each byte written: the fewer, the longer it lasts.
    pub wear: f64,
    /// What limits reads: `drives`, `dm-crypt`.
    pub limit: Cow<'static, str>,
}

/// What people call a layout.
fn name(array: Array, encryption: Encryption) -> String {
    let name = array.name();
    match encryption {
        Encryption::None => name.to_owned(),
        Encryption::Above if array == Array::Single => format!("{name} with LUKS"),
        Encryption::Above => format!("LUKS on {name}"),
        Encryption::Below => format!("{name} of LUKS drives"),
    }
}

/// Every layout that so many drives allow.
pub fn layouts(resources: &Resources) -> Vec<Layout> {
    let fitting = Array::ALL.into_iter().filter(|array| {
        let pairs = *array != Array::Raid10 || resources.drives.is_multiple_of(2);
        array.fewest() <= resources.drives && pairs
    });
    fitting
        .flat_map(|array| {
            let encryptions = [Encryption::None, Encryption::Above, Encryption::Below];
            let apart =
                encryptions.into_iter().filter(move |e| *e != Encryption::Below || array != Array::Single);
            apart.map(move |encryption| layout(resources, array, encryption))
        })
        .collect()
}

/// How drives carry the load of an array, in drives.
struct Spread {
    capacity: f64,
    survives: u8,
    read: f64,
    write: f64,
    read_iops: f64,
    write_iops: f64,
    wear: f64,
}

fn spread(array: Array, drives: u8) -> Spread {
    let n = f64::from(drives);
    let all = |survives, data: f64, write_iops, wear| Spread {
        capacity: data / n,
        survives,
        read: data,
        write: data,
        read_iops: n,
        write_iops,
        wear,
    };
    match array {
        Array::Single => Spread { read_iops: 1.0, ..all(0, 1.0, 1.0, 1.0) },
        // Data lies on one drive at a time; the wear of that one is all of it.
        Array::LvmLinear => Spread { capacity: 1.0, read_iops: 1.0, ..all(0, 1.0, 1.0, 1.0) },
        Array::LvmStriped | Array::Raid0 => all(0, n, n, 1.0 / n),
        Array::Raid1 => all(drives.saturating_sub(1), 1.0, 1.0, 1.0),
        Array::Raid10 => Spread { read: n, ..all(1, n / 2.0, n / 2.0, 2.0 / n) },
        Array::Raid5 => all(1, n - 1.0, n / 4.0, 1.0 / (n - 1.0)),
        Array::Raid6 => all(2, n - 2.0, n / 6.0, 1.0 / (n - 2.0)),
    }
}

fn layout(resources: &Resources, array: Array, encryption: Encryption) -> Layout {
    let spread = spread(array, resources.drives);
    let n = f64::from(resources.drives);
    // A mirror writes every byte on each drive, so that what the drives share carries each byte that often.
    let copies = if matches!(array, Array::Single | Array::LvmLinear) { 1.0 } else { spread.wear * n };
    let mut read = (resources.read * spread.read).min(resources.read_together * (spread.read / n).max(1.0));
    let mut write = (resources.write * spread.write).min(resources.write_together / copies.max(1.0));
    if spread.read < 1.5 {
        (read, write) = (read.min(resources.read), write.min(resources.write));
    }
    let level = match array {
        Array::Raid5 => Some(RaidLevel::Raid5),
        Array::Raid6 => Some(RaidLevel::Raid6),
        _ => None,
    };
    let threads = level.and_then(|level| {
        let members = (0..resources.drives).map(|at| format!("drive {at}")).collect();
        of_raid(&RaidHop { level: Some(level), members, ..RaidHop::default() }).write.rate()
    });
    if let Some(threads) = threads {
        write = write.min(threads);
    }
    let plain = read;
    let (read, write) = match (encryption, &resources.cipher) {
        (Encryption::None, _) => (Some(read), Some(write)),
        (_, Some(cipher)) => {
            // Below an array each drive has a mapping of its own: a core for each, as far as there are cores, and each
            // encrypts what its drive writes. Above it there is one mapping, which one submitter keeps one core busy with.
            let (readers, writers) = match encryption {
                Encryption::Below => (spread.read.max(1.0), 1.0 / spread.wear),
                Encryption::None | Encryption::Above => (1.0, 1.0),
            };
            let cores = cipher.cores.map_or(f64::INFINITY, f64::from);
            let decrypt = cipher.decrypt * READ_SHARE * readers.min(cores);
            let encrypt = cipher.encrypt * WRITE_SHARE * writers.min(cores);
            (Some(read.min(decrypt)), Some(write.min(encrypt)))
        }
        (_, None) => (None, None),
    };
    let limit = if read.is_some_and(|read| read < plain) { "dm-crypt" } else { "drives" };
    Layout {
        name: name(array, encryption),
        array,
        encryption,
        capacity: spread.capacity,
        survives: spread.survives,
        read,
        write,
        read_iops: spread.read_iops,
        write_iops: spread.write_iops,
        wear: spread.wear,
        limit: limit.into(),
    }
}

/// I/Os under way on each drive: enough that bytes limit and not the time of one.
const DEEP: u32 = 32;

/// Drives of one kind, and their rates in sequence.
#[derive(Debug, Clone, PartialEq)]
pub struct Drives {
    pub names: Vec<Name>,
    /// What the slowest reads alone.
    pub read: BytesPerSec,
    /// What the slowest writes alone.
    pub write: BytesPerSec,
    /// What all read at once.
    pub read_together: BytesPerSec,
    /// What all write at once.
    pub write_together: BytesPerSec,
    /// Drives of other kinds, with which no layout is made.
    pub others: Vec<Name>,
    /// Why a rate is a bound and not what is predicted, each reason once; empty where all rates are known.
    pub not_known: Vec<String>,
}

/// The drives of a host: those of the kind that it has most of. `None` when it has none.
///
/// # Errors
/// The description is no path.
pub fn drives(system: &System, host: &Name) -> Result<Option<Drives>, BuildError> {
    let on_host: Vec<(&Part, DeviceKind)> = system
        .parts
        .iter()
        .filter_map(|part| match &part.kind {
            PartKind::Device(device) if is_on(system, part, host) => Some((part, device.kind)),
            _ => None,
        })
        .filter(|(_, kind)| *kind != DeviceKind::Ramdisk)
        .collect();
    let count = |wanted: DeviceKind| on_host.iter().filter(|(_, kind)| *kind == wanted).count();
    // Of kinds with as many drives the first in the order of kinds, which has the faster first.
    let most =
        on_host.iter().map(|(_, kind)| *kind).max_by_key(|kind| (count(*kind), std::cmp::Reverse(*kind)));
    let Some(most) = most else { return Ok(None) };
    let named = |wanted: bool| {
        let found = on_host.iter().filter(move |(_, kind)| (*kind == most) == wanted);
        found.map(|(part, _)| part.name.clone()).collect::<Vec<Name>>()
    };
    let names = named(true);
    let workloads =
        |write: bool| -> Vec<Workload> { names.iter().map(|name| transfer(name, write)).collect() };
    let mut not_known = Vec::new();
    let read = alone(system, &workloads(false), &mut not_known)?;
    let write = alone(system, &workloads(true), &mut not_known)?;
    let sum = |all: Vec<Prediction>| all.iter().map(|one| one.rate).sum();
    Ok(Some(Drives {
        read,
        write,
        read_together: sum(predict_together(system, &workloads(false))?),
        write_together: sum(predict_together(system, &workloads(true))?),
        others: named(false),
        names,
        not_known,
    }))
}

/// What the slowest of these gets, each by itself. Where that is not known it is the lowest rate that bounds it, with the reason.
fn alone(
    system: &System,
    workloads: &[Workload],
    not_known: &mut Vec<String>,
) -> Result<BytesPerSec, BuildError> {
    let mut least: Option<BytesPerSec> = None;
    for workload in workloads {
        let found = predict_together(system, std::slice::from_ref(workload))?;
        let Some(one) = found.first() else { continue };
        let because = one.answer.not_known().map(|it| it.because.clone());
        not_known.extend(because.filter(|because| !not_known.contains(because)));
        let rate = one.at_most().map_or(one.rate, |bound| bound.rate);
        least = Some(least.map_or(rate, |least| least.min(rate)));
    }
    Ok(least.unwrap_or_default())
}

fn transfer(name: &Name, write: bool) -> Workload {
    let reading = Workload { name: name.clone(), depth: DEEP, ..Workload::reading(name.as_str()) };
    if write { reading.writing() } else { reading }
}

/// Whether a part is on a host, by its first way down.
fn is_on(system: &System, part: &Part, host: &Name) -> bool {
    let mut part = Some(part);
    for _ in 0..=system.parts.len() {
        match part {
            Some(found) if found.name == *host => return true,
            Some(found) => part = found.needs().first().and_then(|name| system.part(name)),
            None => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::file::parse;
    use narrows_base::units::human;

    fn of(text: &str) -> Drives {
        let system = parse("t", &format!("format = \"narrows/path/1\"\n[host.h]\n{text}"))
            .unwrap_or_else(|error| panic!("{error}"));
        drives(&system, &Name::new("h")).expect("is a path").expect("has drives")
    }

    /// By hand: 8 GT/s × 4 and × 8 lanes, 128/130, 256/280, 1534/1538: 3.59 GB/s each, 7.18 together.
    #[test]
    fn drives_behind_one_uplink_read_less_together() {
        let found = of(
            "[slot.s]\ngeneration = 3\nwidth = 8\n[switch.c]\nin = \"s\"\ngeneration = 3\nwidth = 8\n\
            port_generation = 3\nport_width = 4\n[device.d]\ncount = 4\nin = \"c\"\nread = \"3.7 GB/s\"\n\
            write = \"2 GB/s\"\ngeneration = 3\nwidth = 4\n[device.disk]\nkind = \"hdd\"\nread = \"200 MB/s\"\n\
            write = \"200 MB/s\"\n",
        );
        assert_eq!((found.names.len(), found.others.len()), (4, 1));
        assert_eq!([found.read, found.write].map(human::rate), ["3.59 GB/s", "2 GB/s"]);
        assert_eq!(human::rate(found.read_together), "7.18 GB/s");
    }

    #[test]
    fn the_slowest_of_unlike_drives_counts() {
        let found = of(
            "[device.a]\nread = \"3 GB/s\"\nwrite = \"3 GB/s\"\n[device.b]\nread = \"1 GB/s\"\nwrite = \"2 GB/s\"\n",
        );
        assert_eq!([found.read, found.write].map(human::rate), ["1 GB/s", "2 GB/s"]);
        assert_eq!(human::rate(found.read_together), "4 GB/s");
        assert!(found.not_known.is_empty(), "{:?}", found.not_known);
    }

    /// 32 reads under way at 200 ms each would decide, by the time in a switch, of which there are no measurements.
    #[test]
    fn what_no_law_answers_is_a_bound_and_said_once() {
        let found = of(
            "[slot.s]\ngeneration = 3\nwidth = 8\n[switch.c]\nin = \"s\"\ngeneration = 3\nwidth = 8\nport_generation = 3\n\
             port_width = 4\nlatency = \"100 ms\"\n[device.d]\ncount = 2\nin = \"c\"\nread = \"3 GB/s\"\nwrite = \"3 GB/s\"\n",
        );
        assert_eq!([found.read, found.write].map(human::rate), ["3 GB/s", "3 GB/s"]);
        assert_eq!(found.not_known.len(), 1, "{:?}", found.not_known);
    }
}
