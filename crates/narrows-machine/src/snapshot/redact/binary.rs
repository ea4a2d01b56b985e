//! Identifiers in binary files: PCI config space, SCSI vital product data, ATA identify data.

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
}
