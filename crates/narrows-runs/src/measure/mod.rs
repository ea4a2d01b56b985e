//! The view model of `narrows measure`: exactly what `--json` prints and `--save` keeps, and all that the text is made of.
//!
//! Rates are bytes per second, sizes bytes, times nanoseconds. What is absent is `null`, and the same object then says
//! why in `reason`. A saved report is read again by `--resume`, so every type here can be read as well as written.

mod answer;
mod build;
pub mod sweep;
mod text;

pub use build::{Context, checks, not_begun, of_load, of_scan, report};
pub(crate) use text::put_writes;
pub use text::{document, list};

use serde::{Deserialize, Serialize};

use self::sweep::Curve;
use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};
use narrows_load::measurement::{GeneratorUse, Latency, RunFailure};
use narrows_load::preset::{LoadSpec, StopRule};
use narrows_load::scan::{Scan, ScanPlan};
use narrows_load::stats::Steadiness;
use narrows_model::ceiling::Direction;
use narrows_report::require::{Figures, Known};
use narrows_report::view::{ConditionView, MachineView, Tool};
use narrows_session::measure::Timing;
use narrows_session::place::Place;
use narrows_session::runner::Allowed;
use narrows_session::writes::Account;
use narrows_verdict::{Code, Severity};

/// The name and version of the schema, in [`MeasureReport::schema`].
pub const SCHEMA: &str = "narrows/measure/1";

/// What a preset found out about a target, so far or in all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeasureReport {
    /// Always `narrows/measure/1`.
    pub schema: String,
    /// The program that made this report.
    pub tool: Tool,
    /// The machine that it ran on.
    pub machine: MachineView,
    /// What was measured.
    pub target: TargetView,
    /// Which tests, and where they are from.
    pub preset: PresetView,
    /// How the tests were run.
    pub settings: Settings,
    /// The most that the application can move through the path.
    pub ceilings: PathCeilings,
    /// The loads of a sweep; absent for a preset, whose name says them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub swept: Vec<LoadSpec>,
    /// One for each test that was run, in order.
    pub results: Vec<TestResult>,
    /// What the points of a sweep show, along depth or streams.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<Curve>,
    /// Tests of the preset that were not run.
    pub left_out: Vec<LeftOut>,
    /// What may be and was written; absent when nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<Account>,
    /// Whether every test was run that was not left out.
    pub complete: bool,
    /// Why it is not complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl MeasureReport {
    /// The test that failed, and why.
    pub fn failed(&self) -> Option<(&str, &FailedView)> {
        self.results.iter().find_map(|result| Some((result.name.as_str(), result.failed.as_ref()?)))
    }

    /// Whether a result is not to be trusted, was cut short, or does not fit its neighbours.
    pub fn has_doubts(&self) -> bool {
        let is_odd = |curve: &Curve| !curve.shape.anomalies.is_empty() || !curve.shape.drops.is_empty();
        self.results.iter().any(|result| result.trusted == Some(false)) || self.curves.iter().any(is_odd)
    }

    /// What rules can ask of it.
    pub fn known(&self) -> Known {
        let figures = self.results.iter().flat_map(|result| {
            let sides = [(Direction::Read, &result.read), (Direction::Write, &result.write)];
            sides.into_iter().filter_map(|(direction, side)| {
                let side = side.as_ref()?;
                Some(Figures {
                    name: result.name.clone(),
                    direction,
                    rate: side.bytes_per_second,
                    ci95: side.ci95,
                    iops: Some(side.iops),
                    latencies: Figures::percentiles(&side.latency_ns),
                    trusted: result.trusted == Some(true) && result.is_whole(),
                })
            })
        });
        let notes = self.results.iter().flat_map(|result| &result.findings);
        Known {
            figures: figures.collect(),
            findings: notes.map(|note| (note.code, note.severity, note.summary.clone())).collect(),
            ..Known::default()
        }
    }

    /// The result of the test with this name.
    pub fn result(&self, name: &str) -> Option<&TestResult> {
        self.results.iter().find(|result| result.name == name)
    }
}

/// What was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TargetView {
    /// The target as it was typed.
    pub name: String,
    /// What was opened for it.
    pub kind: TargetKind,
    /// The bytes of it that tests visit.
    pub size_bytes: Bytes,
}

/// What was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    /// A block device, only read.
    Device,
    /// A file that was there before, only read.
    File,
    /// A scratch file of ours, read and written.
    Scratch,
    /// A block device that was proven empty, read and written between its first and its last MiB.
    OwnedDevice,
}

impl From<&Place> for TargetKind {
    fn from(place: &Place) -> Self {
        match place {
            Place::Device(_) => Self::Device,
            Place::File(_) => Self::File,
            Place::Scratch(_) => Self::Scratch,
            Place::Owned { .. } => Self::OwnedDevice,
        }
    }
}

/// A preset in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PresetView {
    /// What was typed after `--as`.
    pub name: String,
    /// What it does.
    pub about: String,
    /// What it is modelled on.
    pub source: String,
    /// What is different from that.
    pub differs: String,
}

