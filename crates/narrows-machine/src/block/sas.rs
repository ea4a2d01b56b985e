//! SAS end devices and the volumes of RAID controllers (kernel `Documentation/ABI/testing/sysfs-class-sas_*`,
//! `drivers/scsi/scsi_transport_sas.c`).

use super::device_path::DevicePath;
use crate::pci::PciAddress;
use crate::root::Root;
use narrows_base::fact::Fact;
use narrows_base::units::BitsPerSec;

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
pub(super) fn is_sas(path: DevicePath<'_>, driver: &str) -> bool {
    path.starting("end_device-").is_some() || DRIVERS.iter().any(|known| driver.starts_with(known))
}

/// Reads the port of a device; `driver` is that of its host.
pub(super) fn read(root: &Root, path: DevicePath<'_>, driver: Fact<String>, device: &str) -> Sas {
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
    phys.filter_map(|phy| {
        root.text(&format!("/sys/class/sas_phy/{phy}/negotiated_linkrate"))
            .value()
            .and_then(|t| parse_rate(t))
    })
    .collect()
}

/// Reads `12.0 Gbit`; a phy that is disabled or has no link has no rate (`scsi_transport_sas.c`,
/// `sas_linkspeed_names`).
fn parse_rate(text: &str) -> Option<BitsPerSec> {
    let number: f64 = text.strip_suffix("Gbit")?.trim().parse().ok()?;
    (number > 0.0 && number.is_finite()).then(|| BitsPerSec::from_mbit(number * 1000.0))
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

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(parse_rate("12.0 Gbit"), Some(BitsPerSec::from_mbit(12_000.0)));
        assert_eq!(parse_rate("22.5 Gbit"), Some(BitsPerSec::from_mbit(22_500.0)));
        for text in ["Unknown", "Phy disabled", "Spin-up hold", ""] {
            assert_eq!(parse_rate(text), None, "{text}");
        }
    }
}
