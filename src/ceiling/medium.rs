//! What a storage medium delivers: what its vendor or a tester published for the model.
//!
//! Valid for sequential access with large blocks on a healthy, cool drive, writes within its cache, and for the outer
//! tracks of a disk. Expected error −3 % to +15 %: the figures are the best of a model family. A model that the
//! catalogue does not know has no ceiling; a guess would only mislead.

use super::{Ceilings, FactRef, Limit, published};
use crate::catalog::{Medium, catalog};
use crate::machine::fact::Source;
use crate::path::DeviceHop;
use crate::units::BytesPerSec;

/// The ceilings of a medium.
pub fn of_device(device: &DeviceHop) -> Ceilings {
    if let Some(synthetic) = &device.synthetic {
        return of_synthetic(synthetic);
    }
    let Some(model) = device.model.value() else {
        let why = device.model.missing().unwrap_or_default();
        return Ceilings::unknown(format!("its model is not known: {why}"));
    };
    if model.starts_with("QEMU") || model.starts_with("VBOX") || model.starts_with("VMware") {
        return Ceilings::unknown(format!("`{model}` is emulated: the host decides"));
    }
    let Some(medium) = catalog().medium(model) else {
        return Ceilings::unknown(format!("the catalogue has no figures for `{model}`"));
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

fn of_synthetic(kind: &str) -> Ceilings {
    match kind {
        "virtio" | "virtio-blk" | "virtio-scsi" => Ceilings::unknown("virtio: the host decides"),
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
    use crate::ceiling::{Basis, Ceiling};
    use crate::machine::fact::Fact;
    use crate::units::human;

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
    fn what_is_not_published_or_not_physical_is_unknown_with_its_reason() {
        for (device, want) in [
            (device("NoName 256"), "the catalogue has no figures for `NoName 256`"),
            (device("QEMU NVMe Ctrl"), "`QEMU NVMe Ctrl` is emulated: the host decides"),
            (
                DeviceHop { synthetic: Some("virtio".into()), ..DeviceHop::default() },
                "virtio: the host decides",
            ),
        ] {
            assert_eq!(of_device(&device), Ceilings::unknown(want));
        }
        let looped = DeviceHop { synthetic: Some("loop".into()), ..DeviceHop::default() };
        assert!(matches!(of_device(&looped).read, Ceiling::Transparent(_)));
        assert!(matches!(of_device(&DeviceHop::default()).read, Ceiling::Unknown(_)));
    }
}
