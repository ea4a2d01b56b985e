//! narrows finds the narrowest point of a storage path, proves it by measurement, and plans past it.
//!
//! The source is laid out along the data flow. Each crate below `crates/` answers one question; `ARCHITECTURE.md` has the
//! table, and cargo refuses an arrow that it does not allow:
//!
//! ```text
//! machine ──► path ──► ceiling ──┐
//! (facts)    (hops)   (limits)   ├──► verdict ──► report, runs
//! load ──► measurement ──────────┤
//! results (other tools') ────────┘
//! ```
//!
//! [`cli`] tells the story. The rest of this crate names the modules of the others for tests and tools. It is internal to
//! the program: its interface changes without notice. JSON (`schema/`) is the promise.

pub mod cli;

pub use narrows_base::{catalog, fact, units, workload};
pub use narrows_load as load;
pub use narrows_machine as machine;
pub use narrows_model::{ceiling, path, plan, predict};
pub use narrows_paste::{capture, results};
pub use narrows_report as report;
pub use narrows_runs as runs;
pub use narrows_session::lab;
pub use narrows_verdict as verdict;
pub use narrows_verdict::{cohort, compare};
pub use narrows_watch as watch;
