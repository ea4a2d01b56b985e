//! The JSON schema of the reports, generated from their types. `schema/narrows.json` keeps it in the repository; a test compares.

use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Value, json};

use narrows::report::{fleet, plan, predict, view};
use narrows::runs::measure::MeasureReport;
use narrows::runs::{copy, fleet_run, guard, lab, ladder, together, top, watch};
use narrows::verdict::compare;

/// The name of a report, what prints it, and its schema.
type Report = (&'static str, &'static str, fn(&mut SchemaGenerator) -> Schema);

const REPORTS: [Report; 14] = [
    ("check", "narrows --json", |made| made.subschema_for::<view::CheckReport>()),
    ("compare", "narrows compare --json", |made| made.subschema_for::<compare::Comparison>()),
    ("copy", "narrows copy --json", |made| made.subschema_for::<copy::CopyReport>()),
    ("fleet", "narrows DIR --fleet --json", |made| made.subschema_for::<fleet::Record>()),
    ("fleet-run", "narrows fleet run --json, narrows fleet report --json", |made| {
        made.subschema_for::<fleet_run::FleetRunReport>()
    }),
    ("guard", "narrows guard --json", |made| made.subschema_for::<guard::GuardReport>()),
    ("lab", "narrows lab --json", |made| made.subschema_for::<lab::LabReport>()),
    ("ladder", "narrows measure --as layers --json", |made| made.subschema_for::<ladder::LadderReport>()),
    ("measure", "narrows measure --as NAME --json: a list of tests", |made| {
        made.subschema_for::<MeasureReport>()
    }),
    ("plan", "narrows plan --json", |made| made.subschema_for::<plan::PlanReport>()),
    ("predict", "narrows predict --json", |made| made.subschema_for::<predict::PredictReport>()),
    ("together", "narrows measure A B --json", |made| made.subschema_for::<together::TogetherReport>()),
    ("top", "narrows top --json", |made| made.subschema_for::<top::TopReport>()),
    ("watch", "narrows watch --log --json", |made| made.subschema_for::<watch::WatchLog>()),
];

/// The schema (JSON Schema, draft 2020-12) of the report with this name, or of every report where none is named: what several have is
/// there once.
pub(crate) fn of(name: &str) -> Value {
    let reports = REPORTS.iter().filter(|(other, ..)| name.is_empty() || *other == name);
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let any = reports.map(|(_, title, of)| {
        let mut schema = of(&mut generator);
        schema.insert("title".to_owned(), (*title).into());
        schema.to_value()
    });
    let any: Vec<Value> = any.collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What narrows prints as JSON",
        "anyOf": any,
        "$defs": generator.take_definitions(true),
    })
}
