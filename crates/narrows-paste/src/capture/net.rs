//! Networks and what else tells of links: `ip link`, `ip addr`, `ethtool`, `ibstat`, `ibstatus`, `nvidia-smi -q` and
//! `nvidia-smi topo -m`.

use std::collections::BTreeMap;

use narrows_base::fact::{Fact, Source};
use narrows_base::units::{BitsPerSec, Bytes, GtPerSec, Lanes};
use narrows_machine::Machine;
use narrows_machine::block::is_numbered;
use narrows_machine::captured::{Affinity, Connection};
use narrows_machine::cpu::parse_list;
use narrows_machine::nic::Nic;
use narrows_machine::pci::PciAddress;

use super::device::{add_name, function, learn};
use super::number::bit_rate;
use super::{Output, Part, Text, read_outputs};

const OUTPUTS: [Output; 5] = [
    ("ip link", &[" mtu "], read_ip),
    ("ethtool", &["Settings for ", "bus-info:", "ethtool "], read_ethtool),
    ("ibstat", &["Port 1", "Infiniband device", "port 1"], read_ib),
    ("nvidia-smi", &["PCIe Generation", "NVIDIA-SMI"], read_nvidia),
    ("nvidia-smi topo -m", &["CPU Affinity"], |machine, text| read_topology(&mut machine.affinities, text)),
];

/// Reads every output of these in a text.
pub fn read(text: &Text) -> Part {
    read_outputs(text, &OUTPUTS)
}

/// The interface of this name, made if need be. `None` for what can be no name (kernel `include/uapi/linux/if.h`,
/// `IFNAMSIZ`; `dev_valid_name`).
pub(super) fn nic<'m>(machine: &'m mut Machine, name: &str) -> Option<&'m mut Nic> {
    let is_name =
        (1..16).contains(&name.len()) && !name.contains(|c: char| c.is_whitespace() || c == '/' || c == ':');
    is_name.then(|| {
        let new = || Nic { name: name.to_owned(), ..Nic::default() };
        machine.nics.entry(name.to_owned()).or_insert_with(new)
    })
}

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

/// `ip link` and `ip addr`, with and without `-d` (iproute2 `ip/ipaddress.c`).
///
/// Reads every interface; whether there was one.
fn read_ip(machine: &mut Machine, text: &Text) -> bool {
    let mut found = false;
    let mut open: Option<&str> = None;
    for (number, line) in text.lines() {
        if let Some(name) = put_link(machine, line, &text.source(number)) {
            found |= machine.nics.contains_key(name);
            open = Some(name);
        } else if let Some(nic) = open.and_then(|name| machine.nics.get_mut(name)) {
            let first = line.split_whitespace().next().unwrap_or_default();
            nic.is_virtual |=
                line.starts_with("    ") && VIRTUAL.contains(&first) || first == "link/loopback";
        }
    }
    found
}

/// `5: eth0.10@eth0: <BROADCAST,UP> mtu 1500 qdisc noqueue master br0 state UP mode DEFAULT`: what a VLAN or macvlan lies
/// on stands behind the `@`.
///
/// Puts an interface down; its name.
fn put_link<'a>(machine: &mut Machine, line: &'a str, source: &str) -> Option<&'a str> {
    let (index, rest) = line.split_once(": ")?;
    let (name, rest) = rest.split_once(": <")?;
    index.trim().parse::<u32>().ok()?;
    let (name, lower) = name.split_once('@').map_or((name, None), |(name, lower)| (name, Some(lower)));
    let words: Vec<&str> = rest.split_whitespace().collect();
    let after = |key: &str| {
        words.windows(2).find(|pair| pair.first() == Some(&key)).and_then(|pair| pair.get(1)).copied()
    };
    let Some(own) = nic(machine, name) else { return Some(name) };
    learn(&mut own.mtu, after("mtu").and_then(|mtu| mtu.parse().ok()).map(Bytes::new), source);
    learn(&mut own.state, after("state").map(str::to_lowercase), source);
    // `veth0@if5` lies in another namespace.
    if let Some(lower) = lower.filter(|lower| *lower != "NONE" && !lower.starts_with("if")) {
        add_name(&mut own.lower, lower);
        own.is_virtual = true;
    }
    if let Some(master) = after("master").and_then(|master| nic(machine, master)) {
        add_name(&mut master.lower, name);
        master.is_virtual = true;
    }
    Some(name)
}

