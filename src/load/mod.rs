//! What did we achieve? Workloads, the engine that runs them, and statistics.
//!
//! This folder knows no ceilings, so that it cannot be biased by them, and no machine: it is handed what to open.

pub mod measurement;
