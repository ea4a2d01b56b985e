//! `nic_slot_limited`: the slot of a network card is narrower than its wires.
//!
//! All ports of a card share its link, so their line rates count together.

use narrows_base::units::BytesPerSec;
use narrows_machine::pci::PciAddress;
use narrows_model::ceiling::Direction;
use narrows_model::path::{HopKind, HopSpec, NetworkHop};

use super::super::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use super::super::gain;
use super::super::link::Link;
use super::{Context, Judged, need};

pub(super) fn of_link(context: &Context<'_>, judged: &Judged<'_>, link: &Link<'_>) -> Option<Finding> {
    of_interface(context, judged, link).or_else(|| of_card(context, judged, link))
}

/// A card of which no text tells what it could do, and whose ports are known by its driver or name alone.
fn of_card(context: &Context<'_>, judged: &Judged<'_>, link: &Link<'_>) -> Option<Finding> {
    if link.device_width().is_some() || link.link.part.why_fixed().is_some() || link.is_storage() {
        return None;
    }
    let wires = need::wires(context, link)?.least;
    let carries = judged.case(Direction::Read).ceiling(link.index)?.rate()?;
    if carries.get() >= wires.get() {
        return None;
    }
    let summary = format!(
        "The link of network card {} carries {carries}, and the ports that are known of it are made for {wires} together.",
        link.link.device.address
    );
    Some(
        Finding::about(Code::NicSlotLimited, Severity::Limit, link.hop, summary)
            .with_confidence(Confidence::Medium)
            .with_evidence(link.width_evidence())
            .with_evidence(link.speed_evidence())
            .with_advice([Advice::new("Move the card to a wider or faster slot.")]),
    )
}

/// A card with an interface on the path.
fn of_interface(context: &Context<'_>, judged: &Judged<'_>, link: &Link<'_>) -> Option<Finding> {
    let case = judged.case(Direction::Read);
    let card = link.link.device.address.card();
    let mut interfaces = case.of_kind(HopKind::Network).filter_map(|(index, hop)| match &hop.spec {
        HopSpec::Network(network) => Some((index, network)),
        _ => None,
    });
    let (index, network) =
        interfaces.find(|(_, network)| network.address.is_some_and(|at| at.card() == card))?;
    let carries = case.ceiling(link.index)?.rate()?;
    let (ports, wire) = wires_of(context, network, network.address?, case.ceiling(index)?.rate()?);
    if carries.get() >= wire.get() || link.link.part.why_fixed().is_some() {
        return None;
    }
    let wide = narrows_model::ceiling::pcie::device_wants(link.link);
    let gain = wide.and_then(|wide| gain::of_better(judged, link.index, &wide));
    let noun = if ports == 1 { "wire carries" } else { "wires carry together" };
    let summary = format!(
        "The link of network card {} carries {carries}, and its {ports} {noun} {wire}.",
        link.link.device.address
    );
    Some(
        Finding::about(Code::NicSlotLimited, Severity::Limit, link.hop, summary)
            .with_evidence(link.width_evidence())
            .with_evidence(link.speed_evidence())
            .with_evidence([Evidence::from_fact("line rate", &network.speed)])
            .with_advice([Advice::with_gain("Move the card to a wider or faster slot.", gain)]),
    )
}

/// The number of ports of a card that have a line rate, and what they carry together; `one` is the goodput of the
/// port of this path, which the others are taken to share in proportion to their line rates.
fn wires_of(
    context: &Context<'_>,
    network: &NetworkHop,
    address: PciAddress,
    one: BytesPerSec,
) -> (usize, BytesPerSec) {
    let own = network.speed.value().map(|speed| speed.get()).filter(|speed| *speed > 0.0);
    let Some(own) = own else { return (1, one) };
    let speeds: Vec<f64> = context
        .machine
        .nics
        .values()
        .filter(|nic| nic.pci.is_some_and(|pci| pci.card() == address.card()))
        .filter_map(|nic| nic.speed.value().map(|speed| speed.get()))
        .collect();
    let all: f64 = speeds.iter().sum();
    (speeds.len().max(1), if all > own { one * (all / own) } else { one })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ETHERNET, Sketch, at, link_of};
    use narrows_base::fact::Fact;
    use narrows_base::units::BitsPerSec;
    use narrows_machine::nic::Nic;

    /// A card with this many 10 Gbit/s ports (1177 MB/s of payload each) on a link of this generation and width.
    fn path(ports: u8, link: (u8, u8)) -> Sketch {
        let speed = || Fact::known(BitsPerSec::from_mbit(10_000.0), "speed");
        let port = |function| PciAddress { function, ..at(2) };
        let network = NetworkHop {
            interface: "eth0".to_owned(),
            speed: speed(),
            address: Some(at(2)),
            ..NetworkHop::default()
        };
        Sketch::of("/mnt/nfs")
            .hop("eth0", HopSpec::Network(network), Some(1177.0))
            .link(link_of(ETHERNET, link, (3, 8), link))
            .on(|machine| {
                for function in 0..ports {
                    let nic = Nic { speed: speed(), pci: Some(port(function)), ..Nic::default() };
                    machine.nics.insert(format!("eth{function}"), nic);
                }
            })
    }

    #[test]
    fn four_ports_on_three_gigabytes_are_limited_and_two_are_not() {
        let finding = path(4, (3, 4)).finding(Code::NicSlotLimited).expect("4 × 1177 over 3592 MB/s");
        assert!(finding.summary.contains("4.71 GB/s"), "{}", finding.summary);
        assert_eq!(path(2, (3, 4)).finding(Code::NicSlotLimited), None);
    }

    #[test]
    fn a_card_of_which_only_the_driver_and_the_link_are_known_is_held_against_its_ports() {
        let of = |ports: u8, driver: &str, link: (u8, u8)| {
            let mut card = link_of(ETHERNET, link, link, link);
            card.port = None;
            (card.device.link.max_speed, card.device.link.max_width) = (Fact::default(), Fact::default());
            let path = Sketch::of("0000:02:00.0").link(card).memory().on(|machine| {
                for function in 0..ports {
                    let address = PciAddress { function, ..at(2) };
                    let mut card = crate::testing::function(address, ETHERNET, link);
                    card.driver = Fact::known(driver.to_owned(), "dmesg.txt:2");
                    machine.pci.insert(address, card);
                }
            });
            path.finding(Code::NicSlotLimited).map(|finding| finding.severity)
        };
        // Two ports of 10 Gbit/s, 2.5 GB/s, on 1.68 GB/s; one is carried.
        assert_eq!(of(2, "ixgbe", (2, 4)), Some(Severity::Limit));
        assert_eq!(of(1, "ixgbe", (2, 4)), None);
        assert_eq!(of(2, "ixgbe", (2, 8)), None);
        // What its ports are made for is not known.
        assert_eq!(of(2, "i40e", (1, 4)), None);
    }

    #[test]
    fn one_port_on_a_single_old_lane_is_limited() {
        assert!(path(1, (2, 1)).finding(Code::NicSlotLimited).is_some());
    }
}
