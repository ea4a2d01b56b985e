//! What is published about hardware: boards, chipsets, switches, adapters, processors and media, from `data/*.toml`.
//!
//! These files are data that people correct and add to without touching code; each entry cites its source, and a test
//! validates every entry.

mod disk_model;
mod entries;
mod entry;
mod known;
mod part;
pub mod wire;
mod words;

use std::cell::RefCell;
use std::collections::BTreeMap;

pub use disk_model::is_hard_disk;
pub use entries::Entries;
pub use entry::{
    Adapter, Board, BoardSlot, Chipset, Core, Interconnect, Medium, MediumClass, Nic, Processor, SlotOption,
    Switch,
};
pub use known::{Aspect, ByAspect, Fixed, Gap, SataPorts, Totals};
pub use part::{Card, CardKind, CipherSpeed, Narrowing, ProcessorLanes, SlotForm};

/// The files below `data/`, part of the program.
mod text {
    pub(super) const CHIPSETS: &str = include_str!("../../data/chipsets.toml");
    pub(super) const SWITCHES: &str = include_str!("../../data/switches.toml");
    pub(super) const ADAPTERS: &str = include_str!("../../data/adapters.toml");
    pub(super) const PROCESSORS: &str = include_str!("../../data/processors.toml");
    pub(super) const MEDIA: &str = include_str!("../../data/media.toml");
    pub(super) const CLASSES: &str = include_str!("../../data/media-classes.toml");
    pub(super) const NICS: &str = include_str!("../../data/nics.toml");
    pub(super) const CORES: &str = include_str!("../../data/cores.toml");
    pub(super) const CARDS: &str = include_str!("../../data/cards.toml");
    pub(super) const CIPHERS: &str = include_str!("../../data/ciphers.toml");
    pub(super) const BOARDS: [&str; 7] = [
        include_str!("../../data/boards/asus.toml"),
        include_str!("../../data/boards/dell.toml"),
        include_str!("../../data/boards/hp.toml"),
        include_str!("../../data/boards/msi.toml"),
        include_str!("../../data/boards/others.toml"),
        include_str!("../../data/boards/small.toml"),
        include_str!("../../data/boards/supermicro.toml"),
    ];
}

/// All that `data/*.toml` says.
#[derive(Debug, Default)]
pub struct Catalog {
    pub chipsets: Entries<Chipset>,
    /// PCIe switches.
    pub switches: Entries<Switch>,
    /// Storage adapters that limit.
    pub adapters: Entries<Adapter>,
    /// Processor platforms.
    pub processors: Entries<Processor>,
    /// Storage media.
    pub media: Entries<Medium>,
    /// Classes of storage media.
    pub classes: Entries<MediumClass>,
    /// Network cards.
    pub nics: Entries<Nic>,
    /// Cores and root ports of processors.
    pub cores: Entries<Core>,
    /// Boards and servers.
    pub boards: Entries<Board>,
    /// Cards that carry drives.
    pub cards: Entries<Card>,
    /// How fast processors encrypt.
    pub ciphers: Entries<CipherSpeed>,
}

/// The catalogue.
pub fn catalog() -> &'static Catalog {
    static CATALOG: Catalog = Catalog {
        chipsets: Entries::of(&[text::CHIPSETS]),
        switches: Entries::of(&[text::SWITCHES]),
        adapters: Entries::of(&[text::ADAPTERS]),
        processors: Entries::of(&[text::PROCESSORS]),
        media: Entries::of(&[text::MEDIA]),
        classes: Entries::of(&[text::CLASSES]),
        nics: Entries::of(&[text::NICS]),
        cores: Entries::of(&[text::CORES]),
        boards: Entries::of(&text::BOARDS),
        cards: Entries::of(&[text::CARDS]),
        ciphers: Entries::of(&[text::CIPHERS]),
    };
    &CATALOG
}

/// The medium with this kernel model name, as [`Catalog::medium`] of the [`catalog`]. Names that were asked for before are
/// remembered: a rack has thousands of drives and a few models.
pub fn medium(model: &str) -> Option<&'static Medium> {
    /// Names that are remembered at most, so that hostile ones do not fill memory.
    const MOST: usize = 256;
    thread_local! {
        static KNOWN: RefCell<BTreeMap<String, Option<&'static Medium>>> = const { RefCell::new(BTreeMap::new()) };
    }
    KNOWN.with_borrow_mut(|known| {
        if let Some(found) = known.get(model) {
            return *found;
        }
        if known.len() >= MOST {
            known.clear();
        }
        let found = catalog().medium(model);
        known.insert(model.to_owned(), found);
        found
    })
}

/// Reads `8086:8d47`: vendor and device in hexadecimal.
fn parse_id(id: &str) -> Option<(u16, u16)> {
    let (vendor, device) = id.split_once(':')?;
    let number = |text: &str| {
        let plain = text.len() == 4 && text.bytes().all(|b| b.is_ascii_hexdigit());
        plain.then(|| u16::from_str_radix(text, 16).ok()).flatten()
    };
    Some((number(vendor)?, number(device)?))
}

