//! Main memory, as the sum of its modules.

use super::Structure;
use narrows_base::fact::Fact;
use narrows_base::units::Bytes;

/// The modules so far.
#[derive(Default)]
pub(super) struct Total {
    bytes: u64,
    source: Option<String>,
}

impl Total {
    /// Adds a memory device; the flash chip of the firmware is listed as one too, and is none.
    pub(super) fn take(&mut self, structure: &Structure<'_>, source: &str) -> bool {
        let Some(size) = structure.field("Size").and_then(parse_size) else { return false };
        if structure
            .field("Type")
            .is_none_or(|kind| matches!(kind, "Flash" | "ROM" | "EEPROM" | "FEPROM" | "EPROM"))
        {
            return false;
        }
        self.bytes = self.bytes.saturating_add(size);
        self.source.get_or_insert_with(|| source.to_owned());
        true
    }

    /// The sum; absent when no module was listed.
    pub(super) fn fact(self) -> Fact<Bytes> {
        self.source.map_or_else(Fact::default, |source| Fact::known(Bytes::new(self.bytes), source))
    }
}

/// Reads `16384 MB`, `16 GB`. These are powers of 1024 (DMTF DSP0134 3.7, section 7.18.5).
fn parse_size(text: &str) -> Option<u64> {
    let (number, unit) = text.split_once(' ')?;
    let shift = match unit {
        "kB" | "KB" => 10,
        "MB" => 20,
        "GB" => 30,
        "TB" => 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}
