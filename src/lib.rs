//! narrows finds the narrowest point of a storage path, proves it by measurement, and plans past it.
//!
//! The source is laid out along the data flow; each folder answers one question and may import only the folders
//! that its row in `ARCHITECTURE.md` allows (`tests/library/layers.rs` enforces it):
//!
//! ```text
//! machine ──► path ──► ceiling ──┐
//! (facts)    (hops)   (limits)   ├──► verdict ──► report
//! load ──► measurement ──────────┤
//! results (other tools') ────────┘
//! ```
//!
//! [`cli`] tells the story; everything below it can be used as a library.

pub mod catalog;
pub mod ceiling;
pub mod cli;
pub mod cohort;
pub mod compare;
pub mod fact;
pub mod lab;
pub mod load;
pub mod machine;
pub mod path;
pub mod plan;
pub mod predict;
pub mod report;
pub mod results;
pub mod units;
pub mod verdict;
pub mod workload;
