//! Which laws a prediction rests on, where each is valid, and how far off it was where somebody measured.
//!
//! The ranges stand as data in `laws.toml`, the residuals in `residuals.csv`, which `make accuracy` writes from published
//! measurements. Outside of its range, or with too few measurements, a law gives a bound and no estimate.

mod residuals;
mod situation;
#[cfg(test)]
mod tests;

pub(super) use residuals::{LEAST_ROWS, LEAST_SOURCES};
pub use residuals::{Residual, Residuals};
pub use situation::Situation;

use std::fmt;
use std::sync::OnceLock;

use super::hops::Loaded;
use crate::ceiling::Direction;
use crate::path::HopKind;
use crate::path::file::{DeviceKind, PartKind, Pattern};
use serde::Deserialize;

/// A law that bounds a rate. Its range of validity is in `laws.toml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
    pub range: LawRange,
    /// What would have to be measured to know.
    pub measure: String,
}

/// Workloads and systems of which no law is known to hold.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gap {
    /// Which ones.
    pub when: LawRange,
    /// Why nothing is known.
    pub because: String,
    /// What would have to be measured to know.
    pub measure: String,
}

/// `laws.toml`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct LawTable {
    #[serde(rename = "law")]
    laws: Vec<Validity>,
    #[serde(rename = "unknown")]
    gaps: Vec<Gap>,
}

fn table() -> &'static LawTable {
    static TABLE: OnceLock<LawTable> = OnceLock::new();
    // A test reads it, so the empty table is never seen.
    TABLE.get_or_init(|| read().unwrap_or_default())
}

fn read() -> Result<LawTable, toml::de::Error> {
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

/// The law of the bytes that a hop carries in a direction; `None` is both.
pub(super) fn bandwidth_law(loaded: &Loaded<'_>, situation: &Situation, direction: Option<Direction>) -> Law {
    match loaded.hop.kind() {
        HopKind::Link if matches!(loaded.part_kind(), Some(PartKind::Network(_))) => Law::CardSlot,
        HopKind::Link | HopKind::Switch => Law::Pcie,
        HopKind::Chipset => Law::Uplink,
        HopKind::Sata => Law::Sata,
        HopKind::Sas => Law::Sas,
        HopKind::Usb => Law::Usb,
        HopKind::Hba | HopKind::Controller => Law::Adapter,
        HopKind::Device => medium_law(loaded, situation, direction),
        HopKind::Memory => Law::Memory,
        HopKind::Socket => Law::Socket,
        HopKind::Raid => Law::StripeThread,
        HopKind::Crypt => Law::CryptRate,
        HopKind::Network => network_law(situation),
        _ => Law::Given,
    }
}

fn network_law(situation: &Situation) -> Law {
    match (situation.has("nvme-fabric"), situation.has("file-server")) {
        (true, _) => Law::NvmeFabric,
        (_, true) => Law::FileServer,
        _ => Law::Network,
    }
}

/// Whether an array spreads the bytes over this drive and others.
fn is_spread(loaded: &Loaded<'_>, situation: &Situation, direction: Direction) -> bool {
    let crossing = direction.pick(loaded.asked, loaded.write);
    let is_array = ["stripe", "mirror", "parity", "zfs"].iter().any(|word| situation.has(word));
    situation.has("many-drives") && is_array && !situation.has("cache") && crossing < 1.0
}

fn medium_law(loaded: &Loaded<'_>, situation: &Situation, direction: Option<Direction>) -> Law {
    match (loaded.device().map(|device| device.kind), direction) {
        (_, Some(direction)) if is_spread(loaded, situation, direction) => Law::MediumTogether,
        (Some(DeviceKind::Hdd), _) => Law::DiskRate,
        (_, Some(Direction::Read)) => Law::MediumRead,
        (_, Some(Direction::Write)) => Law::MediumWrite,
        (_, None) => Law::MediumMix,
    }
}

/// The law of the I/Os that a hop completes.
pub(super) fn operations_law(loaded: &Loaded<'_>) -> Law {
    match (loaded.hop.kind(), loaded.device().map(|device| device.kind)) {
        (_, Some(DeviceKind::Hdd)) => Law::DiskIops,
        (HopKind::Device, _) => Law::FlashIops,
        (HopKind::Raid, _) => Law::RaidzIops,
        (HopKind::LogicalVolume, _) => Law::ClusterIops,
        _ => Law::AdapterIops,
    }
}

/// The law of the time that a request spends in a hop; `moves` when it is that of its bytes.
pub(super) fn time_law(loaded: &Loaded<'_>, situation: &Situation, moves: bool) -> Law {
    match (loaded.hop.kind(), loaded.device().map(|device| device.kind)) {
        (HopKind::Device, Some(_)) if moves => medium_law(loaded, situation, Some(Direction::Read)),
        (_, Some(DeviceKind::Hdd)) => Law::DiskAccess,
        (_, Some(DeviceKind::Ramdisk)) => Law::MemoryIo,
        (_, Some(_)) if situation.pattern == Pattern::Sequential => Law::FlashSequentialWait,
        (_, Some(_)) => Law::FlashWait,
        (HopKind::Crypt, _) => Law::CryptTime,
        (HopKind::Switch, _) => Law::SwitchTime,
        (HopKind::Application, _) => Law::Core,
        (HopKind::Network | HopKind::Remote | HopKind::LogicalVolume, _) if !moves => Law::NetworkTime,
        (HopKind::Controller, _) => Law::NetworkTime,
        _ => bandwidth_law(loaded, situation, Some(Direction::Read)),
    }
}

/// What a workload and its system must be; a key that is absent asks nothing.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LawRange {
    /// `sequential` or `random`.
    pub pattern: Option<Pattern>,
    /// The directions of its I/Os, one of these: `read`, `write`, `mix`.
    pub directions: Vec<Mix>,
    /// Bytes of an I/O, at least.
    pub block_from: Option<u64>,
    /// Bytes of an I/O, at most.
    pub block_to: Option<u64>,
    /// I/Os under way in all jobs, at least.
    pub in_flight_from: Option<u64>,
    /// I/Os under way in all jobs, at most.
    pub in_flight_to: Option<u64>,
    /// Gbit/s of a port of the slowest network on the way, at least.
    pub gigabits_from: Option<f64>,
    /// Traits of which each is there (see [`Situation`]).
    pub all: Vec<String>,
    /// Traits of which one is there.
    pub any: Vec<String>,
    /// Traits of which none is there.
    pub none: Vec<String>,
}

/// The directions of I/Os.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mix {
    /// Reads alone.
    Read,
    /// Writes alone.
    Write,
    #[serde(rename = "mix")]
    Both,
}

impl LawRange {
    /// Whether a situation is in it.
    pub fn has(&self, it: &Situation) -> bool {
        self.pattern.is_none_or(|order| order == it.pattern)
            && (self.directions.is_empty() || self.directions.contains(&it.mix()))
            && between(it.block_size, self.block_from, self.block_to)
            && between(it.in_flight, self.in_flight_from, self.in_flight_to)
            && self.gigabits_from.is_none_or(|least| it.gigabits.is_some_and(|rate| rate >= least))
            && self.all.iter().all(|wanted| it.has(wanted))
            && (self.any.is_empty() || self.any.iter().any(|wanted| it.has(wanted)))
            && !self.none.iter().any(|wanted| it.has(wanted))
    }
}

fn between(value: u64, from: Option<u64>, to: Option<u64>) -> bool {
    from.is_none_or(|from| value >= from) && to.is_none_or(|to| value <= to)
}
