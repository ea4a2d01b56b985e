//! What a drive needs for one I/O, and how many it completes: as given, or by the class of its model.

use crate::ceiling::{Basis, access, io_cost, queueing};
use crate::path::file::{Device, DeviceKind, Pattern};
use narrows_base::catalog::{self, MediumClass, catalog};
use narrows_base::units::{Bytes, Iops, Nanos};

/// What a drive needs for I/Os of one kind.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Access {
    /// From a read to its answer, without the transfer.
    pub(super) read_time: Nanos,
    /// The same of a write.
    pub(super) write_time: Nanos,
    /// Reads in a second with all queues full; `None` where bytes alone limit.
    pub(super) read_iops: Option<Iops>,
    /// Writes in a second.
    pub(super) write_iops: Option<Iops>,
    /// What the IOPS rest on.
    pub(super) basis: Basis,
    /// Where they are from.
    pub(super) source: String,
}

/// The class of a drive: as given, that of its model, or the usual one of its kind.
fn class_of(device: &Device) -> Option<&'static MediumClass> {
    let by_model = || {
        let medium = catalog::medium(device.model.as_deref()?)?;
        medium.class.as_deref()
    };
    let usual = match device.kind {
        DeviceKind::Nvme => "consumer-tlc",
        DeviceKind::Sata | DeviceKind::Usb => "sata-ssd",
        DeviceKind::Sas => "sas-ssd",
        DeviceKind::Hdd => "hdd",
        DeviceKind::Ramdisk => "ramdisk",
    };
    let wanted = device.class.as_deref().or_else(by_model).unwrap_or(usual);
    catalog().medium_class(wanted).or_else(|| catalog().medium_class("consumer-tlc"))
}

/// How sharp the knee of a solid-state drive is, by its class.
pub(super) fn sharpness(device: &Device) -> f64 {
    let is_of_servers = class_of(device).is_some_and(|class| class.name.starts_with("enterprise"));
    if is_of_servers { queueing::SERVER_KNEE } else { queueing::FLASH_KNEE }
}

/// Whether what is written to a drive is safe when it answers, by its class.
pub(super) fn keeps_writes(device: &Device) -> bool {
    !matches!(device.kind, DeviceKind::Hdd | DeviceKind::Ramdisk)
        && class_of(device).is_some_and(|class| class.power_loss_protection)
}

/// The time that the head of a disk needs between consecutive blocks.
const NEXT_BLOCK: Nanos = Nanos::new(100_000);

/// What a drive needs for I/Os of `size` in this order, `depth` of them under way.
pub(super) fn access(device: &Device, pattern: Pattern, size: Bytes, depth: u32) -> Access {
    match device.kind {
        DeviceKind::Hdd => disk(device, pattern, depth),
        DeviceKind::Ramdisk => Access {
            read_time: io_cost::memory_io(size),
            write_time: io_cost::memory_io(size),
            read_iops: device.read_iops,
            write_iops: device.write_iops,
            basis: Basis::Formula,
            source: "a call and a copy".to_owned(),
        },
        _ => flash(device, pattern),
    }
}

fn disk(device: &Device, pattern: Pattern, depth: u32) -> Access {
    let random = access::disk_access(access::SEEK, 7200);
    let (time, iops) = match pattern {
        Pattern::Sequential => (NEXT_BLOCK, None),
        Pattern::Random => (random, Some(access::disk_iops(random, depth))),
    };
    let given = |given: Option<Iops>| given.filter(|_| pattern == Pattern::Random).or(iops);
    Access {
        read_time: device.read_latency.unwrap_or(time),
        write_time: device.write_latency.unwrap_or(time),
        read_iops: given(device.read_iops),
        write_iops: given(device.write_iops),
        basis: Basis::Formula,
        source: "8.2 ms seek and half a turn at 7200 a minute".to_owned(),
    }
}

fn flash(device: &Device, pattern: Pattern) -> Access {
    let class = class_of(device);
    let read = device.read_latency.or_else(|| class.map(MediumClass::read_latency)).unwrap_or_default();
    let write = device.write_latency.or_else(|| class.map(MediumClass::write_latency)).unwrap_or_default();
    let of_class = |pick: fn(&MediumClass) -> f64| class.map(|class| Iops::new(pick(class)));
    let both_given = device.read_iops.is_some() && device.write_iops.is_some();
    Access {
        read_time: if pattern == Pattern::Sequential { access::sequential_wait(read) } else { read },
        write_time: write,
        read_iops: device.read_iops.or_else(|| of_class(|class| class.read_iops)),
        write_iops: device.write_iops.or_else(|| of_class(|class| class.write_iops)),
        basis: if both_given { Basis::Spec } else { Basis::Guess },
        source: match (both_given, class) {
            (false, Some(class)) => format!("class {}: {}", class.name, class.source),
            _ => "as given".to_owned(),
        },
    }
}

/// The least time of an access that counts, so that depth is finite.
pub(super) const LEAST: f64 = 1e-9;
