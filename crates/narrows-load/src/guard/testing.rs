//! Media in memory, and what stands on them.

use std::cell::Cell;
use std::io;
use std::thread;
use std::time::Duration;

use super::bulk::{Bulk, Piece, See};
use super::mark::Mark;
use super::scan::Medium;
use super::zfs_label::STRING;
use crate::marks::{DeviceKey, RunSecret};
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

/// A medium in memory.
pub(super) struct Memory(pub(super) Vec<u8>);

impl Medium for Memory {
    fn size(&self) -> Bytes {
        Bytes::new(self.0.len() as u64)
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let from = usize::try_from(offset).expect("is small");
        into.copy_from_slice(&self.0[from..from + into.len()]);
        Ok(())
    }
}

pub(super) fn key(run: u8) -> DeviceKey {
    DeviceKey::of(&RunSecret::new([run; 32]), "the lab", Bytes::new(0))
}

pub(super) fn mark() -> Mark {
    Mark {
        uuid: [0xab; 16],
        text: "abababab-abab-abab-abab-abababababab".to_owned(),
        volume: "a".repeat(30),
        pool: "narrows-lab-abababab".to_owned(),
        key: key(1),
    }
}

pub(super) fn medium(parts: &[(usize, &[u8])]) -> Memory {
    let mut bytes = vec![0; 4 << 20];
    for (at, part) in parts {
        bytes[*at..*at + part.len()].copy_from_slice(part);
    }
    Memory(bytes)
}

fn padded(text: &str) -> Vec<u8> {
    let mut bytes = (text.len() as u32).to_be_bytes().to_vec();
    bytes.extend(text.as_bytes());
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// A list of texts; without a value the pair is a number.
pub(super) fn label(pairs: &[(&str, Option<&str>)]) -> Vec<u8> {
    let mut list = vec![1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    for (name, value) in pairs {
        let mut rest = padded(name);
        let (kind, value) = value.map_or_else(|| (8, vec![0; 8]), |text| (STRING, padded(text)));
        rest.extend(kind.to_be_bytes());
        rest.extend(1_u32.to_be_bytes());
        rest.extend(value);
        list.extend((rest.len() as u32 + 8).to_be_bytes());
        list.extend([0, 0, 0, 64]);
        list.extend(rest);
    }
    list.extend([0; 8]);
    list
}
