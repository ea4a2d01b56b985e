//! What speaks against reading a drive at full rate, as far as can be known without waking it: it sleeps, it comes and goes,
//! or it is failing.

use std::collections::BTreeMap;
use std::fmt;

use crate::Machine;
use crate::reading::powered;
use crate::root::Root;

/// What speaks against reading a drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unfit {
    /// The medium can be taken out, `…/removable`.
    Removable,
    /// A device on the way to it is suspended (`power/runtime_status`): reading would wake it.
    Asleep {
        /// The place of that device below `/sys/devices`.
        device: String,
    },
    /// The kernel does not take requests for it, `…/device/state`.
    NotRunning {
        /// The state, such as `offline`.
        state: String,
    },
    /// Its SMART log warns that it fails.
    Failing {
        /// The warnings in words.
        warnings: Vec<&'static str>,
    },
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Removable => write!(f, "it is removable"),
            Self::Asleep { device } => {
                write!(f, "it sleeps ({device} is suspended), and reading would wake it")
            }
            Self::NotRunning { state } => write!(f, "the kernel has it {state}"),
            Self::Failing { warnings } => write!(f, "it is failing: {}", warnings.join(", ")),
        }
    }
}

/// The disks that sleep, by kernel name. To be asked first: reading config space or a SMART log wakes a device.
pub fn sleepers(root: &Root) -> BTreeMap<String, Unfit> {
    let names = root.list("/sys/class/block").into_iter();
    names.filter_map(|name| asleep(root, &name).map(|why| (name, why))).collect()
}

/// What speaks against reading a drive, by kernel name; `None` where nothing is known to. Nothing is sent to the drive.
pub fn of_drive(
    root: &Root,
    (machine, sleepers): (&Machine, &BTreeMap<String, Unfit>),
    name: &str,
) -> Option<Unfit> {
    let disk = machine.block.get(name).and_then(|device| device.partition_of.as_deref()).unwrap_or(name);
    if machine.block.get(disk).is_some_and(|disk| disk.removable) {
        return Some(Unfit::Removable);
    }
    sleepers.get(disk).cloned().or_else(|| not_running(root, disk)).or_else(|| {
        let log = machine.health.get(disk)?.smart.value()?;
        let warnings = log.warnings();
        (!warnings.is_empty()).then_some(Unfit::Failing { warnings })
    })
}

/// The nearest device from the drive towards the processor that is suspended.
fn asleep(root: &Root, disk: &str) -> Option<Unfit> {
    let place = root.resolve(&format!("/sys/class/block/{disk}")).get()?;
    // A block device has no power management of its own, and says `unsupported`.
    let sleeps = |dir: &String| {
        let status = root.text(&format!("{dir}/power/runtime_status")).get();
        matches!(status.as_deref(), Some("suspended" | "suspending"))
    };
    let asleep = powered(&place).into_iter().find(sleeps)?;
    let device = asleep.rsplit('/').next().unwrap_or(&asleep).to_owned();
    Some(Unfit::Asleep { device })
}

/// The state of a SCSI device (`running`) or an NVMe controller (`live`), where it is another one.
fn not_running(root: &Root, disk: &str) -> Option<Unfit> {
    let state = root.text(&format!("/sys/class/block/{disk}/device/state")).get()?;
    (!matches!(state.as_str(), "running" | "live")).then_some(Unfit::NotRunning { state })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::{DriveHealth, SmartLog};
    use crate::tree::Tree;
    use narrows_base::fact::Fact;

    const DRIVE: &str = "/sys/devices/pci0000:00/0000:00:1c.0/0000:02:00.0/nvme/nvme0/nvme0n1";

    fn of(change: impl FnOnce(&mut Tree), smart: SmartLog) -> Option<Unfit> {
        let mut tree = Tree::new();
        tree.link("/sys/class/block/nvme0n1", DRIVE)
            .file(&format!("{DRIVE}/power/runtime_status"), "unsupported\n")
            .file("/sys/devices/pci0000:00/0000:00:1c.0/power/runtime_status", "active\n");
        change(&mut tree);
        let root = Root::from_tree(tree);
        let sleepers = sleepers(&root);
        let mut machine = Machine::read(&root);
        let health = DriveHealth { smart: Fact::known(smart, "log page 02h"), ..DriveHealth::default() };
        machine.health.insert("nvme0n1".to_owned(), health);
        of_drive(&root, (&machine, &sleepers), "nvme0n1")
    }

    #[test]
    fn a_drive_that_is_awake_and_well_is_fit() {
        assert_eq!(of(|_| (), SmartLog::default()), None);
        let hot = SmartLog { critical_warning: 0b10010, ..SmartLog::default() };
        assert_eq!(of(|_| (), hot), None, "heat and a lost backup do not make it fail");
        let live = |tree: &mut Tree| {
            tree.file(&format!("{DRIVE}/device/state"), "live\n");
        };
        assert_eq!(of(live, SmartLog::default()), None);
    }

    #[test]
    fn what_sleeps_on_the_way_is_named() {
        let suspend = |tree: &mut Tree| {
            tree.file(
                "/sys/devices/pci0000:00/0000:00:1c.0/0000:02:00.0/power/runtime_status",
                "suspended\n",
            );
        };
        let asleep = of(suspend, SmartLog::default()).expect("sleeps");
        assert_eq!(asleep, Unfit::Asleep { device: "0000:02:00.0".to_owned() });
        assert!(asleep.to_string().contains("reading would wake it"), "{asleep}");
    }

    #[test]
    fn removable_stopped_and_failing_drives_are_unfit() {
        let removable = |tree: &mut Tree| {
            tree.file(&format!("{DRIVE}/removable"), "1\n");
        };
        assert_eq!(of(removable, SmartLog::default()), Some(Unfit::Removable));
        let offline = |tree: &mut Tree| {
            tree.file(&format!("{DRIVE}/device/state"), "offline\n");
        };
        assert_eq!(of(offline, SmartLog::default()), Some(Unfit::NotRunning { state: "offline".to_owned() }));
        let failing = SmartLog { critical_warning: 0b101, ..SmartLog::default() };
        let failing = of(|_| (), failing).expect("fails").to_string();
        assert_eq!(failing, "it is failing: its spare blocks run out, its reliability is degraded");
    }
}
