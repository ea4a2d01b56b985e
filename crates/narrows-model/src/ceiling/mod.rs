//! What can each hop carry?
//!
//! A law is a pure function of a hop's facts, with its citation, range of validity and formula; a family of laws has one file. Same
//! input, same output: nothing here reads a clock, a file or the machine.

pub mod cache;
pub mod crypt;
pub mod drive_bus;
pub mod filesystem;
pub mod medium;
pub mod memory;
pub mod network;
pub mod pcie;
pub mod peer;
pub mod queueing;
pub mod raid;
#[cfg(test)]
mod tests;
pub mod uplink;

use crate::path::{GivenHop, Hop, HopSpec, Path, VolumeLayout};
use narrows_base::fact::{Fact, Source};
use narrows_base::units::{BytesPerSec, human};
use serde::{Deserialize, Serialize};

/// What a ceiling rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Arithmetic on facts that were read here.
    Formula,
    /// A published number for this part.
    Spec,
    /// A measurement made here.
    Measured,
    /// An estimate; a measurement should replace it.
    Guess,
}

/// A fact that a ceiling was computed from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FactRef {
    /// What it is: `width`, `max payload`.
    pub fact: String,
    /// Its value with its unit.
    pub value: String,
    /// Where it was read or is published.
    pub source: String,
}

impl FactRef {
    /// Refers to a fact.
    pub fn new(fact: impl Into<String>, value: impl ToString, source: &Source) -> Self {
        Self { fact: fact.into(), value: value.to_string(), source: source.as_str().to_owned() }
    }
}

/// A ceiling that is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// The most that the hop carries in this direction, in its own bytes (not the application's).
    pub rate: BytesPerSec,
    /// The rate on the wire before packet and protocol overhead, for hops that are a wire.
    pub raw: Option<BytesPerSec>,
    /// What that rests on.
    pub basis: Basis,
    /// How it was computed, with units: `8 GT/s × 4 × 128/130 / 8 = 3.94 GB/s raw; × 256/(256+24) × 0.9974 = 3.59 GB/s`.
    pub formula: String,
    /// From what.
    pub facts: Vec<FactRef>,
}

impl Limit {
    /// The hop carries this instead, for a reason that its formula tells.
    pub(crate) fn change(&mut self, rate: BytesPerSec, why: &str) {
        self.rate = rate;
        self.formula = format!("{}; {why}", self.formula);
    }
}

/// The most that a hop carries in one direction.
#[derive(Debug, Clone, PartialEq)]
pub enum Ceiling {
    /// It is known.
    Known(Limit),
    /// It is not known, for this reason.
    Unknown(String),
    /// The hop moves no bytes of its own (a queue, a linear volume): it passes on what others allow.
    Transparent(String),
}

impl Ceiling {
    /// The limit, when it is known.
    pub const fn limit(&self) -> Option<&Limit> {
        match self {
            Self::Known(limit) => Some(limit),
            Self::Unknown(_) | Self::Transparent(_) => None,
        }
    }

    /// The limit that may be changed, when it is known.
    pub(crate) const fn limit_mut(&mut self) -> Option<&mut Limit> {
        if let Self::Known(limit) = self { Some(limit) } else { None }
    }

    /// The rate, when it is known.
    pub fn rate(&self) -> Option<BytesPerSec> {
        self.limit().map(|limit| limit.rate)
    }
}

/// The ceilings of a hop in both directions.
#[derive(Debug, Clone, PartialEq)]
pub struct Ceilings {
    /// Towards the application.
    pub read: Ceiling,
    /// Towards the medium.
    pub write: Ceiling,
}

/// The direction of data, as the application sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the medium to the application.
    Read,
    /// From the application to the medium.
    Write,
}

impl Direction {
    /// As it stands in JSON and in sentences.
    pub const fn word(self) -> &'static str {
        self.pick("read", "write")
    }

    /// What is of this direction.
    pub const fn pick<T: Copy>(self, read: T, write: T) -> T {
        match self {
            Self::Read => read,
            Self::Write => write,
        }
    }

    /// The other one.
    #[must_use]
    pub const fn turned(self) -> Self {
        self.pick(Self::Write, Self::Read)
    }
}

impl Ceilings {
    /// Neither direction is known, for one reason.
    pub fn unknown(reason: impl Into<String>) -> Self {
        let unknown = Ceiling::Unknown(reason.into());
        Self { read: unknown.clone(), write: unknown }
    }

    /// The hop limits neither direction, for one reason.
    pub fn transparent(why: impl Into<String>) -> Self {
        let transparent = Ceiling::Transparent(why.into());
        Self { read: transparent.clone(), write: transparent }
    }

    /// Both directions carry the same.
    pub fn same(limit: Limit) -> Self {
        Self { read: Ceiling::Known(limit.clone()), write: Ceiling::Known(limit) }
    }

