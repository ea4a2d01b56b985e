//! Networks: a wire that is the bottleneck, and a network card whose slot is narrower than its wires.

use narrows_base::units::{BitsPerSec, Bytes, BytesPerSec, Nanos, human};
use narrows_machine::pci::PciAddress;
use narrows_model::ceiling::Direction;
use narrows_model::path::{Hop, HopSpec, NetworkHop, Target};
use narrows_paste::results::Tool;
use narrows_paste::results::surroundings::Word;

use super::result::{self, Run, of_the_mean};
use super::{Context, Judged, need};
use crate::attribution::Cause;
use crate::counterfactual;
use crate::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use crate::link::Link;

/// From here on an Ethernet frame is a jumbo frame.
const JUMBO: Bytes = Bytes::new(8000);

/// `network_limited`: the network is the bottleneck of a path to a server.
///
/// A `limit` where a run shows it. By arithmetic alone it is `info`: what the server can do is not known.
pub(super) fn of_hop(judged: &Judged<'_>, index: usize, hop: &Hop) -> Option<Finding> {
    let (_, limit) = judged.limited_by(index).next()?;
    let HopSpec::Network(network) = &hop.spec else { return None };
    // A card or interface that stands for itself leads to no server: that it carries what its wire does is no finding.
    if matches!(judged.subject.path.asked, Target::Pci(_) | Target::Nic(_)) {
        return None;
    }
    let rate = limit.rate.map(|rate| format!(", {rate}")).unwrap_or_default();
    let summary = match limit.cause {
        Cause::Network => format!("The network behind {} is the bottleneck of this path{rate}.", hop.name),
        _ => format!("The network {}: {}{rate}.", limit.is_the_narrows(), hop.name),
    };
    let faster = "Use a faster network, or several connections over several interfaces.";
    let jumbo =
        "Frames of 9000 bytes carry 99 % payload instead of 94 %, if every switch on the way allows them.";
    let is_short = network.mtu.value().is_some_and(|mtu| *mtu < JUMBO);
    let found = limit
        .finding(Code::NetworkLimited, limit.severity(), hop, summary)
        .advise_gain(faster, counterfactual::gain_of_removing(judged, index));
    Some(found.with_advice(is_short.then(|| Advice::new(jumbo))))
}

/// From here on a wire is often as fast as the network was bought, in bit/s; below it something is wrong.
const GIGABIT: f64 = 1e9;

/// Interfaces that run below what their hardware can do: the other end, the cable, or a setting.
pub(super) fn of_machine(context: &Context<'_>) -> Vec<Finding> {
    let slow = context.machine.nics.values().filter_map(|nic| Some((nic, nic.is_slow()?)));
    slow.map(|(nic, (speed, most))| {
        let partner = nic.partner_speed.value();
        let offers_more = partner.map(|partner| *partner > speed);
        // What both ends can do.
        let most = partner.copied().filter(|partner| *partner > speed && *partner < most).unwrap_or(most);
        // Where the other end offers no more, what is set changes nothing.
        let is_set =
            offers_more != Some(false) && nic.offered_speed.value().is_some_and(|offered| *offered <= speed);
        let (other_end, advice) = match offers_more {
            _ if is_set => {
                let name = narrows_base::shell::word(&nic.name);
                let advice = format!("Let it offer all that it can: sudo ethtool -s {name} autoneg on");
                ("; its own setting offers no more", advice)
            }
            Some(false) => (
                "; the other end offers no more",
                format!("Use a port of {most} at the other end: a switch, a router or a dock."),
            ),
            Some(_) => (
                ", as the other end could",
                format!("Replace the cable: {most} takes all its pairs, and a plug that is worn loses one. Then try another port."),
            ),
            None => (
                "",
                format!("Look what the other end can do. If it can do {most}, replace the cable, then try another port."),
            ),
        };
        let is_short = speed.get() < GIGABIT && most.get() >= GIGABIT;
        let severity = match (is_short, offers_more) {
            _ if is_set => Severity::Fault,
            (_, Some(true)) | (true, None) => Severity::Fault,
            (true, Some(false)) => Severity::Limit,
            (false, _) => Severity::Info,
        };
        let summary = format!("The interface {} runs at {speed} and can do {most}{other_end}.", nic.name);
        let is_it = |hop: &Hop| matches!(&hop.spec, HopSpec::Network(network) if network.interface == nic.name);
        context
            .finding((Code::NetworkLimited, severity), &nic.name, summary, is_it)
            .with_confidence(if partner.is_some() { Confidence::High } else { Confidence::Medium })
            .seen_fact("rate", &nic.speed)
            .seen_fact("fastest mode of the interface", &nic.most_speed)
            .seen_known("fastest mode that the other end offers", &nic.partner_speed)
            .advise(advice)
    })
    .collect()
}