/// How the tests were run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Settings {
    /// When a test has run long enough.
    pub stop: StopRule,
    /// Half of the confidence interval at which a test stops, as a part of the rate.
    pub precision: f64,
    /// The longest that one test runs.
    pub max_time_ns: Nanos,
    /// The exact time of each test, where one was asked for.
    pub duration_ns: Option<Nanos>,
    /// What is run before each test and not counted.
    pub warm_up_ns: Nanos,
    /// How many samples a scan reads, and how large, where the preset has a scan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scan: Option<ScanPlan>,
    /// Why `duration_ns` is `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Settings {
    /// How long tests ran, all else as it is where nothing was asked.
    pub fn of(timing: &Timing) -> Self {
        Self {
            stop: timing.stop,
            precision: timing.precision,
            max_time_ns: timing.max_time.into(),
            duration_ns: timing.fixed.map(Nanos::from),
            warm_up_ns: timing.warm_up.into(),
            scan: None,
            reason: timing.fixed.is_none().then(|| "duration_ns: tests stop by their rule".to_owned()),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathCeilings {
    /// For reads.
    pub read: Option<PathCeiling>,
    /// For writes.
    pub write: Option<PathCeiling>,
    /// Why one is `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The narrowest hop of the path in one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathCeiling {
    /// Its identity.
    pub hop: String,
    /// Its name for a person.
    pub name: String,
    /// The most that the application can move through it.
    pub bytes_per_second: BytesPerSec,
}

/// A test that was not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// The test.
    pub name: String,
    /// Why not.
    pub reason: String,
}

/// What one test achieved.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TestResult {
    /// The name of the test.
    pub name: String,
    /// The load that was run; `null` for a scan of positions.
    pub load: Option<LoadSpec>,
    pub read: Option<SideView>,
    pub write: Option<SideView>,
    /// Reads and writes together, where the test has both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub both: Option<SideView>,
    /// Its rate at first, where that did not fit between its neighbours and it was run once more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<BytesPerSec>,
    /// The measured time.
    pub elapsed_ns: Nanos,
    /// Why the test ended.
    pub ended: String,
    /// What the test might write; absent where it writes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowance: Option<Allowed>,
    /// Whether to believe it.
    pub trusted: Option<bool>,
    /// What the verdict says of this test.
    pub findings: Vec<Note>,
    /// What the generator says of itself.
    pub checks: Option<Checks>,
    /// The rate in each 100 ms, reads and writes together, in bytes per second.
    pub series: Vec<BytesPerSec>,
    /// The mean rates of rounds, where the test was run in rounds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<BytesPerSec>,
    /// The steady-state test of the rounds, or else of the series.
    pub steadiness: Option<Steadiness>,
    /// Rates and access times by position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scan: Option<Scan>,
    /// I/Os that failed.
    pub errors: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_error: Option<String>,
    /// Why the test ended before its time, when it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<String>,
    /// What ended the test, when it failed; the figures are of what came before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<FailedView>,
    /// What the tool that the preset is modelled on would print.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<PeerView>,
    /// The same test as a command line of fio.
    pub fio_command: String,
    /// Why fields that are `null` are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl TestResult {
    /// All that it moved, in whatever direction; `None` where nothing was measured.
    pub fn whole(&self) -> Option<&SideView> {
        let side = [&self.both, &self.read, &self.write].into_iter().flatten().next();
        side.filter(|_| self.elapsed_ns.get() > 0)
    }

    /// What it moved in a second, in all directions; `None` where nothing was measured.
    pub fn rate(&self) -> Option<BytesPerSec> {
        let sides = [&self.read, &self.write];
        let rate: BytesPerSec = sides.into_iter().flatten().map(|side| side.bytes_per_second).sum();
        (rate.get() > 0.0 && self.elapsed_ns.get() > 0).then_some(rate)
    }

    /// Whether the test ran to its end, so that it need not be run again. (A scan that was late has read what it could.)
    pub fn is_whole(&self) -> bool {
        self.failed.is_none() && (self.scan.is_some() || self.cut_short.is_none())
    }
}

/// What ended a test before its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailedView {
    #[serde(flatten)]
    pub failure: RunFailure,
    /// What happened, where, and after how many I/Os: `EIO at offset 4096 after 17 I/Os`.
    pub summary: String,
    /// What to do.
    pub hint: String,
}

impl FailedView {
    /// A failure as it is shown.
    pub fn new(failure: &RunFailure) -> Self {
        let (summary, hint) = (failure.to_string(), failure.cause.hint().to_owned());
        Self { failure: failure.clone(), summary, hint }
    }
}

/// The reads or the writes of a test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SideView {
    /// The mean rate, without the warm-up where one was found.
    pub bytes_per_second: BytesPerSec,
    /// A 95 % confidence interval of the mean rate.
    pub ci95: Option<[BytesPerSec; 2]>,
    /// I/Os per second.
    pub iops: Iops,
    /// Latencies in nanoseconds.
    pub latency_ns: Latency,
    /// The rate as a part of the path's ceiling.
    pub of_ceiling: Option<f64>,
    /// Why fields that are `null` are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A finding in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Note {
    /// What kind of finding it is.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// One sentence with the numbers.
    pub summary: String,
}

/// What the generator says of itself, so that it can be doubted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Checks {
    /// The mean number of I/Os in flight (Little's law) as a part of what was asked: 1 when the queue was kept full.
    pub in_flight_of_asked: Option<f64>,
    /// Latencies recorded for each completed I/O: 1, or the percentiles are not those of all I/Os.
    pub recorded_of_completed: Option<f64>,
    /// Bytes that the outermost block device moved for each byte of the application.
    pub device_of_asked: Option<f64>,
    /// What one I/O costs the engine on the processor of its first worker, in nanoseconds, by NOPs through a ring: no device
    /// can be measured faster than that by one worker.
    #[serde(default)]
    pub nop_ns_per_io: Option<f64>,
    /// What links and drives of the path did around the run; absent where none of them tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<ConditionView>,
    /// What the generator used.
    pub generator: GeneratorUse,
    /// Why fields that are `null` are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What another tool would print.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PeerView {
    pub tool: String,
    /// For the reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<String>,
    /// For the writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<String>,
    /// What is odd about its unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quirk: Option<String>,
}
