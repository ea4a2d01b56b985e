//! What the drives of a path may be written in their life: as published for the model, or as usual for their class.

use narrows_base::catalog::{Medium, MediumClass, catalog};
use narrows_base::units::Bytes;
use narrows_model::ceiling::medium::is_virtual;
use narrows_model::path::{DeviceHop, HopSpec, Path};

/// What a drive may be written in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Life {
    /// In all.
    pub rated: Bytes,
    /// The class of which that is usual, where the maker's figure for the model is not known.
    pub class: Option<&'static str>,
}

impl Life {
    /// That of the drive of a path that may be written least; `None` where no drive is seen, or only virtual ones.
    pub fn of_path(path: &Path) -> Option<Self> {
        let by_usb = path.hops.iter().any(|hop| matches!(hop.spec, HopSpec::Usb(_)));
        let by_sas = path.hops.iter().any(|hop| matches!(hop.spec, HopSpec::Sas(_)));
        let drives = path.hops.iter().filter_map(|hop| match &hop.spec {
            HopSpec::Device(drive) => Some(drive),
            _ => None,
        });
        drives.filter_map(|drive| Self::of_drive(drive, by_usb, by_sas)).min_by_key(|life| life.rated)
    }

    fn of_drive(drive: &DeviceHop, by_usb: bool, by_sas: bool) -> Option<Self> {
        if is_virtual(drive) || drive.synthetic.is_some() {
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

    fn life(drive: &DeviceHop, by_usb: bool) -> Option<(u64, Option<&'static str>)> {
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
        assert_eq!(life(&drive("nvme0n1", "Samsung SSD 970 EVO Plus 1TB", 1000), false), Some((600, None)));
    }

    #[test]
    fn a_model_without_a_published_figure_has_that_of_its_class_and_an_unknown_one_the_least_of_its_kind() {
        let of = |block, model| life(&drive(block, model, 1000), false);
        assert_eq!(of("nvme0n1", "Samsung SSD 960 EVO 1TB"), Some((600, Some("consumer-tlc"))));
        assert_eq!(of("nvme0n1", "No Such Drive"), Some((200, Some("consumer-qlc"))));
        assert_eq!(of("sda", "No Such Drive"), Some((360, Some("sata-qlc"))));
        assert_eq!(of("mmcblk0", "SD64G"), Some((100, Some("flash-card"))));
        assert_eq!(life(&drive("sda", "Cruzer", 1000), true), Some((100, Some("flash-card"))));
        let disk = DeviceHop { is_hard_disk: true, ..drive("sda", "No Such Disk", 1000) };
        assert_eq!(life(&disk, false), Some((45, Some("hdd"))));
    }

    #[test]
    fn nothing_is_known_of_what_is_no_drive() {
        assert_eq!(life(&drive("nvme0n1", "QEMU NVMe Ctrl", 1000), false), None);
        let virtio = DeviceHop { synthetic: Some("virtio".to_owned()), ..drive("vda", "", 1000) };
        assert_eq!(life(&virtio, false), None);
        let unsized_drive = DeviceHop { size: Fact::known(Bytes::new(0), "size"), ..drive("sda", "x", 1) };
        assert_eq!(life(&unsized_drive, false), None);
    }
}
