//! Clears what we wrote: exactly the sectors that bear our mark. What others wrote stays, and is named.
//!
//! A discard comes first where the device takes one, since that wears nothing; what does not read as zeros then is written
//! with zeros. All of it is read back.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use nix::libc;
use serde::Serialize;

use super::budget::Budget;
use super::census::{Census, Others};
use super::discard::discard;
use super::search::{Found, sort};
use super::sentry::{Step, Watch};
use crate::buffer::Buffer;
use crate::engine::{Op, Request};
use crate::error::LoadError;
use crate::marks::{DeviceKey, Judge, SECTOR, Sector, is_zero};
use crate::workload::Region;
use narrows_base::units::Bytes;

/// What is looked at and cleared in one go.
const WINDOW: u64 = 2 << 20;
/// What is read or written in one go: what hangs holds up the end of the program.
const PIECE: usize = 128 << 10;
/// Foreign data are listed up to so many places.
const LISTED: usize = 8;

/// What is cleared: an open device.
#[derive(Debug, Clone, Copy)]
pub struct Ground<'a> {
    /// For errors.
    pub(crate) path: &'a Path,
    /// Open for writing past the page cache.
    pub(crate) file: &'a File,
    /// How what we wrote is marked.
    pub(crate) key: Option<DeviceKey>,
    /// The least that can be written.
    pub(crate) unit: u64,
    /// What the device counts beside what is sent to it, where that is watched.
    pub(crate) census: Option<&'a Census>,
}

/// What came of clearing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cleared {
    /// What bore our mark and is zero now.
    #[serde(rename = "cleared_bytes")]
    pub cleared: Bytes,
    /// How much of it was written with zeros, since no discard made it read as zeros.
    #[serde(rename = "written_bytes")]
    pub written: Bytes,
    /// What bore our mark and is still there.
    #[serde(rename = "left_bytes")]
    pub left: Bytes,
    /// The first places of data that bear no mark of ours. They were not touched.
    #[serde(skip)]
    pub foreign: Vec<Found>,
    /// Data without a mark of ours. They were not touched.
    pub foreign_bytes: Bytes,
    /// Whether whoever watches broke it off.
    #[serde(skip)]
    pub is_broken_off: bool,
    /// Who wrote to what is behind the device: what the run wrote over is not known.
    #[serde(skip)]
    pub others: Option<Others>,
}

impl Cleared {
    /// Whether all of the region is zero.
    pub fn is_blank(&self) -> bool {
        self.foreign_bytes.get() == 0 && self.left.get() == 0 && !self.is_broken_off
    }

    fn note(&mut self, found: Option<Found>, bytes: u64) {
        self.foreign_bytes = self.foreign_bytes + Bytes::new(bytes);
        if let Some(found) = found.filter(|_| self.foreign.len() < LISTED) {
            self.foreign.push(found);
        }
    }
}

/// Clears, in `region`, what bears the mark of the device. Writes take from `budget` where there is one; what it does not
/// cover stays.
///
/// # Errors
/// A read or write fails, or somebody else writes to the device. What was cleared until then is.
pub fn clear_marked(
    ground: &Ground<'_>,
    region: Region,
    budget: Option<&Budget>,
    watch: Watch<'_>,
) -> Result<Cleared, LoadError> {
    let mut clearing = Clearing::new(ground, budget)?;
    let (mut at, end) = (region.start.get(), (region.start + region.length).get());
    while at < end {
        let done = Bytes::new(at - region.start.get());
        if watch(Step::Clearing { done, of: region.length }).is_break() {
            clearing.result.is_broken_off = true;
            break;
        }
        ground.census.map_or(Ok(()), Census::check_device).map_err(LoadError::Others)?;
        let next = at.saturating_add(WINDOW).min(end);
        clearing.window(at, next)?;
        at = next;
    }
    let failed = |error| LoadError::io("clear", ground.path, error);
    ground.file.sync_data().map_err(failed)?;
    Ok(clearing.result)
}

struct Clearing<'a> {
    ground: &'a Ground<'a>,
    budget: Option<&'a Budget>,
    buffer: Buffer,
    zeros: Buffer,
    /// Whether the device takes discards, as far as is known.
    discards: bool,
    result: Cleared,
}

impl<'a> Clearing<'a> {
    fn new(ground: &'a Ground<'a>, budget: Option<&'a Budget>) -> Result<Self, LoadError> {
        let memory = |source| LoadError::Memory { bytes: Bytes::new(2 * WINDOW), source };
        let buffer = Buffer::new(WINDOW as usize).map_err(memory)?;
        let zeros = Buffer::new(WINDOW as usize).map_err(memory)?;
        Ok(Self { ground, budget, buffer, zeros, discards: true, result: Cleared::default() })
    }

