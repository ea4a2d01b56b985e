//! What do foreign texts say?
//!
//! [`capture`] makes a machine of what its owner pasted, [`results`] reads what other benchmarks measured. Their texts are
//! cut short, quoted, localised or hostile: no reader panics on one. What mail, logs and people put around and before lines
//! is recognised in `text` and nowhere else.
//!
//! Internal to the program narrows: its interface changes without notice. JSON (`schema/`) is the promise.

pub mod capture;
pub mod not_read;
pub mod results;
mod text;
