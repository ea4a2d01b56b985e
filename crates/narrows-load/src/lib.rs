//! What did we achieve? Workloads, the engine that runs them, and statistics.
//!
//! This folder knows no ceilings, so that it cannot be biased by them, and no machine: it is handed what to open.
//!
//! A [`Workload`](workload::Workload) is what to do, [`Target`] to what. Only a [`ScratchFile`] and a device that
//! [`guard`] permits are written.
//! [`run`](run()) does the work and [`Measurement`](measurement::Measurement) tells what came of it. One worker is one
//! thread with one ring, and may carry out many streams: it takes a slot for each I/O, enters the kernel once for a
//! batch, and counts each completion in a histogram of ticks. [`copy`](copy::copy) is load of another kind: a real job,
//! split by where its time goes.

#![warn(missing_docs)]

mod buffer;
mod clock;
pub mod control;
pub mod copy;
pub mod effort;
mod engine;
pub mod error;
pub mod failure;
mod fill;
pub mod guard;
pub mod held;
mod histogram;
mod in_order;
mod marks;
mod memory;
pub mod overhead;
pub mod owned;
mod plan;
pub mod preset;
mod psync;
mod queue;
mod random;
mod result;
mod ring;
pub mod run;
pub mod scan;
pub mod scratch;
mod slot;
mod source;
mod tally;
pub mod target;
mod worker;

pub use control::{Control, Phase};
pub use narrows_base::{measurement, ran, stats, workload};

pub use error::LoadError;
pub use measurement::{Cause, RunFailure};
pub use overhead::{NopResult, nop_ceiling};
pub use run::{EngineChoice, RunOptions, run};
pub use scratch::{ScratchFile, ScratchOptions};
pub use target::{Kind, Region, Target};
pub use worker::Reap;