fn has_id(ids: &[String], vendor: u16, device: u16) -> bool {
    ids.iter().any(|id| parse_id(id) == Some((vendor, device)))
}

/// Whether a name as `lspci` prints it ends in one of these. Words behind it in brackets and parentheses are revisions.
fn is_listed(listed: &[String], name: &str) -> bool {
    let name = name.split(" (").next().unwrap_or(name).trim_end();
    listed.iter().any(|known| {
        let known = known.split(" (").next().unwrap_or(known);
        name.strip_suffix(known).is_some_and(|vendor| vendor.is_empty() || vendor.ends_with(' '))
    })
}

/// The entry with the highest score; of equal ones the last.
fn best<T>(entries: &[T], score: impl Fn(&T) -> Option<usize>) -> Option<&T> {
    let scored = entries.iter().filter_map(|entry| Some((score(entry)?, entry)));
    scored.max_by_key(|(score, _)| *score).map(|(_, entry)| entry)
}

/// How long the longest of these texts is that `is_said`.
fn longest(texts: &[String], is_said: impl Fn(&str) -> bool) -> Option<usize> {
    texts.iter().filter(|text| is_said(text)).map(String::len).max()
}

/// Reads `6/85`: family and model in decimal.
fn parse_signature(signature: &str) -> Option<(u32, u32)> {
    let (family, model) = signature.split_once('/')?;
    Some((family.parse().ok()?, model.parse().ok()?))
}

impl Catalog {
    /// The chipset that this PCI function (its LPC bridge, or the upstream port of its switch) gives away.
    pub fn chipset_by_id(&self, vendor: u16, device: u16) -> Option<&Chipset> {
        self.chipsets.iter().find(|chipset| has_id(&chipset.ids, vendor, device))
    }

    /// The chipset that a function of this name gives away, as `lspci` prints it: vendor, then device.
    pub fn chipset_by_name(&self, name: &str) -> Option<&Chipset> {
        self.chipsets.iter().find(|chipset| is_listed(&chipset.listed, name))
    }

    /// The switch that a function of this name is a port of, as `lspci` prints it: vendor, then device.
    pub fn switch_by_name(&self, name: &str) -> Option<&Switch> {
        self.switches.iter().find(|switch| is_listed(&switch.listed, name))
    }

    /// The switch that this PCI function is a port of.
    pub fn switch_by_id(&self, vendor: u16, device: u16) -> Option<&Switch> {
        self.switches.iter().find(|switch| has_id(&switch.ids, vendor, device))
    }

    /// The storage adapter that this PCI function is, if its chip is known to carry less than its link.
    pub fn adapter_by_id(&self, vendor: u16, device: u16) -> Option<&Adapter> {
        self.adapters.iter().find(|adapter| has_id(&adapter.ids, vendor, device))
    }

    /// The board with these DMI names: `board_vendor`, and `board_name` or `product_name`, matched exactly but for
    /// surrounding space.
    pub fn board(&self, vendor: &str, board: &str, product: &str) -> Option<&Board> {
        let (vendor, names) = (vendor.trim(), [board.trim(), product.trim()]);
        self.boards.iter().find(|entry| {
            entry.vendors.iter().any(|known| known == vendor)
                && entry.boards.iter().any(|known| names.contains(&known.as_str()))
        })
    }

    /// The board that a person named: by its id (`asus-x99-a`), its name, or a DMI name of it, in any case.
    pub fn board_named(&self, typed: &str) -> Option<&Board> {
        let id = entry::identifier(typed);
        self.boards.iter().find(|board| board.id() == id).or_else(|| {
            let called = |board: &&Board| board.boards.iter().any(|name| entry::identifier(name) == id);
            self.boards.iter().find(called)
        })
    }

    /// The boards on this chipset: what a machine that does not name its board may be.
    pub fn boards_on(&self, chipset: &Chipset) -> impl Iterator<Item = &Board> {
        self.boards.iter().filter(|board| board.chipset.as_deref() == Some(chipset.name.as_str()))
    }

    /// How fast a processor of this model name encrypts: the entry whose text is the longest that the name contains.
    pub fn cipher(&self, model: &str) -> Option<&CipherSpeed> {
        best(&self.ciphers, |entry| longest(&entry.models, |text| model.contains(text)))
    }

    /// The platform of a processor by its CPU family, model number and model name, as `/proc/cpuinfo` has them.
    pub fn processor(&self, family: u32, model: u32, name: &str) -> Option<&Processor> {
        self.processors.iter().find(|entry| {
            let named = entry.names.is_empty() || entry.names.iter().any(|part| name.contains(part.as_str()));
            named && entry.signatures.iter().any(|text| parse_signature(text) == Some((family, model)))
        })
    }

    /// The medium with this kernel model name: the entry whose text is the longest that the name contains. Tools write a blank
    /// of it as `_` (udev's `by-id`, `inxi`).
    pub fn medium(&self, model: &str) -> Option<&Medium> {
        let plain = |text: &str| text.to_ascii_lowercase().replace('_', " ");
        let model = plain(model);
        best(&self.media, |entry| longest(&entry.models, |text| model.contains(&plain(text))))
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod complete;
