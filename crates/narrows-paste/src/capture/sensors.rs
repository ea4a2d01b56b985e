//! Temperatures of drives as `sensors` prints them, for people, raw (`-u`) and as JSON (`-j`).
//!
//! A chip is named by its driver and its place (lm-sensors `lib/data.c`, `sensors_snprintf_chip_name`):
//! `nvme-pci-0400` has domain, bus, device and function in one number, `drivetemp-scsi-4-0` the SCSI host and, in one
//! number, channel, target and unit (`lib/sysfs.c`, `sensors_read_one_sysfs_chip`). Which disk that is, another text tells;
//! `join` gives the temperature to it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::device::{learn, take_kept};
use super::fill::{Fill, Than};
use super::health::temperature;
use super::json::documents;
use super::{Part, Rank, Text};
use crate::text::is_digits;
use narrows_base::units::Celsius;
use narrows_machine::Machine;
use narrows_machine::block::{BlockDevice, Transport};
use narrows_machine::pci::PciAddress;

/// Under this prefix the temperature of a drive is kept of which only the place is known.
const KEPT: &str = "sensors/";
/// Under this prefix `Machine::links` has the disk at a SCSI address, which a kernel log tells (`sd 4:0:0:0: [sda]`).
const SCSI: &str = "scsi_disk/";
/// More drives than one text has.
const MOST: usize = 4096;
/// A chip has fewer lines.
const MOST_LINES: usize = 40;

/// Reads every drive's chip in a text.
pub fn read(text: &Text) -> Part {
    let mut part = Part { rank: Rank::Decoded, ..Part::default() };
    let mut chips = of_lines(text);
    for (line, document) in documents(text) {
        chips.extend(of_json(line, &document));
    }
    for chip in chips.into_iter().take(MOST) {
        if chip.now.is_none() {
            continue;
        }
        let source = text.source(chip.line);
        let health = part.machine.health.entry(format!("{KEPT}{}", chip.place)).or_default();
        learn(&mut health.temperature, chip.now, &source);
        // A threshold of nothing is none.
        learn(&mut health.warning, chip.high.filter(|high| high.get() > 0.0), &source);
        part.kind = Some("sensors");
    }
    part
}

/// Whether a text is host, channel, target and unit of SCSI: `2:0:0:0`.
pub(super) fn is_scsi_address(text: &str) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    parts.len() == 4 && parts.iter().all(|part| part.len() <= 10 && is_digits(part))
}

/// The disk at a SCSI address, for the temperature of its chip.
pub(super) fn note_disk(links: &mut BTreeMap<String, String>, at: &str, disk: &str) {
    if links.len() < MOST && is_scsi_address(at) {
        links.insert(format!("{SCSI}{at}"), disk.to_owned());
    }
}

/// What one chip says of its drive.
#[derive(Debug, Default)]
struct Chip {
    /// `0000:04:00.0`, or `4:0:0:0`.
    place: String,
    line: usize,
    now: Option<Celsius>,
    high: Option<Celsius>,
}

/// The place of the drive in a chip's name.
fn place(name: &str) -> Option<String> {
    if let Some(number) = name.strip_prefix("nvme-pci-") {
        let number = u32::from_str_radix(number, 16).ok()?;
        let [bus, devfn] = u16::try_from(number & 0xffff).ok()?.to_be_bytes();
        let address = PciAddress { domain: number >> 16, bus, device: devfn >> 3, function: devfn & 7 };
        return Some(address.to_string());
    }
    let (host, number) = name.strip_prefix("drivetemp-scsi-")?.split_once('-')?;
    let (host, number) = (host.parse::<u32>().ok()?, u32::from_str_radix(number, 16).ok()?);
    Some(format!("{host}:{}:{}:{}", number >> 8, number >> 4 & 15, number & 15))
}

