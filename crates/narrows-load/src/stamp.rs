//! What is written: incompressible data in which every block says where it belongs and which write it is from, so that no two
//! writes are alike.
//!
//! The data of a slot is filled once; before each write only the stamp at the head of each block changes.

/// Bytes of a stamped block, unless I/Os are smaller.
pub(super) const STAMPED: u64 = 4096;
/// The smallest block that is stamped: the smallest sector there is.
pub(super) const SMALLEST: u64 = 512;
/// Bytes that are kept for a stamp, of which it takes 32. What an earlier version left on a device has its marks behind them.
pub(super) const HEAD: usize = 40;
/// "narrows1" in ASCII.
pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"narrows1");

/// The stamp of one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Tells runs apart.
    pub(super) seed: u64,
    /// Where the block belongs, in bytes.
    pub(super) offset: u64,
    /// Which write of its worker it is from, from 1.
    pub(super) generation: u64,
}

impl Stamp {
    /// Writes the stamp into a block.
    pub(super) fn put(self, block: &mut [u8]) {
        let words = [MAGIC, self.seed, self.offset, self.generation];
        for (place, word) in block.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
    }
}
