//! Config space: the list of capabilities, and in it the PCI Express capability.
//!
//! Sources: PCI Local Bus Specification 3.0, section 6.7 (the list); PCI Express Base Specification 5.0, section 7.5.3
//! (the capability). Offsets and masks are those of the kernel's `include/uapi/linux/pci_regs.h`.

use super::{Express, PortType};
use crate::bytes::array;
use narrows_base::units::{Bytes, GtPerSec, Lanes};

/// All that narrows reads of config space: the part that holds the list of capabilities. Every further byte would cost
/// a read across the link.
pub const CONFIG_BYTES: u64 = 256;

/// The header, which the kernel shows to everyone (`drivers/pci/pci-sysfs.c`, `pci_read_config`).
const HEADER: usize = 64;
/// More capabilities do not fit: (256 − 64) / 4.
const MOST_CAPABILITIES: usize = 48;
/// Status Register, bit 4: Capabilities List.
const STATUS_CAPABILITIES: u16 = 1 << 4;
/// The header type of a CardBus bridge, which keeps the pointer elsewhere.
const CARDBUS: u8 = 2;
/// Capability ID of PCI Express.
const EXPRESS: u8 = 0x10;

/// Why config space shows no PCI Express capability.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoExpress {
    /// The function has none: it is conventional PCI, or virtual.
    NotExpress,
    /// It may have one, past the bytes that we were given.
    Hidden,
    /// The bytes make no sense; what stood there.
    Garbled(String),
}

/// Decodes the PCI Express capability out of the first bytes of config space, however many there are.
///
/// # Errors
/// [`NoExpress`] says why there is nothing to decode.
pub fn parse_express(config: &[u8]) -> Result<Express, NoExpress> {
    let space = Space(config);
    if config.len() < HEADER {
        return Err(NoExpress::Garbled(format!("{} bytes of config space", config.len())));
    }
    if space.u16(0) == Some(0xffff) {
        return Err(NoExpress::Garbled("all ones: the function does not answer".to_owned()));
    }
    let at = find(space, EXPRESS)?;
    decode(space, at)
}

/// Where the capability `wanted` starts.
fn find(space: Space<'_>, wanted: u8) -> Result<usize, NoExpress> {
    if space.need_u16(0x06)? & STATUS_CAPABILITIES == 0 {
        return Err(NoExpress::NotExpress);
    }
    let pointer = if space.need_u8(0x0e)? & 0x7f == CARDBUS { 0x14 } else { 0x34 };
    let mut at = space.need_u8(pointer)? & !3;
    for _ in 0..MOST_CAPABILITIES {
        if usize::from(at) < HEADER {
            return if at == 0 {
                Err(NoExpress::NotExpress)
            } else {
                Err(garbled("capability in the header", at))
            };
        }
        match space.need_u8(at.into())? {
            id if id == wanted => return Ok(at.into()),
            0xff => return Err(garbled("capability of all ones", at)),
            _ => at = space.need_u8(usize::from(at) + 1)? & !3,
        }
    }
    Err(NoExpress::Garbled("capabilities in a circle".to_owned()))
}

fn garbled(what: &str, at: u8) -> NoExpress {
    NoExpress::Garbled(format!("{what} at {at:#04x}"))
}

fn decode(space: Space<'_>, at: usize) -> Result<Express, NoExpress> {
    let flags = space.need_u16(at + 0x02)?;
    let port = port_type(flags >> 4 & 0xf)
        .ok_or_else(|| NoExpress::Garbled(format!("PCI Express device type {:#x}", flags >> 4 & 0xf)))?;
    let capabilities = space.need_u32(at + 0x04)?;
    let control = space.need_u16(at + 0x08)?;
    let sizes = [
        size("Max_Payload_Size Supported", capabilities & 7)?,
        size("Max_Payload_Size", u32::from(control >> 5 & 7))?,
        size("Max_Read_Request_Size", u32::from(control >> 12 & 7))?,
    ];
    let mut express = Express {
        relaxed_ordering: control & 1 << 4 != 0,
        extended_tags: control & 1 << 8 != 0,
        slot_implemented: flags & 1 << 8 != 0,
        ..Express::new(port, sizes)
    };
    if port != PortType::RootComplexIntegrated {
        decode_link(space, at, &mut express)?;
        // Version 1 of the capability ends before the second set of link registers.
        if flags & 0xf >= 2 {
            decode_link_2(space, at, &mut express)?;
        }
    }
    Ok(express)
}

