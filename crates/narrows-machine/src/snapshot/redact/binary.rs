//! Identifiers in binary files: PCI config space, SCSI vital product data, ATA identify data, SMBIOS tables.

/// Where extended config space begins (PCI Express Base Specification, Extended Configuration Space).
const EXTENDED: usize = 0x100;

/// The extended capability that holds a serial number (same, Device Serial Number Capability, id 0003h): eight bytes
/// after its header.
const SERIAL_CAPABILITY: u32 = 0x0003;

/// No config space has more extended capabilities: 4096 - 256 bytes hold at most this many of 8 bytes.
const MOST_CAPABILITIES: usize = 480;

/// Blanks the device serial number in config space. For network cards it is the MAC address.
pub(super) fn blank_config(config: &mut [u8]) {
    let mut at = EXTENDED;
    for _ in 0..MOST_CAPABILITIES {
        let Some(header) = config.get(at..).and_then(|rest| rest.first_chunk::<4>()) else { return };
        let header = u32::from_le_bytes(*header);
        if header & 0xffff == SERIAL_CAPABILITY
            && let Some(serial) = config.get_mut(at + 4..at + 12)
        {
            serial.fill(0);
        }
        // Bits 31:20 are the place of the next capability; its low two bits are reserved.
        at = usize::try_from(header >> 20 & 0xffc).unwrap_or(0);
        if at < EXTENDED {
            return;
        }
    }
}

/// The header of a vital product data page: peripheral, page code, length (SPC-4, section 7.8).
const PAGE_HEADER: usize = 4;

/// The serial number of page 80h (SPC-4, Unit Serial Number).
pub(super) fn unit_serial(name: &str, page: &[u8]) -> Option<String> {
    let serial = page.get(PAGE_HEADER..).filter(|_| name == "vpd_pg80")?;
    Some(String::from_utf8_lossy(serial).trim_matches(['\0', ' ']).to_owned())
}

/// Blanks a page of vital product data. Page 83h keeps the headers of its designators (SPC-4, Device Identification),
/// so that it is still read as one; of page 80h the digits go, and of others all behind the header but pages without
/// identifiers (B0h block limits, B1h characteristics, B2h provisioning).
pub(super) fn blank_vpd_page(name: &str, page: &mut [u8]) {
    match name {
        "vpd_pg83" => blank_designators(page),
        "vpd_pgb0" | "vpd_pgb1" | "vpd_pgb2" | "vpd_pg0" => {}
        "vpd_pg80" => {
            let serial = page.iter_mut().skip(PAGE_HEADER);
            serial.filter(|byte| byte.is_ascii_alphanumeric()).for_each(|byte| *byte = b'0');
        }
        _ => page.iter_mut().skip(PAGE_HEADER).for_each(|byte| *byte = 0),
    }
}

fn blank_designators(page: &mut [u8]) {
    let mut at = PAGE_HEADER;
    while let Some(length) = page.get(at + 3).map(|length| usize::from(*length)) {
        let start = at + 4;
        let end = (start + length).min(page.len());
        if let Some(designator) = page.get_mut(start..end) {
            designator.fill(0);
        }
        at = start + length;
    }
}

/// Words of ATA identify data that identify a drive (ATA8-ACS, IDENTIFY DEVICE): serial number, WWN, and the media
/// serial number.
const IDENTIFY_SECRETS: [std::ops::Range<usize>; 3] = [10..20, 108..112, 176..206];

/// Blanks serial number and WWN in the words that `/sys/class/ata_device/*/id` prints in hexadecimal.
pub(super) fn blank_identify(text: &str) -> String {
    let mut count = 0;
    let mut line = |line: &str| {
        let words = line.split(' ').map(|word| {
            let is_secret = !word.is_empty() && IDENTIFY_SECRETS.iter().any(|range| range.contains(&count));
            count += usize::from(!word.is_empty());
            if is_secret { "0".repeat(word.len()) } else { word.to_owned() }
        });
        words.collect::<Vec<_>>().join(" ")
    };
    text.split('\n').map(&mut line).collect::<Vec<_>>().join("\n")
}

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
pub(super) fn blank_smbios(table: &mut [u8], mut found: impl FnMut(&str)) {
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

    #[test]
    fn the_serial_number_of_a_pci_device_is_blanked_and_the_rest_stays() {
        let mut config = vec![0xaa; 4096];
        // AER at 100h, next 148h: Device Serial Number, the last.
        config[0x100..0x104].copy_from_slice(&(0x0001_u32 | 1 << 16 | 0x148 << 20).to_le_bytes());
        config[0x148..0x14c].copy_from_slice(&(0x0003_u32 | 1 << 16).to_le_bytes());
        let before = config.clone();
        blank_config(&mut config);
        assert_eq!(config[0x14c..0x154], [0; 8]);
        config[0x14c..0x154].fill(0xaa);
        assert_eq!(config, before);
    }

    #[test]
    fn designators_keep_their_headers() {
        let mut page = vec![0, 0x83, 0, 12, 1, 3, 0, 8, 0x50, 2, 3, 4, 5, 6, 7, 8];
        blank_vpd_page("vpd_pg83", &mut page);
        assert_eq!(page, [0, 0x83, 0, 12, 1, 3, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn identify_data_loses_its_serial_number_only() {
        let words: Vec<String> = (0..256).map(|word| format!("{word:04x}")).collect();
        let text: String = words.chunks(8).map(|line| line.join(" ") + "\n").collect();
        let after = blank_identify(&text);
        let after: Vec<&str> = after.split_whitespace().collect();
        assert_eq!(after.len(), 256);
        assert_eq!((after[9], after[10], after[19], after[20]), ("0009", "0000", "0000", "0014"));
        assert_eq!((after[76], after[108], after[111], after[112]), ("004c", "0000", "0000", "0070"));
    }

    proptest! {
        #[test]
        fn no_bytes_panic_and_none_are_lost(mut bytes: Vec<u8>) {
            let length = bytes.len();
            blank_config(&mut bytes);
            blank_vpd_page("vpd_pg83", &mut bytes);
            blank_vpd_page("vpd_pg89", &mut bytes);
            prop_assert_eq!(bytes.len(), length);
            blank_identify(&String::from_utf8_lossy(&bytes));
        }

        #[test]
        fn a_config_space_whose_capabilities_lead_in_circles_ends(next in 0u32..0xfff) {
            let mut config = vec![0; 4096];
            for at in (0x100..4096).step_by(4) {
                config[at..at + 4].copy_from_slice(&(3 | next << 20).to_le_bytes());
            }
            blank_config(&mut config);
        }
    }

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
        blank_smbios(&mut table, |secret| secrets.push(secret.to_owned()));
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
        blank_smbios(&mut table, |_| {});
        let text = String::from_utf8_lossy(&table);
        assert!(!text.contains("ABC") && !text.contains("5254"), "{text}");
    }

    #[test]
    fn a_table_that_is_cut_off_is_blanked_to_its_end() {
        let mut table = system();
        table.truncate(table.len() - 2);
        blank_smbios(&mut table, |_| {});
        assert!(!String::from_utf8_lossy(&table).contains("ABC123"));
    }

    proptest! {
        #[test]
        fn no_table_panics_or_changes_its_length(mut table: Vec<u8>) {
            let length = table.len();
            blank_smbios(&mut table, |_| {});
            prop_assert_eq!(table.len(), length);
        }
    }
}
