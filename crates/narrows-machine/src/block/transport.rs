//! What carries the data of a disk to memory, told by the components of its resolved sysfs path; and what SATA, SAS, USB and iSCSI say
//! of it.

use super::{DevicePath, is_numbered};
use crate::nic;
use crate::pci::PciAddress;
use crate::root::Root;
use narrows_base::fact::Fact;
use narrows_base::units::BitsPerSec;

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
pub(super) fn read_transport(root: &Root, path: DevicePath<'_>) -> Transport {
    let name = path.name().unwrap_or_default();
    if name.starts_with("nvme") {
        return read_nvme(root, path).unwrap_or_default();
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
    if let Some(interface) = usb_interface(path) {
        return Transport::Usb(read_usb(root, interface, path));
    }
    if let Some(session) = iscsi_session(path) {
        return Transport::Iscsi(read_iscsi(root, session));
    }
    let driver = root.text(&format!("/sys/class/scsi_host/{host}/proc_name"));
    let name = driver.value().map_or("scsi", String::as_str).to_owned();
    match path.numbered("ata") {
        Some(port) if !name.starts_with("pata") => Transport::Sata(read_ata(root, port, path)),
        _ if is_sas(path, &name) => Transport::Sas(read_sas(root, path, driver, &device_dir(path))),
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

/// A SATA port.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sata {
    /// The kernel's port name, `ata3`.
    pub port: String,
    /// The negotiated line rate, `/sys/class/ata_link/link*/sata_spd` (`6.0 Gbps`).
    pub speed: Fact<BitsPerSec>,
    /// The fastest line rate of the port, `…/hw_sata_spd_limit`.
    pub port_speed: Fact<BitsPerSec>,
    /// The fastest line rate of the drive, from word 76 of its IDENTIFY data (ATA8-ACS, section 7.16.7.36), as smartctl
    /// prints it; absent on a live machine, where the kernel does not show it.
    pub drive_speed: Fact<BitsPerSec>,
    /// The host controller.
    pub pci: Option<PciAddress>,
}

/// Reads the port of a disk below `ataN`. libata numbers the link of port `ataN` `linkN` (kernel
/// `drivers/ata/libata-transport.c`, `ata_tlink_add`); a disk behind a port multiplier shares its host link.
fn read_ata(root: &Root, port: &str, path: DevicePath<'_>) -> Sata {
    let link = format!("/sys/class/ata_link/{}", port.replacen("ata", "link", 1));
    let rate = |file: &str| {
        root.text(&format!("{link}/{file}"))
            .absent_when(|text| text.contains("unknown"))
            .parse(parse_sata_rate)
    };
    Sata {
        port: port.to_owned(),
        speed: rate("sata_spd"),
        port_speed: rate("hw_sata_spd_limit"),
        drive_speed: Fact::absent(link.as_str()),
        pci: path.pci(),
    }
}

/// Reads libata's `6.0 Gbps`.
fn parse_sata_rate(text: &str) -> Option<BitsPerSec> {
    line_rate(text.strip_suffix("Gbps")?.trim(), 1000.0)
}

/// A rate in units of so many Mbit/s; `None` for what is none.
fn line_rate(number: &str, mbit: f64) -> Option<BitsPerSec> {
    let number: f64 = number.parse().ok()?;
    (number > 0.0 && number.is_finite()).then(|| BitsPerSec::from_mbit(number * mbit))
}

/// The model of an ATA disk, whole: words 27 to 46 of IDENTIFY DEVICE (ATA8-ACS, section 7.16), which the ATA
/// Information VPD page carries from byte 60 on (SAT-3, section 12.4.2). `…/device/model` has only 16 characters of it.
pub(super) fn model_of_vpd(page: &[u8]) -> Option<String> {
    const IDENTIFY: usize = 60;
    const MODEL: std::ops::Range<usize> = IDENTIFY + 2 * 27..IDENTIFY + 2 * 47;
    if page.get(1) != Some(&0x89) {
        return None;
    }
    // Each word holds two characters, the first in its high byte.
    let words = page.get(MODEL)?.chunks_exact(2);
    let bytes: Vec<u8> = words.flat_map(|word| word.iter().rev().copied()).collect();
    let text = String::from_utf8(bytes).ok()?;
    let text = text.trim_matches(|c: char| c == ' ' || c == '\0');
    (!text.is_empty() && text.chars().all(|c| !c.is_control())).then(|| text.to_owned())
}

// SAS end devices and the volumes of RAID controllers (kernel `Documentation/ABI/testing/sysfs-class-sas_*`,
// `drivers/scsi/scsi_transport_sas.c`).

/// A SAS end device, or a volume of a RAID controller.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sas {
    /// The negotiated line rate of each phy of the (wide) port, `/sys/class/sas_phy/*/negotiated_linkrate`.
    pub phy_speeds: Vec<BitsPerSec>,
    /// The SCSI host driver, `/sys/class/scsi_host/*/proc_name` (`mpt3sas`, `megaraid_sas`…).
    pub driver: Fact<String>,
    /// Whether the disks behind the controller are hidden from the kernel (hardware RAID).
    pub hidden: bool,
    /// The same for the adapter's own port, when the device hangs on an expander: its rate is shared by everything
    /// behind that expander. Empty without one.
    pub uplink_phy_speeds: Vec<BitsPerSec>,
    /// The expander that the adapter's own port leads to, `expander-0:0`; `None` for a device on the adapter itself.
    pub expander: Option<String>,
    /// The host controller.
    pub pci: Option<PciAddress>,
}

/// Drivers of adapters that speak SAS or make volumes of the disks behind them.
const DRIVERS: &[&str] = &[
    "3w-9xxx",
    "3w-sas",
    "aacraid",
    "aic94xx",
    "arcmsr",
    "esas2r",
    "hisi_sas",
    "hpsa",
    "hptiop",
    "isci",
    "megaraid_sas",
    "mpi3mr",
    "mpt2sas",
    "mpt3sas",
    "mptsas",
    "mvsas",
    "pm80xx",
    "smartpqi",
    "stex",
];

/// Whether a device is a SAS device or the volume of a RAID controller.
fn is_sas(path: DevicePath<'_>, driver: &str) -> bool {
    path.starting("end_device-").is_some() || DRIVERS.iter().any(|known| driver.starts_with(known))
}

/// Reads the port of a device; `driver` is that of its host.
fn read_sas(root: &Root, path: DevicePath<'_>, driver: Fact<String>, device: &str) -> Sas {
    let raid_level = root.text(&format!("{device}/raid_level"));
    let mut ports = path.components().filter(|component| component.starts_with("port-"));
    let first = ports.next();
    let last = ports.next_back();
    let speeds = |port: Option<&str>| port.map(|port| phy_speeds(root, path, port)).unwrap_or_default();
    Sas {
        hidden: driver.value().is_some_and(|driver| hides_disks(driver, path, raid_level.value())),
        phy_speeds: speeds(last.or(first)),
        uplink_phy_speeds: if last.is_some() { speeds(first) } else { Vec::new() },
        expander: path.components().find(|part| part.starts_with("expander-")).map(str::to_owned),
        driver,
        pci: path.pci(),
    }
}

/// The phys of a port are links in its directory.
fn phy_speeds(root: &Root, path: DevicePath<'_>, port: &str) -> Vec<BitsPerSec> {
    let Some(dir) = path.up_to(port) else { return Vec::new() };
    let phys = root.list(dir).into_iter().filter(|name| name.starts_with("phy-"));
    let rate =
        |phy| root.parse(&format!("/sys/class/sas_phy/{phy}/negotiated_linkrate"), parse_sas_rate).get();
    phys.filter_map(rate).collect()
}

/// Reads `12.0 Gbit`; a phy that is disabled or has no link has no rate (`scsi_transport_sas.c`,
/// `sas_linkspeed_names`).
fn parse_sas_rate(text: &str) -> Option<BitsPerSec> {
    line_rate(text.strip_suffix("Gbit")?.trim(), 1000.0)
}

/// Whether a device is a volume that its controller makes, so that the disks behind it cannot be seen. Controllers
/// that pass disks through and make volumes tell them apart by SCSI channel or by `raid_level`.
fn hides_disks(driver: &str, path: DevicePath<'_>, raid_level: Option<&String>) -> bool {
    if let Some(level) = raid_level {
        // hpsa and smartpqi say `N/A` of a disk that is passed through.
        return level != "N/A";
    }
    if path.starting("end_device-").is_some() {
        return false;
    }
    let channel = path.starting("target").and_then(|target| target.split(':').nth(1)?.parse::<u32>().ok());
    makes_volumes(driver, channel)
}

/// Whether what a driver shows on a SCSI channel is a volume that its controller makes of disks that cannot be seen;
/// without a channel, what the driver mostly shows.
pub fn makes_volumes(driver: &str, channel: Option<u32>) -> bool {
    match driver {
        // `MEGASAS_MAX_PD_CHANNELS`: physical disks are on channels 0 and 1.
        "megaraid_sas" => channel.is_none_or(|channel| channel >= 2),
        // `CONTAINER_CHANNEL`: volumes are on channel 0.
        "aacraid" => channel.is_none_or(|channel| channel == 0),
        // `RAID_CHANNEL`, `MPI3MR_RAID_CHANNEL`: volumes are on channel 1.
        "mpt2sas" | "mpt3sas" | "mpi3mr" => channel == Some(1),
        // `HPSA_PHYSICAL_DEVICE_BUS`, `PQI_PHYSICAL_DEVICE_BUS`: disks are on channel 0.
        "hpsa" | "smartpqi" => channel.is_none_or(|channel| channel != 0),
        "3w-9xxx" | "3w-sas" | "arcmsr" | "esas2r" | "hptiop" | "ipr" | "stex" => true,
        _ => false,
    }
}

/// A USB device and the controller that it hangs on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Usb {
    /// The kernel's device name, `2-1.4`.
    pub device: String,
    /// The negotiated speed, `…/speed` (Mbit/s: 12, 480, 5000, 10000, 20000).
    pub speed: Fact<BitsPerSec>,
    /// The USB version that the device announces, `…/version` (`3.20`).
    pub version: Fact<String>,
    /// The fastest rate that its descriptors announce, as `lsusb -v` shows them, or that its maker does; sysfs has none
    /// of that.
    pub most_speed: Fact<BitsPerSec>,
    /// The fastest speed of the port's root hub.
    pub root_hub_speed: Fact<BitsPerSec>,
    /// The driver, `uas` or `usb-storage`.
    pub driver: Fact<String>,
    /// The host controller.
    pub pci: Option<PciAddress>,
}

