//! The highest rate of a load within a limit of latency.

use serde::{Deserialize, Serialize};

use narrows_base::units::{BytesPerSec, Iops, Nanos, human};
use narrows_load::latency_target::LatencyTarget;
use narrows_load::measurement::Measurement;
use narrows_session::runner::Aimed;

/// The highest rate of a load at which a percentile of its latency stays within a limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AtTarget {
    /// The limit.
    pub target: LatencyTarget,
    /// The load, or the point of a sweep: `RND4K Q32T1 read`.
    pub load: String,
    /// The highest rate that met it; `null` where none did.
    pub iops: Option<Iops>,
    /// The same in bytes.
    pub bytes_per_second: Option<BytesPerSec>,
    /// The percentile at that rate.
    pub latency_ns: Option<Nanos>,
    /// The lowest rate that was tried and did not meet it; `null` where the load met it as fast as it goes.
    pub missed_at_iops: Option<Iops>,
    /// Why fields that are `null` are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl AtTarget {
    /// Before anything was tried.
    pub fn unknown(target: &LatencyTarget, load: &str) -> Self {
        Self {
            target: target.clone(),
            load: load.to_owned(),
            iops: None,
            bytes_per_second: None,
            latency_ns: None,
            missed_at_iops: None,
            reason: None,
        }
    }

    /// What was found of a load.
    pub fn found(target: &LatencyTarget, load: &str, found: Aimed) -> Self {
        Self {
            target: target.clone(),
            load: load.to_owned(),
            iops: found.iops,
            bytes_per_second: found.bytes_per_second,
            latency_ns: found.latency,
            missed_at_iops: found.missed_at,
            reason: found.why,
        }
    }

    /// A run met it.
    #[must_use]
    pub fn met_by(self, run: &Measurement) -> Self {
        let latency_ns = self.target.of(&run.latency);
        Self { iops: Some(run.iops), bytes_per_second: Some(run.bytes_per_second), latency_ns, ..self }
    }

    /// The search ended before its end.
    #[must_use]
    pub fn because(self, why: &str) -> Self {
        Self { reason: Some(why.to_owned()), ..self }
    }

    /// The same in a sentence.
    pub fn in_words(&self) -> String {
        let (target, load) = (&self.target, &self.load);
        match (self.iops, self.bytes_per_second, self.latency_ns) {
            (Some(iops), Some(rate), Some(latency)) => {
                let end = match (self.missed_at_iops, &self.reason) {
                    (_, Some(reason)) => format!("; more was not tried: {reason}"),
                    (Some(missed), None) => format!("; {} IOPS do not meet it", human::count(missed.get())),
                    (None, None) => ", as fast as it goes".to_owned(),
                };
                format!(
                    "{load} meets {target} up to {} IOPS, {} ({} there){end}",
                    human::count(iops.get()),
                    human::rate(rate),
                    human::time(latency)
                )
            }
            _ => match &self.reason {
                Some(reason) => format!("{load}: no rate that meets {target} is known: {reason}"),
                None => format!("{load}: no rate that was tried meets {target}"),
            },
        }
    }
}
