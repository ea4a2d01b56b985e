//! Reports that were saved as JSON, read again: what `narrows RUN.json` makes pages and text of.

use std::io::Read;

use serde::Deserialize;
use serde_json::{Deserializer, from_str};
use thiserror::Error;

use super::copy::{self, CopyReport};
use super::fleet_run::{self, FleetRunReport};
use super::lab::{self, LabReport};
use super::ladder::{self, LadderReport};
use super::measure::{self, MeasureReport};
use super::together::{self, TogetherReport};
use super::top::{self, TopReport};
use narrows_report::document::{Audience, Document};
use narrows_report::fleet::{self, Record};
use narrows_report::plan::{self, PlanReport};
use narrows_report::predict::{self, PredictReport};
use narrows_report::text;
use narrows_report::view::{self, CheckReport};
use narrows_verdict::compare::{self, Comparison};

/// A report that was saved.
#[derive(Debug, Clone)]
pub enum Saved {
    Check(Box<CheckReport>),
    /// Of `measure` with several targets.
    Together(Box<TogetherReport>),
    /// Of many captures, line by line.
    Fleet(Vec<Record>),
    FleetRun(Box<FleetRunReport>),
    Top(Box<TopReport>),
    Measure(Box<MeasureReport>),
    Ladder(Box<LadderReport>),
    Lab(Box<LabReport>),
    Compare(Box<Comparison>),
    Copy(Box<CopyReport>),
    Predict(Box<PredictReport>),
    Plan(Box<PlanReport>),
}

/// Why a text is no report.
#[derive(Debug, Error)]
pub enum NotSaved {
    /// It is no JSON.
    #[error("it is no JSON: {0}")]
    NotJson(serde_json::Error),
    /// It is JSON of something else.
    #[error("it is JSON, but no report of narrows: it has no \"schema\"")]
    NoSchema,
    /// A schema that no page is made of.
    #[error("no page is made of a report of the schema `{0}`")]
    Unknown(String),
    /// It names a schema that it does not follow.
    #[error("it does not follow the schema `{schema}` that it names: {error}")]
    Wrong {
        schema: String,
        /// What is wrong, and where.
        error: serde_json::Error,
    },
}

impl NotSaved {
    /// What to do.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::NotJson(_) | Self::NoSchema => {
                "give what a command of narrows printed with --json, or wrote with --save"
            }
            Self::Unknown(_) => {
                "reports of narrows WHAT, measure, lab, compare, copy, predict, plan, top and fleet run \
                 can be shown; another version of narrows may have made this one"
            }
            Self::Wrong { .. } => "it may be cut off, or was changed by hand: make it again",
        }
    }
}

/// What every report begins with.
#[derive(Deserialize)]
struct Head {
    schema: Option<String>,
}

/// Whether a text is a report that narrows made, by the schema that its first object names.
pub fn is_report(mut text: impl Read) -> bool {
    let mut first = [0];
    if text.read(&mut first).ok() != Some(1) || first != *b"{" {
        return false;
    }
    let mut values = Deserializer::from_reader(first.chain(text)).into_iter::<Head>();
    let head = values.next().and_then(Result::ok);
    head.and_then(|head| head.schema).is_some_and(|schema| schema.starts_with("narrows/"))
}

impl Saved {
    /// Reads a report; several lines are those of a fleet.
    ///
    /// # Errors
    /// [`NotSaved`] when it is none, or one of which no page is made.
    pub fn read(text: &str) -> Result<Self, NotSaved> {
        // The first value tells: the lines of a fleet are a value each.
        let mut values = Deserializer::from_str(text).into_iter::<Head>();
        let schema = match values.next() {
            Some(Ok(head)) => head.schema.ok_or(NotSaved::NoSchema)?,
            Some(Err(error)) if !error.is_data() => return Err(NotSaved::NotJson(error)),
            Some(Err(_)) | None => return Err(NotSaved::NoSchema),
        };
        let read = match schema.as_str() {
            view::SCHEMA => from_str(text).map(Self::Check),
            together::SCHEMA => from_str(text).map(Self::Together),
            fleet::SCHEMA => {
                Deserializer::from_str(text).into_iter().collect::<Result<_, _>>().map(Self::Fleet)
            }
            fleet_run::SCHEMA => from_str(text).map(Self::FleetRun),
            top::SCHEMA => from_str(text).map(Self::Top),
            measure::SCHEMA => from_str(text).map(Self::Measure),
            ladder::SCHEMA => from_str(text).map(Self::Ladder),
            lab::SCHEMA => from_str(text).map(Self::Lab),
            compare::SCHEMA => from_str(text).map(Self::Compare),
            copy::SCHEMA => from_str(text).map(Self::Copy),
            predict::SCHEMA => from_str(text).map(Self::Predict),
            plan::SCHEMA => from_str(text).map(Self::Plan),
            _ => return Err(NotSaved::Unknown(schema)),
        };
        read.map_err(|error| NotSaved::Wrong { schema, error })
    }

    /// The report as a document.
    pub fn document(&self, audience: Audience) -> Document {
        match self {
            Self::Check(report) => text::document(report, audience),
            Self::Together(report) => together::document(report, audience),
            Self::Fleet(records) => fleet::table::document(records),
            Self::FleetRun(report) => fleet_run::document(report, audience),
            Self::Top(report) => top::document(report, audience),
            Self::Measure(report) => measure::document(report, audience),
            Self::Ladder(report) => ladder::document(report, audience),
            Self::Lab(report) => lab::document(report, audience),
            Self::Compare(report) => text::compare::document(report, audience),
            Self::Copy(report) => copy::document(report, audience),
            Self::Predict(report) => predict::document(report, audience),
            Self::Plan(report) => plan::document(report, audience),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_report_is_named() {
        let said = |text: &str| {
            let error = Saved::read(text).expect_err("is no report");
            assert!(!error.hint().is_empty());
            error.to_string()
        };
        assert!(said("").contains("no report of narrows"));
        assert!(said("{").starts_with("it is no JSON: "));
        assert!(said("[1, 2]").contains("no \"schema\""));
        assert!(said("{\"jobs\": []}").contains("no \"schema\""));
        assert!(said("{\"schema\": \"narrows/check/9\"}").contains("`narrows/check/9`"));
        assert!(said("{\"schema\": \"narrows/check/1\"}").contains("does not follow the schema"));
    }
}
