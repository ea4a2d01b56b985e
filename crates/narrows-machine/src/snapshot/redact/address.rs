//! IP addresses, and routing tables that lead to the replaced addresses as they led to the real ones.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::Lines;

use crate::nic::{self, Route};

/// Addresses and the documentation addresses that stand for them (RFC 5737, RFC 3849; RFC 2544 when those run out).
#[derive(Debug, Default)]
pub(super) struct Addresses {
    tokens: BTreeMap<IpAddr, IpAddr>,
    /// How many of version 4 and of version 6 there are.
    counts: (usize, usize),
    /// Those met outside routing tables: the ones that something leads to.
    remotes: BTreeSet<IpAddr>,
}

impl Addresses {
    /// What stands for an address that something may lead to.
    pub(super) fn remote(&mut self, address: IpAddr) -> IpAddr {
        let token = self.token(address);
        if token != address {
            self.remotes.insert(address);
        }
        token
    }

    fn token(&mut self, address: IpAddr) -> IpAddr {
        let is_mask = matches!(address, IpAddr::V4(address)
            if address.to_bits().leading_ones() + address.to_bits().trailing_zeros() >= 32);
        if address.is_loopback() || address.is_unspecified() || address.is_multicast() || is_mask {
            return address;
        }
        if let Some(token) = self.tokens.get(&address) {
            return *token;
        }
        let count = if address.is_ipv4() { &mut self.counts.0 } else { &mut self.counts.1 };
        let token = match address {
            IpAddr::V4(_) => documentation_four(*count).into(),
            IpAddr::V6(_) => Ipv6Addr::from_bits((0x2001_0db8 << 96) | (*count as u128 + 1)).into(),
        };
        *count += 1;
        self.tokens.insert(address, token);
        token
    }

    /// `/proc/net/route`: each route but the default one becomes routes to the single addresses that it led to.
    pub(super) fn routes_four(&mut self, table: &str) -> String {
        let mut lines = table.lines();
        let head = lines.next().map(|head| format!("{head}\n")).unwrap_or_default();
        head + &self.routes(lines, nic::ipv4_route)
    }

    /// `/proc/net/ipv6_route`, likewise.
    pub(super) fn routes_six(&mut self, table: &str) -> String {
        self.routes(table.lines(), nic::ipv6_route)
    }

    fn routes(&mut self, lines: Lines<'_>, parse: fn(&str) -> Option<Route>) -> String {
        let routes = lines.filter_map(|line| Some((line, parse(line)?)));
        let (lines, routes): (Vec<&str>, Vec<Route>) = routes.unzip();
        let remotes: Vec<(IpAddr, Option<&Route>)> =
            self.remotes.iter().map(|remote| (*remote, nic::choose(&routes, *remote))).collect();
        let mut out = String::new();
        for (line, route) in lines.iter().zip(&routes) {
            let gateway = self.token(route.gateway);
            let width = if route.network.is_ipv4() { 32 } else { 128 };
            let led_here = remotes.iter().filter(|(_, chosen)| *chosen == Some(route));
            let mut led_here: Vec<(IpAddr, u32)> = led_here.map(|(remote, _)| (*remote, width)).collect();
            if route.prefix == 0 {
                led_here = vec![(route.network, 0)];
            } else if led_here.is_empty() {
                led_here.push((route.network, width));
            }
            for (remote, prefix) in led_here {
                out.push_str(&with_addresses(line, self.token(remote), prefix, gateway));
                out.push('\n');
            }
        }
        out
    }

    /// `/proc/net/if_inet6`: an address in hexadecimal digits begins each line.
    pub(super) fn interfaces_six(&mut self, table: &str) -> String {
        let line = |line: &str| {
            let (address, rest) = line.split_once(' ')?;
            let address = self.token(nic::hex_ipv6(address)?.into());
            Some(format!("{} {rest}\n", digits(address)))
        };
        table.lines().filter_map(line).collect()
    }
}

fn documentation_four(number: usize) -> Ipv4Addr {
    const BLOCKS: [[u8; 3]; 3] = [[192, 0, 2], [198, 51, 100], [203, 0, 113]];
    match (BLOCKS.get(number / 254), u8::try_from(number % 254 + 1)) {
        (Some([a, b, c]), Ok(last)) => Ipv4Addr::new(*a, *b, *c, last),
        // 198.18.0.0/15 is set aside for benchmarks; a tree with more remotes than that repeats them.
        _ => Ipv4Addr::from(0xC612_0000 | u32::try_from(number % 0x2_0000).unwrap_or(0)),
    }
}

/// The line of a routing table with other addresses.
fn with_addresses(line: &str, network: IpAddr, prefix: u32, gateway: IpAddr) -> String {
    let (changed, between) = if network.is_ipv4() {
        let mask = Ipv4Addr::from_bits(u32::MAX.checked_shl(32 - prefix).unwrap_or(0));
        ([(1, digits(network)), (2, digits(gateway)), (7, digits(mask.into()))], "\t")
    } else {
        ([(0, digits(network)), (1, format!("{prefix:02x}")), (4, digits(gateway))], " ")
    };
    let mut fields: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    for (at, text) in changed {
        if let Some(field) = fields.get_mut(at) {
            *field = text;
        }
    }
    fields.join(between)
}

