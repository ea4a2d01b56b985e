//! From a described system to the path of one of its parts.
//!
//! The order of hops and the meaning of traffic are those of [`crate::path`]. Where data of one host goes to another, it
//! first ends in the memory of the one; that is main memory like that of the other, and stands once.

mod drive;
mod entries;
mod hardware;
mod layer;
mod link;
mod network;

use std::fmt;

pub(super) use drive::device_end;
pub(super) use entries::{chipset_entry, find_chipset, find_switch, processor_entry};
pub(super) use layer::level_name;

use super::{Name, PartKind, System};
use crate::path::graph::{APPLICATION, Graph, Joined, Node};
use crate::path::{GivenHop, HopId, HopKind, HopSpec, Path, Target, Traffic};
use narrows_base::fact::{Fact, Source};

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
        /// The part.
        part: Name,
        /// What it hangs on.
        upstream: Name,
        /// The kind of that.
        kind: &'static str,
    },
    /// A name that the catalogue does not know, or that several of its entries have.
    #[error("`{part}`: the catalogue knows no {what} `{name}`")]
    Unlisted {
        /// The part.
        part: Name,
        /// `chipset`, `switch`, `processor`.
        what: &'static str,
        /// What was asked for.
        name: String,
    },
}

/// A place in a host: where data is to arrive.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    host: Name,
    /// `None`: wherever the data is.
    socket: Option<u32>,
}

/// The path from an application to the part `target`, for `streams` sequential streams at a time: a single one reads from
/// one member of a mirror.
///
/// # Errors
/// A part that is named and not there, that lies on itself, or that hangs where it cannot.
pub fn path(system: &System, target: &Name, streams: u32) -> Result<Path, BuildError> {
    let mut walk = Walk { system, graph: Graph::new(), depth: 0, streams };
    walk.layer(APPLICATION, target, Traffic::ONE, None, &"the workload")?;
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
    fn part(&self, name: &Name, by: &dyn fmt::Display) -> Result<&'s super::Part, BuildError> {
        self.system.part(name).ok_or_else(|| BuildError::Dangling { by: by.to_string(), name: name.clone() })
    }

    /// Puts the part `name` below `above`; its data is to arrive at `reader`.
    fn layer(
        &mut self,
        above: Node,
        name: &Name,
        fraction: Traffic,
        reader: Option<&Place>,
        by: &dyn fmt::Display,
    ) -> Result<(), BuildError> {
        let part = self.part(name, by)?;
        if self.depth >= MOST_LAYERS {
            return Err(BuildError::Cycle(name.clone()));
        }
        self.depth += 1;
        let done = match &part.kind {
            PartKind::Device(device) => self.device(above, part, device, fraction, reader),
            PartKind::Raid(raid) => self.raid(above, part, raid, fraction, reader),
            PartKind::Crypt(crypt) => self.crypt(above, part, crypt, fraction, reader),
            PartKind::Cache(cache) => self.cache(above, part, cache, fraction, reader),
            PartKind::Volume(volume) => self.volume(above, part, volume, fraction, reader),
            PartKind::Filesystem(filesystem) => self.filesystem(above, part, filesystem, fraction, reader),
            PartKind::Network(network) => {
                self.network(above, part, network, (fraction, false), reader).map(drop)
            }
            PartKind::Remote(remote) => self.remote(above, part, remote, fraction, reader),
            PartKind::Cluster(cluster) => self.cluster(above, part, cluster, fraction),
            PartKind::Vm(vm) => self.vm(above, part, vm, fraction, reader),
            PartKind::Host(_)
            | PartKind::Chipset(_)
            | PartKind::Slot(_)
            | PartKind::Switch(_)
            | PartKind::Adapter(_) => Err(BuildError::NoPlace {
                part: Name::new(by.to_string()),
                upstream: name.clone(),
                kind: part.kind.table(),
            }),
        };
        self.depth -= 1;
        done
    }

    /// Puts a hop below `above`; `Some` when what lies below it is still to be put in.
    fn add(
        &mut self,
        above: Node,
        id: (HopKind, &dyn fmt::Display),
        name: String,
        spec: HopSpec,
        fraction: Traffic,
    ) -> Result<Option<Node>, BuildError> {
        match self.graph.join(above, name, HopId::new(id.0, id.1), spec, fraction) {
            Joined::New(node) => Ok(Some(node)),
            Joined::Known(_) => Ok(None),
            Joined::Cycle => Err(BuildError::Cycle(Name::new(id.1.to_string()))),
        }
    }
}

/// A value of a part as a fact: where it was given, or that it was not.
fn fact<T>(value: Option<T>, given: &Source) -> Fact<T> {
    match value {
        Some(value) => Fact::known(value, given.as_str()),
        None => Fact::absent(given.as_str()),
    }
}

fn given(
    kind: HopKind,
    (read, write): (Fact<narrows_base::units::BytesPerSec>, Fact<narrows_base::units::BytesPerSec>),
    does: impl Into<String>,
) -> HopSpec {
    HopSpec::Given(GivenHop { kind, read, write, does: does.into() })
}
