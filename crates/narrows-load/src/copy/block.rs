//! The blocks of a file that hold data. Holes are stepped over, and so are neither read nor written: a new file reads
//! as zeros there, which verification looks at (`holes`).

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

#[cfg(test)]
mod tests {
    use super::*;
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
}
