//! What should be built on the drives?
//!
//! Each layout is judged by what it leaves of capacity, how many drives may fail, how many I/Os it takes compared with one
//! drive, how often each byte is written (md(4); small writes with parity read and write data and parity, 4 and 6 I/Os), and by
//! what it reads and writes in sequence: 1 MiB at a time, or a whole stripe where there is parity. These rates are those of [`crate::predict`], which is asked for each
//! layout as if it were there; where nothing is known of them they are the bound that nothing exceeds.

mod rank;

pub use rank::{Advice, Aim, AimError, Ranked, rank};

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::path::file::{
    BuildError, Crypt, Device, DeviceKind, Host, Name, Part, PartKind, Raid, RaidKind, System, Volume,
    Workload,
};
use crate::path::{HopKind, RaidLevel};
use crate::plan::outcome::Rates;
use crate::predict::predict;
use narrows_base::units::{Bytes, BytesPerSec};

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

    /// What people call it, and the fewest drives that make one.
    const fn described(self) -> (&'static str, u8) {
        match self {
            Self::Single => ("single drive", 1),
            Self::LvmLinear => ("LVM linear", 2),
            Self::LvmStriped => ("LVM striped", 2),
            Self::Raid0 => ("RAID-0", 2),
            Self::Raid1 => ("RAID-1", 2),
            Self::Raid10 => ("RAID-10", 4),
            Self::Raid5 => ("RAID-5", 3),
            Self::Raid6 => ("RAID-6", 4),
        }
    }

    /// What people call it.
    pub const fn name(self) -> &'static str {
        self.described().0
    }

    /// Whether so many drives make one.
    pub const fn fits(self, drives: u8) -> bool {
        let pairs = !matches!(self, Self::Raid10) || drives.is_multiple_of(2);
        self.described().1 <= drives && pairs
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

/// What layouts are made of, and how fast it is encrypted.
#[derive(Debug, Clone, PartialEq)]
pub struct Resources {
    pub drives: Drives,
    /// What one core decrypts and encrypts, and where that is from; `None` when it is not known.
    pub cipher: Option<Cipher>,
}

/// Drives of one kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Drives {
    /// Those of a description.
    Described(Described),
    /// So many, of which only rates are known: those of each alone, and of all together.
    Rated { count: u8, alone: Rates, together: Rates },
}

/// Drives that a description has.
#[derive(Debug, Clone, PartialEq)]
pub struct Described {
    pub system: System,
    pub names: Vec<Name>,
    /// Drives of other kinds, with which no layout is made.
    pub others: Vec<Name>,
}

impl Drives {
    /// How many there are.
    pub fn count(&self) -> u8 {
        match self {
            Self::Described(it) => u8::try_from(it.names.len()).unwrap_or(u8::MAX),
            Self::Rated { count, .. } => *count,
        }
    }