/// Each chip's first temperature is that of the drive; further ones are of parts of it and have no limits of their own.
fn of_lines(text: &Text) -> Vec<Chip> {
    let mut chips: Vec<Chip> = Vec::new();
    // The lines of the chip that is open, and whether its first temperature is.
    let (mut open, mut labels) = (0usize, 0usize);
    for (number, line) in text.lines() {
        let line = line.trim();
        if let Some(place) = place(line) {
            chips.push(Chip { place, line: number, ..Chip::default() });
            (open, labels) = (MOST_LINES, 0);
            continue;
        }
        let Some(chip) = chips.last_mut().filter(|_| open > 0) else { continue };
        open -= 1;
        if line.is_empty() || is_other_chip(line) {
            open = 0;
            continue;
        }
        let value = match line.split_once(':') {
            Some(("Adapter", _)) => continue,
            // The raw form has names of attributes below the label.
            Some((attribute, value)) if attribute.starts_with("temp1_") => {
                match attribute {
                    "temp1_input" => chip.now = chip.now.or_else(|| temperature(value)),
                    "temp1_max" => chip.high = chip.high.or_else(|| temperature(value)),
                    _ => {}
                }
                continue;
            }
            Some((_, value)) if !line.starts_with('(') => {
                labels += 1;
                value
            }
            _ => line,
        };
        if labels == 1 {
            let (now, limits) = value.split_once('(').unwrap_or((value, ""));
            chip.now = chip.now.or_else(|| temperature(now));
            chip.high = chip.high.or_else(|| limit(limits));
        }
    }
    chips
}

/// `coretemp-isa-0000`: a name of three parts without a blank.
fn is_other_chip(line: &str) -> bool {
    line.matches('-').count() >= 2 && !line.contains([' ', ':', '('])
}

/// The number after `high = ` among the limits of a temperature.
fn limit(text: &str) -> Option<Celsius> {
    let rest = text.split("high").nth(1)?.trim_start().strip_prefix('=')?;
    temperature(rest.split([',', ')']).next()?)
}

fn of_json(line: usize, document: &Value) -> Vec<Chip> {
    let chips = document.as_object().into_iter().flatten();
    chips
        .filter_map(|(name, chip)| {
            let mut features = chip.as_object()?.values();
            let first = features.find(|feature| feature.get("temp1_input").is_some())?;
            let value = |key: &str| {
                let number = first.get(key)?.as_f64()?;
                temperature(&format!("{number} C"))
            };
            Some(Chip { place: place(name)?, line, now: value("temp1_input"), high: value("temp1_max") })
        })
        .collect()
}

/// Gives each temperature to the drive at its place; one that another text told stays. A place without a drive gives
/// nothing.
pub(super) fn give(machine: &mut Machine) {
    let kept = take_kept(&mut machine.health, KEPT);
    let is_alone = |is_nvme: bool| {
        kept.iter().filter(|(place, _)| place.parse::<PciAddress>().is_ok() == is_nvme).count() == 1
    };
    let alone = (is_alone(true), is_alone(false));
    for (place, health) in kept {
        let address: Option<PciAddress> = place.parse().ok();
        let drive = match address {
            Some(address) => nvme_at(machine, address).or_else(|| only(machine, alone.0, is_unplaced_nvme)),
            None => machine
                .links
                .get(&format!("{SCSI}{place}"))
                .cloned()
                .or_else(|| only(machine, alone.1, is_sata)),
        };
        let Some(drive) = drive else { continue };
        machine.health.entry(drive).or_default().fill(health, Than::Less);
    }
    machine.links.retain(|name, _| !name.starts_with(SCSI));
}

/// The first namespace of the controller at an address.
fn nvme_at(machine: &Machine, address: PciAddress) -> Option<String> {
    let is_there = |device: &&BlockDevice| {
        device.partition_of.is_none()
            && matches!(&device.transport, Transport::NvmePci { pci, .. } if *pci == address)
    };
    machine.block.values().find(is_there).map(|device| device.name.clone())
}

/// The one drive of a kind, where one temperature of that kind waits.
fn only(machine: &Machine, is_alone: bool, is: fn(&BlockDevice) -> bool) -> Option<String> {
    let mut drives = machine.block.values().filter(|device| device.partition_of.is_none() && is(device));
    let drive = drives.next()?;
    (is_alone && drives.next().is_none()).then(|| drive.name.clone())
}

fn is_unplaced_nvme(device: &BlockDevice) -> bool {
    matches!(&device.transport, Transport::Other { name, pci: None } if name == "nvme")
}

fn is_sata(device: &BlockDevice) -> bool {
    matches!(device.transport, Transport::Sata(_))
}

#[cfg(test)]
mod tests;
