//! Class codes by the names that `lspci` prints (`pci.ids`, the part `C`, <https://pci-ids.ucw.cz>).

use super::line::half_id;

/// Base class and sub-class, and the name. Older spellings follow those of today.
const NAMES: &[(u16, &str)] = &[
    (0x0000, "Non-VGA unclassified device"),
    (0x0001, "VGA compatible unclassified device"),
    (0x0005, "Image coprocessor"),
    (0x0100, "SCSI storage controller"),
    (0x0101, "IDE interface"),
    (0x0102, "Floppy disk controller"),
    (0x0103, "IPI bus controller"),
    (0x0104, "RAID bus controller"),
    (0x0105, "ATA controller"),
    (0x0106, "SATA controller"),
    (0x0107, "Serial Attached SCSI controller"),
    (0x0108, "Non-Volatile memory controller"),
    (0x0109, "Universal Flash Storage controller"),
    (0x0180, "Mass storage controller"),
    (0x0180, "Unknown mass storage controller"),
    (0x0200, "Ethernet controller"),
    (0x0201, "Token ring network controller"),
    (0x0202, "FDDI network controller"),
    (0x0203, "ATM network controller"),
    (0x0204, "ISDN controller"),
    (0x0205, "WorldFip controller"),
    (0x0206, "PICMG controller"),
    (0x0207, "Infiniband controller"),
    (0x0208, "Fabric controller"),
    (0x0280, "Network controller"),
    (0x0300, "VGA compatible controller"),
    (0x0301, "XGA compatible controller"),
    (0x0302, "3D controller"),
    (0x0380, "Display controller"),
    (0x0400, "Multimedia video controller"),
    (0x0401, "Multimedia audio controller"),
    (0x0402, "Computer telephony device"),
    (0x0403, "Audio device"),
    (0x0480, "Multimedia controller"),
    (0x0500, "RAM memory"),
    (0x0501, "FLASH memory"),
    (0x0502, "CXL"),
    (0x0580, "Memory controller"),
    (0x0600, "Host bridge"),
    (0x0601, "ISA bridge"),
    (0x0602, "EISA bridge"),
    (0x0603, "MicroChannel bridge"),
    (0x0604, "PCI bridge"),
    (0x0605, "PCMCIA bridge"),
    (0x0606, "NuBus bridge"),
    (0x0607, "CardBus bridge"),
    (0x0608, "RACEway bridge"),
    (0x0609, "Semi-transparent PCI-to-PCI bridge"),
    (0x060a, "InfiniBand to PCI host bridge"),
    (0x0680, "Bridge"),
    (0x0700, "Serial controller"),
    (0x0701, "Parallel controller"),
    (0x0702, "Multiport serial controller"),
    (0x0703, "Modem"),
    (0x0704, "GPIB controller"),
    (0x0705, "Smard Card controller"),
    (0x0705, "Smart Card controller"),
    (0x0780, "Communication controller"),
    (0x0800, "PIC"),
    (0x0801, "DMA controller"),
    (0x0802, "Timer"),
    (0x0803, "RTC"),
    (0x0804, "PCI Hot-plug controller"),
    (0x0805, "SD Host controller"),
    (0x0806, "IOMMU"),
    (0x0880, "System peripheral"),
    (0x0899, "Timing Card"),
    (0x0900, "Keyboard controller"),
    (0x0901, "Digitizer Pen"),
    (0x0902, "Mouse controller"),
    (0x0903, "Scanner controller"),
    (0x0904, "Gameport controller"),
    (0x0980, "Input device controller"),
    (0x0a00, "Generic Docking Station"),
    (0x0a80, "Docking Station"),
    (0x0b00, "386"),
    (0x0b01, "486"),
    (0x0b02, "Pentium"),
    (0x0b10, "Alpha"),
    (0x0b20, "Power PC"),
    (0x0b30, "MIPS"),
    (0x0b40, "Co-processor"),
    (0x0c00, "FireWire (IEEE 1394)"),
    (0x0c01, "ACCESS Bus"),
    (0x0c02, "SSA"),
    (0x0c03, "USB controller"),
    (0x0c04, "Fibre Channel"),
    (0x0c05, "SMBus"),
    (0x0c06, "InfiniBand"),
    (0x0c07, "IPMI Interface"),
    (0x0c07, "IPMI SMIC interface"),
    (0x0c08, "SERCOS interface"),
    (0x0c09, "CANBUS"),
    (0x0c80, "Serial bus controller"),
    (0x0d00, "IRDA controller"),
    (0x0d01, "Consumer IR controller"),
    (0x0d10, "RF controller"),
    (0x0d11, "Bluetooth"),
    (0x0d12, "Broadband"),
    (0x0d20, "802.1a controller"),
    (0x0d21, "802.1b controller"),
    (0x0d80, "Wireless controller"),
    (0x0e00, "I2O"),
    (0x0f01, "Satellite TV controller"),
    (0x0f02, "Satellite audio communication controller"),
    (0x0f03, "Satellite voice communication controller"),
    (0x0f04, "Satellite data communication controller"),
    (0x1000, "Network and computing encryption device"),
    (0x1010, "Entertainment encryption device"),
    (0x1080, "Encryption controller"),
    (0x1100, "DPIO module"),
    (0x1101, "Performance counters"),
    (0x1110, "Communication synchronizer"),
    (0x1120, "Signal processing management"),
    (0x1180, "Signal processing controller"),
    (0x1200, "Processing accelerators"),
    (0x1201, "SNIA Smart Data Accelerator Interface (SDXI) controller"),
    (0x1300, "Non-Essential Instrumentation"),
    (0x4000, "Coprocessor"),
    (0xff00, "Unassigned class"),
];

