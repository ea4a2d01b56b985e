//! How is it shown? One view model, shown as text or JSON; nothing is computed anew here.
//!
//! [`view::build`] joins facts, paths, ceilings and verdict to a [`view::CheckReport`], which is the JSON contract.
//! Everything else here takes that report: [`text`] for a person, [`why`] for one hop.
//!
//! Internal to the program narrows: its interface changes without notice. JSON (`schema/`) is the promise.

pub mod answer;
pub mod csv;
pub mod document;
pub mod figure;
pub mod fleet;
pub mod fold;
pub mod names;
pub mod plan;
pub mod predict;
pub mod prometheus;
pub mod require;
pub mod result_csv;
pub mod sanitize;
pub mod text;
pub mod view;
pub mod why;
