//! What is written: incompressible data in which every block says where it belongs and which write it is from.
//!
//! The data of a slot is filled once; before each write only the stamp at the head of each block changes. A checksum in
//! the stamp covers the whole block, so a block can be judged by itself, whatever slot it came from.

/// Bytes of a stamped block, unless I/Os are smaller.
pub(super) const STAMPED: u64 = 4096;
/// The smallest block that is stamped: the smallest sector there is.
pub(super) const SMALLEST: u64 = 512;
/// The words of a stamp: magic, seed, offset, generation, checksum.
const WORDS: usize = 5;
/// Bytes of a stamp.
pub(super) const HEAD: usize = WORDS * 8;
/// "narrows1" in ASCII.
pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"narrows1");

/// The stamp of one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Tells runs apart.
    pub(super) seed: u64,
    /// Where the block belongs, in bytes.
    pub(super) offset: u64,
    /// Which write of this run to this block it is from, from 1.
    pub(super) generation: u64,
}

/// What a block turns out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// Whole.
    Whole(Stamp),
    /// Stamped, but its checksum is wrong. The stamp may be what is damaged.
    Damaged(Stamp),
    /// Not stamped.
    Foreign,
}

impl Stamp {
    /// Writes the stamp into a block whose body has the digest `body`.
    pub(super) fn put(self, block: &mut [u8], body: u64) {
        let checksum = self.checksum(body);
        let words = [MAGIC, self.seed, self.offset, self.generation, checksum];
        for (place, word) in block.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
    }

    fn checksum(self, body: u64) -> u64 {
        [MAGIC, self.seed, self.offset, self.generation].into_iter().fold(body, absorb)
    }

    /// Reads the stamp of a block and checks it.
    pub(super) fn find(block: &[u8]) -> Found {
        let mut words = block.chunks_exact(8).map(word);
        let mut next = || words.next().unwrap_or(0);
        let magic = next();
        let stamp = Self { seed: next(), offset: next(), generation: next() };
        if next() == stamp.checksum(digest(block)) && magic == MAGIC {
            Found::Whole(stamp)
        } else if magic == MAGIC {
            Found::Damaged(stamp)
        } else {
            Found::Foreign
        }
    }

    /// How many of the words of a damaged stamp are those of this one.
    pub(super) fn likeness(self, block: &[u8]) -> usize {
        let want = [MAGIC, self.seed, self.offset, self.generation];
        block.chunks_exact(8).map(word).zip(want).filter(|(found, want)| found == want).count()
    }
}

/// Eight bytes as a number.
pub(super) fn word(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

/// The digest of a block without its stamp.
pub(super) fn digest(block: &[u8]) -> u64 {
    block.get(HEAD..).unwrap_or_default().chunks_exact(8).map(word).fold(0, absorb)
}

/// One step of the checksum. For each word it is one-to-one in the state and, for each state, one-to-one in the word, so
/// a change inside a single word always changes the result. The factor is that of SplitMix64.
pub(super) fn absorb(state: u64, word: u64) -> u64 {
    (state ^ word).wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(29)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use proptest::prelude::*;

    fn stamped(stamp: Stamp, size: usize) -> Vec<u8> {
        let mut block = vec![0; size];
        Random::seeded(3).fill(&mut block);
        let body = digest(&block);
        stamp.put(&mut block, body);
        block
    }

    const STAMP: Stamp = Stamp { seed: 7, offset: 8192, generation: 3 };

    #[test]
    fn a_stamped_block_is_whole_and_any_other_is_foreign() {
        for size in [512, 4096] {
            assert_eq!(Stamp::find(&stamped(STAMP, size)), Found::Whole(STAMP));
        }
        assert_eq!(Stamp::find(&[0; 4096]), Found::Foreign);
        assert_eq!(Stamp::find(&[]), Found::Foreign);
    }

    #[test]
    fn the_body_is_not_touched_by_the_stamp() {
        let block = stamped(STAMP, 512);
        let mut again = block.clone();
        let later = Stamp { generation: 4, ..STAMP };
        later.put(&mut again, digest(&block));
        assert_eq!(block[HEAD..], again[HEAD..]);
        assert_eq!(Stamp::find(&again), Found::Whole(later));
    }

    proptest! {
        #[test]
        fn every_flipped_bit_is_found(bit in 0usize..4096 * 8) {
            let mut block = stamped(STAMP, 4096);
            block[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(!matches!(Stamp::find(&block), Found::Whole(_)));
            prop_assert!(STAMP.likeness(&block) >= 3);
        }

        #[test]
        fn foreign_blocks_never_panic(block in prop::collection::vec(any::<u8>(), 0..600)) {
            prop_assert!(!matches!(Stamp::find(&block), Found::Whole(_)));
        }
    }
}
