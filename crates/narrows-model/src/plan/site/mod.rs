//! Where can devices go? Slots with their lanes, what they hang on, and what they share.

mod board;
mod machine;
mod system;

pub use crate::path::file::SplitMode;
pub use board::{BoardOptions, of_board};
pub use machine::of_machine;
pub use narrows_base::catalog::SlotForm;
pub use system::{NoSite, host_of, of_system};

use std::fmt;

use serde::{Deserialize, Serialize};

use super::outcome::Outcome;
use super::problem::WholeRate;
use super::wish::{self, Kind, Wish};
use crate::path::file::{self, Name, Part, PartKind};
use narrows_base::catalog::catalog;
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
        if let Some(medium) = catalog().medium(&self.name).filter(|_| self.kind.is_drive()) {
            wish.delivers(medium);
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

impl Slot {
    /// A slot with this link, of which nothing else is known.
    pub fn new(
        name: impl Into<String>,
        form: SlotForm,
        (connector, lanes, speed): (Lanes, Lanes, GtPerSec),
        attachment: Attachment,
    ) -> Self {
        Self {
            name: name.into(),
            form,
            longest: None,
            connector,
            lanes,
            speed,
            attachment,
            splitting: Splitting::Unknown,
            narrowed: Vec::new(),
            setting: None,
            connectors_off: Vec::new(),
            dead: None,
            occupant: None,
            shares: None,
        }
    }

    /// The lanes that others leave to it of those that it shares with them; `None` while none of these is used.
    pub(super) fn left_by(&self, used: &dyn Fn(usize) -> bool) -> Option<Lanes> {
        let taken = self.narrowed.iter().filter(|rule| rule.by.iter().any(|by| used(*by)));
        taken.map(|rule| rule.lanes).min()
    }

    /// Whether it is wide enough to be worth splitting and nobody said that it can be.
    fn may_be_split(&self) -> bool {
        self.splitting == Splitting::Unknown && is_worth_splitting(self.form, self.lanes)
    }
}

/// Whether what a slot is split into could hold several drives.
fn is_worth_splitting(form: SlotForm, lanes: Lanes) -> bool {
    lanes.get() >= 8 && !form.takes_drives()
}

/// How a slot can be split of which that was said; `assume`: what nobody said is taken for a slot that can be.
fn splitting(said: Option<&[String]>, form: SlotForm, lanes: Lanes, assume: bool) -> Splitting {
    match said {
        Some([]) => Splitting::Never,
        Some(modes) => Splitting::Modes(modes.iter().filter_map(|mode| SplitMode::parse(mode)).collect()),
        None if assume && is_worth_splitting(form, lanes) => {
            Splitting::Modes(vec![SplitMode(vec![Lanes::new(4); usize::from(lanes.get() / 4)])])
        }
        None => Splitting::Unknown,
    }
}

/// A connection that several devices share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shared {
    /// `DMI 2.0 of the Intel X99 (C610)`.
    pub name: String,
    /// What it carries towards the host.
    #[serde(rename = "bytes_per_second")]
    pub rate: WholeRate,
    /// What it carries towards the devices.
    #[serde(skip)]
    pub write: WholeRate,
}

/// All that a plan knows of a machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Site {
    /// The board or machine.
    pub name: String,
    /// Where the slots are from.
    pub source: String,
    /// The processor platform, where it is known.
    pub processor: Option<String>,
    /// What stands in `/proc/cpuinfo`, or was typed.
    #[serde(skip)]
    pub processor_model: Option<String>,
    /// The processors that are there.
    pub sockets: u8,
    #[serde(skip)]
    pub slots: Vec<Slot>,
    /// The uplink of the chipset; `None` when it is not known or there is none.
    pub chipset: Option<Shared>,
    /// The connection between two sockets, in each direction.
    pub interconnect: Option<Shared>,
    #[serde(skip)]
    pub sata: Ports,
    /// What is not known of its slots and can change where things go, each with where it is found. While there is any, the
    /// best placement is the best of what is known, and no more.
    pub gaps: Vec<String>,
    /// What its owner should know of what is not known.
    pub notes: Vec<String>,
}

