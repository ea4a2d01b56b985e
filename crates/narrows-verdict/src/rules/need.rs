//! What the device behind a link needs of it: the one answer that all rules of links ask for.
//!
//! It is arithmetic: the rates of a network card's ports, or the narrowest hop that each path behind the link has of its
//! own, added up. Drives and adapters of which nothing is known may need all that their link could carry, for they are
//! made to fill it; the link of a network card is as often wider than its wires need. What the wires of a Fibre Channel
//! adapter carry bounds what its disks can ask for.

use std::collections::BTreeMap;

use narrows_base::catalog::{Nic, catalog, wire};
use narrows_base::fact::Fact;
use narrows_base::units::{BitsPerSec, BytesPerSec};
use narrows_machine::pci::PciDevice;
use narrows_model::ceiling::Direction;
use narrows_model::path::{Hop, HopId, HopKind, Target};

use super::Context;
use crate::case::Case;
use crate::finding::Evidence;
use crate::link::Link;

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
    functions(context, link).any(is_port)
}

/// The functions of the card at the device end.
fn functions<'a>(context: &Context<'a>, link: &Link<'_>) -> impl Iterator<Item = &'a PciDevice> + use<'a> {
    let card = link.link.device.address.card();
    context.machine.pci.values().filter(move |function| function.address.card() == card)
}

/// The most that drivers of network cards without a known line rate ever drive on one port, in Mbit/s.
const LINE_RATES: [(f64, &[&str]); 4] = [
    (1000.0, &["tg3", "bnx2", "e1000", "e1000e", "igb", "sky2", "alx", "atl1c"]),
    (2500.0, &["igc"]),
    (5000.0, &["r8169"]),
    (10_000.0, &["ixgbe"]),
];

fn line_rate(driver: &str) -> Option<f64> {
    LINE_RATES.into_iter().find(|(_, drivers)| drivers.contains(&driver)).map(|(rate, _)| rate)
}

/// Drivers of network cards from which no class follows: they serve Ethernet and InfiniBand.
const OF_BOTH: [&str; 2] = ["mlx4_core", "mlx5_core"];

/// What the ports of a network card or Fibre Channel adapter can carry together, by the rate of each; `None` for everything
/// else, and where the rate of one port is not known.
pub(super) fn wires(context: &Context<'_>, link: &Link<'_>) -> Option<Wires> {
    // The functions for Fibre Channel of a converged adapter have the same wires as those for Ethernet.
    let is_twice = |port: &PciDevice| is_network(context, link) && is_fibre_channel(port);
    let functions: Vec<&PciDevice> = functions(context, link).filter(|port| !is_twice(port)).collect();
    let count = match functions.as_slice() {
        [port] => named(port).find_map(ports_named).map_or(1.0, f64::from),
        _ => 1.0,
    };
    let rate = |port: &&PciDevice| {
        let rate = port_rate(context, port).filter(|_| is_port(port) || is_fibre_channel(port))?;
        Some(Wires { least: rate.least * count, most: rate.most * count })
    };
    let all: Vec<Wires> = functions.iter().map(rate).collect::<Option<_>>()?;
    all.into_iter().reduce(|a, b| Wires { least: a.least + b.least, most: a.most + b.most })
}

/// Whether a function is a port of a network card, by its class or, where a log leaves that out, by its driver.
fn is_port(function: &PciDevice) -> bool {
    let is_known = |driver: &String| OF_BOTH.contains(&driver.as_str()) || line_rate(driver).is_some();
    function.is_network() || function.class.value().is_none() && function.driver.value().is_some_and(is_known)
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
    let is_told = fact.value().is_some() && (is_port(port) || is_fibre_channel(port));
    is_told.then(|| Evidence::from_fact("the card is called", fact))
}

