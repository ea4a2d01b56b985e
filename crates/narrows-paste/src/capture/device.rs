//! What the readers of storage outputs share: the names of devices, and how facts and layers are put down.
//!
//! A device is keyed by its kernel name where the output tells it. Tools that name a mapping or an array otherwise get
//! keys that no kernel name can be: `mapper/vg-home` for a mapping whose `dm-N` is not known, `md/backup` for an array
//! known by that name only, `8:2` for a device known by number only. `join` puts the kernel's name in
//! their place as soon as any text tells it.

use std::collections::BTreeMap;

use narrows_base::fact::Fact;
use narrows_base::units::BitsPerSec;
use narrows_machine::Machine;
use narrows_machine::block::{
    Bcache, BlockDevice, BlockKind, DmDevice, LoopDevice, MdArray, NvmeFabric, Transport, freebsd_disk,
    is_numbered,
};
use narrows_machine::pci::{PciAddress, PciDevice};

use super::number::bit_rate;
use crate::text::is_digits;

/// More layers than a real device has members or holders are a text made to be slow.
const MOST_MEMBERS: usize = 1024;

/// The longest name that a device can have: `DM_NAME_LEN` (kernel `include/uapi/linux/dm-ioctl.h`).
const LONGEST_NAME: usize = 128;

/// The device of this key, made if need be, together with the disk of a partition.
pub(super) fn device<'m>(machine: &'m mut Machine, name: &str) -> &'m mut BlockDevice {
    if !machine.block.contains_key(name) {
        let device = unknown(name);
        if let Some(disk) = &device.partition_of {
            machine.block.entry(disk.clone()).or_insert_with(|| unknown(disk));
        }
        machine.block.insert(name.to_owned(), device);
    }
    machine.block.entry(name.to_owned()).or_default()
}

/// A device of which nothing but its name is known.
fn unknown(name: &str) -> BlockDevice {
    let partition_of = disk_of(name).map(str::to_owned);
    let kind = match name {
        _ if partition_of.is_some() => BlockKind::Partition,
        _ if is_numbered(name, "md") || name.starts_with("md/") => BlockKind::Md(Box::default()),
        _ if is_numbered(name, "dm-") || name.starts_with("mapper/") => BlockKind::Dm(DmDevice::default()),
        _ if is_numbered(name, "loop") => BlockKind::Loop(LoopDevice::default()),
        _ if is_numbered(name, "zram") => BlockKind::Zram,
        _ if is_numbered(name, "ram") => BlockKind::RamDisk,
        _ if is_numbered(name, "bcache") => BlockKind::Bcache(Bcache::default()),
        _ if name.starts_with("nullb") => BlockKind::NullBlk,
        _ => BlockKind::Disk,
    };
    BlockDevice { name: name.to_owned(), partition_of, kind, ..BlockDevice::default() }
}

/// The array that a device is, made one if the name alone did not say so.
pub(super) fn array<'m>(machine: &'m mut Machine, name: &str) -> Option<&'m mut MdArray> {
    let device = device(machine, name);
    if matches!(device.kind, BlockKind::Disk) {
        device.kind = BlockKind::Md(Box::default());
    }
    match &mut device.kind {
        BlockKind::Md(md) => Some(md),
        _ => None,
    }
}

/// The mapping that a device is, made one if the name alone did not say so.
pub(super) fn mapping<'m>(machine: &'m mut Machine, name: &str) -> Option<&'m mut DmDevice> {
    let device = device(machine, name);
    if matches!(device.kind, BlockKind::Disk) {
        device.kind = BlockKind::Dm(DmDevice::default());
    }
    match &mut device.kind {
        BlockKind::Dm(dm) => Some(dm),
        _ => None,
    }
}

/// What a text tells, or does not.
pub(super) fn known<T>(value: Option<T>, source: impl Into<String>) -> Fact<T> {
    value.map_or_else(Fact::default, |value| Fact::known(value, source))
}

