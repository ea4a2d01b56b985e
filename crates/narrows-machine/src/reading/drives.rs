//! The temperatures of drives.

use std::collections::BTreeMap;

use super::{DriveReading, asleep, powered};
use crate::health::{Monitors, monitored};
use crate::root::Root;

/// A drive with a hardware monitor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrivePlace {
    /// The directory of its monitor.
    monitor: String,
    /// Whether it answers without interrupting anything. A SATA or SAS drive empties its queue for the answer, and one that
    /// stands still may start.
    pub answers_freely: bool,
    powered: Vec<String>,
}

/// Finds the drives, by kernel name.
pub(super) fn find(root: &Root) -> BTreeMap<String, DrivePlace> {
    let monitors = Monitors::find(root);
    let names = root.list("/sys/class/block").into_iter();
    names
        .filter_map(|name| {
            let place = super::whole_disk(root, &name)?;
            let monitor = monitors.of(&place)?.to_owned();
            let answers_freely = name.starts_with("nvme");
            Some((name, DrivePlace { monitor, answers_freely, powered: powered(&place) }))
        })
        .collect()
}

impl DrivePlace {
    /// Asks the monitor, unless something on the way sleeps.
    pub(super) fn read(&self, root: &Root) -> Option<DriveReading> {
        if asleep(root, &self.powered).is_some() {
            return None;
        }
        let of = |attribute: &str| monitored(root, &self.monitor, attribute).get();
        Some(DriveReading { temperature: of("temp1_input"), warning: of("temp1_max") })
    }
}
