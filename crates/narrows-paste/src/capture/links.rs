//! Listings of links that udev and sysfs make: `ls -l /dev/disk/by-path`, `by-id` and the like, `ls -l
//! /sys/class/nvme/*/device`, and what `udevadm info` says of them.
//!
//! A name below `by-path` is the way to the disk through the buses (systemd `src/udev/udev-builtin-path_id.c`):
//! `pci-0000:02:00.0-nvme-1`, `pci-0000:00:1f.2-ata-2.0`, `pci-0000:03:00.0-sas-phy3-lun-0`.

use super::device::{device, implied, is_kernel_name};
use super::{Part, Rank, Text};
use narrows_machine::Machine;
use narrows_machine::block::{Sas, Sata, Transport, Usb, is_numbered};
use narrows_machine::pci::PciAddress;

/// More links than any machine has, a dozen for each of a thousand disks.
const MOST: usize = 16_384;

/// The longest name that is kept (`NAME_MAX`).
const LONGEST: usize = 255;

/// Reads every link to a disk.
pub fn read(text: &Text) -> Part {
    let mut part = Part { rank: Rank::Decoded, ..Part::default() };
    let mut found = 0;
    let mut open: Option<&str> = None;
    for (_, line) in text.lines() {
        if line.is_empty() {
            open = None;
        }
        let property = line.trim_start_matches("E: ");
        open = property.strip_prefix("DEVNAME=").or_else(|| line.strip_prefix("N: ")).map(last).or(open);
        let link = match property.strip_prefix("ID_PATH=").zip(open) {
            Some((path, disk)) => Some((path, disk)),
            None => arrow(line).or_else(|| named(line)),
        };
        if let Some((name, disk)) = link.filter(|_| found < MOST) {
            found += usize::from(put(&mut part.machine, name, disk).is_some());
        }
        if let Some((controller, pci)) = controller(line).filter(|_| found < MOST) {
            found += 1;
            let disk = device(&mut part.machine, &format!("{controller}n1"));
            disk.transport = Transport::NvmePci { controller: controller.to_owned(), pci };
        }
    }
    part.kind = (found > 0).then_some("links to disks");
    part
}

/// `NAME -> ../../nvme0n1`, whatever stands before it.
fn arrow(line: &str) -> Option<(&str, &str)> {
    let (before, target) = line.split_once(" -> ")?;
    let target = target.trim();
    let is_disk =
        target.starts_with("../../") && target.matches('/').count() == 2 || target.starts_with("/dev/");
    let name = before.split_whitespace().next_back()?;
    is_disk.then(|| (last(name), last(target)))
}

/// `nvme0n1: /dev/disk/by-path/NAME`, `S: disk/by-id/NAME` is none: it does not name its disk on the line.
fn named(line: &str) -> Option<(&str, &str)> {
    let (disk, path) = line.split_once(':')?;
    let path = path.trim();
    path.starts_with("/dev/disk/by-").then(|| (last(path), last(disk.trim())))
}

