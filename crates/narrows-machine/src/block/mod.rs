//! Block devices: what they are made of, what carries them, and how their queue is set.
//!
//! Sources: `/sys/class/block/*` (kernel `Documentation/ABI/stable/sysfs-block`), and for each kind of device what the
//! module of its name says.

pub mod dm;
pub mod dm_table;
pub mod md;
#[cfg(test)]
mod tests;
pub mod transport;

pub use dm::{DmDevice, dm_targets};
pub use dm_table::{CryptTable, DmKind, DmTarget, parse_table};
pub use md::{Bcache, MdArray};
pub use transport::{NvmeFabric, Remote, Sas, Sata, Transport, Usb, makes_volumes};

use std::collections::BTreeMap;

use crate::pci::PciAddress;
use crate::root::Root;
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
            Some((partition.name.clone(), devices.get(partition.partition_of.as_ref()?)?.clone()))
        })
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
    device.transport = transport::read_transport(root, path);
    device.queue = read_queue(root, &block);
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
        return BlockKind::NvmeMultipath(transport::paths_of(name, names.iter().map(String::as_str)));
    }
    // The backing device has a directory `bcache` too; only the cached device is named for it.
    if is_numbered(name, "bcache") && root.exists(&format!("{block}/bcache")) {
        return BlockKind::Bcache(md::read_bcache(root, &block));
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
        transport::model_of_vpd(Root::live().bytes(&format!("{block}/device/vpd_pg89")).value()?)
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

/// How a request queue is set, `/sys/block/*/queue`.
#[derive(Debug, Clone, Default)]
pub struct Queue {
    /// The scheduler in force, the bracketed one of `…/scheduler`.
    pub scheduler: Fact<String>,
    /// `…/nr_requests`.
    pub requests: Fact<u32>,
    /// The number of hardware queues, entries of `../mq`.
    pub hardware_queues: Fact<u32>,
    /// The longest request, `…/max_sectors_kb`.
    pub max_request: Fact<Bytes>,
    /// `…/logical_block_size`.
    pub logical_block: Fact<Bytes>,
    /// `…/physical_block_size`.
    pub physical_block: Fact<Bytes>,
    /// `…/read_ahead_kb`.
    pub read_ahead: Fact<Bytes>,
    pub rotational: Fact<bool>,
    /// `write back` or `write through`, `…/write_cache`.
    pub write_cache: Fact<String>,
}

/// Reads the queue of a whole device, `block` being its directory.
fn read_queue(root: &Root, block: &str) -> Queue {
    let at = |file: &str| format!("{block}/queue/{file}");
    let count = |file: &str| root.parse(&at(file), |text| text.parse::<u32>().ok());
    let bytes = |file: &str| root.number(&at(file)).map(Bytes::new);
    let kib = |file: &str| root.number(&at(file)).map(Bytes::from_kib);
    Queue {
        scheduler: root.parse(&at("scheduler"), |text| Some(bracketed(text).to_owned())),
        requests: count("nr_requests"),
        hardware_queues: hardware_queues(root, block),
        max_request: kib("max_sectors_kb"),
        logical_block: bytes("logical_block_size"),
        physical_block: bytes("physical_block_size"),
        read_ahead: kib("read_ahead_kb"),
        rotational: root.parse(&at("rotational"), parse_flag),
        write_cache: root.text(&at("write_cache")),
    }
}

/// A device that takes bios directly (md, dm, bcache) has no hardware queues.
fn hardware_queues(root: &Root, block: &str) -> Fact<u32> {
    let queues = root.try_list(&format!("{block}/mq"));
    queues.absent_when(Vec::is_empty).map(|names| u32::try_from(names.len()).unwrap_or(u32::MAX))
}

/// A resolved sysfs path, such as
/// `/sys/devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DevicePath<'a>(&'a str);

impl<'a> DevicePath<'a> {
    /// Wraps a path that [`crate::root::Root::resolve`] returned.
    pub(crate) const fn new(path: &'a str) -> Self {
        Self(path)
    }

    /// The components, from the root on.
    pub(crate) fn components(self) -> impl DoubleEndedIterator<Item = &'a str> {
        self.0.split('/').filter(|component| !component.is_empty())
    }

    /// The innermost PCI function on the path: the one that moves the device's data.
    pub(crate) fn pci(self) -> Option<PciAddress> {
        self.components().rev().find_map(pci_address)
    }

    /// The innermost component that is `prefix` and a number, such as `ata3`.
    pub(crate) fn numbered(self, prefix: &str) -> Option<&'a str> {
        self.components().rev().find(|component| is_numbered(component, prefix))
    }

    /// The innermost component that starts with `prefix`.
    fn starting(self, prefix: &str) -> Option<&'a str> {
        self.components().rev().find(|component| component.starts_with(prefix))
    }

    /// Whether the text stands in the path.
    pub(crate) fn contains(self, text: &str) -> bool {
        self.0.contains(text)
    }

    /// The path up to and with the innermost occurrence of `component`.
    fn up_to(self, component: &str) -> Option<&'a str> {
        let at = self.0.rmatch_indices(component).map(|(at, _)| at).find(|at| {
            let before = at.checked_sub(1).and_then(|before| self.0.as_bytes().get(before));
            let after = self.0.as_bytes().get(at + component.len());
            before == Some(&b'/') && matches!(after, None | Some(b'/'))
        })?;
        self.0.get(..at + component.len())
    }

    /// The component above the last one.
    pub(crate) fn parent_name(self) -> Option<&'a str> {
        self.components().rev().nth(1)
    }

    /// The last component.
    pub(crate) fn name(self) -> Option<&'a str> {
        self.components().next_back()
    }
}

/// Reads a component as a PCI address; sysfs always writes the domain, and with four digits or more.
fn pci_address(component: &str) -> Option<PciAddress> {
    let (domain, _) = component.split_once(':')?;
    (domain.len() >= 4).then(|| component.parse().ok()).flatten()
}

/// The disk of a name that FreeBSD gives, which counts disks and lets a partition follow: `ada0` of `ada0` and `ada0p2`, `da12`
/// of `da12s1a` (FreeBSD da(4), ada(4), nda(4), nvd(4), gpart(8)).
pub fn freebsd_disk(name: &str) -> Option<&str> {
    let behind = ["ada", "da", "nda", "nvd"].iter().find_map(|driver| name.strip_prefix(driver))?;
    let part = behind.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_part = match part.strip_prefix(['p', 's']) {
        Some(number) => is_numbered(number.trim_end_matches(|c: char| c.is_ascii_lowercase()), ""),
        None => part.is_empty(),
    };
    let digits = behind.len() - part.len();
    (is_part && part.len() <= 6 && (1..=4).contains(&digits)).then(|| name.strip_suffix(part))?
}

/// Whether `text` is `prefix` followed by digits only.
pub fn is_numbered(text: &str, prefix: &str) -> bool {
    text.strip_prefix(prefix)
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}
