//! `switch_oversubscribed`: the devices behind a switch can together do more than its uplink.
//!
//! A `limit` where the uplink is the bottleneck of the path, or where the drives and wires behind it are known to deliver
//! more than it carries. Where only their links do, `info`: the drives may be slower than their links.

use std::collections::{BTreeMap, BTreeSet};

use narrows_base::units::BytesPerSec;
use narrows_machine::Machine;
use narrows_machine::pci::{End, PciAddress, PciDevice};
use narrows_model::ceiling::pcie;
use narrows_model::ceiling::{Basis, Ceiling, Direction};
use narrows_model::path::{Hop, HopId, HopSpec, UplinkHop};

use super::super::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use super::{Context, Judged};

/// Sums within this much of the uplink fit it.
const FITS: f64 = 1.1;

pub(super) fn check(context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    judged
        .subject
        .path
        .hops
        .iter()
        .filter_map(|hop| match &hop.spec {
            // The chipset of AMD boards is a switch too; `chipset_shared` speaks of it.
            HopSpec::Switch(switch) if switch.chipset.is_none() => Some((hop, switch)),
            _ => None,
        })
        .filter_map(|(hop, switch)| {
            let shared = Shared::of(context.machine, switch, raw_of(context.machine, switch.address)?)?;
            let summary = format!(
                "The links of {} devices behind the switch {} carry {} together, and its uplink {} (before packets).",
                shared.devices, switch.address, shared.wanted, shared.uplink
            );
            let severity = severity(context, judged, switch, &shared);
            Some(
                Finding::about(Code::SwitchOversubscribed, severity, hop, summary)
                    .with_confidence(Confidence::High)
                    .with_evidence(shared.evidence(switch))
                    .with_advice([Advice::new(
                        "Spread devices that are used at the same time over several switches or slots.",
                    )]),
            )
        })
        .collect()
}

fn severity(context: &Context<'_>, judged: &Judged<'_>, switch: &UplinkHop, shared: &Shared) -> Severity {
    let is_uplink = |hop: &Hop| match &hop.spec {
        HopSpec::Link(link) => link.device.address == switch.address,
        HopSpec::Switch(other) => other.address == switch.address,
        _ => false,
    };
    let hops = judged.subject.path.hops.iter().enumerate().filter(|(_, hop)| is_uplink(hop));
    let limits = hops.flat_map(|(index, _)| judged.limited_by(index));
    let proven = limits.map(|(_, limit)| limit.severity()).min();
    let delivered: Option<BytesPerSec> =
        shared.each.iter().map(|one| delivers(context, one.address).map(|rate| rate.min(one.rate))).sum();
    let exceeds = delivered.is_some_and(|rate| rate.get() > shared.uplink.get() * FITS);
    proven.unwrap_or(if exceeds { Severity::Limit } else { Severity::Info })
}

/// What the media behind a function are known to deliver; all of what its link carries for a network card, whose
/// wires were counted. `None` where that is not known.
fn delivers(context: &Context<'_>, address: PciAddress) -> Option<BytesPerSec> {
    let device = context.machine.pci.get(&address)?;
    if device.is_network() {
        return Some(BytesPerSec::new(f64::INFINITY));
    }
    let is_link = |hop: &Hop| match &hop.spec {
        HopSpec::Link(link) => link.device.address == address,
        _ => false,
    };
    let mut media: BTreeMap<HopId, Option<BytesPerSec>> = BTreeMap::new();
    for judged in context.judged {
        let case = judged.case(Direction::Read);
        let Some((_, link)) = case.hops().find(|(_, hop)| is_link(hop)) else { continue };
        for (index, hop, _) in case.leaves().into_iter().filter(|(_, hop, _)| case.is_above(hop, link)) {
            let known = case.ceiling(index).and_then(Ceiling::limit);
            let known = known.filter(|limit| limit.basis != Basis::Guess).map(|limit| limit.rate);
            media.insert(hop.id.clone(), known);
        }
    }
    if media.is_empty() { None } else { media.into_values().sum() }
}

/// What shares an uplink.
pub(super) struct Shared {
    /// The number of devices.
    pub(super) devices: usize,
    /// What their links carry together.
    pub(super) wanted: BytesPerSec,
    /// What the uplink carries.
    pub(super) uplink: BytesPerSec,
    each: Vec<Wanted>,
}

/// What one device can ask for.
struct Wanted {
    address: PciAddress,
    rate: BytesPerSec,
    /// Where the width of its link was read.
    source: String,
}

impl Shared {
    /// Two or more devices behind `hop` that can together do more than `uplink`. All rates are those of the wires
    /// before packets, so that payload sizes do not matter.
    pub(super) fn of(machine: &Machine, hop: &UplinkHop, uplink: BytesPerSec) -> Option<Self> {
        let mut cards = BTreeSet::new();
        let each: Vec<_> = hop
            .behind
            .iter()
            .filter_map(|address| machine.pci.get(address))
            .filter(|device| device.class.value().is_none_or(|class| class >> 16 != 0x06))
            // The functions of one card share its link.
            .filter(|device| cards.insert(device.address.card()))
            .filter_map(|device| {
                let source = machine.link_of(device).width()?.source.as_str().to_owned();
                Some(Wanted { address: device.address, rate: wanted(machine, device)?, source })
            })
            .collect();
        let wanted: BytesPerSec = each.iter().map(|one| one.rate).sum();
        let over = each.len() >= 2 && wanted.get() > uplink.get() * FITS;
        over.then_some(Self { devices: each.len(), wanted, uplink, each })
    }

