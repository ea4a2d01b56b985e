//! Memory modules, SMBIOS type 17 (DMTF DSP0134 3.7, section 7.18): a claim of the firmware.

use super::smbios::{Structure, structures};

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
