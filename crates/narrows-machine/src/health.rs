//! What drives say of themselves: temperature, throttling, wear, errors.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Machine;
use crate::block::{DevicePath, Transport, is_numbered};
use crate::bytes::array;
use crate::fact::Fact;
use crate::kernel;
use crate::root::Root;
use narrows_base::hex;
use narrows_base::units::{Bytes, Celsius, Nanos};

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
    /// What an ATA drive counts against itself. A live machine does not ask: that would interrupt its queue.
    pub ata: Fact<AtaCounts>,
}

/// What an ATA drive counts against itself: its SMART attributes, as smartmontools has them (`drivedb.h`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AtaCounts {
    /// Whether it expects to fail: an attribute is at its threshold.
    pub is_failing: bool,
    /// Sectors that were replaced by spare ones, 5.
    pub reallocated: u64,
    /// Sectors that it could not read and that wait to be written, 197.
    pub pending: u64,
    /// Sectors that could not be read, 198, or reads that failed, 187: the larger.
    pub uncorrectable: u64,
    /// Transfers over its cable that came with errors since it was made, 199.
    pub cable: u64,
}

impl AtaCounts {
    /// Takes the raw value of an attribute; whether it is one of these.
    pub fn take(&mut self, id: u64, raw: u64) -> bool {
        match id {
            5 => self.reallocated = raw,
            197 => self.pending = raw,
            187 | 198 => self.uncorrectable = self.uncorrectable.max(raw),
            199 => self.cable = raw,
            _ => return false,
        }
        true
    }
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
        |attribute: &str| monitor.as_deref().map(|dir| monitored(root, dir, attribute)).unwrap_or_default();
    let composite = smart.clone().and_then(|log| Fact::of(log.temperature, smart.source().as_str()));
    DriveHealth {
        temperature: if composite.value().is_some() { composite } else { monitored("temp1_input") },
        warning: monitored("temp1_max"),
        smart,
        ata: Fact::default(),
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
    let ask = || kernel::smart_log(controller).map(|log| hex_of(&log));
    root.guarded_probe(&format!("nvme-smart/{controller}"), ask)
        .parse(|text| SmartLog::parse(&bytes_of_hex(text)?))
}

// The SMART / Health Information log of an NVMe controller: log page 02h, NVM Express Base Specification 2.0, section
// 5.16.1.3.

/// The length of the log.
const LENGTH: usize = 512;
/// Data units are thousands of 512 bytes.
const DATA_UNIT: u64 = 512_000;
const MINUTE: u64 = 60_000_000_000;
const SECOND: u64 = 1_000_000_000;

/// What a controller says of itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SmartLog {
    /// Warnings in force, a bit each: 0 spare blocks run out, 1 temperature beyond a threshold, 2 reliability degraded,
    /// 3 read-only, 4 backup of volatile memory failed.
    pub critical_warning: u8,
    /// The composite temperature, to which its thresholds belong; `None` when the drive reports 0 K.
    pub temperature: Option<Celsius>,
    /// The spare blocks left, in percent.
    pub available_spare: u8,
    /// Below this percentage of spare blocks the drive warns.
    pub spare_threshold: u8,
    /// The part of its rated life that is used, in percent; may pass 100.
    pub percentage_used: u8,
    /// Bytes that hosts read, to 512 kB.
    pub read: Bytes,
    /// Bytes that hosts wrote, to 512 kB.
    pub written: Bytes,
    /// Unrecovered data errors.
    pub media_errors: u64,
    /// The time that the composite temperature was at or above its warning threshold, to a minute.
    pub warning_time: Nanos,
    /// The same for the critical threshold.
    pub critical_time: Nanos,
    /// The temperatures of single sensors, those that there are.
    pub sensors: Vec<Celsius>,
    /// Host-controlled thermal management: light and heavy throttling.
    pub throttling: [Throttling; 2],
}

