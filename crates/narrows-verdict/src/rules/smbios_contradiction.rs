//! `smbios_contradiction`: SMBIOS contradicts what the bus says. Then the bus is right.
//!
//! Only what cannot be true counts: a slot that is narrower or slower than the link that runs in it, or that is free
//! and has a device. A wider claim is no contradiction, for many firmwares state the connector.

use narrows_machine::Machine;
use narrows_machine::dmi::Slot;
use narrows_machine::pci::PciDevice;

use super::super::finding::{Code, Confidence, Evidence, Finding, Severity};
use super::Context;

const SOURCE: &str = "SMBIOS type 9";

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    if context.machine.cpus.hypervisor.value().is_some() {
        return Vec::new();
    }
    let Some(slots) = context.machine.slots.value() else { return Vec::new() };
    let wrong: Vec<(&Slot, Vec<Evidence>)> = slots
        .iter()
        .filter_map(|slot| {
            let evidence = contradictions(context.machine, slot, device_in(context, slot)?);
            (!evidence.is_empty()).then_some((slot, evidence))
        })
        .collect();
    if wrong.is_empty() {
        return Vec::new();
    }
    let names: Vec<&str> = wrong.iter().map(|(slot, _)| slot.designation.as_str()).collect();
    let summary = format!(
        "The firmware's slot table is wrong about {}; narrows goes by what the bus says.",
        names.join(", ")
    );
    vec![
        Finding::on(Code::SmbiosContradiction, Severity::Info, names.join(", "), summary)
            .with_confidence(Confidence::High)
            .with_evidence(wrong.into_iter().flat_map(|(_, evidence)| evidence)),
    ]
}

/// The device in a slot: by the name of the physical slot or of the path's link, else by the address in the record,
/// which is that of the device or of the port above it.
fn device_in<'a>(context: &Context<'a>, slot: &Slot) -> Option<&'a PciDevice> {
    let pci = &context.machine.pci;
    let links = context.judged.iter().flat_map(|judged| &judged.subject.path.hops);
    let by_link = links.filter_map(|hop| match &hop.spec {
        narrows_model::path::HopSpec::Link(link) => Some(link),
        _ => None,
    });
    let named = by_link
        .filter(|link| link.slot.as_deref() == Some(slot.designation.as_str()))
        .find_map(|link| pci.get(&link.device.address));
    let at = || {
        let address = slot.address?;
        pci.values().find(|device| device.parent == Some(address)).or_else(|| {
            pci.get(&address).filter(|device| device.class.value().is_some_and(|class| class >> 16 != 0x06))
        })
    };
    named.or_else(at)
}

fn contradictions(machine: &Machine, slot: &Slot, device: &PciDevice) -> Vec<Evidence> {
    let link = machine.link_of(device);
    let name = &slot.designation;
    let mut evidence = Vec::new();
    let claimed = slot.width.max(slot.connector);
    if let (Some(claimed), Some(width)) = (claimed, link.width())
        && width.value > claimed
    {
        evidence.push(Evidence::new(format!("width of {name}, as claimed"), claimed, SOURCE));
        let fact = format!("width of {name}, as it runs");
        evidence.push(Evidence::new(fact, width.value, width.source.as_str()));
    }
    if let (Some(claimed), Some(speed)) = (slot.speed, link.speed())
        && speed.value > claimed
    {
        evidence.push(Evidence::new(format!("speed of {name}, as claimed"), claimed, SOURCE));
        let fact = format!("speed of {name}, as it runs");
        evidence.push(Evidence::new(fact, speed.value, speed.source.as_str()));
    }
    if slot.in_use == Some(false) {
        evidence.push(Evidence::new(format!("use of {name}, as claimed"), "available", SOURCE));
        let found = format!("device {}", device.address);
        evidence.push(Evidence::new(format!("use of {name}, as found"), found, "/sys/bus/pci/devices"));
    }
    evidence
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{NVME, Sketch, at, function, link};
    use narrows_base::fact::Fact;
    use narrows_base::units::{GtPerSec, Lanes};
    use narrows_model::path::LinkHop;

    /// A drive that runs Gen2 x4 in slot PCIEX16_2, with this claim of the firmware.
    fn path(slot: Slot) -> Sketch {
        let hop = LinkHop { slot: Some("PCIEX16_2".to_owned()), ..link((2, 4), (3, 4), (2, 4)) };
        let slot = Slot { designation: "PCIEX16_2".to_owned(), ..slot };
        Sketch::drive(hop).on(|machine| {
            machine.pci.insert(at(2), function(at(2), NVME, (2, 4)));
            machine.slots = Fact::known(vec![slot], "/sys/firmware/dmi/tables/DMI");
        })
    }

    #[test]
    fn a_slot_that_claims_less_than_runs_in_it_is_wrong() {
        // The X99 board goes on saying "x1 PCI Express 3" after the switch to x4.
        let claim = Slot { speed: Some(GtPerSec::GEN3), width: Some(Lanes::new(1)), ..Slot::default() };
        let finding = path(claim).finding(Code::SmbiosContradiction).expect("x4 in x1");
        assert_eq!(finding.severity, Severity::Info);
        assert_eq!(finding.subject, "PCIEX16_2");
    }

    #[test]
    fn a_slot_that_claims_to_be_free_is_wrong() {
        let claim = Slot { in_use: Some(false), ..Slot::default() };
        assert!(path(claim).finding(Code::SmbiosContradiction).is_some());
    }

    #[test]
    fn a_wider_claim_may_be_the_connector() {
        let claim = Slot {
            speed: Some(GtPerSec::GEN3),
            width: Some(Lanes::new(16)),
            in_use: Some(true),
            ..Slot::default()
        };
        assert_eq!(path(claim).finding(Code::SmbiosContradiction), None);
    }
}