/// The line rate of one port: what its wire runs at, else what its driver, its names or its id say of its kind.
pub(super) fn port_rate(context: &Context<'_>, port: &PciDevice) -> Option<Wires> {
    let mut nics = context.machine.nics.values();
    let wire = nics.find(|nic| nic.pci == Some(port.address)).and_then(|nic| nic.speed.get());
    if let Some(wire) = wire.or(port.wire.value().copied()) {
        return Some(Wires::of(wire.bytes_per_sec()));
    }
    let by_driver = || line_rate(port.driver.value()?).map(megabits);
    let by_id = || {
        let id = port.id.value()?.to_string();
        Some(published(catalog().nics.iter().find(|card| card.ids.contains(&id))?, port))
    };
    // Cards of one kind that differ in their plugs have ids of their own and one line rate: T520-CR, T520-SO.
    let by_words = || named(port).find_map(|name| Some(published(catalog().nic_by_words(name)?, port)));
    let by_name = || named(port).find_map(|name| stated(name, port));
    let by_plain_name = || plain_ethernet_named(port.name.value()?).map(megabits);
    by_driver().or_else(by_name).or_else(by_id).or_else(by_plain_name).or_else(by_words)
}

fn megabits(rate: f64) -> Wires {
    Wires::of(BitsPerSec::from_mbit(rate).bytes_per_sec())
}

