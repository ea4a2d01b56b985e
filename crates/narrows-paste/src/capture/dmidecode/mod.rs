//! What the firmware says of the machine, in the words of `dmidecode`, any version, whole or `-t` or `-q`.
//!
//! Text is read by structure: a title (`System Slot Information`), then fields (`Current Usage: In Use`) up to the next
//! title. The layout around it (tabs, `Handle 0x0030, DMI type 9, 17 bytes`) differs between versions and gets lost on
//! the way, so that it is not relied on.

mod hex;
mod memory;
mod slot;
mod system;

use super::{Part, Rank, Text};
use narrows_base::fact::{Fact, Source};
use narrows_machine::Machine;
use narrows_machine::dmi::{Slot, is_placeholder, parse_identity, parse_slots};

/// More slots than any machine has.
const MOST_SLOTS: usize = 512;

/// The structures that are of interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bios,
    System,
    Board,
    Processor,
    MemoryDevice,
    Slot,
    /// Any other; its fields say nothing.
    Other,
}

/// One structure as it is read.
struct Structure<'a> {
    kind: Kind,
    /// The line of its title.
    line: usize,
    fields: Vec<(&'a str, &'a str)>,
}

impl<'a> Structure<'a> {
    fn field(&self, name: &str) -> Option<&'a str> {
        self.fields.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
    }
}

/// What all structures together say.
#[derive(Default)]
struct Found {
    machine: Machine,
    slots: Vec<Slot>,
    slots_source: Option<Source>,
    memory: memory::Total,
    processors: system::Processors,
    has_board: bool,
    is_known: bool,
}

impl Found {
    fn take(&mut self, structure: &Structure<'_>, text: &Text) {
        let source = text.source(structure.line);
        let known = match structure.kind {
            Kind::Bios => system::take_bios(&mut self.machine.dmi, structure, &source),
            Kind::System => system::take_system(&mut self.machine, structure, &source),
            // A server of several boards lists its risers too; the first is that of the processors.
            Kind::Board if !self.has_board => {
                self.has_board = system::take_board(&mut self.machine.dmi, structure, &source);
                self.has_board
            }
            Kind::Processor => self.processors.take(structure, &source),
            Kind::MemoryDevice => self.memory.take(structure, &source),
            Kind::Slot => self.take_slot(structure, source),
            Kind::Board | Kind::Other => false,
        };
        self.is_known |= known;
    }

    fn take_slot(&mut self, structure: &Structure<'_>, source: String) -> bool {
        let Some(slot) = slot::parse(structure).filter(|_| self.slots.len() < MOST_SLOTS) else {
            return false;
        };
        self.slots.push(slot);
        self.slots_source.get_or_insert_with(|| Source::new(source));
        true
    }

    fn finish(mut self) -> Machine {
        if let Some(source) = self.slots_source {
            self.machine.slots = Fact::Known { value: self.slots, source };
        }
        self.processors.fill(&mut self.machine.cpus);
        (self.machine.cpus.memory, self.machine.memory_modules) = self.memory.facts();
        self.machine
    }
}

/// Reads what `dmidecode` printed in `text`.
pub fn read(text: &Text) -> Part {
    if !["DMI type", "SMBIOS", "dmidecode", " Information"].iter().any(|mark| text.body().contains(mark)) {
        return Part::default();
    }
    let mut found = Found::default();
    let mut open: Option<Structure<'_>> = None;
    for (number, line) in text.lines() {
        let line = line.trim();
        if let Some(kind) = title(line) {
            if let Some(whole) = open.replace(Structure { kind, line: number, fields: Vec::new() }) {
                found.take(&whole, text);
            }
        } else if line.starts_with("Handle 0x") || line.starts_with("DMI type ") {
            if let Some(whole) = open.take() {
                found.take(&whole, text);
            }
        } else if let Some(structure) = &mut open {
            add_field(structure, line);
        } else if let Some(version) = parse_version(line) {
            found.machine.dmi.smbios = Fact::known(version, text.source(number));
            found.is_known = true;
        }
    }
    if let Some(whole) = open {
        found.take(&whole, text);
    }
    if !found.is_known {
        return Part::default();
    }
    Part { kind: Some("dmidecode"), rank: Rank::Summary, machine: found.finish(), gaps: Vec::new() }
}

/// Reads a dump of the SMBIOS table in hexadecimal, made by `hexdump -C`, `xxd`, `od` or `dmidecode -u`.
pub fn read_hex(text: &Text) -> Part {
    hex::read(text)
}

/// The board and slots of a raw SMBIOS table, `/sys/firmware/dmi/tables/DMI` or `dmidecode --dump-bin`, which was called
/// `name`.
pub fn read_table(name: &str, table: &[u8]) -> Part {
    // A dump has the entry point before the table; its structures start at 32 (dmidecode, `dump_table`).
    let is_dump = table.starts_with(b"_SM_") || table.starts_with(b"_SM3_");
    let table = if is_dump { table.get(32..).unwrap_or_default() } else { table };
    let slots = parse_slots(table);
    if slots.is_empty() {
        return Part::default();
    }
    let dmi = parse_identity(table, name);
    let machine = Machine { dmi, slots: Fact::known(slots, name), ..Machine::default() };
    Part { kind: Some("SMBIOS table"), rank: Rank::Raw, machine, gaps: Vec::new() }
}

/// Fields of one structure that are kept; a list of flags is much shorter.
const MOST_FIELDS: usize = 64;

fn add_field<'a>(structure: &mut Structure<'a>, line: &'a str) {
    if structure.kind == Kind::Other || structure.fields.len() >= MOST_FIELDS {
        return;
    }
    if let Some((key, value)) = line.split_once(':') {
        structure.fields.push((key.trim_end(), value.trim()));
    }
}

/// The titles of structures (dmidecode, `dmi_decode`). Any line that ends as titles do ends the structure above it.
fn title(line: &str) -> Option<Kind> {
    Some(match line {
        "BIOS Information" => Kind::Bios,
        "System Information" => Kind::System,
        "Base Board Information" => Kind::Board,
        "Processor Information" => Kind::Processor,
        "Memory Device" => Kind::MemoryDevice,
        "System Slot Information" => Kind::Slot,
        "OEM Strings"
        | "Onboard Device"
        | "Memory Device Mapped Address"
        | "Physical Memory Array"
        | "End Of Table"
        | "Temperature Probe"
        | "Voltage Probe"
        | "Cooling Device"
        | "IPMI Device" => Kind::Other,
        _ if line.ends_with(" Information") && !line.contains(':') && line.len() < 60 => Kind::Other,
        _ => return None,
    })
}

/// Reads `SMBIOS 3.2.1 present.`
fn parse_version(line: &str) -> Option<(u8, u8)> {
    let (major, rest) = line.strip_prefix("SMBIOS ")?.strip_suffix("present.")?.trim().split_once('.')?;
    Some((major.parse().ok()?, rest.split('.').next()?.parse().ok()?))
}

/// A text of the firmware; absent when it says nothing.
fn said(value: Option<&str>, source: &str) -> Fact<String> {
    match value {
        Some(text) if !is_placeholder(text) && text != "<BAD INDEX>" => Fact::known(text.to_owned(), source),
        _ => Fact::absent(source),
    }
}

#[cfg(test)]
mod tests;