fn decode_link(space: Space<'_>, at: usize, express: &mut Express) -> Result<(), NoExpress> {
    let capabilities = space.need_u32(at + 0x0c)?;
    let control = space.need_u16(at + 0x10)?;
    let status = space.need_u16(at + 0x12)?;
    let [low, high, _, number] = capabilities.to_le_bytes();
    let [status_low, status_high] = status.to_le_bytes();
    express.max_speed = GtPerSec::from_pcie_generation(low & 0xf);
    express.max_width = width(low, high);
    express.port_number = number;
    express.speed = GtPerSec::from_pcie_generation(status_low & 0xf);
    express.width = width(status_low, status_high);
    express.aspm_l0s = control & 1 != 0;
    express.aspm_l1 = control & 2 != 0;
    Ok(())
}

fn decode_link_2(space: Space<'_>, at: usize, express: &mut Express) -> Result<(), NoExpress> {
    let vector = space.need_u32(at + 0x2c)?;
    let [target, _] = space.need_u16(at + 0x30)?.to_le_bytes();
    express.supported_speeds =
        (1..=7).filter(|bit| vector & 1 << bit != 0).filter_map(GtPerSec::from_pcie_generation).collect();
    express.target_speed = GtPerSec::from_pcie_generation(target & 0xf);
    Ok(())
}

const fn port_type(code: u16) -> Option<PortType> {
    Some(match code {
        0 | 1 => PortType::Endpoint,
        4 => PortType::RootPort,
        5 => PortType::UpstreamPort,
        6 => PortType::DownstreamPort,
        7 | 8 => PortType::PciBridge,
        9 | 10 => PortType::RootComplexIntegrated,
        _ => return None,
    })
}

/// 128 bytes shifted by the code; 6 and 7 are reserved (section 7.5.3.3).
fn size(register: &str, code: u32) -> Result<Bytes, NoExpress> {
    match code {
        0..=5 => Ok(Bytes::new(128 << code)),
        _ => Err(NoExpress::Garbled(format!("{register} code {code}"))),
    }
}

/// Bits 9 to 4 of a link register. Widths end at x32; 0 is a link that is down or a port that hides its width.
const fn width(low: u8, high: u8) -> Option<Lanes> {
    match low >> 4 | (high & 3) << 4 {
        0 | 33.. => None,
        lanes => Some(Lanes::new(lanes)),
    }
}

/// Bytes of config space, little-endian.
#[derive(Clone, Copy)]
struct Space<'a>(&'a [u8]);

