//! What the firmware claims of board and slots: `/sys/class/dmi/id` and SMBIOS (`/sys/firmware/dmi/tables`).
//!
//! SMBIOS is a claim, not a fact: slot types and widths are often those of a reference board.

mod slot;

pub use slot::{Slot, is_template, parse_slots, plausible};

use crate::bytes::array;
use crate::root::Root;
use narrows_base::fact::{Fact, Source};

const ID: &str = "/sys/class/dmi/id";
const TABLE: &str = "/sys/firmware/dmi/tables/DMI";
const ENTRY_POINT: &str = "/sys/firmware/dmi/tables/smbios_entry_point";
/// The name of a machine that is described by a device tree instead.
const DEVICE_TREE_MODEL: &str = "/sys/firmware/devicetree/base/model";

/// The identity of system and board, `/sys/class/dmi/id/*`. Serial numbers are not read. A text that the maker never
/// filled in (`To be filled by O.E.M.`) is absent.
#[derive(Debug, Clone, Default)]
pub struct Dmi {
    /// `sys_vendor`.
    pub system_vendor: Fact<String>,
    /// `product_name`; on a machine without DMI the model of its device tree (`Raspberry Pi 5 Model B Rev 1.0`).
    pub product: Fact<String>,
    pub board_vendor: Fact<String>,
    /// `board_name`.
    pub board: Fact<String>,
    pub bios_version: Fact<String>,
    pub bios_date: Fact<String>,
    /// The version of SMBIOS that the tables follow, major and minor; needs root.
    pub smbios: Fact<(u8, u8)>,
}

/// Reads the identity of system and board.
pub fn read(root: &Root) -> Dmi {
    let mut product = identity(root, "product_name");
    if !root.exists(ID) {
        product = device_tree_model(root, product);
    }
    Dmi {
        system_vendor: identity(root, "sys_vendor"),
        product,
        board_vendor: identity(root, "board_vendor"),
        board: identity(root, "board_name"),
        bios_version: identity(root, "bios_version"),
        bios_date: identity(root, "bios_date"),
        smbios: root.bytes(ENTRY_POINT).and_then(|entry| match parse_version(&entry) {
            Some(version) => Fact::known(version, ENTRY_POINT),
            None => garbled(ENTRY_POINT, format!("{} bytes without an anchor", entry.len())),
        }),
    }
}

/// Reads the slot records; needs root.
pub fn read_slots(root: &Root) -> Fact<Vec<Slot>> {
    root.bytes(TABLE).and_then(|table| match structures(&table).next() {
        Some(_) => Fact::known(parse_slots(&table), TABLE),
        None => garbled(TABLE, format!("{} bytes without a structure", table.len())),
    })
}

/// Reads the modules of main memory; needs root.
pub fn read_modules(root: &Root) -> Fact<Vec<MemoryModule>> {
    root.bytes(TABLE).map(|table| parse_modules(&table))
}

/// The identity that an SMBIOS table called `name` states: BIOS, System and Base Board Information (DSP0134 3.7, sections
/// 7.1 to 7.3). Of several boards the first is that of the processors.
pub fn parse_identity(table: &[u8], name: &str) -> Dmi {
    let mut dmi = Dmi::default();
    let put = |fact: &mut Fact<String>, text: String| {
        if fact.value().is_none() && !is_placeholder(&text) {
            *fact = Fact::known(text, name);
        }
    };
    for structure in structures(table) {
        match structure.kind {
            0 => {
                put(&mut dmi.bios_version, structure.text(0x05));
                put(&mut dmi.bios_date, structure.text(0x08));
            }
            1 => {
                put(&mut dmi.system_vendor, structure.text(0x04));
                put(&mut dmi.product, structure.text(0x05));
            }
            2 => {
                put(&mut dmi.board_vendor, structure.text(0x04));
                put(&mut dmi.board, structure.text(0x05));
            }
            _ => {}
        }
    }
    dmi
}