/// One state of thermal management.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Throttling {
    /// How often the controller went to this state.
    pub transitions: u64,
    /// How long it was in it, to a second.
    pub time: Nanos,
}

/// What happened between two logs of one controller.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SmartChange {
    /// Bytes that hosts read, to 512 kB.
    #[serde(rename = "read_bytes")]
    pub read: Bytes,
    /// Bytes that hosts wrote, to 512 kB.
    #[serde(rename = "written_bytes")]
    pub written: Bytes,
    /// Unrecovered data errors.
    pub media_errors: u64,
    /// The time at or above the warning or critical threshold, to a minute.
    #[serde(rename = "hot_ns")]
    pub hot: Nanos,
    /// How often the controller began to throttle, in either state.
    pub throttle_transitions: u64,
    /// How long it throttled, to a second.
    #[serde(rename = "throttled_ns")]
    pub throttled: Nanos,
}

impl SmartLog {
    /// The critical warnings that tell of a failing drive. Heat and a lost backup of volatile memory do not.
    pub fn warnings(&self) -> Vec<&'static str> {
        const WARNINGS: [(u8, &str); 3] = [
            (0b1, "its spare blocks run out"),
            (0b100, "its reliability is degraded"),
            (0b1000, "it went to read-only"),
        ];
        let set = WARNINGS.iter().filter(|(bit, _)| self.critical_warning & bit != 0);
        set.map(|(_, words)| *words).collect()
    }

    /// Understands the log; `None` when it is not whole.
    pub fn parse(log: &[u8]) -> Option<Self> {
        let log = log.get(..LENGTH)?;
        let short = |at: usize| u64::from(u16::from_le_bytes(chunk(log, at)));
        let word = |at: usize| u64::from(u32::from_le_bytes(chunk(log, at)));
        // 128 bits; what does not fit 64 is garbage and saturates.
        let long = |at: usize| u64::try_from(u128::from_le_bytes(chunk(log, at))).unwrap_or(u64::MAX);
        let byte = |at: usize| log.get(at).copied().unwrap_or_default();
        let temperature = |at: usize| u16::try_from(short(at)).ok().filter(|kelvins| *kelvins > 0);
        let spans = |count: u64, unit: u64| Nanos::new(count.saturating_mul(unit));
        Some(Self {
            critical_warning: byte(0),
            temperature: temperature(1).map(Celsius::from_kelvin),
            available_spare: byte(3),
            spare_threshold: byte(4),
            percentage_used: byte(5),
            read: Bytes::new(long(32).saturating_mul(DATA_UNIT)),
            written: Bytes::new(long(48).saturating_mul(DATA_UNIT)),
            media_errors: long(160),
            warning_time: spans(word(192), MINUTE),
            critical_time: spans(word(196), MINUTE),
            sensors: (0..8)
                .filter_map(|sensor| temperature(200 + 2 * sensor))
                .map(Celsius::from_kelvin)
                .collect(),
            throttling: [0, 4].map(|state| Throttling {
                transitions: word(216 + state),
                time: spans(word(224 + state), SECOND),
            }),
        })
    }

    /// Whether a temperature is beyond one of its thresholds now.
    pub const fn is_too_hot(&self) -> bool {
        self.critical_warning & 0b10 != 0
    }

    /// What happened since an earlier log. A counter that went back says nothing.
    pub fn since(&self, before: &Self) -> SmartChange {
        let bytes = |of: fn(&Self) -> Bytes| of(self).saturating_sub(of(before));
        let time = |of: fn(&Self) -> Nanos| of(self).get().saturating_sub(of(before).get());
        let state = |log: &Self, of: fn(&Throttling) -> u64| {
            log.throttling.iter().map(of).fold(0, u64::saturating_add)
        };
        let throttling = |of| state(self, of).saturating_sub(state(before, of));
        SmartChange {
            read: bytes(|log| log.read),
            written: bytes(|log| log.written),
            media_errors: self.media_errors.saturating_sub(before.media_errors),
            hot: Nanos::new(time(|log| log.warning_time).max(time(|log| log.critical_time))),
            throttle_transitions: throttling(|state| state.transitions),
            throttled: Nanos::new(throttling(|state| state.time.get())),
        }
    }
}

