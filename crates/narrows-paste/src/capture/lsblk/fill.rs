//! From rows of `lsblk` to devices, layers and mounts.

use super::row::Row;
use crate::capture::device::{array, device, key_of, learn, mapping, stack};
use crate::capture::{Text, mounts, sensors, size};
use narrows_base::fact::Fact;
use narrows_base::units::Bytes;
use narrows_machine::Machine;
use narrows_machine::block::{BlockDevice, BlockKind, DmDevice, LoopDevice, NvmeFabric, Transport};
use narrows_machine::mount::Mount;

/// Puts every row down. A device with several parents has a row below each of them.
pub(super) fn fill(machine: &mut Machine, text: &Text, rows: &[Row]) {
    let mut mounts = Vec::new();
    for row in rows {
        let Some(key) = row.key() else { continue };
        let source = text.source(row.line);
        let parent = row.parent.as_deref().and_then(parent_key);
        identify(device(machine, &key), row, &source);
        if let Some(address) = row.get("HCTL").filter(|_| row.parent.is_none()) {
            sensors::note_disk(&mut machine.links, address, &key);
        }
        kind(machine, &key, row, parent.as_deref(), &source);
        add_mounts(&mut mounts, machine, &key, row, &source);
    }
    mounts::add(machine, mounts);
}

/// A parent is a key already, or what the PKNAME column says.
fn parent_key(parent: &str) -> Option<String> {
    let is_key = parent.starts_with("mapper/") || parent.starts_with("md/");
    if is_key {
        Some(parent.to_owned())
    } else {
        key_of(parent).or_else(|| key_of(&format!("/dev/{parent}")))
    }
}

fn identify(device: &mut BlockDevice, row: &Row, source: &str) {
    let text = |column: &str| row.get(column).map(|value| value.trim().to_owned());
    let flag = |column: &str| row.get(column).and_then(parse_flag);
    let bytes = |column: &str| row.get(column).and_then(|value| value.parse().ok()).map(Bytes::new);
    let is_whole = device.partition_of.is_none();
    learn(&mut device.number, row.number(), source);
    learn(&mut device.size, row.get("SIZE").and_then(size::binary), source);
    device.read_only |= flag("RO").unwrap_or_default();
    device.removable |= flag("RM").unwrap_or_default() && is_whole;
    learn(&mut device.model, text("MODEL"), source);
    learn(&mut device.serial, text("SERIAL"), source);
    learn(&mut device.firmware, text("REV"), source);
    let queue = &mut device.queue;
    learn(&mut queue.rotational, flag("ROTA"), source);
    learn(&mut queue.scheduler, text("SCHED"), source);
    learn(&mut queue.requests, row.get("RQ-SIZE").and_then(|value| value.parse().ok()), source);
    learn(&mut queue.logical_block, bytes("LOG-SEC"), source);
    learn(&mut queue.physical_block, bytes("PHY-SEC"), source);
    // `queue/read_ahead_kb` (`misc-utils/lsblk.c`, COL_RA).
    let read_ahead = row.get("RA").and_then(|value| value.parse::<u64>().ok()).filter(|kib| *kib < 1 << 40);
    learn(&mut queue.read_ahead, read_ahead.map(Bytes::from_kib), source);
    if is_whole && matches!(device.transport, Transport::None) {
        device.transport = transport(row);
    }
}

fn parse_flag(text: &str) -> Option<bool> {
    match text {
        "1" => Some(true),
        "0" => Some(false),
        _ => None,
    }
}

