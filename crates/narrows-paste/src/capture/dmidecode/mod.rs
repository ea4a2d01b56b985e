//! What the firmware says of the machine, in the words of `dmidecode`, any version, whole or `-t` or `-q`.
//!
//! Text is read by structure: a title (`System Slot Information`), then fields (`Current Usage: In Use`) up to the next
//! title. The layout around it (tabs, `Handle 0x0030, DMI type 9, 17 bytes`) differs between versions and gets lost on
//! the way, so that it is not relied on.

mod hex;

use narrows_base::fact::{Fact, Source};
use narrows_base::units::{Bytes, GtPerSec, Lanes};
use narrows_machine::Machine;
use narrows_machine::cpu::{self, Cpus};
use narrows_machine::dmi::{Dmi, MemoryModule, Slot, is_placeholder, parse_identity, parse_slots, plausible};

use super::device::known;
use super::{Part, Rank, Text, number};

pub use hex::read as read_hex;

/// More slots than any machine has.
const MOST_SLOTS: usize = 512;

/// One structure as it is read.
struct Structure<'a> {
    title: &'a str,
    /// The line of its title.
    line: usize,
    fields: Vec<(&'a str, &'a str)>,
}

impl<'a> Structure<'a> {
    fn field(&self, name: &str) -> Option<&'a str> {
        self.fields.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
    }
}

/// The title of the structure that tells of a slot.
const SLOT: &str = "System Slot Information";

/// What all structures together say.
#[derive(Default)]
struct DmiFound {
    machine: Machine,
    slots: Vec<Slot>,
    slots_source: Option<Source>,
    memory: MemoryTotal,
    processors: Processors,
    has_board: bool,
    is_known: bool,
}

impl DmiFound {
    fn take(&mut self, structure: &Structure<'_>, text: &Text) {
        let source = text.source(structure.line);
        let known = match structure.title {
            "BIOS Information" => take_bios(&mut self.machine.dmi, structure, &source),
            "System Information" => take_system(&mut self.machine, structure, &source),
            // A server of several boards lists its risers too; the first is that of the processors.
            "Base Board Information" if !self.has_board => {
                let board = take_board(&mut self.machine.dmi, structure, &source);
                self.has_board = board.is_some();
                board
            }
            "Processor Information" => self.processors.take(structure, &source),
            "Memory Device" => self.memory.take(structure, &source),
            SLOT => self.take_slot(structure, source),
            _ => None,
        };
        self.is_known |= known.is_some();
    }

