//! The view model of `narrows lab`: exactly what `--json` prints, and all that text and page are made of.
//!
//! The command line calls three functions and prints what they give:
//!
//! ```text
//! let report = report::lab::build(&basis, &outcomes, &aims, &facts);   // aims may be empty: reads, writes and random I/O
//! report::lab::render(&report, &style)                                // text
//! report::lab::html(&report)                                          // one self-contained page for --html FILE
//! sanitize::shown_json(&report)                                       // --json, schema/lab-1.json
//! ```
//!
//! `facts` has one [`DeviceFacts`] for each device, in any order; what is not known is `None`. A lab that ended before its basis
//! was measured has `Basis::default()`. Aims are read by
//! [`Aim::parse_all`](narrows_session::lab::aim::Aim::parse_all). Foreign text stays as it is: what shows the report makes it inert.
//!
//! Rates are bytes per second, sizes bytes. What is absent is `null`, and the same object then says why in `reason`.

mod build;
mod chart;
mod copy;
mod text;

pub use build::build;
pub use text::{document, render};

use super::figure::Figure;

use serde::{Deserialize, Serialize};

use super::document::{Audience, page};
use super::view::Tool;
use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};
use narrows_load::preset::LoadSpec;
use narrows_session::lab::{Cell, CipherRate, Copied, Encryption};

/// The name and version of the schema, in [`LabReport::schema`].
pub const SCHEMA: &str = "narrows/lab/1";

/// The report as one page.
pub fn html(report: &LabReport) -> String {
    page(&[document(report, Audience::Owner)])
}

/// Each ranking as a picture.
pub fn rankings(report: &LabReport) -> Vec<Figure> {
    let rankings = report.rankings.iter().enumerate();
    rankings.filter_map(|(number, ranking)| chart::ranking(report, ranking, number)).collect()
}

/// What is known of a device beside its rates.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeviceFacts {
    /// Its kernel name, as in [`Basis::devices`](narrows_session::lab::Basis::devices).
    pub name: String,
    /// Its model.
    pub model: Option<String>,
    /// Its size.
    pub size: Option<Bytes>,
    /// What may be written to it in its life by its maker's warranty.
    pub rated: Option<Bytes>,
    /// Whether it is a loop device over a scratch file: rates on it are those of a trial.
    pub scratch: bool,
}

/// Which layout is best here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LabReport {
    /// Always `narrows/lab/1`.
    pub schema: String,
    /// The program that made this report.
    pub tool: Tool,
    /// The devices, and what the lab cost them.
    pub devices: Vec<DeviceView>,
    /// What predictions stand on.
    pub basis: BasisView,
    /// One for the aims that were stated; without any one for sequential reads, for writes and for random I/O.
    pub rankings: Vec<RankingView>,
    /// What was built, in that order.
    pub cells: Vec<CellView>,
    /// How good the predictions were.
    pub accuracy: AccuracyView,
    /// Whether every cell was built and measured to the end.
    pub complete: bool,
}

/// A device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceView {
    /// Its kernel name.
    pub name: String,
    /// Its model.
    pub model: Option<String>,
    /// Its size.
    pub size_bytes: Option<Bytes>,
    /// What all cells wrote to it, by its own counter.
    pub written_bytes: Bytes,
    /// What may be written to it in its life.
    pub rated_bytes: Option<Bytes>,
    /// The part of that which the lab cost, 1 for all of it.
    pub share_of_rated_life: Option<f64>,
    /// Whether it is a loop device over a scratch file.
    pub scratch: bool,
    /// Why fields that are `null` are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What was measured before anything was built.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BasisView {
    /// Each test on each device alone, and on all at once.
    pub tests: Vec<AloneView>,
    /// What one core does with the ciphers.
    pub ciphers: Vec<CipherRate>,
    /// Processors that may work on it.
    pub cores: u32,
}

/// One test before anything was built.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AloneView {
    /// Its name.
    pub test: String,
    /// What each device gave, in the order of `devices`.
    pub alone: Vec<RateView>,
    /// What a request took on each device that came after a pause as long as one takes in a row, of a sequence with one at
    /// a time, in nanoseconds: a drive that reads ahead or caches writes worked in the pause.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after_pause_ns: Vec<Nanos>,
    /// What all gave at once.
    pub together: Option<RateView>,
    /// What encryptions gave above a target that takes no time, where that was measured; plain is that target itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub above_nothing: Vec<AboveNothingView>,
}

/// An encryption above a target that takes no time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AboveNothingView {
    /// The encryption.
    pub encryption: Encryption,
    /// What it gave.
    #[serde(flatten)]
    pub rate: RateView,
}

