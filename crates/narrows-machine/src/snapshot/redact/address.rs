//! IP addresses, and routing tables that lead to the replaced addresses as they led to the real ones.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Addresses and the documentation addresses that stand for them (RFC 5737, RFC 3849; RFC 2544 when those run out).
#[derive(Debug, Default)]
pub(super) struct Addresses {
    four: BTreeMap<Ipv4Addr, Ipv4Addr>,
    six: BTreeMap<Ipv6Addr, Ipv6Addr>,
    /// Those met outside routing tables: the ones that something leads to.
    remotes_four: BTreeSet<Ipv4Addr>,
    remotes_six: BTreeSet<Ipv6Addr>,
}

impl Addresses {
    /// What stands for an address that something may lead to.
    pub(super) fn four(&mut self, address: Ipv4Addr) -> Ipv4Addr {
        let token = self.map_four(address);
        if token != address {
            self.remotes_four.insert(address);
        }
        token
    }

    /// What stands for an address that something may lead to.
    pub(super) fn six(&mut self, address: Ipv6Addr) -> Ipv6Addr {
        let token = self.map_six(address);
        if token != address {
            self.remotes_six.insert(address);
        }
        token
    }

    fn map_four(&mut self, address: Ipv4Addr) -> Ipv4Addr {
        let is_mask = u32::from(address).leading_ones() + u32::from(address).trailing_zeros() >= 32;
        if address.is_loopback() || address.is_unspecified() || address.is_multicast() || is_mask {
            return address;
        }
        let number = self.four.len();
        *self.four.entry(address).or_insert_with(|| documentation_four(number))
    }

    fn map_six(&mut self, address: Ipv6Addr) -> Ipv6Addr {
        if address.is_loopback() || address.is_unspecified() || address.is_multicast() {
            return address;
        }
        let number = self.six.len() as u128 + 1;
        *self.six.entry(address).or_insert_with(|| Ipv6Addr::from((0x2001_0db8_u128 << 96) | number))
    }

    /// `/proc/net/route`: each route but the default one becomes routes to the single addresses that it led to.
    pub(super) fn routes_four(&mut self, table: &str) -> String {
        let routes: Vec<RouteFour> = table.lines().filter_map(RouteFour::parse).collect();
        let remotes: Vec<Ipv4Addr> = self.remotes_four.iter().copied().collect();
        let mut lines = table.lines();
        let mut out: Vec<String> = lines.next().map(str::to_owned).into_iter().collect();
        for line in lines {
            let Some(route) = RouteFour::parse(line) else { continue };
            let gateway = self.map_four(route.gateway);
            if route.mask == 0 {
                out.push(route.line(line, route.destination, gateway, 0));
                continue;
            }
            let led_here = remotes.iter().filter(|remote| best_four(&routes, **remote) == Some(&route));
            let mut led_here: Vec<Ipv4Addr> = led_here.copied().collect();
            if led_here.is_empty() {
                led_here.push(route.destination);
            }
            for remote in led_here {
                let token = self.map_four(remote);
                out.push(route.line(line, token, gateway, u32::MAX));
            }
        }
        out.iter().map(|line| format!("{line}\n")).collect()
    }

    /// `/proc/net/ipv6_route`, likewise.
    pub(super) fn routes_six(&mut self, table: &str) -> String {
        let routes: Vec<RouteSix> = table.lines().filter_map(RouteSix::parse).collect();
        let remotes: Vec<Ipv6Addr> = self.remotes_six.iter().copied().collect();
        let mut out = String::new();
        for (line, route) in table.lines().filter_map(|line| Some((line, RouteSix::parse(line)?))) {
            let gateway = self.map_six(route.gateway);
            let led_here = remotes.iter().filter(|remote| best_six(&routes, **remote) == Some(&route));
            let mut led_here: Vec<(Ipv6Addr, u32)> = led_here.map(|remote| (*remote, 128)).collect();
            if route.length == 0 {
                led_here = vec![(route.destination, 0)];
            } else if led_here.is_empty() {
                led_here.push((route.destination, 128));
            }
            for (remote, length) in led_here {
                let token = self.map_six(remote);
                out.push_str(&route.line(line, token, gateway, length));
                out.push('\n');
            }
        }
        out
    }