/// Non-volatile memory controllers, and the programming interface of those that speak NVMe.
const NON_VOLATILE: (u16, u8) = (0x0108, 0x02);

/// The class code for what stands before the colon: `SATA controller`, `SATA controller [0106]`, `0106`, `Class 0106`.
/// The number goes before the name.
pub(in crate::capture) fn code(text: &str) -> Option<u16> {
    let text = text.trim();
    let bracketed = text.strip_suffix(']').and_then(|text| text.rsplit_once('[')).map(|(_, number)| number);
    let alone = text.strip_prefix("Class ").unwrap_or(text);
    bracketed.and_then(half_id).or_else(|| half_id(alone)).or_else(|| named(text))
}

fn named(text: &str) -> Option<u16> {
    NAMES.iter().find(|(_, name)| name.eq_ignore_ascii_case(text)).map(|(code, _)| *code)
}

/// The storage, network or display class whose name ends a description: `JMicron JMB58x AHCI SATA controller`.
pub(super) fn at_the_end_of(text: &str) -> Option<u16> {
    let text = text.trim().to_ascii_lowercase();
    let of_interest = NAMES.iter().filter(|(code, _)| (0x0100..0x0400).contains(code));
    let ends_in = |name: &str| {
        let before = text.strip_suffix(&name.to_ascii_lowercase());
        before.is_some_and(|before| before.is_empty() || before.ends_with(' '))
    };
    of_interest.filter(|(_, name)| ends_in(name)).map(|(code, _)| *code).next()
}

/// All 24 bits. Without `-v` the programming interface is not printed; of a non-volatile memory controller it is taken
/// for NVM Express, because no other kind was ever sold in numbers.
pub(in crate::capture) fn full(code: u16, interface: Option<u8>) -> u32 {
    let implied = if code == NON_VOLATILE.0 { NON_VOLATILE.1 } else { 0 };
    u32::from(code) << 8 | u32::from(interface.unwrap_or(implied))
}

/// Base class, sub-class and programming interface (PCI Code and ID Assignment Specification, section 1), and the drivers in
/// Linux that serve devices of it and of no other: `mlx5_core` serves Ethernet and InfiniBand.
const OF_DRIVERS: &[(u32, &[&str])] = &[
    (0x03_0000, &["amdgpu", "ast", "i915", "mgag200", "nouveau", "nvidia", "radeon", "xe"]),
    (0x01_0802, &["nvme"]),
    (0x01_0601, &["ahci"]),
    (0x01_0700, &["isci", "mpi3mr", "mpt2sas", "mpt3sas", "mptsas", "mvsas", "pm80xx", "hisi_sas_v3_hw"]),
    (
        0x01_0400,
        &[
            "3w-9xxx",
            "3w-sas",
            "aacraid",
            "arcmsr",
            "hpsa",
            "hptiop",
            "ipr",
            "megaraid_sas",
            "smartpqi",
            "stex",
        ],
    ),
    (
        0x02_0000,
        &[
            "alx",
            "atlantic",
            "be2net",
            "bna",
            "bnx2",
            "bnx2x",
            "bnxt_en",
            "cxgb4",
            "e1000",
            "e1000e",
            "enic",
            "fm10k",
            "hinic",
            "hns3",
            "i40e",
            "ice",
            "igb",
            "igc",
            "ionic",
            "ixgbe",
            "netxen_nic",
            "nfp",
            "qede",
            "qlcnic",
            "r8125",
            "r8127",
            "r8169",
            "sfc",
            "sky2",
            "tg3",
        ],
    ),
    (0x0c_0400, &["bfa", "fnic", "lpfc", "qla2xxx"]),
    (0x0c_0330, &["xhci_hcd"]),
];

/// The class of what a driver serves; drivers serve one class of devices.
pub(in crate::capture) fn of_driver(driver: &str) -> Option<u32> {
    OF_DRIVERS.iter().find(|(_, drivers)| drivers.contains(&driver)).map(|(class, _)| *class)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_driver_serves_one_class() {
        let all: Vec<&str> = OF_DRIVERS.iter().flat_map(|(_, drivers)| drivers.iter().copied()).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    }

    #[test]
    fn a_class_is_known_by_name_or_number() {
        for (text, want) in [
            ("SATA controller", 0x0106),
            ("SATA controller [0106]", 0x0106),
            ("0604", 0x0604),
            ("Class 0604", 0x0604),
            ("USB Controller", 0x0c03),
            ("Generic system peripheral [0807]", 0x0807),
            ("FireWire (IEEE 1394) [0c00]", 0x0c00),
        ] {
            assert_eq!(code(text), Some(want), "{text}");
        }
        for text in ["", "nvme nvme0", "dead beef", "[]", "Class"] {
            assert_eq!(code(text), None, "{text}");
        }
    }

    #[test]
    fn every_name_gives_its_own_code() {
        for (want, name) in NAMES {
            // `386` and `486` have three digits, so that no name is taken for a number.
            assert_eq!(code(name), Some(*want), "{name}");
        }
    }

    #[test]
    fn a_drive_without_interface_is_nvme() {
        assert_eq!(full(0x0108, None), 0x01_0802);
        assert_eq!(full(0x0108, Some(1)), 0x01_0801);
        assert_eq!(full(0x0106, Some(1)), 0x01_0601);
        assert_eq!(full(0x0604, None), 0x06_0400);
    }

    #[test]
    fn a_description_may_end_in_its_class() {
        assert_eq!(at_the_end_of("JMicron JMB58x AHCI SATA controller"), Some(0x0106));
        assert_eq!(at_the_end_of("Realtek RTL8127 10GbE"), None);
    }
}
