//! The JSON schema of the reports, generated from their types. `schema/*.json` are these, kept in the
//! repository; a test compares them.

use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::guard::{self, GuardReport};
use super::view::{CheckReport, SCHEMA};
use crate::compare::{self, Comparison};

/// The schema of [`CheckReport`] (JSON Schema, draft 2020-12).
pub fn check() -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<CheckReport>();
    schema.insert("$id".to_owned(), SCHEMA.into());
    schema.insert("title".to_owned(), "narrows check --json".into());
    schema.to_value()
}

/// The schema of [`Comparison`], kept as `schema/compare-1.json`.
pub fn compare() -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<Comparison>();
    schema.insert("$id".to_owned(), compare::SCHEMA.into());
    schema.insert("title".to_owned(), "narrows compare --json".into());
    schema.to_value()
}

/// The schema of [`GuardReport`] (JSON Schema, draft 2020-12).
pub fn guard() -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<GuardReport>();
    schema.insert("$id".to_owned(), guard::SCHEMA.into());
    schema.insert("title".to_owned(), "narrows guard --json".into());
    schema.to_value()
}