impl Site {
    /// What is open where the slots of a processor have more lanes than it has, and nothing says which of them share.
    fn more_lanes_than_there_are(&self) -> Option<String> {
        let name = self.processor.as_deref()?;
        let processor = board::processor_named(name)?;
        let wired = |socket| {
            let on = self.slots.iter().filter(move |slot| slot.attachment == Attachment::Cpu(socket));
            let open = on.filter(|slot| slot.dead.is_none());
            let is_said = |slot: &&Slot| !slot.narrowed.is_empty() || slot.shares.is_some();
            (!open.clone().any(|slot| is_said(&slot)))
                .then(|| open.map(|slot| u16::from(slot.lanes.get())).sum::<u16>())
        };
        let over = (0..self.sockets).filter_map(wired).find(|lanes| *lanes > processor.pcie_lanes)?;
        Some(format!(
            "which slots share lanes: together they have {over}, and {name} has {} (look at the block diagram of the board)",
            processor.pcie_lanes
        ))
    }

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
            slot.lanes = slot.left_by(&|by| used[by]).map_or(slot.lanes, |left| left.min(slot.lanes));
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

/// The SATA ports of a site.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ports {
    /// Their names, as far as they are known.
    pub names: Vec<String>,
    /// Whether these are all.
    pub whole: bool,
    /// Drives that are on some of them now; which of them is not known.
    pub used: usize,
}

/// What a slot is split into.
fn split_note(part: &Part, slot: &file::Slot, pieces: &[(&Part, &file::Slot)]) -> String {
    let widths: Vec<u8> = pieces.iter().filter_map(|(_, piece)| piece.link.width.map(Lanes::get)).collect();
    let mode: String = widths.iter().map(|width| format!("x{width}")).collect();
    let names: Vec<String> = pieces.iter().map(|(piece, _)| piece.name.to_string()).collect();
    let all: u32 = widths.iter().map(|width| u32::from(*width)).sum();
    let left = slot.link.width.map_or(0, |width| u32::from(width.get()).saturating_sub(all));
    let left = if left > 0 { format!("; {left} of its lanes lead nowhere") } else { String::new() };
    format!("{} is split {mode} into {}{left}.", part.name, listed(&names))
}

/// `a`, `a and b`, `a, b and c`, and of many the first and the last.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first, .., last] if names.len() > 4 => format!("{first} to {last} ({})", names.len()),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// The names with their verb.
fn are(names: &[String]) -> String {
    format!("{} {}", listed(names), if names.len() == 1 { "is" } else { "are" })
}

const UNWIRED: &str = "left out: give generation and width.";
const TAKEN_FOR_M2: &str = "taken for M.2: say form = \"m2\", \"u2\" or \"card\".";
const NO_CONNECTOR: &str = "taken to be as long as wired: give connector where a longer card fits.";
const NOT_ON_BOARD: &str = "not on the board that the file names, and taken as described.";
const MAY_SPLIT: &str = "taken for what the firmware cannot split: give bifurcation = [\"x4x4x4x4\"], or [] where it cannot, or say \
     --bifurcation assume.";

/// What the file leaves open.
#[derive(Debug, Default)]
struct Gaps {
    /// The names of slots, each with what is said of it.
    slots: Vec<(&'static str, String)>,
    crowded: Vec<String>,
    differs: Vec<String>,
}

impl Gaps {
    /// Notes a slot that hangs on something else by the board's data than by the file.
    fn differs(&mut self, known: &Slot, said: Attachment) {
        if known.attachment != said {
            let (name, of_board) = (&known.name, known.attachment);
            self.differs.push(format!(
                "{name} hangs on {of_board} by its board, which is believed, and on {said} by the file."
            ));
        }
    }

    /// Notes a slot that is said to hold more than fits into it.
    fn crowded(&mut self, slot: &Name, inside: &[&Part], occupant: Option<&Occupant>) {
        let counted = occupant.map_or(0, |it| usize::from(it.count));
        let is_switch = |part: &&&Part| matches!(part.kind, PartKind::Switch(_));
        if inside.iter().any(|part| is_switch(&part)) || inside.len() <= counted {
            return;
        }
        let names: Vec<String> = inside.iter().map(|part| part.name.to_string()).collect();
        let first = occupant.map_or("nothing", |it| it.name.as_str());
        self.crowded.push(format!(
            "{slot} holds {} by the file, and takes one card: it is counted as used by {first}.",
            listed(&names)
        ));
    }

