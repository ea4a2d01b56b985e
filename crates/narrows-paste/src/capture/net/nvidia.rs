//! `nvidia-smi`: which GPUs there are. `nvidia-smi -q`: the PCIe link of each GPU. What it calls maximum is what GPU and slot can do together on old
//! versions, and what the device can do (`Device Max`) on new ones; only the latter is a fact of the device.

use std::collections::BTreeMap;

use crate::capture::Text;
use crate::capture::device::learn;
use narrows_base::units::{GtPerSec, Lanes};
use narrows_machine::Machine;
use narrows_machine::pci::{PciAddress, PciDevice};

/// Which of the two properties of a link is being listed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Property {
    Generation,
    Width,
}

/// Reads every GPU; whether there was one.
pub(super) fn read(machine: &mut Machine, text: &Text) -> bool {
    let mut found = false;
    let mut open: Option<PciAddress> = None;
    let mut property: Option<Property> = None;
    for (number, line) in text.lines() {
        let trimmed = line.trim();
        if let Some(gpu) = listed(trimmed) {
            let new = || PciDevice { address: gpu, ..PciDevice::default() };
            let function = machine.pci.entry(gpu).or_insert_with(new);
            learn(&mut function.driver, Some("nvidia".to_owned()), &text.source(number));
            found = true;
            continue;
        }
        if let Some(address) = trimmed.strip_prefix("GPU ").and_then(address) {
            open = Some(address);
            property = None;
            continue;
        }
        match trimmed {
            "PCIe Generation" => property = Some(Property::Generation),
            "Link Width" => property = Some(Property::Width),
            _ => {
                let Some((key, value)) = trimmed.split_once(':') else {
                    property = None;
                    continue;
                };
                let (key, value) = (key.trim(), value.trim());
                if key == "Bus Id" {
                    open = address(value).or(open);
                }
                let (Some(gpu), Some(listed)) = (open, property) else { continue };
                found |= put(&mut machine.pci, gpu, listed, (key, value), &text.source(number));
            }
        }
    }
    found
}

/// The GPU of a row of the table: `|   0  NVIDIA GeForce RTX 4090 D      On  |   00000000:A9:00.0 Off |`.
fn listed(line: &str) -> Option<PciAddress> {
    let mut cells = line.strip_prefix('|')?.split('|');
    cells.next()?.split_whitespace().next()?.parse::<u16>().ok()?;
    let bus = cells.next()?.split_whitespace().next()?;
    bus.parse().ok().filter(|_| bus.matches(':').count() == 2)
}

/// `00000000:01:00.0`.
fn address(text: &str) -> Option<PciAddress> {
    text.contains(':').then(|| text.trim().parse().ok()).flatten()
}

fn put(
    functions: &mut BTreeMap<PciAddress, PciDevice>,
    address: PciAddress,
    property: Property,
    (key, value): (&str, &str),
    source: &str,
) -> bool {
    let new = || PciDevice { address, ..PciDevice::default() };
    let speed = || value.parse().ok().and_then(GtPerSec::from_pcie_generation);
    let width = || Lanes::parse(value.strip_suffix('x')?);
    let is_known = matches!(key, "Current" | "Device Current" | "Device Max");
    if !is_known || (speed().is_none() && width().is_none()) {
        return false;
    }
    let function = functions.entry(address).or_insert_with(new);
    learn(&mut function.driver, Some("nvidia".to_owned()), source);
    let link = &mut function.link;
    match (property, key) {
        (Property::Generation, "Device Max") => learn(&mut link.max_speed, speed(), source),
        (Property::Generation, _) => learn(&mut link.current_speed, speed(), source),
        (Property::Width, "Device Max") => learn(&mut link.max_width, width(), source),
        (Property::Width, _) => learn(&mut link.current_width, width(), source),
    }
    true
}
