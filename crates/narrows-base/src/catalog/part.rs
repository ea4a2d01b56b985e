//! What fits into slots, how slots take lanes from each other, and how fast processors encrypt.

use serde::{Deserialize, Serialize};

/// What fits into a slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SlotForm {
    /// A card (PCI Express Card Electromechanical Specification).
    #[default]
    Card,
    /// An M.2 module.
    M2,
    /// A 2.5 inch drive with SFF-8639 connector.
    U2,
    /// A cable (SFF-8611).
    Oculink,
}

impl SlotForm {
    /// The form that data files and descriptions call so: `card`, `m2`, `u2`, `oculink`.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Card, Self::M2, Self::U2, Self::Oculink].into_iter().find(|form| form.word() == word)
    }

    /// Its word in data files and descriptions.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Card => "card",
            Self::M2 => "m2",
            Self::U2 => "u2",
            Self::Oculink => "oculink",
        }
    }

    /// Whether a drive goes into it without a card.
    pub const fn takes_drives(self) -> bool {
        !matches!(self, Self::Card)
    }
}

/// Slots that take lanes of another while they are used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Narrowing {
    /// The slots of which one in use is enough.
    pub by: Vec<String>,
    /// The lanes that are left; 0 when the slot is off then.
    pub lanes: u8,
}

/// How many lanes a slot has with processors that have few.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessorLanes {
    /// With a processor of at most so many lanes.
    pub at_most: u16,
    /// The lanes of the slot; 0 when it is off.
    pub lanes: u8,
}

/// How a card divides its slot among drives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CardKind {
    /// Wires only: the firmware has to split the slot for more than one drive.
    #[default]
    Adapter,
    /// A PCIe switch: works in any slot, and the drives share its uplink.
    Switch,
}

const fn m2() -> SlotForm {
    SlotForm::M2
}

/// 2280 is the size of nearly all M.2 drives that are sold, and of the cards for them.
const fn usual_length() -> u16 {
    80
}

/// A card that carries drives.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// `PEX 8748 card for four M.2 drives`.
    pub name: String,
    /// How it divides its slot.
    pub kind: CardKind,
    /// The lanes of its edge, and so the shortest slot that it fits into.
    pub connector: u8,
    /// The lanes of its link to the host.
    pub lanes: u8,
    /// The PCIe generation of its switch; 0 for wires, which pass on any.
    #[serde(default)]
    pub generation: u8,
    /// How many drives it carries.
    pub ports: u8,
    pub port_lanes: u8,
    /// What fits into its ports.
    #[serde(default = "m2")]
    pub carries: SlotForm,
    /// The longest M.2 drive that it holds, millimetres: 80 unless somebody said another.
    #[serde(default = "usual_length")]
    pub longest: u16,
    /// Its switch, as `switches.toml` names it.
    pub switch: Option<String>,
    /// Where that is published.
    pub source: String,
}

/// How fast one core of a processor encrypts with AES-XTS and a 512 bit key, as `cryptsetup benchmark` shows it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CipherSpeed {
    /// `AMD Ryzen 5 2600`.
    pub name: String,
    /// Text that the model name in `/proc/cpuinfo` must contain, one of them.
    pub models: Vec<String>,
    /// Decryption on one core, decimal MB/s.
    pub decrypt_megabytes_per_second: f64,
    /// Encryption on one core, decimal MB/s.
    pub encrypt_megabytes_per_second: f64,
    /// Physical cores.
    pub cores: Option<u32>,
    /// What the rate needs: `Linux 6.10 (VAES)`.
    pub needs: Option<String>,
    /// Where that is published.
    pub source: String,
}
