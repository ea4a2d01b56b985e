//! Temperatures of drives by the kernel's hardware monitoring (`Documentation/hwmon/sysfs-interface.rst`): `drivetemp`
//! for SATA, `nvme` for NVMe. No right is needed to read them.

use crate::root::Root;
use narrows_base::fact::Fact;
use narrows_base::units::Celsius;

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
pub(crate) fn read(root: &Root, dir: &str, attribute: &str) -> Fact<Celsius> {
    root.parse(&format!("{dir}/{attribute}"), |text| {
        let thousandths: i32 = text.parse().ok()?;
        Some(Celsius::new(f64::from(thousandths) / 1000.0))
    })
}
