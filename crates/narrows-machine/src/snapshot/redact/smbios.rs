//! Serial numbers, asset tags and UUIDs in SMBIOS tables (DMTF DSP0134), blanked without moving a byte.

/// The header of a structure: type, length of the formatted part, handle (DSP0134, section 6.1.2).
const HEADER: usize = 4;

/// The type of the last structure.
const END: u8 = 127;

/// From this type on vendors define what a structure holds (DSP0134, section 6.1.2).
const VENDOR: u8 = 128;

/// Offsets of string numbers that name a secret, by type (DSP0134, section 7): serial numbers and asset tags of system
/// (1), board (2), chassis (3), processor (4), memory device (17), battery (22) and power supply (39).
const SECRET_STRINGS: [(u8, &[usize]); 7] = [
    (1, &[0x07]),
    (2, &[0x07, 0x08]),
    (3, &[0x07, 0x08]),
    (4, &[0x20, 0x21]),
    (17, &[0x18, 0x19]),
    (22, &[0x07]),
    (39, &[0x08, 0x09]),
];

/// Where the UUID of the system stands in a structure of type 1.
const SYSTEM_UUID: std::ops::Range<usize> = 0x08..0x18;

/// Type 11: strings that the maker chose, often a service tag. Type 12: configuration options in words.
const OEM_STRINGS: u8 = 11;

/// Blanks a table of structures in place and tells `found` each secret string.
pub(super) fn blank(table: &mut [u8], mut found: impl FnMut(&str)) {
    let mut start = 0;
    while let Some((kind, length)) = head(table, start) {
        let formatted = start + length;
        let Some(end) = strings_end(table, formatted) else {
            // Cut off: what is left may hold anything.
            if let Some(rest) = table.get_mut(start + HEADER..) {
                rest.fill(0);
            }
            return;
        };
        let structure = table.get_mut(start..end).unwrap_or_default();
        blank_structure(structure, kind, length, &mut found);
        if kind == END {
            return;
        }
        start = end;
    }
}

fn head(table: &[u8], start: usize) -> Option<(u8, usize)> {
    let header = table.get(start..)?.first_chunk::<HEADER>()?;
    let [kind, length, ..] = *header;
    let length = usize::from(length);
    (length >= HEADER && start + length <= table.len()).then_some((kind, length))
}

/// Where the structure ends whose strings begin at `start`: behind the two zeros that end them.
fn strings_end(table: &[u8], start: usize) -> Option<usize> {
    let zeros = table.get(start..)?.windows(2).position(|pair| pair == [0, 0])?;
    Some(start + zeros + 2)
}

fn blank_structure(structure: &mut [u8], kind: u8, length: usize, found: &mut impl FnMut(&str)) {
    let (formatted, strings) = structure.split_at_mut(length.min(structure.len()));
    if kind == OEM_STRINGS || kind >= VENDOR {
        strings.iter_mut().filter(|byte| **byte != 0).for_each(|byte| *byte = b'X');
        if kind >= VENDOR {
            formatted.iter_mut().skip(HEADER).for_each(|byte| *byte = 0);
        }
        return;
    }
    if kind == 1
        && let Some(uuid) = formatted.get_mut(SYSTEM_UUID)
    {
        uuid.fill(0);
    }
    let secret = SECRET_STRINGS.iter().find(|(with, _)| *with == kind).map_or(&[][..], |(_, at)| at);
    for number in secret.iter().filter_map(|at| formatted.get(*at)).filter(|number| **number > 0) {
        let mut parts = strings.split_mut(|byte| *byte == 0);
        if let Some(string) = parts.nth(usize::from(*number) - 1) {
            found(&String::from_utf8_lossy(string));
            string.fill(b'X');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn structure(kind: u8, formatted: &[u8], strings: &[&str]) -> Vec<u8> {
        let mut bytes = vec![kind, u8::try_from(HEADER + formatted.len()).expect("short"), 1, 0];
        bytes.extend_from_slice(formatted);
        for string in strings {
            bytes.extend_from_slice(string.as_bytes());
            bytes.push(0);
        }
        if strings.is_empty() {
            bytes.push(0);
        }
        bytes.push(0);
        bytes
    }

    fn system() -> Vec<u8> {
        // Manufacturer 1, product 2, version 0, serial 3, UUID.
        let mut formatted = vec![1, 2, 0, 3];
        formatted.extend_from_slice(&[0xab; 16]);
        formatted.extend_from_slice(&[6, 0, 0]);
        structure(1, &formatted, &["Dell Inc.", "PowerEdge R740xd", "ABC1234"])
    }

    #[test]
    fn serial_and_uuid_go_and_vendor_and_product_stay() {
        let slot = structure(9, &[1, 0xa5, 8], &["PCIe Slot 3"]);
        let mut table = [system(), slot.clone(), structure(END, &[], &[])].concat();
        let before = table.clone();
        let mut secrets = Vec::new();
        blank(&mut table, |secret| secrets.push(secret.to_owned()));
        assert_eq!(secrets, ["ABC1234"]);
        assert_eq!(table.len(), before.len());
        let text = String::from_utf8_lossy(&table);
        assert!(text.contains("Dell Inc.") && text.contains("PowerEdge R740xd") && text.contains("XXXXXXX"));
        assert!(!text.contains("ABC1234") && !table.contains(&0xab));
        assert!(table.windows(slot.len()).any(|part| part == slot));
    }

    #[test]
    fn what_vendors_put_in_goes_whole() {
        let mut table = [
            structure(11, &[2], &["Service Tag: ABC1234", "x"]),
            structure(221, &[1, 2, 3], &["MAC 525400123456"]),
        ]
        .concat();
        blank(&mut table, |_| {});
        let text = String::from_utf8_lossy(&table);
        assert!(!text.contains("ABC") && !text.contains("5254"), "{text}");
    }

    #[test]
    fn a_table_that_is_cut_off_is_blanked_to_its_end() {
        let mut table = system();
        table.truncate(table.len() - 2);
        blank(&mut table, |_| {});
        assert!(!String::from_utf8_lossy(&table).contains("ABC123"));
    }

    proptest! {
        #[test]
        fn no_table_panics_or_changes_its_length(mut table: Vec<u8>) {
            let length = table.len();
            blank(&mut table, |_| {});
            prop_assert_eq!(table.len(), length);
        }
    }
}
