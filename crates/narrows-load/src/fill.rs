//! Fills a part of a file or device with data, so that reads of it reach the medium.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::libc;

use super::buffer::Buffer;
use super::error::LoadError;
use super::guard::{Budget, Census};
use super::marks::{Marker, Stamp};
use super::random::Random;
use super::target::drop_direct;
use narrows_base::units::Bytes;

/// Bytes in one write: large enough for the full rate of most devices at depth 1.
const CHUNK: u64 = 4 << 20;
/// Bytes after which the writes are made durable.
const SYNC_EVERY: u64 = 8 * CHUNK;
/// Every block of this size differs from every other, so that no deduplication shrinks what is written.
const DISTINCT: usize = 4096;

/// Is told the bytes written and the bytes to write; ends the work by answering [`ControlFlow::Break`].
pub(super) type Progress<'a> = &'a mut dyn FnMut(Bytes, Bytes) -> ControlFlow<()>;

/// What is written, and how long.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Filling<'a> {
    /// After so long the rest is left out, once so much is written.
    pub(super) time: Option<(Duration, Bytes)>,
    /// Decides the data.
    pub(super) seed: u64,
    /// How what is written is marked.
    pub(super) marker: Option<Marker>,
    /// What the writes are taken from, each before it happens, where that is limited.
    pub(super) budget: Option<&'a Budget>,
    /// What the device counts beside what is sent to it, where that is watched.
    pub(super) census: Option<&'a Census>,
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Filled {
    /// How many bytes.
    pub(super) written: u64,
    /// Whether it ended since no room is left.
    pub(super) is_full: bool,
    /// Whether all of it went past the page cache.
    pub(super) direct: bool,
}

/// The work of filling.
pub(super) struct Fill<'a> {
    /// What an error says was tried.
    action: &'static str,
    path: &'a Path,
    file: &'a File,
    direct: bool,
}

impl<'a> Fill<'a> {
    /// Fills `file`, which was opened for direct access if `direct`; `action` and `path` are for errors.
    pub(super) fn new(action: &'static str, path: &'a Path, file: &'a File, direct: bool) -> Self {
        Self { action, path, file, direct }
    }

    /// Writes `size` bytes from `start`.
    ///
    /// # Errors
    /// A write failed for another reason than a lack of room, memory is short, or `progress` broke it off.
    pub(super) fn write(
        mut self,
        start: u64,
        size: u64,
        filling: &Filling<'_>,
        progress: Progress<'_>,
    ) -> Result<Filled, LoadError> {
        let mut buffer = Buffer::new(CHUNK as usize)
            .map_err(|source| LoadError::Memory { bytes: Bytes::new(CHUNK), source })?;
        let mut random = Random::seeded(filling.seed);
        let begin = Instant::now();
        let mut at = 0;
        while at < size {
            let is_late = |(time, least): (Duration, Bytes)| at >= least.get() && begin.elapsed() >= time;
            if filling.time.is_some_and(is_late) {
                return Ok(Filled { written: at, is_full: false, direct: self.direct });
            }
            if progress(Bytes::new(at), Bytes::new(size)).is_break() {
                return Err(LoadError::Interrupted);
            }
            let length = CHUNK.min(size - at);
            if let Some(budget) = filling.budget {
                budget.take(Bytes::new(length)).map_err(LoadError::OverBudget)?;
            }
            let chunk = buffer.bytes().get_mut(..length as usize).unwrap_or_default();
            random.fill(chunk);
            distinguish(chunk, start + at, filling);
            if let Some(census) = filling.census {
                // Between two chunks nothing is in flight: what is counted now beside what was sent is of others.
                census.check().map_err(LoadError::Others)?;
                census.writes(length);
            }
            match self.chunk(chunk, start + at) {
                Ok(()) => at += length,
                Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT)) => {
                    return Ok(Filled { written: at, is_full: true, direct: self.direct });
                }
                Err(error) => return Err(LoadError::io(self.action, self.path, error)),
            }
        }
        let _ = progress(Bytes::new(size), Bytes::new(size));
        Ok(Filled { written: size, is_full: false, direct: self.direct })
    }

    /// Writes one chunk, through the page cache from then on if the file system refuses direct writes.
    fn chunk(&mut self, chunk: &[u8], at: u64) -> io::Result<()> {
        // Of a slow device no more than this holds up the end of the program.
        const PIECE: usize = 256 << 10;
        let write = |file: &File| {
            let mut pieces = chunk.chunks(PIECE).zip((at..).step_by(PIECE));
            pieces.try_for_each(|(piece, at)| file.write_all_at(piece, at))
        };
        match write(self.file) {
            Err(error) if self.direct && error.raw_os_error() == Some(libc::EINVAL) => {
                drop_direct(self.file)?;
                self.direct = false;
                write(self.file)?;
            }
            written => written?,
        }
        // Otherwise the page cache takes everything at once, and the time goes into one long sync at the end. (A file
        // system may accept O_DIRECT and use the page cache all the same.)
        if (at + chunk.len() as u64).is_multiple_of(SYNC_EVERY) { self.file.sync_data() } else { Ok(()) }
    }
}

/// Makes each block differ from every other by where it belongs, and marks it where that is asked for.
fn distinguish(chunk: &mut [u8], start: u64, filling: &Filling) {
    for (index, block) in (start / DISTINCT as u64..).zip(chunk.chunks_exact_mut(DISTINCT)) {
        match filling.marker {
            Some(marker) => {
                marker.mark(block);
                let offset = index * DISTINCT as u64;
                Stamp { seed: filling.seed, offset, generation: 0 }.put(block);
            }
            None => block[..8].copy_from_slice(&index.to_le_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn go(_: Bytes, _: Bytes) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    #[test]
    fn a_part_is_filled_and_nothing_beside_it() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(3 << 20).unwrap();
        let fill = Fill::new("write", Path::new("x"), &file, false);
        let filled = fill.write(1 << 20, 1 << 20, &Filling::default(), &mut go).unwrap();
        assert_eq!(filled, Filled { written: 1 << 20, is_full: false, direct: false });
        let mut all = vec![0; 3 << 20];
        file.read_exact_at(&mut all, 0).unwrap();
        assert!(all[..1 << 20].iter().chain(&all[2 << 20..]).all(|byte| *byte == 0));
        let zeros = all[1 << 20..2 << 20].iter().filter(|byte| **byte == 0).count();
        assert!(zeros < 1 << 14, "{zeros} zeros in a MiB of random bytes");
    }
}
