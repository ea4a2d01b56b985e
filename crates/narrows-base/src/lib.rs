//! How much, of what, and what is published about hardware? Shared by every other crate.
//!
//! [`units`] has the quantities, [`fact`] what a machine answered or why it did not, [`workload`] what is asked of a load
//! engine, [`shell`] how a name stands in a command that is shown, [`near`] how far a name is from what was typed,
//! [`lists`] what several things of a list have in common, [`hex`] bytes as digits, and [`catalog`] reads `data/*.toml`. Nothing here opens a file.
//!
//! Internal to the program narrows: its interface changes without notice. JSON (`schema/`) is the promise.

pub mod catalog;
pub mod fact;
pub mod hex;
pub mod lists;
pub mod measurement;
pub mod near;
pub mod ran;
pub mod shell;
pub mod stats;
pub mod units;
pub mod workload;
