//! Main memory, as the sum of its modules.

use super::Structure;
use narrows_base::fact::Fact;
use narrows_base::units::Bytes;
use narrows_machine::dmi::MemoryModule;

/// The modules so far.
#[derive(Default)]
pub(super) struct Total {
    bytes: u64,
    modules: Vec<MemoryModule>,
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
        self.modules.extend(module(structure).filter(|_| self.modules.len() < MOST_MODULES));
        self.source.get_or_insert_with(|| source.to_owned());
        true
    }

    /// The sum, and the modules whose speed is told; absent when none was listed.
    pub(super) fn facts(self) -> (Fact<Bytes>, Fact<Vec<MemoryModule>>) {
        let Some(source) = self.source else { return Default::default() };
        let modules = match self.modules.is_empty() {
            true => Fact::default(),
            false => Fact::known(self.modules, source.clone()),
        };
        (Fact::known(Bytes::new(self.bytes), source), modules)
    }
}

/// No machine has more modules.
const MOST_MODULES: usize = 1024;

/// Reads `Configured Memory Speed: 2933 MT/s`, which was `Configured Clock Speed: 2933 MHz` before dmidecode 3.2, or the
/// module's own speed, and `Data Width: 64 bits`.
fn module(structure: &Structure<'_>) -> Option<MemoryModule> {
    let number = |name: &str| structure.field(name)?.split(' ').next()?.parse::<u32>().ok();
    let configured = ["Configured Memory Speed", "Configured Clock Speed", "Speed"];
    MemoryModule::new(configured.into_iter().find_map(number)?, number("Data Width")?)
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
