//! How is it shown? One view model, shown as text or JSON; nothing is computed anew here.
//!
//! [`view::build`] joins facts, paths, ceilings and verdict to a [`view::CheckReport`], which is the JSON contract.
//! Everything else here takes that report: [`text`] for a person, [`why`] for one hop, [`schema`] for other programs.
//!
//! Internal to the program narrows: its interface changes without notice. JSON (`schema/`) is the promise.

pub mod answer;
pub mod copy;
mod csv;
pub mod document;
pub mod figure;
pub mod fleet;
pub mod fleet_run;
mod fold;
pub mod guard;
pub mod lab;
pub mod ladder;
pub mod measure;
mod names;
pub mod plan;
pub mod predict;
pub mod progress;
pub mod prometheus;
pub mod result_csv;
pub mod sanitize;
pub mod saved;
#[cfg(feature = "schema")]
pub mod schema;
pub mod text;
pub mod together;
pub mod top;
pub mod view;
pub mod watch;
pub mod why;
