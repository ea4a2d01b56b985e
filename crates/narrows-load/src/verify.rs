//! Reads back what a run wrote, and says which blocks are not what was written last.

use std::io;
use std::os::unix::fs::FileExt;

use serde::{Deserialize, Serialize};

use super::buffer::Buffer;
use super::control::Control;
use super::error::LoadError;
use super::ledger::Ledger;
use super::stamp::{Found, Stamp};
use super::target::Target;
use narrows_base::units::Bytes;

/// Bytes in one read.
const CHUNK: u64 = 1 << 20;
/// Wrong blocks that are listed; further ones are counted.
const LISTED: usize = 1000;

/// What a run wrote: for each block, the last write that was acknowledged.
///
/// It lives in memory: 4 bytes for each block of 4 KiB. A write that failed, or that never came back, leaves its blocks
/// out, since what they hold is open.
#[derive(Debug, Clone, Default)]
pub struct WriteLog {
    /// Tells the writes of this run from those of any other.
    pub(super) nonce: u64,
    pub(super) ledgers: Vec<Ledger>,
}

impl WriteLog {
    /// How many blocks it has something to say about.
    pub fn blocks(&self) -> u64 {
        self.ledgers.iter().map(|ledger| ledger.known().count() as u64).sum()
    }
}

/// What is wrong with a block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wrong {
    /// It carries the right stamp, or most of it, but not the data: bits changed on the way or in rest, or a write was
    /// torn.
    Flipped,
    /// It holds what was there before: a write was acknowledged and never arrived.
    Lost {
        /// The write of this run that it is from; `None` when it is older than the run.
        found: Option<u64>,
        /// The write that it should be from, counted from 1 for each block.
        written: u64,
    },
    /// It holds the data of another place.
    Misplaced {
        /// Where that data belongs.
        belongs_at: Bytes,
    },
    /// It cannot be read.
    Unreadable {
        /// The kernel's answer.
        error: String,
    },
}

/// A block that is not what was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrongBlock {
    /// Where it is.
    pub offset: Bytes,
    /// What is wrong with it.
    pub kind: Wrong,
}

/// What was read back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifyReport {
    /// Blocks that were checked.
    pub blocks: u64,
    /// How many of them are wrong.
    pub wrong_blocks: u64,
    /// The wrong ones, in the order of workers and offsets; at most 1000.
    pub wrong: Vec<WrongBlock>,
    /// Whether it was stopped before all blocks were checked.
    pub interrupted: bool,
}

impl VerifyReport {
    /// Whether all was checked and all is well.
    pub fn is_clean(&self) -> bool {
        self.wrong_blocks == 0 && !self.interrupted
    }

    fn note(&mut self, offset: u64, kind: Wrong) {
        self.wrong_blocks += 1;
        if self.wrong.len() < LISTED {
            self.wrong.push(WrongBlock { offset: Bytes::new(offset), kind });
        }
    }
}

/// Reads back every block that `log` knows and judges it. The data is made durable first and, with buffered access,
/// dropped from the page cache, so that it comes from the medium.
///
/// # Errors
/// The data cannot be made durable, or memory is short. A block that cannot be read is a finding, not an error.
pub fn read_back(target: &Target, log: &WriteLog, control: &Control) -> Result<VerifyReport, LoadError> {
    target.file().sync_data().map_err(|error| LoadError::io("sync", target.path(), error))?;
    target.forget_cached();
    let memory = |source| LoadError::Memory { bytes: Bytes::new(CHUNK), source };
    let mut reader = Reader { target, buffer: Buffer::new(CHUNK as usize).map_err(memory)?, held: None };
    let mut report = VerifyReport::default();
    for ledger in &log.ledgers {
        for (offset, generation) in ledger.known() {
            if control.is_stopped() {
                return Ok(VerifyReport { interrupted: true, ..report });
            }
            report.blocks += 1;
            let want = Stamp { seed: log.nonce, offset, generation };
            let wrong = match reader.block(offset, ledger.block()) {
                Ok(block) => judge(want, block),
                Err(error) => Some(Wrong::Unreadable { error: error.to_string() }),
            };
            if let Some(kind) = wrong {
                report.note(offset, kind);
            }
        }
    }
    Ok(report)
}

/// What is wrong with a block that should carry the stamp `want`.
fn judge(want: Stamp, block: &[u8]) -> Option<Wrong> {
    let lost = |found| Some(Wrong::Lost { found, written: want.generation });
    match Stamp::find(block) {
        Found::Whole(stamp) if stamp == want => None,
        Found::Whole(stamp) if stamp.seed != want.seed => lost(None),
        Found::Whole(stamp) if stamp.offset != want.offset => {
            Some(Wrong::Misplaced { belongs_at: Bytes::new(stamp.offset) })
        }
        Found::Whole(stamp) => lost(Some(stamp.generation)),
        // Data that was there before has nothing in common with the stamp.
        Found::Damaged(_) | Found::Foreign if want.likeness(block) >= 2 => Some(Wrong::Flipped),
        Found::Damaged(_) | Found::Foreign => lost(None),
    }
}

