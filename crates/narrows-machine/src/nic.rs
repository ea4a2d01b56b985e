//! Network interfaces, `/sys/class/net` (kernel `Documentation/ABI/testing/sysfs-class-net`).

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::block::DevicePath;
use crate::fact::Fact;
use crate::pci::PciAddress;
use crate::root::Root;
use narrows_base::units::{BitsPerSec, Bytes};

/// One network interface.
#[derive(Debug, Clone, Default)]
pub struct Nic {
    /// Its name, `eth0`.
    pub name: String,
    /// The line rate, `…/speed`; absent for a virtual interface or one that is down.
    pub speed: Fact<BitsPerSec>,
    /// The fastest that its hardware can do; only captures tell (`Supported link modes` of ethtool).
    pub most_speed: Fact<BitsPerSec>,
    /// The fastest that the other end of the wire offers, likewise (`Link partner advertised link modes`).
    pub partner_speed: Fact<BitsPerSec>,
    /// The fastest that it offers to the other end, which is a setting.
    pub offered_speed: Fact<BitsPerSec>,
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

impl Nic {
    /// Its rate and what its hardware could do, where it runs below that.
    pub fn is_slow(&self) -> Option<(BitsPerSec, BitsPerSec)> {
        let (speed, most) = (self.speed.get()?, self.most_speed.get()?);
        (!self.is_virtual && speed < most).then_some((speed, most))
    }
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
        most_speed: Fact::default(),
        partner_speed: Fact::default(),
        offered_speed: Fact::default(),
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

/// Flags of a route (kernel `include/uapi/linux/route.h`, `ipv6_route.h`).
const RTF_UP: u32 = 0x1;
const RTF_REJECT: u32 = 0x200;
const RTF_LOCAL: u32 = 0x8000_0000;

/// One route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The network that it leads to.
    pub network: IpAddr,
    /// How many leading bits of an address must be those of the network.
    pub prefix: u32,
    /// Where packets go next; all zeros when the network is reached directly.
    pub gateway: IpAddr,
    /// Of two routes with the same prefix the one with the lower metric is taken.
    pub metric: u32,
    pub flags: u32,
    pub interface: String,
}

impl Route {
    const fn is_usable(&self) -> bool {
        self.flags & RTF_UP != 0 && self.flags & RTF_REJECT == 0
    }

    fn covers(&self, address: IpAddr) -> bool {
        let (network, address, width) = match (self.network, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                (network.to_bits().into(), address.to_bits().into(), 32)
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => (network.to_bits(), address.to_bits(), 128),
            _ => return false,
        };
        let differing: u128 = network ^ address;
        match width - self.prefix.min(width) {
            128 => true,
            free => differing >> free == 0,
        }
    }
}

/// The interface that packets to `address` leave through. A zone (`fe80::1%eth0`) names it itself; an address of this
/// machine is reached through `lo`. Absent when no route leads there or `address` is a host name.
pub fn interface_to(root: &Root, address: &str) -> Fact<String> {
    if let Some((_, zone)) = address.split_once('%') {
        return Fact::known(zone.to_owned(), format!("zone of {address}"));
    }
    let Ok(address) = address.trim_matches(['[', ']']).parse::<IpAddr>() else {
        return Fact::absent("/proc/net/route");
    };
    let address = address.to_canonical();
    let (table, parse): (_, fn(&str) -> Vec<Route>) = match address {
        IpAddr::V4(_) => ("/proc/net/route", parse_ipv4),
        IpAddr::V6(_) => ("/proc/net/ipv6_route", parse_ipv6),
    };
    if is_own(root, address) {
        return Fact::known("lo".to_owned(), "/proc/net/fib_trie");
    }
    let interface = |routes: Vec<Route>| Some(choose(&routes, address)?.interface.clone());
    root.text(table).and_then(|text| Fact::of(interface(parse(&text)), table))
}

/// The local table of IPv4 is not in `/proc/net/route`; that of IPv6 is in `ipv6_route`.
fn is_own(root: &Root, address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) if address.is_loopback() => true,
        IpAddr::V4(address) => {
            root.text("/proc/net/fib_trie").value().is_some_and(|trie| has_local(trie, address))
        }
        IpAddr::V6(_) => false,
    }
}