/// Wires, in bytes per second: 1, 2.5, 10, 25, 40, 56, 100, 200 and 400 Gbit/s.
const WIRES: [f64; 9] = [0.125e9, 0.3125e9, 1.25e9, 3.125e9, 5e9, 7e9, 12.5e9, 25e9, 50e9];

/// The part of a wire that payload can have: Ethernet, IP and TCP take 5 %, NFS and the gaps a little more.
/// InfiniBand loses 2 %.
const SHARE_OF_WIRE: std::ops::Range<f64> = 0.88..0.985;

/// A server that does so many times more by itself is not what holds its clients back.
const FASTER_LOCALLY: f64 = 1.5;

/// Caches last no longer.
const LONGEST_CACHED: Nanos = Nanos::from_millis(30_000);

/// The network is the bottleneck: the rate is that of a wire, or what the server does locally is much more.
pub(super) fn of_result(case: &result::Case<'_>) -> Option<Finding> {
    let full = wire_alone(case)
        .or_else(|| full_wire(case))
        .or_else(|| full_clients(case))
        .or_else(|| full_wire_of_ceph(case));
    full.or_else(|| slower_than_local(case))
}

/// The narrowest wire that one of the rates fills.
fn wire_of(rates: impl Iterator<Item = BytesPerSec>) -> Option<BytesPerSec> {
    let wires =
        rates.filter_map(|rate| WIRES.into_iter().find(|wire| SHARE_OF_WIRE.contains(&(rate.get() / wire))));
    wires.min_by(f64::total_cmp).map(BytesPerSec::new)
}

fn network_finding(case: &result::Case<'_>, summary: String, evidence: Vec<Evidence>) -> Finding {
    Finding::of(case, Code::NetworkLimited, Severity::Limit, summary)
        .with_evidence(evidence)
        .not_so_when("the interfaces' counters stay below their rate during the run")
        .advise("more or faster links between client and server; or measure on the server itself")
        .with_confidence(Confidence::Medium)
}

/// The part of its wire that a run over a network has, where it fills the wire: of the one that is named, else of one that the
/// fastest rate below it fills.
pub(super) fn share_of_wire(run: &Run<'_>) -> Option<(f64, BytesPerSec)> {
    run.has(Word::Network)?;
    let wire = match &run.case.around.wire {
        Some((wire, _)) => *wire,
        None => wire_of(run.case.runs().map(|run| run.rate()))?,
    };
    let share = run.rate().get() / wire.get();
    SHARE_OF_WIRE.contains(&share).then_some((share, wire))
}

