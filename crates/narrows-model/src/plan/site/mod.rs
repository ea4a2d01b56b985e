//! Where can devices go? Slots with their lanes, what they hang on, and what they share.

mod board;
mod gaps;
mod machine;
mod ports;
mod system;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use board::{BoardOptions, of_board};
pub use machine::of_machine;
pub use ports::Ports;
pub use system::{NoSite, host_of, of_system};

use crate::plan::rate::WholeRate;
use crate::plan::wish::{self, Kind, Wish};
pub use narrows_base::catalog::SlotForm;
use narrows_base::units::{BytesPerSec, GtPerSec, Lanes};

/// What a slot hangs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Attachment {
    /// A processor, counted from 0.
    Cpu(u8),
    /// The chipset, which hangs on the first processor.
    Chipset,
}

impl Attachment {
    /// The processor that data of it arrives at.
    pub const fn socket(self) -> u8 {
        match self {
            Self::Cpu(socket) => socket,
            Self::Chipset => 0,
        }
    }
}

impl fmt::Display for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu(socket) => write!(f, "CPU {}", socket + 1),
            Self::Chipset => f.write_str("chipset"),
        }
    }
}

/// The links that a slot is split into, in the order of its lanes: `x8x4x4`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SplitMode(pub Vec<Lanes>);

impl SplitMode {
    /// Reads `x8x4x4`; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let links: Option<Vec<Lanes>> = text.strip_prefix('x')?.split('x').map(Lanes::parse).collect();
        links.filter(|links| links.len() > 1).map(Self)
    }
}

impl fmt::Display for SplitMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|lanes| write!(f, "{lanes}"))
    }
}

/// Whether the firmware can split a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Splitting {
    /// Nobody said.
    Unknown,
    /// It surely cannot.
    Never,
    /// It can, so.
    Modes(Vec<SplitMode>),
}

/// A firmware setting that decides how wide a slot is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Where it is.
    pub menu: String,
    /// The value that gives the most.
    pub value: String,
    /// The lanes by default.
    pub default_lanes: Lanes,
    /// The slots that are off with the value, as places in [`Site::slots`].
    pub slots_off: Vec<usize>,
    /// Other connectors that are off with it.
    pub connectors_off: Vec<String>,
}

/// Lanes that a slot loses to others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Narrowed {
    /// The slots of which one in use is enough, as places in [`Site::slots`].
    pub by: Vec<usize>,
    /// What is left; no lanes when it is off then.
    pub lanes: Lanes,
}

/// What is in a slot now.
#[derive(Debug, Clone, PartialEq)]
pub struct Occupant {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// How many devices it is: drives on one card.
    pub count: u8,
    /// The widest link that each can use, where that is known.
    pub lanes: Option<Lanes>,
    /// The fastest link that each can use.
    pub speed: Option<GtPerSec>,
    /// The width that the slot's link runs at.
    pub trained: Option<Lanes>,
    /// The card with a switch that they are on, if one is.
    pub behind_switch: bool,
    /// What each delivers by itself, where somebody said; else what the catalogue knows of its name.
    pub own: Option<BytesPerSec>,
    /// What each takes.
    pub own_write: Option<BytesPerSec>,
}

impl Occupant {
    /// The same devices as a wish.
    pub fn wish(&self) -> Wish {
        let mut wish = wish::usual(self.kind, self.count.max(1));
        wish.name.clone_from(&self.name);
        if let Some(speed) = self.speed {
            wish.speed = speed;
        }
        if let Some(lanes) = self.lanes {
            wish.lanes = lanes;
            wish.connector = if self.kind.is_drive() { wish.connector } else { lanes };
        }
        if let Some(medium) =
            narrows_base::catalog::catalog().medium(&self.name).filter(|_| self.kind.is_drive())
        {
            wish.own = Some(BytesPerSec::from_mb(medium.read_megabytes_per_second));
            wish.own_write = Some(BytesPerSec::from_mb(medium.write_megabytes_per_second));
        }
        wish.own = self.own.or(wish.own);
        wish.own_write = self.own_write.or(wish.own_write);
        wish
    }
}