/// Whether `fib_trie` has `address` as a leaf with a `/32 host LOCAL` below it.
fn has_local(trie: &str, address: Ipv4Addr) -> bool {
    let mut is_leaf = false;
    for line in trie.lines() {
        match line.trim_start().strip_prefix("|-- ") {
            Some(leaf) => is_leaf = leaf.trim().parse() == Ok(address),
            None if is_leaf && line.contains("/32 host LOCAL") => return true,
            None => {}
        }
    }
    false
}

/// The route that packets to `address` take.
pub(crate) fn choose(routes: &[Route], address: IpAddr) -> Option<&Route> {
    let fitting = routes.iter().filter(|route| route.covers(address));
    fitting.min_by_key(|route| (std::cmp::Reverse(route.prefix), route.metric))
}

/// The usable routes of `/proc/net/route`.
pub fn parse_ipv4(text: &str) -> Vec<Route> {
    text.lines().skip(1).filter_map(ipv4_route).filter(Route::is_usable).collect()
}

/// A line of `/proc/net/route` (kernel `net/ipv4/fib_trie.c`, `fib_route_seq_show`). Addresses are hexadecimal words in the byte
/// order of the machine that wrote them, which is taken to be little-endian.
pub(crate) fn ipv4_route(line: &str) -> Option<Route> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [interface, destination, gateway, flags, _, _, metric, mask, ..] = fields[..] else { return None };
    let address = |text: &str| Some(Ipv4Addr::from_bits(hex(text)?.swap_bytes()).into());
    Some(Route {
        network: address(destination)?,
        prefix: hex(mask)?.count_ones(),
        gateway: address(gateway)?,
        metric: metric.parse().ok()?,
        flags: hex(flags)?,
        interface: interface.to_owned(),
    })
}

/// The usable routes of `/proc/net/ipv6_route`.
pub fn parse_ipv6(text: &str) -> Vec<Route> {
    text.lines().filter_map(ipv6_route).filter(Route::is_usable).collect()
}

/// A line of `/proc/net/ipv6_route` (kernel `net/ipv6/ip6_fib.c`, `ipv6_route_native_seq_show`), whose numbers are all
/// hexadecimal.
pub(crate) fn ipv6_route(line: &str) -> Option<Route> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [destination, prefix, _, _, gateway, metric, _, _, flags, interface] = fields[..] else {
        return None;
    };
    let flags = hex(flags)?;
    let interface = if flags & RTF_LOCAL == 0 { interface } else { "lo" };
    Some(Route {
        network: hex_ipv6(destination)?.into(),
        prefix: hex(prefix).filter(|prefix| *prefix <= 128)?,
        gateway: hex_ipv6(gateway)?.into(),
        metric: hex(metric)?,
        flags,
        interface: interface.to_owned(),
    })
}

fn hex(text: &str) -> Option<u32> {
    u32::from_str_radix(text, 16).ok()
}

