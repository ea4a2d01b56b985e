//! From a described system to the path of one of its parts.
//!
//! The order of hops and the meaning of traffic are those of [`crate::path`]. Where data of one host goes to another, it
//! first ends in the memory of the one; that is main memory like that of the other, and stands once.

mod hardware;
mod layer;

use std::fmt;

use super::{Chipset, Host, LinkGiven, Name, Part, PartKind, PartPlace, System};
use crate::path::graph::{APPLICATION, Graph, Joined, NewHop, Node};
use crate::path::{GivenHop, HopKind, HopSpec, Path, Target, Traffic};
use narrows_base::catalog::{self, catalog};
use narrows_base::fact::{Fact, Source};
use narrows_base::units::{BytesPerSec, Lanes};

/// Why a description is no path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// Something names a part that is not there.
    #[error("{by} names `{name}`, and there is no such part")]
    Dangling {
        /// Who names it.
        by: String,
        /// What it names.
        name: Name,
    },
    /// A part lies on itself.
    #[error("`{0}` lies on itself")]
    Cycle(Name),
    /// A part hangs on one that cannot carry it.
    #[error("`{part}` is in `{upstream}`, a {kind}, which has no place for it")]
    NoPlace {
        part: Name,
        /// What it hangs on.
        upstream: Name,
        kind: &'static str,
    },
    /// A name that the catalogue does not know, or that several of its entries have.
    #[error("`{part}`: the catalogue knows no {what} `{name}`")]
    Unlisted {
        part: Name,
        /// `chipset`, `switch`, `processor`.
        what: &'static str,
        /// What was asked for.
        name: String,
    },
}

/// What a step of the walk comes to.
type Built<T = ()> = Result<T, BuildError>;

/// Where a part is put: below which hop, for which share of what crosses that, and where its data is to arrive.
#[derive(Clone, Copy)]
struct Spot<'s> {
    above: Node,
    part: &'s Part,
    fraction: Traffic,
    reader: Option<PartPlace<'s>>,
}

/// The path from an application to the part `target`, for `streams` sequential streams at a time: a single one reads from
/// one member of a mirror.
///
/// # Errors
/// A part that is named and not there, that lies on itself, or that hangs where it cannot.
pub fn path(system: &System, target: &Name, streams: u32) -> Result<Path, BuildError> {
    let mut walk = Walk { system, graph: Graph::new(), depth: 0, streams };
    let part = walk.part(target, &"the workload")?;
    walk.part_at(Spot { above: APPLICATION, part, fraction: Traffic::ONE, reader: None }, &"the workload")?;
    Ok(Path {
        target: target.to_string(),
        asked: Target::Block(target.to_string()),
        hops: walk.graph.into_hops(Fact::default()),
    })
}

/// Layers below each other; more can only be a cycle.
const MOST_LAYERS: usize = 200;

struct Walk<'s> {
    system: &'s System,
    graph: Graph,
    depth: usize,
    streams: u32,
}

impl<'s> Walk<'s> {
    fn part(&self, name: &Name, by: &dyn fmt::Display) -> Built<&'s Part> {
        self.system.part(name).ok_or_else(|| BuildError::Dangling { by: by.to_string(), name: name.clone() })
    }

    /// Puts the part `name` where its share of the traffic of the part above goes.
    fn layer(&mut self, below: Spot<'s>, name: &Name, fraction: Traffic) -> Built {
        let part = self.part(name, &below.part.name)?;
        self.part_at(Spot { part, fraction, ..below }, &below.part.name)
    }

    fn part_at(&mut self, spot: Spot<'s>, by: &dyn fmt::Display) -> Built {
        let part = spot.part;
        self.deeper(&part.name, |walk| match &part.kind {
            PartKind::Device(device) => walk.device(spot, device),
            PartKind::Raid(raid) => walk.raid(spot, raid),
            PartKind::Crypt(crypt) => walk.crypt(spot, crypt),
            PartKind::Cache(cache) => walk.cache(spot, cache),
            PartKind::Volume(volume) => walk.volume(spot, volume),
            PartKind::Filesystem(filesystem) => walk.filesystem(spot, filesystem),
            PartKind::Network(network) => walk.network(spot, network, false).map(drop),
            PartKind::Remote(remote) => walk.remote(spot, remote),
            PartKind::Cluster(cluster) => walk.cluster(spot, cluster),
            PartKind::Vm(vm) => walk.vm(spot, vm),
            other => Err(no_place(&Name::new(by.to_string()), &part.name, other)),
        })
    }

    /// Walks on from a part that stands this deep; one that lies on itself has no end.
    fn deeper(&mut self, name: &Name, walk: impl FnOnce(&mut Self) -> Built) -> Built {
        if self.depth >= MOST_LAYERS {
            return Err(BuildError::Cycle(name.clone()));
        }
        self.depth += 1;
        let done = walk(self);
        self.depth -= 1;
        done
    }

    /// Puts the hop of a part; `Some` with the place below it when what lies there is still to be put in.
    fn put(&mut self, spot: Spot<'s>, name: String, spec: HopSpec) -> Built<Option<Spot<'s>>> {
        let hop = NewHop::new(&spot.part.name, name, spec);
        let above = self.add(spot.above, hop, spot.fraction)?;
        Ok(above.map(|above| Spot { above, fraction: Traffic::ONE, ..spot }))
    }

    /// Puts a hop below `above`; `Some` when what lies below it is still to be put in.
    fn add(&mut self, above: Node, hop: NewHop, fraction: Traffic) -> Built<Option<Node>> {
        let name = Name::new(hop.id.key());
        match self.graph.join(above, hop, fraction) {
            Joined::Cycle => Err(BuildError::Cycle(name)),
            joined => Ok(joined.new_node()),
        }
    }
}

