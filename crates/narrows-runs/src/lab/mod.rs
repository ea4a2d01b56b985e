//! The view model of `narrows lab`: exactly what `--json` prints, and all that text and page are made of.
//!
//! The command line calls these functions and prints what they give:
//!
//! ```text
//! let report = report::lab::build(&basis, &outcomes, &aims, &facts);   // aims may be empty: reads, writes and random I/O
//! report::lab::document(&report, audience).text(&style)               // text
//! report::document::page(&[document])                                 // one self-contained page for --html FILE
//! sanitize::shown_json(&report)                                       // --json, schema/narrows.json
//! ```
//!
//! `facts` has one [`DeviceFacts`] for each device, in any order; what is not known is `None`. A lab that ended before its basis
//! was measured has `Basis::default()`. Aims are read by
//! [`Aim::parse_all`](narrows_session::lab::aim::Aim::parse_all). Foreign text stays as it is: what shows the report makes it inert.
//!
//! Rates are bytes per second, sizes bytes. What is absent is `null`, and the same object then says why in `reason`.

mod text;

pub use text::document;

use serde::{Deserialize, Serialize};

use narrows_base::lists::distinct;
use narrows_base::units::Bytes;
use narrows_load::guard::Budget;
use narrows_load::stats;
use narrows_report::view::{Tool, tool, why_null};
use narrows_session::lab::aim::{Aim, Ranking, counts, rank};
use narrows_session::lab::{Basis, Measured, Outcome, Pairs, Predicted, is_bare, pairs};

/// The name and version of the schema, in [`LabReport::schema`].
pub const SCHEMA: &str = "narrows/lab/1";

/// What is known of a device beside its rates.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceFacts {
    /// Its kernel name, as in [`Basis::devices`](narrows_session::lab::Basis::devices).
    pub name: String,
    /// Its model.
    pub model: Option<String>,
    #[serde(rename = "size_bytes")]
    pub size: Option<Bytes>,
    /// What may be written to it in its life by its maker's warranty.
    #[serde(rename = "rated_bytes")]
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
    pub devices: Vec<LabDevice>,
    /// What predictions stand on.
    pub basis: Basis,
    /// One for the aims that were stated; without any one for sequential reads, for writes and for random I/O.
    pub rankings: Vec<Ranking>,
    /// What was built, in that order.
    pub cells: Vec<LabCell>,
    /// How good the predictions were.
    pub accuracy: AccuracyView,
    /// Whether every cell was built and measured to the end.
    pub complete: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LabDevice {
    /// What is known of it.
    #[serde(flatten)]
    pub facts: DeviceFacts,
    /// What all cells wrote to it, by its own counter.
    pub written_bytes: Bytes,
    /// The part of what may be written to it in its life that the lab cost, 1 for all of it.
    pub share_of_rated_life: Option<f64>,
    /// Why fields that are `null` are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// One cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LabCell {
    /// What people call it.
    pub name: String,
    /// Whether it lay on scratch files through loop devices; it may not be compared with cells on devices.
    pub on_loop_files: bool,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
}

impl LabCell {
    /// The names of its tests: those that were measured, then those that were only predicted.
    fn tests(&self) -> Vec<&str> {
        let measured = self.outcome.measured.iter().map(|one| one.test.as_str());
        distinct(measured.chain(self.outcome.predicted.iter().map(|said| said.test.as_str())))
    }

    fn measured(&self, test: &str) -> Option<&Measured> {
        self.outcome.measured.iter().find(|one| one.test == test)
    }

    fn predicted(&self, test: &str) -> Option<&Predicted> {
        self.outcome.predicted.iter().find(|one| one.test == test)
    }

