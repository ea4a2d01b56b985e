//! Block devices: what they are made of, what carries them, and how their queue is set.
//!
//! Sources: `/sys/class/block/*` (kernel `Documentation/ABI/stable/sysfs-block`), and for each kind of device what the
//! module of its name says.

mod ata;
mod bcache;
pub mod device_path;
pub mod dm;
pub mod dm_table;
pub mod md;
pub mod nvme;
mod queue;
mod remote;
mod sas;
mod transport;
mod usb;

use std::collections::BTreeMap;

pub use ata::Sata;
pub use bcache::Bcache;
pub use dm::{DmDevice, dm_targets};
pub use dm_table::{CryptTable, DmKind, DmTarget, parse_table};
pub use md::MdArray;
pub use nvme::NvmeFabric;
pub use queue::Queue;
pub use remote::Remote;
pub use sas::{Sas, makes_volumes};
pub use transport::Transport;
pub use usb::Usb;

use crate::root::Root;
use device_path::{DevicePath, is_numbered};
use narrows_base::fact::Fact;
use narrows_base::units::{Bytes, Sectors512};

/// One block device, whole, partition or stacked.
#[derive(Debug, Clone, Default)]
pub struct BlockDevice {
    /// The kernel's name: `nvme0n1`, `sda1`, `md127`, `dm-3`.
    pub name: String,
    /// Major and minor number, `…/dev`.
    pub number: Fact<(u32, u32)>,
    /// Its size, `…/size` (512-byte sectors).
    pub size: Fact<Bytes>,
    /// The whole disk of a partition; `None` for everything else.
    pub partition_of: Option<String>,
    /// Where a partition starts on its disk, `…/start`.
    pub start: Fact<Bytes>,
    /// The devices it is built on, `…/slaves`, in order.
    pub slaves: Vec<String>,
    /// The devices built on it, `…/holders`, in order.
    pub holders: Vec<String>,
    /// What it is.
    pub kind: BlockKind,
    /// What carries its data; [`Transport::None`] for a stacked device.
    pub transport: Transport,
    /// The model, `…/device/model`.
    pub model: Fact<String>,
    /// The serial number, `…/device/serial`. Never shown in anything made to be shared.
    pub serial: Fact<String>,
    /// The firmware revision, `…/device/firmware_rev` or `…/device/rev`.
    pub firmware: Fact<String>,
    /// `…/ro`.
    pub read_only: bool,
    /// `…/removable`.
    pub removable: bool,
    /// How its request queue is set. A partition has that of its disk.
    pub queue: Queue,
}

/// What a block device is.
#[derive(Debug, Clone, Default)]
pub enum BlockKind {
    /// A device with a transport of its own.
    #[default]
    Disk,
    /// A part of a disk.
    Partition,
    /// A Linux software RAID array.
    Md(Box<MdArray>),
    /// A device-mapper target.
    Dm(DmDevice),
    /// A bcache device over a backing device and, perhaps, a cache.
    Bcache(Bcache),
    /// A file shown as a device.
    Loop(LoopDevice),
    /// Compressed memory.
    Zram,
    /// Memory (`brd`).
    RamDisk,
    /// The kernel's null device: it completes requests without moving data.
    NullBlk,
    /// NVMe namespace multipath head, whose paths are hidden devices.
    NvmeMultipath(Vec<String>),
}

/// A loop device.
#[derive(Debug, Clone, Default)]
pub struct LoopDevice {
    /// The file, `…/loop/backing_file`.
    pub file: Fact<String>,
    /// Whether it is read with O_DIRECT, `…/loop/dio`.
    pub direct: Fact<bool>,
}

/// Reads every block device and partition.
pub fn read(root: &Root) -> BTreeMap<String, BlockDevice> {
    let names = root.list("/sys/class/block");
    let mut devices: BTreeMap<String, BlockDevice> =
        names.iter().map(|name| (name.clone(), read_device(root, name, &names))).collect();
    let partitions: Vec<(String, BlockDevice)> = devices
        .values()
        .filter_map(|partition| {
            Some((partition.name.clone(), devices.get(partition.partition_of.as_ref()?)?))
        })
        .map(|(name, disk)| (name, disk.clone()))
        .collect();
    for (name, disk) in partitions {
        if let Some(partition) = devices.get_mut(&name) {
            inherit(partition, disk);
        }
    }
    devices
}

/// A partition is carried as its disk is, through the same queue.
pub fn inherit(partition: &mut BlockDevice, disk: BlockDevice) {
    partition.transport = disk.transport;
    partition.model = disk.model;
    partition.serial = disk.serial;
    partition.firmware = disk.firmware;
    partition.removable = disk.removable;
    partition.queue = disk.queue;
}

