//! What the library makes of fixtures, and what holds of the repository itself.

mod capture_stack;
mod circles;
mod doors;
mod findings_doc;
mod guard_source;
mod house;
mod lab_report;
mod layers;
mod logs;
mod paths;
mod pci;
mod report_golden;
mod report_samples;
mod schema_names;
mod signals_source;
mod snapshot;
mod sources;
mod verdict_slot_option;
mod words;

#[path = "../support/schema.rs"]
mod schema;
#[path = "../support/mod.rs"]
mod support;