    /// `/proc/net/if_inet6`: an address in hexadecimal digits begins each line.
    pub(super) fn interfaces_six(&mut self, table: &str) -> String {
        let line = |line: &str| {
            let (address, rest) = line.split_once(' ')?;
            let address = self.map_six(hex_six(address)?);
            Some(format!("{:032x} {rest}\n", u128::from(address)))
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

/// One line of `/proc/net/route` (kernel `net/ipv4/fib_trie.c`, `fib_route_seq_show`): interface, destination,
/// gateway, flags, two counters, metric and mask; addresses are in memory order, printed as numbers of the host.
#[derive(Debug, PartialEq)]
struct RouteFour {
    interface: String,
    destination: Ipv4Addr,
    gateway: Ipv4Addr,
    metric: u32,
    mask: u32,
}

impl RouteFour {
    fn parse(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| u32::from_str_radix(fields.get(at)?, 16).ok();
        Some(Self {
            interface: (*fields.first()?).to_owned(),
            destination: Ipv4Addr::from(number(1)?.to_ne_bytes()),
            gateway: Ipv4Addr::from(number(2)?.to_ne_bytes()),
            metric: fields.get(6)?.parse().ok()?,
            mask: u32::from_be_bytes(number(7)?.to_ne_bytes()),
        })
    }

    fn leads_to(&self, address: Ipv4Addr) -> bool {
        (u32::from(address) ^ u32::from(self.destination)) & self.mask == 0
    }

    /// `line` with other addresses.
    fn line(&self, line: &str, destination: Ipv4Addr, gateway: Ipv4Addr, mask: u32) -> String {
        let printed = |bytes: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(bytes));
        let mut fields: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        for (at, bytes) in [(1, destination.octets()), (2, gateway.octets()), (7, mask.to_be_bytes())] {
            if let Some(field) = fields.get_mut(at) {
                *field = printed(bytes);
            }
        }
        fields.join("\t")
    }
}

fn best_four(routes: &[RouteFour], address: Ipv4Addr) -> Option<&RouteFour> {
    let leading = routes.iter().filter(|route| route.leads_to(address));
    leading.min_by_key(|route| (std::cmp::Reverse(route.mask), route.metric))
}

/// One line of `/proc/net/ipv6_route` (kernel `net/ipv6/ip6_fib.c`, `ipv6_route_native_seq_show`): destination and
/// its prefix length, source and its length, gateway, metric, counters, flags and interface, all hexadecimal.
#[derive(Debug, PartialEq)]
struct RouteSix {
    interface: String,
    destination: Ipv6Addr,
    length: u32,
    gateway: Ipv6Addr,
    metric: u32,
}

impl RouteSix {
    fn parse(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split_whitespace().collect();
        Some(Self {
            destination: hex_six(fields.first()?)?,
            length: u32::from_str_radix(fields.get(1)?, 16).ok().filter(|length| *length <= 128)?,
            gateway: hex_six(fields.get(4)?)?,
            metric: u32::from_str_radix(fields.get(5)?, 16).ok()?,
            interface: (*fields.get(9)?).to_owned(),
        })
    }

    fn leads_to(&self, address: Ipv6Addr) -> bool {
        let differs = u128::from(address) ^ u128::from(self.destination);
        differs.leading_zeros() >= self.length
    }

    fn line(&self, line: &str, destination: Ipv6Addr, gateway: Ipv6Addr, length: u32) -> String {
        let mut fields: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let printed = |address: Ipv6Addr| format!("{:032x}", u128::from(address));
        for (at, text) in [(0, printed(destination)), (1, format!("{length:02x}")), (4, printed(gateway))] {
            if let Some(field) = fields.get_mut(at) {
                *field = text;
            }
        }
        fields.join(" ")
    }
}

fn best_six(routes: &[RouteSix], address: Ipv6Addr) -> Option<&RouteSix> {
    let leading = routes.iter().filter(|route| route.leads_to(address));
    leading.min_by_key(|route| (std::cmp::Reverse(route.length), route.metric))
}

fn hex_six(text: &str) -> Option<Ipv6Addr> {
    (text.len() == 32).then(|| u128::from_str_radix(text, 16).ok().map(Ipv6Addr::from)).flatten()
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

    fn interface(table: &str, address: Ipv4Addr) -> Option<String> {
        let routes: Vec<RouteFour> = table.lines().filter_map(RouteFour::parse).collect();
        best_four(&routes, address).map(|route| route.interface.clone())
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
        let remotes = [[10, 5, 1, 1], [10, 5, 7, 9], [8, 8, 4, 4]].map(Ipv4Addr::from);
        let tokens = remotes.map(|remote| addresses.four(remote));
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
        let near = addresses.six("fd00::ab17".parse().expect("valid"));
        let far = addresses.six("2a00::1".parse().expect("valid"));
        let after = addresses.routes_six(&table);
        let routes: Vec<RouteSix> = after.lines().filter_map(RouteSix::parse).collect();
        assert_eq!(best_six(&routes, near).map(|route| route.interface.as_str()), Some("eth1"));
        assert_eq!(best_six(&routes, far).map(|route| route.interface.as_str()), Some("eth0"));
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
                .map(|remote| Ipv4Addr::from(*remote))
                .map(|remote| (remote, addresses.four(remote)))
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