/// What carries the data of a disk, as far as TRAN, SUBSYSTEMS or the driver's name for it tell. Where it sits on the
/// bus is in no column.
fn transport(row: &Row) -> Transport {
    let name = row.name().unwrap_or_default();
    let chain = row.get("SUBSYSTEMS").unwrap_or_default();
    let has = |bus: &str| chain.split(':').any(|part| part == bus);
    let other = |name: &str| Transport::Other { name: name.to_owned(), pci: None };
    match row.get("TRAN") {
        Some("nvme" | "pcie") => other("nvme"),
        Some("sata") => Transport::Sata(Default::default()),
        Some("sas") => Transport::Sas(Default::default()),
        Some("usb") => Transport::Usb(Default::default()),
        Some("iscsi") => Transport::Iscsi(Default::default()),
        Some("mmc") => Transport::Mmc { pci: None, mode: Fact::default() },
        Some(network @ ("tcp" | "rdma")) => {
            Transport::NvmeFabric(NvmeFabric { transport: network.to_owned(), ..NvmeFabric::default() })
        }
        Some(bus @ ("ata" | "spi" | "fc" | "fcoe" | "sbp")) => other(bus),
        _ if has("virtio") && has("scsi") => {
            Transport::Virtio { pci: None, flavour: "virtio-scsi".to_owned() }
        }
        _ if has("virtio") || name.starts_with("vd") => {
            Transport::Virtio { pci: None, flavour: "virtio-blk".to_owned() }
        }
        _ if name.starts_with("mmcblk") => Transport::Mmc { pci: None, mode: Fact::default() },
        _ if name.starts_with("nvme") => other("nvme"),
        _ => Transport::None,
    }
}

fn kind(machine: &mut Machine, key: &str, row: &Row, parent: Option<&str>, source: &str) {
    let name = row.name().unwrap_or_default();
    let kind = row.get("TYPE").unwrap_or_default();
    let is_partition = device(machine, key).partition_of.is_some();
    if is_partition {
        return;
    }
    if let Some(parent) = parent {
        stack(machine, key, parent);
    }
    if key.starts_with("dm-") || key.starts_with("mapper/") {
        let owner = owner(kind);
        if let Some(dm) = mapping(machine, key) {
            let is_name = row.get("NAME").is_some() && !name.starts_with("dm-");
            learn(&mut dm.name, is_name.then(|| name.to_owned()), source);
            learn(&mut dm.owner, owner.map(str::to_owned), source);
        }
        as_mapping(device(machine, key));
    } else if (kind.starts_with("raid") || kind == "linear")
        && let Some(md) = array(machine, key)
    {
        learn(&mut md.level, Some(kind.to_owned()), source);
    }
    let device = device(machine, key);
    if kind == "loop" && matches!(device.kind, BlockKind::Disk) {
        device.kind = BlockKind::Loop(LoopDevice::default());
    }
}

/// Nothing carries the data of a mapping itself.
fn as_mapping(device: &mut BlockDevice) {
    device.transport = Transport::None;
    if matches!(device.kind, BlockKind::Disk) {
        device.kind = BlockKind::Dm(DmDevice::default());
    }
}

/// The maker of a mapping, as its identifier begins: lsblk makes the type of it (`misc-utils/lsblk.c`,
/// `get_device_type`).
fn owner(kind: &str) -> Option<&'static str> {
    match kind {
        "crypt" => Some("CRYPT"),
        "lvm" => Some("LVM"),
        "mpath" => Some("mpath"),
        "dmraid" => Some("DMRAID"),
        _ => None,
    }
}

fn add_mounts(mounts: &mut Vec<Mount>, machine: &Machine, key: &str, row: &Row, source: &str) {
    for point in row.mount_points() {
        mounts.push(Mount {
            point: point.to_owned(),
            fstype: row.get("FSTYPE").unwrap_or_default().to_owned(),
            source: device_path(machine, key),
            devices: vec![key.to_owned()],
            number: row.number().unwrap_or_default(),
            root: "/".to_owned(),
            connections: Fact::absent(source),
            ..Mount::default()
        });
    }
}

fn device_path(machine: &Machine, key: &str) -> String {
    let name = machine.block.get(key).and_then(|device| match &device.kind {
        BlockKind::Dm(dm) => dm.name.value(),
        _ => None,
    });
    name.map_or_else(|| format!("/dev/{}", key.replace('!', "/")), |name| format!("/dev/mapper/{name}"))
}
