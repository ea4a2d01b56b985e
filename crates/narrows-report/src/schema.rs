//! The JSON schema of the reports, generated from their types. `schema/` keeps them in the repository; tests compare.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::bench::{self, sweep};
use super::{copy, fleet, fleet_run, guard, import, lab, ladder, plan, predict, together, top, view, watch};
use narrows_verdict::compare;

/// The schema (JSON Schema, draft 2020-12) that `schema/NAME-1.json` keeps; `null` where there is none of this name.
pub fn of(name: &str) -> Value {
    match name {
        "bench" => made::<bench::BenchReport>(bench::SCHEMA, "narrows bench --json"),
        "sweep" => made::<sweep::SweepReport>(sweep::SCHEMA, "narrows sweep --json"),
        "copy" => made::<copy::CopyReport>(copy::SCHEMA, "narrows copy --json"),
        "lab" => made::<lab::LabReport>(lab::SCHEMA, "narrows lab --json"),
        "ladder" => made::<ladder::LadderReport>(ladder::SCHEMA, "narrows ladder --json"),
        "check" => made::<view::CheckReport>(view::SCHEMA, "narrows check --json"),
        "together" => {
            made::<together::TogetherReport>(together::SCHEMA, "narrows check A B --measure --json")
        }
        "top" => made::<top::TopReport>(top::SCHEMA, "narrows top --once --json"),
        "fleet" => made::<fleet::Record>(fleet::SCHEMA, "narrows check --fleet --format jsonl"),
        "fleet-run" => made::<fleet_run::FleetRunReport>(
            fleet_run::SCHEMA,
            "narrows fleet run --json, narrows fleet report --json",
        ),
        "guard" => made::<guard::GuardReport>(guard::SCHEMA, "narrows guard --json"),
        "import" => made::<import::ImportReport>(import::SCHEMA, "narrows import --json"),
        "predict" => made::<predict::PredictReport>(predict::SCHEMA, "narrows predict --json"),
        "plan" => made::<plan::PlanReport>(plan::SCHEMA, "narrows plan --json"),
        "watch" => made::<watch::WatchLog>(watch::SCHEMA, "narrows watch --log --json"),
        "compare" => made::<compare::Comparison>(compare::SCHEMA, "narrows compare --json"),
        _ => Value::Null,
    }
}

fn made<T: JsonSchema>(id: &str, title: &str) -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<T>();
    schema.insert("$id".to_owned(), id.into());
    schema.insert("title".to_owned(), title.into());
    schema.to_value()
}