    /// The predicted rate over the measured one, less 1.
    fn error(&self, test: &str) -> Option<f64> {
        let seen = self.measured(test)?.measurement.bytes_per_second;
        let said = self.predicted(test)?.bytes_per_second?;
        (seen.get() > 0.0).then(|| said.fraction_of(seen) - 1.0)
    }
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

/// The error up to which a prediction counts as met.
const MET: f64 = 0.15;

/// The report on `outcomes` for `aims`; without aims it ranks sequential reads, writes, random I/O and copies, as far as these
/// were measured.
pub fn build(basis: &Basis, outcomes: &[Outcome], aims: &[Aim], devices: &[DeviceFacts]) -> LabReport {
    let measured = |aim: &Aim| match aim {
        Aim::Copy => outcomes.iter().any(|outcome| outcome.copied().is_some()),
        aim => {
            outcomes.iter().flat_map(|outcome| &outcome.measured).any(|measured| counts(*aim, &measured.load))
        }
    };
    let usual = [Aim::Sequential(None), Aim::Writes(None), Aim::Iops, Aim::Copy];
    let rankings: Vec<Vec<Aim>> = match aims {
        [] => usual.into_iter().filter(measured).map(|aim| vec![aim]).collect(),
        aims => vec![aims.to_vec()],
    };
    let count = basis.devices.len();
    let scratch = devices.iter().any(|facts| facts.scratch);
    let cell = |outcome: &Outcome| LabCell {
        name: outcome.cell.to_string(),
        on_loop_files: scratch,
        outcome: outcome.clone(),
    };
    let cells: Vec<LabCell> = outcomes.iter().map(cell).collect();
    LabReport {
        schema: SCHEMA.to_owned(),
        tool: tool(),
        devices: basis.devices.iter().map(|name| device(name, outcomes, devices)).collect(),
        basis: basis.clone(),
        rankings: rankings.iter().map(|aims| rank(outcomes, count, aims)).collect(),
        accuracy: accuracy(&cells, pairs(outcomes)),
        complete: outcomes.iter().all(|outcome| outcome.failed.is_none()),
        cells,
    }
}

fn device(name: &str, outcomes: &[Outcome], facts: &[DeviceFacts]) -> LabDevice {
    let unknown = || DeviceFacts { name: name.to_owned(), ..DeviceFacts::default() };
    let facts = facts.iter().find(|facts| facts.name == name).cloned().unwrap_or_else(unknown);
    let written = outcomes.iter().flat_map(|outcome| &outcome.written).filter(|one| one.device == name);
    let written_bytes: Bytes = written.map(|one| one.bytes).sum();
    let reason = why_null([
        (facts.model.is_none(), "model: the device does not tell it"),
        (facts.size.is_none(), "size_bytes: the device does not tell it"),
        (facts.rated.is_none(), "rated_bytes, share_of_rated_life: its endurance is not in the catalogue"),
    ]);
    let share_of_rated_life = Budget::share_of_life(written_bytes, facts.rated);
    LabDevice { share_of_rated_life, written_bytes, reason, facts }
}

fn accuracy(cells: &[LabCell], pairs: Pairs) -> AccuracyView {
    let foreseen = cells.iter().filter(|cell| !is_bare(&cell.outcome.cell));
    let errors = foreseen.flat_map(|cell| cell.tests().into_iter().filter_map(|test| cell.error(test)));
    let errors: Vec<f64> = errors.map(f64::abs).collect();
    let median = (!errors.is_empty()).then(|| stats::median(&errors));
    let share = |part: usize, all: usize| (all > 0).then(|| part as f64 / all as f64);
    let within = errors.iter().filter(|error| **error <= MET).count();
    let ordered = pairs.apart.saturating_sub(pairs.reversed);
    let no_test = "median_error, share_within_15_percent: no test has a prediction and a measurement";
    let no_pair = "share_of_pairs_ordered: no two cells were measured apart";
    let why = [(median.is_none(), no_test), (pairs.apart == 0, no_pair)];
    AccuracyView {
        tests: errors.len(),
        within_15_percent: within,
        share_within_15_percent: share(within, errors.len()),
        pairs: pairs.apart,
        pairs_ordered: ordered,
        share_of_pairs_ordered: share(ordered, pairs.apart),
        median_error: median,
        reason: why_null(why),
    }
}
