//! What the worker needs of an engine: hand over I/Os, and tell which ended.

use std::io;
use std::time::Duration;

use super::memory::Memory;

/// The longest time that an engine waits before it lets the worker look at the stop flag and the clock.
pub(super) const PATIENCE: Duration = Duration::from_millis(20);

/// What an I/O does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    Read,
    Write,
    /// The blocks are given back, see [`TrimMethod`](super::trim::TrimMethod).
    Discard,
    /// fsync(2) of the whole file.
    Fsync,
    /// fdatasync(2) of the whole file.
    Fdatasync,
}

/// An I/O to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) op: Op,
    /// The first byte.
    pub(super) offset: u64,
    /// How many bytes; none for a sync.
    pub(super) length: u32,
}

/// An I/O that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Completion {
    /// Its slot.
    pub(super) slot: u32,
    /// Bytes moved, or a negated errno, as the kernel returns them.
    pub(super) result: i32,
}

/// Carries I/Os to the kernel. Each slot has its own part of the engine's buffer.
pub(super) trait Engine {
    /// Prepares an I/O for a slot that is not in flight.
    ///
    /// # Errors
    /// The engine is out of room, which more slots than its depth would cause.
    fn prepare(&mut self, slot: u32, request: Request) -> io::Result<()>;

    /// Hands over what was prepared, waits until at least `want` I/Os have ended or `patience` is over, and appends all
    /// that ended to `done`. With nothing in flight it waits as well.
    ///
    /// # Errors
    /// The engine broke down. Failed I/Os are no errors here; they are completions.
    fn submit_and_reap(
        &mut self,
        want: u32,
        patience: Duration,
        done: &mut Vec<Completion>,
    ) -> io::Result<()>;

    /// The memory that writes come from, to stamp a write before it is prepared; `None` for an engine that writes
    /// nothing.
    fn memory(&mut self) -> Option<&mut Memory> {
        None
    }

    /// Kernel entries so far.
    fn enters(&self) -> u64;

    /// Whether the kernel may hand its I/Os to worker threads of its own (io-wq).
    fn has_io_workers(&self) -> bool {
        false
    }
}
