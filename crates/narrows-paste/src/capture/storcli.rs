//! Adapters, volumes and drives as `storcli` and `perccli` print them (`/c0 show`, `/c0 show all`, `/c0/eall/sall show all`,
//! `/c0/vall show all`), text and JSON.
//!
//! The kernel sees the volumes of such an adapter and not the drives, so that this is the only text that tells of their links.
//! Sizes are powers of 1024, whatever their unit says (`446.102 GB [0x37c34800 Sectors]`).

use std::collections::BTreeMap;

use narrows_base::fact::Fact;
use narrows_machine::Machine;
use narrows_machine::block::{BlockDevice, Sas, Transport};
use narrows_machine::captured::{Adapter, AdapterDrive, AdapterVolume};
use narrows_machine::pci::PciAddress;
use serde_json::Value;

use super::device::{address_of, device, learn};
use super::fill::{Fill, Than};
use super::json::{documents, list, plain, text_of};
use super::table::words;
use super::{Part, Rank, Text, number};
use crate::text::{is_digits, is_in};

/// More than one adapter has.
const MOST: usize = 2048;

/// Reads what every adapter of a text says.
pub fn read(text: &Text) -> Part {
    let mut part = Part { rank: Rank::Decoded, ..Part::default() };
    // `Model = …` alone is in other tools' output too.
    let marks = ["EID:Slt", "DG/VD", "PCI Address = ", " Detailed Information", "\"PCI Address\""];
    if !is_in(&marks, text.body()) {
        return part;
    }
    let mut reading = Reading { text, machine: &mut part.machine, number: 0, place: None };
    reading.lines();
    if text.body().contains("\"Controllers\"") {
        for (line, document) in documents(text) {
            reading.document(line, &document);
        }
    }
    if !part.machine.adapters.is_empty() {
        part.kind = Some("storcli");
    }
    part
}

/// What a line belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum StorcliPlace {
    Drive(String),
    Volume(String),
}

struct Reading<'t, 'm> {
    text: &'t Text,
    machine: &'m mut Machine,
    /// The adapter of which the text speaks.
    number: u32,
    place: Option<StorcliPlace>,
}

impl Reading<'_, '_> {
    fn lines(&mut self) {
        let mut table = StorcliTable::default();
        for (line, words) in self.text.lines() {
            if let Some(row) = table.row(words) {
                self.row(line, &|column| row.get(column).map(|cell| (*cell).to_owned()));
                continue;
            }
            let words = words.trim();
            match words.split_once(" = ").or_else(|| words.split_once(" =")) {
                Some((key, value)) => _ = self.field(line, key.trim(), value.trim()),
                None => self.heading(words),
            }
        }
    }

    /// `Drive /c0/e252/s0 Device attributes :`, `VD0 Properties :`, `/c0/v1 :`.
    fn heading(&mut self, words: &str) {
        let Some(words) = words.strip_suffix(':').map(str::trim_end) else { return };
        let path = words.strip_prefix("Drive ").unwrap_or(words).split(' ').next().unwrap_or_default();
        if let Some((number, place)) = parse_path(path) {
            (self.number, self.place) = (number, place);
        } else if let Some(number) =
            words.strip_prefix("VD").and_then(|rest| rest.strip_suffix(" Properties"))
        {
            self.place = Some(StorcliPlace::Volume(number.to_owned()));
        }
    }

    /// `None` of a value that cannot be one, and of an adapter beyond [`MOST`].
    fn field(&mut self, line: usize, key: &str, value: &str) -> Option<()> {
        let source = self.text.source(line);
        match (key, self.place.clone()) {
            ("Controller", _) => (self.number, self.place) = (value.parse().ok()?, None),
            ("Product Name" | "Model", None) => {
                learn(&mut self.adapter()?.model, Some(value.to_owned()), &source);
            }
            ("PCI Address", _) => {
                let adapter = self.adapter()?;
                adapter.pci = adapter.pci.or_else(|| parse_address(value));
            }
            ("OS Drive Name", Some(StorcliPlace::Volume(number))) => self.is_disk(&number, value)?,
            (_, Some(StorcliPlace::Drive(at))) => {
                attribute(entry(&mut self.adapter()?.drives, at)?, key, value, &source);
            }
            _ => {}
        }
        Some(())
    }