/// `N` bytes from `at`; zeros beyond the end, where no field lies.
fn chunk<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    array(bytes, at).unwrap_or([0; N])
}

/// The bytes in hexadecimal, eight to a word: longer words would be taken for identifiers when a record is redacted.
fn hex_of(bytes: &[u8]) -> String {
    bytes.chunks(8).map(hex::digits).collect::<Vec<_>>().join(" ")
}

fn bytes_of_hex(text: &str) -> Option<Vec<u8>> {
    hex::bytes(&text.split_ascii_whitespace().collect::<String>())
}

// Temperatures of drives by the kernel's hardware monitoring (`Documentation/hwmon/sysfs-interface.rst`): `drivetemp`
// for SATA, `nvme` for NVMe. No right is needed to read them.

/// The drivers whose first sensor is a drive's temperature.
const DRIVERS: [&str; 2] = ["drivetemp", "nvme"];

/// The monitors of all drives: the device of each and its directory.
#[derive(Debug, Default)]
pub(crate) struct Monitors(Vec<(String, String)>);

impl Monitors {
    /// Finds them.
    pub(crate) fn find(root: &Root) -> Self {
        let names = root.list("/sys/class/hwmon").into_iter();
        let monitors = names.map(|name| format!("/sys/class/hwmon/{name}")).filter_map(|dir| {
            let driver = root.text(&format!("{dir}/name")).get()?;
            DRIVERS.contains(&driver.as_str()).then_some(())?;
            Some((root.resolve(&format!("{dir}/device")).get()?, dir))
        });
        Self(monitors.collect())
    }

    /// The directory of the monitor of a device, or of one above it, by its resolved path in sysfs.
    pub(crate) fn of(&self, device: &str) -> Option<&str> {
        let is_above = |above: &str| device.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'));
        self.0.iter().find(|(monitored, _)| is_above(monitored)).map(|(_, dir)| dir.as_str())
    }
}

