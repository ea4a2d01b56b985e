//! smartctl: who a drive is, whether it turns, how fast its SATA link runs and could run, and how it is.
//!
//! The text does not name the drive's device: that is in the command above it, in the name of the file as sosreport
//! makes it (`smartctl_--all_.dev.sda`), or is found by serial number or model. Until then it is kept under
//! `smart/SERIAL`, and `join` gives it to its drive.

use narrows_base::units::{Bytes, Celsius};
use narrows_machine::Machine;
use narrows_machine::block::{BlockDevice, Queue, Sata, Transport, is_numbered};
use narrows_machine::health::AtaCounts;
use serde_json::Value;

use super::device::{device, implied, key_of, known, learn, sata_rate};
use super::fill::{Fill, Than};
use super::health::{Log, take, temperature, warns_from};
use super::json::{documents, text_of};
use super::{Part, Rank, Text};
use crate::text::is_in;

/// Reads every output of smartctl in a text.
pub fn read(text: &Text) -> Part {
    let mut part = Part { rank: Rank::Decoded, ..Part::default() };
    let body = text.body();
    let mut drives = Vec::new();
    if is_in(
        &["START OF INFORMATION SECTION", "RAW_VALUE", "_Ct ", "_Count ", "Error: UNC", "Error: ICRC"],
        body,
    ) {
        drives.extend(drives_of_lines(text));
    }
    drives.extend(drives_of_checks(text));
    if body.contains("\"smartctl\"") {
        drives.extend(drives_of_json(text));
    }
    for drive in drives {
        if put_drive(&mut part.machine, drive).is_some() {
            part.kind = Some("smartctl");
        }
    }
    part
}

/// What one output says of a drive.
#[derive(Debug, Default)]
struct SmartDrive {
    /// Where it was read.
    source: String,
    /// Its name, where it is known.
    name: Option<String>,
    device: BlockDevice,
    /// The health log of an NVMe drive.
    log: Log,
    /// The temperature of any other.
    temperature: Option<Celsius>,
    /// From this temperature on it warns.
    warning: Option<Celsius>,
    /// What an ATA drive counts against itself, where its attributes are there.
    counts: Option<AtaCounts>,
    /// The errors that stand in its log: the last ones of those that an attribute counts.
    kept: AtaCounts,
}

impl SmartDrive {
    /// Takes a line of an attribute or of an error.
    fn take_count(&mut self, line: &str) {
        if let Some((id, raw)) = counted(line) {
            self.counts.get_or_insert_default().take(id, raw);
        }
        if let Some(error) = kept_error(line) {
            self.counts.get_or_insert_default();
            *(if error == KeptError::Medium {
                &mut self.kept.uncorrectable
            } else {
                &mut self.kept.cable
            }) += 1;
        }
    }
}

/// What checks for Nagios and its like print before and behind their bar (check_smart): `WARNING: UDMA_CRC_Error_Count is non-zero
/// (3)|Reallocated_Sector_Ct=0 UDMA_CRC_Error_Count=3`.
fn drives_of_checks(text: &Text) -> impl Iterator<Item = SmartDrive> {
    const NAMES: [(&str, u64); 5] = [
        ("Reallocated_Sector_Ct", 5),
        ("Reported_Uncorrect", 187),
        ("Current_Pending_Sector", 197),
        ("Offline_Uncorrectable", 198),
        ("UDMA_CRC_Error_Count", 199),
    ];
    text.lines().filter_map(|(number, line)| {
        let (said, values) =
            line.split_once('|').filter(|(said, values)| said.contains("_C") || values.contains("_C"))?;
        let mut counts = AtaCounts::default();
        let said = said.split(": ").filter_map(|one| one.split_once(" is non-zero ("));
        let said = said.map(|(name, value)| (name, value.split(')').next().unwrap_or_default()));
        for (name, value) in said.chain(values.split_whitespace().filter_map(|one| one.split_once('='))) {
            let known = NAMES.iter().find(|(known, _)| *known == name);
            if let (Some((_, id)), Ok(raw)) = (known, value.trim_end_matches('c').parse()) {
                counts.take(*id, raw);
            }
        }
        let counts = Some(counts).filter(|counts| *counts != AtaCounts::default());
        Some(SmartDrive { source: text.source(number), counts: Some(counts?), ..SmartDrive::default() })
    })
}

/// An error that a drive kept in its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeptError {
    /// A sector could not be read.
    Medium,
    /// What came over the cable was damaged.
    Cable,
}