fn garbled<T>(source: &str, raw: String) -> Fact<T> {
    Fact::Garbled { source: Source::new(source), raw }
}

fn identity(root: &Root, name: &str) -> Fact<String> {
    root.text(&format!("{ID}/{name}")).absent_when(|text| is_placeholder(text))
}

fn device_tree_model(root: &Root, otherwise: Fact<String>) -> Fact<String> {
    let model = root.text(DEVICE_TREE_MODEL).map(|model| model.trim_end_matches('\0').to_owned());
    if model.value().is_some_and(|model| !model.is_empty()) { model } else { otherwise }
}

/// Texts that stand where the maker wrote nothing, in lower case without punctuation at the end.
const PLACEHOLDERS: &[&str] = &[
    "to be filled by o.e.m",
    "default string",
    "system product name",
    "system manufacturer",
    "system version",
    "system name",
    "product name",
    "manufacturer",
    "base board",
    "base board product name",
    "baseboard",
    "not specified",
    "not applicable",
    "not available",
    "n/a",
    "none",
    "unknown",
    "undefined",
    "invalid",
    "empty",
    "null",
    "oem",
    "o.e.m",
    "type1productconfigid",
    "type2 - board product name",
    "type2 - board vendor name",
    "0123456789",
    "123456789",
];

/// Whether a text of the firmware says nothing: what stands where the maker wrote nothing.
pub fn is_placeholder(text: &str) -> bool {
    let text = text.trim().trim_end_matches(['.', ' ']).to_lowercase();
    let is_filler = text.chars().all(|c| matches!(c, '0' | 'x' | '-' | '.' | '*' | ' '));
    is_filler || PLACEHOLDERS.contains(&text.as_str())
}

/// The header of a structure: type, length, handle.
const HEADER: usize = 4;
/// The type of the structure that ends the table (section 7.45).
const END: u8 = 127;

/// One structure of the table.
#[derive(Debug, Clone, Copy)]
struct Structure<'a> {
    /// Its type.
    kind: u8,
    /// The formatted area with the header, as long as it says it is.
    formatted: &'a [u8],
    /// Its strings, each ended by a zero except the last.
    strings: &'a [u8],
}

impl Structure<'_> {
    /// The byte at `at` from the start of the header; `None` past the end, where older versions of SMBIOS stop.
    fn byte(&self, at: usize) -> Option<u8> {
        self.formatted.get(at).copied()
    }

    /// The little-endian word at `at`.
    fn word(&self, at: usize) -> Option<u16> {
        array(self.formatted, at).map(u16::from_le_bytes)
    }

    /// The string whose number stands at `at`, without control characters; empty for number 0 or one that is not there.
    fn text(&self, at: usize) -> String {
        let number = self.byte(at).map_or(0, usize::from);
        let Some(before) = number.checked_sub(1) else { return String::new() };
        let raw = self.strings.split(|byte| *byte == 0).nth(before).unwrap_or_default();
        String::from_utf8_lossy(raw).chars().filter(|c| !c.is_control()).collect::<String>().trim().to_owned()
    }
}

/// Every structure of a table, up to its end or to the first that cannot be one.
fn structures(table: &[u8]) -> impl Iterator<Item = Structure<'_>> {
    let mut rest = table;
    std::iter::from_fn(move || {
        let structure;
        (structure, rest) = split(rest)?;
        (structure.kind != END).then_some(structure)
    })
}

/// Takes the first structure off a table: its length counts the formatted area, two zeros end the strings behind it.
fn split(table: &[u8]) -> Option<(Structure<'_>, &[u8])> {
    let (kind, length) = (*table.first()?, usize::from(*table.get(1)?));
    if length < HEADER {
        return None;
    }
    let (formatted, behind) = table.split_at_checked(length)?;
    let end = behind.windows(2).position(|pair| pair == [0, 0]);
    let strings = behind.get(..end.unwrap_or(behind.len()))?;
    let rest = end.and_then(|end| behind.get(end + 2..)).unwrap_or_default();
    Some((Structure { kind, formatted, strings }, rest))
}