/// The interface component of a path through USB, such as `2-1.4:1.0`.
fn usb_interface(path: DevicePath<'_>) -> Option<&str> {
    path.numbered("usb")?;
    path.components().rev().find(|component| is_interface(component))
}

/// Reads the device that `interface` belongs to.
fn read_usb(root: &Root, interface: &str, path: DevicePath<'_>) -> Usb {
    let device = interface.split(':').next().unwrap_or_default();
    let dir = path.up_to(device).unwrap_or_default();
    let driver = path.up_to(interface).unwrap_or_default();
    Usb {
        device: device.to_owned(),
        speed: usb_speed(root, dir),
        version: root.text(&format!("{dir}/version")),
        most_speed: Fact::default(),
        root_hub_speed: root_hub_speed(root, path, device),
        driver: root.link_name(&format!("{driver}/driver")),
        pci: path.pci(),
    }
}

/// The speed of the root hub, or that of the hub which shares the connector with it: a USB 3 port is one port of a USB
/// 2 hub and one of a USB 3 hub, tied by `peer` (kernel `Documentation/ABI/testing/sysfs-bus-usb`).
fn root_hub_speed(root: &Root, path: DevicePath<'_>, device: &str) -> Fact<BitsPerSec> {
    let hub = path.numbered("usb").and_then(|hub| path.up_to(hub)).unwrap_or_default();
    let own = usb_speed(root, hub);
    let first_port = device.split('.').next().unwrap_or_default();
    let peer = root.resolve(&format!("{hub}/{first_port}/port/peer"));
    let Some(peer) = peer.value() else { return own };
    let peer = DevicePath::new(peer);
    let Some(peer_hub) = peer.numbered("usb").and_then(|hub| peer.up_to(hub)) else { return own };
    let other = usb_speed(root, peer_hub);
    match (own.value(), other.value()) {
        (Some(own), Some(other)) if own >= other => usb_speed(root, hub),
        (_, Some(_)) => other,
        _ => own,
    }
}