/// `40 -- 51 00 01 00 00 00 5e a7 db e0 00  Error: UNC at LBA = 0x005ea7db = 6203355` (`ataprint.cpp`).
fn kept_error(line: &str) -> Option<KeptError> {
    let (registers, error) = line.split_once("Error: ")?;
    let is_register =
        |word: &str| word == "--" || word.len() == 2 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    if registers.split_whitespace().count() < 7 || !registers.split_whitespace().all(is_register) {
        return None;
    }
    match error.split([' ', ',']).next()? {
        "UNC" => Some(KeptError::Medium),
        "ICRC" => Some(KeptError::Cable),
        _ => None,
    }
}

/// The heading of the attributes.
fn is_table(line: &str) -> bool {
    line.trim_start().starts_with("ID# ATTRIBUTE_NAME")
}

/// The device of `/dev/sda`, or the first namespace of the controller `/dev/nvme0`.
fn device_in(text: &str) -> Option<String> {
    // As prose has it: "the output of smartctl -a /dev/sda:".
    let name = key_of(text.trim_end_matches([':', ',', '.', ';', ')']))?;
    Some(if is_numbered(&name, "nvme") { format!("{name}n1") } else { name })
}

fn put_drive(machine: &mut Machine, drive: SmartDrive) -> Option<()> {
    let source = drive.source.as_str();
    let counts = drive.counts.map(|counts| AtaCounts {
        uncorrectable: counts.uncorrectable.max(drive.kept.uncorrectable),
        cable: counts.cable.max(drive.kept.cable),
        ..counts
    });
    // Attributes alone tell no more of whose they are than their line; without an error there is nothing to tell.
    let has_errors = counts.is_some_and(|counts| counts != AtaCounts::default());
    let is_alone = drive.device.serial.value().is_none() && drive.device.model.value().is_none();
    let name = drive.name.or_else(|| (is_alone && has_errors).then(|| format!("smart/{source}")));
    let name = put_device(machine, name, drive.device)?;
    if drive.log.is_log() {
        take(machine, &name, drive.log, source);
    } else if drive.temperature.is_some() {
        learn(&mut machine.health.entry(name.clone()).or_default().temperature, drive.temperature, source);
    }
    warns_from(machine, &name, drive.warning, source);
    if counts.is_some() {
        learn(&mut machine.health.entry(name).or_default().ata, counts, source);
    }
    Some(())
}

/// Puts down what an output says of a drive whose name it may not tell. Returns the key.
pub(super) fn put_device(machine: &mut Machine, name: Option<String>, said: BlockDevice) -> Option<String> {
    // People take serial numbers out of what they paste: then the line stands for the drive.
    let unnamed = said.serial.value().cloned();
    let unnamed = unnamed.or_else(|| said.model.value().map(|_| said.model.source().to_string()));
    let name = name.or_else(|| unnamed.map(|unnamed| format!("smart/{unnamed}")))?;
    device(machine, &name).fill(said, Than::Same);
    Some(name)
}

/// smartctl for people (smartmontools `ataprint.cpp`, `scsiprint.cpp`, `nvmeprint.cpp`).
///
/// Every drive whose information section is in the text.
fn drives_of_lines(text: &Text) -> Vec<SmartDrive> {
    let mut drives: Vec<SmartDrive> = Vec::new();
    let mut named = of_file(text.name());
    let mut open = false;
    for (number, line) in text.lines() {
        if line.contains("smartctl ") && line.contains("/dev/") {
            // A drive behind a RAID controller has the device of the volume, which is not its own.
            let is_hidden = ["megaraid", "cciss", "aacraid", "3ware", "areca", "hpt"]
                .iter()
                .any(|kind| line.contains(kind));
            named = line.split_whitespace().rev().find_map(device_in).filter(|_| !is_hidden);
        } else if line.contains("START OF INFORMATION SECTION") {
            drives.push(SmartDrive {
                source: text.source(number),
                name: named.take(),
                ..SmartDrive::default()
            });
            open = true;
        } else if line.starts_with("=== START OF") {
            open = false;
        } else if drives.is_empty() || (named.is_some() && is_table(line)) {
            // The attributes alone (`smartctl -A`), some of their lines, or errors that the drive kept.
            let is_one =
                is_table(line) || counted(line).is_some_and(|(id, _)| AtaCounts::default().take(id, 1));
            if is_one || kept_error(line).is_some() {
                let mut drive =
                    SmartDrive { source: text.source(number), name: named.take(), ..SmartDrive::default() };
                drive.take_count(line);
                drives.push(drive);
            }
        } else if let Some(drive) = drives.last_mut() {
            match line.split_once(':') {
                Some((key, value)) if open => take_line(drive, key.trim(), value.trim()),
                Some((key, value)) if key.starts_with("SMART overall-health self-assessment") => {
                    drive.counts.get_or_insert_default().is_failing |= value.contains("FAILED");
                }
                Some(_) if kept_error(line).is_some() => drive.take_count(line),
                Some((key, value)) => drive.log.set(key, value),
                None => {
                    drive.temperature = attribute(line).filter(|_| !open).unwrap_or(drive.temperature);
                    if !open {
                        drive.take_count(line);
                    }
                }
            }
        }
    }
    drives
}