    /// The rates that were compared.
    pub(super) fn evidence(&self, hop: &UplinkHop) -> Vec<Evidence> {
        let uplink = Evidence::new("uplink", self.uplink, format!("the link of {}", hop.address));
        let each = self
            .each
            .iter()
            .map(|one| Evidence::new(format!("link of {}", one.address), one.rate, one.source.clone()));
        std::iter::once(uplink).chain(each).collect()
    }
}

/// What a device can ask for: its link or, for a network card, the wires of its ports if they carry less.
fn wanted(machine: &Machine, device: &PciDevice) -> Option<BytesPerSec> {
    let link = raw_of(machine, device.address)?;
    let here = |address: PciAddress| address.card() == device.address.card();
    let wires: BytesPerSec = machine
        .nics
        .values()
        .filter(|nic| nic.pci.is_some_and(here))
        .filter_map(|nic| nic.speed.value().map(|speed| speed.bytes_per_sec()))
        .sum();
    Some(if wires.get() > 0.0 { link.min(wires) } else { link })
}

/// What the link of a function carries before packets, at its current width and the fastest speed of its own that it
/// was not trained below on purpose: idle links lie about speed, not about width.
pub(super) fn raw_of(machine: &Machine, address: PciAddress) -> Option<BytesPerSec> {
    let device = machine.pci.get(&address)?;
    let ends = machine.link_of(device);
    let both_tell = ends.device.max_speed().is_some() && ends.port.and_then(End::max_speed).is_some();
    let speed = ends.speed().filter(|_| !both_tell).or_else(|| ends.max_speed())?;
    pcie::raw(speed.value, ends.width()?.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{BRIDGE, ETHERNET, NVME, Sketch, at, function, link, on_bus};
    use narrows_base::fact::Fact;
    use narrows_base::units::BitsPerSec;
    use narrows_machine::nic::Nic;

    /// Devices with these links (class, generation, width) behind a Gen3 switch with this width of uplink.
    fn behind(uplink: u8, devices: &[(u32, (u8, u8))]) -> Sketch {
        let numbers: Vec<u8> = (10..).take(devices.len()).collect();
        let switch = UplinkHop {
            name: "PEX 8748".to_owned(),
            address: at(1),
            behind: numbers.iter().map(|bus| at(*bus)).collect(),
            ..UplinkHop::default()
        };
        Sketch::of("/dev/nvme0n1").device("nvme0n1", None).hop("PEX", HopSpec::Switch(switch), None).on(
            |machine| {
                machine.pci.insert(at(1), function(at(1), BRIDGE, (3, uplink)));
                for (bus, (class, most)) in numbers.iter().zip(devices) {
                    machine.pci.insert(at(*bus), function(at(*bus), *class, *most));
                }
            },
        )
    }

    #[test]
    fn four_drives_behind_x8_are_too_many_and_behind_x16_they_fit() {
        let drives = [(NVME, (3, 4)); 4];
        let finding = behind(8, &drives).finding(Code::SwitchOversubscribed).expect("2:1");
        assert_eq!(finding.severity, Severity::Info, "the drives may be slower than their links");
        assert!(
            finding.summary.contains("15.8 GB/s") && finding.summary.contains("7.88 GB/s"),
            "{}",
            finding.summary
        );
        assert_eq!(behind(16, &drives).finding(Code::SwitchOversubscribed), None);
    }

    #[test]
    fn drives_that_are_known_to_deliver_more_than_the_uplink_make_it_a_limit() {
        let of = |drive: f64| {
            let devices = [(NVME, (3, 4)); 4];
            let mut sketch = behind(8, &devices);
            for (bus, name) in (10..).zip(["a", "b", "c", "d"]) {
                let path = Sketch::of(name).device(name, Some(drive));
                let path = path.link(on_bus(bus, link((3, 4), (3, 4), (3, 4))));
                sketch = sketch.beside(path);
            }
            sketch.finding(Code::SwitchOversubscribed).map(|finding| finding.severity)
        };
        // Four times 3.5 GB/s are more than the 7.88 GB/s of eight lanes, and four times 1.5 are not.
        assert_eq!(of(3500.0), Some(Severity::Limit));
        assert_eq!(of(1500.0), Some(Severity::Info));
    }

    #[test]
    fn one_device_cannot_oversubscribe_and_slow_ones_do_not() {
        assert_eq!(behind(1, &[(NVME, (3, 4))]).finding(Code::SwitchOversubscribed), None);
        assert_eq!(behind(4, &[(NVME, (1, 1)); 8]).finding(Code::SwitchOversubscribed), None);
    }

    #[test]
    fn a_network_card_asks_for_no_more_than_its_wires() {
        let cards = [(NVME, (3, 4)), (ETHERNET, (3, 8))];
        assert!(behind(8, &cards).finding(Code::SwitchOversubscribed).is_some());
        let slow = behind(8, &cards).on(|machine| {
            let speed = Fact::known(BitsPerSec::from_mbit(10_000.0), "speed");
            machine.nics.insert("eth0".to_owned(), Nic { speed, pci: Some(at(11)), ..Nic::default() });
        });
        assert_eq!(slow.finding(Code::SwitchOversubscribed), None);
    }
}
