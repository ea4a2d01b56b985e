//! System slots, SMBIOS type 9 (DMTF DSP0134 3.7, section 7.10).

use super::{Structure, structures};
use crate::pci::PciAddress;
use narrows_base::units::{GtPerSec, Lanes};

/// The structure type of a system slot.
const SYSTEM_SLOT: u8 = 9;

/// A system slot, as the firmware describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Slot {
    /// The name printed on the board, `PCIEX16_2`.
    pub designation: String,
    /// What its type is called: `PCI Express 3 x16`, `M.2 socket 3`, `PCI`.
    pub kind: String,
    /// The generation that the record states, or that its type names. `PCI Express` without a number names none:
    /// boards use it for any.
    pub speed: Option<GtPerSec>,
    /// The width of its connector or of its wiring, whichever the firmware states (Slot Data Bus Width).
    pub width: Option<Lanes>,
    /// The width of the connector: the Slot Physical Width, or what the type names (`PCI Express 3 x16`).
    pub connector: Option<Lanes>,
    /// Whether something is in it; `None` when the firmware does not know.
    pub in_use: Option<bool>,
    /// Where it is, when that is a plausible address.
    pub address: Option<PciAddress>,
}

/// Reads the slot records of an SMBIOS table, in its order.
pub fn parse_slots(table: &[u8]) -> Vec<Slot> {
    structures(table)
        .filter(|structure| structure.kind == SYSTEM_SLOT)
        .filter_map(|s| parse_slot(&s))
        .collect()
}

fn parse_slot(record: &Structure<'_>) -> Option<Slot> {
    let code = record.byte(0x05)?;
    let width = bus_width(record.byte(0x06)?);
    let (kind, generation, named_width) = slot_type(code);
    // SMBIOS 3.2 put a list of peers of 5 bytes each at the end, and later versions their fields behind it.
    let behind_peers = record.byte(0x12).map(|peers| 0x13 + 5 * usize::from(peers));
    let stated = |offset: usize| record.byte(behind_peers?.checked_add(offset)?);
    Some(Slot {
        designation: record.text(0x04),
        kind,
        speed: stated(0).and_then(GtPerSec::from_pcie_generation).or(generation),
        width,
        connector: stated(1).and_then(bus_width).or(named_width),
        in_use: match record.byte(0x07) {
            Some(0x03) => Some(false),
            Some(0x04) => Some(true),
            _ => None,
        },
        address: address(record),
    })
}

/// Slot Data Bus Width, section 7.10.2. Widths in bits are those of parallel buses and give none.
const fn bus_width(code: u8) -> Option<Lanes> {
    Some(Lanes::new(match code {
        0x08 => 1,
        0x09 => 2,
        0x0a => 4,
        0x0b => 8,
        0x0c => 12,
        0x0d => 16,
        0x0e => 32,
        _ => return None,
    }))
}

/// Slot Type, section 7.10.1: its name, generation and width.
fn slot_type(code: u8) -> (String, Option<GtPerSec>, Option<Lanes>) {
    if let Some((generation, place)) = express_type(code) {
        let width = express_width(place);
        let number = generation.map(|generation| format!(" {generation}")).unwrap_or_default();
        let lanes = width.map(|width| format!(" {width}")).unwrap_or_default();
        let kind = format!("PCI Express{number}{lanes}");
        return (kind, generation.and_then(GtPerSec::from_pcie_generation), width);
    }
    let (kind, generation) = match code {
        0x06 => ("PCI", None),
        0x0e => ("PCI 66 MHz", None),
        0x12 => ("PCI-X", None),
        0x14 => ("M.2 socket 1-DP", None),
        0x15 => ("M.2 socket 1-SD", None),
        0x16 => ("M.2 socket 2", None),
        0x17 => ("M.2 socket 3", None),
        0x18..=0x1e => ("MXM", None),
        0x1f => ("PCI Express 2 U.2", Some(GtPerSec::GEN2)),
        0x20 => ("PCI Express 3 U.2", Some(GtPerSec::GEN3)),
        0x21..=0x23 => ("PCI Express Mini", None),
        0x24 => ("PCI Express 4 U.2", Some(GtPerSec::GEN4)),
        0x25 => ("PCI Express 5 U.2", Some(GtPerSec::GEN5)),
        0x26 => ("OCP NIC 3.0 small", None),
        0x27 => ("OCP NIC 3.0 large", None),
        0x28 => ("OCP NIC", None),
        0x30 => ("CXL Flexbus 1.0", None),
        0xc4 => ("PCI Express 6 or later", Some(GtPerSec::GEN6)),
        0xc5 => ("EDSFF E1", None),
        0xc6 => ("EDSFF E3", None),
        _ => ("other", None),
    };
    (kind.to_owned(), generation, None)
}