impl Space<'_> {
    fn u16(self, at: usize) -> Option<u16> {
        array(self.0, at).map(u16::from_le_bytes)
    }

    fn need_u8(self, at: usize) -> Result<u8, NoExpress> {
        array(self.0, at).map(u8::from_le_bytes).ok_or_else(|| self.cut(at))
    }

    fn need_u16(self, at: usize) -> Result<u16, NoExpress> {
        self.u16(at).ok_or_else(|| self.cut(at))
    }

    fn need_u32(self, at: usize) -> Result<u32, NoExpress> {
        array(self.0, at).map(u32::from_le_bytes).ok_or_else(|| self.cut(at))
    }

    /// A register past the end: someone kept it from us, unless we have all that a function can have.
    fn cut(self, at: usize) -> NoExpress {
        if u64::try_from(self.0.len()).is_ok_and(|have| have < CONFIG_BYTES) {
            NoExpress::Hidden
        } else {
            NoExpress::Garbled(format!("a register at {at:#x}, past the end of config space"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Config space with a list of capabilities that starts at `0x40`.
    fn space() -> Vec<u8> {
        let mut config = vec![0; 256];
        put(&mut config, 0x00, &[0x4d, 0x14, 0x0a, 0xa8]);
        put(&mut config, 0x06, &[0x10, 0x00]);
        config[0x34] = 0x40;
        config
    }

    fn put(config: &mut [u8], at: usize, bytes: &[u8]) {
        config[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// A drive behind power management at `0x40`. Registers by section 7.5.3 of the specification, written out by hand.
    fn drive() -> Vec<u8> {
        let mut config = space();
        put(&mut config, 0x40, &[0x01, 0x70, 0x03, 0x00]);
        put(&mut config, 0x70, &[0x10, 0x00]);
        put(&mut config, 0x72, &0x0002_u16.to_le_bytes()); // version 2, endpoint
        put(&mut config, 0x74, &0x0000_8fc2_u32.to_le_bytes()); // Max_Payload_Size Supported 512 (code 2)
        put(&mut config, 0x78, &0x2930_u16.to_le_bytes()); // MRRS 512 (2), tags (8), MPS 256 (1), ordering (4)
        put(&mut config, 0x7c, &0x0703_b844_u32.to_le_bytes()); // port 7, x4 (bits 9:4), 16 GT/s (4)
        put(&mut config, 0x80, &0x0042_u16.to_le_bytes()); // ASPM L1 (2)
        put(&mut config, 0x82, &0x1023_u16.to_le_bytes()); // x2, 8 GT/s (3)
        put(&mut config, 0x9c, &0x0000_001e_u32.to_le_bytes()); // 2.5, 5, 8 and 16 GT/s
        put(&mut config, 0xa0, &0x0003_u16.to_le_bytes()); // target 8 GT/s
        config
    }

    #[test]
    fn every_register_of_a_drive_is_read() {
        let want = Express {
            port: PortType::Endpoint,
            max_payload_supported: Bytes::new(512),
            max_payload: Bytes::new(256),
            max_read_request: Bytes::new(512),
            relaxed_ordering: true,
            extended_tags: true,
            max_speed: Some(GtPerSec::GEN4),
            max_width: Some(Lanes::new(4)),
            speed: Some(GtPerSec::GEN3),
            width: Some(Lanes::new(2)),
            target_speed: Some(GtPerSec::GEN3),
            supported_speeds: vec![GtPerSec::GEN1, GtPerSec::GEN2, GtPerSec::GEN3, GtPerSec::GEN4],
            aspm_l0s: false,
            aspm_l1: true,
            port_number: 7,
            slot_implemented: false,
        };
        assert_eq!(parse_express(&drive()), Ok(want));
    }

    #[test]
    fn the_device_type_names_the_port() {
        for (flags, want) in [
            (0x0142, PortType::RootPort),
            (0x0052, PortType::UpstreamPort),
            (0x0162, PortType::DownstreamPort),
            (0x0012, PortType::Endpoint),
            (0x0072, PortType::PciBridge),
            (0x0092, PortType::RootComplexIntegrated),
        ] {
            let mut config = drive();
            put(&mut config, 0x72, &u16::to_le_bytes(flags));
            let express = parse_express(&config).expect("a capability");
            assert_eq!((express.port, express.slot_implemented), (want, flags & 0x100 != 0), "{flags:#x}");
        }
        let mut config = drive();
        config[0x72] = 0xb2;
        assert!(matches!(parse_express(&config), Err(NoExpress::Garbled(_))));
    }

    #[test]
    fn the_first_version_has_no_second_set_of_link_registers() {
        let mut config = drive();
        config[0x72] = 0x01;
        let express = parse_express(&config).expect("a capability");
        assert_eq!((express.target_speed, express.supported_speeds.len()), (None, 0));
        assert_eq!(express.max_speed, Some(GtPerSec::GEN4));
    }

    #[test]
    fn a_function_inside_the_root_complex_has_no_link() {
        let mut config = drive();
        config[0x72] = 0x92;
        let express = parse_express(&config).expect("a capability");
        assert_eq!((express.max_speed, express.width, express.aspm_l1), (None, None, false));
    }

    #[test]
    fn a_width_or_speed_that_cannot_be_is_unknown() {
        let mut config = drive();
        put(&mut config, 0x7c, &0x0000_0000_u32.to_le_bytes());
        put(&mut config, 0x82, &0x03ff_u16.to_le_bytes());
        let express = parse_express(&config).expect("a capability");
        assert_eq!((express.max_speed, express.max_width), (None, None));
        assert_eq!((express.speed, express.width), (None, None));
    }

    #[test]
    fn the_header_alone_hides_the_capabilities() {
        assert_eq!(parse_express(&drive()[..64]), Err(NoExpress::Hidden));
        assert_eq!(parse_express(&drive()[..128]), Err(NoExpress::Hidden));
        let mut plain = drive();
        plain[0x06] = 0;
        assert_eq!(parse_express(&plain[..64]), Err(NoExpress::NotExpress), "the status register tells");
        assert!(matches!(parse_express(&drive()[..63]), Err(NoExpress::Garbled(_))));
    }

    #[test]
    fn hostile_lists_end() {
        let mut circle = space();
        put(&mut circle, 0x40, &[0x05, 0x48]);
        put(&mut circle, 0x48, &[0x09, 0x40]);
        assert_eq!(parse_express(&circle), Err(NoExpress::Garbled("capabilities in a circle".into())));
        let mut inward = space();
        put(&mut inward, 0x40, &[0x05, 0x10]);
        assert!(matches!(parse_express(&inward), Err(NoExpress::Garbled(_))));
        let mut at_the_end = space();
        put(&mut at_the_end, 0x40, &[0x05, 0xfc]);
        at_the_end[0xfc] = 0x10;
        assert!(matches!(parse_express(&at_the_end), Err(NoExpress::Garbled(_))));
        let mut without = space();
        put(&mut without, 0x40, &[0x05, 0x00]);
        assert_eq!(parse_express(&without), Err(NoExpress::NotExpress));
        assert!(matches!(parse_express(&[0xff; 256]), Err(NoExpress::Garbled(_))), "a function that is gone");
    }

    #[test]
    fn a_cardbus_bridge_keeps_its_list_elsewhere() {
        let mut config = drive();
        config[0x0e] = 0x82;
        config[0x14] = config[0x34];
        config[0x34] = 0;
        assert!(parse_express(&config).is_ok());
    }

    #[test]
    fn a_reserved_size_is_garbled() {
        let mut config = drive();
        put(&mut config, 0x78, &0x6000_u16.to_le_bytes());
        assert_eq!(parse_express(&config), Err(NoExpress::Garbled("Max_Read_Request_Size code 6".into())));
    }

    proptest! {
        #[test]
        fn no_bytes_panic_or_hang(config in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse_express(&config);
        }

        #[test]
        fn no_list_of_capabilities_panics_or_hangs(tail in prop::collection::vec(any::<u8>(), 192), keep in 64usize..=256) {
            let mut config = space();
            put(&mut config, 0x40, &tail);
            let _ = parse_express(&config[..keep]);
        }

        #[test]
        fn any_register_values_are_taken(registers in prop::collection::vec(any::<u8>(), 0x3a)) {
            let mut config = drive();
            put(&mut config, 0x72, &registers);
            if let Ok(express) = parse_express(&config) {
                prop_assert!(express.max_payload.get() >= 128 && express.max_payload.get() <= 4096);
                prop_assert!(express.width.is_none_or(|width| (1..=32).contains(&width.get())));
            }
        }
    }
}