/// `ethtool eth0` and `ethtool -i eth0`. The second does not name its interface: that is in the command above it, or in
/// the name of the file as sosreport makes it (`ethtool_-i_eth0`).
///
/// Reads every interface; whether there was one.
fn read_ethtool(machine: &mut Machine, text: &Text) -> bool {
    let mut found = false;
    let mut open: Option<String> = None;
    let mut named = text.name().rsplit_once("ethtool_-i_").map(|(_, name)| name.to_owned());
    // Lists of modes go on in lines without a name.
    let mut modes: Option<Modes> = None;
    for (number, line) in text.lines() {
        let trimmed = line.trim();
        let listed = trimmed.split_once(':');
        modes = match listed.map(|(key, _)| key) {
            Some("Supported link modes") => Some(Modes::Own),
            Some("Advertised link modes") => Some(Modes::Offered),
            Some("Link partner advertised link modes") => Some(Modes::Partner),
            Some(_) => None,
            None => modes,
        };
        if let Some(modes) = modes {
            let list = listed.map_or(trimmed, |(_, list)| list);
            if let Some(nic) = open.as_ref().and_then(|name| nic(machine, name)) {
                modes.take(nic, list, &text.source(number));
            }
            continue;
        }
        if let Some(name) = trimmed.strip_prefix("Settings for ").and_then(|name| name.strip_suffix(':')) {
            open = Some(name.to_owned());
            continue;
        }
        // `ethtool eth0 | grep Speed` prints no head.
        if let Some((_, rest)) = trimmed.split_once("ethtool ").filter(|_| trimmed.contains('|')) {
            open = rest.split_whitespace().next().filter(|name| !name.starts_with('-')).map(str::to_owned);
            continue;
        }
        if let Some((_, name)) = trimmed.split_once("ethtool -i ") {
            named = name.split_whitespace().next().map(str::to_owned);
            continue;
        }
        let Some((key, value)) = trimmed.split_once(':') else { continue };
        if key == "driver" {
            open = named.take();
        }
        let Some(nic) = open.as_ref().and_then(|name| nic(machine, name)) else { continue };
        found |= take_setting(nic, key, value.trim(), &text.source(number));
    }
    found
}

/// A line of `ethtool`; whether it is one of these.
fn take_setting(nic: &mut Nic, key: &str, value: &str, source: &str) -> bool {
    match key {
        "Speed" => learn(&mut nic.speed, bit_rate(value), source),
        "Duplex" => {
            let known = Some(value.to_lowercase()).filter(|duplex| !duplex.starts_with("unknown"));
            learn(&mut nic.duplex, known, source);
        }
        "Link detected" => {
            let state = match value {
                "yes" => Some("up".to_owned()),
                _ if value.starts_with("no") => Some("down".to_owned()),
                _ => None,
            };
            learn(&mut nic.state, state, source);
        }
        "driver" => learn(&mut nic.driver, Some(value.to_owned()).filter(|name| !name.is_empty()), source),
        "bus-info" => nic.pci = nic.pci.or(value.parse().ok()),
        _ => return false,
    }
    true
}

/// Whose modes a list has.
#[derive(Debug, Clone, Copy)]
enum Modes {
    Own,
    Offered,
    Partner,
}

impl Modes {
    /// Puts down the fastest of `10baseT/Half 1000baseT/Full 25000baseCR/Full`.
    fn take(self, nic: &mut Nic, list: &str, source: &str) {
        let fact = match self {
            Self::Own => &mut nic.most_speed,
            Self::Offered => &mut nic.offered_speed,
            Self::Partner => &mut nic.partner_speed,
        };
        // Somebody may have set one in bold: `**2500baseX/Full**`.
        let rate = |mode: &str| mode.split_once("base")?.0.trim_start_matches(['*', '_', '`']).parse().ok();
        let rates = list.split_whitespace().filter_map(rate);
        let fastest = rates.filter(|rate| (10.0..=1e6).contains(rate)).fold(0.0, f64::max);
        let fastest = BitsPerSec::from_mbit(fastest);
        if fastest.get() > fact.get().map_or(0.0, BitsPerSec::get) {
            *fact = Fact::known(fastest, source);
        }
    }
}

