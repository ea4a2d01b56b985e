//! SATA ports and SCSI disks (`drivers/ata/libata-core.c`, `drivers/scsi/scsi.c`, `sd.c`).
//!
//! Three names are tied together. A driver registers its SCSI hosts (`scsi host4: ahci`) and then names its ports in the
//! same order (`ata5: SATA max UDMA/133 …`); the host's number leads to the disk (`sd 4:0:0:0: [sda]`). The tie is
//! dropped where the models that port and disk report differ.

use std::collections::{BTreeMap, VecDeque};

use narrows_base::fact::Fact;
use narrows_base::units::{BitsPerSec, Bytes};
use narrows_machine::block::{BlockDevice, Sata, Transport};
use narrows_machine::log::LogKind;
use narrows_machine::pci::PciAddress;
use narrows_machine::usb::{self, UsbAddress};

use super::{Boot, DmesgDevice, LogLine};
use crate::capture::number::bit_rate;
use crate::capture::sensors;
use crate::text::fields;

/// What the log says of ports and disks.
#[derive(Default)]
pub(super) struct Disks {
    /// The function that each NVMe controller is, by name.
    pub(super) nvme: BTreeMap<String, PciAddress>,
    /// The libata controller that spoke last.
    controller: Option<PciAddress>,
    /// The fastest rate of the ports of an AHCI controller.
    port_speeds: BTreeMap<PciAddress, Fact<BitsPerSec>>,
    /// SCSI hosts whose ports were not named yet, with their controller.
    waiting: VecDeque<(u32, Option<PciAddress>)>,
    /// Ports, by number.
    ports: BTreeMap<u32, Port>,
    /// USB devices that are SCSI hosts, by host.
    pub(super) usb: BTreeMap<u32, UsbAddress>,
    /// Disks by host and the rest of their SCSI address.
    disks: BTreeMap<String, Disk>,
}

#[derive(Default, Clone)]
struct Port {
    host: Option<u32>,
    pci: Option<PciAddress>,
    speed: Fact<BitsPerSec>,
    most: Fact<BitsPerSec>,
    model: Option<Fact<String>>,
}

#[derive(Default, Clone)]
struct Disk {
    name: Option<String>,
    model: Fact<String>,
    size: Fact<Bytes>,
    removable: bool,
}

/// A controller of libata speaks: its hosts come next.
pub(super) fn take_controller(boot: &mut Boot, device: &DmesgDevice<'_>, line: &LogLine<'_>) -> Option<()> {
    is_libata(device.driver).then_some(())?;
    boot.disks.controller = Some(device.address);
    if let Some(rate) = parse_ahci(device.rest) {
        boot.disks.port_speeds.insert(device.address, line.known(rate));
    }
    Some(())
}

fn is_libata(driver: &str) -> bool {
    ["ahci", "ata_", "sata_", "pata_", "pdc_"].iter().any(|name| driver.starts_with(name))
}

/// Reads `AHCI 0001.0301 32 slots 8 ports 6 Gbps 0xff impl SATA mode`, from Linux 6.8 on `AHCI vers 0001.0301, 32
/// command slots, 6 Gbps, SATA mode`.
fn parse_ahci(rest: &str) -> Option<BitsPerSec> {
    let rest = rest.strip_prefix("AHCI ")?;
    let (before, _) = rest.split_once(" Gbps")?;
    bit_rate(rest.get(before.rfind(' ')?..)?)
}

/// A message of a port, a SCSI host or a disk.
pub(super) fn take(boot: &mut Boot, line: &LogLine<'_>) -> Option<()> {
    let message = line.message;
    if let Some([port, what]) = fields(message, "ata{}: {}") {
        return take_port(boot, port.split('.').next()?.parse().ok()?, what, line);
    }
    if let Some([host, driver]) = fields(message, "scsi host{}: {}") {
        return take_host(boot, host.parse().ok()?, driver, line);
    }
    if let Some([at, what]) = fields(message, "scsi {}: {}") {
        let model = parse_inquiry(what.strip_prefix("Direct-Access")?)?;
        boot.disks.disks.entry(at.to_owned()).or_default().model = line.known(model);
        return Some(());
    }
    let [at, name, what] = fields(message, "sd {}: [{}] {}")?;
    take_disk(boot, at, name, what, line)
}

fn take_host(boot: &mut Boot, host: u32, driver: &str, line: &LogLine<'_>) -> Option<()> {
    if is_libata(driver) {
        boot.disks.waiting.push_back((host, boot.disks.controller));
        return Some(());
    }
    super::usb::set_host(boot, host, driver, line)
        .or_else(|| super::scsi::take_host(boot, host, driver, line))
}

