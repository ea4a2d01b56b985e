//! Uplinks that several devices share: of switches and of chipsets.

use std::collections::{BTreeMap, BTreeSet};

use narrows_base::units::{BytesPerSec, GtPerSec, Lanes};
use narrows_machine::Machine;
use narrows_machine::pci::{End, PciAddress, PciDevice};
use narrows_model::ceiling::pcie;
use narrows_model::ceiling::{Basis, Ceiling, Direction};
use narrows_model::path::{Hop, HopId, HopKind, HopSpec, Target, UplinkHop};

use super::{Context, Judged};
use crate::attribution::Attribution;
use crate::finding::{Code, Evidence, Finding, Severity};
use crate::link::{Claim, wires};

/// Sums within this much of the uplink fit it.
const FITS: f64 = 1.1;

pub(super) fn check(context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    let of_hop =
        |hop| switch_oversubscribed(context, judged, hop).or_else(|| chipset_shared(context, judged, hop));
    judged.subject.path.hops.iter().filter_map(of_hop).collect()
}

/// `switch_oversubscribed`: the devices behind a switch can together do more than its uplink.
///
/// A `limit` where the uplink is the bottleneck of the path, or where the drives and wires behind it are known to deliver
/// more than it carries. Where only their links do, `info`: the drives may be slower than their links.
fn switch_oversubscribed(context: &Context<'_>, judged: &Judged<'_>, hop: &Hop) -> Option<Finding> {
    let HopSpec::Switch(switch) = &hop.spec else { return None };
    // The chipset of AMD boards is a switch too; `chipset_shared` speaks of it.
    if switch.chipset.is_some() {
        return None;
    }
    let shared = Shared::of(context.machine, switch, raw_of(context.machine, switch.address)?)?;
    let summary = format!(
        "The links of {} devices behind the switch {} carry {} together, and its uplink {} (before packets).",
        shared.devices, switch.address, shared.wanted, shared.uplink
    );
    let severity = severity(context, judged, switch, &shared);
    let found = Finding::about(Code::SwitchOversubscribed, severity, hop, summary)
        .with_evidence(shared.evidence(switch));
    Some(found.advise("Spread devices that are used at the same time over several switches or slots."))
}

fn severity(context: &Context<'_>, judged: &Judged<'_>, switch: &UplinkHop, shared: &Shared) -> Severity {
    let proven = limit_of(judged, switch).map(Attribution::severity);
    let delivered: Option<BytesPerSec> =
        shared.each.iter().map(|one| delivers(context, one.address).map(|rate| rate.min(one.rate))).sum();
    let exceeds = delivered.is_some_and(|rate| rate.get() > shared.uplink.get() * FITS);
    proven.unwrap_or(if exceeds { Severity::Limit } else { Severity::Info })
}

/// The limit that an uplink is, be it seen as a link or as the hop that it leads to.
fn limit_of<'j>(judged: &'j Judged<'_>, uplink: &UplinkHop) -> Option<&'j Attribution> {
    let address =
        |hop: &Hop| hop.link().map(|link| link.device.address).or(hop.uplink().map(|own| own.address));
    let hops = judged.subject.path.hops.iter().enumerate();
    let of_uplink = hops.filter(|(_, hop)| address(hop) == Some(uplink.address));
    let limits = of_uplink.flat_map(|(index, _)| judged.limited_by(index));
    limits.map(|(_, limit)| limit).min_by_key(|limit| limit.severity())
}

/// What the media behind a function are known to deliver; all of what its link carries for a network card, whose
/// wires were counted. `None` where that is not known.
fn delivers(context: &Context<'_>, address: PciAddress) -> Option<BytesPerSec> {
    let device = context.machine.pci.get(&address)?;
    if device.is_network() {
        return Some(BytesPerSec::new(f64::INFINITY));
    }
    let is_link = |hop: &Hop| hop.link().is_some_and(|link| link.device.address == address);
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
        let behind = hop.behind.iter().filter_map(|address| machine.pci.get(address));
        let devices = behind.filter(|device| device.class.value().is_none_or(|class| class >> 16 != 0x06));
        // The functions of one card share its link.
        let each = devices.filter(|device| cards.insert(device.address.card())).filter_map(|device| {
            let source = machine.link_of(device).width()?.source.as_str().to_owned();
            Some(Wanted { address: device.address, rate: wanted(machine, device)?, source })
        });
        let each: Vec<_> = each.collect();
        let wanted: BytesPerSec = each.iter().map(|one| one.rate).sum();
        let over = each.len() >= 2 && wanted.get() > uplink.get() * FITS;
        over.then_some(Self { devices: each.len(), wanted, uplink, each })
    }

    /// The rates that were compared.
    pub(super) fn evidence(&self, hop: &UplinkHop) -> Vec<Evidence> {
        let uplink = Evidence::new("uplink", self.uplink, format!("the link of {}", hop.address));
        let of = |one: &Wanted| Evidence::new(format!("link of {}", one.address), one.rate, &one.source);
        std::iter::once(uplink).chain(self.each.iter().map(of)).collect()
    }
}