    fn take_slot(&mut self, structure: &Structure<'_>, source: String) -> Option<()> {
        self.slots.push(parse_slot(structure).filter(|_| self.slots.len() < MOST_SLOTS)?);
        self.slots_source.get_or_insert_with(|| Source::new(source));
        Some(())
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
    let mut found = DmiFound::default();
    let mut open: Option<Structure<'_>> = None;
    for (number, line) in text.lines() {
        let line = line.trim();
        if is_title(line) {
            if let Some(whole) = open.replace(Structure { title: line, line: number, fields: Vec::new() }) {
                found.take(&whole, text);
            }
        } else if line.starts_with("Handle 0x") || line.starts_with("DMI type ") {
            if let Some(whole) = open.take() {
                found.take(&whole, text);
            }
        } else if line.starts_with("Designation:") && open.as_ref().is_none_or(|open| !open.fields.is_empty())
        {
            // `grep` left the titles out; no other structure has a field of this name.
            if let Some(whole) = open.replace(Structure { title: SLOT, line: number, fields: Vec::new() }) {
                found.take(&whole, text);
            }
            open.iter_mut().for_each(|structure| add_field(structure, line));
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
    if let Some((key, value)) = line.split_once(':').filter(|_| structure.fields.len() < MOST_FIELDS) {
        structure.fields.push((key.trim_end(), value.trim()));
    }
}

/// The titles of structures (dmidecode, `dmi_decode`). Any line that ends as titles do ends the structure above it.
fn is_title(line: &str) -> bool {
    const NAMES: [&str; 10] = [
        "Memory Device",
        "OEM Strings",
        "Onboard Device",
        "Memory Device Mapped Address",
        "Physical Memory Array",
        "End Of Table",
        "Temperature Probe",
        "Voltage Probe",
        "Cooling Device",
        "IPMI Device",
    ];
    let is_information = line.ends_with(" Information") && !line.contains(':') && line.len() < 60;
    is_information || NAMES.contains(&line)
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

/// Types without a number of generation and lanes: dmidecode's name, ours, and the generation.
const NAMED: &[(&str, &str, Option<GtPerSec>)] = &[
    ("PCI", "PCI", None),
    ("PCI-66", "PCI 66 MHz", None),
    ("PCI-X", "PCI-X", None),
    ("M.2 Socket 1-DP", "M.2 socket 1-DP", None),
    ("M.2 Socket 1-SD", "M.2 socket 1-SD", None),
    ("M.2 Socket 2", "M.2 socket 2", None),
    ("M.2 Socket 3", "M.2 socket 3", None),
    ("PCI Express 2 SFF-8639 (U.2)", "PCI Express 2 U.2", Some(GtPerSec::GEN2)),
    ("PCI Express 3 SFF-8639 (U.2)", "PCI Express 3 U.2", Some(GtPerSec::GEN3)),
    ("PCI Express 4 SFF-8639 (U.2)", "PCI Express 4 U.2", Some(GtPerSec::GEN4)),
    ("PCI Express 5 SFF-8639 (U.2)", "PCI Express 5 U.2", Some(GtPerSec::GEN5)),
    ("OCP NIC 3.0 Small Form Factor (SFF)", "OCP NIC 3.0 small", None),
    ("OCP NIC 3.0 Large Form Factor (LFF)", "OCP NIC 3.0 large", None),
    ("OCP NIC Prior to 3.0", "OCP NIC", None),
    ("CXL FLexbus 1.0", "CXL Flexbus 1.0", None),
    ("PCI Express Gen 6 and Beyond", "PCI Express 6 or later", Some(GtPerSec::GEN6)),
    ("Enterprise and Datacenter 1U E1 Form Factor Slot", "EDSFF E1", None),
    ("Enterprise and Datacenter 3\" E3 Form Factor Slot", "EDSFF E3", None),
];

/// System slots in the words of dmidecode (`dmi_slot_type`, `dmi_slot_bus_width`), which are those of DMTF DSP0134 3.7,
/// section 7.10.
///
/// Reads one structure; `None` when it is none of a slot.
fn parse_slot(structure: &Structure<'_>) -> Option<Slot> {
    let (bus, kind) = split_width(structure.field("Type")?);
    let (kind, named_speed, named_width) = slot_type(kind);
    let field = |name: &str| structure.field(name);
    let stated_speed = field("PCI Express Generation").and_then(|text| text.parse().ok());
    Some(Slot {
        designation: field("Designation")
            .filter(|text| *text != "Not Specified")
            .unwrap_or_default()
            .to_owned(),
        kind,
        speed: stated_speed.and_then(GtPerSec::from_pcie_generation).or(named_speed),
        width: bus.or_else(|| field("Data Bus Width").and_then(parse_width)),
        connector: field("Slot Physical Width").and_then(parse_width).or(named_width),
        in_use: match field("Current Usage") {
            Some("Available") => Some(false),
            Some("In Use") => Some(true),
            _ => None,
        },
        address: field("Bus Address").and_then(|text| text.parse().ok()).and_then(plausible),
    })
}

/// Takes the width of the bus off a type, as versions before 3.5 print it: `x8 PCI Express 3 x16`, `32-bit PCI`.
fn split_width(text: &str) -> (Option<Lanes>, &str) {
    match text.split_once(' ') {
        Some((word, rest)) if word.ends_with("-bit") => (None, rest),
        Some((word, rest)) if parse_width(word).is_some() => (parse_width(word), rest),
        _ => (None, text),
    }
}

/// Reads `x16`, and `16x or x16` of the newer versions.
fn parse_width(text: &str) -> Option<Lanes> {
    let word = text.rsplit(' ').next()?;
    word.strip_prefix('x').and_then(|_| Lanes::parse(word)).filter(|lanes| lanes.get() <= 32)
}

/// Name, generation and width of a type.
fn slot_type(text: &str) -> (String, Option<GtPerSec>, Option<Lanes>) {
    if let Some((_, ours, speed)) = NAMED.iter().find(|(name, _, _)| name.eq_ignore_ascii_case(text)) {
        return ((*ours).to_owned(), *speed, None);
    }
    if text.starts_with("MXM ") {
        return ("MXM".to_owned(), None, None);
    }
    let Some(rest) = text.strip_prefix("PCI Express") else { return ("other".to_owned(), None, None) };
    if rest.starts_with(" Mini") {
        return ("PCI Express Mini".to_owned(), None, None);
    }
    let generation: Option<u8> = rest.split_whitespace().find_map(|word| word.parse().ok());
    let width = rest.split_whitespace().find_map(parse_width);
    let number = generation.map(|generation| format!(" {generation}")).unwrap_or_default();
    let lanes = width.map(|width| format!(" {width}")).unwrap_or_default();
    (format!("PCI Express{number}{lanes}"), generation.and_then(GtPerSec::from_pcie_generation), width)
}

/// The modules so far.
#[derive(Default)]
struct MemoryTotal {
    bytes: u64,
    modules: Vec<MemoryModule>,
    source: Option<String>,
}

impl MemoryTotal {
    /// Adds a memory device; the flash chip of the firmware is listed as one too, and is none.
    fn take(&mut self, structure: &Structure<'_>, source: &str) -> Option<()> {
        // `16384 MB`: these are powers of 1024 (DMTF DSP0134 3.7, section 7.18.5).
        let size = structure.field("Size").and_then(number::binary_size)?;
        let is_memory = |kind: &&str| !matches!(*kind, "Flash" | "ROM" | "EEPROM" | "FEPROM" | "EPROM");
        structure.field("Type").filter(is_memory)?;
        self.bytes = self.bytes.saturating_add(size.get());
        self.modules.extend(memory_module(structure).filter(|_| self.modules.len() < MOST_MODULES));
        self.source.get_or_insert_with(|| source.to_owned());
        Some(())
    }

    /// The sum, and the modules whose speed is told; absent when none was listed.
    fn facts(self) -> (Fact<Bytes>, Fact<Vec<MemoryModule>>) {
        let Some(source) = self.source else { return Default::default() };
        let modules = match self.modules.is_empty() {
            true => Fact::default(),
            false => Fact::known(self.modules, source.clone()),
        };
        (Fact::known(Bytes::new(self.bytes), source), modules)
    }
}

/// No machine has more modules.
const MOST_MODULES: usize = 1024;

/// Reads `Configured Memory Speed: 2933 MT/s`, which was `Configured Clock Speed: 2933 MHz` before dmidecode 3.2, or the
/// module's own speed, and `Data Width: 64 bits`.
fn memory_module(structure: &Structure<'_>) -> Option<MemoryModule> {
    let number = |name: &str| structure.field(name)?.split(' ').next()?.parse::<u32>().ok();
    let configured = ["Configured Memory Speed", "Configured Clock Speed", "Speed"];
    MemoryModule::new(configured.into_iter().find_map(number)?, number("Data Width")?)
}

/// `BIOS Information`.
fn take_bios(dmi: &mut Dmi, structure: &Structure<'_>, source: &str) -> Option<()> {
    structure.field("Release Date").or(structure.field("Vendor"))?;
    dmi.bios_version = said(structure.field("Version"), source);
    dmi.bios_date = said(structure.field("Release Date"), source);
    Some(())
}

/// `System Information`.
fn take_system(machine: &mut Machine, structure: &Structure<'_>, source: &str) -> Option<()> {
    let (maker, product) = (structure.field("Manufacturer"), structure.field("Product Name"));
    maker.or(product)?;
    machine.dmi.system_vendor = said(maker, source);
    machine.dmi.product = said(product, source);
    let is_metal = product.is_some_and(|product| product.ends_with(".metal"));
    let hypervisor =
        [product, maker].into_iter().flatten().find_map(cpu::hypervisor_named).filter(|_| !is_metal);
    if let Some(name) = hypervisor {
        machine.cpus.hypervisor = Fact::known(name, source);
    }
    Some(())
}

/// `Base Board Information`.
fn take_board(dmi: &mut Dmi, structure: &Structure<'_>, source: &str) -> Option<()> {
    let (maker, name) = (structure.field("Manufacturer"), structure.field("Product Name"));
    let is_other = structure.field("Type").is_some_and(|kind| kind != "Motherboard" && kind != "Unknown");
    maker.or(name).filter(|_| !is_other)?;
    dmi.board_vendor = said(maker, source);
    dmi.board = said(name, source);
    Some(())
}

/// The processors so far.
#[derive(Default)]
struct Processors {
    sockets: u32,
    cores: u32,
    model: Fact<String>,
    signature: Fact<(u32, u32, u32)>,
    source: Option<String>,
}

impl Processors {
    /// Adds one `Processor Information`.
    fn take(&mut self, structure: &Structure<'_>, source: &str) -> Option<()> {
        let is_central = structure.field("Type").is_none_or(|kind| kind == "Central Processor");
        let is_there = structure.field("Status").is_none_or(|status| status.starts_with("Populated"));
        structure.field("Socket Designation").filter(|_| is_central && is_there)?;
        self.sockets = self.sockets.saturating_add(1);
        let cores = structure.field("Core Enabled").or_else(|| structure.field("Core Count"));
        self.cores =
            self.cores.saturating_add(cores.and_then(|count| count.parse().ok()).unwrap_or_default());
        if self.source.is_none() {
            self.model = said(structure.field("Version"), source)
                .map(|model| model.split_whitespace().collect::<Vec<_>>().join(" "));
            let signature = structure.field("Signature").and_then(parse_signature);
            self.signature = known(signature, source);
            self.source = Some(source.to_owned());
        }
        Some(())
    }

    /// Writes down what they are together.
    fn fill(self, cpus: &mut Cpus) {
        let Some(source) = self.source else { return };
        cpus.model = self.model;
        cpus.signature = self.signature;
        cpus.sockets = Fact::known(self.sockets, source.as_str());
        if self.cores > 0 {
            cpus.cores = Fact::known(self.cores, source);
        }
    }
}

/// Reads `Type 0, Family 6, Model 58, Stepping 9`.
fn parse_signature(text: &str) -> Option<(u32, u32, u32)> {
    let number = |key: &str| {
        text.split(',').find_map(|part| part.trim().strip_prefix(key)?.trim().parse::<u32>().ok())
    };
    Some((number("Family")?, number("Model")?, number("Stepping").unwrap_or_default()))
}

#[cfg(test)]
mod tests;