fn take_port(boot: &mut Boot, number: u32, what: &str, line: &LogLine<'_>) -> Option<()> {
    let name = format!("ata{number}");
    let disks = &mut boot.disks;
    let known = disks.ports.get(&number);
    let (pci, is_up) = known.map_or((None, false), |port| (port.pci, port.speed.value().is_some()));
    if ["SATA max", "PATA max", "DUMMY"].iter().any(|words| what.starts_with(words)) {
        let (host, pci) = disks.waiting.pop_front().unzip();
        let pci = pci.flatten();
        let most = pci.and_then(|pci| disks.port_speeds.get(&pci).cloned()).unwrap_or_default();
        disks.ports.insert(number, Port { host, pci, most, ..Port::default() });
    } else if let Some(rate) = what.strip_prefix("SATA link up ").and_then(bit_rate) {
        // `6.0 Gbps (SStatus 133 SControl 300)`
        disks.ports.entry(number).or_default().speed = line.known(rate);
    } else if what.starts_with("hard resetting link") && is_up {
        boot.event_of(&name, pci, LogKind::SataReset, line);
    } else if let Some((_, rate)) = what.split_once("limiting SATA link speed to ") {
        let megabits = (bit_rate(rate)?.get() / 1e6).round();
        // The rates of SATA are three, and fit.
        let kind = [1500_u32, 3000, 6000].into_iter().find(|known| f64::from(*known) == megabits);
        kind.into_iter().for_each(|kind| boot.event_of(&name, pci, LogKind::SataLimited(kind), line));
    } else {
        // `ATA-9: MODEL, FIRMWARE, max UDMA/133`
        let (_, identity) = what.split_once(": ").filter(|(kind, _)| kind.starts_with("ATA-"))?;
        let (model, _) = identity.split_once(", ")?;
        disks.ports.entry(number).or_default().model = Some(line.known(model.trim().to_owned()));
    }
    Some(())
}

/// Reads vendor, model and revision of `     ATA      ST4000NM0035-1V4 TN05 PQ: 0 ANSI: 5`: 8, 16 and 4 characters, as
/// the inquiry has them; by words where mail has pulled them together.
fn parse_inquiry(text: &str) -> Option<String> {
    let identity = text.split(" PQ:").next()?.trim();
    let vendor = identity.split_whitespace().next()?;
    let model = match (identity.get(9..25), identity.get(8..9)) {
        (Some(model), Some(" ")) if vendor.len() <= 8 => model.trim(),
        _ => identity.strip_prefix(vendor)?.trim().rsplit_once(' ')?.0.trim(),
    };
    (!model.is_empty()).then(|| if vendor == "ATA" { model.to_owned() } else { format!("{vendor} {model}") })
}

/// A message of a disk: `sda] 976773168 512-byte logical blocks: (500 GB/466 GiB)`.
fn take_disk(boot: &mut Boot, at: &str, name: &str, what: &str, line: &LogLine<'_>) -> Option<()> {
    if name.len() > 8 || !name.starts_with("sd") || !name.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return None;
    }
    let disk = boot.disks.disks.entry(at.to_owned()).or_default();
    disk.name = Some(name.to_owned());
    disk.removable |= what.starts_with("Attached SCSI removable disk");
    if let Some(size) = parse_size(what) {
        disk.size = line.known(size);
    }
    Some(())
}

fn parse_size(what: &str) -> Option<Bytes> {
    let (size, _) = what.split_once("-byte logical blocks")?;
    let (count, block) = size.trim().split_once(' ')?;
    count.parse::<u64>().ok()?.checked_mul(block.trim().parse().ok()?).map(Bytes::new)
}

/// The names of disks by what they are called where only their address is told.
pub(super) fn names(boot: &Boot) -> BTreeMap<String, String> {
    let named = |(at, disk): (&String, &Disk)| Some((super::errors::unnamed(at), disk.name.clone()?));
    boot.disks.disks.iter().filter_map(named).collect()
}

/// The disks of which the log tells the name and nothing else, as one that begins after the start does; card readers without a
/// card are none.
pub(super) fn names_alone(boot: &Boot) -> Vec<String> {
    const MOST: usize = 64;
    let disks = boot.disks.disks.values().filter(|disk| disk.size.value().is_none() && !disk.removable);
    disks.filter_map(|disk| disk.name.clone()).take(MOST).collect()
}

/// Makes block devices of the disks.
pub(super) fn finish(boot: &mut Boot) {
    let disks = std::mem::take(&mut boot.disks);
    let ports: BTreeMap<u32, (u32, &Port)> =
        disks.ports.iter().filter_map(|(number, port)| Some((port.host?, (*number, port)))).collect();
    for (at, disk) in &disks.disks {
        let Some(name) = disk.name.clone() else { continue };
        sensors::note_disk(&mut boot.machine.links, at, &name);
        let host: Option<u32> = at.split(':').next().and_then(|host| host.parse().ok());
        let port = host.and_then(|host| ports.get(&host)).filter(|(_, port)| same_model(port, disk));
        let usb = host.and_then(|host| disks.usb.get(&host)).and_then(|at| boot.machine.usb.get(at));
        let transport = match (port, usb) {
            (Some((number, port)), _) => Transport::Sata(Sata {
                port: format!("ata{number}"),
                speed: port.speed.clone(),
                port_speed: port.most.clone(),
                pci: port.pci,
                ..Sata::default()
            }),
            (None, Some(device)) => Transport::Usb(usb::transport(&boot.machine.usb, device)),
            (None, None) => boot.adapters.transport(at).unwrap_or_default(),
        };
        // It may be a reader without a card: a disk that is none would only mislead.
        if disk.size.value().is_none() {
            continue;
        }
        let model = port.and_then(|(_, port)| port.model.clone()).unwrap_or_else(|| disk.model.clone());
        let device = BlockDevice {
            name: name.clone(),
            size: disk.size.clone(),
            model,
            transport,
            removable: disk.removable,
            ..BlockDevice::default()
        };
        boot.machine.block.insert(name, device);
    }
}

/// The inquiry has the first 16 characters of the model that the port reports.
fn same_model(port: &Port, disk: &Disk) -> bool {
    match (port.model.as_ref().and_then(Fact::value), disk.model.value()) {
        (Some(whole), Some(start)) => whole.starts_with(start.as_str()),
        _ => true,
    }
}
