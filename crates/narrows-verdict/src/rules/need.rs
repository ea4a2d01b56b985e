//! What the device behind a link needs of it: the one answer that all rules of links ask for.
//!
//! It is arithmetic: the rates of a network card's ports, or the narrowest hop that each path behind the link has of its
//! own, added up. Drives and adapters of which nothing is known may need all that their link could carry, for they are
//! made to fill it; the link of a network card is as often wider than its wires need.

use std::collections::BTreeMap;

use narrows_base::catalog::catalog;
use narrows_base::units::{BitsPerSec, BytesPerSec};
use narrows_machine::pci::PciDevice;
use narrows_model::ceiling::Direction;
use narrows_model::path::{HopId, Target};

use super::super::case::Case;
use super::super::link::Link;
use super::Context;

/// How what hangs behind a link compares with what the link carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// It can ask for more.
    More,
    /// It needs no more.
    Met,
    /// It is a network card of which no text tells what its wires carry.
    Unknown,
    /// No text tells what kind of device it is.
    UnknownKind,
}

/// What hangs behind a link, over all paths that cross it, against what it offers.
pub(super) fn of(context: &Context<'_>, link: &Link<'_>, offered: BytesPerSec) -> Need {
    let against = |wanted: BytesPerSec| if wanted.get() > offered.get() { Need::More } else { Need::Met };
    if let Some(wires) = wires(context, link) {
        return against(wires);
    }
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
    against(behind.values().copied().sum::<BytesPerSec>())
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

/// What the ports of a network card can carry together, by the rate of each; `None` for everything else, and where the rate
/// of one port is not known.
pub(super) fn wires(context: &Context<'_>, link: &Link<'_>) -> Option<BytesPerSec> {
    let card = link.link.device.address.card();
    let functions = context.machine.pci.values().filter(|port| port.address.card() == card);
    let rates: Option<Vec<BytesPerSec>> =
        functions.map(|port| is_port(port).then(|| port_rate(context, port)).flatten()).collect();
    rates.filter(|rates| !rates.is_empty()).map(|rates| rates.into_iter().sum())
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

/// The line rate of one port: what its wire runs at, else what its driver, its id or its name says of its kind.
pub(super) fn port_rate(context: &Context<'_>, port: &PciDevice) -> Option<BytesPerSec> {
    let mut nics = context.machine.nics.values();
    let wire = nics.find(|nic| nic.pci == Some(port.address)).and_then(|nic| nic.speed.get());
    let by_driver = || {
        let driver = port.driver.value()?;
        LINE_RATES.iter().find(|(name, _)| name == driver).map(|(_, rate)| *rate)
    };
    let by_id = || {
        let id = port.id.value()?.to_string();
        let card = catalog().nics.iter().find(|card| card.ids.contains(&id))?;
        Some(card.gigabits_per_second * 1000.0)
    };
    let by_name = || named_rate(port.name.value()?);
    // Cards of one kind that differ in their plugs have ids of their own and one line rate: T520-CR, T520-SO.
    let by_words = || Some(catalog().nic_by_words(port.name.value()?)?.gigabits_per_second * 1000.0);
    let known = || by_driver().or_else(by_id).or_else(by_name).or_else(by_words);
    let rate = wire.or_else(|| known().map(BitsPerSec::from_mbit))?;
    Some(rate.bytes_per_sec())
}

/// The line rate that the name of a card states, in Mbit/s: `82599ES 10-Gigabit SFI/SFP+`, `X710 for 10GbE SFP+`, `RTL8125
/// 2.5GbE`, `BCM5720 Gigabit Ethernet`. The greatest of several.
fn named_rate(name: &str) -> Option<f64> {
    let lower = name.to_ascii_lowercase();
    let stated = lower.match_indices('g').filter_map(|(at, _)| {
        let (before, behind) = (lower.get(..at)?, lower.get(at..)?);
        let is_unit = ["gigabit", "gbe", "gb ", "gbase", "g "].iter().any(|unit| behind.starts_with(unit));
        let before = before.trim_end_matches(['-', ' ']);
        let number = before.rsplit(|c: char| !c.is_ascii_digit() && c != '.').next()?;
        let rate: f64 = if is_unit { number.parse().ok()? } else { return None };
        (rate > 0.0 && rate <= 1600.0).then_some(rate * 1000.0)
    });
    let most = stated.max_by(f64::total_cmp);
    let plain = || lower.contains("gigabit").then_some(1000.0);
    most.or_else(plain).or_else(|| lower.contains("fast ethernet").then_some(100.0))
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
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_card_states_its_line_rate() {
        for (name, megabits) in [
            ("Broadcom NetXtreme BCM5720 2-port Gigabit Ethernet PCIe", Some(1000.0)),
            ("Intel 82599ES 10-Gigabit SFI/SFP+ Network Connection", Some(10_000.0)),
            ("Intel Ethernet Controller X710 for 10GbE SFP+", Some(10_000.0)),
            ("Realtek RTL8125 2.5GbE Controller", Some(2500.0)),
            ("Intel Ethernet Controller 10G X550T", Some(10_000.0)),
            ("Broadcom BCM57414 NetXtreme-E 10Gb/25Gb RDMA", Some(25_000.0)),
            ("Qualcomm Atheros AR8132 Fast Ethernet", Some(100.0)),
            ("Mellanox MT27800 Family [ConnectX-5]", None),
        ] {
            assert_eq!(named_rate(name), megabits, "{name}");
        }
    }
}
