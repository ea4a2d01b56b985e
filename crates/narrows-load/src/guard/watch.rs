//! What whoever waits for the guard is told of what it does.

use std::ops::ControlFlow;
use std::time::Duration;

use super::plan::Plan;
use narrows_base::units::Bytes;

/// What is being done to a device before and after it is written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// It is going to be searched like this.
    Planned(Plan),
    /// It is being searched.
    Searching {
        /// As planned.
        plan: Plan,
        /// The reads so far.
        done: u64,
        /// The time so far.
        elapsed: Duration,
    },
    /// What may be written is being read.
    Proving {
        /// The bytes so far.
        done: Bytes,
        /// All bytes.
        of: Bytes,
    },
    /// What was written is being cleared.
    Clearing {
        /// The bytes so far.
        done: Bytes,
        /// All bytes.
        of: Bytes,
    },
}

/// Is told what is done, and ends it by answering [`ControlFlow::Break`].
pub type Watch<'a> = &'a mut dyn FnMut(Step) -> ControlFlow<()>;
