//! What the firmware claims of board and slots: `/sys/class/dmi/id` and SMBIOS (`/sys/firmware/dmi/tables`).
//!
//! SMBIOS is a claim, not a fact: slot types and widths are often those of a reference board.

mod memory;
mod slot;
mod smbios;

pub use memory::{MemoryModule, parse_modules};
pub use slot::plausible;
pub use slot::{Slot, is_template, parse_slots};

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
    /// `board_vendor`.
    pub board_vendor: Fact<String>,
    /// `board_name`.
    pub board: Fact<String>,
    /// `bios_version`.
    pub bios_version: Fact<String>,
    /// `bios_date`.
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
        smbios: root.bytes(ENTRY_POINT).and_then(|entry| match smbios::parse_version(&entry) {
            Some(version) => Fact::known(version, ENTRY_POINT),
            None => garbled(ENTRY_POINT, format!("{} bytes without an anchor", entry.len())),
        }),
    }
}

/// Reads the slot records; needs root.
pub fn read_slots(root: &Root) -> Fact<Vec<Slot>> {
    root.bytes(TABLE).and_then(|table| match smbios::structures(&table).next() {
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
    for structure in smbios::structures(table) {
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
    let path = format!("{ID}/{name}");
    let text = root.text(&path);
    if text.value().is_some_and(|text| is_placeholder(text)) { Fact::absent(path) } else { text }
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
}