fn usb_speed(root: &Root, dir: &str) -> Fact<BitsPerSec> {
    root.text(&format!("{dir}/speed")).absent_when(|text| text == "unknown").parse(parse_usb_speed)
}

/// Reads `480` or `1.5`, in Mbit/s.
fn parse_usb_speed(text: &str) -> Option<BitsPerSec> {
    line_rate(text, 1.0)
}

/// `bus-port[.port…]:configuration.interface`.
fn is_interface(component: &str) -> bool {
    let Some((device, interface)) = component.split_once(':') else { return false };
    let digits_and_dots = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_digit())
            && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    device.split_once('-').is_some_and(|(bus, ports)| digits_and_dots(bus) && digits_and_dots(ports))
        && digits_and_dots(interface)
}

/// The far end of a network path, and the interface that leads to it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Remote {
    /// The server's address, without port.
    pub address: Fact<String>,
    /// The server's port.
    pub port: Fact<u16>,
    /// The local interface that the routing table chooses for the address.
    pub interface: Fact<String>,
}

impl Remote {
    /// A far end, with the interface that the routing table chooses for it.
    pub(crate) fn new(root: &Root, address: Fact<String>, port: Fact<u16>) -> Self {
        let interface = match address.value() {
            Some(address) => nic::interface_to(root, address),
            None => Fact::default(),
        };
        Self { address, port, interface }
    }
}

