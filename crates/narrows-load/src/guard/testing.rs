//! A medium in memory, of any size, that is zero but for a few pieces.

use std::cell::Cell;
use std::io;
use std::thread;
use std::time::Duration;

use super::bulk::{Bulk, Piece, See};
use super::scan::Medium;
use narrows_base::units::Bytes;

/// The medium.
#[derive(Debug, Default)]
pub(super) struct Fake {
    pub(super) size: u64,
    pub(super) pieces: Vec<(u64, Vec<u8>)>,
    /// A byte that cannot be read.
    pub(super) broken: Option<u64>,
    /// What each read takes.
    pub(super) delay: Duration,
    pub(super) reads: Cell<u64>,
}

impl Fake {
    pub(super) fn with(size: u64, pieces: Vec<(u64, Vec<u8>)>) -> Self {
        Self { size, pieces, ..Self::default() }
    }

    fn fill(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let end = offset + into.len() as u64;
        assert!(end <= self.size, "reads past the end");
        if self.broken.is_some_and(|at| (offset..end).contains(&at)) {
            return Err(io::Error::from_raw_os_error(nix::libc::EIO));
        }
        into.fill(0);
        for (at, bytes) in &self.pieces {
            let (from, to) = ((*at).max(offset), (at + bytes.len() as u64).min(end));
            if from < to {
                let source = &bytes[(from - at) as usize..(to - at) as usize];
                into[(from - offset) as usize..][..source.len()].copy_from_slice(source);
            }
        }
        Ok(())
    }
}

impl Medium for Fake {
    fn size(&self) -> Bytes {
        Bytes::new(self.size)
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.fill(offset, into)
    }
}

impl Bulk for Fake {
    fn size(&self) -> u64 {
        self.size
    }

    fn unit(&self) -> u64 {
        4096
    }

    fn read_all(
        &self,
        longest: u32,
        pieces: &mut (dyn Iterator<Item = Piece> + Send),
        see: See<'_>,
    ) -> io::Result<()> {
        let mut buffer = vec![0; longest as usize];
        for piece in pieces {
            assert!(piece.offset.is_multiple_of(4096) && piece.length > 0);
            self.reads.set(self.reads.get() + 1);
            if !self.delay.is_zero() {
                thread::sleep(self.delay);
            }
            let into = &mut buffer[..piece.length as usize];
            let read = self.fill(piece.offset, into);
            if see(piece, read.map(|()| &*into)).is_break() {
                break;
            }
        }
        Ok(())
    }
}