/// The address of these numbers: domain, bus, device and function.
pub(super) fn address_of([domain, bus, device, function]: [u32; 4]) -> Option<PciAddress> {
    let small = |number: u32, most: u8| u8::try_from(number).ok().filter(|number| *number <= most);
    let (bus, device, function) = (small(bus, 255)?, small(device, 31)?, small(function, 7)?);
    Some(PciAddress { domain, bus, device, function })
}

/// The PCI function at an address.
pub(super) fn function(machine: &mut Machine, address: PciAddress) -> &mut PciDevice {
    machine.pci.entry(address).or_insert_with(|| PciDevice { address, ..PciDevice::default() })
}

/// Puts down a value that is not known yet.
pub(super) fn learn<T>(fact: &mut Fact<T>, value: Option<T>, source: &str) {
    if let Some(value) = value.filter(|_| fact.value().is_none()) {
        *fact = Fact::known(value, source);
    }
}

/// What the name of a drive says of its bus, which hangs on this function.
pub(super) fn implied(name: &str, pci: Option<PciAddress>) -> Transport {
    match (name, pci, name.rsplit_once('n')) {
        (_, Some(pci), Some((controller, _))) if is_numbered(controller, "nvme") => {
            Transport::NvmePci { controller: controller.to_owned(), pci }
        }
        _ if name.starts_with("nvme") => Transport::Other { name: "nvme".to_owned(), pci },
        _ if name.starts_with("mmcblk") => Transport::Mmc { pci, mode: Fact::default() },
        _ if name.starts_with("vd") => Transport::Virtio { pci, flavour: "virtio-blk".to_owned() },
        _ => Transport::None,
    }
}

/// What carries a disk, by the word of a tool for it: `sata`, `usb`.
pub(super) fn carrier(bus: &str) -> Option<Transport> {
    Some(match bus {
        "nvme" | "pcie" => implied("nvme", None),
        "sata" => Transport::Sata(Default::default()),
        "sas" => Transport::Sas(Default::default()),
        "usb" => Transport::Usb(Default::default()),
        "iscsi" | "iqn" => Transport::Iscsi(Default::default()),
        "mmc" => implied("mmcblk", None),
        "tcp" | "rdma" => {
            Transport::NvmeFabric(NvmeFabric { transport: bus.to_owned(), ..NvmeFabric::default() })
        }
        "ata" | "spi" | "fc" | "fcoe" | "sbp" => Transport::Other { name: bus.to_owned(), pci: None },
        _ => return None,
    })
}

/// What a reader kept under `prefix` until its device is known, by what follows that.
pub(super) fn take_kept<V>(map: &mut BTreeMap<String, V>, prefix: &str) -> Vec<(String, V)> {
    let keys = map.range(prefix.to_owned()..).map_while(|(key, _)| key.strip_prefix(prefix));
    let keys: Vec<String> = keys.map(str::to_owned).collect();
    keys.into_iter()
        .filter_map(|key| map.remove(&format!("{prefix}{key}")).map(|value| (key, value)))
        .collect()
}

/// Puts down that `upper` is built on `lower`.
pub(super) fn stack(machine: &mut Machine, upper: &str, lower: &str) {
    if upper == lower {
        return;
    }
    add_name(&mut device(machine, upper).slaves, lower);
    if !is_number(lower) {
        add_name(&mut device(machine, lower).holders, upper);
    }
}

/// Adds a name to a list that has each once.
pub(super) fn add_name(names: &mut Vec<String>, name: &str) {
    if names.len() < MOST_MEMBERS && !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
}

