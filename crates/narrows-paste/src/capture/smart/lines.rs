//! smartctl for people (smartmontools `ataprint.cpp`, `scsiprint.cpp`, `nvmeprint.cpp`).

use super::{Drive, Kind, device_in, rate};
use crate::capture::Text;
use crate::capture::health::temperature;
use narrows_base::units::{Bytes, Celsius};

/// Every drive whose information section is in the text.
pub(super) fn read(text: &Text) -> Vec<Drive> {
    let mut drives: Vec<Drive> = Vec::new();
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
            drives.push(Drive { source: text.source(number), name: named.take(), ..Drive::default() });
            open = true;
        } else if line.starts_with("=== START OF") {
            open = false;
        } else if let (true, Some(drive), Some((key, value))) =
            (open, drives.last_mut(), line.split_once(':'))
        {
            take(drive, key.trim(), value.trim());
        } else if let (false, Some(drive), Some((key, value))) =
            (open, drives.last_mut(), line.split_once(':'))
        {
            drive.log.set(key, value);
        } else if let (false, Some(drive), Some(raw)) = (open, drives.last_mut(), attribute(line)) {
            drive.temperature = raw;
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

fn take(drive: &mut Drive, key: &str, value: &str) {
    let text = || Some(value.to_owned()).filter(|text| !text.is_empty());
    match key {
        "Device Model" => {
            drive.model = text();
            drive.kind = Kind::Sata;
        }
        "Model Number" => {
            drive.model = text();
            drive.kind = Kind::Nvme;
        }
        // SCSI: the vendor stands on its own line, and the kernel's model is without it.
        "Product" => drive.model = text(),
        "Transport protocol" if value.starts_with("SAS") => drive.kind = Kind::Sas,
        "Serial Number" | "Serial number" => drive.serial = text(),
        "Firmware Version" | "Revision" => drive.firmware = text(),
        "User Capacity" | "Namespace 1 Size/Capacity" | "Total NVM Capacity" if drive.size.is_none() => {
            drive.size = capacity(value);
        }
        "Rotation Rate" => drive.rotational = rotation(value),
        "Sector Size" | "Sector Sizes" | "Logical block size" | "Physical block size" => {
            sectors(drive, key, value)
        }
        "Warning  Comp. Temp. Threshold" => drive.warning = temperature(value),
        "SATA Version is" => links(drive, value),
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

/// `1,000,204,886,016 bytes [1.00 TB]`: thousands are separated as the language does.
fn capacity(value: &str) -> Option<Bytes> {
    let number = value.split(['[', 'b']).next()?;
    let digits: String = number.chars().filter(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|bytes| *bytes > 0).map(Bytes::new)
}

fn rotation(value: &str) -> Option<bool> {
    match value {
        "Solid State Device" => Some(false),
        _ => value.strip_suffix(" rpm")?.trim().parse::<u32>().ok().map(|_| true),
    }
}

/// `512 bytes logical, 4096 bytes physical`, `512 bytes logical/physical`, `512 bytes`.
fn sectors(drive: &mut Drive, key: &str, value: &str) {
    let size = |text: &str| {
        let bytes = text.split_whitespace().next()?.parse().ok()?;
        (512..=1 << 20).contains(&bytes).then(|| Bytes::new(bytes))
    };
    let (logical, physical) = value.split_once(',').unwrap_or((value, value));
    if key != "Physical block size" {
        drive.logical_block = size(logical);
    }
    if key != "Logical block size" {
        drive.physical_block = size(physical);
    }
}

/// `SATA 3.2, 6.0 Gb/s (current: 3.0 Gb/s)`.
fn links(drive: &mut Drive, value: &str) {
    let most = value.split_once(',').and_then(|(_, rest)| rest.split_once("Gb/s")).map(|(most, _)| most);
    let now = value.split_once("current:").and_then(|(_, rest)| rest.split_once("Gb/s")).map(|(now, _)| now);
    drive.drive_speed = most.and_then(rate);
    drive.speed = now.and_then(rate);
}