/// Reads the far end of the iSCSI session on the path. The address in use comes first: a portal may have sent us
/// elsewhere than to the one that was configured.
fn read_iscsi(root: &Root, session: &str) -> Remote {
    let connection = session.replacen("session", "connection", 1);
    let names = root.list("/sys/class/iscsi_connection");
    let prefix = format!("{connection}:");
    let name = names.into_iter().find(|name| name.starts_with(&prefix)).unwrap_or(format!("{connection}:0"));
    let either = |current: &str, configured: &str| {
        let read = |file: &str| root.text(&format!("/sys/class/iscsi_connection/{name}/{file}"));
        let usable = |fact: &Fact<String>| fact.value().is_some_and(|text| !text.is_empty());
        let current = read(current);
        if usable(&current) { current } else { read(configured) }
    };
    let port = either("port", "persistent_port").parse(|text| text.parse().ok());
    Remote::new(root, either("address", "persistent_address"), port)
}

/// The `sessionN` component of an iSCSI device.
fn iscsi_session(path: DevicePath<'_>) -> Option<&str> {
    path.components().rev().find(|component| is_numbered(component, "session"))
}

/// An NVMe-oF connection.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NvmeFabric {
    /// The controller's kernel name, `nvme1`.
    pub controller: String,
    /// `tcp`, `rdma` or `fc`, `/sys/class/nvme/*/transport`.
    pub transport: String,
    /// Where it leads.
    pub remote: Remote,
    /// The number of I/O queues (connections), `/sys/class/nvme/*/queue_count` less the admin queue.
    pub queues: Fact<u32>,
}

/// The transport of a namespace through the controller on its path; `None` for the head of a multipath namespace,
/// which hangs on a subsystem rather than on a controller.
fn read_nvme(root: &Root, path: DevicePath<'_>) -> Option<Transport> {
    let controller = path.parent_name().filter(|name| is_numbered(name, "nvme"))?;
    let dir = format!("/sys/class/nvme/{controller}");
    let transport = root.text(&format!("{dir}/transport"));
    let transport = transport.value().map_or("pcie", String::as_str);
    Some(match (transport, path.pci()) {
        ("pcie", Some(pci)) => Transport::NvmePci { controller: controller.to_owned(), pci },
        ("tcp" | "rdma" | "fc", _) => Transport::NvmeFabric(fabric(root, controller, transport)),
        (other, pci) => Transport::Other { name: format!("nvme-{other}"), pci },
    })
}