/// A rate that was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RateView {
    /// The mean rate.
    pub bytes_per_second: BytesPerSec,
    /// A 95 % confidence interval of it; `null` where the run was too short for one.
    pub ci95: Option<[BytesPerSec; 2]>,
    /// I/Os per second.
    pub iops: Iops,
    /// Whether to believe it.
    pub trusted: bool,
    /// Processors of the whole machine that were at work, on average; left out where that was not watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processors: Option<f64>,
}

/// Outcomes in the order of aims.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankingView {
    /// The aims in words; those that come first count most.
    pub aims: Vec<String>,
    /// The verdict with its cause.
    pub sentence: String,
    /// The cell to build: the simplest of those that are not worse.
    pub best: Option<String>,
    /// What the values of the places are.
    pub unit: Unit,
    /// Those that do all that must be, the best first.
    pub places: Vec<PlaceView>,
    /// Those that do not, and why.
    pub unfit: Vec<UnfitView>,
    /// Pairs of places that measurement tells apart and for which there are predictions.
    pub pairs: usize,
    /// Those that were predicted in that order.
    pub pairs_as_predicted: usize,
    /// Those that were predicted to be equal.
    pub pairs_predicted_equal: usize,
}

/// What values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Bytes per second.
    BytesPerSecond,
    /// The part of the capacity of all drives that is left.
    Capacity,
    /// Bytes that an application may write for each byte that a drive writes.
    Endurance,
}

/// A cell in a ranking.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlaceView {
    /// From 1; cells that cannot be distinguished share it.
    pub rank: usize,
    /// The cell.
    pub cell: String,
    /// Its place in `cells`.
    pub index: usize,
    /// What it reaches for the first aim: the geometric mean of its tests.
    pub value: Option<f64>,
    /// A 95 % confidence interval of that.
    pub interval: Option<[f64; 2]>,
    /// What was predicted.
    pub predicted: Option<f64>,
    /// The rank by prediction.
    pub predicted_rank: Option<usize>,
    /// Whether every measurement that counts is to be believed.
    pub trusted: bool,
    /// Why fields that are `null` are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A cell that does not do what must be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnfitView {
    /// The cell.
    pub cell: String,
    /// Why.
    pub reason: String,
}

/// One cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellView {
    /// What people call it.
    pub name: String,
    /// What was built.
    pub cell: Cell,
    /// What was measured and predicted.
    pub tests: Vec<TestView>,
    /// The copy of real files; absent where none was made, and where one was asked for `notes` say why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<CopyView>,
    /// Whether an array was still resyncing meanwhile.
    pub resyncing: bool,
    /// Whether it lay on scratch files through loop devices; it may not be compared with cells on devices.
    pub on_loop_files: bool,
    /// What it cost each device.
    pub written: Vec<WrittenView>,
    /// How it was built.
    pub notes: Vec<String>,
    /// Why it was not built or measured to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// A copy of real files to a cell's file system.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CopyView {
    /// What was copied, how fast, and what of it was verified.
    #[serde(flatten)]
    pub copied: Copied,
    /// What was verified and where the source came from, in words.
    pub how: String,
    /// Why fields that are `null` are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// One test on one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TestView {
    /// Its name.
    pub test: String,
    /// What was done; `null` where it was not measured.
    pub load: Option<LoadSpec>,
    /// What came of it.
    pub measured: Option<RateView>,
    /// What was said beforehand.
    pub predicted_bytes_per_second: Option<BytesPerSec>,
    /// What bounds it by that.
    pub bound: Option<String>,
    /// How that was computed.
    pub formula: Option<String>,
    /// The predicted rate over the measured one, less 1.
    pub error: Option<f64>,
    /// Why fields that are `null` are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a cell wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WrittenView {
    /// The device.
    pub device: String,
    /// Bytes, by its own counter.
    pub bytes: Bytes,
}

/// How good predictions were, over all tests of all cells but the bare drive, which was measured before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AccuracyView {
    /// Tests with a prediction and a measurement.
    pub tests: usize,
    /// Those whose error is at most 15 %.
    pub within_15_percent: usize,
    /// The part of the tests that these are.
    pub share_within_15_percent: Option<f64>,
    /// Pairs of cells under the same test that were measured apart: their 95 % intervals do not overlap, and they differ by more
    /// than 5 %. A pair counts where both cells have a prediction.
    pub pairs: usize,
    /// Those of them that were not predicted the other way round by more than 5 %.
    pub pairs_ordered: usize,
    /// The part of the pairs that these are.
    pub share_of_pairs_ordered: Option<f64>,
    /// The median of the errors without their signs.
    pub median_error: Option<f64>,
    /// Why it is `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
