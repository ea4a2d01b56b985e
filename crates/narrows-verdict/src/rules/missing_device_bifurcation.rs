//! `missing_device_bifurcation`: a slot seems to be split and not all of its devices are there.
//!
//! Only the board's data say which ports belong to one slot. Where two or more of them carry a drive, the slot is split
//! for a card with several; a port among them without anything below it may be a drive that did not come up. Or an
//! empty socket of the card: so this is a suspicion.

use std::collections::BTreeSet;

use narrows_machine::pci::{PciAddress, PciDevice};
use narrows_model::path::HopSpec;

use super::super::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use super::Context;

const NVME: u32 = 0x0108;

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    let mut seen = BTreeSet::new();
    let mut findings = Vec::new();
    for hop in context.judged.iter().flat_map(|judged| &judged.subject.path.hops) {
        let HopSpec::Link(link) = &hop.spec else { continue };
        let (Some(slot), Some(port)) = (&link.board_slot, &link.port) else { continue };
        // A slot that an option moves between ports, or that shares them, lists ports that are not split; and a x4 slot
        // is not split for several drives.
        if slot.shares.is_some() || slot.option.is_some() || slot.lanes < 8 || !seen.insert(slot.name.clone())
        {
            continue;
        }
        let ports: Vec<PciAddress> = slot
            .root_ports
            .iter()
            .filter_map(|name| format!("{:04x}:00:{name}", port.address.domain).parse().ok())
            .filter(|address| context.machine.pci.contains_key(address))
            .collect();
        let child = |port: &PciAddress| context.machine.pci.values().find(|d| d.parent == Some(*port));
        let drives = ports.iter().filter(|port| child(port).is_some_and(is_drive)).count();
        let empty: Vec<String> =
            ports.iter().filter(|port| child(port).is_none()).map(ToString::to_string).collect();
        if drives < 2 || empty.is_empty() {
            continue;
        }
        let summary = format!(
            "Slot {} is split over {} ports; {drives} carry a drive, and {} carries nothing.",
            slot.name,
            ports.len(),
            empty.join(", ")
        );
        findings.push(
            Finding::on(Code::MissingDeviceBifurcation, Severity::Info, slot.name.clone(), summary)
                .with_confidence(Confidence::Low)
                .with_evidence(
                    empty.iter().map(|port| Evidence::new("port without a device", port, "/sys/bus/pci/devices")),
                )
                .with_advice([Advice::new(
                    "If a drive is missing, check that the slot's bifurcation in the firmware setup matches the card, and \
                     reseat the drive.",
                )]),
        );
    }
    findings
}

fn is_drive(device: &PciDevice) -> bool {
    device.class.value().is_some_and(|class| class >> 8 == NVME)
}

#[cfg(test)]
mod tests {
    use crate::Code;
    use crate::testing::{BRIDGE, NVME, Sketch, at, function, link};
    use narrows_base::catalog::BoardSlot;
    use narrows_machine::pci::PciAddress;
    use narrows_model::path::LinkHop;

    /// A x16 slot over four ports of which so many carry a drive.
    fn path(drives: u8) -> Sketch {
        let port = |function| PciAddress { device: 1, function, ..PciAddress::default() };
        let slot = BoardSlot {
            name: "PCIEX16_1".to_owned(),
            lanes: 16,
            root_ports: (0..4).map(|function| format!("01.{function}")).collect(),
            ..BoardSlot::default()
        };
        let link = LinkHop { board_slot: Some(slot), ..link((3, 4), (3, 4), (3, 4)) };
        Sketch::drive(link).on(|machine| {
            for number in 0..4 {
                machine.pci.insert(port(number), function(port(number), BRIDGE, (3, 4)));
            }
            for number in 0..drives {
                let mut drive = function(at(2 + number), NVME, (3, 4));
                drive.parent = Some(port(number));
                machine.pci.insert(drive.address, drive);
            }
        })
    }

    #[test]
    fn one_empty_port_among_three_drives_is_a_suspicion() {
        let finding = path(3).finding(Code::MissingDeviceBifurcation).expect("one of four is missing");
        assert!(finding.summary.contains("0000:00:01.3"), "{}", finding.summary);
        assert!(path(3).alarms().is_empty());
    }

    #[test]
    fn a_full_slot_and_a_single_drive_are_silent() {
        assert_eq!(path(4).finding(Code::MissingDeviceBifurcation), None);
        assert_eq!(path(1).finding(Code::MissingDeviceBifurcation), None);
    }
}
