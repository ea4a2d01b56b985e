//! Which files the kernel answers by asking the hardware, which wakes a device that sleeps.

/// Attributes of a PCI function that the kernel reads from its configuration space each time (kernel `drivers/pci/pci-sysfs.c`:
/// `config`, `current_link_*`, `max_link_*`; `drivers/pci/vpd.c`).
const ASKED_OF_HARDWARE: [&str; 6] =
    ["config", "current_link_speed", "current_link_width", "max_link_speed", "max_link_width", "vpd"];

/// Whether reading `path` would wake a PCI function. `status` reads `power/runtime_status`; a kernel without power management
/// of devices has no such file, and lets none of them sleep.
pub(super) fn would_wake(path: &str, status: impl FnOnce(&str) -> Option<String>) -> bool {
    let Some((function, attribute)) = path.rsplit_once('/') else { return false };
    let is_pci = function.starts_with("/sys/bus/pci/devices/") || function.starts_with("/sys/devices/pci");
    if !is_pci || !ASKED_OF_HARDWARE.contains(&attribute) {
        return false;
    }
    status(&format!("{function}/power/runtime_status")).is_some_and(|status| status != "active")
}

#[cfg(test)]
mod tests {
    use crate::Machine;
    use crate::root::Root;
    use crate::tree::Tree;

    const FUNCTION: &str = "/sys/bus/pci/devices/0000:02:00.0";

    fn root(status: Option<&str>) -> Root {
        let mut tree = Tree::new();
        for (name, content) in [
            ("class", "0x010802"),
            ("config", "\x0b"),
            ("current_link_speed", "5.0 GT/s"),
            ("max_link_width", "4"),
        ] {
            tree.file(&format!("{FUNCTION}/{name}"), content);
        }
        if let Some(status) = status {
            tree.file(&format!("{FUNCTION}/power/runtime_status"), status);
        }
        Root::from_tree(tree)
    }

    /// What of the hardware's own files can be read.
    fn told(root: &Root) -> Vec<&'static str> {
        let names = ["config", "current_link_speed", "max_link_width", "class"].into_iter();
        names.filter(|name| root.text(&format!("{FUNCTION}/{name}")).value().is_some()).collect()
    }

    #[test]
    fn nothing_is_asked_of_hardware_that_sleeps() {
        for status in ["suspended\n", "suspending", "resuming", "error", "unsupported"] {
            let root = root(Some(status)).letting_sleep();
            assert_eq!(told(&root), ["class"], "{status}: what the kernel knows by itself is told");
            assert!(Machine::read(&root).pci.values().all(|one| one.link.current_speed.value().is_none()));
        }
    }

    #[test]
    fn hardware_that_is_awake_is_asked_and_so_is_all_where_nobody_minds() {
        let all = ["config", "current_link_speed", "max_link_width", "class"];
        assert_eq!(told(&root(Some("active\n")).letting_sleep()), all);
        assert_eq!(told(&root(None).letting_sleep()), all, "no power management");
        assert_eq!(told(&root(Some("suspended"))), all, "of a root that does not mind");
    }
}