/// Major and minor version out of an entry point of 32 bits (`_SM_`) or 64 bits (`_SM3_`), sections 5.2.1 and 5.2.2.
fn parse_version(entry: &[u8]) -> Option<(u8, u8)> {
    let at = if entry.starts_with(b"_SM3_") {
        7
    } else if entry.starts_with(b"_SM_") {
        6
    } else {
        return None;
    };
    Some((*entry.get(at)?, *entry.get(at + 1)?))
}

/// The structure type of a memory device.
const MEMORY_DEVICE: u8 = 17;
/// Types of memory that no data passes through: the flash chip of the firmware and the like (section 7.18.2).
const NOT_MAIN: [u8; 8] = [0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d];
/// No module is faster: DDR5 ends at 9200 MT/s (JEDEC JESD79-5C); what is above is garbage.
const FASTEST: u32 = 20_000;

/// A module of main memory, as the firmware describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryModule {
    /// Transfers a second, in millions: as configured, else the most that the module can.
    pub megatransfers: u32,
    /// Bytes of one transfer, without those for error correction.
    pub width_bytes: u32,
}

impl MemoryModule {
    /// A module of these transfers a second, in millions, and this width in bits; `None` where they make no sense.
    pub fn new(megatransfers: u32, width_bits: u32) -> Option<Self> {
        let is_sane = (1..=FASTEST).contains(&megatransfers) && matches!(width_bits, 8..=128);
        is_sane.then_some(Self { megatransfers, width_bytes: width_bits / 8 })
    }
}

/// Reads the modules of an SMBIOS table. Sockets without a module, and modules without a speed, are left out.
pub fn parse_modules(table: &[u8]) -> Vec<MemoryModule> {
    structures(table).filter(|structure| structure.kind == MEMORY_DEVICE).filter_map(|s| module(&s)).collect()
}

