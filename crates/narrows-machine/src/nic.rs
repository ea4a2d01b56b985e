//! Network interfaces, `/sys/class/net` (kernel `Documentation/ABI/testing/sysfs-class-net`).

use std::collections::BTreeMap;

use crate::block::device_path::DevicePath;
use crate::pci::PciAddress;
use crate::root::Root;
use narrows_base::fact::Fact;
use narrows_base::units::{BitsPerSec, Bytes};

/// One network interface.
#[derive(Debug, Clone, Default)]
pub struct Nic {
    /// Its name, `eth0`.
    pub name: String,
    /// The line rate, `…/speed`; absent for a virtual interface or one that is down.
    pub speed: Fact<BitsPerSec>,
    /// `full` or `half`, `…/duplex`.
    pub duplex: Fact<String>,
    /// `up`, `down`, `unknown`…, `…/operstate`.
    pub state: Fact<String>,
    /// The largest packet, `…/mtu`.
    pub mtu: Fact<Bytes>,
    /// The kernel driver, `…/device/driver`.
    pub driver: Fact<String>,
    /// The PCI function that carries it.
    pub pci: Option<PciAddress>,
    /// Interfaces that it is made of: members of a bond, ports of a bridge, the parent of a VLAN.
    pub lower: Vec<String>,
    /// Whether it has no hardware of its own (`/sys/devices/virtual`).
    pub is_virtual: bool,
}

/// Reads every network interface.
pub fn read(root: &Root) -> BTreeMap<String, Nic> {
    let names = root.list("/sys/class/net");
    // `bonding_masters` and the like are files, not interfaces.
    let names = names.into_iter().filter(|name| root.exists(&format!("/sys/class/net/{name}/ifindex")));
    names.map(|name| (name.clone(), read_one(root, name))).collect()
}

fn read_one(root: &Root, name: String) -> Nic {
    let dir = format!("/sys/class/net/{name}");
    let real = root.resolve(&dir).get().unwrap_or_default();
    let path = DevicePath::new(&real);
    let text = |file: &str| root.text(&format!("{dir}/{file}"));
    let entries = root.list(&dir);
    let lower = entries.iter().filter_map(|entry| entry.strip_prefix("lower_")).map(str::to_owned).collect();
    Nic {
        speed: speed(root, &dir),
        duplex: text("duplex").absent_when(|text| text == "unknown"),
        state: text("operstate"),
        mtu: root.number(&format!("{dir}/mtu")).map(Bytes::new),
        driver: root.link_name(&format!("{dir}/device/driver")),
        pci: path.pci(),
        lower,
        is_virtual: path.contains("/devices/virtual/"),
        name,
    }
}

/// The line rate of the interface whose directory is `dir`.
pub(crate) fn speed(root: &Root, dir: &str) -> Fact<BitsPerSec> {
    root.text(&format!("{dir}/speed")).absent_when(|text| says_no_speed(text)).parse(parse_speed)
}

/// `SPEED_UNKNOWN` is -1, which old kernels print without its sign; some drivers say 0 (kernel
/// `include/uapi/linux/ethtool.h`). A link that is down answers `EINVAL`, which [`Root`] makes absent.
fn says_no_speed(text: &str) -> bool {
    matches!(text, "-1" | "0" | "4294967295" | "65535")
}

/// Reads Mbit/s.
fn parse_speed(text: &str) -> Option<BitsPerSec> {
    text.parse::<u32>().ok().filter(|speed| *speed > 0).map(|speed| BitsPerSec::from_mbit(f64::from(speed)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    fn add(tree: &mut Tree, name: &str, device: &str, speed: &str) {
        let dir = format!("{device}/net/{name}");
        tree.link(&format!("/sys/class/net/{name}"), &format!("../../{}", dir.trim_start_matches("/sys/")))
            .file(&format!("{dir}/ifindex"), "2")
            .file(&format!("{dir}/speed"), speed)
            .file(&format!("{dir}/duplex"), "full")
            .file(&format!("{dir}/operstate"), "up")
            .file(&format!("{dir}/mtu"), "9000");
    }

    fn machine() -> BTreeMap<String, Nic> {
        let mut tree = Tree::new();
        let card = "/sys/devices/pci0000:00/0000:00:03.2/0000:05:00.1";
        add(&mut tree, "ens5f1", card, "25000\n");
        tree.link(&format!("{card}/net/ens5f1/device"), "../..")
            .link(&format!("{card}/driver"), "../../../../bus/pci/drivers/ice");
        add(&mut tree, "bond0", "/sys/devices/virtual", "50000");
        tree.link("/sys/devices/virtual/net/bond0/lower_ens5f1", &format!("{card}/net/ens5f1"));
        add(&mut tree, "eth0", "/sys/devices/pci0000:00/0000:00:03.0/virtio2", "-1");
        tree.file("/sys/class/net/bonding_masters", "bond0");
        read(&Root::from_tree(tree))
    }

    #[test]
    fn a_card_tells_its_speed_driver_and_function() {
        let nics = machine();
        let card = &nics["ens5f1"];
        assert_eq!(card.speed.get(), Some(BitsPerSec::from_mbit(25_000.0)));
        assert_eq!(card.driver.value().map(String::as_str), Some("ice"));
        assert_eq!(card.pci.map(|pci| pci.to_string()).as_deref(), Some("0000:05:00.1"));
        assert_eq!(card.mtu.get(), Some(Bytes::new(9000)));
        assert!(!card.is_virtual && card.lower.is_empty());
    }

    #[test]
    fn a_bond_is_virtual_and_names_its_members() {
        let nics = machine();
        assert!(nics["bond0"].is_virtual);
        assert_eq!(nics["bond0"].lower, ["ens5f1"]);
        assert_eq!(nics["bond0"].pci, None);
        assert_eq!(nics.len(), 3);
    }

    #[test]
    fn a_paravirtual_card_has_a_function_but_no_speed() {
        let nics = machine();
        assert_eq!(nics["eth0"].pci.map(|pci| pci.to_string()).as_deref(), Some("0000:00:03.0"));
        assert_eq!(nics["eth0"].speed, Fact::absent("/sys/class/net/eth0/speed"));
    }

    #[test]
    fn the_interfaces_of_this_machine_are_those_of_its_record() {
        let live = Root::recording();
        let nics = read(&live);
        assert!(nics["lo"].is_virtual);
        let again = read(&Root::from_tree(live.into_record().expect("was recording")));
        assert_eq!(format!("{nics:?}"), format!("{again:?}"));
    }

    #[test]
    fn garbage_for_a_speed_is_told_from_none() {
        assert_eq!(parse_speed("fast"), None);
        assert_eq!(parse_speed("-5"), None);
        assert!(says_no_speed("-1") && !says_no_speed("10"));
    }
}
