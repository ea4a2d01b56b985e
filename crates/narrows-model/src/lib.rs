//! Which hops does a byte cross, what can each carry, what will a workload get, and what should go where?
//!
//! All of it is arithmetic on facts: nothing here opens a file or asks the machine.
//!
//! ```text
//! path ──► ceiling ──► predict ──► plan
//! ```
//!
//! Internal to the program narrows: its interface changes without notice. JSON (`schema/`) is the promise.

pub mod ceiling;
pub mod path;
pub mod plan;
pub mod predict;
