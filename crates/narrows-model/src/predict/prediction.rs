//! What is predicted.

use serde::{Deserialize, Serialize};

use super::Bound;
use super::answer::{self, Answer};
use super::law::{Residuals, Situation};
use crate::path::file::Workload;
use crate::path::{HopId, Path};
use narrows_base::units::{BytesPerSec, Iops, Nanos};

/// What a workload will get.
#[derive(Debug, Clone)]
pub struct Prediction {
    /// The workload.
    pub workload: Workload,
    /// Its path.
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
    /// What may be said of the rate: where the truth lies, or that it is not known.
    pub answer: Answer,
    /// What decides which laws hold.
    pub situation: Situation,
    /// What a person should know of it: what was assumed, what is not covered.
    pub notes: Vec<String>,
}

impl Prediction {
    /// What may be said by other residuals than those that the program was built with.
    pub fn answer_by(&self, residuals: &Residuals) -> Answer {
        answer::answer(&self.situation, &self.bounds, (self.rate, self.decides), residuals)
    }

    /// The bound that nothing exceeds, where the rate is not known.
    pub fn at_most(&self) -> Option<&Bound> {
        self.bounds.get(self.answer.not_known()?.at_most?)
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
    /// The hop.
    pub hop: HopId,
    /// The change of the rate, in parts of itself, for each part by which the ceiling changes: 1 where the hop alone
    /// decides, ½ where it takes half of the time of each request, 0 where it does not matter.
    pub elasticity: f64,
}
