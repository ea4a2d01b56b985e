//! The blocks of a file that hold data. Holes are stepped over, and so are neither read nor written: a new file reads
//! as zeros there, which verification looks at (`data_between`).

use std::fs::File;
use std::io;

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

/// What direct I/O may ask an offset and a length to be a multiple of; a power of two.
pub(super) const ALIGNMENT: u64 = 4096;

/// A piece of a file with its checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    /// Its first byte.
    pub(super) offset: u64,
    /// Its length in bytes.
    pub(super) length: u32,
    /// XXH3 (64 bits) of its bytes.
    pub(super) hash: u64,
}

impl Block {
    /// The byte after its last.
    pub(super) fn end(&self) -> u64 {
        self.offset.saturating_add(u64::from(self.length))
    }
}

/// The checksum of some bytes: XXH3 with 64 bits, which finds every accident and no forgery.
pub(super) fn checksum(bytes: &[u8]) -> u64 {
    twox_hash::XxHash3_64::oneshot(bytes)
}

/// `length` rounded up to what direct I/O asks for.
pub(super) fn aligned(length: u32) -> u32 {
    length.checked_next_multiple_of(ALIGNMENT as u32).unwrap_or(length)
}

/// Goes through the data of a file, block by block.
#[derive(Debug)]
pub(super) struct Cursor<'f> {
    /// To ask for holes; `None` for a file that is taken to have none.
    sparse: Option<&'f File>,
    at: u64,
    /// Where the data that `at` lies in end.
    data_end: u64,
    size: u64,
    block_size: u64,
}

impl<'f> Cursor<'f> {
    /// From byte `from` of a file of `size` bytes. `sparse` is the file, if it may have holes.
    pub(super) fn new(sparse: Option<&'f File>, from: u64, size: u64, block_size: u32) -> Self {
        let data_end = if sparse.is_some() { from } else { size };
        Self { sparse, at: from, data_end, size, block_size: u64::from(block_size.max(1)) }
    }

    /// The offset and length of the next block; `None` at the end.
    ///
    /// # Errors
    /// What `lseek(2)` answers.
    pub(super) fn next(&mut self) -> io::Result<Option<(u64, u32)>> {
        if self.at >= self.data_end && !self.find_data()? {
            return Ok(None);
        }
        let boundary = (self.at / self.block_size).saturating_add(1).saturating_mul(self.block_size);
        let end = boundary.min(self.data_end);
        let block = (self.at, u32::try_from(end - self.at).map_err(|_| io::ErrorKind::InvalidInput)?);
        self.at = end;
        Ok(Some(block))
    }

    /// Steps over a hole. False at the end of the file.
    fn find_data(&mut self) -> io::Result<bool> {
        let Some(file) = self.sparse.filter(|_| self.at < self.size) else { return Ok(false) };
        let data = match seek(file, SeekFrom::Data(self.at)) {
            Ok(data) => data,
            Err(Errno::NXIO) => return Ok(false),
            // A file system without holes.
            Err(Errno::INVAL | Errno::OPNOTSUPP) => {
                (self.sparse, self.data_end) = (None, self.size);
                return Ok(true);
            }
            Err(error) => return Err(error.into()),
        };
        let hole = seek(file, SeekFrom::Hole(data))?;
        self.at = (data / ALIGNMENT * ALIGNMENT).max(self.at);
        self.data_end = hole.checked_next_multiple_of(ALIGNMENT).unwrap_or(hole).min(self.size);
        Ok(self.at < self.data_end)
    }
}

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

    fn all(mut cursor: Cursor<'_>) -> Vec<(u64, u32)> {
        std::iter::from_fn(|| cursor.next().unwrap()).collect()
    }

    #[test]
    fn a_dense_file_is_cut_at_multiples_of_the_block_size() {
        assert_eq!(all(Cursor::new(None, 0, 10_000, 4096)), [(0, 4096), (4096, 4096), (8192, 1808)]);
        assert_eq!(all(Cursor::new(None, 5000, 10_000, 4096)), [(5000, 3192), (8192, 1808)]);
        assert_eq!(all(Cursor::new(None, 0, 0, 4096)), []);
    }

    #[test]
    fn holes_are_stepped_over() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 20).unwrap();
        file.write_all_at(b"x", 300_000).unwrap();
        let blocks = all(Cursor::new(Some(&file), 0, 1 << 20, 65_536));
        let covered: u64 = blocks.iter().map(|(_, length)| u64::from(*length)).sum();
        assert!(blocks.iter().any(|(at, length)| *at <= 300_000 && 300_000 < at + u64::from(*length)));
        assert!(covered <= 131_072, "{blocks:?}");
        assert!(blocks.iter().all(|(at, _)| at % ALIGNMENT == 0));
        let hole = tempfile::tempfile().unwrap();
        hole.set_len(1 << 20).unwrap();
        assert_eq!(all(Cursor::new(Some(&hole), 0, 1 << 20, 65_536)), []);
    }

    #[test]
    fn the_checksum_is_xxh3_as_published() {
        // XXH3_64bits of no input with seed 0, from the xxHash specification's sanity checks.
        assert_eq!(checksum(b""), 0x2d06_8005_38d3_94c2);
        assert_ne!(checksum(b"a"), checksum(b"b"));
    }

    #[test]
    fn lengths_are_rounded_up_for_direct_io() {
        assert_eq!([aligned(0), aligned(1), aligned(4096), aligned(4097)], [0, 4096, 4096, 8192]);
        assert_eq!(aligned(u32::MAX), u32::MAX);
    }

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