fn fabric(root: &Root, controller: &str, transport: &str) -> NvmeFabric {
    let dir = format!("/sys/class/nvme/{controller}");
    let address = root.text(&format!("{dir}/address"));
    let option = |name: &str| {
        let found = |text: String| fabric_option(&text, name).map(str::to_owned);
        address.clone().and_then(|text| Fact::of(found(text), address.source().as_str()))
    };
    let mut remote = Remote::new(root, option("traddr"), option("trsvcid").parse(|text| text.parse().ok()));
    let bound = option("host_iface");
    if bound.value().is_some() {
        remote.interface = bound;
    }
    NvmeFabric {
        controller: controller.to_owned(),
        transport: transport.to_owned(),
        remote,
        // `queue_count` counts the admin queue too (`nvme_ctrl.queue_count`).
        queues: root.parse(&format!("{dir}/queue_count"), |text| text.parse::<u32>().ok()?.checked_sub(1)),
    }
}

/// One value of `traddr=192.168.1.2,trsvcid=4420,src_addr=192.168.1.5`.
pub fn fabric_option<'a>(address: &'a str, name: &str) -> Option<&'a str> {
    let mut options = address.split(',').filter_map(|option| option.split_once('='));
    options.find(|(key, value)| *key == name && !value.is_empty()).map(|(_, value)| value)
}

/// The hidden paths of the head `nvme0n1`: `nvme0c0n1`, `nvme0c1n1`… among `names`.
pub(crate) fn paths_of<'a>(head: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let Some((subsystem, namespace)) = split_namespace(head) else { return Vec::new() };
    let is_path = |name: &str| {
        let Some((controller, of_namespace)) = split_namespace(name) else { return false };
        let path = controller.strip_prefix(subsystem);
        of_namespace == namespace && path.is_some_and(|path| is_numbered(path, "c"))
    };
    names.filter(|name| is_path(name)).map(str::to_owned).collect()
}

