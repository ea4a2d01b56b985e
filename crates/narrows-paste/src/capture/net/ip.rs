//! `ip link` and `ip addr`, with and without `-d` (iproute2 `ip/ipaddress.c`).

use super::{learn, nic};
use crate::capture::Text;
use narrows_base::units::Bytes;
use narrows_machine::Machine;

/// Kinds of interfaces without hardware of their own, as `-d` prints them on a line below.
const VIRTUAL: &[&str] = &[
    "bond",
    "bridge",
    "dummy",
    "gre",
    "ifb",
    "ipip",
    "ipvlan",
    "macvlan",
    "macvtap",
    "openvswitch",
    "sit",
    "team",
    "tun",
    "veth",
    "vlan",
    "vrf",
    "vxlan",
    "wireguard",
];

/// No interface has more below it.
const MOST_LOWER: usize = 256;

/// Reads every interface; whether there was one.
pub(super) fn read(machine: &mut Machine, text: &Text) -> bool {
    let mut found = false;
    let mut open: Option<String> = None;
    for (number, line) in text.lines() {
        if let Some(link) = Link::parse(line) {
            found |= put(machine, &link, &text.source(number)).is_some();
            open = Some(link.name.to_owned());
        } else if let Some(nic) = open.as_ref().and_then(|name| machine.nics.get_mut(name)) {
            let first = line.split_whitespace().next().unwrap_or_default();
            nic.is_virtual |=
                line.starts_with("    ") && VIRTUAL.contains(&first) || first == "link/loopback";
        }
    }
    found
}

/// `5: eth0.10@eth0: <BROADCAST,UP> mtu 1500 qdisc noqueue master br0 state UP mode DEFAULT`.
struct Link<'a> {
    name: &'a str,
    /// What a VLAN or macvlan lies on.
    lower: Option<&'a str>,
    master: Option<&'a str>,
    mtu: Option<u64>,
    state: Option<&'a str>,
}

impl<'a> Link<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (index, rest) = line.split_once(": ")?;
        let (name, rest) = rest.split_once(": <")?;
        index.trim().parse::<u32>().ok()?;
        let (name, lower) = name.split_once('@').map_or((name, None), |(name, lower)| (name, Some(lower)));
        let words: Vec<&str> = rest.split_whitespace().collect();
        let after = |key: &str| {
            words.windows(2).find(|pair| pair.first() == Some(&key)).and_then(|pair| pair.get(1)).copied()
        };
        Some(Self {
            name,
            // `veth0@if5` lies in another namespace.
            lower: lower.filter(|lower| *lower != "NONE" && !lower.starts_with("if")),
            master: after("master"),
            mtu: after("mtu").and_then(|mtu| mtu.parse().ok()),
            state: after("state"),
        })
    }
}

fn put(machine: &mut Machine, link: &Link<'_>, source: &str) -> Option<()> {
    let add = |names: &mut Vec<String>, name: &str| {
        if names.len() < MOST_LOWER && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    };
    let own = nic(machine, link.name)?;
    learn(&mut own.mtu, link.mtu.map(Bytes::new), source);
    learn(&mut own.state, link.state.map(str::to_lowercase), source);
    if let Some(lower) = link.lower {
        add(&mut own.lower, lower);
        own.is_virtual = true;
    }
    if let Some(master) = link.master.and_then(|master| nic(machine, master)) {
        add(&mut master.lower, link.name);
        master.is_virtual = true;
    }
    Some(())
}
