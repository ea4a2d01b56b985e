//! smartctl: who a drive is, whether it turns, how fast its SATA link runs and could run, and how it is.
//!
//! The text does not name the drive's device: that is in the command above it, in the name of the file as sosreport
//! makes it (`smartctl_--all_.dev.sda`), or is found by serial number or model. Until then it is kept under
//! `smart/SERIAL`, and `join` gives it to its drive.

mod json;
mod lines;

use super::device::{device, key_of, learn};
use super::health::{Log, take, warns_from};
use super::{Part, Rank, Text};
use narrows_base::units::{BitsPerSec, Bytes, Celsius};
use narrows_machine::Machine;
use narrows_machine::block::Transport;

/// Reads every output of smartctl in a text.
pub fn read(text: &Text) -> Part {
    let mut part = Part { rank: Rank::Decoded, ..Part::default() };
    let body = text.body();
    let mut drives = Vec::new();
    if body.contains("START OF INFORMATION SECTION") {
        drives.extend(lines::read(text));
    }
    if body.contains("\"smartctl\"") {
        drives.extend(json::read(text));
    }
    for drive in drives {
        if put(&mut part.machine, drive).is_some() {
            part.kind = Some("smartctl");
        }
    }
    part
}

/// What one output says of a drive.
#[derive(Debug, Default)]
struct Drive {
    /// Where it was read.
    source: String,
    /// The device, where it is known.
    name: Option<String>,
    model: Option<String>,
    serial: Option<String>,
    firmware: Option<String>,
    size: Option<Bytes>,
    rotational: Option<bool>,
    logical_block: Option<Bytes>,
    physical_block: Option<Bytes>,
    kind: Kind,
    /// The rate of the link now, and the most that the drive can do.
    speed: Option<BitsPerSec>,
    drive_speed: Option<BitsPerSec>,
    /// The health log of an NVMe drive.
    log: Log,
    /// The temperature of any other.
    temperature: Option<Celsius>,
    /// From this temperature on it warns.
    warning: Option<Celsius>,
}

/// What a drive speaks.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Kind {
    #[default]
    Unknown,
    Sata,
    Sas,
    Nvme,
}

/// The device of `/dev/sda`, or the first namespace of the controller `/dev/nvme0`.
fn device_in(text: &str) -> Option<String> {
    let name = key_of(text)?;
    let digits = name.strip_prefix("nvme").filter(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
    Some(if digits.is_some_and(|digits| !digits.is_empty()) { format!("{name}n1") } else { name })
}

/// A rate of SATA, in Gbit/s.
fn rate(gigabits: &str) -> Option<BitsPerSec> {
    let rate: f64 = gigabits.trim().parse().ok()?;
    [1.5, 3.0, 6.0].contains(&rate).then(|| BitsPerSec::from_mbit(rate * 1000.0))
}

fn put(machine: &mut Machine, drive: Drive) -> Option<()> {
    let name = match (&drive.name, &drive.serial) {
        (Some(name), _) => name.clone(),
        (None, Some(serial)) => format!("smart/{serial}"),
        (None, None) => return None,
    };
    let source = drive.source.as_str();
    let device = device(machine, &name);
    learn(&mut device.model, drive.model, source);
    learn(&mut device.serial, drive.serial, source);
    learn(&mut device.firmware, drive.firmware, source);
    learn(&mut device.size, drive.size, source);
    learn(&mut device.queue.rotational, drive.rotational, source);
    learn(&mut device.queue.logical_block, drive.logical_block, source);
    learn(&mut device.queue.physical_block, drive.physical_block, source);
    if matches!(device.transport, Transport::None) {
        device.transport = match drive.kind {
            Kind::Sata => Transport::Sata(Default::default()),
            Kind::Sas => Transport::Sas(Default::default()),
            Kind::Nvme => Transport::Other { name: "nvme".to_owned(), pci: None },
            Kind::Unknown => Transport::None,
        };
    }
    if let Transport::Sata(sata) = &mut device.transport {
        learn(&mut sata.speed, drive.speed, source);
        learn(&mut sata.drive_speed, drive.drive_speed, source);
    }
    if drive.log.is_log() {
        take(machine, &name, drive.log, source);
    } else if drive.temperature.is_some() {
        learn(&mut machine.health.entry(name.clone()).or_default().temperature, drive.temperature, source);
    }
    warns_from(machine, &name, drive.warning, source);
    Some(())
}

#[cfg(test)]
mod tests;