    /// A row of the lists of drives (`EID:Slt`) or volumes (`DG/VD`).
    fn row(&mut self, line: usize, cell: &dyn Fn(&str) -> Option<String>) {
        let source = self.text.source(line);
        let Some(adapter) = self.adapter() else { return };
        let size = cell("Size").and_then(|text| number::binary_size(&text));
        if let Some(at) = cell("EID:Slt").filter(|at| is_place(at)) {
            let Some(drive) = entry(&mut adapter.drives, at.trim().to_owned()) else { return };
            learn(&mut drive.state, cell("State"), &source);
            let known = |cell: Option<String>| cell.filter(|text| !matches!(text.as_str(), "" | "-"));
            drive.group = drive.group.take().or_else(|| known(cell("DG")).filter(|group| group != "F"));
            drive.interface = drive.interface.take().or_else(|| known(cell("Intf")));
            drive.model = drive.model.take().or_else(|| known(cell("Model")));
            drive.size = drive.size.or(size);
            drive.turns = drive.turns.or_else(|| match cell("Med")?.as_str() {
                "HDD" => Some(true),
                "SSD" => Some(false),
                _ => None,
            });
        } else if let Some(at) = cell("DG/VD").filter(|at| at.contains('/')) {
            let number = at.rsplit('/').next().unwrap_or_default().to_owned();
            let Some(volume) = entry(&mut adapter.volumes, at) else { return };
            learn(&mut volume.state, cell("State"), &source);
            volume.level = volume.level.take().or_else(|| cell("TYPE"));
            volume.size = volume.size.or(size);
            self.place = Some(StorcliPlace::Volume(number));
        }
    }

    /// A volume is a disk of the kernel.
    fn is_disk(&mut self, number: &str, value: &str) -> Option<()> {
        let disk = super::device::key_of(value)?;
        let adapter = self.adapter()?;
        let ends = format!("/{number}");
        let (_, volume) = adapter.volumes.iter_mut().find(|(at, _)| at.ends_with(&ends))?;
        volume.disk = Some(disk.clone());
        let carrier = Transport::Sas(Sas { hidden: true, pci: adapter.pci, ..Sas::default() });
        device(self.machine, &disk).transport.fill(carrier, Than::Same);
        Some(())
    }

    fn adapter(&mut self) -> Option<&mut Adapter> {
        entry(&mut self.machine.adapters, self.number)
    }

    fn document(&mut self, line: usize, document: &Value) {
        for controller in list(document, "Controllers") {
            let number = controller.get("Command Status").and_then(|status| status.get("Controller"));
            self.number =
                number.and_then(Value::as_u64).and_then(|number| number.try_into().ok()).unwrap_or(0);
            self.place = None;
            if let Some(data) = controller.get("Response Data") {
                self.object(line, data, 0);
            }
        }
    }

    /// Members are the lists and the fields of the text, under the same headings.
    fn object(&mut self, line: usize, value: &Value, depth: usize) {
        /// The deepest that these tools nest.
        const DEEPEST: usize = 6;
        let Some(members) = value.as_object().filter(|_| depth < DEEPEST) else { return };
        for (key, member) in members {
            match member {
                Value::Array(rows) => {
                    self.heading(&format!("{key} :"));
                    for row in rows {
                        self.row(line, &|column| text_of(row, column).map(|text| text.trim().to_owned()));
                    }
                }
                Value::Object(_) => {
                    if matches!(key.as_str(), "Basics" | "Version" | "Bus" | "HwCfg") {
                        self.place = None;
                    }
                    self.heading(&format!("{key} :"));
                    self.object(line, member, depth + 1);
                }
                _ => {
                    if let Some(text) = plain(member) {
                        // In `Basics` this is the number that is known already.
                        if key != "Controller" {
                            _ = self.field(line, key, text.trim());
                        }
                    }
                }
            }
        }
    }
}

fn entry<K: Ord, V: Default>(map: &mut BTreeMap<K, V>, key: K) -> Option<&mut V> {
    if map.len() >= MOST && !map.contains_key(&key) {
        return None;
    }
    Some(map.entry(key).or_default())
}

/// What the details of a drive say.
fn attribute(drive: &mut AdapterDrive, key: &str, value: &str, source: &str) {
    match key {
        // The newer tools give these names.
        "Link Speed" | "Negotiated Speed" => learn(&mut drive.link, number::bit_rate(value), source),
        "Device Speed" | "Capable Speed" => learn(&mut drive.most, number::bit_rate(value), source),
        "Predictive Failure Count" => {
            drive.predicted_failures = drive.predicted_failures.or_else(|| value.parse().ok());
        }
        "Model Number" | "Model" if !value.is_empty() => {
            drive.model.get_or_insert_with(|| value.to_owned());
        }
        _ => {}
    }
}

/// `/c0/e252/s0`, `/c0/s3`, `/c0/v1`: the adapter, and what of it.
fn parse_path(path: &str) -> Option<(u32, Option<StorcliPlace>)> {
    let mut parts = path.strip_prefix("/c")?.split('/');
    let number = parts.next()?.parse().ok()?;
    let place = match (parts.next(), parts.next()) {
        (None, None) => None,
        (Some(one), None) => match (one.strip_prefix('v'), one.strip_prefix('s')) {
            (Some(volume), _) if is_digits(volume) => Some(StorcliPlace::Volume(volume.to_owned())),
            (_, Some(slot)) if is_digits(slot) => Some(StorcliPlace::Drive(format!(":{slot}"))),
            _ => return None,
        },
        (Some(enclosure), Some(slot)) => {
            let (enclosure, slot) = (enclosure.strip_prefix('e')?, slot.strip_prefix('s')?);
            (is_digits(enclosure) && is_digits(slot)).then_some(())?;
            Some(StorcliPlace::Drive(format!("{enclosure}:{slot}")))
        }
        (None, Some(_)) => return None,
    };
    Some((number, place))
}