    /// Each direction carries its own.
    pub const fn each(read: Limit, write: Limit) -> Self {
        Self { read: Ceiling::Known(read), write: Ceiling::Known(write) }
    }

    /// The limits of both directions that are known.
    pub(crate) fn limits_mut(&mut self) -> impl Iterator<Item = &mut Limit> {
        [&mut self.read, &mut self.write].into_iter().filter_map(Ceiling::limit_mut)
    }

    /// The ceiling in one direction.
    pub const fn of(&self, direction: Direction) -> &Ceiling {
        direction.pick(&self.read, &self.write)
    }
}

/// The basis of a published number: one that nobody verified is a guess.
const fn published(verified: bool) -> Basis {
    if verified { Basis::Spec } else { Basis::Guess }
}

/// The ceilings of one hop.
pub fn of_hop(hop: &Hop) -> Ceilings {
    match &hop.spec {
        HopSpec::Application => Ceilings::transparent("the application asks; a run shows what it achieves"),
        HopSpec::Memory(_) => memory::of_memory(),
        HopSpec::Socket(socket) => uplink::of_socket(socket),
        HopSpec::Chipset(uplink) => uplink::of_chipset(uplink),
        HopSpec::Switch(switch) => uplink::of_switch(switch),
        HopSpec::Link(link) => pcie::of_link(link),
        HopSpec::Usb(usb) => drive_bus::of_usb(usb),
        HopSpec::Sata(sata) => drive_bus::of_sata(sata),
        HopSpec::Sas(sas) => drive_bus::of_sas(sas),
        HopSpec::Hba(controller) | HopSpec::Controller(controller) => drive_bus::of_controller(controller),
        HopSpec::Device(device) => medium::of_device(device),
        HopSpec::BlockQueue(_) => {
            Ceilings::transparent("a request queue costs time for each request, not for each byte")
        }
        HopSpec::Raid(raid) => raid::of_raid(raid),
        HopSpec::Zfs(zfs) => raid::of_zfs(*zfs),
        HopSpec::Crypt(crypt) => crypt::with_submitters(crypt, 1),
        HopSpec::Cache(_) => Ceilings::transparent(
            "bcache passes each request to the cache or to the backing device; the share of hits decides",
        ),
        HopSpec::Volume(volume) => Ceilings::transparent(match &volume.layout {
            VolumeLayout::Linear => "a linear mapping moves no bytes of its own".to_owned(),
            VolumeLayout::Striped { chunk } => {
                format!("stripes of {} over its devices add up", human::block_size(*chunk))
            }
            VolumeLayout::Multipath => "the paths to one device; the device is the same".to_owned(),
            VolumeLayout::Other(target) => format!("device-mapper target `{target}` has no published rate"),
        }),
        HopSpec::Filesystem(filesystem) => filesystem::of_filesystem(filesystem),
        HopSpec::Network(network) => network::of_network(network),
        HopSpec::Given(hop) => of_given(hop),
        HopSpec::Remote(_) => Ceilings::unknown("what the server can do is not visible here"),
    }
}

// What a hop carries that was given: in the description of a system, by whoever wrote it.
//
// No law: as good as what was written. The fact names the place.

/// The ceilings of a hop whose rate was given. Without one it passes on what others allow.
pub fn of_given(hop: &GivenHop) -> Ceilings {
    Ceilings { read: limit(hop, &hop.read), write: limit(hop, &hop.write) }
}

fn limit(hop: &GivenHop, rate: &Fact<BytesPerSec>) -> Ceiling {
    let Some(&value) = rate.value() else { return Ceiling::Transparent(hop.does.clone()) };
    let source = rate.source();
    let facts = vec![FactRef::new("given rate", value, source)];
    let formula = format!("{value}, given in {source}");
    Ceiling::Known(Limit { rate: value, raw: None, basis: Basis::Spec, formula, facts })
}

/// A hop's place in the order of narrowness.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Narrow {
    /// The hop, as a place in [`Path::hops`].
    pub hop: usize,
    /// The most that the application can move through it: its ceiling divided by its traffic.
    pub rate: BytesPerSec,
}

/// The hops of a path whose ceilings are known, narrowest first; equal ones in path order. `ceilings` stand in the
/// order of the path's hops.
pub fn rank(path: &Path, ceilings: &[Ceilings], direction: Direction) -> Vec<Narrow> {
    let mut ranked: Vec<Narrow> = path
        .hops
        .iter()
        .zip(ceilings)
        .enumerate()
        .filter_map(|(hop, (it, ceilings))| {
            let traffic = direction.pick(it.traffic.read, it.traffic.write);
            let rate = ceilings.of(direction).rate()?;
            (traffic > 0.0).then(|| Narrow { hop, rate: rate / traffic })
        })
        .collect();
    ranked.sort_by(|a, b| a.rate.get().total_cmp(&b.rate.get()));
    ranked
}
