//! Drives with their interfaces, and the adapters that they hang on.

use super::entries::contains;
use super::{BuildError, Place, Walk, fact, given};
use crate::path::file::{Adapter, Device, DeviceKind, LinkGiven, Part};
use crate::path::graph::Node;
use crate::path::{ControllerHop, DeviceHop, HopKind, HopSpec, Traffic};
use narrows_base::catalog::catalog;
use narrows_base::fact::Fact;
use narrows_base::units::{BitsPerSec, BytesPerSec, Lanes};
use narrows_machine::block::{Sas, Sata, Usb};

impl<'s> Walk<'s> {
    pub(super) fn device(
        &mut self,
        above: Node,
        part: &'s Part,
        device: &'s Device,
        fraction: Traffic,
        reader: Option<&Place>,
    ) -> Result<(), BuildError> {
        let title = match &device.model {
            Some(model) => format!("{} {model}", part.name),
            None => format!("{} ({})", part.name, kind_name(device.kind)),
        };
        let spec = medium(part, device);
        let Some(node) = self.add(above, (HopKind::Device, &part.name), title, spec, fraction)? else {
            return Ok(());
        };
        let Some((kind, name, spec)) = interface(part, device) else {
            return self.upstream(node, part, &device.upstream, device_end(device), reader);
        };
        match self.add(node, (kind, &part.name), name, spec, Traffic::ONE)? {
            Some(node) => self.upstream(node, part, &device.upstream, device.link, reader),
            None => Ok(()),
        }
    }
}

fn kind_name(kind: DeviceKind) -> &'static str {
    match kind {
        DeviceKind::Nvme => "NVMe drive",
        DeviceKind::Sata => "SATA drive",
        DeviceKind::Sas => "SAS drive",
        DeviceKind::Hdd => "hard disk",
        DeviceKind::Usb => "USB drive",
        DeviceKind::Ramdisk => "RAM disk",
    }
}

fn medium(part: &Part, device: &Device) -> HopSpec {
    let synthetic = (device.kind == DeviceKind::Ramdisk).then(|| "brd".to_owned());
    if device.read.is_some() || device.write.is_some() {
        let rates = (fact(device.read, &part.given), fact(device.write, &part.given));
        return given(HopKind::Device, rates, "nobody said what it carries in this direction");
    }
    let class = device.class.as_deref().and_then(|class| catalog().medium_class(class));
    if let (None, Some(class)) = (&device.model, class) {
        let rate = |megabytes| {
            Fact::known(BytesPerSec::from_mb(megabytes), format!("{} (class {})", part.given, class.name))
        };
        let rates = (rate(class.read_megabytes_per_second), rate(class.write_megabytes_per_second));
        return given(HopKind::Device, rates, class.name.as_str());
    }
    HopSpec::Device(DeviceHop {
        block: part.name.to_string(),
        model: fact(device.model.clone(), &part.given),
        size: fact(device.size, &part.given),
        rotational: fact(Some(device.kind == DeviceKind::Hdd), &part.given),
        is_hard_disk: device.kind == DeviceKind::Hdd,
        flash: None,
        synthetic,
    })
}

/// A drive's own end of its link: as given, or as the catalogue says of its model.
pub(in crate::path::file) fn device_end(device: &Device) -> LinkGiven {
    let known = device.model.as_deref().and_then(|model| catalog().medium(model));
    let generation = known.map(|medium| medium.generation).filter(|generation| *generation > 0);
    let lanes = known.map(|medium| medium.lanes).filter(|lanes| *lanes > 0).map(Lanes::new);
    LinkGiven {
        generation: device.link.generation.or(generation),
        width: device.link.width.or(lanes),
        ..device.link
    }
}

/// The interface of a drive that is not on PCIe itself.
pub(super) fn interface(part: &Part, device: &Device) -> Option<(HopKind, String, HopSpec)> {
    let rate = |usual: f64| device.line_rate.unwrap_or_else(|| BitsPerSec::new(usual));
    match device.kind {
        DeviceKind::Nvme | DeviceKind::Ramdisk => None,
        DeviceKind::Sata | DeviceKind::Hdd => {
            let speed = rate(6e9);
            let sata = Sata {
                port: part.name.to_string(),
                speed: fact(Some(speed), &part.given),
                ..Sata::default()
            };
            Some((HopKind::Sata, format!("SATA {speed} of {}", part.name), HopSpec::Sata(sata)))
        }
        DeviceKind::Sas => {
            let speed = rate(12e9);
            let sas = Sas { phy_speeds: vec![speed], ..Sas::default() };
            Some((HopKind::Sas, format!("SAS {speed} of {}", part.name), HopSpec::Sas(sas)))
        }
        DeviceKind::Usb => {
            let speed = rate(10e9);
            let usb = Usb {
                device: part.name.to_string(),
                speed: fact(Some(speed), &part.given),
                driver: Fact::known("uas".to_owned(), part.given.as_str()),
                ..Usb::default()
            };
            Some((HopKind::Usb, format!("USB {speed} of {}", part.name), HopSpec::Usb(usb)))
        }
    }
}

pub(super) fn adapter_spec(part: &Part, adapter: &Adapter) -> Result<HopSpec, BuildError> {
    if adapter.rate.is_some() {
        let rate = fact(adapter.rate, &part.given);
        return Ok(given(
            HopKind::Hba,
            (rate.clone(), rate),
            "its link and its drives are hops of their own",
        ));
    }
    let Some(model) = &adapter.model else {
        return Ok(HopSpec::Hba(ControllerHop { name: part.name.to_string(), ..ControllerHop::default() }));
    };
    // Only adapters that carry less than their link are in the catalogue; all others are as good as it.
    let known = catalog().adapters.iter().find(|entry| contains(&entry.name, model));
    let rate = known.map(|entry| BytesPerSec::from_mb(entry.megabytes_per_second));
    let source = known.map_or(&part.given, |_| &part.given);
    let rate = fact(rate, source);
    Ok(given(HopKind::Hba, (rate.clone(), rate), "its link and its drives are hops of their own"))
}
