//! How is it shown what narrows itself ran, copied, wrote or watched? Each report is a view, which is its JSON, and a document of
//! `narrows-report` made of that. [`saved`] reads any report again.
//!
//! Internal to the program narrows: its interface changes without notice. JSON (`schema/`) is the promise.

mod chart;
pub mod copy;
pub mod fleet_run;
pub mod guard;
pub mod lab;
pub mod ladder;
pub mod measure;
pub mod progress;
pub mod saved;
pub mod together;
pub mod top;
pub mod watch;
