//! Disks: what they are, and what carries them, as the function tells that hwloc found them under.

use super::Reading;
use super::object::Object;
use crate::capture::device::{device, is_kernel_name};
use narrows_base::units::Bytes;
use narrows_machine::Machine;
use narrows_machine::block::dm::parse_number_pair;
use narrows_machine::block::{BlockDevice, BlockKind, Sas, Sata, Transport, Usb};
use narrows_machine::pci::{PciAddress, PciDevice};

/// The vendor number of virtio's functions (Virtual I/O Device specification 1.2, section 4.1.2).
const VIRTIO: u16 = 0x1af4;

pub(super) fn fill(
    reading: &Reading<'_>,
    object: &Object,
    name: &str,
    pci: Option<PciAddress>,
    machine: &mut Machine,
) {
    // hwloc counts persistent and CXL memory among block devices.
    if !is_kernel_name(name) {
        return;
    }
    let transport = transport(name, pci.and_then(|address| machine.pci.get(&address)));
    let disk: &mut BlockDevice = device(machine, name);
    if disk.partition_of.is_none() && matches!(disk.kind, BlockKind::Disk) {
        disk.transport = transport;
    }
    let number = |info: &str| object.info(info).and_then(|number| number.parse::<u64>().ok());
    let kib = number("Size").filter(|kib| *kib > 0 && *kib < u64::MAX / 1024);
    disk.size = reading.known(kib.map(Bytes::from_kib), object);
    disk.number = reading.known(object.info("LinuxDeviceID").and_then(parse_number_pair), object);
    disk.model = reading.known(object.info("Model").map(model), object);
    disk.firmware = reading.known(object.info("Revision").map(str::to_owned), object);
    disk.queue.logical_block =
        reading.known(number("SectorSize").filter(|size| *size > 0).map(Bytes::new), object);
    disk.removable = object.attribute("subtype") == Some("Removable Media Device");
}

/// udev, whom hwloc asks, puts `_` for every blank of a model (systemd `udev/udev-builtin-path_id.c`,
/// `udev_replace_whitespace`). Micron's own names have it.
fn model(text: &str) -> String {
    match text.contains(' ') || text.starts_with("Micron_") {
        true => text.to_owned(),
        false => text.replace('_', " ").trim().to_owned(),
    }
}

pub(super) fn transport(name: &str, carrier: Option<&PciDevice>) -> Transport {
    let pci = carrier.map(|carrier| carrier.address);
    let other = |name: &str| Transport::Other { name: name.to_owned(), pci };
    let is_virtio = carrier.and_then(|carrier| carrier.id.value()).is_some_and(|id| id.vendor == VIRTIO);
    let class = carrier.and_then(|carrier| carrier.class.value()).map(|class| class >> 8);
    match (class, name.rsplit_once('n')) {
        (_, Some((controller, _))) if name.starts_with("nvme") => match pci {
            Some(pci) => Transport::NvmePci { controller: controller.to_owned(), pci },
            None => other("nvme"),
        },
        _ if name.starts_with("vd") => Transport::Virtio { pci, flavour: "virtio-blk".to_owned() },
        _ if is_virtio => Transport::Virtio { pci, flavour: "virtio-scsi".to_owned() },
        _ if name.starts_with("mmcblk") => Transport::Mmc { pci, mode: narrows_base::fact::Fact::default() },
        (Some(0x0106), _) => Transport::Sata(Sata { pci, ..Sata::default() }),
        (Some(0x0104 | 0x0107), _) => Transport::Sas(Sas { pci, ..Sas::default() }),
        (Some(0x0c03), _) => Transport::Usb(Usb { pci, ..Usb::default() }),
        (Some(_), _) => other("scsi"),
        (None, _) => Transport::None,
    }
}
