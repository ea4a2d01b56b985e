//! Network interfaces, `/sys/class/net` (kernel `Documentation/ABI/testing/sysfs-class-net`).

use std::collections::{BTreeMap, BTreeSet};

use crate::block::DevicePath;
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

/// Types of interfaces whose packets leave through another one: `ppp`, `tunl`, `ip6tnl`, `sit`, `gre`, `ip6gre`, and `none` of `tun` and
/// WireGuard (`include/uapi/linux/if_arp.h`).
const TUNNEL_TYPES: [u64; 7] = [512, 768, 769, 776, 778, 823, 65534];
/// The same of tunnels that carry Ethernet, by `DEVTYPE` (`drivers/net/vxlan`, `drivers/net/geneve.c`).
const TUNNEL_KINDS: [&str; 2] = ["vxlan", "geneve"];

/// The interfaces whose bytes cross another interface of this machine, too: bonds and teams, VLANs, bridges and macvlans lie on others
/// (`lower_*`, kernel `Documentation/ABI/testing/sysfs-class-net`), tunnels send through them.
///
/// A macvlan or VLAN whose parent is in another network namespace has no `lower_*` here and is none of these: its bytes are counted once
/// in this namespace.
pub fn stacked_interfaces(root: &Root) -> BTreeSet<String> {
    const CLASS: &str = "/sys/class/net";
    let names: BTreeSet<String> = root.list(CLASS).into_iter().collect();
    let is_stacked = |name: &String| {
        let place = format!("{CLASS}/{name}");
        let entries = root.list(&place);
        let mut below = entries.iter().filter_map(|entry| entry.strip_prefix("lower_"));
        below.any(|below| names.contains(below)) || is_tunnel(root, &place)
    };
    names.iter().filter(|name| is_stacked(name)).cloned().collect()
}

fn is_tunnel(root: &Root, place: &str) -> bool {
    let number = root.number(&format!("{place}/type")).get();
    let event = root.text(&format!("{place}/uevent")).get().unwrap_or_default();
    let kind = event.lines().find_map(|line| line.strip_prefix("DEVTYPE="));
    number.is_some_and(|number| TUNNEL_TYPES.contains(&number))
        || kind.is_some_and(|kind| TUNNEL_KINDS.contains(&kind))
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

#[cfg(test)]
mod stacked_tests {
    use super::*;
    use crate::activity::parse_nics;
    use crate::tree::Tree;

    fn machine(interfaces: &[(&str, &[&str], &str, &str)]) -> Root {
        let mut tree = Tree::new();
        for (name, below, number, kind) in interfaces {
            let place = format!("/sys/class/net/{name}");
            tree.file(&format!("{place}/type"), &format!("{number}\n"))
                .file(&format!("{place}/uevent"), &format!("{kind}INTERFACE={name}\nIFINDEX=2\n"));
            for below in *below {
                tree.link(&format!("{place}/lower_{below}"), &format!("../{below}"));
            }
        }
        Root::from_tree(tree)
    }

    /// A storage server with two ports of 25 Gbit/s in a bond, a VLAN of storage and one of others on it, a bridge and a macvlan on these.
    const STACK: [(&str, &[&str], &str, &str); 8] = [
        ("lo", &[], "772", ""),
        ("ens1f0", &[], "1", ""),
        ("ens1f1", &[], "1", ""),
        ("bond0", &["ens1f0", "ens1f1"], "1", "DEVTYPE=bond\n"),
        ("bond0.10", &["bond0"], "1", "DEVTYPE=vlan\n"),
        ("bond0.20", &["bond0"], "1", "DEVTYPE=vlan\n"),
        ("br20", &["bond0.20"], "1", "DEVTYPE=bridge\n"),
        ("mv0", &["bond0"], "1", "DEVTYPE=macvlan\n"),
    ];
    /// Its `/proc/net/dev` after 6 GB were sent through the VLAN, and 1 GB through the bridge.
    const COUNTERS: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:     120       2    0    0    0     0          0         0      120       2    0    0    0     0       0          0
ens1f0: 4000000   60000    0    0    0     0          0         0 3500000000  390000    0    0    0     0       0          0
ens1f1: 3000000   50000    0    0    0     0          0         0 3500000000  390000    0    0    0     0       0          0
 bond0: 7000000  110000    0    0    0     0          0         0 7000000000  780000    0    0    0     0       0          0
bond0.10: 6000000  90000    0    0    0     0          0         0 6000000000  670000    0    0    0     0       0          0
bond0.20: 1000000  20000    0    0    0     0          0         0 1000000000  110000    0    0    0     0       0          0
  br20:  900000   20000    0    0    0     0          0         0  990000000  110000    0    0    0     0       0          0
   mv0:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0
";

    #[test]
    fn bytes_of_a_bond_are_those_of_its_members() {
        let stacked = stacked_interfaces(&machine(&STACK));
        assert_eq!(
            stacked.iter().map(String::as_str).collect::<Vec<_>>(),
            ["bond0", "bond0.10", "bond0.20", "br20", "mv0"]
        );
        let sent =
            parse_nics(COUNTERS).into_iter().filter(|(name, _)| name != "lo" && !stacked.contains(name));
        assert_eq!(sent.map(|(_, nic)| nic.sent.get()).sum::<u64>(), 7_000_000_000);
    }

    // As Linux 6.18 shows a bridge with a port, a vxlan and a tun.
    #[test]
    fn a_bridge_and_tunnels_lie_on_others_and_ports_do_not() {
        let seen: [(&str, &[&str], &str, &str); 6] = [
            ("br0", &["eth0"], "1", "DEVTYPE=bridge\n"),
            ("eth0", &[], "1", ""),
            ("lo", &[], "772", ""),
            ("p0", &[], "1", ""),
            ("t0", &[], "65534", ""),
            ("vx0", &[], "1", "DEVTYPE=vxlan\n"),
        ];
        let stacked = stacked_interfaces(&machine(&seen));
        assert_eq!(stacked.iter().map(String::as_str).collect::<Vec<_>>(), ["br0", "t0", "vx0"]);
    }

    #[test]
    fn a_macvlan_whose_parent_is_elsewhere_counts() {
        let stacked =
            stacked_interfaces(&machine(&[("eth0", &[], "1", "DEVTYPE=macvlan\n"), ("lo", &[], "772", "")]));
        assert!(stacked.is_empty());
        assert!(stacked_interfaces(&machine(&[])).is_empty());
    }
}