/// `sos_commands/ata/smartctl_-a_.dev.sda`.
fn of_file(name: &str) -> Option<String> {
    let (_, rest) = name.rsplit_once("smartctl")?.1.split_once(".dev.")?;
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
    device_in(&format!("/dev/{}", rest.get(..end)?))
}

fn take_line(drive: &mut SmartDrive, key: &str, value: &str) {
    let SmartDrive { source, device, warning, .. } = drive;
    let source = source.as_str();
    let text = || known(Some(value.to_owned()).filter(|text| !text.is_empty()), source);
    match key {
        "Device Model" => {
            device.model = text();
            device.transport = Transport::Sata(Sata::default());
        }
        "Model Number" => {
            device.model = text();
            device.transport = implied("nvme", None);
        }
        // SCSI: the vendor stands on its own line, and the kernel's model is without it.
        "Product" => device.model = text(),
        "Transport protocol" if value.starts_with("SAS") => {
            device.transport = Transport::Sas(Default::default());
        }
        "Serial Number" | "Serial number" => device.serial = text(),
        "Firmware Version" | "Revision" => device.firmware = text(),
        "User Capacity" | "Namespace 1 Size/Capacity" | "Total NVM Capacity" => {
            learn(&mut device.size, capacity(value), source);
        }
        "Rotation Rate" => device.queue.rotational = known(rotation(value), source),
        "Sector Size" | "Sector Sizes" | "Logical block size" | "Physical block size" => {
            sectors(&mut device.queue, key, value, source);
        }
        "Warning  Comp. Temp. Threshold" => *warning = temperature(value),
        "SATA Version is" => {
            if let Transport::Sata(sata) = &mut device.transport {
                take_links(sata, value, source);
            }
        }
        _ => {}
    }
}

/// The raw value of `194 Temperature_Celsius 0x0022 114 099 000 Old_age Always - 36 (Min/Max 18/51)`.
fn attribute(line: &str) -> Option<Option<Celsius>> {
    let mut words = line.split_whitespace();
    let is_temperature = words.next()? == "194" && words.next()?.starts_with("Temperature_");
    let raw: f64 = words.nth(7)?.parse().ok()?;
    is_temperature.then(|| Some(raw).filter(|degrees| (1.0..200.0).contains(degrees)).map(Celsius::new))
}

/// The number and raw value of `  5 Reallocated_Sector_Ct 0x0033 200 200 140 Pre-fail Always - 12`, or in the brief form of `-x`,
/// `  5 Reallocated_Sector_Ct PO--CK 200 200 140 - 12`.
fn counted(line: &str) -> Option<(u64, u64)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let id: u64 = words.first()?.parse().ok().filter(|id| *id < 256)?;
    let at = if words.get(2)?.starts_with("0x") { 9 } else { 7 };
    // Value, worst and threshold have three digits each.
    let are_attributes = words.get(3..6)?.iter().all(|word| word.len() == 3 || *word == "---");
    let raw = words.get(at)?.parse().ok().filter(|_| are_attributes)?;
    Some((id, raw))
}

/// `1,000,204,886,016 bytes [1.00 TB]`: thousands are separated as the language does.
fn capacity(value: &str) -> Option<Bytes> {
    let number = value.split(['[', 'b']).next()?;
    let digits: String = number.chars().filter(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|bytes| *bytes > 0).map(Bytes::new)
}

/// `Solid State Device`, `7200 rpm`; hdparm leaves the unit out.
pub(super) fn rotation(value: &str) -> Option<bool> {
    match value {
        "Solid State Device" => Some(false),
        _ => value.strip_suffix(" rpm").unwrap_or(value).trim().parse::<u32>().ok().map(|_| true),
    }
}

