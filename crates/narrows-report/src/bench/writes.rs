//! What a run may write and has written, and what it was thought to take.

use serde::{Deserialize, Serialize};

use crate::document::Blocks;
use crate::text::Tone;
use narrows_base::units::{Bytes, Nanos, human};
use narrows_session::runner::Allowed;
use narrows_session::writes::{Account, Before, Estimated};

/// What may be and was written.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WritesView {
    /// The most that may be written in all, whether the run is resumed or not: the filling of the target and the tests.
    pub limit_bytes: Bytes,
    /// Whether `--max-writes` said so; else it is at most 8 GiB and 0.01 % of the drive's rated life.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_is_asked: Option<bool>,
    /// The most by the counters of each device of the path: `limit_bytes`, and what a file system adds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_limit_bytes: Option<Bytes>,
    /// What was written so far: the filling of the target and the tests.
    pub written_bytes: Bytes,
    /// What the device below the file system has counted since this run began, whoever wrote it; `null` where none counts.
    #[serde(default)]
    pub device_written_bytes: Option<Bytes>,
    /// What would be written if every test took its longest at the ceiling of the path, were it allowed.
    pub expected_bytes: Option<Bytes>,
    /// What may be written to the drive in its life; `null` where that is not known.
    #[serde(default)]
    pub rated_life_bytes: Option<Bytes>,
    /// The class of drives of which that is usual; `null` where the maker of this one says it.
    #[serde(default)]
    pub rated_life_class: Option<String>,
    /// `device_limit_bytes` as a part of `rated_life_bytes`, 1 for all of it.
    pub limit_of_rated_life: Option<f64>,
    /// Whether a write was refused since it would have been more than `limit_bytes`.
    pub limit_reached: bool,
    /// What the whole run was thought to take, after the first 256 MiB; `null` before.
    #[serde(default)]
    pub estimate: Option<EstimateView>,
    /// Why fields that are `null` are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl WritesView {
    /// What a run may write and has written, and why what is not known of it is not.
    pub fn of(account: &Account) -> Self {
        let (life, class) = (account.life, account.life.and_then(|life| life.class));
        let why = [
            (account.expected.is_none(), "expected_bytes: the path's ceiling is not known"),
            (life.is_none(), "rated_life_bytes, limit_of_rated_life: the drive's endurance is not known"),
            (life.is_some() && class.is_none(), "rated_life_class: the life is that of the model"),
            (account.device_written.is_none(), "device_written_bytes: no device of the path is looked at"),
            (account.estimate.is_none(), "estimate: less than 256 MiB were written"),
        ];
        let why: Vec<&str> = why.into_iter().filter_map(|(is_so, why)| is_so.then_some(why)).collect();
        Self {
            limit_bytes: account.limit,
            limit_is_asked: Some(account.limit_is_asked),
            device_limit_bytes: Some(account.device_limit),
            written_bytes: account.written,
            device_written_bytes: account.device_written,
            expected_bytes: account.expected,
            rated_life_bytes: life.map(|life| life.rated),
            rated_life_class: class.map(str::to_owned),
            limit_of_rated_life: account.limit_of_life,
            limit_reached: account.limit_reached,
            estimate: account.estimate.as_ref().map(EstimateView::of),
            reason: (!why.is_empty()).then(|| why.join("; ")),
        }
    }

    /// What counts for a run that goes on with this one.
    pub const fn before(&self) -> Before {
        Before { limit: self.limit_bytes, limit_is_asked: self.limit_is_asked, written: self.written_bytes }
    }
}

/// What a run was thought to take, and what it took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EstimateView {
    /// So much had been written when the estimate was made.
    pub after_bytes: Bytes,
    /// What the run was thought to write in all.
    pub bytes: Bytes,
    /// How long it was thought to take in all, from the announcement on.
    pub time_ns: Nanos,
    /// What it has written.
    pub actual_bytes: Bytes,
    /// How long it took.
    pub actual_time_ns: Nanos,
    /// Whether tests end so that neither is exceeded by more than half; not where `--max-time` or `--duration` say how long they
    /// take.
    pub is_held: bool,
}

impl EstimateView {
    fn of(estimated: &Estimated) -> Self {
        Self {
            after_bytes: estimated.after,
            bytes: estimated.bytes,
            time_ns: estimated.time.into(),
            actual_bytes: estimated.actual_bytes,
            actual_time_ns: estimated.actual_time.into(),
            is_held: estimated.is_held,
        }
    }
}

/// What a test that writes might write.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AllowanceView {
    /// The most that it might write, its warm-up included.
    pub bytes: Bytes,
    /// What it wrote.
    pub written_bytes: Bytes,
    /// Whether that ended the test before its rate was known well enough.
    pub ended_test: bool,
    /// A `--max-writes` with which it would likely be; `null` unless it ended the test, and where only the estimate of the
    /// whole run kept it from more (`--max-time` lifts that).
    #[serde(default)]
    pub needed_max_writes_bytes: Option<Bytes>,
}

impl AllowanceView {
    /// What came of what a test might write.
    pub const fn of(allowed: &Allowed) -> Self {
        Self {
            bytes: allowed.bytes,
            written_bytes: allowed.written,
            ended_test: allowed.ended_test,
            needed_max_writes_bytes: allowed.needed,
        }
    }
}

/// What was written, in words.
pub(crate) fn put(out: &mut impl Blocks, writes: &WritesView, is_device: bool) {
    let (written, limit) = (human::bytes(writes.written_bytes), human::bytes(writes.limit_bytes));
    let mut text = format!("{written} of data that cannot be compressed");
    if let Some(counted) = writes.device_written_bytes.filter(|_| !is_device) {
        text.push_str(&format!(" ({} by the device's counter, whoever wrote it)", human::bytes(counted)));
    }
    match writes.limit_is_asked {
        Some(false) => text.push_str(&format!("; {limit} are allowed without --max-writes")),
        _ => text.push_str(&format!("; --max-writes allows {limit}")),
    }
    if let Some(estimate) = &writes.estimate {
        text.push_str(&format!(
            "; estimated {} in {}, took {}",
            human::bytes(estimate.bytes),
            human::time(estimate.time_ns),
            human::time(estimate.actual_time_ns)
        ));
    }
    if is_device {
        text.push_str("; what was written is cleared afterwards");
    }
    out.gap();
    out.lead((Tone::Faint, "written: "), Tone::Normal, text);
}