/// The line rate that a name states, in the terms of the network that the port is for.
fn stated(name: &str, port: &PciDevice) -> Option<Wires> {
    let infiniband = || infiniband_named(name).map(Wires::of);
    let ethernet = || ethernet_named(name).map(megabits);
    if is_fibre_channel(port) {
        return fibre_channel_named(name).or_else(ethernet);
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
fn demand(case: &Case<'_>, link: &Hop) -> Option<(HopId, BytesPerSec)> {
    use HopKind::{Device, Link, Network, Sas, Sata, Usb};
    let is_own = |hop: &Hop| matches!(hop.kind(), Device | Sata | Sas | Usb | Network | Link);
    let own = case.hops().filter(|(_, hop)| is_own(hop) && case.is_above(hop, link));
    let rates = own.filter_map(|(index, hop)| Some((hop.id.clone(), case.ceiling(index)?.rate()?)));
    rates.min_by(|a, b| a.1.get().total_cmp(&b.1.get()))
}

/// The generations of InfiniBand that names have, for adapters whose ports have four lanes, as all do that are sold as cards.
const GENERATIONS: [&str; 10] =
    ["SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR100", "HDR", "NDR200", "NDR"];

/// The generation for the rate on the wire that names state instead: four lanes of 2.5, 5, 10, 14.0625, 25.78125, 53.125 and
/// 106.25 Gbit/s (InfiniBand Architecture Specification 1.6, volume 2, table of link speeds).
const ON_THE_WIRE: [(f64, &str); 7] = [
    (10.0, "SDR"),
    (20.0, "DDR"),
    (40.0, "QDR"),
    (56.0, "FDR"),
    (100.0, "EDR"),
    (200.0, "HDR"),
    (400.0, "NDR"),
];

/// Line rates that names of cards state, as `lspci` and labels have them.
///
/// The parts of a name between spaces and marks, without the empty ones.
fn words_of_name(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !(c.is_alphanumeric() || c == '.')).filter(|word| !word.is_empty())
}

/// The rate after line code of an InfiniBand port, by the generation or the rate that a name states: `IB QDR / 10GigE`,
/// `IBA7322 QDR InfiniBand HCA`, `Dual Port 40Gb/s InfiniBand`. The greatest of several, for a port that does the faster one
/// does the slower one too.
fn infiniband_named(name: &str) -> Option<BytesPerSec> {
    let is = |word: &str, what: &str| word.eq_ignore_ascii_case(what);
    if name.contains("Omni-Path") {
        // Four lanes of 25.78125 Gbit/s with 64b/66b (Intel Omni-Path Architecture 100 Series product brief).
        return words_of_name(name).any(|word| word == "100").then(|| BytesPerSec::new(100e9 / 8.0));
    }
    let at = words_of_name(name).position(|word| is(word, "infiniband") || is(word, "ib"))?;
    let named = words_of_name(name).filter_map(|word| GENERATIONS.into_iter().find(|known| is(word, known)));
    let fastest = named.filter_map(wire::infiniband).max_by(|a, b| a.get().total_cmp(&b.get()));
    let stated = || {
        // `40Gb/s InfiniBand` makes the words `40Gb` and `s`.
        let before =
            words_of_name(name).take(at).last().filter(|word| *word == "s").and(at.checked_sub(2))?;
        let rate = gigabits_named(words_of_name(name).nth(before)?)?;
        let (_, generation) = ON_THE_WIRE.into_iter().find(|(known, _)| *known == rate)?;
        wire::infiniband(generation)
    };
    Some(fastest.or_else(stated)?.bytes_per_sec())
}

/// The rates of Fibre Channel ports by the generations that a name states, the slowest and the fastest: `ISP2532-based 8Gb
/// Fibre Channel to PCI Express HBA`, `425/825/42B/82B 4Gbps/8Gbps PCIe dual port FC HBA`, `LPe15000/LPe16000 Series 8Gb/16Gb
/// Fibre Channel Adapter`. Such a name stands for cards of each rate.
fn fibre_channel_named(name: &str) -> Option<Wires> {
    if !name.contains("Fibre Channel") && words_of_name(name).all(|word| word != "FC") {
        return None;
    }
    let parts = name.split([' ', '(', ')', '*', ',', '-']);
    let rates = parts.flat_map(generations).map(Wires::of);
    rates.reduce(|all, one| Wires { least: all.least.min(one.least), most: all.most.max(one.most) })
}

/// The generations of `16/32Gb`, `4Gbps/8Gbps`, `16/32Gb/s` or `32GFC`: numbers without a unit take that of the next.
fn generations(part: &str) -> Vec<BytesPerSec> {
    let part = part.trim_end_matches("/s");
    if part.rsplit('/').next().and_then(gigabits_named).is_none() {
        return Vec::new();
    }
    let rates = part.split('/').map(|one| gigabits_named(one).or_else(|| one.parse().ok()));
    let known = rates.map(|rate| {
        // A cast from f64 saturates.
        wire::fibre_channel(rate.filter(|rate| rate.fract() == 0.0)? as u32)
    });
    known.collect::<Option<Vec<_>>>().unwrap_or_default()
}

/// The number of `8Gb`, `8Gbps`, `32G`, `32GFC`, `40Gb`.
fn gigabits_named(word: &str) -> Option<f64> {
    let lower = word.to_ascii_lowercase();
    let number = ["gbps", "gbit", "gfc", "gb", "g"].iter().find_map(|unit| lower.strip_suffix(unit))?;
    number.parse().ok().filter(|rate| *rate > 0.0)
}

/// The line rate that the name of a card states, in Mbit/s: `82599ES 10-Gigabit SFI/SFP+`, `X710 for 10GbE SFP+`, `RTL8125
/// 2.5GbE`. The greatest of several.
fn ethernet_named(name: &str) -> Option<f64> {
    let lower = name.to_ascii_lowercase();
    let stated = lower.match_indices('g').filter_map(|(at, _)| {
        let (before, behind) = (lower.get(..at)?, lower.get(at..)?);
        let is_unit =
            ["gigabit", "gige", "gbe", "gb ", "gbase", "g "].iter().any(|unit| behind.starts_with(unit));
        let before = before.trim_end_matches(['-', ' ']);
        // `802.11g` is a standard of wireless networks and no rate.
        let is_unit = is_unit && !before.ends_with("802.11");
        let number = before.rsplit(|c: char| !c.is_ascii_digit() && c != '.').next()?;
        let rate: f64 = if is_unit { number.parse().ok()? } else { return None };
        (rate > 0.0 && rate <= 1600.0).then_some(rate * 1000.0)
    });
    stated.max_by(f64::total_cmp)
}

/// The line rate, in Mbit/s, of a name that has no number before it: `BCM5720 Gigabit Ethernet`, `AR8132 Fast Ethernet`.
fn plain_ethernet_named(name: &str) -> Option<f64> {
    let lower = name.to_ascii_lowercase();
    let gigabit = lower.contains("gigabit").then_some(1000.0);
    gigabit.or_else(|| lower.contains("fast ethernet").then_some(100.0))
}

/// The ports that a name counts, where it counts any: `Dual Port`, `2-port`, `Quad Port`.
fn ports_named(name: &str) -> Option<u32> {
    let lower = name.to_ascii_lowercase();
    let all: Vec<&str> = words_of_name(&lower).collect();
    let counted =
        all.iter().zip(all.iter().skip(1)).find(|(_, noun)| ["port", "ports", "channel"].contains(noun));
    match *counted?.0 {
        "single" | "one" | "1" => Some(1),
        "dual" | "two" | "2" => Some(2),
        "quad" | "four" | "4" => Some(4),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
