//! What rate will a workload get on a path?
//!
//! A path whose hops all have requests to work on carries what its narrowest hop does: the smallest ceiling, divided by
//! the traffic that crosses the hop. A path with one request at a time takes turns: the time of a request is the sum of
//! what its stages take. In between, requests under way divided by the time of one is the bound (Little's law). All of
//! that becomes [capacities](flow) that the flow of the workload uses, beside the flows of whatever runs at the same time.
//!
//! Nothing here knows a law: ceilings are those of [`crate::ceiling`].

pub mod answer;
mod describe;
pub mod flow;
mod hops;
pub mod law;
mod own;
mod solve;
#[cfg(test)]
mod tests;
mod time;
mod zfs;

pub use answer::{Intervals, NotKnown};
pub use describe::describe;
pub use hops::duplex;
pub use solve::{predict, predict_together, predict_widened};

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ceiling::{Basis, Ceiling, Direction, FactRef, cache};
use crate::path::file::{Pattern, Workload};
use crate::path::{HopId, HopKind, Path};
use hops::Loaded;
use law::{Law, Residuals, Situation, Term};
use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos, human};

/// What a workload will get.
#[derive(Debug, Clone)]
pub struct Prediction {
    pub workload: Workload,
    pub path: Path,
    /// Bytes in a second, reads and writes together.
    pub rate: BytesPerSec,
    /// Those of them that are read.
    pub read: BytesPerSec,
    /// Those that are written.
    pub write: BytesPerSec,
    /// I/Os in a second.
    pub iops: Iops,
    /// The mean time of one I/O, with the queue before it.
    pub latency: Nanos,
    /// All bounds, narrowest first.
    pub bounds: Vec<Bound>,
    /// The place in `bounds` of the one that decides. Not always the first: what others leave of a shared hop may be less.
    pub decides: Option<usize>,
    /// What the rate does when a hop's ceiling is raised, largest first.
    pub sensitivity: Vec<Sensitivity>,
    /// What may be said of the rate: where the truth lies; or why it is not known, because the laws that decide do not hold here,
    /// or nobody has compared them with enough measurements.
    pub answer: Result<Intervals, NotKnown>,
    /// What decides which laws hold.
    pub situation: Situation,
    /// What a person should know of it: what was assumed, what is not covered.
    pub notes: Vec<String>,
}

impl Prediction {
    /// What may be said by other residuals than those that the program was built with.
    pub fn answer_by(&self, residuals: &Residuals) -> Result<Intervals, NotKnown> {
        answer::answer(&self.situation, &self.bounds, (self.rate, self.decides), residuals)
    }

    /// The bound that nothing exceeds, where the rate is not known.
    pub fn at_most(&self) -> Option<&Bound> {
        self.bounds.get(self.answer.as_ref().err()?.at_most?)
    }

    /// The bound that decides.
    pub fn narrowest(&self) -> Option<&Bound> {
        self.bounds.get(self.decides?)
    }

    /// The next one: of another hop, and what the rate would be if the first were gone.
    pub fn next(&self) -> Option<&Bound> {
        let first = self.narrowest()?;
        self.bounds.iter().find(|bound| bound.hop != first.hop && bound.rate >= first.rate)
    }
}

/// What the rate does when the ceiling of a hop is raised.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sensitivity {
    pub hop: HopId,
    /// The change of the rate, in parts of itself, for each part by which the ceiling changes: 1 where the hop alone
    /// decides, ½ where it takes half of the time of each request, 0 where it does not matter.
    pub elasticity: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BoundKind {
    /// The bytes that a hop carries.
    Bandwidth,
    /// The I/Os that a hop completes.
    Iops,
    /// Requests under way over the time of one.
    Depth,
    /// The I/Os that cores can start and complete.
    Processor,
    /// What was allowed: a cap.
    Cap,
}

impl fmt::Display for BoundKind {
    /// The word for it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// One thing that bounds the rate of a workload, as if there were no other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bound {
    /// What kind it is.
    pub kind: BoundKind,
    /// The hop that it is of.
    pub hop: HopId,
    /// The hop's name for a person.
    pub name: String,
    /// The direction, where it has one alone.
    pub direction: Option<Direction>,
    /// What the workload could move at most, reads and writes together.
    #[serde(rename = "bytes_per_second")]
    pub rate: BytesPerSec,
    /// What that rests on.
    pub basis: Basis,
    /// How it comes about, with units.
    pub formula: String,
    /// From what.
    pub facts: Vec<FactRef>,
    /// By which laws.
    #[serde(skip)]
    pub terms: Vec<Term>,
}