/// An address as the tables of the kernel show it.
fn digits(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => format!("{:08X}", address.to_bits().swap_bytes()),
        IpAddr::V6(address) => format!("{:032x}", address.to_bits()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEAD: &str = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n";

    fn route(interface: &str, destination: [u8; 4], gateway: [u8; 4], length: u32) -> String {
        let mask = if length == 0 { 0 } else { u32::MAX << (32 - length) };
        let hex = |bytes: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(bytes));
        format!(
            "{interface}\t{}\t{}\t0003\t0\t0\t0\t{}\t0\t0\t0\n",
            hex(destination),
            hex(gateway),
            hex(mask.to_be_bytes())
        )
    }

    fn interface(table: &str, address: IpAddr) -> Option<String> {
        let routes: Vec<Route> = table.lines().filter_map(nic::ipv4_route).collect();
        nic::choose(&routes, address).map(|route| route.interface.clone())
    }

    #[test]
    fn a_remote_is_reached_through_the_same_interface_as_before() {
        let table = format!(
            "{HEAD}{}{}{}",
            route("eth0", [0, 0, 0, 0], [192, 168, 1, 1], 0),
            route("eth1", [10, 5, 0, 0], [0, 0, 0, 0], 16),
            route("eth2", [10, 5, 7, 0], [0, 0, 0, 0], 24)
        );
        let mut addresses = Addresses::default();
        let remotes = [[10, 5, 1, 1], [10, 5, 7, 9], [8, 8, 4, 4]].map(IpAddr::from);
        let tokens = remotes.map(|remote| addresses.remote(remote));
        let after = addresses.routes_four(&table);
        for (remote, token) in remotes.into_iter().zip(tokens) {
            assert_eq!(interface(&after, token), interface(&table, remote), "{remote}:\n{after}");
        }
        assert!(!after.contains(&format!("{:08X}", u32::from_ne_bytes([192, 168, 1, 1]))), "{after}");
    }

    #[test]
    fn ipv6_routes_lead_the_same_way_too() {
        let zero = "0".repeat(32);
        let table = format!(
            "{zero} 00 {zero} 00 fe80000000000000000000000000aaaa 00000400 00000001 00000000 00000003     eth0\n\
             fd00000000000000000000000000ab00 78 {zero} 00 {zero} 00000100 00000001 00000000 00000001     eth1\n"
        );
        let mut addresses = Addresses::default();
        let near = addresses.remote("fd00::ab17".parse().expect("valid"));
        let far = addresses.remote("2a00::1".parse().expect("valid"));
        let after = addresses.routes_six(&table);
        let routes: Vec<Route> = after.lines().filter_map(nic::ipv6_route).collect();
        assert_eq!(nic::choose(&routes, near).map(|route| route.interface.as_str()), Some("eth1"));
        assert_eq!(nic::choose(&routes, far).map(|route| route.interface.as_str()), Some("eth0"));
        assert!(!after.contains("aaaa") && !after.contains("ab00"), "{after}");
    }

    #[test]
    fn documentation_addresses_do_not_run_out() {
        assert_eq!(documentation_four(0), Ipv4Addr::new(192, 0, 2, 1));
        assert_eq!(documentation_four(254), Ipv4Addr::new(198, 51, 100, 1));
        assert_eq!(documentation_four(1000), Ipv4Addr::new(198, 18, 3, 232));
    }

    proptest! {
        #[test]
        fn any_table_routes_any_remote_as_before(
            routes in prop::collection::vec((0u8..4, any::<[u8; 4]>(), 0u32..33), 1..8),
            remotes in prop::collection::vec(any::<[u8; 4]>(), 1..6),
        ) {
            let table: String = routes
                .iter()
                .map(|(eth, at, length)| {
                    let mask = if *length == 0 { 0 } else { u32::MAX << (32 - length) };
                    route(&format!("eth{eth}"), (u32::from_be_bytes(*at) & mask).to_be_bytes(), [0; 4], *length)
                })
                .collect();
            let table = format!("{HEAD}{table}");
            let mut addresses = Addresses::default();
            let tokens: Vec<_> = remotes
                .iter()
                .map(|remote| IpAddr::from(*remote))
                .map(|remote| (remote, addresses.remote(remote)))
                .filter(|(remote, token)| remote != token)
                .collect();
            let after = addresses.routes_four(&table);
            for (remote, token) in tokens {
                prop_assert_eq!(interface(&after, token), interface(&table, remote), "{}", after);
            }
        }

        #[test]
        fn no_table_panics(table in "\\PC{0,300}") {
            let mut addresses = Addresses::default();
            addresses.routes_four(&table);
            addresses.routes_six(&table);
            addresses.interfaces_six(&table);
        }
    }
}
