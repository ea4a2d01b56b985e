//! What a storage medium delivers: what its vendor or a tester published for the model.
//!
//! Valid for sequential access with large blocks on a healthy, cool drive, writes within its cache, and for the outer
//! tracks of a disk. Expected error −3 % to +15 %: the figures are the best of a model family.
//!
//! A solid-state drive that the catalogue does not know has no ceiling; a guess would only mislead. A hard disk has that
//! of its class, for what turns is bound by physics: the outer tracks of the fastest drives with one actuator, 7200
//! revolutions a minute and 20 TB and more, read and write 285 MB/s (data sheets of Seagate Exos X20 and X24, WD Ultrastar
//! DC HC560, Toshiba MG10), and every other drive less, down to 150 MB/s. Expected error 0 % to +90 %.

mod flash;

use super::{Basis, Ceilings, FactRef, Limit, published};
use crate::path::{DeviceHop, Flash};
use narrows_base::catalog::{self, Medium};
use narrows_base::fact::Source;
use narrows_base::units::{BitsPerSec, BytesPerSec, human};

/// What the outer tracks of the fastest hard disks with one actuator carry, MB/s.
const HARD_DISK: f64 = 285.0;

/// The slowest hard disks carry this part of what the fastest do.
const SLOW_DISK: f64 = 0.5;

/// Models of disks that a hypervisor or a provider makes: their names begin so.
const VIRTUAL_MODELS: &[&str] =
    &["QEMU", "VBOX", "VMware", "Virtual Disk", "Amazon Elastic Block Store", "PersistentDisk"];

/// Whether a medium is a virtual disk: what carries it is the host's, and not visible from here.
pub fn is_virtual(device: &DeviceHop) -> bool {
    let model = device.model.value();
    device.synthetic.as_deref().is_some_and(|kind| kind.starts_with("virtio"))
        || model.is_some_and(|model| VIRTUAL_MODELS.iter().any(|known| model.starts_with(known)))
}

/// The ceilings of a medium.
pub fn of_device(device: &DeviceHop) -> Ceilings {
    if is_virtual(device) {
        return Ceilings::unknown("a virtual disk is as fast as its host lets it be");
    }
    if let Some(synthetic) = &device.synthetic {
        return of_synthetic(synthetic);
    }
    let model = device.model.value();
    let Some((model, medium)) = model.and_then(|model| Some((model, catalog::medium(model)?))) else {
        return match device.is_hard_disk {
            true => Ceilings::same(of_class(device)),
            false => match flash::range(device) {
                Some(range) => Ceilings::each(
                    of_range(device, &range, "read", range.read),
                    of_range(device, &range, "write", range.write),
                ),
                None => Ceilings::unknown(why_unknown(device)),
            },
        };
    };
    Ceilings::each(
        limit(medium, model, device, "read", medium.read_megabytes_per_second),
        limit(medium, model, device, "write", medium.write_megabytes_per_second),
    )
}

fn limit(medium: &Medium, model: &str, device: &DeviceHop, what: &str, megabytes: f64) -> Limit {
    let rate = BytesPerSec::from_mb(megabytes);
    let said = if medium.verified { "published" } else { "believed to be published" };
    Limit {
        rate,
        raw: None,
        basis: published(medium.verified),
        formula: format!("{} is {said} with {rate} sequential {what} at best", medium.name),
        facts: vec![
            FactRef::new("model", model, device.model.source()),
            FactRef::new("published rate", rate, &Source::new(medium.source.as_str())),
        ],
    }
}

fn why_unknown(device: &DeviceHop) -> String {
    match device.model.missing() {
        None => "the catalogue has no figures for this model".to_owned(),
        Some(why) => format!("its model is not known; {why}"),
    }
}

/// The ceiling of a hard disk whose model the catalogue does not know.
fn of_class(device: &DeviceHop) -> Limit {
    let rate = BytesPerSec::from_mb(HARD_DISK);
    Limit {
        rate,
        raw: None,
        basis: Basis::Guess,
        formula: format!(
            "the catalogue has no figures for this hard disk; the outer tracks of the fastest ones with one actuator \
             carry {rate}, and all others less"
        ),
        facts: vec![match (device.rotational.value(), device.model.value()) {
            (None, Some(model)) => FactRef::new("model number of a hard disk", model, device.model.source()),
            _ => FactRef::new("rotational", "1", device.rotational.source()),
        }],
    }
}

/// The upper end of the range of a class.
fn of_range(device: &DeviceHop, range: &flash::Range, what: &str, (least, most): (f64, f64)) -> Limit {
    let rate = BytesPerSec::from_mb(most);
    let size =
        device.size.value().map(|size| FactRef::new("size", human::bytes(*size), device.size.source()));
    let (fact, value, source) = match &device.flash {
        Some(Flash::Mmc(mode)) => ("mode", mode.get(), mode.source()),
        Some(Flash::Stick(speed)) => ("USB rate", speed.value().map(BitsPerSec::to_string), speed.source()),
        None => ("mode", None, device.size.source()),
    };
    let mode = value.map(|value| FactRef::new(fact, value, source));
    Limit {
        rate,
        raw: None,
        basis: Basis::Guess,
        formula: format!(
            "the catalogue has no figures for this model; {} {what} {} to {rate} at best",
            range.of,
            BytesPerSec::from_mb(least)
        ),
        facts: mode
            .into_iter()
            .chain(size)
            .chain([FactRef::new("class", &range.of, &Source::new(range.source))])
            .collect(),
    }
}