/// What a device can ask for: its link or, for a network card, the wires of its ports if they carry less.
fn wanted(machine: &Machine, device: &PciDevice) -> Option<BytesPerSec> {
    let link = raw_of(machine, device.address)?;
    let here = |address: PciAddress| address.card() == device.address.card();
    let ports = machine.nics.values().filter(|nic| nic.pci.is_some_and(here));
    let wires: BytesPerSec = ports.filter_map(|nic| Some(nic.speed.value()?.bytes_per_sec())).sum();
    Some(if wires.get() > 0.0 { link.min(wires) } else { link })
}

/// What the link of a function carries before packets, at its current width and the fastest speed of its own that it
/// was not trained below on purpose: idle links lie about speed, not about width.
fn raw_of(machine: &Machine, address: PciAddress) -> Option<BytesPerSec> {
    let device = machine.pci.get(&address)?;
    let ends = machine.link_of(device);
    let both_tell = ends.device.max_speed().is_some() && ends.port.and_then(End::max_speed).is_some();
    let speed = ends.speed().filter(|_| !both_tell).or_else(|| ends.max_speed())?;
    pcie::raw(speed.value, ends.width()?.value)
}

/// `chipset_shared`: the path goes through the chipset's uplink, which everything behind the chipset shares.
///
/// A `limit` when the uplink is known to be the bottleneck of this path; `info` when a hop that is not known may be
/// narrower, or when the links behind it carry together more than it. A single disk behind a chipset with room is not
/// worth a word.
fn chipset_shared(context: &Context<'_>, judged: &Judged<'_>, hop: &Hop) -> Option<Finding> {
    let is_chipset = |uplink: &&UplinkHop| hop.kind() == HopKind::Chipset || uplink.chipset.is_some();
    let uplink = hop.uplink().filter(is_chipset)?;
    let limit = limit_of(judged, uplink);
    let shared =
        raw(context.machine, uplink).and_then(|carries| Shared::of(context.machine, uplink, carries));
    let links = wires(context, judged);
    let link = links.iter().find(|link| link.link.device.address == uplink.address);
    let claim = link.and_then(|link| link.claim(context.machine));
    if limit.is_none() && shared.is_none() && claim.is_none() {
        return None;
    }
    let name = &uplink.name;
    let sharing = shared.as_ref().map_or_else(String::new, |shared| {
        let (devices, wanted, uplink) = (shared.devices, shared.wanted, shared.uplink);
        format!(
            "; the links of the {devices} devices behind it carry {wanted} together, it carries {uplink} (before packets)"
        )
    });
    let summary = match limit {
        Some(limit) => format!("The uplink of the {name} {}{sharing}.", limit.is_the_narrows()),
        None => format!("The path goes through the uplink of the {name}{sharing}."),
    };
    let severity = match limit {
        Some(limit) if leads_to_data(context, judged) => limit.severity(),
        _ => Severity::Info,
    };
    let advice = "Move what needs the rate to a slot or M.2 socket that the processor feeds.";
    let found = Finding::about(Code::ChipsetShared, severity, hop, summary)
        .with_evidence(uplink.chipset.iter().map(|chipset| {
            Evidence::new("chipset", format!("{}, {}", chipset.name, chipset.uplink), &chipset.source)
        }))
        .with_evidence(shared.iter().flat_map(|shared| shared.evidence(uplink)))
        .with_evidence(claim.iter().map(Claim::evidence));
    Some(found.advise(advice))
}