impl Bound {
    /// The order of bounds, the lowest first.
    fn by_rate(&self, other: &Self) -> Ordering {
        self.rate.get().total_cmp(&other.rate.get())
    }

    /// A guess by one law, in both directions, of what its formula tells.
    fn new(
        kind: BoundKind,
        (hop, name): (&HopId, String),
        rate: BytesPerSec,
        formula: String,
        law: Law,
    ) -> Self {
        let (hop, terms) = (hop.clone(), Term::whole(law));
        let (direction, basis, facts) = (None, Basis::Guess, Vec::new());
        Self { kind, hop, name, direction, rate, basis, formula, facts, terms }
    }
}

/// What was assumed, and what is not covered.
fn notes_of(
    workload: &Workload,
    hops: &[Loaded<'_>],
    bounds: &[Bound],
    deciding: Option<&Bound>,
) -> Vec<String> {
    let mut notes: Vec<String> = deciding.and_then(|bound| law(bound, hops)).into_iter().collect();
    for loaded in hops {
        let ignored = matches!(loaded.hop.kind(), HopKind::Memory | HopKind::Application);
        if let (Ceiling::Unknown(why), false) = (loaded.used(workload), ignored) {
            notes.push(format!("{} is not counted: {why}", loaded.hop.name));
        }
    }
    let guessed = bounds.first().filter(|bound| bound.basis == Basis::Guess && bound.kind == BoundKind::Iops);
    if let Some(bound) = guessed {
        notes.push(format!(
            "the I/Os that {} completes are those of its class; give read_iops and write_iops",
            bound.name
        ));
    }
    let parity = hops.iter().any(|loaded| loaded.read_to_write > 0.0);
    if parity && workload.writes() {
        notes.push("writes smaller than a stripe read the old data and parity first".to_owned());
    }
    notes.extend(file_system(workload, hops));
    notes
}

/// Which law the deciding bound is of, where that is not the plain ceiling of its hop, and how far it holds.
fn law(bound: &Bound, hops: &[Loaded<'_>]) -> Option<String> {
    let loaded = hops.iter().find(|loaded| loaded.hop.id == bound.hop)?;
    let said = match (bound.kind, loaded.hop.kind()) {
        (BoundKind::Cap, _) => {
            format!("a cap decides ({}); it is exact once the burst that it allows is spent", bound.formula)
        }
        (BoundKind::Depth, HopKind::Cache) => {
            "hits and misses of the cache take turns for one reader (harmonic mean); the share of hits decides".to_owned()
        }
        (BoundKind::Iops, HopKind::Raid) => {
            "every record of a raidz vdev lies on all of its members, so it does the random reads of one".to_owned()
        }
        (BoundKind::Bandwidth, HopKind::Memory) if loaded.copied_by_zfs && bound.direction == Some(Direction::Write) => {
            "written data crosses main memory four times under ZFS: into the ARC, checksum, parity or compression, out"
                .to_owned()
        }
        (BoundKind::Bandwidth, HopKind::Link) if loaded.translated => {
            "address translation takes a part of the link; its law was measured with 4 KiB pages on Xeons of 2012 to 2016"
                .to_owned()
        }
        _ => return None,
    };
    Some(said)
}

/// What was assumed of ZFS and of caches before drives.
fn file_system(workload: &Workload, hops: &[Loaded<'_>]) -> Vec<String> {
    let mut notes = Vec::new();
    let missed = hops.iter().map(|loaded| loaded.missed).fold(1.0, f64::min);
    if missed < 1.0 && workload.read_share > 0.0 {
        let hit = human::percent(1.0 - missed);
        notes.push(format!(
            "{hit} of reads are taken to find their data in the ARC, as if all had been read before"
        ));
    }
    let writes = workload.writes();
    if writes && workload.pattern == Pattern::Random && hops.iter().any(|loaded| loaded.grown > 1.0) {
        notes.push(
            "random writes of less than a record have no law: what ZFS reads for them is not counted"
                .to_owned(),
        );
    }
    let length = workload
        .size
        .map_or(Bytes::new(u64::MAX), |size| Bytes::new(size.get() / u64::from(workload.jobs.max(1))));
    let is_stream = workload.pattern == Pattern::Sequential && cache::passes_by(length);
    if writes && is_stream && hops.iter().any(|loaded| loaded.hop.kind() == HopKind::Cache) {
        let cutoff = human::block_size(cache::SEQUENTIAL_CUTOFF);
        notes.push(format!(
            "streams longer than {cutoff} pass bcache by unless sequential_cutoff is 0: then the backing device takes all writes"
        ));
    }
    notes
}
