//! One thing that bounds the rate of a workload.

use serde::{Deserialize, Serialize};

use super::law::Term;
use crate::ceiling::{Basis, Direction, FactRef};
use crate::path::HopId;
use narrows_base::units::BytesPerSec;

/// The kinds of bound.
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

impl BoundKind {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Bandwidth => "bandwidth",
            Self::Iops => "iops",
            Self::Depth => "depth",
            Self::Processor => "processor",
            Self::Cap => "cap",
        }
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
