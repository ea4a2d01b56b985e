//! What a qualification says of a drive beside the results of its tests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AtTarget;
use crate::document::Blocks;
use crate::text::Tone;
use narrows_base::units::{Bytes, BytesPerSec, Nanos, human};
use narrows_load::qualify::{Cache, Part, Recovery};

/// What a qualification says of a drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QualifyView {
    /// What of the drive can be written: all but its first and its last MiB.
    pub capacity_bytes: Bytes,
    /// What of that was written.
    pub region_bytes: Bytes,
    /// What must be allowed (`--max-writes`) for every part.
    pub needed_max_writes_bytes: Bytes,
    /// The parts, in the order in which they ran.
    pub parts: Vec<PartView>,
    /// What the first pass says of a fast cache; `null` where that pass did not come to its end.
    pub cache: Option<Cache>,
    /// Whether random writes became steady; `null` where they did not run.
    pub steady: Option<SteadyView>,
    /// What of the cache was back after a rest; `null` where that was not looked for.
    pub recovery: Option<RecoveryView>,
    /// The highest rate within the limit of latency that was asked for; `null` without one.
    pub at_target: Option<AtTarget>,
    /// Bytes that the medium wrote for each byte that was sent, in the steady rounds; `null` where the drive does not tell.
    pub write_amplification: Option<WriteAmplification>,
    /// Why fields that are `null` are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a part might write, and wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartView {
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SteadyView {
    /// Whether the last five rounds agree: within 20 % of their mean, drifting by at most 10 % (SNIA PTS 2.0.2, 2.1.24).
    pub is_steady: bool,
    /// The rate in each round.
    pub rounds: Vec<BytesPerSec>,
    /// What was written to the drive before the first round, as a multiple of its capacity.
    pub preconditioned: f64,
}

/// What was back after a rest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecoveryView {
    /// How long the drive was left alone.
    pub rest_ns: Nanos,
    /// What of the cache was back.
    #[serde(flatten)]
    pub recovery: Recovery,
}

/// What the medium wrote beside what was sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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

/// A part in words.
pub const fn in_words(part: Part) -> &'static str {
    match part {
        Part::Cache => "first pass over the region",
        Part::Steady => "second pass and steady rounds",
        Part::Reads => "reads",
        Part::Mixed => "reads and writes at once",
        Part::LatencyTarget => "rate at the latency target",
        Part::Recovery => "recovery after a rest",
    }
}

/// What the first pass says.
fn cache(cache: &Cache) -> String {
    match cache {
        Cache::Seen { bytes, fast_bytes_per_second, slow_bytes_per_second } => format!(
            "fast cache: {} went at {}, then {}",
            human::bytes(*bytes),
            human::rate(*fast_bytes_per_second),
            human::rate(*slow_bytes_per_second)
        ),
        Cache::NotSeen { larger_than_bytes, bytes_per_second } => format!(
            "no fall of the rate was seen in {} at {}: a fast cache, if there is one, is larger than that",
            human::bytes(*larger_than_bytes),
            human::rate(*bytes_per_second)
        ),
        Cache::TooShort => {
            "the first pass was over within two seconds, which says nothing of a fast cache".to_owned()
        }
        Cache::Uneven => {
            "the rate of the first pass moved by more than 30 % without one fall that stayed: the size of a fast cache is not known"
                .to_owned()
        }
    }
}

fn recovery(view: &RecoveryView) -> String {
    let after = format!("after a rest of {}", human::time(view.rest_ns));
    match &view.recovery {
        Recovery::Back { bytes, part } => {
            format!("{after} {} of the cache are back ({})", human::bytes(*bytes), human::percent(*part))
        }
        Recovery::AtLeast { bytes, part } => {
            format!(
                "{after} at least {} of the cache are back ({})",
                human::bytes(*bytes),
                human::percent(*part)
            )
        }
        Recovery::None { bytes_per_second } => {
            format!(
                "{after} nothing of the cache is back: {} from the beginning",
                human::rate(*bytes_per_second)
            )
        }
        Recovery::NotKnown => {
            format!(
                "{after} the rate was neither that of the cache nor that behind it: what is back is not known"
            )
        }
    }
}

fn steady(view: &SteadyView) -> String {
    let last = view.rounds.last().map_or_else(|| "nothing".to_owned(), |rate| human::rate(*rate));
    let count = view.rounds.len();
    if view.is_steady {
        format!(
            "random writes are steady at {last} after {count} rounds, on a drive that was written {}",
            times(view.preconditioned)
        )
    } else {
        format!(
            "random writes were not steady after {count} rounds, the last at {last}: no steady state is claimed"
        )
    }
}

fn times(times: f64) -> String {
    format!("{} times over before", human::count(times))
}

/// All of it in words.
pub(super) fn put(out: &mut impl Blocks, view: &QualifyView) {
    out.gap();
    let (region, capacity) = (human::bytes(view.region_bytes), human::bytes(view.capacity_bytes));
    let what = if view.region_bytes == view.capacity_bytes {
        format!("all {capacity} of the drive were written")
    } else {
        format!("{region} of the {capacity} of the drive were written: nothing here is said of the rest")
    };
    out.lead((Tone::Strong, "qualification: "), Tone::Normal, what);
    let told = [
        view.cache.as_ref().map(cache),
        view.steady.as_ref().map(steady),
        view.recovery.as_ref().map(recovery),
        view.at_target.as_ref().map(AtTarget::in_words),
        view.write_amplification.as_ref().map(|seen| {
            format!("the medium wrote {:.2} bytes for each byte sent ({})", seen.factor, seen.source)
        }),
    ];
    for text in told.into_iter().flatten() {
        out.say(2, Tone::Normal, text);
    }
}
