//! What the device behind a link needs of it: the one answer that all rules of links ask for.
//!
//! It is arithmetic: the rates of a network card's ports, or the narrowest hop that each path behind the link has of its
//! own, added up. Drives and adapters of which nothing is known may need all that their link could carry, for they are
//! made to fill it; the link of a network card is as often wider than its wires need. What the wires of a Fibre Channel
//! adapter carry bounds what its disks can ask for.

mod names;

use std::collections::BTreeMap;

use narrows_base::catalog::wire;
use narrows_base::catalog::{Nic, catalog};
use narrows_base::fact::Fact;
use narrows_base::units::{BitsPerSec, BytesPerSec};
use narrows_machine::pci::PciDevice;
use narrows_model::ceiling::Direction;
use narrows_model::path::{HopId, Target};

use super::super::case::Case;
use super::super::finding::Evidence;
use super::super::link::Link;
use super::Context;

/// How what hangs behind a link compares with what the link carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// It can ask for more.
    More,
    /// It needs no more.
    Met,
    /// Its wires carry less or more: no text tells, or cards of several rates have its name.
    Unknown,
    /// No text tells what kind of device it is.
    UnknownKind,
}

/// What the wires of a card can carry in one direction; both are the same but where cards of several rates have one name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Wires {
    /// At least.
    pub(super) least: BytesPerSec,
    /// At most.
    pub(super) most: BytesPerSec,
}

impl Wires {
    fn of(rate: BytesPerSec) -> Self {
        Self { least: rate, most: rate }
    }

    fn against(self, offered: BytesPerSec) -> Need {
        match offered.get() {
            offered if self.most.get() <= offered => Need::Met,
            offered if self.least.get() > offered => Need::More,
            _ => Need::Unknown,
        }
    }
}

/// What hangs behind a link, over all paths that cross it, against what it offers.
pub(super) fn of(context: &Context<'_>, link: &Link<'_>, offered: BytesPerSec) -> Need {
    let wires = wires(context, link).map(|wires| wires.against(offered));
    match wires {
        // Disks behind wires that carry more may ask for less than both.
        Some(wires) if link.is_storage() && wires != Need::Met => match behind(context, link, offered) {
            Need::Met => Need::Met,
            _ => wires,
        },
        Some(wires) => wires,
        None => behind(context, link, offered),
    }
}

/// What the devices that are known behind a link can ask for, against what it offers.
fn behind(context: &Context<'_>, link: &Link<'_>, offered: BytesPerSec) -> Need {
    let mut behind: BTreeMap<HopId, BytesPerSec> = BTreeMap::new();
    for judged in context.judged {
        let case = judged.case(Direction::Read);
        let Some((_, here)) = case.hops().find(|(_, hop)| hop.id == link.hop.id) else { continue };
        match demand(&case, here) {
            Some((id, rate)) => behind.insert(id, rate),
            None if is_network(context, link) => return Need::Unknown,
            None if is_of_no_known_kind(link, judged) => return Need::UnknownKind,
            None => return Need::More,
        };
    }
    let wanted: BytesPerSec = behind.values().copied().sum();
    if wanted.get() > offered.get() { Need::More } else { Need::Met }
}

/// Whether the path is that of a function alone, of which no class is known.
fn is_of_no_known_kind(link: &Link<'_>, judged: &super::Judged<'_>) -> bool {
    let device = &link.link.device;
    judged.subject.path.asked == Target::Pci(device.address) && device.class.value().is_none()
}

/// Whether the device end is a network card, or a part of one.
fn is_network(context: &Context<'_>, link: &Link<'_>) -> bool {
    let card = link.link.device.address.card();
    let mut functions = context.machine.pci.values().filter(|function| function.address.card() == card);
    functions.any(is_port)
}

/// The most that drivers of network cards without a known line rate ever drive on one port, in Mbit/s.
const LINE_RATES: &[(&str, f64)] = &[
    ("tg3", 1000.0),
    ("bnx2", 1000.0),
    ("e1000", 1000.0),
    ("e1000e", 1000.0),
    ("igb", 1000.0),
    ("sky2", 1000.0),
    ("alx", 1000.0),
    ("atl1c", 1000.0),
    ("igc", 2500.0),
    ("r8169", 5000.0),
    ("ixgbe", 10_000.0),
];

/// Drivers of network cards from which no class follows: they serve Ethernet and InfiniBand.
const OF_BOTH: [&str; 2] = ["mlx4_core", "mlx5_core"];

/// What the ports of a network card or Fibre Channel adapter can carry together, by the rate of each; `None` for everything
/// else, and where the rate of one port is not known.
pub(super) fn wires(context: &Context<'_>, link: &Link<'_>) -> Option<Wires> {
    let card = link.link.device.address.card();
    let all = || context.machine.pci.values().filter(|port| port.address.card() == card);
    // The functions for Fibre Channel of a converged adapter have the same wires as those for Ethernet.
    let has_network = all().any(is_port);
    let functions: Vec<&PciDevice> = all().filter(|port| !(has_network && is_fibre_channel(port))).collect();
    let count = match functions.as_slice() {
        [port] => named(port).find_map(names::ports).map_or(1.0, f64::from),
        _ => 1.0,
    };
    let mut together = Wires::of(BytesPerSec::new(0.0));
    for port in &functions {
        let rate =
            if is_port(port) || is_fibre_channel(port) { port_rate(context, port)? } else { return None };
        together =
            Wires { least: together.least + rate.least * count, most: together.most + rate.most * count };
    }
    (!functions.is_empty()).then_some(together)
}

