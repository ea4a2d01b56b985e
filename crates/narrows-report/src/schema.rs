//! The JSON schema of the reports, generated from their types. `schema/` keeps them in the repository; tests compare.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::bench::BenchReport;
use super::bench::sweep::SweepReport;
use super::copy::{self, CopyReport};
use super::fleet;
use super::fleet_run::{self, FleetRunReport};
use super::guard::{self, GuardReport};
use super::import::{self, ImportReport};
use super::lab::{self, LabReport};
use super::ladder::{self, LadderReport};
use super::plan;
use super::predict::{self, PredictReport};
use super::together::{self, TogetherReport};
use super::top::{self, TopReport};
use super::view::{CheckReport, SCHEMA};
use super::watch::{self, WatchLog};
use narrows_verdict::compare::{self, Comparison};

/// The schema of [`BenchReport`] (JSON Schema, draft 2020-12).
pub fn bench() -> Value {
    of::<BenchReport>(super::bench::SCHEMA, "narrows bench --json")
}

/// The schema of [`SweepReport`] (JSON Schema, draft 2020-12).
pub fn sweep() -> Value {
    of::<SweepReport>(super::bench::sweep::SCHEMA, "narrows sweep --json")
}

/// The schema of [`CopyReport`] (JSON Schema, draft 2020-12).
pub fn copy() -> Value {
    of::<CopyReport>(copy::SCHEMA, "narrows copy --json")
}

/// The schema of [`LabReport`] (JSON Schema, draft 2020-12).
pub fn lab() -> Value {
    of::<LabReport>(lab::SCHEMA, "narrows lab --json")
}

/// The schema of [`LadderReport`] (JSON Schema, draft 2020-12).
pub fn ladder() -> Value {
    of::<LadderReport>(ladder::SCHEMA, "narrows ladder --json")
}

/// The schema of [`CheckReport`] (JSON Schema, draft 2020-12).
pub fn check() -> Value {
    of::<CheckReport>(SCHEMA, "narrows check --json")
}

/// The schema of [`TogetherReport`] (JSON Schema, draft 2020-12).
pub fn together() -> Value {
    of::<TogetherReport>(together::SCHEMA, "narrows check A B --measure --json")
}

/// The schema of [`TopReport`] (JSON Schema, draft 2020-12).
pub fn top() -> Value {
    of::<TopReport>(top::SCHEMA, "narrows top --once --json")
}

/// The schema of one line, a [`fleet::Record`] (JSON Schema, draft 2020-12).
pub fn fleet() -> Value {
    of::<fleet::Record>(fleet::SCHEMA, "narrows check --fleet --format jsonl")
}

/// The schema of [`FleetRunReport`] (JSON Schema, draft 2020-12).
pub fn fleet_run() -> Value {
    of::<FleetRunReport>(fleet_run::SCHEMA, "narrows fleet run --json, narrows fleet report --json")
}

/// The schema of [`GuardReport`] (JSON Schema, draft 2020-12).
pub fn guard() -> Value {
    of::<GuardReport>(guard::SCHEMA, "narrows guard --json")
}

/// The schema of [`ImportReport`] (JSON Schema, draft 2020-12).
pub fn import() -> Value {
    of::<ImportReport>(import::SCHEMA, "narrows import --json")
}

/// The schema of [`PredictReport`] (JSON Schema, draft 2020-12).
pub fn predict() -> Value {
    of::<PredictReport>(predict::SCHEMA, "narrows predict --json")
}

/// The schema of [`plan::PlanReport`] (JSON Schema, draft 2020-12).
pub fn plan() -> Value {
    of::<plan::PlanReport>(plan::SCHEMA, "narrows plan --json")
}

/// The schema of [`WatchLog`] (JSON Schema, draft 2020-12).
pub fn watch() -> Value {
    of::<WatchLog>(watch::SCHEMA, "narrows watch --log --json")
}

/// The schema of [`Comparison`] (JSON Schema, draft 2020-12).
pub fn compare() -> Value {
    of::<Comparison>(compare::SCHEMA, "narrows compare --json")
}

fn of<T: JsonSchema>(id: &str, title: &str) -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<T>();
    schema.insert("$id".to_owned(), id.into());
    schema.insert("title".to_owned(), title.into());
    schema.to_value()
}
