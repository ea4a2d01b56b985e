//! SATA ports: libata's link objects (kernel `Documentation/ABI/testing/sysfs-ata`).

use super::device_path::DevicePath;
use crate::pci::PciAddress;
use crate::root::Root;
use narrows_base::fact::Fact;
use narrows_base::units::BitsPerSec;

/// A SATA port.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sata {
    /// The kernel's port name, `ata3`.
    pub port: String,
    /// The negotiated line rate, `/sys/class/ata_link/link*/sata_spd` (`6.0 Gbps`).
    pub speed: Fact<BitsPerSec>,
    /// The fastest line rate of the port, `…/hw_sata_spd_limit`.
    pub port_speed: Fact<BitsPerSec>,
    /// The fastest line rate of the drive, from word 76 of its IDENTIFY data (ATA8-ACS, section 7.16.7.36), as smartctl
    /// prints it; absent on a live machine, where the kernel does not show it.
    pub drive_speed: Fact<BitsPerSec>,
    /// The host controller.
    pub pci: Option<PciAddress>,
}

/// Reads the port of a disk below `ataN`. libata numbers the link of port `ataN` `linkN` (kernel
/// `drivers/ata/libata-transport.c`, `ata_tlink_add`); a disk behind a port multiplier shares its host link.
pub(super) fn read(root: &Root, port: &str, path: DevicePath<'_>) -> Sata {
    let link = format!("/sys/class/ata_link/{}", port.replacen("ata", "link", 1));
    let rate = |file: &str| {
        root.text(&format!("{link}/{file}")).absent_when(|text| text.contains("unknown")).parse(parse_rate)
    };
    Sata {
        port: port.to_owned(),
        speed: rate("sata_spd"),
        port_speed: rate("hw_sata_spd_limit"),
        drive_speed: Fact::absent(link.as_str()),
        pci: path.pci(),
    }
}

/// Reads libata's `6.0 Gbps`.
fn parse_rate(text: &str) -> Option<BitsPerSec> {
    let number: f64 = text.strip_suffix("Gbps")?.trim().parse().ok()?;
    (number > 0.0 && number.is_finite()).then(|| BitsPerSec::from_mbit(number * 1000.0))
}

/// The model of an ATA disk, whole: words 27 to 46 of IDENTIFY DEVICE (ATA8-ACS, section 7.16), which the ATA
/// Information VPD page carries from byte 60 on (SAT-3, section 12.4.2). `…/device/model` has only 16 characters of it.
pub(super) fn model_of_vpd(page: &[u8]) -> Option<String> {
    const IDENTIFY: usize = 60;
    const MODEL: std::ops::Range<usize> = IDENTIFY + 2 * 27..IDENTIFY + 2 * 47;
    if page.get(1) != Some(&0x89) {
        return None;
    }
    // Each word holds two characters, the first in its high byte.
    let words = page.get(MODEL)?.chunks_exact(2);
    let bytes: Vec<u8> = words.flat_map(|word| word.iter().rev().copied()).collect();
    let text = String::from_utf8(bytes).ok()?;
    let text = text.trim_matches(|c: char| c == ' ' || c == '\0');
    (!text.is_empty() && text.chars().all(|c| !c.is_control())).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rates_are_those_of_libata() {
        assert_eq!(parse_rate("6.0 Gbps"), Some(BitsPerSec::from_mbit(6000.0)));
        assert_eq!(parse_rate("1.5 Gbps"), Some(BitsPerSec::from_mbit(1500.0)));
        for text in ["<unknown>", "", "-1 Gbps", "inf Gbps", "NaN Gbps", "6.0"] {
            assert_eq!(parse_rate(text), None, "{text}");
        }
    }

    #[test]
    fn the_model_is_read_with_its_bytes_swapped() {
        let mut page = vec![0u8; 572];
        page[1] = 0x89;
        let name = format!("{:<40}", "Samsung SSD 860 EVO 500GB");
        for (word, pair) in name.as_bytes().chunks(2).enumerate() {
            page[114 + 2 * word] = pair[1];
            page[115 + 2 * word] = pair[0];
        }
        assert_eq!(model_of_vpd(&page).as_deref(), Some("Samsung SSD 860 EVO 500GB"));
        page[1] = 0x80;
        assert_eq!(model_of_vpd(&page), None);
    }

    proptest! {
        #[test]
        fn no_page_panics(page in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _ = model_of_vpd(&page);
        }
    }
}
