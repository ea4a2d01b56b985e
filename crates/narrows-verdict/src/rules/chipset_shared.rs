//! `chipset_shared`: the path goes through the chipset's uplink, which everything behind the chipset shares.
//!
//! A `limit` when the uplink is known to be the bottleneck of this path; `info` when a hop that is not known may be
//! narrower, or when the links behind it carry together more than it. A single disk behind a chipset with room is not
//! worth a word.

use narrows_base::units::{BytesPerSec, GtPerSec, Lanes};
use narrows_machine::Machine;
use narrows_model::ceiling::pcie;
use narrows_model::path::{Hop, HopSpec, Target, UplinkHop};

use super::super::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use super::super::link::{Claim, wires};
use super::switch_oversubscribed::{Shared, raw_of};
use super::{Context, Judged};

pub(super) fn check(context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    let hops = judged.subject.path.hops.iter().enumerate();
    hops.filter_map(|(index, hop)| {
        let uplink = match &hop.spec {
            HopSpec::Chipset(uplink) => uplink,
            HopSpec::Switch(uplink) if uplink.chipset.is_some() => uplink,
            _ => return None,
        };
        check_uplink(context, judged, index, hop, uplink)
    })
    .collect()
}

fn check_uplink(
    context: &Context<'_>,
    judged: &Judged<'_>,
    index: usize,
    hop: &Hop,
    uplink: &UplinkHop,
) -> Option<Finding> {
    let limit = std::iter::once(index)
        .chain(its_link(judged, uplink))
        .flat_map(|index| judged.limited_by(index))
        .map(|(_, limit)| limit)
        .min_by_key(|limit| limit.severity());
    let shared =
        raw(context.machine, uplink).and_then(|carries| Shared::of(context.machine, uplink, carries));
    let claim = wires(context, judged)
        .into_iter()
        .find(|link| link.link.device.address == uplink.address)
        .and_then(|link| link.claim(context.machine));
    if limit.is_none() && shared.is_none() && claim.is_none() {
        return None;
    }
    let name = &uplink.name;
    let sharing = shared.as_ref().map(|shared| {
        let (devices, wanted, uplink) = (shared.devices, shared.wanted, shared.uplink);
        format!(
            "the links of the {devices} devices behind it carry {wanted} together, it carries {uplink} (before packets)"
        )
    });
    let sharing = sharing.map(|sharing| format!("; {sharing}")).unwrap_or_default();
    let summary = match limit {
        Some(limit) => format!("The uplink of the {name} {}{sharing}.", limit.is_the_narrows()),
        None => format!("The path goes through the uplink of the {name}{sharing}."),
    };
    let severity = match limit {
        Some(limit) if leads_to_data(context, judged) => limit.severity(),
        _ => Severity::Info,
    };
    let advice = "Move what needs the rate to a slot or M.2 socket that the processor feeds.";
    Some(
        Finding::about(Code::ChipsetShared, severity, hop, summary)
            .with_confidence(Confidence::High)
            .with_evidence(uplink.chipset.iter().map(|chipset| {
                Evidence::new("chipset", format!("{}, {}", chipset.name, chipset.uplink), &chipset.source)
            }))
            .with_evidence(shared.iter().flat_map(|shared| shared.evidence(uplink)))
            .with_evidence(claim.iter().map(Claim::evidence))
            .with_advice([Advice::new(advice)]),
    )
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

/// The link of a chipset that sysfs shows.
fn its_link(judged: &Judged<'_>, uplink: &UplinkHop) -> Option<usize> {
    judged.subject.path.hops.iter().position(|hop| match &hop.spec {
        HopSpec::Link(link) => link.device.address == uplink.address,
        _ => false,
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
    use super::*;
    use crate::testing::{NVME, Sketch, at, function, link};
    use narrows_base::catalog::Chipset;

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
