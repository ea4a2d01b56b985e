//! What names below `/dev/disk` lead to.

use std::collections::BTreeMap;

use super::is_alias;
use crate::capture::device::{device, is_kernel_name};
use narrows_base::fact::Fact;
use narrows_machine::Machine;

/// Finds the devices of pools and mounts that are called by a name below `/dev/disk`: where a listing says what it leads to,
/// and for `by-id` by model and serial number, of which udev makes such names (systemd
/// `rules.d/60-persistent-storage.rules`). A kernel name that no other text knows is a device all the same.
pub(super) fn follow(machine: &mut Machine) {
    name_by_id(machine);
    let mut by_serial: BTreeMap<String, String> = BTreeMap::new();
    let disks =
        machine.block.values().filter(|device| device.partition_of.is_none() && !is_alias(&device.name));
    for disk in disks {
        if let (Some(model), Some(serial)) = (disk.model.value(), disk.serial.value()) {
            let joined: Vec<&str> = model.split_whitespace().chain([serial.as_str()]).collect();
            by_serial.insert(joined.join("_"), disk.name.clone());
        }
    }
    let find = |name: &str| {
        let name = name.rsplit('/').next().unwrap_or(name);
        machine.links.get(name).cloned().or_else(|| by_id(&by_serial, name))
    };
    let mut zfs = std::mem::take(&mut machine.zfs);
    let mut mounts = std::mem::take(&mut machine.mounts);
    for device in zfs.iter_mut().flat_map(|pool| &mut pool.vdevs).flat_map(|vdev| &mut vdev.devices) {
        if let Some(name) = find(&device.name) {
            device.name = name;
        }
    }
    for mount in mounts.iter_mut().filter(|mount| mount.devices.is_empty()) {
        mount.devices.extend(mount.source.strip_prefix("/dev/disk/").and_then(find));
    }
    for pool in &zfs {
        for used in pool.vdevs.iter().flat_map(|vdev| &vdev.devices).filter(|used| is_kernel_name(&used.name))
        {
            device(machine, &used.name);
        }
    }
    (machine.zfs, machine.mounts) = (zfs, mounts);
}

/// Gives disks without a model that of their name below `by-id`, which ends in the serial number: `ata-MODEL_SERIAL`,
/// `nvme-MODEL_SERIAL_1` with the number of the namespace.
fn name_by_id(machine: &mut Machine) {
    for (name, disk) in &machine.links {
        let rest = name.strip_prefix("ata-").or_else(|| name.strip_prefix("nvme-"));
        let Some(rest) = rest.filter(|rest| !rest.contains("-part") && !rest.starts_with("eui.")) else {
            continue;
        };
        let is_namespace = |end: &str| {
            name.starts_with("nvme-") && end.len() <= 2 && end.bytes().all(|b| b.is_ascii_digit())
        };
        let model = match rest.rsplit_once('_') {
            Some((before, end)) if is_namespace(end) => before.rsplit_once('_').map(|(model, _)| model),
            other => other.map(|(model, _)| model),
        };
        let Some(known) = machine.block.get_mut(disk).filter(|known| known.partition_of.is_none()) else {
            continue;
        };
        if let Some(model) = model.filter(|model| !model.is_empty() && known.model.value().is_none()) {
            known.model = Fact::known(model.replace('_', " "), "/dev/disk/by-id");
        }
    }
}

