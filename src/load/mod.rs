//! What did we achieve? Workloads, the engine that runs them, and statistics.
//!
//! This folder knows no ceilings, so that it cannot be biased by them, and no machine: it is handed what to open.
//!
//! A [`Workload`](workload::Workload) is what to do, [`Target`] to what; a [`ScratchFile`] is the only thing that is written.
//! [`run`](run()) does the work and [`Measurement`](measurement::Measurement) tells what came of it. One worker is one
//! thread with one ring, and may carry out many streams: it takes a slot for each I/O, enters the kernel once for a
//! batch, and counts each completion in a histogram of ticks.

mod buffer;
mod clock;
pub mod control;
mod engine;
pub mod error;
pub mod guard;
mod histogram;
mod ledger;
mod leftover;
pub mod measurement;
mod memory;
pub mod nop;
mod offsets;
mod pace;
mod parts;
pub mod percentile;
mod plan;
pub mod preset;
mod psync;
mod random;
mod result;
mod ring;
pub mod run;
pub mod scan;
pub mod scratch;
mod slot;
mod slowest;
mod source;
mod spread;
mod stamp;
pub mod stats;
mod tally;
pub mod target;
pub mod until;
pub mod verify;
mod worker;
pub mod workload;

pub use control::{Control, Phase};
pub use error::LoadError;
pub use nop::{NopResult, nop_ceiling};
pub use run::{EngineChoice, RunOptions, run, run_logged};
pub use scratch::{ScratchFile, ScratchOptions};
pub use target::{Kind, Region, Target};
pub use until::until_precise;
pub use worker::Reap;