/// `ibstat` and `ibstatus`: ports of InfiniBand and RoCE adapters, by the name of their RDMA device (`mlx5_0`).
///
/// Reads every port; whether there was one. Of several ports of one adapter the first that is active counts.
fn read_ib(machine: &mut Machine, text: &Text) -> bool {
    let mut found = false;
    let mut open: Option<String> = None;
    for (number, line) in text.lines() {
        let trimmed = line.trim();
        if let Some(name) = quoted(trimmed, "CA '").or_else(|| quoted(trimmed, "Infiniband device '")) {
            open = Some(name.to_owned());
            continue;
        }
        let (Some(name), Some((key, value))) = (&open, trimmed.split_once(':')) else { continue };
        let source = text.source(number);
        let value = value.trim();
        let Some(nic) = nic(machine, name) else { continue };
        match key.to_ascii_lowercase().as_str() {
            // `Rate: 100` in Gbit/s; `rate: 100 Gb/sec (4X EDR)`.
            "rate" => {
                let gigabits = value.split_whitespace().next().and_then(|rate| rate.parse::<f64>().ok());
                let rate = gigabits.filter(|rate| (1.0..=10_000.0).contains(rate));
                learn(&mut nic.speed, rate.map(|rate| BitsPerSec::from_mbit(rate * 1000.0)), &source);
            }
            // `Active`; `4: ACTIVE`.
            "state" => {
                let state = if value.to_ascii_lowercase().ends_with("active") { "up" } else { "down" };
                learn(&mut nic.state, Some(state.to_owned()), &source);
            }
            _ => continue,
        }
        found = true;
    }
    found
}

fn quoted<'a>(line: &'a str, before: &str) -> Option<&'a str> {
    line.strip_prefix(before)?.split('\'').next()
}

/// `nvidia-smi`: which GPUs there are. `nvidia-smi -q`: the PCIe link of each GPU. What it calls maximum is what GPU and slot can do together on old
/// versions, and what the device can do (`Device Max`) on new ones; only the latter is a fact of the device.
///
/// Reads every GPU; whether there was one.
fn read_nvidia(machine: &mut Machine, text: &Text) -> bool {
    let mut found = false;
    let mut open: Option<PciAddress> = None;
    // Which of the two properties of a link is being listed.
    let mut property: Option<&str> = None;
    for (number, line) in text.lines() {
        let trimmed = line.trim();
        if let Some(gpu) = listed_gpu(trimmed) {
            learn(&mut function(machine, gpu).driver, Some("nvidia".to_owned()), &text.source(number));
            found = true;
            continue;
        }
        if let Some(address) = trimmed.strip_prefix("GPU ").and_then(gpu_address) {
            open = Some(address);
            property = None;
            continue;
        }
        match trimmed {
            "PCIe Generation" | "Link Width" => property = Some(trimmed),
            _ => {
                let Some((key, value)) = trimmed.split_once(':') else {
                    property = None;
                    continue;
                };
                let (key, value) = (key.trim(), value.trim());
                if key == "Bus Id" {
                    open = gpu_address(value).or(open);
                }
                let (Some(gpu), Some(listed)) = (open, property) else { continue };
                found |= put_gpu_link(machine, gpu, listed, (key, value), &text.source(number));
            }
        }
    }
    found
}

/// The GPU of a row of the table: `|   0  NVIDIA GeForce RTX 4090 D      On  |   00000000:A9:00.0 Off |`.
fn listed_gpu(line: &str) -> Option<PciAddress> {
    let mut cells = line.strip_prefix('|')?.split('|');
    cells.next()?.split_whitespace().next()?.parse::<u16>().ok()?;
    let bus = cells.next()?.split_whitespace().next()?;
    bus.parse().ok().filter(|_| bus.matches(':').count() == 2)
}

/// `00000000:01:00.0`.
fn gpu_address(text: &str) -> Option<PciAddress> {
    text.contains(':').then(|| text.trim().parse().ok()).flatten()
}

fn put_gpu_link(
    machine: &mut Machine,
    address: PciAddress,
    property: &str,
    (key, value): (&str, &str),
    source: &str,
) -> bool {
    let speed = || value.parse().ok().and_then(GtPerSec::from_pcie_generation);
    let width = || Lanes::parse(value.strip_suffix('x')?);
    let is_known = matches!(key, "Current" | "Device Current" | "Device Max");
    if !is_known || (speed().is_none() && width().is_none()) {
        return false;
    }
    let function = function(machine, address);
    learn(&mut function.driver, Some("nvidia".to_owned()), source);
    let link = &mut function.link;
    match (property, key) {
        ("PCIe Generation", "Device Max") => learn(&mut link.max_speed, speed(), source),
        ("PCIe Generation", _) => learn(&mut link.current_speed, speed(), source),
        (_, "Device Max") => learn(&mut link.max_width, width(), source),
        _ => learn(&mut link.current_width, width(), source),
    }
    true
}