    /// Clears what is ours from `start` to `end`.
    fn window(&mut self, start: u64, end: u64) -> Result<(), LoadError> {
        let before = self.look(start, end)?;
        if before.foreign > 0 {
            let found = self.foreign_in(start, end);
            self.result.note(found, before.foreign);
        }
        if before.ours.is_empty() {
            return Ok(());
        }
        let all = length(&before.ours);
        let mut left = before.ours;
        if self.discards && self.discard(&left) {
            left = self.look(start, end)?.ours;
        }
        let unwritten = self.write_zeros(&left)?;
        let after = if left.is_empty() { 0 } else { length(&self.look(start, end)?.ours) };
        self.result.written = self.result.written + Bytes::new(length(&left) - unwritten);
        self.result.left = self.result.left + Bytes::new(after);
        self.result.cleared = self.result.cleared + Bytes::new(all - after.min(all));
        Ok(())
    }

    /// Reads a window and sorts it.
    fn look(&mut self, start: u64, end: u64) -> Result<Sorted, LoadError> {
        let failed = |error| LoadError::io("read", self.ground.path, error);
        let length = usize::try_from(end - start).unwrap_or(0);
        let bytes = self.buffer.bytes().get_mut(..length).unwrap_or_default();
        for (piece, at) in bytes.chunks_mut(PIECE).zip((start..).step_by(PIECE)) {
            self.ground.file.read_exact_at(piece, at).map_err(failed)?;
        }
        if is_zero(bytes) {
            return Ok(Sorted::default());
        }
        Ok(Sorted::of(start, bytes, self.ground.unit, &mut Judge::new(self.ground.key)))
    }

    /// The first foreign data in the window that was just read.
    fn foreign_in(&mut self, start: u64, end: u64) -> Option<Found> {
        let length = usize::try_from(end - start).ok()?;
        sort(self.ground.key, start, self.buffer.bytes().get(..length)?).0
    }

    /// Discards these parts; false when the device takes no discards.
    fn discard(&mut self, parts: &[Range<u64>]) -> bool {
        for part in parts {
            let length = part.end - part.start;
            if self.ground.census.is_some_and(|census| census.discards(length).is_err()) {
                return false;
            }
            if let Err(error) = discard(self.ground.file, part) {
                // Else as many writes of somebody else would not be seen.
                if let Some(census) = self.ground.census.filter(|_| is_unsupported(&error)) {
                    census.takes_no_discards(length);
                }
                self.discards = false;
                return false;
            }
        }
        true
    }

    /// Writes zeros to these parts, as far as the budget goes; says how many bytes it does not cover.
    fn write_zeros(&mut self, parts: &[Range<u64>]) -> Result<u64, LoadError> {
        let failed = |error| LoadError::io("clear", self.ground.path, error);
        let mut uncovered = 0;
        for part in parts {
            let length = part.end - part.start;
            if self.budget.is_some_and(|budget| budget.take(Bytes::new(length)).is_err()) {
                uncovered += length;
                continue;
            }
            let zeros = self.zeros.bytes().get(..usize::try_from(length).unwrap_or(0)).unwrap_or_default();
            if let Some(census) = self.ground.census {
                let length = u32::try_from(length).unwrap_or(u32::MAX);
                census.sends(Request { op: Op::Write, offset: part.start, length }).map_err(failed)?;
            }
            for (piece, at) in zeros.chunks(PIECE).zip((part.start..).step_by(PIECE)) {
                self.ground.file.write_all_at(piece, at).map_err(failed)?;
            }
        }
        Ok(uncovered)
    }
}

/// Whether a device answers that it has no discards, and so has discarded nothing.
fn is_unsupported(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EOPNOTSUPP)
}

/// What a window holds.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sorted {
    /// What bears our mark, in whole blocks of the device, each part as long as it can be.
    ours: Vec<Range<u64>>,
    /// Bytes of the blocks that hold something of others.
    foreign: u64,
}

impl Sorted {
    /// Sorts what stands at `start`. A block of `unit` bytes, the least that can be written, is ours when something in it
    /// is, and nothing in it is of others.
    fn of(start: u64, bytes: &[u8], unit: u64, judge: &mut Judge) -> Self {
        let mut sorted = Self::default();
        let unit = unit.max(SECTOR as u64);
        let blocks = bytes.chunks(usize::try_from(unit).unwrap_or(SECTOR));
        for (offset, block) in (start..).step_by(usize::try_from(unit).unwrap_or(SECTOR)).zip(blocks) {
            let (mut is_ours, mut is_foreign) = (false, false);
            for (_, sector) in judge.sectors(offset, block) {
                is_ours |= sector == Sector::Ours;
                is_foreign |= sector == Sector::Foreign;
            }
            if is_foreign {
                sorted.foreign += block.len() as u64;
            } else if is_ours {
                sorted.add(offset, offset + block.len() as u64);
            }
        }
        sorted
    }

    fn add(&mut self, from: u64, to: u64) {
        match self.ours.last_mut().filter(|last| last.end == from) {
            Some(last) => last.end = to,
            None => self.ours.push(from..to),
        }
    }
}

fn length(parts: &[Range<u64>]) -> u64 {
    parts.iter().map(|part| part.end - part.start).sum()
}