/// Whether a function is a port of a network card, by its class or, where a log leaves that out, by its driver.
fn is_port(function: &PciDevice) -> bool {
    let driver = function.driver.value();
    let by_driver = || {
        driver.is_some_and(|driver| {
            OF_BOTH.contains(&driver.as_str()) || LINE_RATES.iter().any(|(name, _)| name == driver)
        })
    };
    function.is_network() || function.class.value().is_none() && by_driver()
}

/// The sub-class of InfiniBand among networks, and the one that older adapters have instead.
const INFINIBAND: [u32; 2] = [0x0207, 0x0c06];

fn is_fibre_channel(function: &PciDevice) -> bool {
    function.class.value().is_some_and(|class| class >> 8 == 0x0c04)
}

fn is_infiniband(function: &PciDevice) -> bool {
    function.class.value().is_some_and(|class| INFINIBAND.contains(&(class >> 8)))
}

/// What a function is called: what the maker of the card says, who knows which card it is, before the name of its chip.
fn named(port: &PciDevice) -> impl Iterator<Item = &str> {
    port.board.value().into_iter().chain(port.name.value()).map(String::as_str)
}

/// What a network card or Fibre Channel adapter is called, from which its line rate may follow.
pub(super) fn called(context: &Context<'_>, link: &Link<'_>) -> Option<Evidence> {
    let port = context.machine.pci.get(&link.link.device.address)?;
    let says_rate = |fact: &&Fact<String>| fact.value().is_some_and(|name| stated(name, port).is_some());
    let fact = [&port.board, &port.name].into_iter().find(says_rate).unwrap_or(&port.name);
    let is_wired = is_port(port) || is_fibre_channel(port);
    let name = fact.value().filter(|_| is_wired)?;
    Some(Evidence::new("the card is called", name, fact.source().as_str()))
}

/// The line rate of one port: what its wire runs at, else what its driver, its names or its id say of its kind.
pub(super) fn port_rate(context: &Context<'_>, port: &PciDevice) -> Option<Wires> {
    let mut nics = context.machine.nics.values();
    let wire = nics.find(|nic| nic.pci == Some(port.address)).and_then(|nic| nic.speed.get());
    if let Some(wire) = wire.or(port.wire.value().copied()) {
        return Some(Wires::of(wire.bytes_per_sec()));
    }
    let by_driver = || {
        let driver = port.driver.value()?;
        LINE_RATES.iter().find(|(name, _)| name == driver).map(|(_, rate)| megabits(*rate))
    };
    let by_id = || {
        let id = port.id.value()?.to_string();
        Some(published(catalog().nics.iter().find(|card| card.ids.contains(&id))?, port))
    };
    // Cards of one kind that differ in their plugs have ids of their own and one line rate: T520-CR, T520-SO.
    let by_words = || named(port).find_map(|name| Some(published(catalog().nic_by_words(name)?, port)));
    let by_name = || named(port).find_map(|name| stated(name, port));
    let by_plain_name = || names::plain_ethernet(port.name.value()?).map(megabits);
    by_driver().or_else(by_name).or_else(by_id).or_else(by_plain_name).or_else(by_words)
}

fn megabits(rate: f64) -> Wires {
    Wires::of(BitsPerSec::from_mbit(rate).bytes_per_sec())
}

/// The line rate that a name states, in the terms of the network that the port is for.
fn stated(name: &str, port: &PciDevice) -> Option<Wires> {
    let infiniband = || names::infiniband(name).map(Wires::of);
    let ethernet = || names::ethernet(name).map(megabits);
    if is_fibre_channel(port) {
        return names::fibre_channel(name).or_else(ethernet);
    }
    if is_infiniband(port) { infiniband().or_else(ethernet) } else { ethernet().or_else(infiniband) }
}

/// The line rate of a published card. One id may stand for several cards.
fn published(card: &Nic, port: &PciDevice) -> Wires {
    let generation = |name: &Option<String>| Some(wire::infiniband(name.as_deref()?)?.bytes_per_sec());
    if let Some(most) = generation(&card.infiniband).filter(|_| is_infiniband(port)) {
        return Wires { least: generation(&card.slowest_infiniband).unwrap_or(most), most };
    }
    let most = megabits(card.gigabits_per_second * 1000.0).most;
    let least = card.slowest_gigabits_per_second.map_or(most, |rate| megabits(rate * 1000.0).least);
    Wires { least, most }
}

/// The narrowest known hop between a link and the application that belongs to one device, in that device's own bytes.
fn demand(case: &Case<'_>, link: &narrows_model::path::Hop) -> Option<(HopId, BytesPerSec)> {
    use narrows_model::path::HopKind;
    case.hops()
        .filter(|(_, hop)| {
            let kind = hop.kind();
            let carries = matches!(
                kind,
                HopKind::Device
                    | HopKind::Sata
                    | HopKind::Sas
                    | HopKind::Usb
                    | HopKind::Network
                    | HopKind::Link
            );
            carries && case.is_above(hop, link)
        })
        .filter_map(|(index, hop)| Some((hop.id.clone(), case.ceiling(index)?.rate()?)))
        .min_by(|a, b| a.1.get().total_cmp(&b.1.get()))
}

#[cfg(test)]
mod tests;
