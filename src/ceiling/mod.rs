//! What can each hop carry?
//!
//! One file for each law: a pure function of a hop's facts, with its citation, range of validity and formula. Same
//! input, same output: nothing here reads a clock, a file or the machine.

pub mod narrow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::machine::fact::Source;
use crate::path::Hop;
use crate::units::BytesPerSec;

/// What a ceiling rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// The rate before packet overhead, where the law tells the two apart.
    pub raw: Option<BytesPerSec>,
    /// What that rests on.
    pub basis: Basis,
    /// How it was computed, with units: `8 GT/s × 4 × 128/130 / 8 = 3.94 GB/s raw; × 256/(256+24) × 0.9974 = 3.59 GB/s`.
    pub formula: String,
    /// From what.
    pub facts: Vec<FactRef>,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the medium to the application.
    Read,
    /// From the application to the medium.
    Write,
}

impl Ceilings {
    /// The ceiling in one direction.
    pub const fn of(&self, direction: Direction) -> &Ceiling {
        match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
        }
    }
}

/// The ceilings of one hop.
pub fn of_hop(_hop: &Hop) -> Ceilings {
    let unknown = Ceiling::Unknown("no law for this kind of hop".to_owned());
    Ceilings { read: unknown.clone(), write: unknown }
}
