//! Moves blocks between files and memory: through a ring with several in flight, or one call at a time.

use std::fs::File;
use std::io;

use crate::engine::{Completion, Engine, PATIENCE, Request};
use crate::memory::Memory;
use crate::psync::carry_out;
use crate::ring::{Ring, RingEngine};

/// A way to do I/O on any file. A slot's block stays in its part of the memory from the read to the write.
pub(super) enum Mover<'r> {
    /// io_uring.
    Ring(Box<RingEngine<'r, 'static>>),
    /// `pread(2)` and `pwrite(2)`: each I/O has ended when it was begun.
    Calls(Memory, Vec<Completion>),
    /// A ring that failed. What it had in flight could end in the middle of another file, so nothing more is begun.
    Broken,
}

impl<'r> Mover<'r> {
    /// Memory for `depth` blocks. What is read into a slot is written from it.
    ///
    /// # Errors
    /// There is not enough memory.
    pub(super) fn memory(block_size: u32, depth: u32) -> io::Result<Memory> {
        // Memory keeps reads and writes apart; one that knows only writes has one part for both.
        Memory::new(u64::from(block_size), depth, false, true, 1)
    }

    pub(super) fn ring(ring: &'r mut Ring, memory: Memory) -> Self {
        Self::Ring(Box::new(RingEngine::on_any(ring, memory)))
    }

    pub(super) fn calls(memory: Memory) -> Self {
        Self::Calls(memory, Vec::new())
    }

    /// Begins an I/O on `file` for a slot that has none.
    ///
    /// # Errors
    /// The request does not fit the slot, or the ring broke down before.
    pub(super) fn begin(&mut self, file: &File, slot: u32, request: Request) -> io::Result<()> {
        match self {
            Self::Ring(engine) => engine.prepare_on(file, slot, request),
            Self::Calls(memory, done) => {
                let bytes = memory.bytes(slot, request).ok_or(io::ErrorKind::InvalidInput)?;
                let result = carry_out(file, bytes, request);
                done.push(Completion { slot, result });
                Ok(())
            }
            Self::Broken => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Appends what ended, after waiting a while for at least one.
    ///
    /// # Errors
    /// The ring broke down.
    pub(super) fn reap(&mut self, into: &mut Vec<Completion>) -> io::Result<()> {
        match self {
            Self::Ring(engine) => {
                let reaped = engine.submit_and_reap(1, PATIENCE, into);
                if reaped.is_err() {
                    *self = Self::Broken;
                }
                reaped
            }
            Self::Calls(_, done) => {
                into.append(done);
                Ok(())
            }
            Self::Broken => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// The bytes of the I/O of a slot that is not in flight.
    pub(super) fn bytes(&mut self, slot: u32, request: Request) -> Option<&mut [u8]> {
        match self {
            Self::Ring(engine) => engine.memory()?.bytes(slot, request),
            Self::Calls(memory, _) => memory.bytes(slot, request),
            Self::Broken => None,
        }
    }
}
