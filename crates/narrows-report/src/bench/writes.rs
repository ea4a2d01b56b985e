//! What a run may write and has written, and what it was thought to take.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::Blocks;
use crate::text::Tone;
use narrows_base::units::{Bytes, Nanos, human};

/// What may be and was written.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Percent of each written block that are zeros; the rest cannot be compressed.
    pub compressible_percent: u8,
    /// What the whole run was thought to take, after the first 256 MiB; `null` before.
    #[serde(default)]
    pub estimate: Option<EstimateView>,
    /// Why fields that are `null` are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a run was thought to take, and what it took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// What a test that writes might write.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
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

/// What was written, in words.
pub(crate) fn put(out: &mut impl Blocks, writes: &WritesView, is_device: bool) {
    let data = match writes.compressible_percent {
        0 => "of data that cannot be compressed".to_owned(),
        percent => format!("of data of which {percent} % are zeros"),
    };
    let (written, limit) = (human::bytes(writes.written_bytes), human::bytes(writes.limit_bytes));
    let mut text = format!("{written} {data}");
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
