//! What a qualification comes to.

use serde::{Deserialize, Serialize};

use super::said::why;
use crate::objection::Objection;
use crate::runner::{Aimed, Outcome};
use narrows_base::units::{Bytes, BytesPerSec, Nanos};
use narrows_load::error::LoadError;
use narrows_load::preset::LoadSpec;
use narrows_load::qualify::{Cache, Part, Plan, Recovery};

/// What a qualification has come to.
#[derive(Debug, Default)]
pub struct Qualified {
    /// The parts, in the order in which they run.
    pub parts: Vec<PartRan>,
    /// Each load that was run or could not begin.
    pub loads: Vec<Ran>,
    /// What the first pass says of a fast cache.
    pub cache: Option<Cache>,
    /// Whether random writes became steady.
    pub steady: Option<Steady>,
    /// What of the cache was back after a rest.
    pub recovery: Option<Rested>,
    /// A load, and its highest rate within the limit of latency.
    pub aimed: Option<(String, Aimed)>,
    /// What the medium wrote in the steady rounds.
    pub write_amplification: Option<WriteAmplification>,
    /// Why not all parts that fit came to their end.
    pub cut_short: Option<String>,
    /// What failed.
    pub trouble: Option<Objection>,
}

/// A load, and what came of it.
#[derive(Debug)]
pub struct Ran {
    /// Its name among the others.
    pub name: String,
    /// What was done.
    pub load: LoadSpec,
    /// What came of it, or why it could not begin.
    pub came: Result<Outcome, LoadError>,
}

impl Ran {
    /// Whether it is a pass over the drive: its rate changes by design, and how long it takes is not chosen.
    pub fn is_pass(&self) -> bool {
        self.came.as_ref().is_ok_and(|outcome| outcome.allowance.is_some())
    }
}

/// What a part might write, and wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "PartView"))]
pub struct PartRan {
    /// The part.
    pub part: Part,
    /// The most that it writes.
    pub most_bytes: Bytes,
    /// What it wrote.
    pub written_bytes: Bytes,
    /// Why it did not run, or not to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What random writes came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "SteadyView"))]
pub struct Steady {
    /// Whether the last five rounds agree: within 20 % of their mean, drifting by at most 10 % (SNIA PTS 2.0.2, 2.1.24).
    pub is_steady: bool,
    /// The rate in each round.
    pub rounds: Vec<BytesPerSec>,
    /// What was written to the drive before the first round, as a multiple of its capacity.
    pub preconditioned: f64,
}

/// What was back after a rest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "RecoveryView"))]
pub struct Rested {
    /// How long the drive was left alone.
    pub rest_ns: Nanos,
    /// What of the cache was back.
    #[serde(flatten)]
    pub recovery: Recovery,
}

/// What the medium wrote beside what was sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WriteAmplification {
    /// Bytes written to the medium for each byte that was sent.
    pub factor: f64,
    /// What was sent.
    pub sent_bytes: Bytes,
    /// What was written to the medium.
    pub medium_bytes: Bytes,
    /// Where the drive says so.
    pub source: String,
}

impl WriteAmplification {
    /// What the medium wrote from its counter `before` to that `after`, each with where it stands, while `sent` were sent to it.
    pub(super) fn of(
        before: Option<(Bytes, String)>,
        after: Option<(Bytes, String)>,
        sent: Bytes,
    ) -> Option<Self> {
        let ((before, source), (after, _)) = (before?, after?);
        let medium = after.saturating_sub(before);
        let factor = medium.as_f64() / sent.as_f64();
        (sent.get() > 0 && medium.get() > 0).then_some(Self {
            factor,
            sent_bytes: sent,
            medium_bytes: medium,
            source,
        })
    }
}

impl Qualified {
    /// Before the first byte.
    pub(super) fn of(plan: &Plan) -> Self {
        let parts = plan.parts.iter().map(|planned| PartRan {
            part: planned.part,
            most_bytes: planned.most,
            written_bytes: Bytes::new(0),
            reason: (!planned.fits).then(|| why(plan, planned.most)),
        });
        Self { parts: parts.collect(), ..Self::default() }
    }

    pub(super) fn part(&mut self, part: Part, change: impl FnOnce(&mut PartRan)) {
        if let Some(ran) = self.parts.iter_mut().find(|ran| ran.part == part) {
            change(ran);
        }
    }

    pub(super) fn add(&mut self, name: &str, load: &LoadSpec, came: Result<Outcome, LoadError>) {
        self.loads.push(Ran { name: name.to_owned(), load: load.clone(), came });
    }

    /// What passes wrote so far.
    pub(super) fn in_passes(&self) -> Bytes {
        let allowed = self.loads.iter().filter_map(|ran| ran.came.as_ref().ok()?.allowance);
        allowed.fold(Bytes::new(0), |sum, allowed| sum + allowed.written)
    }
}
