//! What a qualification says of a drive beside the results of its tests.

use serde::{Deserialize, Serialize};

use super::{AtTarget, TestResult};
use crate::document::Blocks;
use crate::text::Tone;
use narrows_base::units::{Bytes, human};
use narrows_load::latency_target::LatencyTarget;
use narrows_load::qualify::{Cache, Plan, Recovery};
use narrows_session::qualify::{PartRan, Qualified, Rested, Steady, WriteAmplification};
use narrows_verdict::Code;

/// What a qualification says of a drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QualifyView {
    /// What of the drive can be written: all but its first and its last MiB.
    pub capacity_bytes: Bytes,
    /// What of that was written.
    pub region_bytes: Bytes,
    /// What must be allowed (`--max-writes`) for every part.
    pub needed_max_writes_bytes: Bytes,
    /// The parts, in the order in which they ran.
    pub parts: Vec<PartRan>,
    /// What the first pass says of a fast cache; `null` where that pass did not come to its end.
    pub cache: Option<Cache>,
    /// Whether random writes became steady; `null` where they did not run.
    pub steady: Option<Steady>,
    /// What of the cache was back after a rest; `null` where that was not looked for.
    pub recovery: Option<Rested>,
    /// The highest rate within the limit of latency that was asked for; `null` without one.
    pub at_target: Option<AtTarget>,
    /// Bytes that the medium wrote for each byte that was sent, in the steady rounds; `null` where the drive does not tell.
    pub write_amplification: Option<WriteAmplification>,
    /// Why fields that are `null` are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl QualifyView {
    /// What a qualification by a plan came to; what is `null` says why.
    pub fn of(plan: &Plan, target: Option<&LatencyTarget>, came: &Qualified) -> Self {
        let at_target = target.zip(came.aimed.clone());
        let at_target = at_target.map(|(target, (load, found))| AtTarget::found(target, &load, found));
        let why = [
            (came.cache.is_none(), "cache: the first pass did not come to its end"),
            (came.steady.is_none(), "steady: the steady rounds did not run"),
            (came.recovery.is_none(), "recovery: no fall of the rate was seen, or it was not looked for"),
            (at_target.is_none(), "at_target: no --target was asked for, or it was not come to"),
            (
                came.write_amplification.is_none(),
                "write_amplification: the steady rounds did not run, or the drive does not tell what its medium wrote (log page \
                 C0h, as root)",
            ),
        ];
        let why: Vec<&str> = why.into_iter().filter_map(|(is_so, why)| is_so.then_some(why)).collect();
        Self {
            capacity_bytes: plan.capacity,
            region_bytes: plan.region,
            needed_max_writes_bytes: plan.needed,
            parts: came.parts.clone(),
            cache: came.cache,
            steady: came.steady.clone(),
            recovery: came.recovery.clone(),
            at_target,
            write_amplification: came.write_amplification.clone(),
            reason: (!why.is_empty()).then(|| why.join("; ")),
        }
    }
}

/// A pass over the drive is no steady run: its rate changes by design, and how long it takes is not chosen.
#[must_use]
pub fn of_pass(mut result: TestResult) -> TestResult {
    let is_by_design = |code: Code| matches!(code, Code::Unsteady | Code::TooShort);
    let others = result.findings.iter().any(|note| !is_by_design(note.code));
    result.findings.retain(|note| !is_by_design(note.code));
    if !others && result.failed.is_none() {
        result.trusted = None;
        let why = "trusted: a pass over the drive is no steady run";
        result.reason = Some(match result.reason.take() {
            Some(reason) => format!("{reason}; {why}"),
            None => why.to_owned(),
        });
    }
    result
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

fn recovery(view: &Rested) -> String {
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

fn steady(view: &Steady) -> String {
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