/// `252:0`, or `:0` without an enclosure.
fn is_place(text: &str) -> bool {
    let is_short = |text: &str| text.len() < 6 && text.bytes().all(|byte| byte.is_ascii_digit());
    let parts = text.trim().split_once(':');
    parts.is_some_and(|(enclosure, slot)| is_short(enclosure) && is_short(slot) && !slot.is_empty())
}

/// `00:3b:00:00`: domain, bus, device and function, all hexadecimal.
fn parse_address(text: &str) -> Option<PciAddress> {
    let parts = text.split_whitespace().next()?.split(':');
    let numbers: Option<Vec<u32>> = parts.map(|part| u32::from_str_radix(part, 16).ok()).collect();
    address_of(numbers?.try_into().ok()?)
}

/// The adapters that volumes and disks of other texts belong to.
pub(super) fn join(machine: &mut Machine) {
    for adapter in machine.adapters.values() {
        let Some(pci) = adapter.pci else { continue };
        let function = machine.pci.entry(pci).or_insert_with(|| narrows_machine::pci::PciDevice {
            address: pci,
            class: adapter.model.clone().map(|_| RAID_CLASS),
            ..Default::default()
        });
        if function.name.value().is_none() {
            function.name = adapter.model.clone();
        }
        let disks = adapter.volumes.values().filter_map(|volume: &AdapterVolume| volume.disk.as_ref());
        for disk in disks {
            let Some(BlockDevice { transport: Transport::Sas(sas), .. }) = machine.block.get_mut(disk) else {
                continue;
            };
            sas.pci = sas.pci.or(Some(pci));
            if sas.driver.value().is_none() {
                sas.driver = Fact::clone(&function.driver);
            }
        }
    }
}

/// A RAID bus controller (PCI Code and ID Assignment Specification, section 1.2).
const RAID_CLASS: u32 = 0x01_04_00;

/// A list that is being read.
#[derive(Debug, Default)]
struct StorcliTable {
    columns: Vec<String>,
    /// Whether rows have begun, so that the next line of dashes ends it.
    begun: bool,
}

impl StorcliTable {
    /// The cells of a row by their column; `None` of a line that is none.
    fn row<'t>(&mut self, line: &'t str) -> Option<BTreeMap<&str, &'t str>> {
        let line = line.trim_end();
        let is_heading = |words: &str| words.contains("EID:Slt") || words.contains("DG/VD");
        if is_heading(line) && line.contains("State") {
            self.columns = line.split_whitespace().map(str::to_owned).collect();
            self.begun = false;
            return None;
        }
        let is_rule = !line.is_empty() && line.trim().bytes().all(|byte| byte == b'-');
        if is_rule && self.begun || line.contains(" = ") {
            self.columns.clear();
        }
        if is_rule || self.columns.is_empty() {
            return None;
        }
        let row = table_cells(&self.columns, line);
        self.begun |= row.is_some();
        row
    }
}

/// A row has at least so many cells.
const LEAST: usize = 3;

/// Lists between lines of dashes, whose columns are words of one line: `EID:Slt DID State DG Size Intf Med SED PI SeSz Model Sp`.
///
/// Each column has one word; a size has a number and a unit, and a model or name all that the columns behind it leave.
fn table_cells<'c, 't>(columns: &'c [String], line: &'t str) -> Option<BTreeMap<&'c str, &'t str>> {
    let words = words(line);
    let mut at = 0;
    let mut cells = BTreeMap::new();
    for (index, column) in columns.iter().enumerate() {
        let behind = columns.len() - index - 1;
        let count = match column.as_str() {
            "Size" => 2,
            // The last columns may be missing in old versions and empty in new ones.
            "Model" | "Name" => words.len().saturating_sub(at + behind).max(usize::from(column == "Model")),
            _ => 1,
        };
        let (Some(first), Some(last)) = (words.get(at), words.get((at + count).checked_sub(1)?)) else {
            // A row may be cut off, but not before its state and size.
            if index < LEAST {
                return None;
            }
            break;
        };
        if count > 0 {
            cells.insert(column.as_str(), line.get(first.at..last.at + last.text.len())?);
        }
        at += count;
    }
    let is_row = cells.get("EID:Slt").or(cells.get("DG/VD")).is_some_and(|first| {
        first.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'/' | b'-'))
    });
    is_row.then_some(cells)
}

#[cfg(test)]
mod tests;
