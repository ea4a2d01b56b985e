//! The most that a run may write, and how large a scratch file that allows.

use serde::{Deserialize, Serialize};

use crate::Failure;
use crate::scene::device_hops;
use narrows_base::catalog::{Medium, MediumClass, catalog};
use narrows_base::units::{Bytes, human};
use narrows_load::preset::{LoadSpec, Work};
use narrows_model::path::{DeviceHop, HopSpec, Path};

/// The most that a run writes to a drive unless it is told otherwise.
const MOST: Bytes = Bytes::from_mib(8 << 10);
/// The part of its rated life that it costs a drive at most, unless it is told otherwise: 0.01 %.
const SHARE: f64 = 1e-4;
/// A file system adds its own records to what is written to a file: this part is kept for them, as a divisor. Metadata and
/// journal of ext4 and XFS take less than a hundredth for files that are written in large parts; where it is more, the drive's own
/// counters show it while it is written, and the tests have so much less.
const RECORDS: u64 = 32;
/// The part of what may be written that a file of a size that nobody asked for may take, as a divisor: the rest is for tests.
const FILLED: u64 = 4;
/// A smaller file fits into the caches of drives.
const LEAST: Bytes = Bytes::from_mib(64);
/// The most that may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limit {
    /// Of data: the filling and the tests.
    pub(super) data: Bytes,
    /// By the counters of the drive: with what a file system adds.
    pub(super) device: Bytes,
    /// Whether `--max-writes` said so.
    pub(super) is_asked: bool,
}

impl Limit {
    /// What was asked for, or what is always allowed on a drive of this life. A file system that `adds` a part (a divisor of
    /// the data) needs that, too.
    pub(super) fn of(asked: Option<Bytes>, life: Option<Life>, adds: Option<u64>) -> Self {
        if let Some(data) = asked {
            let records = adds.map_or(0, |part| data.get() / part.max(1));
            return Self { data, device: data + Bytes::new(records), is_asked: true };
        }
        let by_life = life.map_or(MOST, |life| Bytes::new((life.rated.as_f64() * SHARE) as u64));
        let device = MOST.min(by_life);
        let of_all = |part: u64| u128::from(device.get()) * u128::from(part) / (u128::from(part) + 1);
        let data = adds.map_or(device, |part| Bytes::new(u64::try_from(of_all(part)).unwrap_or(0)));
        Self { data, device, is_asked: false }
    }
}

/// The part of what is written to a file on this path that its file system adds, as a divisor: one that keeps data in its
/// journal (ext4 with `data=journal`, kernel `Documentation/filesystems/ext4/journal.rst`) writes all of it twice.
pub(super) fn added(path: Option<&Path>) -> u64 {
    let hops = path.into_iter().flat_map(|path| &path.hops);
    let twice = hops.filter_map(|hop| match &hop.spec {
        HopSpec::Filesystem(file_system) => Some(file_system.options.iter()),
        _ => None,
    });
    if twice.flatten().any(|option| option == "data=journal") { 1 } else { RECORDS }
}

/// The load of a test; `None` for a scan.
pub(super) fn load_of(work: &Work) -> Option<&LoadSpec> {
    match work {
        Work::Load(load) => Some(load),
        Work::Scan(_) => None,
    }
}

/// How much is filled, of `wanted`, where `left` may be written, all is filled or zeroed `times` times,
/// and `writes` says whether tests write, too.
///
/// # Errors
/// There is too little for what was asked, or for anything that tells something of a drive.
pub(super) fn size(
    limit: Limit,
    left: Bytes,
    (wanted, is_asked): (Bytes, bool),
    times: u64,
    writes: bool,
) -> Result<Bytes, Failure> {
    let at_most = Bytes::new(left.get() / times);
    if is_asked || wanted <= at_most.min(LEAST) {
        return if wanted <= at_most { Ok(wanted) } else { Err(too_little(limit, left, wanted, times)) };
    }
    let size = if writes { part(left, wanted, times) } else { in_whole_mib(at_most) };
    let size = size.max(LEAST).min(wanted);
    if size <= at_most { Ok(size) } else { Err(too_little(limit, left, size, times)) }
}

/// What is filled of `wanted` when so many times as much is, out of `left`: most is left to the tests.
pub(super) fn part(left: Bytes, wanted: Bytes, times: u64) -> Bytes {
    wanted.min(in_whole_mib(Bytes::new(left.get() / (times * FILLED))))
}

fn in_whole_mib(bytes: Bytes) -> Bytes {
    Bytes::new(bytes.get() >> 20 << 20)
}