/// An address as the kernel prints it in tables: 32 digits.
pub(crate) fn hex_ipv6(text: &str) -> Option<Ipv6Addr> {
    (text.len() == 32).then(|| u128::from_str_radix(text, 16).ok().map(Ipv6Addr::from)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::activity::parse_nics;
    use crate::tree::Tree;
    use proptest::prelude::*;

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

    fn with_interfaces(interfaces: &[(&str, &[&str], &str, &str)]) -> Root {
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
        let stacked = stacked_interfaces(&with_interfaces(&STACK));
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
        let stacked = stacked_interfaces(&with_interfaces(&seen));
        assert_eq!(stacked.iter().map(String::as_str).collect::<Vec<_>>(), ["br0", "t0", "vx0"]);
    }

    #[test]
    fn a_macvlan_whose_parent_is_elsewhere_counts() {
        let stacked = stacked_interfaces(&with_interfaces(&[
            ("eth0", &[], "1", "DEVTYPE=macvlan\n"),
            ("lo", &[], "772", ""),
        ]));
        assert!(stacked.is_empty());
        assert!(stacked_interfaces(&with_interfaces(&[])).is_empty());
    }

    const IPV4: &str = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
        eth0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n\
        wlan0\t00000000\t0101A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0\n\
        eth0\t000200C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n\
        eth2\t0000000A\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0\n\
        *\t0000010A\t00000000\t0201\t0\t0\t0\t0000FFFF\t0\t0\t0\n";
    const IPV6: &str = "\
        fd000000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth1\n\
        00000000000000000000000000000000 00 00000000000000000000000000000000 00 fd000000000000000000000000000001 00000400 00000002 00000000 00000003     eth0\n\
        fd000000000000000000000000000002 80 00000000000000000000000000000000 00 00000000000000000000000000000000 00000000 00000003 00000000 80200001     eth1\n\
        00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo\n";
    const TRIE: &str = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 192.0.2.0\n        /24 link UNICAST\nLocal:\n\
        \x20    |-- 192.0.2.2\n        /32 host LOCAL\n     |-- 192.0.2.255\n        /32 link BROADCAST\n";

    fn interface(address: &str) -> Option<String> {
        let mut tree = Tree::new();
        tree.file("/proc/net/route", IPV4)
            .file("/proc/net/ipv6_route", IPV6)
            .file("/proc/net/fib_trie", TRIE);
        interface_to(&Root::from_tree(tree), address).get()
    }

    #[test]
    fn the_longest_prefix_wins_and_then_the_lowest_metric() {
        assert_eq!(interface("192.0.2.9").as_deref(), Some("eth0"));
        assert_eq!(interface("10.9.8.7").as_deref(), Some("eth2"));
        assert_eq!(interface("8.8.8.8").as_deref(), Some("eth0"));
        assert_eq!(interface("::ffff:10.9.8.7").as_deref(), Some("eth2"));
        assert_eq!(interface("fd00::77").as_deref(), Some("eth1"));
        assert_eq!(interface("[2001:db8::1]").as_deref(), Some("eth0"));
    }

    #[test]
    fn an_address_of_our_own_is_behind_the_loopback() {
        assert_eq!(interface("127.0.0.1").as_deref(), Some("lo"));
        assert_eq!(interface("192.0.2.2").as_deref(), Some("lo"));
        assert_eq!(interface("192.0.2.255").as_deref(), Some("eth0"));
        assert_eq!(interface("fd00::2").as_deref(), Some("lo"));
    }

    #[test]
    fn a_zone_names_the_interface_and_a_host_name_none() {
        assert_eq!(interface("fe80::1%ens3").as_deref(), Some("ens3"));
        assert_eq!(interface("server.example"), None);
        assert_eq!(interface_to(&Root::from_tree(Tree::new()), "8.8.8.8").get(), None);
    }

    proptest! {
        #[test]
        fn no_table_panics(text in "\\PC{0,120}", words in proptest::collection::vec("[0-9a-fA-F]{0,34}", 0..12)) {
            let line = format!("head\n{}", words.join(" "));
            for routes in [parse_ipv4(&text), parse_ipv6(&text), parse_ipv4(&line), parse_ipv6(&line)] {
                let _ = choose(&routes, IpAddr::V4(Ipv4Addr::LOCALHOST));
                let _ = choose(&routes, IpAddr::V6(Ipv6Addr::LOCALHOST));
            }
        }

        #[test]
        fn a_default_route_covers_everything(address: u32) {
            let route = Route {
                network: Ipv4Addr::UNSPECIFIED.into(),
                prefix: 0,
                gateway: Ipv4Addr::UNSPECIFIED.into(),
                metric: 0,
                flags: RTF_UP,
                interface: "eth0".into(),
            };
            prop_assert!(route.covers(Ipv4Addr::from_bits(address).into()));
        }
    }
}
