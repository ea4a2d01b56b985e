//! Why is it this fast?
//!
//! [`judge`] is handed what is known of each path (hops, ceilings and, where load was run, what it achieved and what
//! the machine did meanwhile) and answers with the narrowest hop, the next one behind it, and findings. Findings are
//! made by rules, one file each in `rules/`; `attribution` names the hop that limits a measured path.

pub mod finding;

pub use finding::{Advice, Code, Confidence, Evidence, Finding, Severity};

use std::collections::BTreeMap;

use crate::ceiling::{Ceilings, Direction};
use crate::load::measurement::Measurement;
use crate::machine::Machine;
use crate::machine::activity::Activity;
use crate::path::{HopId, Path};
use crate::units::BytesPerSec;

/// One path with its ceilings and what was measured on it.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The path.
    pub path: Path,
    /// The ceilings of its hops, in the order of [`Path::hops`].
    pub ceilings: Vec<Ceilings>,
    /// The runs that were made on it, if any.
    pub runs: Vec<Run>,
}

/// One run and what the machine did meanwhile.
#[derive(Debug, Clone)]
pub struct Run {
    /// The direction of data.
    pub direction: Direction,
    /// What was achieved.
    pub measurement: Measurement,
    /// What the machine did during the measured time.
    pub activity: Activity,
    /// What it did while idle, just before (background load, round-trip times without queueing).
    pub idle: Activity,
}

/// What a measurement says of one hop in one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The rate across the hop in its own bytes.
    pub rate: BytesPerSec,
    /// The confidence interval, where there is one.
    pub ci95: Option<[BytesPerSec; 2]>,
    /// Whether to believe it.
    pub trusted: bool,
}

/// The verdict on one path.
#[derive(Debug, Clone, Default)]
pub struct PathVerdict {
    /// The narrowest hop in each direction.
    pub limiting: BTreeMap<Direction, HopId>,
    /// The one behind it.
    pub next: BTreeMap<Direction, HopId>,
    /// Why there is no narrowest hop, where there is none.
    pub unknown: BTreeMap<Direction, String>,
    /// What was measured at each hop.
    pub measured: BTreeMap<(HopId, Direction), Measured>,
    /// One sentence: which hop limits, what it carries, and what comes next.
    pub sentence: String,
}

/// The verdict on a machine.
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    /// One for each subject, in order.
    pub paths: Vec<PathVerdict>,
    /// All findings, worst first, each once however many paths it touches.
    pub findings: Vec<Finding>,
}

/// Judges the paths of a machine.
pub fn judge(_machine: &Machine, _subjects: &[Subject]) -> Verdict {
    Verdict::default()
}