fn too_little(limit: Limit, left: Bytes, size: Bytes, times: u64) -> Failure {
    let needed = Bytes::new(size.get().saturating_mul(times));
    let what = match times {
        1 => String::new(),
        _ => format!(" ({} filled and zeroed again)", human::bytes(size)),
    };
    let (needed_text, left, data) = (human::bytes(needed), human::bytes(left), human::bytes(limit.data));
    let why = match limit.is_asked {
        true => format!("{left} of the {data} that --max-writes allows are left"),
        false => format!(
            "{left} of the {data} are left that are written without --max-writes (at most 8 GiB, and 0.01 % of the \
             drive's rated life)"
        ),
    };
    Failure::new(format!("{needed_text} are to be written{what}, and {why}"))
        .hint("allow more with --max-writes, use a smaller --size, or read a large file with --read-only")
}

/// What a drive may be written in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Life {
    /// In all.
    #[serde(rename = "bytes")]
    pub rated: Bytes,
    /// The class of which that is usual, where the maker's figure for the model is not known.
    #[serde(skip_deserializing)]
    pub class: Option<&'static str>,
}

impl Life {
    /// That of the drive of a path that may be written least; `None` where no drive is seen, or only virtual ones.
    pub fn of_path(path: &Path) -> Option<Self> {
        let by_usb = path.hops.iter().any(|hop| matches!(hop.spec, HopSpec::Usb(_)));
        let by_sas = path.hops.iter().any(|hop| matches!(hop.spec, HopSpec::Sas(_)));
        let lives = device_hops(path).filter_map(|drive| Self::of_drive(drive, by_usb, by_sas));
        lives.min_by_key(|life| life.rated)
    }

    fn of_drive(drive: &DeviceHop, by_usb: bool, by_sas: bool) -> Option<Self> {
        if drive.is_virtual() || drive.synthetic.is_some() {
            return None;
        }
        let size = drive.size.value().copied().filter(|size| size.get() > 0)?;
        let medium = drive.model.value().and_then(|model| catalog().medium(model));
        if let Some(writes) = medium.and_then(|medium| medium.rated_drive_writes) {
            return Some(Self { rated: times(size, writes), class: None });
        }
        let class = class_of(drive, medium, by_usb, by_sas)?;
        Some(Self { rated: times(size, class.rated_drive_writes?), class: Some(&class.name) })
    }
}

/// What may be written to a drive of this model and size in its life, where its maker says so.
pub fn rated(model: &str, size: Bytes) -> Option<Bytes> {
    catalog().medium(model)?.rated_drive_writes.map(|writes| times(size, writes))
}

fn times(size: Bytes, writes: f64) -> Bytes {
    Bytes::new((writes * size.as_f64()) as u64)
}