/// The key of what a tool calls `/dev/sda1`, `sda1`, `/dev/mapper/vg-home`, `/dev/vg/home` or `/dev/md/backup`. `None`
/// for a link by label or identifier, which only the machine itself can follow, and for anything that is no name.
pub(super) fn key_of(path: &str) -> Option<String> {
    let is_plain = |text: &str| {
        (1..=LONGEST_NAME).contains(&text.len())
            && text.chars().all(|c| c.is_alphanumeric() || "._+:@!#=,-\\".contains(c))
    };
    let Some(name) = path.strip_prefix("/dev/") else {
        return (is_plain(path) && is_kernel_name(path)).then(|| path.to_owned());
    };
    match name.split_once('/') {
        None => (is_plain(name) && !is_number(name)).then(|| name.to_owned()),
        Some(("mapper" | "md", rest)) => is_plain(rest).then(|| name.to_owned()),
        Some(("disk" | "zvol" | "block" | "char" | "bus" | "fd" | "shm" | "pts", _)) => None,
        // A slash in a kernel name is `!` in sysfs.
        Some((driver @ ("cciss" | "ida" | "rd" | "i2o"), rest)) => {
            is_plain(rest).then(|| format!("{driver}!{rest}"))
        }
        Some((group, volume)) => {
            (is_plain(group) && is_plain(volume)).then(|| format!("mapper/{}", volume_name(group, volume)))
        }
    }
}

/// The mapping of a logical volume: LVM doubles the dashes of either part (`lvm2`, `dm_build_dm_name`).
pub(super) fn volume_name(group: &str, volume: &str) -> String {
    format!("{}-{}", group.replace('-', "--"), volume.replace('-', "--"))
}

/// Whether a key is a device number, `8:2`.
pub(super) fn is_number(key: &str) -> bool {
    key.split_once(':').is_some_and(|(major, minor)| is_digits(major) && is_digits(minor))
}

/// The key of a device that is known by number. Some drivers have fixed numbers (kernel
/// `Documentation/admin-guide/devices.txt`); any other is keyed by the number itself until it is known.
pub(super) fn key_of_number((major, minor): (u32, u32)) -> String {
    match major {
        7 => format!("loop{minor}"),
        9 => format!("md{minor}"),
        8 => scsi_disk(minor),
        65..=71 => scsi_disk(((major - 64) << 8) | (minor & 0xff)),
        128..=135 => scsi_disk(((major - 120) << 8) | (minor & 0xff)),
        _ => format!("{major}:{minor}"),
    }
}

/// Sixteen minors for each disk: `sda`, `sda1`… `sdb`. After `sdz` comes `sdaa` (kernel `drivers/scsi/sd.c`,
/// `sd_format_disk_name`).
fn scsi_disk(minor: u32) -> String {
    let (mut index, part) = (minor >> 4, minor & 15);
    let mut letters = Vec::new();
    loop {
        letters.push(char::from(b'a' + u8::try_from(index % 26).unwrap_or_default()));
        match (index / 26).checked_sub(1) {
            Some(next) => index = next,
            None => break,
        }
    }
    let letters: String = letters.into_iter().rev().collect();
    if part == 0 { format!("sd{letters}") } else { format!("sd{letters}{part}") }
}

/// Whether a name is one that the kernel gives: that of a driver with letters or a number behind it.
pub(super) fn is_kernel_name(name: &str) -> bool {
    let numbered = [
        "nvme", "md", "dm-", "loop", "sr", "zram", "ram", "mmcblk", "nbd", "rbd", "bcache", "drbd", "fd",
        "nullb", "pmem", "zd", "ublkb", "mtdblock", "md_d", "scini", "rnbd",
    ];
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_!".contains(&byte));
    let is_lettered = is_lettered(name.trim_end_matches(|c: char| c.is_ascii_digit()));
    let is_numbered = numbered.iter().filter_map(|prefix| name.strip_prefix(prefix)).any(|rest| {
        rest.starts_with(|c: char| c.is_ascii_digit())
            && rest.bytes().all(|byte| byte.is_ascii_digit() || b"ncpbot".contains(&byte))
    });
    let is_known = is_lettered || is_numbered || name.starts_with("cciss!");
    plain && name.len() <= 32 && (is_known || freebsd_disk(name).is_some())
}

/// Whether letters stand behind the name of a driver that counts in letters.
fn is_lettered(name: &str) -> bool {
    let prefixes = ["sd", "vd", "hd", "xvd", "ubd", "dasd", "fio", "rssd"];
    prefixes
        .iter()
        .filter_map(|prefix| name.strip_prefix(prefix))
        .any(|rest| (1..=3).contains(&rest.len()) && rest.bytes().all(|byte| byte.is_ascii_lowercase()))
}

