//! The memory of a worker: what its I/Os read into and write from, each slot apart.

use std::io;

use super::buffer::Buffer;
use super::engine::{Op, Request};
use super::marks::{Marker, Stamp};
use super::random::Random;

/// A buffer with a part for each slot: one for its reads, one for its writes. They are apart so that a read never
/// overwrites the data that a later write sends.
#[derive(Debug)]
pub(super) struct Memory {
    buffer: Buffer,
    /// Bytes in each part, the largest I/O.
    part: usize,
    /// Where the parts for writes begin.
    writes_at: usize,
    /// How written blocks are stamped.
    stamps: Option<Stamps>,
}

/// How the data for writes is stamped.
#[derive(Debug)]
struct Stamps {
    /// Bytes of a stamped block.
    block: usize,
    /// Tells the writes of this run from those of any other.
    nonce: u64,
}

impl Memory {
    /// The bytes that `depth` slots of `part` bytes take.
    pub(super) fn size(part: u64, depth: u32, reads: bool, writes: bool) -> u64 {
        let kinds = u64::from(reads) + u64::from(writes);
        part.saturating_mul(u64::from(depth)).saturating_mul(kinds)
    }

    /// Memory for `depth` slots. The parts for writes hold incompressible data that `seed` decides.
    ///
    /// # Errors
    /// There is not enough memory.
    pub(super) fn new(part: u64, depth: u32, reads: bool, writes: bool, seed: u64) -> io::Result<Self> {
        let short = || io::Error::from(io::ErrorKind::OutOfMemory);
        let whole = usize::try_from(Self::size(part, depth, reads, writes)).map_err(|_| short())?;
        let part = usize::try_from(part).map_err(|_| short())?;
        let writes_at = if reads { part * depth as usize } else { 0 };
        let mut buffer = Buffer::new(whole.max(1))?;
        if writes && let Some(outgoing) = buffer.bytes().get_mut(writes_at..) {
            Random::seeded(seed).fill(outgoing);
        }
        Ok(Self { buffer, part, writes_at, stamps: None })
    }

    /// The same memory, whose writes are stamped in blocks of `block` bytes, a divisor of every I/O's length, and bear the
    /// marks of a device where there is a marker.
    pub(super) fn stamped(mut self, block: u64, nonce: u64, marker: Option<Marker>) -> Self {
        let block = block as usize;
        if let Some(marker) = marker {
            let outgoing = self.buffer.bytes().get_mut(self.writes_at..).unwrap_or_default();
            outgoing.chunks_exact_mut(block.max(1)).for_each(|block| marker.mark(block));
        }
        Self { stamps: Some(Stamps { block, nonce }), ..self }
    }

    /// Stamps the blocks of a write whose slot is not in flight.
    pub(super) fn stamp(&mut self, slot: u32, request: Request, generation: u64) {
        let (Some(from), Some(stamps)) = (self.place(slot, request), &self.stamps) else { return };
        let data = self.buffer.part(from, request.length as usize).unwrap_or_default();
        let offsets = (0..).map(|index: u64| request.offset + index * stamps.block as u64);
        for (block, offset) in data.chunks_exact_mut(stamps.block.max(1)).zip(offsets) {
            Stamp { seed: stamps.nonce, offset, generation }.put(block);
        }
    }

    /// Where the I/O of a slot begins in the buffer; `None` when it has no room there.
    #[inline]
    pub(super) fn place(&self, slot: u32, request: Request) -> Option<usize> {
        let from = slot as usize * self.part + if request.op == Op::Write { self.writes_at } else { 0 };
        let fits = request.length as usize <= self.part && from + self.part <= self.buffer.length();
        fits.then_some(from)
    }

    /// The bytes of the I/O of a slot that is not in flight.
    pub(super) fn bytes(&mut self, slot: u32, request: Request) -> Option<&mut [u8]> {
        let from = self.place(slot, request)?;
        self.buffer.part(from, request.length as usize)
    }

    /// All of it, for the kernel.
    pub(super) fn buffer(&self) -> &Buffer {
        &self.buffer
    }
}