/// The class that the catalogue gives the model, or else the one with the least endurance that the drive may be of.
fn class_of(
    drive: &DeviceHop,
    medium: Option<&Medium>,
    by_usb: bool,
    by_sas: bool,
) -> Option<&'static MediumClass> {
    let known = medium.and_then(|medium| medium.class.as_deref());
    let usual = || {
        if drive.block.starts_with("mmcblk") {
            "flash-card"
        } else if drive.is_hard_disk || (drive.rotational.value() == Some(&true) && !by_usb) {
            "hdd"
        } else if by_usb {
            "flash-card"
        } else if drive.block.starts_with("nvme") {
            "consumer-qlc"
        } else if by_sas {
            "sas-ssd"
        } else {
            "sata-qlc"
        }
    };
    catalog().medium_class(known.unwrap_or_else(usual))
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_base::fact::Fact;

    fn life(terabytes: u64) -> Option<Life> {
        Some(Life { rated: Bytes::new(terabytes * 1_000_000_000_000), class: None })
    }

    fn mib(count: u64) -> Bytes {
        Bytes::from_mib(count)
    }

    #[test]
    fn the_default_is_eight_gib_or_a_ten_thousandth_of_the_rated_life() {
        assert_eq!(Limit::of(None, None, None).device, mib(8192));
        assert_eq!(Limit::of(None, life(600), None).device, mib(8192));
        assert_eq!(Limit::of(None, life(3), None).device, Bytes::new(300_000_000));
        let in_file = Limit::of(None, None, Some(32));
        assert_eq!(in_file.device, mib(8192));
        assert!(in_file.data < mib(8192) && in_file.data + Bytes::new(in_file.data.get() / 32) <= mib(8192));
        let asked = Limit::of(Some(mib(320)), life(3), Some(32));
        assert_eq!((asked.data, asked.device, asked.is_asked), (mib(320), mib(330), true));
        assert_eq!(added(None), 32);
        let twice = Limit::of(None, None, Some(1));
        assert_eq!((twice.data, twice.device), (mib(4096), mib(8192)));
    }

    #[test]
    fn what_is_filled_leaves_three_quarters_for_the_tests_unless_it_was_asked_for() {
        let limit = Limit::of(None, None, None);
        let of = |wanted, left, times, writes| size(limit, left, (wanted, false), times, writes);
        assert_eq!(of(mib(1024), mib(8192), 1, true).unwrap(), mib(1024));
        assert_eq!(of(mib(4096), mib(8192), 1, true).unwrap(), mib(2048));
        assert_eq!(of(mib(4096), mib(8192), 1, false).unwrap(), mib(4096));
        assert_eq!(of(mib(4096), mib(8192), 2, true).unwrap(), mib(1024));
        // A card of 8 GB of which 80 MB are allowed: the smallest file that tells something, and little beside it.
        assert_eq!(of(mib(1024), mib(76), 1, true).unwrap(), mib(64));
        let refused = of(mib(1024), mib(40), 1, true).unwrap_err().to_string();
        assert!(
            refused.contains("67.1 MB are to be written") && refused.contains("--max-writes"),
            "{refused}"
        );
        let asked = |wanted| size(limit, mib(100), (wanted, true), 1, true);
        assert_eq!(asked(mib(100)).unwrap(), mib(100));
        assert!(asked(mib(101)).is_err());
    }

    fn drive(block: &str, model: &str, gigabytes: u64) -> DeviceHop {
        DeviceHop {
            block: block.to_owned(),
            model: Fact::known(model.to_owned(), "model"),
            size: Fact::known(Bytes::new(gigabytes * 1_000_000_000), "size"),
            rotational: Fact::known(false, "queue/rotational"),
            is_hard_disk: false,
            synthetic: None,
            flash: None,
        }
    }

    fn life_of(drive: &DeviceHop, by_usb: bool) -> Option<(u64, Option<&'static str>)> {
        let life = Life::of_drive(drive, by_usb, false)?;
        Some((life.rated.get() / 1_000_000_000_000, life.class))
    }

    #[test]
    fn the_rated_life_grows_with_the_capacity() {
        let tb = |count: u64| Bytes::new(count * 1_000_000_000_000);
        // Samsung's table: 600 TB for 1 TB, 1200 TB for 2 TB.
        assert_eq!(rated("Samsung SSD 970 EVO Plus 1TB", tb(1)), Some(tb(600)));
        assert_eq!(rated("Samsung SSD 970 EVO Plus 2TB", tb(2)), Some(tb(1200)));
        assert_eq!(rated("QEMU NVMe Ctrl", tb(1)), None);
        assert_eq!(
            life_of(&drive("nvme0n1", "Samsung SSD 970 EVO Plus 1TB", 1000), false),
            Some((600, None))
        );
    }

    #[test]
    fn a_model_without_a_published_figure_has_that_of_its_class_and_an_unknown_one_the_least_of_its_kind() {
        let of = |block, model| life_of(&drive(block, model, 1000), false);
        assert_eq!(of("nvme0n1", "Samsung SSD 960 EVO 1TB"), Some((600, Some("consumer-tlc"))));
        assert_eq!(of("nvme0n1", "No Such Drive"), Some((200, Some("consumer-qlc"))));
        assert_eq!(of("sda", "No Such Drive"), Some((360, Some("sata-qlc"))));
        assert_eq!(of("mmcblk0", "SD64G"), Some((100, Some("flash-card"))));
        assert_eq!(life_of(&drive("sda", "Cruzer", 1000), true), Some((100, Some("flash-card"))));
        let disk = DeviceHop { is_hard_disk: true, ..drive("sda", "No Such Disk", 1000) };
        assert_eq!(life_of(&disk, false), Some((45, Some("hdd"))));
    }

    #[test]
    fn nothing_is_known_of_what_is_no_drive() {
        assert_eq!(life_of(&drive("nvme0n1", "QEMU NVMe Ctrl", 1000), false), None);
        let virtio = DeviceHop { synthetic: Some("virtio".to_owned()), ..drive("vda", "", 1000) };
        assert_eq!(life_of(&virtio, false), None);
        let unsized_drive = DeviceHop { size: Fact::known(Bytes::new(0), "size"), ..drive("sda", "x", 1) };
        assert_eq!(life_of(&unsized_drive, false), None);
    }
}