    /// A system with the drives, of which one works at a time or all do.
    fn system(&self, one_at_a_time: bool) -> (System, Vec<Name>) {
        match self {
            Self::Described(it) => (it.system.clone(), it.names.clone()),
            Self::Rated { count, alone, together } => {
                let part = 1.0 / f64::from(*count);
                let rates = if one_at_a_time {
                    *alone
                } else {
                    Rates { read: together.read * part, write: together.write * part }
                };
                let drive = |at: u8| {
                    let (read, write) = (Some(rates.read), Some(rates.write));
                    let device = Device { read, write, ..Device::new(DeviceKind::Nvme, "host") };
                    Part::new(format!("drive {at}"), PartKind::Device(device))
                };
                let host = Part::new("host", PartKind::Host(Host { sockets: 1, ..Host::default() }));
                let drives: Vec<Part> = (0..*count).map(drive).collect();
                let names = drives.iter().map(|drive| drive.name.clone()).collect();
                let parts = std::iter::once(host).chain(drives).collect();
                (System { parts, ..System::default() }, names)
            }
        }
    }
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
    /// Whether `read` is a bound that nothing exceeds, and not what is predicted.
    pub read_is_bound: bool,
    /// Sequential writes likewise.
    #[serde(rename = "write_bytes_per_second")]
    pub write: Option<BytesPerSec>,
    /// Whether `write` is a bound likewise.
    pub write_is_bound: bool,
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
    /// Why rates are bounds.
    #[serde(skip)]
    pub not_known: Vec<String>,
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
///
/// # Errors
/// The description of the drives is no path.
pub fn layouts(resources: &Resources) -> Result<Vec<Layout>, BuildError> {
    let drives = resources.drives.count();
    let fitting = Array::ALL.into_iter().filter(|array| array.fits(drives));
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
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// What is left of the capacity of all, 0 to 1.
    pub capacity: f64,
    survives: u8,
    read_iops: f64,
    write_iops: f64,
    /// Bytes that each writes for each byte written.
    pub wear: f64,
}

/// How so many drives carry the load of an array.
pub fn spread(array: Array, drives: u8) -> Spread {
    let n = f64::from(drives);
    let all = |survives, data: f64, write_iops, wear| Spread {
        capacity: data / n,
        survives,
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
        Array::Raid10 => all(1, n / 2.0, n / 2.0, 2.0 / n),
        Array::Raid5 => all(1, n - 1.0, n / 4.0, 1.0 / (n - 1.0)),
        Array::Raid6 => all(2, n - 2.0, n / 6.0, 1.0 / (n - 2.0)),
    }
}

fn layout(resources: &Resources, array: Array, encryption: Encryption) -> Result<Layout, BuildError> {
    let spread = spread(array, resources.drives.count());
    let is_known = encryption == Encryption::None || resources.cipher.is_some();
    let ask = |one_at_a_time: bool, write: bool| match is_known {
        true => sequential(resources, (array, encryption), one_at_a_time, write),
        false => Ok(Sequential::default()),
    };
    let one_at_a_time = matches!(array, Array::Single | Array::LvmLinear);
    let read = ask(one_at_a_time || array == Array::Raid1, false)?;
    let write = ask(one_at_a_time, true)?;
    Ok(Layout {
        name: name(array, encryption),
        array,
        encryption,
        capacity: spread.capacity,
        survives: spread.survives,
        read: read.rate,
        read_is_bound: read.not_known.is_some(),
        write: write.rate,
        write_is_bound: write.not_known.is_some(),
        read_iops: spread.read_iops,
        write_iops: spread.write_iops,
        wear: spread.wear,
        limit: if read.limit == Some(HopKind::Crypt) { "dm-crypt" } else { "drives" }.into(),
        not_known: read.not_known.into_iter().chain(write.not_known).collect(),
    })
}

/// What a layout does in one direction.
#[derive(Default)]
struct Sequential {
    /// `None` where nothing bounds it.
    rate: Option<BytesPerSec>,
    limit: Option<HopKind>,
    /// Why the rate is a bound.
    not_known: Option<String>,
}

/// Asks for the layout as if it were there. Of a single drive it is the slowest.
fn sequential(
    resources: &Resources,
    (array, encryption): (Array, Encryption),
    one_at_a_time: bool,
    write: bool,
) -> Result<Sequential, BuildError> {
    let (mut system, drives) = resources.drives.system(one_at_a_time);
    let targets = build(&mut system, drives, (array, encryption), resources.cipher.as_ref());
    let mut slowest: Option<Sequential> = None;
    for target in targets {
        let one = predict(&system, &transfer(&target, write, data(array, &resources.drives)))?;
        let bound = one.at_most();
        let not_known = one.answer.as_ref().err().map(|it| it.because.clone());
        let rate = if not_known.is_some() { bound.map(|bound| bound.rate) } else { Some(one.rate) };
        let hop = bound.or(one.narrowest()).map(|bound| &bound.hop);
        let limit = hop.and_then(|hop| one.path.hop(hop)).map(|hop| hop.kind());
        let found = Sequential { rate, limit, not_known };
        if slowest.as_ref().is_none_or(|known| found.rate < known.rate) {
            slowest = Some(found);
        }
    }
    Ok(slowest.unwrap_or_default())
}

/// Adds what a layout consists of, and says what of it is read and written.
fn build(
    system: &mut System,
    drives: Vec<Name>,
    (array, encryption): (Array, Encryption),
    cipher: Option<&Cipher>,
) -> Vec<Name> {
    let add = |system: &mut System, name: String, kind: PartKind| {
        let part = Part::new(name, kind);
        let name = part.name.clone();
        system.parts.push(part);
        name
    };
    let encrypt = |system: &mut System, on: Name| {
        let crypt = Crypt {
            on: on.clone(),
            cipher: None,
            key_bits: None,
            decrypt: cipher.map(|cipher| cipher.decrypt),
            encrypt: cipher.map(|cipher| cipher.encrypt),
            cores: cipher.and_then(|cipher| cipher.cores),
            sector_size: None,
            workqueues: true,
        };
        add(system, format!("LUKS on {on}"), PartKind::Crypt(crypt))
    };
    let members: Vec<Name> = match encryption {
        Encryption::Below => drives.into_iter().map(|drive| encrypt(system, drive)).collect(),
        Encryption::None | Encryption::Above => drives,
    };
    let raid = |level: RaidLevel, members: Vec<Name>| {
        PartKind::Raid(Raid {
            kind: RaidKind::Md(level),
            members,
            chunk: Some(CHUNK),
            copies: None,
            resync: None,
            stripe_threads: None,
        })
    };
    let mut put = |kind: PartKind| vec![add(system, format!("planned {}", array.name()), kind)];
    let volumes = match array {
        Array::Single => members,
        Array::LvmLinear => put(PartKind::Volume(Volume { stripe: None, members })),
        Array::LvmStriped => put(PartKind::Volume(Volume { stripe: Some(STRIPE), members })),
        Array::Raid0 => put(raid(RaidLevel::Raid0, members)),
        Array::Raid1 => put(raid(RaidLevel::Raid1, members)),
        Array::Raid10 => put(raid(RaidLevel::Raid10, members)),
        Array::Raid5 => put(raid(RaidLevel::Raid5, members)),
        Array::Raid6 => put(raid(RaidLevel::Raid6, members)),
    };
    match encryption {
        Encryption::Above => volumes.into_iter().map(|volume| encrypt(system, volume)).collect(),
        Encryption::None | Encryption::Below => volumes,
    }
}

/// The chunk of arrays where nobody says another (mdadm(8), `--chunk`).
const CHUNK: Bytes = Bytes::from_kib(512);

/// The stripe of LVM where nobody says another (lvmcreate, `--stripesize`).
const STRIPE: Bytes = Bytes::from_kib(64);

/// I/Os under way on each drive: enough that bytes limit and not the time of one.
const DEEP: u32 = 32;

/// The drives of a host: those of the kind that it has most of. `None` when it has none.
pub fn drives(system: &System, host: &Name) -> Option<Described> {
    let on_host: Vec<(&Part, DeviceKind)> = system
        .parts
        .iter()
        .filter_map(|part| match &part.kind {
            PartKind::Device(device) => Some((part, device.kind)),
            _ => None,
        })
        .filter(|(_, kind)| *kind != DeviceKind::Ramdisk)
        .filter(|(part, _)| system.host_of(&part.name).is_some_and(|(found, _)| found.name == *host))
        .collect();
    let count = |wanted: DeviceKind| on_host.iter().filter(|(_, kind)| *kind == wanted).count();
    // Of kinds with as many drives the first in the order of kinds, which has the faster first.
    let most =
        on_host.iter().map(|(_, kind)| *kind).max_by_key(|kind| (count(*kind), std::cmp::Reverse(*kind)))?;
    let named = |wanted: bool| {
        let found = on_host.iter().filter(move |(_, kind)| (*kind == most) == wanted);
        found.map(|(part, _)| part.name.clone()).collect::<Vec<Name>>()
    };
    Some(Described { system: system.clone(), names: named(true), others: named(false) })
}

/// The members of an array with parity that hold data of one stripe.
fn data(array: Array, drives: &Drives) -> Option<u8> {
    match array {
        Array::Raid5 => Some(drives.count().saturating_sub(1)),
        Array::Raid6 => Some(drives.count().saturating_sub(2)),
        _ => None,
    }
}

fn transfer(name: &Name, write: bool, data: Option<u8>) -> Workload {
    let reading = Workload { name: name.clone(), depth: DEEP, ..Workload::reading(name.as_str()) };
    let block_size = data.map_or(reading.block_size, |data| Bytes::new(CHUNK.get() * u64::from(data)));
    let reading = Workload { block_size, ..reading };
    if write { reading.writing() } else { reading }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::file::parse;
    use narrows_base::units::human;

    fn of(text: &str) -> Described {
        let system = parse("t", &format!("format = \"narrows/path/1\"\n[host.h]\n{text}"))
            .unwrap_or_else(|error| panic!("{error}"));
        drives(&system, &Name::new("h")).expect("has drives")
    }

    fn find(found: Described, name: &str) -> Layout {
        let resources = Resources { drives: Drives::Described(found), cipher: None };
        let all = layouts(&resources).expect("is a path");
        all.into_iter().find(|layout| layout.name == name).unwrap_or_else(|| panic!("{name}"))
    }

    fn reads(layout: &Layout) -> String {
        let rate = layout.read.map_or("unknown".to_owned(), human::rate);
        if layout.read_is_bound { format!("at most {rate}") } else { rate }
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
        assert_eq!(reads(&find(found.clone(), "single drive")), "3.59 GB/s");
        assert_eq!(reads(&find(found, "RAID-0")), "7.18 GB/s");
    }

    #[test]
    fn the_slowest_of_unlike_drives_counts() {
        let found = of(
            "[device.a]\nread = \"3 GB/s\"\nwrite = \"3 GB/s\"\n[device.b]\nread = \"1 GB/s\"\nwrite = \"2 GB/s\"\n",
        );
        let single = find(found, "single drive");
        assert_eq!(
            [single.read, single.write].map(|rate| human::rate(rate.expect("known"))),
            ["1 GB/s", "2 GB/s"]
        );
    }

    /// 32 reads under way at 200 ms each would decide, by the time in a switch, of which there are no measurements.
    #[test]
    fn what_no_law_answers_is_a_bound_with_its_reason() {
        let found = of(
            "[slot.s]\ngeneration = 3\nwidth = 8\n[switch.c]\nin = \"s\"\ngeneration = 3\nwidth = 8\nport_generation = 3\n\
             port_width = 4\nlatency = \"100 ms\"\n[device.d]\ncount = 2\nin = \"c\"\nread = \"3 GB/s\"\nwrite = \"3 GB/s\"\n",
        );
        let single = find(found, "single drive");
        assert_eq!(reads(&single), "at most 3 GB/s");
        assert!(!single.not_known.is_empty());
    }
}