/// A network that was measured by itself, at the rate of a wire.
fn wire_alone(case: &result::Case<'_>) -> Option<Finding> {
    let (measured, rate) = case.first_with(|one| Some(one.network.as_ref()?.bytes_per_second))?;
    let wire = wire_of(std::iter::once(rate))?;
    let mut others = case.beside.measured().filter_map(|(_, one)| one.network.as_ref());
    if others.any(|other| other.bytes_per_second.get() > wire.get()) {
        return None;
    }
    let bits = BitsPerSec::new(wire.get() * 8.0);
    let share = human::percent(rate.get() / wire.get());
    let summary = format!("The network carried {share} of {bits}: as much as a wire of that rate does");
    let found = Finding::of(case, Code::NetworkLimited, Severity::Info, summary)
        .with_evidence([case.evidence(measured, "rate", rate)])
        .not_so_when("the wire is faster, which `ethtool INTERFACE` of both ends shows")
        .advise("compare it with the rate of both interfaces (`ethtool INTERFACE`) and of the switch between them");
    Some(found.with_confidence(Confidence::Medium))
}

fn full_wire(case: &result::Case<'_>) -> Option<Finding> {
    let source = case.around.has(Word::Network)?;
    let (run, (share, wire)) = case.runs().find_map(|run| Some((run, share_of_wire(&run)?)))?;
    let summary = format!("The {} fill a wire: {}", run.name(), run.rate());
    let part = format!("{} of {wire}", human::percent(share));
    let signs = run.signs().seen("rate", run.rate()).told("part of a wire", part, source);
    Some(network_finding(case, summary, signs.evidence))
}

/// Each client node of several at the rate of a wire, for longer than caches last.
fn full_clients(case: &result::Case<'_>) -> Option<Finding> {
    /// Nearly all of a wire: a chance of one in twenty that something else has its rate.
    const NEARLY: f64 = 0.93;
    let all = case.beside.measured().filter(|(of, _)| of.tool == Tool::Ior && case.result.tool == Tool::Ior);
    let mut sides = all.flat_map(|(_, one)| one.sides().map(move |(op, side)| (one.nodes, op, side)));
    let (op, rate, wire) = sides.find_map(|(nodes, op, side)| {
        let nodes =
            nodes.filter(|nodes| *nodes > 1 && side.elapsed_ns.is_some_and(|time| time > LONGEST_CACHED))?;
        let rate = side.bytes_per_second / f64::from(nodes);
        let wire = wire_of(std::iter::once(rate)).filter(|wire| rate.get() > NEARLY * wire.get())?;
        Some((op, rate, wire))
    })?;
    let (op, place) = (op.word(), case.result.place());
    let summary = format!("Each client node {op}s {rate}, as much as a wire carries");
    let each = Evidence::new(format!("{op} by each node"), rate, place.clone());
    Some(network_finding(case, summary, vec![each, Evidence::new("a wire", wire, place)]))
}

/// Clients of Ceph reach its servers over a network: large objects at the rate of a wire, which varies less from second to
/// second than so few objects do by chance (Poisson), are held by something even.
fn full_wire_of_ceph(case: &result::Case<'_>) -> Option<Finding> {
    const LARGE: Bytes = Bytes::from_mib(1);
    if case.result.tool != Tool::Radosbench {
        return None;
    }
    let (run, wire, relative) = case.runs().find_map(|run| {
        let is_large = run.measured.work.block_size.is_some_and(|size| size >= LARGE);
        let is_long = run.side.elapsed_ns.is_some_and(|time| time > LONGEST_CACHED);
        let spread = run.side.spread.filter(|_| is_large && is_long)?;
        let each_second = run.side.ios? as f64 / spread.samples? as f64;
        let relative = spread.relative().filter(|relative| relative * each_second.sqrt() < 1.0)?;
        let wire = wire_of(std::iter::once(run.rate()))?;
        Some((run, wire, relative))
    })?;
    let summary = format!("The {} are as much as a wire carries: {}", run.name(), run.rate());
    let share = human::percent(run.rate().get() / wire.get());
    let signs = run.signs().seen("part of a wire", format!("{share} of {wire}"));
    let signs = signs.seen("standard deviation from second to second", of_the_mean(relative));
    Some(network_finding(case, summary, signs.evidence).with_confidence(Confidence::Low))
}