/// Reads blocks through a buffer that holds one aligned chunk.
struct Reader<'a> {
    target: &'a Target,
    buffer: Buffer,
    /// Which chunk the buffer holds, and how much of it there is.
    held: Option<(u64, usize)>,
}

impl Reader<'_> {
    fn block(&mut self, offset: u64, length: u64) -> io::Result<&[u8]> {
        let chunk = offset / CHUNK;
        let got = match self.held {
            Some((held, got)) if held == chunk => got,
            _ => self.fetch(chunk, offset, length)?,
        };
        let from = (offset - chunk * CHUNK) as usize;
        let end = from + length as usize;
        let bytes: &[u8] = self.buffer.bytes();
        let block = bytes.get(from..end).filter(|_| end <= got);
        block.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// Reads the chunk; when that fails, only the block, so that its good neighbours are still judged.
    fn fetch(&mut self, chunk: u64, offset: u64, length: u64) -> io::Result<usize> {
        self.held = None;
        if let Ok(got) = self.target.file().read_at(self.buffer.bytes(), chunk * CHUNK) {
            self.held = Some((chunk, got));
            return Ok(got);
        }
        let from = (offset - chunk * CHUNK) as usize;
        let part = self.buffer.part(from, length as usize).ok_or(io::ErrorKind::InvalidInput)?;
        let got = self.target.file().read_at(part, offset)?;
        Ok(from + got)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{EngineChoice, RunOptions, run_logged};
    use crate::scratch::{ScratchFile, ScratchOptions};
    use crate::stamp::digest;
    use narrows_base::units::Nanos;
    use narrows_base::workload::{Pattern, Workload};
    use std::ops::ControlFlow;

    fn scratch() -> Target {
        let options = ScratchOptions {
            reserve: Some(Bytes::new(0)),
            minimum: Bytes::new(4096),
            seed: 1,
            ..ScratchOptions::default()
        };
        let go = &mut |_, _| ControlFlow::Continue(());
        let directory = std::env::temp_dir();
        ScratchFile::create(&directory, Bytes::from_mib(4), &options, go).unwrap().into_target()
    }

    fn workload(pattern: Pattern, write_percent: u8) -> Workload {
        let write = Workload::write(pattern, Bytes::from_kib(16), 8, Nanos::from_millis(100));
        Workload { write_percent, ..write }
    }

    fn written(target: &Target, workload: &Workload, options: &RunOptions) -> WriteLog {
        let (measurement, log) = run_logged(target, workload, options, &Control::default()).unwrap();
        // A busy disk may end nothing within the measured time; what was in flight then is in the log.
        assert!(measurement.errors == 0 && log.blocks() > 0);
        log
    }

    fn check(target: &Target, log: &WriteLog) -> VerifyReport {
        read_back(target, log, &Control::default()).unwrap()
    }

    /// A block as it is on the target, in memory that direct access accepts.
    fn block(target: &Target, offset: u64) -> Buffer {
        let mut buffer = Buffer::new(4096).unwrap();
        target.file().read_exact_at(buffer.bytes(), offset).unwrap();
        buffer
    }

    fn one(report: &VerifyReport) -> &WrongBlock {
        assert_eq!((report.wrong_blocks, report.wrong.len(), report.is_clean()), (1, 1, false));
        &report.wrong[0]
    }

    #[test]
    fn all_that_was_written_is_found_again() {
        for engine in [EngineChoice::Auto, EngineChoice::Psync] {
            for pattern in [Pattern::Sequential, Pattern::Random] {
                for (workers, streams, percent) in [(1, 1, 100), (2, 1, 50), (2, 7, 100)] {
                    let target = scratch();
                    let options = RunOptions { engine, workers, streams, ..RunOptions::default() };
                    let log = written(&target, &workload(pattern, percent), &options);
                    let report = check(&target, &log);
                    assert!(report.is_clean(), "{report:?} {engine:?} {pattern:?} {workers} {streams}");
                    assert_eq!(report.blocks, log.blocks());
                }
            }
        }
    }

    #[test]
    fn compressible_data_is_stamped_all_the_same_and_is_as_compressible_as_it_says() {
        for engine in [EngineChoice::Auto, EngineChoice::Psync] {
            for percent in [50, 100] {
                let target = scratch();
                let workload =
                    Workload { compressible_percent: percent, ..workload(Pattern::Sequential, 100) };
                let options = RunOptions { engine, ..RunOptions::default() };
                let log = written(&target, &workload, &options);
                assert!(check(&target, &log).is_clean(), "{percent} % {engine:?}");
                let mut block = block(&target, 0);
                let zeros = block.bytes()[64..].iter().filter(|byte| **byte == 0).count();
                let least = (4096 * usize::from(percent) / 100).min(4096 - 64);
                assert!((least..least + 64).contains(&zeros), "{zeros} zeros at {percent} %");
                let mut damaged = block;
                damaged.bytes()[4095] ^= 1;
                target.file().write_all_at(damaged.bytes(), 0).unwrap();
                assert_eq!(one(&check(&target, &log)).kind, Wrong::Flipped, "a bit among the zeros");
            }
        }
    }

    #[test]
    fn a_region_smaller_than_the_queue_is_written_and_found_again() {
        let target = scratch();
        let workload = Workload { working_set: Some(Bytes::from_kib(32)), ..workload(Pattern::Random, 100) };
        let log = written(&target, &workload, &RunOptions::default());
        assert!(check(&target, &log).is_clean() && log.blocks() <= 8);
    }

    #[test]
    fn a_flipped_bit_is_found_wherever_it_is() {
        let target = scratch();
        let log = written(&target, &workload(Pattern::Sequential, 100), &RunOptions::default());
        for byte in [0, 9, 17, 25, 33, 40, 4095] {
            let mut damaged = block(&target, 12_288);
            damaged.bytes()[byte] ^= 0x10;
            target.file().write_all_at(damaged.bytes(), 12_288).unwrap();
            let report = check(&target, &log);
            assert_eq!(*one(&report), WrongBlock { offset: Bytes::new(12_288), kind: Wrong::Flipped });
            damaged.bytes()[byte] ^= 0x10;
            target.file().write_all_at(damaged.bytes(), 12_288).unwrap();
            assert!(check(&target, &log).is_clean());
        }
    }

    #[test]
    fn a_write_that_never_arrived_is_found() {
        let target = scratch();
        let mut before = block(&target, 8192);
        let log = written(&target, &workload(Pattern::Sequential, 100), &RunOptions::default());
        let (_, written) = log.ledgers[0].known().find(|(offset, _)| *offset == 8192).unwrap();
        let mut after = block(&target, 8192);
        // Nothing arrived: the fill of the scratch file is still there.
        target.file().write_all_at(before.bytes(), 8192).unwrap();
        let kind = Wrong::Lost { found: None, written };
        assert_eq!(*one(&check(&target, &log)), WrongBlock { offset: Bytes::new(8192), kind });
        // Only the last write is missing: the one before is there.
        let body = digest(after.bytes());
        let older = Stamp { seed: log.nonce, offset: 8192, generation: written - 1 };
        older.put(after.bytes(), body);
        target.file().write_all_at(after.bytes(), 8192).unwrap();
        let kind = Wrong::Lost { found: Some(written - 1), written };
        assert_eq!(one(&check(&target, &log)).kind, kind);
    }

    #[test]
    fn the_data_of_a_former_run_is_a_lost_write() {
        let target = scratch();
        let workload = workload(Pattern::Sequential, 100);
        written(&target, &workload, &RunOptions::default());
        let mut former = block(&target, 0);
        let log = written(&target, &workload, &RunOptions::default());
        target.file().write_all_at(former.bytes(), 0).unwrap();
        assert!(matches!(one(&check(&target, &log)).kind, Wrong::Lost { found: None, .. }));
    }

    #[test]
    fn data_that_went_to_the_wrong_place_is_found() {
        let target = scratch();
        let log = written(&target, &workload(Pattern::Sequential, 100), &RunOptions::default());
        let mut strayed = block(&target, 4096);
        target.file().write_all_at(strayed.bytes(), 20_480).unwrap();
        let belongs_at = Bytes::new(4096);
        let wrong = WrongBlock { offset: Bytes::new(20_480), kind: Wrong::Misplaced { belongs_at } };
        assert_eq!(*one(&check(&target, &log)), wrong);
    }

    #[test]
    fn what_was_cut_off_is_unreadable_and_a_stop_is_said() {
        let target = scratch();
        let log = written(&target, &workload(Pattern::Sequential, 100), &RunOptions::default());
        let control = Control::default();
        control.stop();
        let stopped = read_back(&target, &log, &control).unwrap();
        assert!(stopped.interrupted && !stopped.is_clean());
        target.file().set_len(0).unwrap();
        let report = check(&target, &log);
        assert_eq!(report.wrong_blocks, report.blocks);
        assert!(report.wrong.len() <= LISTED);
        assert!(matches!(report.wrong[0].kind, Wrong::Unreadable { .. }));
    }
}
