//! Which write each block of a region was last given, so that what is read back can be judged.

use super::engine::Request;

/// The bit that marks a block as in flight.
const FLYING: u32 = 1 << 31;
/// The generation of a block of which nobody knows what it holds: a write to it failed or never came back.
const UNCERTAIN: u32 = FLYING - 1;

/// The generations of the blocks that one worker writes. No two writes to a block are in flight at once, since what
/// such a block holds afterwards would be open.
#[derive(Debug, Clone)]
pub(super) struct Ledger {
    /// The first byte.
    start: u64,
    /// Bytes of a block.
    block: u64,
    generations: Vec<u32>,
}

impl Ledger {
    /// A ledger of the blocks of `block` bytes from `start` to `end`; none was written yet.
    pub(super) fn new(start: u64, end: u64, block: u64) -> Self {
        let count = end.saturating_sub(start).checked_div(block).unwrap_or(0);
        Self { start, block, generations: vec![0; usize::try_from(count).unwrap_or(0)] }
    }

    /// Bytes of a block.
    pub(super) fn block(&self) -> u64 {
        self.block
    }

    fn blocks(&mut self, request: Request) -> &mut [u32] {
        let at = |offset: u64| (offset.saturating_sub(self.start) / self.block.max(1)) as usize;
        let range = at(request.offset)..at(request.offset + u64::from(request.length));
        self.generations.get_mut(range).unwrap_or_default()
    }

    /// Begins a write: the generation of each of its blocks is one higher. False, and nothing changed, when a write to
    /// one of them is in flight.
    pub(super) fn begin(&mut self, request: Request) -> bool {
        let blocks = self.blocks(request);
        if blocks.iter().any(|block| block & FLYING != 0) {
            return false;
        }
        for block in blocks {
            // An uncertain block is certain again after a write. Two thousand million writes to a block start again.
            *block = FLYING | if *block + 1 < UNCERTAIN { *block + 1 } else { 1 };
        }
        true
    }

    /// The generation that a write in flight gives to a block.
    pub(super) fn generation(&self, offset: u64) -> u64 {
        let index = (offset.saturating_sub(self.start) / self.block.max(1)) as usize;
        self.generations.get(index).map_or(0, |block| u64::from(block & !FLYING))
    }

    /// Ends a write; `good` when all of it was taken.
    pub(super) fn end(&mut self, request: Request, good: bool) {
        for block in self.blocks(request) {
            *block = if good { *block & !FLYING } else { UNCERTAIN };
        }
    }

    /// The blocks whose content is known, with their offset and generation. A write that never came back leaves its
    /// blocks out.
    pub(super) fn known(&self) -> impl Iterator<Item = (u64, u64)> {
        let offsets = (0..).map(|index: u64| self.start + index * self.block);
        let known = |block: u32| block > 0 && block & FLYING == 0 && block != UNCERTAIN;
        let blocks = offsets.zip(&self.generations).filter(move |(_, block)| known(**block));
        blocks.map(|(offset, block)| (offset, u64::from(*block)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Op;

    fn write(offset: u64, length: u32) -> Request {
        Request { op: Op::Write, offset, length }
    }

    #[test]
    fn a_block_is_written_by_one_at_a_time_and_counts_its_writes() {
        let mut ledger = Ledger::new(4096, 4096 * 5, 4096);
        assert!(ledger.begin(write(4096, 8192)));
        assert!(!ledger.begin(write(8192, 8192)), "its first block is in flight");
        assert_eq!(ledger.known().count(), 0);
        ledger.end(write(4096, 8192), true);
        assert!(ledger.begin(write(8192, 8192)));
        ledger.end(write(8192, 8192), true);
        assert_eq!(ledger.known().collect::<Vec<_>>(), [(4096, 1), (8192, 2), (12_288, 1)]);
    }

    #[test]
    fn a_failed_write_leaves_its_blocks_uncertain_until_the_next() {
        let mut ledger = Ledger::new(0, 4096, 4096);
        assert!(ledger.begin(write(0, 4096)));
        ledger.end(write(0, 4096), false);
        assert_eq!(ledger.known().count(), 0);
        assert!(ledger.begin(write(0, 4096)));
        ledger.end(write(0, 4096), true);
        assert_eq!(ledger.known().count(), 1);
    }

    #[test]
    fn what_is_outside_is_no_panic() {
        let mut ledger = Ledger::new(4096, 8192, 4096);
        assert!(ledger.begin(write(1 << 40, 4096)));
        ledger.end(write(0, 512), true);
        assert_eq!(Ledger::new(8, 4, 0).known().count(), 0);
    }
}