fn no_place(part: &Name, upstream: &Name, kind: &PartKind) -> BuildError {
    BuildError::NoPlace { part: part.clone(), upstream: upstream.clone(), kind: kind.table() }
}

/// A value of a part as a fact: where it was given, or that it was not.
fn fact<T>(value: Option<T>, given: &Source) -> Fact<T> {
    Fact::of(value, given.as_str())
}

/// A hop without a law that carries this in both directions, given by a part.
fn given(kind: HopKind, rate: Option<BytesPerSec>, part: &Part, does: impl Into<String>) -> HopSpec {
    let rate = fact(rate, &part.given);
    HopSpec::Given(GivenHop { kind, read: rate.clone(), write: rate, does: does.into() })
}

/// The catalogue's entry of an adapter by a part of its name: those that carry less than their link.
pub(super) fn find_adapter(name: &str) -> Option<&'static catalog::Adapter> {
    catalog().adapters.iter().find(|entry| contains(&entry.name, name))
}

/// The catalogue's entry of a switch by name.
pub(super) fn find_switch(name: &str) -> Option<&'static catalog::Switch> {
    find_entry(&catalog().switches, |entry| &entry.name, name)
}

/// The catalogue's entry of a chipset by name.
///
/// What people write also names one: `Intel Z97`, `C621`, `AMD B650`. A maker that is named must be its own.
pub(super) fn find_chipset(name: &str) -> Option<&'static catalog::Chipset> {
    let chipsets = &catalog().chipsets;
    find_entry(chipsets, |entry| &entry.name, name).or_else(|| {
        let words: Vec<&str> =
            name.split_whitespace().filter(|word| !word.eq_ignore_ascii_case("chipset")).collect();
        let is_of = |entry: &&catalog::Chipset, word: &str| {
            let mut own =
                entry.name.split([' ', ',', '(', ')']).chain(entry.words.iter().map(String::as_str));
            own.any(|own| own.eq_ignore_ascii_case(word))
        };
        let mut found =
            chipsets.iter().filter(|entry| !words.is_empty() && words.iter().all(|word| is_of(entry, word)));
        let first = found.next()?;
        found.next().is_none().then_some(first)
    })
}

/// The catalogue's entry of the model that a part names.
fn listed<'c, T>(
    part: &Part,
    what: &'static str,
    model: Option<&str>,
    find: impl Fn(&str) -> Option<&'c T>,
) -> Built<Option<&'c T>> {
    let Some(name) = model else { return Ok(None) };
    let unlisted = || BuildError::Unlisted { part: part.name.clone(), what, name: name.to_owned() };
    find(name).map(Some).ok_or_else(unlisted)
}

impl Chipset {
    /// What the catalogue says of it, with what was given in its place; `None` when neither says how wide its uplink is.
    /// `part` is the part that it is.
    ///
    /// # Errors
    /// The catalogue knows no such chipset.
    pub fn entry(&self, part: &Part) -> Result<Option<catalog::Chipset>, BuildError> {
        let known = listed(part, "chipset", self.model.as_deref(), find_chipset)?;
        let LinkGiven { generation, width, payload, .. } = self.uplink;
        let generation = generation.or(known.map(|entry| entry.generation));
        let width = width.or(known.map(|entry| Lanes::new(entry.lanes)));
        let Some((generation, width)) = generation.zip(width) else { return Ok(None) };
        let mut uplink = known.cloned().unwrap_or_else(|| catalog::Chipset {
            name: part.name.to_string(),
            uplink: "uplink".to_owned(),
            max_payload: if generation > 2 { 256 } else { 128 },
            verified: true,
            source: part.given.to_string(),
            ..catalog::Chipset::default()
        });
        // The kernel would show the link; here it is what the catalogue or the file says.
        uplink.visible_link = false;
        (uplink.generation, uplink.lanes) = (generation, width.get());
        if let Some(payload) = payload {
            uplink.max_payload = u32::try_from(payload.get()).unwrap_or(uplink.max_payload);
        }
        Ok(Some(uplink))
    }
}

impl Host {
    /// The catalogue's entry of its platform.
    pub fn platform(&self) -> Option<&'static catalog::Processor> {
        catalog().processor_by_words(self.processor.as_deref()?)
    }

    /// The catalogue's entry of its cores.
    pub fn core(&self) -> Option<&'static catalog::Core> {
        catalog().core_by_words(self.cpu.as_deref()?)
    }
}

/// The one entry that is called `name`, or whose name alone contains it.
fn find_entry<'c, T>(entries: &'c [T], name_of: impl Fn(&T) -> &str, name: &str) -> Option<&'c T> {
    entries.iter().find(|entry| name_of(entry).eq_ignore_ascii_case(name.trim())).or_else(|| {
        let mut found = entries.iter().filter(|entry| contains(name_of(entry), name));
        let first = found.next()?;
        found.next().is_none().then_some(first)
    })
}

fn contains(whole: &str, part: &str) -> bool {
    whole.to_ascii_lowercase().contains(&part.trim().to_ascii_lowercase())
}
