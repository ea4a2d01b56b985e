//! What a drive needs for one I/O, and how many it completes: as given, or by class.
//!
//! The figures of classes are those of one typical drive and good for a factor of 1.5 in latency and 2 in IOPS; each is
//! cited. A prediction that rests on one is a guess and says so.

use crate::ceiling::Basis;
use crate::path::file::{Device, DeviceKind, Pattern};
use crate::units::{Iops, Nanos};

/// What a drive needs for one I/O.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Access {
    /// From a read to its answer, without the transfer.
    pub read_time: Nanos,
    /// The same of a write.
    pub write_time: Nanos,
    /// Reads in a second with all queues full.
    pub read_iops: Iops,
    /// Writes in a second.
    pub write_iops: Iops,
    /// Whether each I/O has to move something before its data moves, so that both times add up (hard disks).
    pub moves: bool,
    /// What the IOPS rest on.
    pub basis: Basis,
}

/// A class of drives: name, read and write in microseconds, read and write IOPS, source.
struct Class {
    name: &'static str,
    read: f64,
    write: f64,
    read_iops: f64,
    write_iops: f64,
}

const fn class(name: &'static str, read: f64, write: f64, read_iops: f64, write_iops: f64) -> Class {
    Class { name, read, write, read_iops, write_iops }
}

/// Classes and their figures.
///
/// Latencies of one read or write of 4 KiB at depth 1: consumer TLC 80.9 µs (970 EVO Plus,
/// github.com/veracrypt/VeraCrypt/issues/136); enterprise TLC 66 to 68 µs and 15 to 17 µs written, with power-loss
/// protection (github.com/vitalif/vitastor, docs/performance); SATA TLC 101 µs and 37 µs (the same); Optane 10 µs (data
/// sheet, Intel P4800X); hard disk 8.2 ms seek + 4.17 ms half a turn (Hitachi 7K, OEM specification), 170 I/Os with a full
/// queue. IOPS: data sheets of one drive of each class (Samsung 970 EVO Plus 1 TB; Intel P4610 1.6 TB; P5800X; Samsung 860
/// EVO; SAS: HGST SS200).
const CLASSES: &[Class] = &[
    class("consumer-tlc", 81.0, 20.0, 600_000.0, 550_000.0),
    class("consumer-qlc", 100.0, 20.0, 300_000.0, 250_000.0),
    class("enterprise-tlc", 67.0, 16.0, 640_000.0, 200_000.0),
    class("optane", 10.0, 10.0, 1_500_000.0, 1_500_000.0),
    class("sata-ssd", 101.0, 37.0, 98_000.0, 90_000.0),
    class("sas-ssd", 95.0, 35.0, 250_000.0, 85_000.0),
    class("hdd", 12_400.0, 12_400.0, 170.0, 170.0),
    class("ramdisk", 1.0, 1.0, 10_000_000.0, 10_000_000.0),
];

/// The names of the classes.
pub fn classes() -> impl Iterator<Item = &'static str> {
    CLASSES.iter().map(|class| class.name)
}

/// The time that a hard disk needs before the next of consecutive blocks: none to speak of, the head is there.
const IN_ROW: f64 = 100.0;

fn class_of(device: &Device) -> &'static Class {
    let usual = match device.kind {
        DeviceKind::Nvme => "consumer-tlc",
        DeviceKind::Sata | DeviceKind::Usb => "sata-ssd",
        DeviceKind::Sas => "sas-ssd",
        DeviceKind::Hdd => "hdd",
        DeviceKind::Ramdisk => "ramdisk",
    };
    let wanted = device.class.as_deref().unwrap_or(usual);
    CLASSES.iter().find(|class| class.name == wanted).unwrap_or(&CLASSES[0])
}

/// What a drive needs for I/Os in this order.
pub(super) fn access(device: &Device, pattern: Pattern) -> Access {
    let class = class_of(device);
    let turns = device.kind == DeviceKind::Hdd;
    let in_row = turns && pattern == Pattern::Sequential;
    let micros = |usual: f64| Nanos::new(((if in_row { IN_ROW } else { usual }) * 1e3) as u64);
    let iops = |usual: f64| if in_row { Iops::new(1e6) } else { Iops::new(usual) };
    Access {
        read_time: device.read_latency.unwrap_or_else(|| micros(class.read)),
        write_time: device.write_latency.unwrap_or_else(|| micros(class.write)),
        read_iops: device.read_iops.unwrap_or_else(|| iops(class.read_iops)),
        write_iops: device.write_iops.unwrap_or_else(|| iops(class.write_iops)),
        moves: turns,
        basis: if device.read_iops.is_some() && device.write_iops.is_some() {
            Basis::Spec
        } else {
            Basis::Guess
        },
    }
}
