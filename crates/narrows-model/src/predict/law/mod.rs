//! Which laws a prediction rests on, where each is valid, and how far off it was where somebody measured.
//!
//! The ranges stand as data in `laws.toml`, the residuals in `residuals.csv`, which `make accuracy` writes from published
//! measurements. Outside of its range, or with too few measurements, a law gives a bound and no estimate.

mod assign;
mod range;
mod residuals;
mod sample;
mod situation;

use std::fmt;
use std::sync::OnceLock;

use serde::Deserialize;

pub(super) use assign::{bandwidth, operations, time};
pub use range::Range;
pub(super) use residuals::{LEAST_ROWS, LEAST_SOURCES};
pub use residuals::{Residual, Residuals};
pub use situation::Situation;

/// A law that bounds a rate. Its range of validity is in `laws.toml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "laws.toml has the name and range of each")]
pub enum Law {
    Cap,
    Core,
    DiskIops,
    FlashIops,
    AdapterIops,
    RaidzIops,
    ClusterIops,
    DiskAccess,
    MemoryIo,
    FlashWait,
    FlashSequentialWait,
    CryptTime,
    NetworkTime,
    SwitchTime,
    CacheTurns,
    PageCache,
    Pcie,
    CardSlot,
    Uplink,
    Sata,
    Sas,
    Usb,
    Adapter,
    MediumRead,
    MediumWrite,
    MediumMix,
    MediumTogether,
    DiskRate,
    Memory,
    Socket,
    StripeThread,
    CryptRate,
    Network,
    FileServer,
    FileServerWrite,
    NvmeFabric,
    Given,
    // New ones at the end: the place of a law decides its draws.
    FlashFlush,
    Copy,
}

impl Law {
    /// Its name in `laws.toml` and in `residuals.csv`.
    pub fn id(self) -> String {
        let debug = format!("{self:?}");
        let dash = |(at, c): (usize, char)| {
            let before = (at > 0 && c.is_uppercase()).then_some('-');
            before.into_iter().chain(c.to_lowercase())
        };
        debug.char_indices().flat_map(dash).collect()
    }

    /// Where it is valid; `None` for a law that the table lacks, which a test refuses.
    pub fn validity(self) -> Option<&'static Validity> {
        table().laws.iter().find(|entry| entry.id == self)
    }

    /// The name of what its residuals are pooled with: its family, or itself.
    fn pool(self) -> String {
        self.validity().and_then(|entry| entry.family.clone()).unwrap_or_else(|| self.id())
    }

    /// All laws.
    fn all() -> impl Iterator<Item = Self> {
        table().laws.iter().map(|entry| entry.id)
    }

    /// The law of this name.
    pub fn from_id(id: &str) -> Option<Self> {
        Self::all().find(|law| law.id() == id)
    }
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.validity().map_or("", |entry| entry.name.as_str()))
    }
}

/// What is known of the validity of a law.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Validity {
    /// The law, by its name in tables.
    id: Law,
    /// What it is about, for a person.
    pub name: String,
    /// The laws that are off for the same reasons, so that measurements of one tell of the others; absent for a law alone.
    #[serde(default)]
    pub family: Option<String>,
    /// Whether nothing can pass that exceeds it, so that it bounds even where it is no estimate.
    pub bounds: bool,
    /// The workloads and systems that it was compared with.
    #[serde(default)]
    pub range: Range,
    /// What would have to be measured to know.
    pub measure: String,
}

/// Workloads and systems of which no law is known to hold.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gap {
    /// Which ones.
    pub when: Range,
    /// Why nothing is known.
    pub because: String,
    /// What would have to be measured to know.
    pub measure: String,
}

/// `laws.toml`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(rename = "law")]
    laws: Vec<Validity>,
    #[serde(rename = "unknown")]
    gaps: Vec<Gap>,
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    // A test reads it, so the empty table is never seen.
    TABLE.get_or_init(|| read().unwrap_or(Table { laws: Vec::new(), gaps: Vec::new() }))
}

fn read() -> Result<Table, toml::de::Error> {
    toml::from_str(include_str!("laws.toml"))
}

/// The first gap that a situation falls into.
pub(super) fn gap(situation: &Situation) -> Option<&'static Gap> {
    table().gaps.iter().find(|gap| gap.when.has(situation))
}

/// Whether no law is known to hold in a situation, whatever decides.
pub fn is_gap(situation: &Situation) -> bool {
    gap(situation).is_some()
}

/// A part of what bounds: its law, and its share of the time that a byte takes there. The shares of a bound sum to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Term {
    /// The law.
    pub law: Law,
    /// The share, above 0 and at most 1.
    pub share: f64,
}

impl Term {
    /// All of it.
    pub(super) fn whole(law: Law) -> Vec<Self> {
        vec![Self { law, share: 1.0 }]
    }
}

/// Whether a bound is of this law alone.
pub(super) fn is_whole(terms: &[Term], law: Law) -> bool {
    !terms.is_empty() && terms.iter().all(|term| term.law == law)
}

#[cfg(test)]
mod tests;
