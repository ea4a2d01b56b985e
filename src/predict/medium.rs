//! What a drive needs for one I/O, and how many it completes: as given, by its model's class, or by the class of its kind.
//!
//! The figures of classes are in `data/media-classes.toml`, each with its source; a drive whose figures are those of its
//! class is off by up to a third in latency and by half in IOPS. A prediction that rests on one is a guess and says so.

use crate::catalog::{MediumClass, catalog};
use crate::ceiling::{Basis, access as law, io_cost};
use crate::path::file::{Device, DeviceKind, Pattern};
use crate::units::{Bytes, Iops, Nanos};

/// What a drive needs for one I/O.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Access {
    /// From a read to its answer, without the transfer.
    pub read_time: Nanos,
    /// The same of a write.
    pub write_time: Nanos,
    /// Reads in a second with all queues full; `None` when bytes alone limit.
    pub read_iops: Option<Iops>,
    /// Writes in a second.
    pub write_iops: Option<Iops>,
    /// Whether it is memory: then the time is that of the processor, copy included.
    pub is_memory: bool,
    /// What the IOPS rest on.
    pub basis: Basis,
}

/// The time that a hard disk needs before the next of consecutive blocks: none to speak of, the head is there.
const IN_ROW: Nanos = Nanos::new(100_000);

/// The names of the classes.
pub fn classes() -> impl Iterator<Item = &'static str> {
    catalog().classes.iter().map(|class| class.name.as_str())
}

/// The class of a drive.
fn class_of(device: &Device) -> Option<&'static MediumClass> {
    let model = device.model.as_deref().and_then(|model| catalog().medium_by_words(model));
    let usual = match (device.kind, device.link.generation) {
        (DeviceKind::Nvme, Some(4)) => "consumer-tlc-gen4",
        (DeviceKind::Nvme, Some(5..)) => "consumer-tlc-gen5",
        (DeviceKind::Nvme, _) => "consumer-tlc",
        (DeviceKind::Sata | DeviceKind::Usb, _) => "sata-ssd",
        (DeviceKind::Sas, _) => "sas-ssd",
        (DeviceKind::Hdd, _) => "hdd",
        (DeviceKind::Ramdisk, _) => "ramdisk",
    };
    let wanted = device.class.as_deref().or_else(|| model?.class.as_deref());
    wanted.and_then(|name| catalog().medium_class(name)).or_else(|| catalog().medium_class(usual))
}

/// What a drive needs for I/Os of `block` in this order.
pub(super) fn access(device: &Device, pattern: Pattern, block: Bytes) -> Access {
    let class = class_of(device);
    let in_row = pattern == Pattern::Sequential;
    let read_time = device.read_latency.or_else(|| Some(class?.read_latency())).unwrap_or_default();
    let write_time = device.write_latency.or_else(|| Some(class?.write_latency())).unwrap_or_default();
    let (read_time, write_time) = match device.kind {
        DeviceKind::Ramdisk => (io_cost::memory_io(block), io_cost::memory_io(block)),
        DeviceKind::Hdd if in_row => (IN_ROW, IN_ROW),
        _ if in_row => (law::sequential_wait(read_time), write_time),
        _ => (read_time, write_time),
    };
    let is_memory = device.kind == DeviceKind::Ramdisk;
    let iops = |given: Option<Iops>, usual: Option<f64>| {
        given.or_else(|| usual.map(Iops::new)).filter(|_| !in_row && !is_memory)
    };
    Access {
        read_time,
        write_time,
        read_iops: iops(device.read_iops, class.map(|class| class.read_iops)),
        write_iops: iops(device.write_iops, class.map(|class| class.write_iops)),
        is_memory,
        basis: if device.read_iops.is_some() && device.write_iops.is_some() {
            Basis::Spec
        } else {
            Basis::Guess
        },
    }
}