/// The runs of six types of each PCI Express generation: the generation (`None` where the name has no number) and the
/// place in the run.
const fn express_type(code: u8) -> Option<(Option<u8>, u8)> {
    Some(match code {
        0xa5..=0xaa => (None, code - 0xa5),
        0xab..=0xb0 => (Some(2), code - 0xab),
        0xb1..=0xb6 => (Some(3), code - 0xb1),
        0xb8..=0xbd => (Some(4), code - 0xb8),
        0xbe..=0xc3 => (Some(5), code - 0xbe),
        _ => return None,
    })
}

/// Each run starts with a type that names no width; then come x1, x2, x4, x8, x16.
const fn express_width(place: u8) -> Option<Lanes> {
    match place {
        1..=5 => Some(Lanes::new(1 << (place - 1))),
        _ => None,
    }
}

/// Segment, bus, device and function, section 7.10.8. Many boards fill in a placeholder: bus `ff`, a device and
/// function of all ones (`1f.7`), or `00:00.0`.
fn address(record: &Structure<'_>) -> Option<PciAddress> {
    let (segment, bus, function) = (record.word(0x0d)?, record.byte(0x0f)?, record.byte(0x10)?);
    plausible(PciAddress { domain: segment.into(), bus, device: function >> 3, function: function & 7 })
}

/// The address of a slot, unless it is a placeholder.
pub fn plausible(address: PciAddress) -> Option<PciAddress> {
    let PciAddress { bus, device, function, .. } = address;
    let is_placeholder = bus == 0xff || (device, function) == (31, 7) || (bus, device, function) == (0, 0, 0);
    (!is_placeholder).then_some(address)
}

/// The names of slots on the reference boards of Intel, which many makers left in their firmware.
const INTEL_REFERENCE: &[&str] = &["J6B1", "J6B2", "J6D1", "J7B1", "J8B3", "J8B4", "J8D1"];
/// The same of AMD; the name goes on, as in `J3600 Pcie x8 slot`.
const AMD_REFERENCE: &[&str] = &["J10", "J3502", "J3600", "J3700", "J3708"];

/// Whether the slots are those of a reference board rather than of this one: at least half of them bear its names.
///
/// Counted over the public probes of github.com/linuxhw/DMI, more than 20,000 of 65,228 machines have such a table.
pub fn is_template(slots: &[Slot]) -> bool {
    let copied = slots.iter().filter(|slot| is_reference_name(&slot.designation)).count();
    copied > 0 && copied.saturating_mul(2) >= slots.len()
}