/// Whether the path leads to storage or a network. Of another function that stands for itself nobody knows what it needs,
/// nor of an IDE or SATA controller without a known disk: its link says nothing of what its ports carry.
fn leads_to_data(context: &Context<'_>, judged: &Judged<'_>) -> bool {
    const ATA: [u32; 3] = [0x0101, 0x0105, 0x0106];
    let Target::Pci(address) = judged.subject.path.asked else { return true };
    let function = context.machine.pci.get(&address);
    let is_ata = |class: &u32| ATA.contains(&(class >> 8));
    function.is_some_and(|function| {
        function.is_network() || function.is_storage() && !function.class.value().is_some_and(is_ata)
    })
}

/// What the uplink carries before packets: as published for a hidden one, as read for one that sysfs shows.
fn raw(machine: &Machine, uplink: &UplinkHop) -> Option<BytesPerSec> {
    let published = uplink.chipset.as_ref().and_then(|chipset| {
        pcie::raw(GtPerSec::from_pcie_generation(chipset.generation)?, Lanes::new(chipset.lanes))
    });
    let seen = raw_of(machine, uplink.address);
    seen.or(published)
}

#[cfg(test)]
mod tests {
    use narrows_base::catalog::Chipset;
    use narrows_base::fact::Fact;
    use narrows_base::units::BitsPerSec;
    use narrows_machine::nic::Nic;

    use super::*;
    use crate::testing::{BRIDGE, ETHERNET, NVME, Sketch, at, function, link, on_bus};

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

    fn x99(behind: &[u8]) -> UplinkHop {
        UplinkHop {
            name: "Intel X99 chipset, DMI 2.0".to_owned(),
            address: at(0x1f),
            chipset: Some(Chipset { generation: 2, lanes: 4, ..Chipset::default() }),
            behind: behind.iter().map(|bus| at(*bus)).collect(),
        }
    }

    fn path(behind: &[u8], uplink: f64) -> Sketch {
        path_to(None, behind, uplink)
    }

    fn path_to(disk: Option<f64>, behind: &[u8], uplink: f64) -> Sketch {
        let hop = HopSpec::Chipset(x99(behind));
        Sketch::of("/dev/nvme0n1")
            .device("nvme0n1", disk)
            .link(link((2, 4), (2, 4), (2, 4)))
            .hop("Intel X99 chipset, DMI 2.0", hop, Some(uplink))
            .on(|machine| {
                for bus in behind {
                    machine.pci.insert(at(*bus), function(at(*bus), NVME, (2, 4)));
                }
            })
    }

    #[test]
    fn an_uplink_that_is_the_narrows_is_a_limit() {
        let of = |disk: Option<f64>| {
            let narrow = path_to(disk, &[2], 1000.0).finding(Code::ChipsetShared);
            narrow.expect("narrower than the link").severity
        };
        assert_eq!(of(Some(3000.0)), Severity::Limit);
        assert_eq!(of(None), Severity::Info, "the drive may be slower");
    }

    #[test]
    fn an_uplink_above_a_function_of_which_nobody_knows_what_it_needs_is_only_mentioned() {
        const USB: u32 = 0x0c_0330;
        let of = |class| {
            let mut path = path_to(Some(3000.0), &[2], 1000.0);
            path.machine.pci.insert(at(2), function(at(2), class, (2, 4)));
            path.subject.path.asked = Target::Pci(at(2));
            path.finding(Code::ChipsetShared).map(|finding| finding.severity)
        };
        assert_eq!(of(NVME), Some(Severity::Limit));
        assert_eq!(of(USB), Some(Severity::Info));
        assert_eq!(of(0x01_0601), Some(Severity::Info), "SATA ports without a disk");
    }

    #[test]
    fn two_drives_that_share_an_uplink_are_mentioned() {
        let sketch = path(&[2, 3], 9000.0);
        let finding = sketch.finding(Code::ChipsetShared).expect("4 GB/s over 2");
        assert_eq!(finding.severity, Severity::Info);
        assert!(
            finding.summary.contains("4 GB/s") && finding.summary.contains("2 GB/s"),
            "{}",
            finding.summary
        );
    }

    #[test]
    fn a_single_drive_with_room_is_silent() {
        assert_eq!(path(&[2], 9000.0).finding(Code::ChipsetShared), None);
    }
}
