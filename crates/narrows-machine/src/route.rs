//! Which interface leads to an address: `/proc/net/route`, `/proc/net/ipv6_route` and `/proc/net/fib_trie`.
//!
//! The longest prefix wins, then the lowest metric. Rules that look at anything but the destination (policy routing,
//! VRF) are not seen.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::fact::Fact;
use super::root::Root;

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
    /// Of two routes with the same prefix the one with the lower metric is taken.
    pub metric: u32,
    /// The interface.
    pub interface: String,
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
    match root.text(table).map(|text| choose(&parse(&text), address).map(str::to_owned)) {
        Fact::Known { value: Some(interface), source } => Fact::Known { value: interface, source },
        Fact::Known { value: None, source } | Fact::Absent { source } | Fact::Garbled { source, .. } => {
            Fact::Absent { source }
        }
        Fact::Denied { source, need } => Fact::Denied { source, need },
    }
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

fn choose(routes: &[Route], address: IpAddr) -> Option<&str> {
    let fitting = routes.iter().filter(|route| covers(route, address));
    let best = fitting.min_by_key(|route| (std::cmp::Reverse(route.prefix), route.metric))?;
    Some(&best.interface)
}

fn covers(route: &Route, address: IpAddr) -> bool {
    let (network, address, width) = match (route.network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) => {
            (network.to_bits().into(), address.to_bits().into(), 32)
        }
        (IpAddr::V6(network), IpAddr::V6(address)) => (network.to_bits(), address.to_bits(), 128),
        _ => return false,
    };
    let differing: u128 = network ^ address;
    match width - route.prefix.min(width) {
        128 => true,
        free => differing >> free == 0,
    }
}

/// Reads `/proc/net/route`. Addresses are hexadecimal words in the byte order of the machine that wrote them, which is
/// taken to be little-endian.
pub fn parse_ipv4(text: &str) -> Vec<Route> {
    text.lines().skip(1).filter_map(ipv4_route).collect()
}

fn ipv4_route(line: &str) -> Option<Route> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [interface, destination, _, flags, _, _, metric, mask, ..] = fields[..] else { return None };
    is_usable(hex(flags)?).then_some(())?;
    Some(Route {
        network: Ipv4Addr::from_bits(hex(destination)?.swap_bytes()).into(),
        prefix: hex(mask)?.count_ones(),
        metric: metric.parse().ok()?,
        interface: interface.to_owned(),
    })
}

/// Reads `/proc/net/ipv6_route`, whose numbers are all hexadecimal.
pub fn parse_ipv6(text: &str) -> Vec<Route> {
    text.lines().filter_map(ipv6_route).collect()
}

fn ipv6_route(line: &str) -> Option<Route> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [destination, prefix, _, _, _, metric, _, _, flags, interface] = fields[..] else { return None };
    let flags = hex(flags)?;
    is_usable(flags).then_some(())?;
    let network = (destination.len() == 32).then(|| u128::from_str_radix(destination, 16).ok()).flatten()?;
    let interface = if flags & RTF_LOCAL == 0 { interface } else { "lo" };
    Some(Route {
        network: Ipv6Addr::from_bits(network).into(),
        prefix: hex(prefix).filter(|prefix| *prefix <= 128)?,
        metric: hex(metric)?,
        interface: interface.to_owned(),
    })
}

const fn is_usable(flags: u32) -> bool {
    flags & RTF_UP != 0 && flags & RTF_REJECT == 0
}

fn hex(text: &str) -> Option<u32> {
    u32::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;
    use proptest::prelude::*;

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
                metric: 0,
                interface: "eth0".into(),
            };
            prop_assert!(covers(&route, Ipv4Addr::from_bits(address).into()));
        }
    }
}