/// `/sys/class/nvme/nvme0/device -> ../../../0000:02:00.0`: a controller and its function.
fn controller(line: &str) -> Option<(&str, PciAddress)> {
    let (before, target) = line.split_once(" -> ")?;
    let path = before.split_whitespace().next_back()?.strip_suffix("/device")?;
    let controller = last(path);
    let is_controller = is_numbered(controller, "nvme");
    Some((controller, last(target.trim()).parse().ok()?)).filter(|_| is_controller)
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Puts down that a name below `/dev/disk` leads to a disk, where another tool says so.
pub(super) fn note(machine: &mut Machine, path: &str, disk: &str) {
    if path.starts_with("/dev/disk/by-") && machine.links.len() < MOST {
        put(machine, last(path), disk);
    }
}

/// Puts a link down; `None` of what leads to no disk.
fn put(machine: &mut Machine, name: &str, disk: &str) -> Option<()> {
    let is_usable = (4..=LONGEST).contains(&name.len()) && is_kernel_name(disk) && name != disk;
    is_usable.then_some(())?;
    let disk_device = device(machine, disk);
    let carrier = transport(name, disk).filter(|_| disk_device.partition_of.is_none());
    if let Some(carrier) = carrier.filter(|_| matches!(disk_device.transport, Transport::None)) {
        disk_device.transport = carrier;
    }
    machine.links.insert(name.to_owned(), disk.to_owned());
    Some(())
}

/// What carries a disk, by its name below `by-path`: behind the last function on the way to it (behind a VMD controller
/// there are two).
fn transport(name: &str, disk: &str) -> Option<Transport> {
    let (before, way) = name.rsplit_once("pci-")?;
    if !before.is_empty() && !before.ends_with('-') {
        return None;
    }
    let end = way.find('-').unwrap_or(way.len());
    let (address, rest) = way.split_at_checked(end)?;
    let pci: PciAddress = address.parse().ok()?;
    let (bus, place) = rest.strip_prefix('-').unwrap_or_default().split_once('-').unwrap_or_default();
    Some(match bus {
        // A line that was cut off may end in the name of the controller.
        "nvme" if is_numbered(disk, "nvme") => return None,
        "nvme" => implied(disk, Some(pci)),
        "ata" => Transport::Sata(Sata { pci: Some(pci), ..Sata::default() }),
        "sas" => Transport::Sas(Sas { pci: Some(pci), expander: expander(place), ..Sas::default() }),
        _ if bus.starts_with("usb") => Transport::Usb(Usb { pci: Some(pci), ..Usb::default() }),
        "" if disk.starts_with("vd") => implied(disk, Some(pci)),
        "" => return None,
        // A SCSI host of any kind, or an ATA port of an old udev.
        other => Transport::Other { name: other.to_owned(), pci: Some(pci) },
    })
}

/// `exp0x500304801f715f3f-phy5-lun-0`: the expander that a SAS disk hangs on, by its address.
fn expander(place: &str) -> Option<String> {
    let address = place.strip_prefix("exp")?.split('-').next()?;
    let is_address = address.strip_prefix("0x")?.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_address.then(|| format!("expander {address}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn machine(text: &str) -> Machine {
        read(&Text::new("ls.txt", text.as_bytes())).machine
    }

    fn address(text: &str) -> PciAddress {
        text.parse().expect("an address")
    }

    /// `ls -l`, with one link of each kind of bus.
    const BY_PATH: &str = "\
/dev/disk/by-path:
total 0
lrwxrwxrwx 1 root root 13 Nov  1 10:00 pci-0000:02:00.0-nvme-1 -> ../../nvme0n1
lrwxrwxrwx 1 root root 15 Nov  1 10:00 pci-0000:02:00.0-nvme-1-part1 -> ../../nvme0n1p1
lrwxrwxrwx 1 root root  9 Nov  1 10:00 pci-0000:00:1f.2-ata-2.0 -> ../../sda
lrwxrwxrwx 1 root root  9 Nov  1 10:00 pci-0000:00:1f.2-ata-2 -> ../../sda
lrwxrwxrwx 1 root root  9 Nov  1 10:00 pci-0000:03:00.0-sas-exp0x500304801f715f3f-phy5-lun-0 -> ../../sdb
lrwxrwxrwx 1 root root  9 Nov  1 10:00 pci-0000:67:00.0-scsi-0:2:0:0 -> ../../sdc
lrwxrwxrwx 1 root root  9 Nov  1 10:00 pci-0000:00:14.0-usb-0:6:1.0-scsi-0:0:0:0 -> ../../sdd
lrwxrwxrwx 1 root root 13 Nov  1 10:00 pci-0000:00:0e.0-pci-10000:e1:00.0-nvme-1 -> ../../nvme1n1
lrwxrwxrwx 1 root root 13 Nov  1 10:00 platform-a40000000.pcie-pci-0002:21:00.0-nvme-1 -> ../../nvme2n1
";

    #[test]
    fn a_path_tells_the_function_that_a_disk_hangs_on() {
        let machine = machine(BY_PATH);
        let carrier = |name: &str| machine.block[name].transport.clone();
        let nvme = |controller: &str, pci: &str| Transport::NvmePci {
            controller: controller.to_owned(),
            pci: address(pci),
        };
        assert_eq!(carrier("nvme0n1"), nvme("nvme0", "0000:02:00.0"));
        assert_eq!(carrier("nvme1n1"), nvme("nvme1", "10000:e1:00.0"));
        assert_eq!(carrier("nvme2n1"), nvme("nvme2", "0002:21:00.0"));
        assert!(matches!(carrier("sda"), Transport::Sata(sata) if sata.pci == Some(address("0000:00:1f.2"))));
        assert!(
            matches!(carrier("sdb"), Transport::Sas(sas) if sas.expander.as_deref() == Some("expander 0x500304801f715f3f"))
        );
        assert!(matches!(carrier("sdc"), Transport::Other { name, pci: Some(_) } if name == "scsi"));
        assert!(matches!(carrier("sdd"), Transport::Usb(usb) if usb.pci == Some(address("0000:00:14.0"))));
        assert_eq!(machine.block["nvme0n1p1"].partition_of.as_deref(), Some("nvme0n1"));
    }

    #[test]
    fn other_forms_tell_the_same() {
        for text in [
            "nvme0n1: /dev/disk/by-path/pci-0000:65:00.0-nvme-1\n",
            "P: /devices/x\nN: nvme0n1\nE: DEVNAME=/dev/nvme0n1\nE: ID_PATH=pci-0000:65:00.0-nvme-1\n",
            "$ ls -l /sys/class/nvme/*/device\nlrwxrwxrwx 1 root root 0 Nov  1 10:00 /sys/class/nvme/nvme0/device -> ../../../0000:65:00.0\n",
            "  4 0 lrwxrwxrwx 1 root root 13 /dev/disk/by-path/pci-0000:65:00.0-nvme-1 -> ../../nvme0n1\n",
        ] {
            let machine = machine(text);
            let carrier = machine.block.get("nvme0n1").map(|disk| &disk.transport);
            assert!(
                matches!(carrier, Some(Transport::NvmePci { pci, .. }) if *pci == address("65:00.0")),
                "{text}"
            );
        }
    }

    #[test]
    fn a_name_that_was_cut_off_is_carried_by_nothing() {
        let machine = machine(
            "/dev/disk/by-path:\n\
             lrwxrwxrwx 1 root root 13 Nov  1 10:00 pci-0000:02:00.0-nvme-1 -> ../../nvme0n1\n\
             lrwxrwxrwx 1 root root 13 Nov  1 10:00 pci-0000:00:0e.0-pci-10000:e1:00.0-nvme-1 -> ../../nvme1\n",
        );
        let carried = machine.block.values().filter_map(|disk| match &disk.transport {
            Transport::NvmePci { controller, .. } => Some(controller.as_str()),
            _ => None,
        });
        assert_eq!(carried.collect::<Vec<_>>(), ["nvme0"]);
    }

    #[test]
    fn names_of_disks_are_kept_and_other_links_are_not() {
        let machine = machine(
            "lrwxrwxrwx 1 root root  9 Nov 1 10:00 ata-ST1000DM003_S1DA -> ../../sda\n\
             lrwxrwxrwx 1 root root 10 Nov 1 10:00 wwn-0x5000c50064 -> ../../sda1\n\
             lrwxrwxrwx 1 root root 10 Nov 1 10:00 python -> python3\n\
             lrwxrwxrwx 1 root root 10 Nov 1 10:00 passwd -> ../../etc/passwd\n",
        );
        let links: Vec<(&str, &str)> =
            machine.links.iter().map(|(name, disk)| (name.as_str(), disk.as_str())).collect();
        assert_eq!(links, [("ata-ST1000DM003_S1DA", "sda"), ("wwn-0x5000c50064", "sda1")]);
        assert_eq!(machine.block["sda"].transport, Transport::None);
    }

    proptest! {
        #[test]
        fn no_listing_panics(text in "(pci-|0000:|[0-9a-f:.]{1,9}|-(nvme|ata|sas|usb)-|exp0x| -> |\\.\\./|nvme0n1|/device|E: ID_PATH=|N: |\n| ){0,30}") {
            let _ = machine(&text);
        }
    }
}