/// The part of its ceiling that the slowest of a medium's class carry, for reads and writes; `None` of flash that is rated by
/// its model, and of what has no class.
pub fn least_share(device: &DeviceHop) -> Option<(f64, f64)> {
    if device.is_hard_disk {
        return Some((SLOW_DISK, SLOW_DISK));
    }
    if device.model.value().is_some_and(|model| catalog::medium(model).is_some()) {
        return None;
    }
    let range = flash::range(device)?;
    Some((range.read.0 / range.read.1, range.write.0 / range.write.1))
}

fn of_synthetic(kind: &str) -> Ceilings {
    match kind {
        "null_blk" => Ceilings::unknown(
            "null_blk completes requests without moving data; the processor is its only limit",
        ),
        "brd" | "zram" => {
            Ceilings::unknown(format!("{kind} is memory; the processor and its memory limit it"))
        }
        "loop" => Ceilings::transparent("a loop device is as fast as the file behind it"),
        other => Ceilings::unknown(format!("{other} is no physical medium")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ceiling::Ceiling;
    use narrows_base::fact::Fact;

    fn device(model: &str) -> DeviceHop {
        DeviceHop {
            model: Fact::known(model.to_owned(), "/sys/class/block/nvme0n1/device/model"),
            ..DeviceHop::default()
        }
    }

    #[test]
    fn a_known_model_has_its_published_rates() {
        let ceilings = of_device(&device("WD_BLACK SN770 2TB"));
        assert_eq!(ceilings.read.rate().map(human::rate).as_deref(), Some("5.15 GB/s"));
        assert_eq!(ceilings.write.rate().map(human::rate).as_deref(), Some("4.9 GB/s"));
        assert_eq!(ceilings.read.limit().map(|limit| limit.basis), Some(Basis::Spec));
    }

    #[test]
    fn a_figure_that_nobody_checked_is_a_guess_and_says_so() {
        let ceilings = of_device(&device("CT1000P3PSSD8"));
        let limit = ceilings.read.limit().expect("known");
        assert_eq!(limit.basis, Basis::Guess);
        assert_eq!(
            limit.formula,
            "Crucial P3 Plus is believed to be published with 5 GB/s sequential read at best"
        );
    }

    #[test]
    fn a_hard_disk_of_any_model_has_the_ceiling_of_its_class_and_a_known_one_its_own() {
        let turns = |model: &str| DeviceHop { is_hard_disk: true, ..device(model) };
        let ceilings = of_device(&turns("NoName 4TB"));
        let limit = ceilings.read.limit().expect("a guess");
        assert_eq!((human::rate(limit.rate).as_str(), limit.basis), ("285 MB/s", Basis::Guess));
        assert_eq!(ceilings.read, ceilings.write);
        let nameless = DeviceHop { is_hard_disk: true, ..DeviceHop::default() };
        assert_eq!(of_device(&nameless).read.rate(), Some(limit.rate));
        let known = of_device(&turns("WD_BLACK SN770 2TB"));
        assert_eq!(known.read.rate().map(human::rate).as_deref(), Some("5.15 GB/s"));
    }

    #[test]
    fn emmc_of_any_model_has_the_range_of_its_mode_as_a_guess() {
        let mode = Fact::known("HS200 MMC".to_owned(), "dmesg:1");
        let card = DeviceHop { flash: Some(Flash::Mmc(mode)), ..device("DG4016") };
        let ceilings = of_device(&card);
        let limit = ceilings.read.limit().expect("a guess");
        assert_eq!((human::rate(limit.rate).as_str(), limit.basis), ("200 MB/s", Basis::Guess));
        assert!(
            limit.formula.contains("eMMC at HS200 read 80 MB/s to 200 MB/s at best"),
            "{}",
            limit.formula
        );
        assert_eq!(least_share(&card), Some((0.4, 0.05)));
        assert_eq!(of_device(&DeviceHop { flash: None, ..card }).read.rate(), None);
    }

    #[test]
    fn what_is_not_published_or_not_physical_is_unknown_with_its_reason() {
        for (device, want) in [
            (device("NoName 256"), "the catalogue has no figures for this model"),
            (device("QEMU NVMe Ctrl"), "a virtual disk is as fast as its host lets it be"),
            (
                DeviceHop { synthetic: Some("virtio".into()), ..DeviceHop::default() },
                "a virtual disk is as fast as its host lets it be",
            ),
        ] {
            assert_eq!(of_device(&device), Ceilings::unknown(want));
        }
        let looped = DeviceHop { synthetic: Some("loop".into()), ..DeviceHop::default() };
        assert!(matches!(of_device(&looped).read, Ceiling::Transparent(_)));
        assert!(matches!(of_device(&DeviceHop::default()).read, Ceiling::Unknown(_)));
    }
}