/// The disk or partition of `ata-MODEL_SERIAL-part1`. The name of an NVMe drive may have its namespace behind it.
fn by_id(by_serial: &BTreeMap<String, String>, name: &str) -> Option<String> {
    let (_, rest) = name.split_once('-')?;
    let (whole, part) = match rest.rsplit_once("-part") {
        Some((whole, part)) if part.parse::<u16>().is_ok() => (whole, Some(part)),
        _ => (rest, None),
    };
    let disk = by_serial.get(whole).or_else(|| by_serial.get(whole.strip_suffix("_1")?))?;
    let joint = if disk.ends_with(|c: char| c.is_ascii_digit()) { "p" } else { "" };
    Some(part.map_or_else(|| disk.clone(), |part| format!("{disk}{joint}{part}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_machine::block::BlockDevice;
    use narrows_machine::mount::Mount;
    use narrows_machine::zfs::{ZfsDevice, ZfsPool, ZfsVdev};

    fn disk(name: &str, model: &str, serial: &str) -> (String, BlockDevice) {
        let disk = BlockDevice {
            name: name.to_owned(),
            model: Fact::known(model.to_owned(), "lsblk"),
            serial: Fact::known(serial.to_owned(), "lsblk"),
            ..BlockDevice::default()
        };
        (name.to_owned(), disk)
    }

    /// The devices of a pool whose devices are called so.
    fn followed(names: &[&str]) -> Vec<String> {
        let devices = names
            .iter()
            .map(|name| ZfsDevice {
                name: (*name).to_owned(),
                state: "ONLINE".to_owned(),
                ..ZfsDevice::default()
            })
            .collect();
        let pool = ZfsPool { vdevs: vec![ZfsVdev { devices, ..ZfsVdev::default() }], ..ZfsPool::default() };
        let mut machine = Machine {
            zfs: vec![pool],
            block: [disk("sda", "ST1000DM003-1CH162", "S1D0"), disk("nvme0n1", "Samsung SSD 980", "S64")]
                .into(),
            links: [("wwn-0x5000".to_owned(), "sdb".to_owned())].into(),
            ..Machine::default()
        };
        follow(&mut machine);
        let devices = machine.zfs.into_iter().flat_map(|pool| pool.vdevs).flat_map(|vdev| vdev.devices);
        let names: Vec<String> = devices.map(|device| device.name).collect();
        assert!(
            names.iter().filter(|name| is_kernel_name(name)).all(|name| machine.block.contains_key(name))
        );
        names
    }

    #[test]
    fn names_are_followed_by_a_listing_or_by_model_and_serial_number() {
        assert_eq!(
            followed(&[
                "ata-ST1000DM003-1CH162_S1D0",
                "/dev/disk/by-id/ata-ST1000DM003-1CH162_S1D0-part1",
                "nvme-Samsung_SSD_980_S64-part2",
                "nvme-Samsung_SSD_980_S64_1",
                "wwn-0x5000",
                "sdc",
                "ata-OTHER_S1D0",
            ]),
            ["sda", "sda1", "nvme0n1p2", "nvme0n1", "sdb", "sdc", "ata-OTHER_S1D0"]
        );
    }

    #[test]
    fn a_disk_without_a_model_has_that_of_its_name() {
        let link = |name: &str, disk: &str| (name.to_owned(), disk.to_owned());
        let bare =
            |name: &str| (name.to_owned(), BlockDevice { name: name.to_owned(), ..BlockDevice::default() });
        let mut machine = Machine {
            block: [bare("sda"), bare("nvme0n1"), bare("nvme1n1"), disk("sdb", "ST1", "S")].into(),
            links: [
                link("ata-WDC_WD40EFRX-68WT0N0_WD-1", "sda"),
                link("nvme-eui.0025388b91c8cf4e", "nvme0n1"),
                link("nvme-Samsung_SSD_980_S64_1", "nvme0n1"),
                link("nvme-Samsung_SSD_980_S65", "nvme1n1"),
                link("ata-OTHER_S2", "sdb"),
            ]
            .into(),
            ..Machine::default()
        };
        follow(&mut machine);
        let models: Vec<_> =
            machine.block.values().filter_map(|disk| disk.model.value().map(String::as_str)).collect();
        assert_eq!(models, ["Samsung SSD 980", "Samsung SSD 980", "WDC WD40EFRX-68WT0N0", "ST1"]);
    }

    #[test]
    fn a_mount_by_identifier_has_its_device() {
        let mount = |source: &str| Mount { source: source.to_owned(), ..Mount::default() };
        let mut machine = Machine {
            mounts: vec![mount("/dev/disk/by-uuid/12-34"), mount("/dev/disk/by-uuid/other")],
            links: [("12-34".to_owned(), "sda1".to_owned())].into(),
            ..Machine::default()
        };
        follow(&mut machine);
        let devices: Vec<&Vec<String>> = machine.mounts.iter().map(|mount| &mount.devices).collect();
        assert_eq!(devices, [&vec!["sda1".to_owned()], &Vec::new()]);
    }
}
