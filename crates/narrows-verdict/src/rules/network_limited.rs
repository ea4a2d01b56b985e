//! Networks: a wire that is the bottleneck, and a network card whose slot is narrower than its wires.

use narrows_base::units::{Bytes, BytesPerSec};
use narrows_machine::pci::PciAddress;
use narrows_model::ceiling::Direction;
use narrows_model::path::{Hop, HopKind, HopSpec, NetworkHop, Target};

use super::{Context, Judged, need};
use crate::attribution::{Attribution, Cause};
use crate::counterfactual;
use crate::finding::{Advice, Code, Confidence, Finding, Severity};
use crate::link::Link;

/// From here on an Ethernet frame is a jumbo frame.
const JUMBO: Bytes = Bytes::new(8000);

/// `network_limited`: the network is the bottleneck of a path to a server.
///
/// A `limit` where a run shows it. By arithmetic alone it is `info`: what the server can do is not known.
pub(super) fn network_limited(judged: &Judged<'_>, index: usize, hop: &Hop) -> Option<Finding> {
    let (_, limit) = judged.limited_by(index).next()?;
    // A card that stands for itself leads to no server: that it carries what its wire does is no finding.
    let is_wire = hop.kind() == HopKind::Network && !matches!(judged.subject.path.asked, Target::Pci(_));
    is_wire.then(|| {
        limit
            .finding(Code::NetworkLimited, limit.severity(), hop, summary(hop, limit))
            .with_advice(advice(judged, limit.hop, hop))
    })
}

fn summary(hop: &Hop, limit: &Attribution) -> String {
    let rate = limit.rate.map(|rate| format!(", {rate}")).unwrap_or_default();
    match limit.cause {
        Cause::Network => format!("The network behind {} is the bottleneck of this path{rate}.", hop.name),
        _ => format!("The network {}: {}{rate}.", limit.is_the_narrows(), hop.name),
    }
}

fn advice(judged: &Judged<'_>, index: usize, hop: &Hop) -> Vec<Advice> {
    let mut advice = vec![Advice::with_gain(
        "Use a faster network, or several connections over several interfaces.",
        counterfactual::gain_of_removing(judged, index),
    )];
    let short = match &hop.spec {
        HopSpec::Network(network) => network.mtu.value().is_some_and(|mtu| *mtu < JUMBO),
        _ => false,
    };
    if short {
        advice.push(Advice::new(
            "Frames of 9000 bytes carry 99 % payload instead of 94 %, if every switch on the way allows them.",
        ));
    }
    advice
}

/// `nic_slot_limited`: the slot of a network card is narrower than its wires.
///
/// All ports of a card share its link, so their line rates count together.
pub(super) fn nic_slot_limited(
    context: &Context<'_>,
    judged: &Judged<'_>,
    link: &Link<'_>,
) -> Option<Finding> {
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
            .advise("Move the card to a wider or faster slot."),
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
    let gain = wide.and_then(|wide| counterfactual::gain_of_better(judged, link.index, &wide));
    let noun = if ports == 1 { "wire carries" } else { "wires carry together" };
    let summary = format!(
        "The link of network card {} carries {carries}, and its {ports} {noun} {wire}.",
        link.link.device.address
    );
    Some(
        Finding::about(Code::NicSlotLimited, Severity::Limit, link.hop, summary)
            .with_evidence(link.width_evidence())
            .with_evidence(link.speed_evidence())
            .seen_fact("line rate", &network.speed)
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
    use narrows_base::fact::Fact;
    use narrows_base::units::BitsPerSec;
    use narrows_machine::block::Remote;
    use narrows_machine::nic::Nic;
    use narrows_model::path::NetworkHop;

    use super::*;
    use crate::Severity;
    use crate::testing::{ETHERNET, Sketch, at, link, link_of};

    fn network_limited_path(megabytes: f64, mtu: u64) -> Sketch {
        let mtu = Fact::known(Bytes::new(mtu), "mtu");
        let network = NetworkHop { interface: "eth0".to_owned(), mtu, ..NetworkHop::default() };
        Sketch::of("/mnt/nfs").hop("eth0", HopSpec::Network(network), Some(megabytes)).link(link(
            (3, 4),
            (3, 4),
            (3, 4),
        ))
    }

    #[test]
    fn a_wire_below_its_slot_is_a_limit_and_short_frames_are_advised_on() {
        let finding = network_limited_path(1177.0, 1500).finding(Code::NetworkLimited).expect("10 Gbit/s");
        assert_eq!(finding.advice.len(), 2);
        assert!(finding.advice[0].gain_bytes_per_second.is_some());
        assert_eq!(
            network_limited_path(1238.0, 9000).finding(Code::NetworkLimited).map(|f| f.advice.len()),
            Some(1)
        );
    }

    #[test]
    fn a_healthy_network_before_a_server_that_nobody_measured_is_no_limit() {
        let path = network_limited_path(118.0, 1500).unknown("server", HopSpec::Remote(Remote::default()));
        let finding = path.finding(Code::NetworkLimited).expect("the narrowest that is known");
        assert_eq!(finding.severity, Severity::Info);
        assert!(!path.judge().has_faults_or_limits());
    }

    #[test]
    fn a_wire_above_its_slot_is_silent() {
        assert_eq!(network_limited_path(11_770.0, 1500).finding(Code::NetworkLimited), None);
    }

    /// A card with this many 10 Gbit/s ports (1177 MB/s of payload each) on a link of this generation and width.
    fn nic_slot_limited_path(ports: u8, link: (u8, u8)) -> Sketch {
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
        let finding =
            nic_slot_limited_path(4, (3, 4)).finding(Code::NicSlotLimited).expect("4 × 1177 over 3592 MB/s");
        assert!(finding.summary.contains("4.71 GB/s"), "{}", finding.summary);
        assert_eq!(nic_slot_limited_path(2, (3, 4)).finding(Code::NicSlotLimited), None);
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
        assert!(nic_slot_limited_path(1, (2, 1)).finding(Code::NicSlotLimited).is_some());
    }
}
