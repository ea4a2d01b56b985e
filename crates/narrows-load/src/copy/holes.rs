//! The holes of a copy: nothing was written there, so nothing but zeros may be read from there.
//!
//! The destination's own map of its data (`SEEK_DATA`, lseek(2)) says where a hole is none any more. Only what it calls
//! data is read, which on a file system with holes is nothing.

use std::fs::File;
use std::io;

use super::block::{Block, Cursor, checksum};

/// The data that a part has between `blocks`, as blocks with the checksum of zeros.
///
/// # Errors
/// What `lseek(2)` answers.
pub(super) fn data_between(
    blocks: &[Block],
    part: &File,
    size: u64,
    block_size: u32,
) -> io::Result<Vec<Block>> {
    let mut found = Vec::new();
    let mut zeros = Zeros::default();
    for (from, to) in gaps(blocks, size) {
        let mut cursor = Cursor::new(Some(part), from, to, block_size);
        while let Some((offset, length)) = cursor.next()? {
            found.push(Block { offset, length, hash: zeros.checksum(length) });
        }
    }
    Ok(found)
}

/// The parts of `size` bytes that no block covers: first byte, and the byte after the last.
fn gaps(blocks: &[Block], size: u64) -> Vec<(u64, u64)> {
    let covered: u64 = blocks.iter().map(|block| u64::from(block.length)).sum();
    if covered >= size {
        return Vec::new();
    }
    let mut extents: Vec<(u64, u64)> = blocks.iter().map(|block| (block.offset, block.end())).collect();
    // Blocks are in the order in which they were read.
    extents.sort_unstable();
    extents.push((size, size));
    let mut gaps = Vec::new();
    let mut end = 0;
    for (from, to) in extents {
        if end < from {
            gaps.push((end, from));
        }
        end = end.max(to);
    }
    gaps
}

/// The checksum of zeros, computed once for blocks of one length in a row.
#[derive(Debug, Default)]
struct Zeros {
    last: Option<(u32, u64)>,
}

impl Zeros {
    fn checksum(&mut self, length: u32) -> u64 {
        match self.last {
            Some((known, hash)) if known == length => hash,
            _ => {
                let hash = checksum(&vec![0; length as usize]);
                self.last = Some((length, hash));
                hash
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::fs::FileExt;

    fn block(offset: u64, length: u32) -> Block {
        Block { offset, length, hash: 0 }
    }

    #[test]
    fn gaps_lie_before_between_and_behind_blocks_whatever_their_order() {
        let blocks = [block(8192, 4096), block(0, 4096), block(12_288, 100)];
        assert_eq!(gaps(&blocks, 12_388), [(4096, 8192)]);
        assert_eq!(gaps(&blocks, 20_000), [(4096, 8192), (12_388, 20_000)]);
        assert_eq!(gaps(&blocks[..1], 12_288), [(0, 8192)]);
        assert_eq!(gaps(&[], 5), [(0, 5)]);
        assert_eq!(gaps(&[], 0), []);
        assert_eq!(gaps(&[block(0, 4096)], 4096), []);
    }

    #[test]
    fn data_in_a_hole_is_found_in_pieces_of_the_block_size_and_the_hole_is_not() {
        let part = tempfile::tempfile().unwrap();
        part.set_len(1 << 20).unwrap();
        assert_eq!(data_between(&[], &part, 1 << 20, 65_536).unwrap(), [], "a hole has no data");
        part.write_all_at(&[0; 100_000], 300_000).unwrap();
        part.write_all_at(b"x", (1 << 20) - 1).unwrap();
        let found = data_between(&[block(0, 8192)], &part, 1 << 20, 65_536).unwrap();
        assert!(found.iter().all(|block| block.length <= 65_536 && block.offset >= 8192), "{found:?}");
        for at in [300_000, 399_999, (1 << 20) - 1] {
            assert!(found.iter().any(|block| block.offset <= at && at < block.end()), "{at}: {found:?}");
        }
        assert!(found.iter().all(|block| block.hash == checksum(&vec![0; block.length as usize])));
        let read: u64 = found.iter().map(|block| u64::from(block.length)).sum();
        assert!(read <= 131_072 + 8192, "{read} bytes of a hole are to be read");
    }

    proptest! {
        #[test]
        fn every_byte_is_in_a_block_or_in_a_gap(cuts in prop::collection::vec((1u32..50, any::<bool>()), 0..30)) {
            let (mut at, mut blocks, mut holes) = (0, Vec::new(), 0);
            for (length, is_data) in cuts {
                if is_data { blocks.push(block(at, length)) } else { holes += u64::from(length) }
                at += u64::from(length);
            }
            blocks.reverse();
            let gaps = gaps(&blocks, at);
            prop_assert_eq!(gaps.iter().map(|(from, to)| to - from).sum::<u64>(), holes);
            for (from, to) in gaps {
                prop_assert!(from < to && to <= at);
                prop_assert!(blocks.iter().all(|block| block.end() <= from || to <= block.offset));
            }
        }
    }
}
