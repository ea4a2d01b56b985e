//! What the worker needs of an engine: hand over reads, and tell which ended.

use std::io;
use std::time::Duration;

/// The longest time that an engine waits before it lets the worker look at the stop flag and the clock.
pub(super) const PATIENCE: Duration = Duration::from_millis(20);

/// A read that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Completion {
    /// Its slot.
    pub(super) slot: u32,
    /// Bytes read, or a negated errno, as the kernel returns them.
    pub(super) result: i32,
}

/// Carries reads of one block to the kernel. Each slot reads into its own part of the engine's buffer.
pub(super) trait Engine {
    /// Prepares the read of the block at `offset` for a slot that is not in flight.
    ///
    /// # Errors
    /// The engine is out of room, which more slots than its depth would cause.
    fn prepare(&mut self, slot: u32, offset: u64) -> io::Result<()>;

    /// Hands over what was prepared, waits until at least `want` reads have ended or [`PATIENCE`] is over, and appends
    /// all that ended to `done`.
    ///
    /// # Errors
    /// The engine broke down. Failed reads are no errors here; they are completions.
    fn submit_and_reap(&mut self, want: u32, done: &mut Vec<Completion>) -> io::Result<()>;

    /// Kernel entries so far.
    fn enters(&self) -> u64;
}
