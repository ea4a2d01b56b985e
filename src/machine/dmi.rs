//! What the firmware claims of board and slots: `/sys/class/dmi/id` and SMBIOS (`/sys/firmware/dmi/tables`).
//!
//! SMBIOS is a claim, not a fact: slot types and widths are often those of a reference board.

use crate::machine::fact::Fact;
use crate::machine::pci::PciAddress;
use crate::machine::root::Root;
use crate::units::{GtPerSec, Lanes};

/// The identity of system and board, `/sys/class/dmi/id/*`. Serial numbers are not read.
#[derive(Debug, Clone, Default)]
pub struct Dmi {
    /// `sys_vendor`.
    pub system_vendor: Fact<String>,
    /// `product_name`.
    pub product: Fact<String>,
    /// `board_vendor`.
    pub board_vendor: Fact<String>,
    /// `board_name`.
    pub board: Fact<String>,
    /// `bios_version`.
    pub bios_version: Fact<String>,
    /// `bios_date`.
    pub bios_date: Fact<String>,
}

/// A system slot, SMBIOS type 9 (DMTF DSP0134, section 7.10).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Slot {
    /// The name printed on the board, `PCIEX16_2`.
    pub designation: String,
    /// The generation that its type names, if it names one.
    pub speed: Option<GtPerSec>,
    /// The width of its connector or of its wiring, whichever the firmware states.
    pub width: Option<Lanes>,
    /// The width that its type names (`PCI Express Gen 3 x16`).
    pub connector: Option<Lanes>,
    /// Whether something is in it; `None` when the firmware does not know.
    pub in_use: Option<bool>,
    /// Where it is, when that is a plausible address.
    pub address: Option<PciAddress>,
}

/// Reads the identity of system and board.
pub fn read(_root: &Root) -> Dmi {
    Dmi::default()
}

/// Reads the slot records.
pub fn read_slots(_root: &Root) -> Fact<Vec<Slot>> {
    Fact::absent("/sys/firmware/dmi/tables/DMI")
}