/// The disk of a partition: `sda` of `sda1`, `nvme0n1` of `nvme0n1p2`. The kernel puts a `p` between a name that ends
/// in a digit and the number of a partition (`block/partitions/core.c`). `None` for what is no partition: none lies in
/// another, so that no disk has the name of one.
pub(super) fn disk_of(name: &str) -> Option<&str> {
    stem(name).filter(|disk| stem(disk).is_none())
}

/// The name before the number of a partition, whatever that is the name of.
fn stem(name: &str) -> Option<&str> {
    if !is_kernel_name(name) || name.starts_with("dm-") {
        return None;
    }
    if let Some(disk) = freebsd_disk(name) {
        return (disk != name).then_some(disk);
    }
    let disk = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if disk.len() == name.len() {
        return None;
    }
    match disk.strip_suffix('p') {
        Some(whole) if whole.ends_with(|c: char| c.is_ascii_digit()) => Some(whole),
        _ if disk.starts_with("nvme") || disk.starts_with("mmcblk") => None,
        _ => is_lettered(disk).then_some(disk),
    }
}

/// A rate of SATA; other rates are of other links.
pub(super) fn sata_rate(text: &str) -> Option<BitsPerSec> {
    let rates = [1500.0, 3000.0, 6000.0].map(BitsPerSec::from_mbit);
    bit_rate(text).filter(|rate| rates.contains(rate))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_way_to_call_a_device_has_one_key() {
        for (path, key) in [
            ("/dev/sda1", Some("sda1")),
            ("nvme0n1p2", Some("nvme0n1p2")),
            ("/dev/mapper/vg0-home--data", Some("mapper/vg0-home--data")),
            ("/dev/vg0/home-data", Some("mapper/vg0-home--data")),
            ("/dev/md/backup", Some("md/backup")),
            ("/dev/cciss/c0d0p1", Some("cciss!c0d0p1")),
            ("/dev/disk/by-uuid/0-1", None),
            ("tmpfs", None),
            ("/dev/", None),
            ("/dev/a b", None),
        ] {
            assert_eq!(key_of(path).as_deref(), key, "{path}");
        }
    }

    #[test]
    fn partitions_are_told_from_disks_by_name() {
        for (name, disk) in [
            ("sda1", Some("sda")),
            ("sdab12", Some("sdab")),
            ("nvme0n1p3", Some("nvme0n1")),
            ("nvme0n1", None),
            ("nvme0c0n1", None),
            ("mmcblk0p1", Some("mmcblk0")),
            ("md127p1", Some("md127")),
            ("md0", None),
            ("loop7p1", Some("loop7")),
            ("dm-3", None),
            ("sda", None),
            ("home1", None),
            ("sr0", None),
            ("ada0p2", Some("ada0")),
            ("da12s1a", Some("da12")),
            ("nvd0", None),
            ("dasda1", Some("dasda")),
            ("nvme0p1p2", None),
            ("sda1p2", None),
        ] {
            assert_eq!(disk_of(name), disk, "{name}");
        }
    }

    #[test]
    fn numbers_of_scsi_disks_are_those_of_devices_txt() {
        for (number, name) in [
            ((8, 0), "sda"),
            ((8, 34), "sdc2"),
            ((65, 0), "sdq"),
            ((65, 160), "sdaa"),
            ((9, 127), "md127"),
            ((259, 3), "259:3"),
        ] {
            assert_eq!(key_of_number(number), name, "{number:?}");
        }
    }

    proptest! {
        #[test]
        fn no_name_panics(text in "\\PC{0,40}", major: u32, minor: u32) {
            let _ = (key_of(&text), disk_of(&text), key_of(&key_of_number((major, minor))));
            let mut machine = Machine::default();
            stack(&mut machine, &text, "sda1");
        }
    }
}