/// No matrix has more rows.
const MOST: usize = 512;

/// More processors than any machine has.
const MOST_CPUS: usize = 8192;

/// `nvidia-smi topo -m`: a matrix of GPUs and network cards, with the NUMA node and processors of each GPU. How a network
/// card is connected to a GPU tells its node: anything nearer than `SYS` stays within one (the legend of the output).
///
/// Reads every matrix; whether there was one.
fn read_topology(affinities: &mut BTreeMap<String, Affinity>, text: &Text) -> bool {
    let mut matrix: Option<TopologyMatrix<'_>> = None;
    let mut cards: Vec<(String, Affinity)> = Vec::new();
    let mut legend: BTreeMap<&str, &str> = BTreeMap::new();
    let mut found = false;
    for (number, line) in text.lines() {
        if let Some(head) = TopologyMatrix::head(line) {
            matrix = Some(head);
        } else if let Some((name, card)) =
            line.trim().split_once(": ").filter(|(name, _)| is_numbered(name, "NIC"))
        {
            legend.insert(name, card.trim());
        } else if let Some(row) = matrix.as_mut().and_then(|matrix| matrix.row(line)) {
            let source = text.source(number);
            if is_numbered(row.name, "GPU") && affinities.len() < MOST {
                let gpu = affinities.entry(row.name.to_owned()).or_default();
                learn(&mut gpu.node, row.node, &source);
                learn(&mut gpu.cpus, row.cpus, &source);
                let connections = row.connections.iter().map(|(name, connection)| {
                    ((*name).to_owned(), (*connection, Source::new(source.as_str())))
                });
                gpu.connections.extend(connections);
                found = true;
            } else if cards.len() < MOST {
                let near = row.connections.iter().filter(|(_, connection)| *connection < Connection::Sys);
                let gpus = near.filter_map(|(name, _)| affinities.get(*name));
                let near = gpus.into_iter().find(|gpu| gpu.node.value().is_some());
                let mut card = Affinity::default();
                learn(&mut card.node, near.and_then(|gpu| gpu.node.get()), &source);
                cards.push((row.name.to_owned(), card));
            }
        }
    }
    name_by(&legend, affinities);
    for (name, card) in cards {
        let name = legend.get(name.as_str()).map_or(name, |name| (*name).to_owned());
        if card.node.value().is_some() && affinities.len() < MOST {
            affinities.entry(name).or_insert(card);
        }
    }
    found
}

/// Calls network cards by the names that the legend gives their numbers.
fn name_by(legend: &BTreeMap<&str, &str>, affinities: &mut BTreeMap<String, Affinity>) {
    for gpu in affinities.values_mut() {
        for (number, name) in legend {
            if let Some(connection) = gpu.connections.remove(*number) {
                gpu.connections.insert((*name).to_owned(), connection);
            }
        }
    }
}

/// The head of a matrix: the devices of its columns.
struct TopologyMatrix<'t> {
    devices: Vec<&'t str>,
    has_nodes: bool,
}

/// A row of it.
struct TopologyRow<'t> {
    name: &'t str,
    cpus: Option<Vec<u32>>,
    node: Option<u32>,
    /// How it is connected to the others.
    connections: Vec<(&'t str, Connection)>,
}

impl<'t> TopologyMatrix<'t> {
    /// `GPU0 GPU1 NIC0 mlx5_1 CPU Affinity NUMA Affinity GPU NUMA ID`.
    fn head(line: &'t str) -> Option<Self> {
        let (devices, rest) = line.split_once("CPU Affinity")?;
        let devices: Vec<&str> = devices.split_whitespace().take(MOST).collect();
        devices.first().filter(|name| is_numbered(name, "GPU"))?;
        Some(Self { devices, has_nodes: rest.contains("NUMA Affinity") })
    }

    fn row(&mut self, line: &'t str) -> Option<TopologyRow<'t>> {
        let mut words = line.split_whitespace();
        let name = words.next().filter(|name| self.devices.contains(name))?;
        let mut connections = Vec::new();
        for device in &self.devices {
            let connection = Connection::from_word(words.next()?);
            connections.extend(connection.map(|connection| (*device, connection)));
        }
        let cpus = words.next().and_then(parse_list).filter(|cpus| (1..=MOST_CPUS).contains(&cpus.len()));
        let node = words.next().filter(|_| self.has_nodes).and_then(|node| node.parse().ok());
        Some(TopologyRow { name, cpus, node, connections })
    }
}

#[cfg(test)]
mod tests;