/// One slot.
#[derive(Debug, Clone, PartialEq)]
pub struct Slot {
    /// The name that is printed on the board.
    pub name: String,
    /// What fits into it.
    pub form: SlotForm,
    /// The longest drive that an M.2 socket holds, millimetres; `None` when nobody said.
    pub longest: Option<u16>,
    /// The length of its connector.
    pub connector: Lanes,
    /// The most lanes that are wired, with the processor that is there.
    pub lanes: Lanes,
    /// Its speed.
    pub speed: GtPerSec,
    /// What it hangs on.
    pub attachment: Attachment,
    /// Whether the firmware can split it.
    pub splitting: Splitting,
    /// Who takes lanes of it.
    pub narrowed: Vec<Narrowed>,
    /// The setting that decides how wide it is.
    pub setting: Option<Setting>,
    /// Connectors that are off while it is used.
    pub connectors_off: Vec<String>,
    /// Why nothing can be put into it.
    pub dead: Option<String>,
    /// What is in it.
    pub occupant: Option<Occupant>,
    /// What it shares, in words.
    pub shares: Option<String>,
}

/// A connection that several devices share.
#[derive(Debug, Clone, PartialEq)]
pub struct Shared {
    /// `DMI 2.0 of the Intel X99 (C610)`.
    pub name: String,
    /// What it carries towards the host.
    pub rate: WholeRate,
    /// What it carries towards the devices.
    pub write: WholeRate,
}

impl Shared {
    /// What it carries towards the host.
    pub fn carrier(&self) -> Carrier {
        Carrier { name: self.name.clone(), bytes_per_second: self.rate.rate() }
    }
}

/// Something that carries data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Carrier {
    /// What it is.
    pub name: String,
    /// What it carries towards the host.
    pub bytes_per_second: BytesPerSec,
}

/// All that a plan knows of a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Site {
    /// The board or machine.
    pub name: String,
    /// Where the slots are from.
    pub source: String,
    /// The processor platform, where it is known.
    pub processor: Option<String>,
    /// What stands in `/proc/cpuinfo`, or was typed.
    pub processor_model: Option<String>,
    /// The processors that are there.
    pub sockets: u8,
    /// The slots.
    pub slots: Vec<Slot>,
    /// The uplink of the chipset; `None` when it is not known or there is none.
    pub chipset: Option<Shared>,
    /// The connection between two sockets, in each direction.
    pub interconnect: Option<Shared>,
    /// Its SATA ports.
    pub sata: Ports,
    /// What is not known of its slots and can change where things go, each with where it is found. While there is any, the
    /// best placement is the best of what is known, and no more.
    pub gaps: Vec<String>,
    /// What its owner should know of what is not known.
    pub notes: Vec<String>,
}

impl Site {
    /// Whether anything may be put into a slot.
    pub fn is_usable(&self, slot: usize) -> bool {
        self.slots.get(slot).is_some_and(|slot| slot.dead.is_none())
    }

    /// What is in the slots now, as wishes that may go anywhere.
    pub fn occupants(&self) -> Vec<Wish> {
        self.slots.iter().filter_map(|slot| slot.occupant.as_ref()).map(Occupant::wish).collect()
    }

    /// The site with everything where it is: used slots take no other device, and those that share lanes with them have
    /// what is left.
    #[must_use]
    pub fn with_occupied(mut self) -> Self {
        let used: Vec<bool> = self.slots.iter().map(|slot| slot.occupant.is_some()).collect();
        for slot in &mut self.slots {
            let taken = slot.narrowed.iter().filter(|rule| rule.by.iter().any(|by| used[*by]));
            slot.lanes = taken.map(|rule| rule.lanes).fold(slot.lanes, Lanes::min);
            if let Some(occupant) = &slot.occupant {
                slot.dead = Some(format!("in use by {}", occupant.name));
            } else if slot.lanes.get() == 0 {
                slot.dead = Some("off while its neighbour is used".to_owned());
            }
        }
        self
    }

    /// Adds what is not known of it and matters to these wishes: how long a drive its M.2 sockets hold.
    pub fn ask_for(&mut self, wishes: &[Wish]) {
        if wishes.iter().all(|wish| wish.length.is_none()) {
            return;
        }
        let is_asked =
            |slot: &&Slot| slot.form == SlotForm::M2 && slot.dead.is_none() && slot.longest.is_none();
        let names: Vec<&str> = self.slots.iter().filter(is_asked).map(|slot| slot.name.as_str()).collect();
        if !names.is_empty() {
            let names = names.join(", ");
            self.gaps
                .push(format!("how long a drive {names} holds (look at the manual, table of M.2 sockets)"));
        }
    }
}