/// Rates over NFS that stand beside a local result.
fn slower_than_local(case: &result::Case<'_>) -> Option<Finding> {
    let (remote, source) = case.around.remote.iter().max_by(|a, b| a.0.get().total_cmp(&b.0.get()))?;
    let run = case.runs().max_by(|a, b| a.rate().get().total_cmp(&b.rate().get()))?;
    (run.rate().get() > FASTER_LOCALLY * remote.get()).then(|| {
        let (name, rate) = (run.name(), run.rate());
        let summary = format!(
            "The network's clients get {remote} at most of what the server's own {name} reach ({rate})"
        );
        let signs = run.signs().seen("local rate", rate);
        let evidence = signs.told("best rate over the network", remote, source).evidence;
        // This result was measured without the network, which limits others.
        Finding { severity: Severity::Info, ..network_finding(case, summary, evidence) }
    })
}

/// `nic_slot_limited`: the slot of a network card is narrower than its wires.
///
/// All ports of a card share its link, so their line rates count together.
pub(super) fn nic_slot(context: &Context<'_>, judged: &Judged<'_>, link: &Link<'_>) -> Option<Finding> {
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
    Some(narrow_slot(link, summary, None).with_confidence(Confidence::Medium))
}

fn narrow_slot(link: &Link<'_>, summary: String, gain: Option<BytesPerSec>) -> Finding {
    Finding::about(Code::NicSlotLimited, Severity::Limit, link.hop, summary)
        .with_evidence(link.width_evidence())
        .with_evidence(link.speed_evidence())
        .advise_gain("Move the card to a wider or faster slot.", gain)
}

/// A card with an interface on the path.
fn of_interface(context: &Context<'_>, judged: &Judged<'_>, link: &Link<'_>) -> Option<Finding> {
    let case = judged.case(Direction::Read);
    let card = link.link.device.address.card();
    let (index, network) = case.hops().find_map(|(index, hop)| match &hop.spec {
        HopSpec::Network(network) if network.address.map(PciAddress::card) == Some(card) => {
            Some((index, network))
        }
        _ => None,
    })?;
    let carries = case.ceiling(link.index)?.rate()?;
    let (ports, wire) = wires_of(context, network, case.ceiling(index)?.rate()?);
    if carries.get() >= wire.get() || link.link.part.why_fixed().is_some() {
        return None;
    }
    let wide = narrows_model::ceiling::pcie::device_wants(link.link);
    let gain = wide.and_then(|wide| counterfactual::gain_of_better(judged, link.index, wide.rate));
    let noun = if ports == 1 { "wire carries" } else { "wires carry together" };
    let summary = format!(
        "The link of network card {} carries {carries}, and its {ports} {noun} {wire}.",
        link.link.device.address
    );
    Some(narrow_slot(link, summary, gain).seen_fact("line rate", &network.speed))
}

/// The number of ports of a card that have a line rate, and what they carry together; `one` is the goodput of the
/// port of this path, which the others are taken to share in proportion to their line rates.
fn wires_of(context: &Context<'_>, network: &NetworkHop, one: BytesPerSec) -> (usize, BytesPerSec) {
    let card = network.address.map(PciAddress::card);
    let own = network.speed.value().map(|speed| speed.get()).filter(|speed| *speed > 0.0);
    let Some(own) = own else { return (1, one) };
    let ports = context.machine.nics.values().filter(|nic| nic.pci.map(PciAddress::card) == card);
    let speeds: Vec<f64> = ports.filter_map(|nic| nic.speed.value().map(|speed| speed.get())).collect();
    let all: f64 = speeds.iter().sum();
    (speeds.len().max(1), if all > own { one * (all / own) } else { one })
}

#[cfg(test)]
mod tests {
    use narrows_base::fact::Fact;
    use narrows_base::units::BitsPerSec;
    use narrows_machine::Machine;
    use narrows_machine::block::Remote;
    use narrows_machine::nic::Nic;
    use narrows_model::path::NetworkHop;

