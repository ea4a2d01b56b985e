//! What drives say of themselves: temperature, throttling, wear, errors.

mod hwmon;
mod smart;

use std::collections::BTreeMap;

pub use smart::{SmartChange, SmartLog, Throttling};

pub(crate) use hwmon::{Monitors, read as monitored};

use super::Machine;
use super::block::Transport;
use super::block::device_path::{DevicePath, is_numbered};
use super::fact::Fact;
use super::hex;
use super::ioctl::{Unanswered, nvme};
use super::root::Root;
use narrows_base::units::Celsius;

/// What a drive says of itself at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DriveHealth {
    /// Its temperature: the composite one of the SMART log, or that of its hardware monitor.
    pub temperature: Fact<Celsius>,
    /// From this temperature on it warns, and may slow down: `temp1_max` of its hardware monitor, which for NVMe is the
    /// over-temperature threshold (by default WCTEMP of Identify Controller).
    pub warning: Fact<Celsius>,
    /// The SMART / Health Information log, of NVMe drives; needs root.
    pub smart: Fact<SmartLog>,
}

impl DriveHealth {
    /// Whether the drive is at or above its warning temperature.
    pub fn is_hot(&self) -> bool {
        let warns = self.smart.value().is_some_and(SmartLog::is_too_hot);
        let is_above = match (self.temperature.value(), self.warning.value()) {
            // A threshold of nothing is none.
            (Some(now), Some(threshold)) => threshold.get() > 0.0 && now >= threshold,
            _ => false,
        };
        warns || is_above
    }
}

/// What a probe answers when the kernel refuses to tell.
const DENIED: &str = "denied";

/// Asks drives, by kernel name. A drive that says nothing at all is left out.
pub fn read<'a>(root: &Root, drives: impl IntoIterator<Item = &'a str>) -> BTreeMap<String, DriveHealth> {
    let monitors = Monitors::find(root);
    drives
        .into_iter()
        .map(|name| (name.to_owned(), of_drive(root, &monitors, name)))
        .filter(|(_, health)| !is_silent(health))
        .collect()
}

/// The NVMe drives in a machine, which can be asked without disturbing anything. A SATA drive would interrupt its queue to
/// answer, and one that stands still would start.
pub fn nvme_drives(machine: &Machine) -> impl Iterator<Item = &str> {
    let drives = machine.block.values().filter(|device| {
        device.partition_of.is_none() && matches!(device.transport, Transport::NvmePci { .. })
    });
    drives.map(|device| device.name.as_str())
}

fn is_silent(health: &DriveHealth) -> bool {
    let is_absent = matches!(health.smart, Fact::Absent { .. });
    is_absent && health.temperature.value().is_none() && health.warning.value().is_none()
}

fn of_drive(root: &Root, monitors: &Monitors, name: &str) -> DriveHealth {
    let device = root.resolve(&format!("/sys/class/block/{name}")).get().unwrap_or_default();
    let controller = controller(root, &device);
    let smart = controller.as_deref().map(|controller| smart(root, controller)).unwrap_or_default();
    let monitor = monitors.of(&device).map(str::to_owned).or_else(|| {
        let controller = root.resolve(&format!("/sys/class/nvme/{}", controller?)).get()?;
        monitors.of(&format!("{controller}/{name}")).map(str::to_owned)
    });
    let monitored =
        |attribute: &str| monitor.as_deref().map(|dir| hwmon::read(root, dir, attribute)).unwrap_or_default();
    let composite = smart.clone().and_then(|log| match log.temperature {
        Some(temperature) => Fact::known(temperature, smart.source().as_str()),
        None => Fact::absent(smart.source().as_str()),
    });
    DriveHealth {
        temperature: if composite.value().is_some() { composite } else { monitored("temp1_input") },
        warning: monitored("temp1_max"),
        smart,
    }
}

/// The controller of a namespace, by the resolved path of its block device; one of several for the head of a multipath
/// namespace, which hangs on a subsystem.
pub(super) fn controller(root: &Root, device: &str) -> Option<String> {
    let path = DevicePath::new(device);
    let parent = path.parent_name()?;
    if is_numbered(parent, "nvme") {
        return Some(parent.to_owned());
    }
    path.contains("/nvme-subsystem/").then_some(())?;
    let subsystem = root.list(&format!("/sys/class/nvme-subsystem/{parent}"));
    subsystem.into_iter().find(|name| is_numbered(name, "nvme"))
}