fn is_reference_name(designation: &str) -> bool {
    let name = designation.split_whitespace().next().unwrap_or_default();
    INTEL_REFERENCE.contains(&name) || AMD_REFERENCE.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What the kernel showed of the table of a QEMU 7.2 machine that was given one slot record of SMBIOS 2.6: type
    /// 9, then QEMU's own BIOS, system and board records.
    const QEMU: &[u8] = b"\x09\x11\x00\x01\x01\xb2\x08\x04\x04\x02\x00\x0c\x01\x00\x00\x06\x07PCIEX16_2\0\0\
        \x00\x18\x00\x00\x01\x02\x00\xe8\x03\x00\x08\0\0\0\0\0\0\0\0\x14\0\0\xff\xffTest\x001.2.3\x0001/02/2020\0\0\
        \x02\x0f\x00\x02\x01\x02\x03\x00\x00\x01\x00\x00\x03\x0a\x00ASUSTeK COMPUTER INC.\0X99-A\0pc-q35-7.2\0\0\
        \x7f\x04\x00\x7f\0\0";

    fn record(fields: &[u8], name: &str) -> Vec<u8> {
        let length = u8::try_from(fields.len() + 5).expect("short");
        let mut record = vec![9, length, 0, 1, 1];
        record.extend_from_slice(fields);
        record.extend_from_slice(name.as_bytes());
        record.extend_from_slice(&[0, 0]);
        record
    }

    fn only(fields: &[u8]) -> Slot {
        let mut slots = parse_slots(&record(fields, "SLOT"));
        assert_eq!(slots.len(), 1);
        slots.remove(0)
    }

    fn named(names: &[&str]) -> Vec<Slot> {
        names.iter().map(|name| Slot { designation: (*name).to_owned(), ..Slot::default() }).collect()
    }

    #[test]
    fn the_slot_of_a_real_table_is_found_between_its_records() {
        let want = Slot {
            designation: "PCIEX16_2".to_owned(),
            kind: "PCI Express 3 x1".to_owned(),
            speed: Some(GtPerSec::GEN3),
            width: Some(Lanes::new(1)),
            connector: Some(Lanes::new(1)),
            in_use: Some(true),
            address: Some("06:00.7".parse().expect("an address")),
        };
        assert_eq!(parse_slots(QEMU), [want]);
    }

    #[test]
    fn types_name_generation_and_width() {
        for (code, kind, speed, connector) in [
            (0xa5, "PCI Express", None, None),
            (0xaa, "PCI Express x16", None, Some(16)),
            (0xac, "PCI Express 2 x1", Some(GtPerSec::GEN2), Some(1)),
            (0xb6, "PCI Express 3 x16", Some(GtPerSec::GEN3), Some(16)),
            (0xbb, "PCI Express 4 x4", Some(GtPerSec::GEN4), Some(4)),
            (0xc2, "PCI Express 5 x8", Some(GtPerSec::GEN5), Some(8)),
            (0xc4, "PCI Express 6 or later", Some(GtPerSec::GEN6), None),
            (0x17, "M.2 socket 3", None, None),
            (0x20, "PCI Express 3 U.2", Some(GtPerSec::GEN3), None),
            (0x26, "OCP NIC 3.0 small", None, None),
            (0xb7, "other", None, None),
        ] {
            let slot = only(&[code, 0x0a, 3, 3, 1, 0, 0, 0]);
            assert_eq!((slot.kind.as_str(), slot.speed), (kind, speed), "{code:#x}");
            assert_eq!(slot.connector.map(Lanes::get), connector, "{code:#x}");
            assert_eq!((slot.width, slot.in_use), (Some(Lanes::new(4)), Some(false)), "{code:#x}");
        }
    }

    #[test]
    fn fields_of_smbios_3_4_are_found_behind_the_peers() {
        let mut fields = vec![0xa5, 0x0a, 4, 3, 1, 0, 0, 0, 0, 0, 0x41, 0x00];
        fields.extend_from_slice(&[4, 2]);
        fields.extend_from_slice(&[0, 0, 0x41, 1, 1, 0, 0, 0x41, 2, 1]);
        fields.extend_from_slice(&[4, 0x0d, 0, 0]);
        let slot = only(&fields);
        assert_eq!(slot.speed, Some(GtPerSec::GEN4));
        assert_eq!((slot.connector, slot.width), (Some(Lanes::new(16)), Some(Lanes::new(4))));
        assert_eq!(slot.address, Some("41:00.0".parse().expect("an address")));
    }

    #[test]
    fn a_placeholder_is_no_address() {
        for (bus, function, want) in [
            (0xff, 0x30, None),
            (0xff, 0xff, None),
            (0x06, 0xff, None),
            (0x00, 0xff, None),
            (0x00, 0x00, None),
            (0x03, 0x00, Some("03:00.0")),
            (0x00, 0x19, Some("00:03.1")),
        ] {
            let slot = only(&[0xb6, 0x0d, 4, 4, 1, 0, 0, 0, 0, 0, bus, function]);
            assert_eq!(
                slot.address,
                want.map(|text| text.parse().expect("an address")),
                "{bus:x} {function:x}"
            );
        }
    }

    #[test]
    fn a_record_of_smbios_2_0_has_no_address() {
        let slot = only(&[0x06, 0x05, 3, 3, 1, 0, 4]);
        assert_eq!((slot.kind.as_str(), slot.width, slot.address), ("PCI", None, None));
        assert!(parse_slots(&record(&[0xb6], "SHORT")).is_empty());
    }

    #[test]
    fn tables_of_reference_boards_are_recognised() {
        assert!(is_template(&named(&["J6B2", "J6B1", "J6D1", "J7B1", "J8B4", "J8D1", "J8B3"])));
        assert!(is_template(&named(&["J10", "J3600 Pcie x8 slot", "J3708 PCIE x4 slot from Bixby"])));
        assert!(!is_template(&named(&["PCIE1", "J3502", "PCIE4", "PCIE3"])), "one forgotten name");
        assert!(!is_template(&named(&["PCIEX16_1", "PCIEX1_1"])));
        assert!(!is_template(&[]));
    }

    proptest! {
        #[test]
        fn no_table_panics(table in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = is_template(&parse_slots(&table));
        }

        #[test]
        fn no_slot_record_panics(fields in prop::collection::vec(any::<u8>(), 0..60), name in "[a-zA-Z0-9 ]{0,8}") {
            prop_assert!(parse_slots(&record(&fields, &name)).len() <= 1);
        }
    }
}