    /// What to say of them.
    fn notes(self, has_board: bool, host: &Name) -> Vec<String> {
        let mut notes = self.crowded;
        notes.extend(self.differs);
        for text in [UNWIRED, TAKEN_FOR_M2, NO_CONNECTOR, NOT_ON_BOARD, MAY_SPLIT] {
            let meant = self.slots.iter().filter(|(said, _)| *said == text);
            let names: Vec<String> = meant.map(|(_, name)| name.clone()).collect();
            notes.extend((!names.is_empty()).then(|| format!("{} {text}", are(&names))));
        }
        if !has_board {
            notes.push(format!(
                "Lanes that slots take from each other, and firmware settings, are known of boards only: give board = \
                 \"ID\" in [host.{host}] if `narrows plan --board list` has it."
            ));
        }
        notes
    }
}

/// Where drives on SATA ports go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SataSeated {
    /// How many are wanted.
    pub wanted: usize,
    /// The ports that there are for them, without those that a placement turns off. Where drives are on some of them already, so
    /// many fewer are free.
    pub ports: Vec<String>,
    /// How many of them are free.
    pub free: usize,
    /// Whether all ports of the board are known.
    #[serde(rename = "all_known")]
    pub whole: bool,
}

impl SataSeated {
    /// Whether all have a port.
    pub const fn fits(&self) -> bool {
        self.wanted <= self.free
    }

    /// Why they do not all have one; `None` when they have, or when it is not known.
    pub fn impossible(&self) -> Option<String> {
        (self.whole && !self.fits()).then(|| {
            format!(
                "{} SATA drives are wanted, and {} SATA ports are free: the others need an adapter (hba)",
                self.wanted, self.free
            )
        })
    }

    /// What is not known, when it is not known whether all have a port.
    pub fn not_known(&self) -> Option<String> {
        (!self.whole && !self.fits()).then(|| {
            format!(
                "{} SATA drives are wanted, and of its SATA ports {} are known to be free (look at the manual's page on SATA \
                 connectors)",
                self.wanted, self.free
            )
        })
    }
}

/// Where so many drives go beside what a placement turns off; `None` when none are wanted.
pub fn seat_on_sata(site: &Site, wanted: usize, beside: Option<&Outcome>) -> Option<SataSeated> {
    let is_lost = |name: &String| {
        let lost = beside.map(|outcome| outcome.lost.as_slice()).unwrap_or_default();
        lost.iter().any(|lost| lost.strip_suffix(" (off)").unwrap_or(lost) == name)
    };
    let ports: Vec<String> = site.sata.names.iter().filter(|name| !is_lost(name)).cloned().collect();
    let free = ports.len().saturating_sub(site.sata.used);
    (wanted > 0).then_some(SataSeated { wanted, ports, free, whole: site.sata.whole })
}

#[cfg(test)]
mod tests {
    use super::{BoardOptions, of_board, *};
    use narrows_base::catalog::catalog;

    fn site(id: &str) -> Site {
        of_board(catalog().board_named(id).expect("a known board"), &BoardOptions::default())
    }

    #[test]
    fn a_board_with_eight_ports_holds_eight_drives() {
        let mut board = site("supermicro-x11ssm-f");
        assert_eq!(seat_on_sata(&board, 0, None), None);
        assert!(seat_on_sata(&board, 8, None).is_some_and(|it| it.fits() && it.impossible().is_none()));
        let too_many = seat_on_sata(&board, 9, None).expect("some are wanted");
        assert!(
            too_many.impossible().is_some_and(|why| why.contains("8 SATA ports are free")),
            "{too_many:?}"
        );
        board.sata.used = 3;
        assert!(seat_on_sata(&board, 6, None).is_some_and(|it| it.free == 5 && !it.fits()));
    }

    #[test]
    fn of_ports_that_nobody_listed_nothing_is_said_to_be_impossible() {
        let unknown = seat_on_sata(&site("dell-poweredge-r640"), 4, None).expect("some are wanted");
        assert!(unknown.impossible().is_none() && unknown.not_known().is_some(), "{unknown:?}");
    }

    #[test]
    fn a_port_that_a_placement_turns_off_holds_none() {
        let board = site("supermicro-x11ssm-f");
        let beside = Outcome { lost: vec!["SATA5 (off)".to_owned()], ..Outcome::default() };
        assert_eq!(seat_on_sata(&board, 1, Some(&beside)).map(|it| it.ports.len()), Some(7));
    }
}
