//! Which interfaces count bytes that another interface of the same machine counts as well.

use std::collections::BTreeSet;

use crate::root::Root;

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
