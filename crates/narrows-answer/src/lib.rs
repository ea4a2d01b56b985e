//! What limits, by what was read? The facts of a machine, what was measured on it, and descriptions of systems, joined, judged,
//! compared and predicted. It opens nothing: whoever asks has read it, from files or from what was pasted into a page.
//!
//! Internal to the program narrows: its interface changes without notice. JSON (`schema/`) is the promise.

mod compared;
mod facts;
mod judged;
mod predicted;
mod seen;

pub use compared::{NotCompared, compare, is_apart, machine_input};
pub use facts::{Facts, read};
pub use judged::{Answered, Question, judge, judged, target_of};
pub use predicted::{NotPredicted, predicted, published, workloads};
pub use seen::Seen;
