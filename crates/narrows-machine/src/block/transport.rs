//! What carries the data of a disk to memory: told by the components of its resolved sysfs path.

use super::device_path::DevicePath;
use super::{NvmeFabric, Remote, Sas, Sata, Usb, ata, nvme, remote, sas, usb};
use crate::pci::PciAddress;
use crate::root::Root;
use narrows_base::fact::Fact;

/// What carries the data of a disk to memory.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Transport {
    /// Nothing: it is stacked on other devices, or lives in memory.
    #[default]
    None,
    /// NVMe on PCI Express.
    NvmePci {
        /// The controller's kernel name, `nvme0`.
        controller: String,
        /// The controller's address.
        pci: PciAddress,
    },
    /// NVMe over a network.
    NvmeFabric(NvmeFabric),
    /// Serial ATA.
    Sata(Sata),
    /// Serial Attached SCSI, or a RAID controller that hides what is behind it.
    Sas(Sas),
    /// USB mass storage.
    Usb(Usb),
    /// A paravirtual disk.
    Virtio {
        /// The PCI function that carries it; `None` on virtio-mmio.
        pci: Option<PciAddress>,
        /// `virtio-blk` or `virtio-scsi`.
        flavour: String,
    },
    /// iSCSI through the kernel's initiator.
    Iscsi(Remote),
    /// SD or eMMC.
    Mmc {
        /// The controller's PCI function, if it has one.
        pci: Option<PciAddress>,
        /// How the controller talks to it, in the words of a captured kernel log: `HS400 MMC`, `ultra high speed SDR104 SDHC`.
        /// A live machine tells it to root only, in debugfs, and is not asked.
        mode: Fact<String>,
    },
    /// Something else, named by its kernel driver or bus.
    Other {
        /// The driver or bus.
        name: String,
        /// The PCI function that carries it, if any.
        pci: Option<PciAddress>,
    },
}

impl Transport {
    /// The PCI function that carries the data of what is connected so.
    pub const fn function(&self) -> Option<PciAddress> {
        match self {
            Self::NvmePci { pci, .. } => Some(*pci),
            Self::Sata(sata) => sata.pci,
            Self::Sas(sas) => sas.pci,
            Self::Usb(usb) => usb.pci,
            Self::Virtio { pci, .. } | Self::Mmc { pci, .. } | Self::Other { pci, .. } => *pci,
            Self::None | Self::NvmeFabric(_) | Self::Iscsi(_) => None,
        }
    }
}

/// Reads the transport of a whole disk from where it sits.
pub(super) fn read(root: &Root, path: DevicePath<'_>) -> Transport {
    let name = path.name().unwrap_or_default();
    if name.starts_with("nvme") {
        return nvme::read(root, path).unwrap_or_default();
    }
    if path.contains("/devices/virtual/") {
        return virtual_device(name);
    }
    if path.contains("/mmc_host/") {
        return Transport::Mmc { pci: path.pci(), mode: Fact::default() };
    }
    match (path.numbered("host"), path.numbered("virtio")) {
        (None, Some(_)) => Transport::Virtio { pci: path.pci(), flavour: "virtio-blk".to_owned() },
        (Some(_), Some(_)) => Transport::Virtio { pci: path.pci(), flavour: "virtio-scsi".to_owned() },
        (Some(host), None) => scsi(root, path, host),
        (None, None) => Transport::Other { name: bus_or_driver(root, path), pci: path.pci() },
    }
}

/// Devices that are stacked or live in memory carry nothing themselves; those of a network driver do, by a way that
/// sysfs does not show.
fn virtual_device(name: &str) -> Transport {
    let network = ["drbd", "nbd", "rbd"].into_iter().find(|driver| name.starts_with(driver));
    network.map_or(Transport::None, |driver| Transport::Other { name: driver.to_owned(), pci: None })
}

fn scsi(root: &Root, path: DevicePath<'_>, host: &str) -> Transport {
    if let Some(interface) = usb::interface(path) {
        return Transport::Usb(usb::read(root, interface, path));
    }
    if let Some(session) = remote::session(path) {
        return Transport::Iscsi(remote::read_iscsi(root, session));
    }
    let driver = root.text(&format!("/sys/class/scsi_host/{host}/proc_name"));
    let name = driver.value().map_or("scsi", String::as_str).to_owned();
    match path.numbered("ata") {
        Some(port) if !name.starts_with("pata") => Transport::Sata(ata::read(root, port, path)),
        _ if sas::is_sas(path, &name) => Transport::Sas(sas::read(root, path, driver, &device_dir(path))),
        _ => Transport::Other { name, pci: path.pci() },
    }
}

/// The directory of the device that the disk belongs to, such as the SCSI device of `sda`.
fn device_dir(path: DevicePath<'_>) -> String {
    format!("/sys/class/block/{}/device", path.name().unwrap_or_default())
}

/// The driver of the parent device, or the bus that it hangs on, or `unknown`.
fn bus_or_driver(root: &Root, path: DevicePath<'_>) -> String {
    let device = device_dir(path);
    let driver = root.link_name(&format!("{device}/driver"));
    let bus = root.link_name(&format!("{device}/subsystem"));
    driver.get().or(bus.get()).unwrap_or_else(|| "unknown".to_owned())
}