/// `nvme0c1n2` → `nvme0c1` and `2`.
fn split_namespace(name: &str) -> Option<(&str, &str)> {
    let (before, namespace) = name.rsplit_once('n')?;
    let plain = !namespace.is_empty() && namespace.bytes().all(|byte| byte.is_ascii_digit());
    (plain && before.starts_with("nvme")).then_some((before, namespace))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rates_are_those_of_libata() {
        assert_eq!(parse_sata_rate("6.0 Gbps"), Some(BitsPerSec::from_mbit(6000.0)));
        assert_eq!(parse_sata_rate("1.5 Gbps"), Some(BitsPerSec::from_mbit(1500.0)));
        for text in ["<unknown>", "", "-1 Gbps", "inf Gbps", "NaN Gbps", "6.0"] {
            assert_eq!(parse_sata_rate(text), None, "{text}");
        }
    }

    #[test]
    fn the_model_is_read_with_its_bytes_swapped() {
        let mut page = vec![0u8; 572];
        page[1] = 0x89;
        let name = format!("{:<40}", "Samsung SSD 860 EVO 500GB");
        for (word, pair) in name.as_bytes().chunks(2).enumerate() {
            page[114 + 2 * word] = pair[1];
            page[115 + 2 * word] = pair[0];
        }
        assert_eq!(model_of_vpd(&page).as_deref(), Some("Samsung SSD 860 EVO 500GB"));
        page[1] = 0x80;
        assert_eq!(model_of_vpd(&page), None);
    }

    proptest! {
        #[test]
        fn no_page_panics(page in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _ = model_of_vpd(&page);
        }
    }

    fn at(target: &str) -> String {
        format!("/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/host0/{target}/block/sda")
    }

    fn hidden(driver: &str, target: &str, level: Option<&str>) -> bool {
        hides_disks(driver, DevicePath::new(&at(target)), level.map(str::to_owned).as_ref())
    }

    #[test]
    fn a_raid_volume_is_told_from_a_disk_that_is_passed_through() {
        assert!(hidden("megaraid_sas", "target0:2:0/0:2:0:0", None));
        assert!(!hidden("megaraid_sas", "target0:0:9/0:0:9:0", None));
        assert!(hidden("aacraid", "target0:0:0/0:0:0:0", None));
        assert!(!hidden("aacraid", "target0:1:4/0:1:4:0", None));
        assert!(hidden("mpt3sas", "target0:1:0/0:1:0:0", None));
        assert!(!hidden("mpt3sas", "port-0:0/end_device-0:0/target0:0:0/0:0:0:0", None));
        assert!(hidden("smartpqi", "target0:1:0/0:1:0:0", Some("RAID-1(1+0)")));
        assert!(!hidden("smartpqi", "target0:0:0/0:0:0:0", Some("N/A")));
        assert!(!hidden("isci", "target0:0:0/0:0:0:0", None));
        assert!(hidden("hpsa", "target0:1:0/0:1:0:0", None) && !hidden("hpsa", "target0:0:0/0:0:0:0", None));
    }

    #[test]
    fn link_rates_are_those_of_the_sas_transport() {
        assert_eq!(parse_sas_rate("12.0 Gbit"), Some(BitsPerSec::from_mbit(12_000.0)));
        assert_eq!(parse_sas_rate("22.5 Gbit"), Some(BitsPerSec::from_mbit(22_500.0)));
        for text in ["Unknown", "Phy disabled", "Spin-up hold", ""] {
            assert_eq!(parse_sas_rate(text), None, "{text}");
        }
    }

    #[test]
    fn speeds_are_in_megabit() {
        assert_eq!(parse_usb_speed("10000"), Some(BitsPerSec::from_mbit(10000.0)));
        assert_eq!(parse_usb_speed("1.5"), Some(BitsPerSec::from_mbit(1.5)));
        for text in ["unknown", "", "0", "-480", "inf"] {
            assert_eq!(parse_usb_speed(text), None, "{text}");
        }
    }

    #[test]
    fn an_interface_is_told_from_scsi_and_pci_addresses() {
        assert!(is_interface("2-1.4:1.0"));
        for text in ["2-1.4", "6:0:0:0", "0000:00:14.0", "target6:0:0", "port-0:0", "usb2", "-1:1.0", "2-:1"]
        {
            assert!(!is_interface(text), "{text}");
        }
    }

    #[test]
    fn the_address_of_a_fabric_is_taken_apart() {
        let address = "traddr=192.168.1.2,trsvcid=4420,host_iface=eth1,src_addr=192.168.1.5";
        assert_eq!(fabric_option(address, "traddr"), Some("192.168.1.2"));
        assert_eq!(fabric_option(address, "trsvcid"), Some("4420"));
        assert_eq!(fabric_option(address, "host_iface"), Some("eth1"));
        assert_eq!(fabric_option(address, "host_traddr"), None);
        assert_eq!(fabric_option("traddr=,trsvcid", "traddr"), None);
    }

    #[test]
    fn hidden_paths_belong_to_the_head_of_their_subsystem_and_namespace() {
        let names = ["nvme0c0n1", "nvme0c1n1", "nvme0c0n12", "nvme1c0n1", "nvme0n1", "nvme01c0n1", "sda"];
        assert_eq!(paths_of("nvme0n1", names.into_iter()), ["nvme0c0n1", "nvme0c1n1"]);
        assert!(paths_of("sda", names.into_iter()).is_empty());
    }

    proptest! {
        #[test]
        fn no_name_or_address_panics(text in "\\PC{0,40}", name in "nvme[0-9cn]{0,8}") {
            let _ = fabric_option(&text, "traddr");
            let _ = paths_of(&text, [name.as_str(), text.as_str()].into_iter());
        }
    }
}