fn module(record: &Structure<'_>) -> Option<MemoryModule> {
    let has_module = record.word(0x0c).is_some_and(|size| size != 0);
    if !has_module || record.byte(0x12).is_some_and(|kind| NOT_MAIN.contains(&kind)) {
        return None;
    }
    // All ones stand for a number that has its own field further back (sections 7.18.4 and 7.18.6).
    let number = |short: usize, long: usize| match record.word(short)? {
        0 => None,
        u16::MAX => record.word(long).map(u32::from),
        speed => Some(u32::from(speed)),
    };
    let speed = number(0x20, 0x58).or_else(|| number(0x15, 0x54))?;
    MemoryModule::new(speed, u32::from(record.word(0x0a)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{Node, Tree};

    #[test]
    fn what_the_maker_never_filled_in_is_absent() {
        for text in [
            "To Be Filled By O.E.M.",
            "To be filled by O.E.M",
            "Default string",
            "System Product Name",
            "",
            "xxxxx",
        ] {
            assert!(is_placeholder(text), "{text}");
        }
        for text in ["X99-A", "PowerEdge R740xd", "All Series", "X570D4U-2L2T", "MS-7B79", "OEM Server 3"] {
            assert!(!is_placeholder(text), "{text}");
        }
        let mut tree = Tree::new();
        tree.file("/sys/class/dmi/id/product_name", "System Product Name\n")
            .file("/sys/class/dmi/id/board_name", "PRIME X470-PRO\n");
        let dmi = read(&Root::from_tree(tree));
        assert_eq!(dmi.product, Fact::absent("/sys/class/dmi/id/product_name"));
        assert_eq!(dmi.board.value().map(String::as_str), Some("PRIME X470-PRO"));
    }

    #[test]
    fn a_machine_without_dmi_is_named_by_its_device_tree() {
        let mut tree = Tree::new();
        tree.file(DEVICE_TREE_MODEL, "Raspberry Pi 5 Model B Rev 1.0\0");
        let dmi = read(&Root::from_tree(tree));
        assert_eq!(dmi.product, Fact::known("Raspberry Pi 5 Model B Rev 1.0".to_owned(), DEVICE_TREE_MODEL));
        assert!(read(&Root::from_tree(Tree::new())).product.value().is_none());
    }

    #[test]
    fn slots_need_root_and_say_so() {
        let mut tree = Tree::new();
        tree.insert(TABLE, Node::Denied);
        let slots = read_slots(&Root::from_tree(tree));
        assert_eq!(slots.missing().as_deref(), Some("`/sys/firmware/dmi/tables/DMI` needs root"));
    }

    #[test]
    fn a_table_that_is_none_is_garbled() {
        let mut tree = Tree::new();
        tree.file(TABLE, "no").file(ENTRY_POINT, "no");
        let root = Root::from_tree(tree);
        assert!(matches!(read_slots(&root), Fact::Garbled { .. }));
        assert!(matches!(read(&root).smbios, Fact::Garbled { .. }));
    }

    #[test]
    fn both_entry_points_state_the_version() {
        assert_eq!(parse_version(b"_SM_\x38\x1f\x02\x08\x41\x00"), Some((2, 8)));
        assert_eq!(parse_version(b"_SM3_\x38\x18\x03\x05\x00\x01"), Some((3, 5)));
        assert_eq!(parse_version(b"_SM3_\x38\x18"), None);
        assert_eq!(parse_version(b"_DMI_\x38\x18\x03\x05"), None);
    }

    #[test]
    fn structures_are_taken_apart_up_to_the_end() {
        let table =
            b"\x01\x05\x00\x00\x02one\0two\0\0\x02\x04\x01\x00\0\0\x7f\x04\x02\x00\0\0\x09\x04\0\0\0\0";
        let found: Vec<_> = structures(table).collect();
        assert_eq!(found.iter().map(|structure| structure.kind).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(found[0].text(4), "two");
        assert_eq!(found[1].text(4), "", "past its end");
        assert_eq!(found[0].word(2), Some(0));
        assert_eq!(found[0].word(4), None);
    }

    #[test]
    fn a_truncated_table_gives_what_is_whole() {
        assert_eq!(structures(b"\x01\x05\x00\x00\x01one").count(), 1);
        assert_eq!(structures(b"\x01\x05\x00\x00").count(), 0);
        assert_eq!(structures(b"\x01\x00\x00\x00\0\0").count(), 0, "a length that cannot be");
        assert_eq!(structures(b"").count(), 0);
    }

    /// A structure as a DDR4 module has it: 64 bits of data of 72, `size` in MiB, 2933 MT/s, run at `configured`.
    fn record(size: u16, kind: u8, configured: u16) -> Vec<u8> {
        let mut record = vec![0_u8; 0x28];
        record[0] = MEMORY_DEVICE;
        record[1] = 0x28;
        record[0x08..0x0a].copy_from_slice(&72_u16.to_le_bytes());
        record[0x0a..0x0c].copy_from_slice(&64_u16.to_le_bytes());
        record[0x0c..0x0e].copy_from_slice(&size.to_le_bytes());
        record[0x12] = kind;
        record[0x15..0x17].copy_from_slice(&2933_u16.to_le_bytes());
        record[0x20..0x22].copy_from_slice(&configured.to_le_bytes());
        record.extend([0, 0]);
        record
    }

    #[test]
    fn modules_run_as_they_are_configured() {
        let table = [
            record(0x7fff, 0x1a, 2666),
            record(16384, 0x1a, 0),
            record(0, 0x1a, 2666),
            record(16, 0x09, 33),
            vec![127, 4, 0, 0, 0, 0],
        ]
        .concat();
        let module = |megatransfers| MemoryModule { megatransfers, width_bytes: 8 };
        assert_eq!(parse_modules(&table), [module(2666), module(2933)]);
        assert!(parse_modules(&[]).is_empty() && parse_modules(&[17, 4, 0, 0, 0, 0]).is_empty());
        assert_eq!(MemoryModule::new(0, 64), None);
        assert_eq!(MemoryModule::new(65_534, 64), None);
    }
}