/// One attribute of a monitor, in thousandths of a degree.
pub(crate) fn monitored(root: &Root, dir: &str, attribute: &str) -> Fact<Celsius> {
    root.parse(&format!("{dir}/{attribute}"), |text| {
        let thousandths: i32 = text.parse().ok()?;
        Some(Celsius::new(f64::from(thousandths) / 1000.0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;
    use proptest::prelude::*;

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
        tree.file("/narrows/probe/nvme-smart/nvme0", &hex_of(&log()));
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
            ..DriveHealth::default()
        };
        assert!(at(75.0, 75.0).is_hot() && !at(74.0, 75.0).is_hot() && !at(74.0, 0.0).is_hot());
        let mut log = log();
        log[0] = 0b10;
        let smart = SmartLog::parse(&log).map(|log| Fact::known(log, "")).expect("is whole");
        assert!(DriveHealth { smart, ..DriveHealth::default() }.is_hot());
    }

    #[test]
    fn what_is_no_hexadecimal_is_refused() {
        assert_eq!(bytes_of_hex("00ff 7f"), Some(vec![0, 255, 127]));
        for text in ["0", "0g", "+1", "00 1"] {
            assert_eq!(bytes_of_hex(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn bytes_survive_in_words_that_no_redaction_takes(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let text = hex_of(&bytes);
            prop_assert!(text.split(' ').all(|word| word.len() <= 16));
            prop_assert_eq!(bytes_of_hex(&text), Some(bytes));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,60}") {
            let _ = bytes_of_hex(&text);
        }
    }

    /// The log of a Samsung 970 EVO as `nvme smart-log` decodes it: 40 °C, 100 % spare, 3 % used, 21 391 213 units read,
    /// 41 001 995 written, no media errors, sensors at 40 and 49 °C. The thermal counters are made up.
    fn log() -> Vec<u8> {
        let mut log = vec![0; 512];
        let mut put = |at: usize, bytes: &[u8]| log[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &[0, 0x39, 0x01, 100, 10, 3]);
        put(32, &21_391_213_u128.to_le_bytes());
        put(48, &41_001_995_u128.to_le_bytes());
        put(160, &2_u128.to_le_bytes());
        put(192, &7_u32.to_le_bytes());
        put(196, &1_u32.to_le_bytes());
        put(200, &313_u16.to_le_bytes());
        put(202, &322_u16.to_le_bytes());
        put(216, &5_u32.to_le_bytes());
        put(220, &1_u32.to_le_bytes());
        put(224, &90_u32.to_le_bytes());
        put(228, &4_u32.to_le_bytes());
        log
    }

    #[test]
    fn the_log_is_read_as_the_specification_lays_it_out() {
        let log = SmartLog::parse(&log()).expect("is whole");
        // 0x139 = 313 K.
        assert_eq!(log.temperature.map(|t| t.to_string()).as_deref(), Some("40 °C"));
        assert_eq!((log.available_spare, log.spare_threshold, log.percentage_used), (100, 10, 3));
        // nvme-cli prints 10.95 TB read and 20.99 TB written for these units.
        assert_eq!(log.read, Bytes::new(10_952_301_056_000));
        assert_eq!(log.written, Bytes::new(20_993_021_440_000));
        assert_eq!(log.media_errors, 2);
        assert_eq!(log.warning_time.as_secs_f64(), 420.0);
        assert_eq!(log.critical_time.as_secs_f64(), 60.0);
        let sensors: Vec<String> = log.sensors.iter().map(ToString::to_string).collect();
        assert_eq!(sensors, ["40 °C", "49 °C"]);
        assert_eq!(log.throttling.map(|state| state.transitions), [5, 1]);
        assert_eq!(log.throttling.map(|state| state.time.as_secs_f64()), [90.0, 4.0]);
        assert!(!log.is_too_hot());
    }

    #[test]
    fn what_happened_is_the_difference() {
        let before = SmartLog::parse(&log()).expect("is whole");
        let mut later = log();
        later[0] = 0b10;
        later[48..64].copy_from_slice(&41_001_997_u128.to_le_bytes());
        later[192] = 8;
        later[220] = 3;
        later[228] = 10;
        let later = SmartLog::parse(&later).expect("is whole");
        let change = later.since(&before);
        assert_eq!((change.written, change.read), (Bytes::new(1_024_000), Bytes::new(0)));
        assert_eq!((change.throttle_transitions, change.throttled.as_secs_f64()), (2, 6.0));
        assert_eq!(change.hot.as_secs_f64(), 60.0);
        assert!(later.is_too_hot());
        assert_eq!(before.since(&later), SmartChange::default(), "nothing is ever negative");
    }

    #[test]
    fn a_drive_without_sensors_has_no_temperature() {
        let log = SmartLog::parse(&[0; 512]).expect("is whole");
        assert_eq!((log.temperature, log.sensors.len()), (None, 0));
        assert_eq!(SmartLog::parse(&[0; 511]), None);
    }

    proptest! {
        #[test]
        fn no_log_panics(bytes in proptest::collection::vec(any::<u8>(), 0..600), other in any::<[u8; 32]>()) {
            let mut second = bytes.clone();
            second.splice(..second.len().min(32), other);
            let (first, second) = (SmartLog::parse(&bytes), SmartLog::parse(&second));
            prop_assert_eq!(first.is_some(), bytes.len() >= 512);
            if let (Some(first), Some(second)) = (first, second) {
                let _ = first.since(&second);
            }
        }
    }
}
