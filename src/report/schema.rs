//! The JSON schema of the reports, generated from their types. `schema/check-1.json` is this, kept in the repository;
//! a test compares the two.

use schemars::generate::SchemaSettings;
use serde_json::Value;

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