fn read_device(root: &Root, name: &str, names: &[String]) -> BlockDevice {
    let block = format!("/sys/class/block/{name}");
    let real = root.resolve(&block).get().unwrap_or_default();
    let path = DevicePath::new(&real);
    let sectors =
        |file: &str| root.number(&format!("{block}/{file}")).map(|n| Bytes::from_sectors(Sectors512::new(n)));
    let flag = |file: &str| root.parse(&format!("{block}/{file}"), parse_flag).get().unwrap_or_default();
    let mut device = BlockDevice {
        name: name.to_owned(),
        number: root.parse(&format!("{block}/dev"), dm_table::parse_number_pair),
        size: sectors("size"),
        read_only: flag("ro"),
        holders: root.list(&format!("{block}/holders")),
        ..BlockDevice::default()
    };
    if root.exists(&format!("{block}/partition")) {
        device.kind = BlockKind::Partition;
        device.partition_of = path.parent_name().map(str::to_owned);
        device.start = sectors("start");
        return device;
    }
    device.slaves = root.list(&format!("{block}/slaves"));
    device.removable = flag("removable");
    device.kind = kind(root, &device, path, names);
    if is_unused(&device) {
        return device;
    }
    device.transport = transport::read(root, path);
    device.queue = queue::read(root, &block);
    identify(root, &block, &mut device);
    device
}

/// A loop, zram or RAM device that nobody has set up: there may be hundreds.
fn is_unused(device: &BlockDevice) -> bool {
    matches!(device.kind, BlockKind::Loop(_) | BlockKind::Zram | BlockKind::RamDisk)
        && device.size.value() == Some(&Bytes::new(0))
}

fn kind(root: &Root, device: &BlockDevice, path: DevicePath<'_>, names: &[String]) -> BlockKind {
    let name = device.name.as_str();
    let block = format!("/sys/class/block/{name}");
    if name.starts_with("md") && root.exists(&format!("{block}/md")) {
        return BlockKind::Md(Box::new(md::read(root, &block)));
    }
    if root.exists(&format!("{block}/dm")) {
        return BlockKind::Dm(dm::read(root, &block, device.number.get()));
    }
    if path.contains("/nvme-subsystem/") {
        return BlockKind::NvmeMultipath(nvme::paths_of(name, names.iter().map(String::as_str)));
    }
    // The backing device has a directory `bcache` too; only the cached device is named for it.
    if is_numbered(name, "bcache") && root.exists(&format!("{block}/bcache")) {
        return BlockKind::Bcache(bcache::read(root, &block));
    }
    match name {
        _ if is_numbered(name, "loop") => BlockKind::Loop(LoopDevice {
            file: root.text(&format!("{block}/loop/backing_file")),
            direct: root.parse(&format!("{block}/loop/dio"), parse_flag),
        }),
        _ if is_numbered(name, "zram") => BlockKind::Zram,
        _ if is_numbered(name, "ram") => BlockKind::RamDisk,
        _ if name.starts_with("nullb") => BlockKind::NullBlk,
        _ => BlockKind::Disk,
    }
}

/// Model, serial number and firmware, from wherever the device's driver puts them.
fn identify(root: &Root, block: &str, device: &mut BlockDevice) {
    if matches!(device.transport, Transport::None) && !matches!(device.kind, BlockKind::NvmeMultipath(_)) {
        return;
    }
    let first = |files: &[&str]| {
        let mut facts = files.iter().map(|file| root.text(&format!("{block}/{file}")));
        let known = facts.find(|fact| fact.value().is_some_and(|text| !text.is_empty()));
        known.unwrap_or_else(|| Fact::absent(format!("{block}/{}", files.first().unwrap_or(&""))))
    };
    device.model = first(&["device/model", "device/name"]);
    device.serial = first(&["device/serial", "serial"]);
    device.firmware = first(&["device/firmware_rev", "device/rev", "device/fwrev"]);
    if matches!(device.transport, Transport::Sata(_)) {
        let whole = whole_ata_model(root, block);
        if whole.value().is_some() {
            device.model = whole;
        }
    }
}

/// The model from ATA identification. It is a probe because the page holds the serial number too, and a file that is
/// read is recorded whole.
fn whole_ata_model(root: &Root, block: &str) -> Fact<String> {
    let disk = block.rsplit('/').next().unwrap_or_default();
    root.probe(&format!("ata-model/{disk}"), || {
        ata::model_of_vpd(Root::live().bytes(&format!("{block}/device/vpd_pg89")).value()?)
    })
}

/// The bracketed choice of `mq-deadline kyber [bfq] none`; the whole text when nothing is bracketed.
fn bracketed(text: &str) -> &str {
    text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or(text, |(choice, _)| choice)
}

/// Reads `0` or `1`.
fn parse_flag(text: &str) -> Option<bool> {
    match text {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