    use super::*;
    use crate::Severity;
    use crate::results::testing::{codes, verdicts};
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
    fn a_network_at_the_rate_of_a_wire_is_said_to_fill_it() {
        let told = |megabits: &str| {
            let row = format!(
                "[  5]   0.00-10.00  sec  1.10 GBytes   {megabits} Mbits/sec                  receiver\n"
            );
            codes(&verdicts(&row).remove(0)).contains(&Code::NetworkLimited)
        };
        assert!(told("941") && !told("700"));
    }

    #[test]
    fn an_interface_below_what_it_can_do_is_told_with_what_the_other_end_offers() {
        let offering = |speed: f64, most: f64, partner: Option<f64>, offered: Option<f64>| {
            let rate = |mbit: f64| Fact::known(BitsPerSec::from_mbit(mbit), "ethtool.txt:9");
            let nic = Nic {
                name: "eth0".to_owned(),
                speed: rate(speed),
                most_speed: rate(most),
                partner_speed: partner.map(rate).unwrap_or_default(),
                offered_speed: offered.map(rate).unwrap_or_default(),
                ..Nic::default()
            };
            let add = |machine: &mut Machine| _ = machine.nics.insert("eth0".to_owned(), nic);
            let finding = Sketch::of("/dev/sda").on(add).finding(Code::NetworkLimited)?;
            Some((finding.severity, finding.summary))
        };
        let told = |speed, most, partner| offering(speed, most, partner, None);
        let set = |partner| offering(1000.0, 2500.0, partner, Some(1000.0));
        assert!(set(Some(2500.0)).is_some_and(|(severity, words)| severity == Severity::Fault && words.contains("own setting")));
        assert!(set(Some(1000.0)).is_some_and(
            |(severity, words)| severity == Severity::Info && words.contains("other end offers no more")
        ));
        assert_eq!(told(1000.0, 1000.0, None), None);
        for (speed, most, partner, severity) in [
            (100.0, 1000.0, None, Severity::Fault),
            (100.0, 1000.0, Some(1000.0), Severity::Fault),
            (100.0, 1000.0, Some(100.0), Severity::Limit),
            (1000.0, 2500.0, None, Severity::Info),
            (1000.0, 2500.0, Some(1000.0), Severity::Info),
            (1000.0, 10_000.0, Some(10_000.0), Severity::Fault),
        ] {
            let found = told(speed, most, partner).map(|found| found.0);
            assert_eq!(found, Some(severity), "{speed} of {most}, {partner:?}");
        }
        let (_, summary) = told(100.0, 2500.0, Some(1000.0)).expect("found");
        assert_eq!(
            summary,
            "The interface eth0 runs at 100 Mbit/s and can do 1 Gbit/s, as the other end could."
        );
        let (_, summary) = told(100.0, 1000.0, Some(100.0)).expect("found");
        assert_eq!(
            summary,
            "The interface eth0 runs at 100 Mbit/s and can do 1 Gbit/s; the other end offers no more."
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

    #[test]
    fn large_objects_of_ceph_at_the_even_rate_of_a_wire_are_limited_by_it() {
        let found = |size: u32, rate: f64, deviation: f64| {
            let time = f64::from(size) * 1620.0 / 1_048_576.0 / rate;
            let body = format!(
                "rados bench -p test 60 write --no-cleanup\nTotal time run:         {time:.4}\nTotal writes made:      1620\nWrite size:             {size}\nObject size:            {size}\nBandwidth (MB/sec):     {rate}\nStddev Bandwidth:       {deviation}\nAverage IOPS:           26\nAverage Latency(s):     0.59499\n"
            );
            codes(&verdicts(&body).remove(0)).contains(&Code::NetworkLimited)
        };
        assert!(found(4 << 20, 107.249, 10.67));
        assert!(!found(4 << 20, 95.0, 9.5), "no wire's rate");
        assert!(!found(4 << 20, 107.249, 40.0), "by chance");
        assert!(!found(4096, 0.107, 0.01), "small");
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