/// `512 bytes logical, 4096 bytes physical`, `512 bytes logical/physical`, `512 bytes`.
pub(super) fn sectors(queue: &mut Queue, key: &str, value: &str, source: &str) {
    let size = |text: &str| {
        let bytes = text.split_whitespace().next()?.parse().ok()?;
        (512..=1 << 20).contains(&bytes).then(|| Bytes::new(bytes))
    };
    let (logical, physical) = value.split_once(',').unwrap_or((value, value));
    if key != "Physical block size" {
        queue.logical_block = known(size(logical), source);
    }
    if key != "Logical block size" {
        queue.physical_block = known(size(physical), source);
    }
}

/// `SATA 3.2, 6.0 Gb/s (current: 3.0 Gb/s)`.
fn take_links(sata: &mut Sata, value: &str, source: &str) {
    let rate = |before: &str| value.split_once(before).and_then(|(_, rest)| sata_rate(rest));
    sata.drive_speed = known(rate(","), source);
    sata.speed = known(rate("current:"), source);
}

/// `smartctl -j` (smartmontools 7 and later).
///
/// Every drive of every document.
fn drives_of_json(text: &Text) -> Vec<SmartDrive> {
    let own = documents(text).into_iter().filter(|(_, document)| document.get("smartctl").is_some());
    own.map(|(line, document)| drive_of_json(&document, text.source(line))).collect()
}

fn drive_of_json(document: &Value, source: String) -> SmartDrive {
    let at = |path: &str| document.pointer(path);
    let bytes = |path: &str| at(path).and_then(Value::as_u64).filter(|bytes| *bytes > 0).map(Bytes::new);
    let protocol = at("/device/protocol").and_then(Value::as_str).unwrap_or_default();
    let speed = |which: &str| {
        let text = at(&format!("/interface_speed/{which}/string")).and_then(Value::as_str);
        known(text.and_then(sata_rate), source.as_str())
    };
    let celsius = |path: &str| at(path).and_then(Value::as_f64).filter(|now| *now > 0.0).map(Celsius::new);
    // `megaraid,4` and the like name a drive behind a volume by the volume's device.
    let kind = at("/device/type").and_then(Value::as_str).unwrap_or_default();
    let name = at("/device/name").and_then(Value::as_str).filter(|_| !kind.contains(','));
    let model = text_of(document, "model_name").or_else(|| text_of(document, "scsi_product"));
    let size = bytes("/user_capacity/bytes").or_else(|| bytes("/nvme_total_capacity"));
    let turns = at("/rotation_rate").and_then(Value::as_u64).map(|rate| rate > 0);
    let device = BlockDevice {
        model: known(model, source.as_str()),
        serial: known(text_of(document, "serial_number"), source.as_str()),
        firmware: known(text_of(document, "firmware_version"), source.as_str()),
        size: known(size, source.as_str()),
        queue: Queue {
            rotational: known(turns, source.as_str()),
            logical_block: known(bytes("/logical_block_size"), source.as_str()),
            physical_block: known(bytes("/physical_block_size"), source.as_str()),
            ..Queue::default()
        },
        transport: match protocol {
            "ATA" => Transport::Sata(Sata {
                speed: speed("current"),
                drive_speed: speed("max"),
                ..Sata::default()
            }),
            "NVMe" => implied("nvme", None),
            _ if document.get("scsi_transport_protocol").is_some() => Transport::Sas(Default::default()),
            _ => Transport::None,
        },
        ..BlockDevice::default()
    };
    let passed = at("/smart_status/passed").and_then(Value::as_bool);
    let table = at("/ata_smart_attributes/table").and_then(Value::as_array);
    let counts = table.map(|table| {
        let mut counts = AtaCounts { is_failing: passed == Some(false), ..AtaCounts::default() };
        let number = |row: &Value, path: &str| row.pointer(path).and_then(Value::as_u64);
        for row in table {
            if let Some((id, raw)) = number(row, "/id").zip(number(row, "/raw/value")) {
                counts.take(id, raw);
            }
        }
        counts
    });
    SmartDrive {
        source,
        name: name.and_then(device_in),
        device,
        log: at("/nvme_smart_health_information_log").map(Log::of_json).unwrap_or_default(),
        temperature: celsius("/temperature/current"),
        // Other drives have a limit of operation only, which is none of throttling.
        warning: celsius("/nvme_composite_temperature_threshold/warning"),
        counts,
        kept: AtaCounts::default(),
    }
}

#[cfg(test)]
mod tests;
