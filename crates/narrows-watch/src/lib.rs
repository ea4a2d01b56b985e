//! What changed, and when?
//!
//! A [`recorder::Recorder`] is handed one reading after another and answers with [`record::Record`]s; it is pure. [`mod@file`]
//! keeps these in a journal that survives kills and full disks, [`baseline`] the best state of each link, and [`run`] is the
//! loop that reads the machine, at fixed times and as soon as the kernel says that something happened.
//!
//! Internal to the program narrows: its interface changes without notice. JSON (`schema/`) is the promise.

pub mod baseline;
pub mod clock;
pub mod file;
pub mod kernel;
pub mod observed;
pub mod record;
pub mod recorder;
pub mod run;