/// The log through a probe, so that a recorded machine has it too.
fn smart(root: &Root, controller: &str) -> Fact<SmartLog> {
    let answer = root.probe(&format!("nvme-smart/{controller}"), || match nvme::smart_log(controller) {
        Ok(log) => Some(hex::encode(&log)),
        Err(Unanswered::Denied) => Some(DENIED.to_owned()),
        Err(Unanswered::Absent) => None,
    });
    if answer.value().is_some_and(|text| text == DENIED) {
        return Fact::Denied { source: answer.source().clone(), need: "root".to_owned() };
    }
    answer.parse(|text| SmartLog::parse(&hex::decode(text)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    const NVME: &str = "/sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0";
    const SATA: &str = "/sys/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0";

    fn machine() -> Tree {
        let mut tree = Tree::new();
        for (name, device) in [("nvme0n1", format!("{NVME}/nvme0n1")), ("sda", format!("{SATA}/block/sda"))] {
            tree.link(&format!("/sys/class/block/{name}"), &device).file(&format!("{device}/size"), "1\n");
        }
        for (monitor, name, device, now, most) in [
            ("hwmon3", "nvme", NVME, "44850", "81850"),
            ("hwmon1", "drivetemp", SATA, "38000", "60000"),
            ("hwmon0", "coretemp", "/sys/devices/platform/coretemp.0", "90000", "80000"),
        ] {
            let dir = format!("{device}/hwmon/{monitor}");
            tree.link(&format!("/sys/class/hwmon/{monitor}"), &dir)
                .link(&format!("{dir}/device"), device)
                .file(&format!("{dir}/name"), &format!("{name}\n"))
                .file(&format!("{dir}/temp1_input"), &format!("{now}\n"))
                .file(&format!("{dir}/temp1_max"), &format!("{most}\n"));
        }
        tree
    }

    #[test]
    fn a_monitor_belongs_to_the_drive_below_its_device() {
        let health = read(&Root::from_tree(machine()), ["sda", "nvme0n1", "vda"]);
        assert_eq!(health.keys().collect::<Vec<_>>(), ["nvme0n1", "sda"]);
        assert_eq!(health["sda"].temperature.get(), Some(Celsius::new(38.0)));
        assert_eq!(health["sda"].warning.get(), Some(Celsius::new(60.0)));
        assert_eq!(health["nvme0n1"].temperature.get(), Some(Celsius::new(44.85)));
        assert!(!health["sda"].is_hot());
    }

    #[test]
    fn a_recorded_log_gives_the_composite_temperature() {
        let mut tree = machine();
        tree.file("/narrows/probe/nvme-smart/nvme0", &hex::encode(&smart::tests::log()));
        let health = read(&Root::from_tree(tree), ["nvme0n1"]);
        let health = &health["nvme0n1"];
        // 313 K, where the monitor says 44.85 °C.
        assert_eq!(health.temperature.value().map(ToString::to_string).as_deref(), Some("40 °C"));
        assert_eq!(health.smart.value().map(|log| log.media_errors), Some(2));
    }

    #[test]
    fn a_log_that_takes_root_is_denied_and_a_garbled_one_is_garbled() {
        for (text, is_denied) in [("denied", true), ("00 0g", false), ("0011", false)] {
            let mut tree = machine();
            tree.file("/narrows/probe/nvme-smart/nvme0", text);
            let health = read(&Root::from_tree(tree), ["nvme0n1"]);
            let smart = &health["nvme0n1"].smart;
            assert_eq!(matches!(smart, Fact::Denied { .. }), is_denied, "{smart:?}");
            assert_eq!(matches!(smart, Fact::Garbled { .. }), !is_denied, "{smart:?}");
            assert!(health["nvme0n1"].temperature.value().is_some(), "the monitor still tells");
        }
    }

    #[test]
    fn the_head_of_a_multipath_namespace_is_asked_through_one_of_its_controllers() {
        let mut tree = machine();
        let subsystem = "/sys/devices/virtual/nvme-subsystem/nvme-subsys0";
        tree.link("/sys/class/nvme-subsystem/nvme-subsys0", subsystem)
            .link(&format!("{subsystem}/nvme0"), NVME)
            .link("/sys/class/nvme/nvme0", NVME)
            .link("/sys/class/block/nvme9n1", &format!("{subsystem}/nvme9n1"))
            .file(&format!("{subsystem}/nvme9n1/size"), "1\n");
        let health = read(&Root::from_tree(tree), ["nvme9n1"]);
        assert_eq!(health["nvme9n1"].temperature.get(), Some(Celsius::new(44.85)));
    }

    #[test]
    fn a_drive_is_hot_from_its_threshold_on_or_when_it_says_so() {
        let at = |now: f64, warning: f64| DriveHealth {
            temperature: Fact::known(Celsius::new(now), ""),
            warning: Fact::known(Celsius::new(warning), ""),
            smart: Fact::default(),
        };
        assert!(at(75.0, 75.0).is_hot() && !at(74.0, 75.0).is_hot() && !at(74.0, 0.0).is_hot());
        let mut log = smart::tests::log();
        log[0] = 0b10;
        let smart = SmartLog::parse(&log).map(|log| Fact::known(log, "")).expect("is whole");
        assert!(DriveHealth { smart, ..DriveHealth::default() }.is_hot());
    }
}
