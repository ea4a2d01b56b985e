//! Carries the blocks of one file through the slots of a mover: read, checksum, write; or read back and compare.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::libc;

use super::block::{Block, Cursor, aligned, checksum};
use super::fault::Why;
use super::mover::Mover;
use super::spent::{Doing, Meter};
use crate::engine::{Completion, Op, Request};
use crate::target::drop_direct;
use narrows_base::units::Bytes;

/// A file with the way it is accessed, which changes when the file system refuses direct I/O.
#[derive(Debug)]
pub(super) struct End<'f> {
    pub(super) file: &'f File,
    pub(super) direct: bool,
}

impl End<'_> {
    /// What is asked of the kernel to move `length` bytes.
    fn request(&self, op: Op, offset: u64, length: u32) -> Request {
        Request { op, offset, length: if self.direct { aligned(length) } else { length } }
    }

    /// Goes on without direct I/O if that is what was refused.
    fn can_do_without_direct(&mut self, errno: i32) -> bool {
        let was_direct = errno == libc::EINVAL && std::mem::take(&mut self.direct);
        was_direct && drop_direct(self.file).is_ok()
    }
}

/// How a call of [`Pipeline::copy`] ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// The cursor is at its end.
    Whole,
    /// As many blocks as were asked for are written, or the stop flag was raised.
    Part,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Idle,
    Reading(u64, u32),
    /// The block, by its place in the list.
    Writing(usize),
    /// The block that is read back, likewise.
    Checking(usize),
}

/// The slots, with what they have in flight.
pub(super) struct Pipeline<'m, 'r> {
    mover: &'m mut Mover<'r>,
    meter: &'m mut Meter,
    states: Vec<State>,
    done: Vec<Completion>,
    fault: Option<Why>,
}

impl<'m, 'r> Pipeline<'m, 'r> {
    /// A pipeline of `depth` slots, which `mover` must have.
    pub(super) fn new(mover: &'m mut Mover<'r>, meter: &'m mut Meter, depth: u32) -> Self {
        let states = vec![State::Idle; depth.max(1) as usize];
        Self { mover, meter, states, done: Vec::new(), fault: None }
    }

    /// Copies at most `most` blocks and appends each to `blocks`. All that was begun has ended when it returns. `told`
    /// is called with the bytes of each block that was written.
    ///
    /// # Errors
    /// The first fault; what else was in flight has ended.
    pub(super) fn copy(
        &mut self,
        (source, part): (&mut End<'_>, &mut End<'_>),
        cursor: &mut Cursor<'_>,
        blocks: &mut Vec<Block>,
        most: usize,
        (stop, told): (&AtomicBool, &dyn Fn(u64)),
    ) -> Result<Progress, Why> {
        let mut left = most;
        let mut progress = Progress::Part;
        loop {
            while left > 0 && self.fault.is_none() && !stop.load(Ordering::Relaxed) {
                let Some(slot) = self.idle() else { break };
                match cursor.next() {
                    Ok(Some((offset, length))) => self.read(slot, source, offset, length),
                    Ok(None) => {
                        (left, progress) = (0, Progress::Whole);
                        break;
                    }
                    Err(error) => self.fail(Why::io("find its data", &error)),
                }
                left = left.saturating_sub(1);
            }
            if !self.is_busy() {
                break;
            }
            for Completion { slot, result } in self.wait(Doing::Read)? {
                match self.take(slot) {
                    State::Reading(offset, length) => {
                        if let Some(block) = self.was_read(slot, result, source, offset, length) {
                            blocks.push(block);
                            self.write(slot, part, blocks.len() - 1, block);
                        }
                    }
                    State::Writing(index) => {
                        let Some(block) = blocks.get(index).copied() else { continue };
                        if self.was_written(slot, result, part, index, block) {
                            told(u64::from(block.length));
                        }
                    }
                    State::Idle | State::Checking(_) => {}
                }
            }
        }
        self.fault.take().map_or(Ok(progress), Err)
    }

    /// Reads every block back and compares its checksum; [`Progress::Part`] when the stop flag was raised meanwhile.
    ///
    /// # Errors
    /// The first mismatch, or the first read that failed.
    pub(super) fn verify(
        &mut self,
        part: &mut End<'_>,
        blocks: &[Block],
        (stop, told): (&AtomicBool, &dyn Fn(u64)),
    ) -> Result<Progress, Why> {
        let mut next = 0;
        loop {
            while self.fault.is_none() && !stop.load(Ordering::Relaxed) {
                let (Some(slot), Some(block)) = (self.idle(), blocks.get(next)) else { break };
                let request = part.request(Op::Read, block.offset, block.length);
                self.begin(slot, part.file, request, State::Checking(next));
                next += 1;
            }
            if !self.is_busy() {
                break;
            }
            for Completion { slot, result } in self.wait(Doing::Verify)? {
                let State::Checking(index) = self.take(slot) else { continue };
                let Some(block) = blocks.get(index) else { continue };
                let again = State::Checking(index);
                if !self.is_complete(slot, result, part, (block.offset, block.length), again, Doing::Verify) {
                    continue;
                }
                self.meter.lap(Doing::Verify);
                let found =
                    self.mover.bytes(slot, plain(Op::Read, block.offset, block.length)).map(|b| checksum(b));
                self.meter.lap(Doing::Checksum);
                if found == Some(block.hash) {
                    told(u64::from(block.length));
                } else {
                    let (offset, length) = (Bytes::new(block.offset), Bytes::new(u64::from(block.length)));
                    self.fail(Why::Mismatch { offset, length });
                }
            }
        }
        let progress = if next < blocks.len() { Progress::Part } else { Progress::Whole };
        self.fault.take().map_or(Ok(progress), Err)
    }

    fn idle(&self) -> Option<u32> {
        let found = self.states.iter().position(|state| matches!(state, State::Idle));
        found.and_then(|slot| u32::try_from(slot).ok())
    }

    fn is_busy(&self) -> bool {
        self.states.iter().any(|state| !matches!(state, State::Idle))
    }

    /// What the slot had in flight; it is free then.
    fn take(&mut self, slot: u32) -> State {
        self.states.get_mut(slot as usize).map_or(State::Idle, |state| std::mem::replace(state, State::Idle))
    }

    /// Keeps the first fault.
    fn fail(&mut self, why: Why) {
        self.fault.get_or_insert(why);
    }

    /// Waits for completions and ascribes the time to the sides by what they have in flight.
    fn wait(&mut self, reading: Doing) -> Result<Vec<Completion>, Why> {
        let writes = self.states.iter().filter(|state| matches!(state, State::Writing(_))).count();
        let reads = self.states.iter().filter(|state| !matches!(state, State::Idle)).count() - writes;
        let mut done = std::mem::take(&mut self.done);
        done.clear();
        // A broken ring may still own the slots: the mover begins nothing more.
        self.mover.reap(&mut done).map_err(|error| Why::io("wait for I/O on it", &error))?;
        self.meter.lap_between(reading, reads as u32, writes as u32);
        Ok(done)
    }

    fn begin(&mut self, slot: u32, file: &File, request: Request, state: State) {
        match self.mover.begin(file, slot, request) {
            Ok(()) => {
                if let Some(place) = self.states.get_mut(slot as usize) {
                    *place = state;
                }
            }
            Err(error) => self.fail(Why::io("begin I/O on it", &error)),
        }
    }

    fn read(&mut self, slot: u32, source: &End<'_>, offset: u64, length: u32) {
        let request = source.request(Op::Read, offset, length);
        self.begin(slot, source.file, request, State::Reading(offset, length));
    }

    /// The block whose read ended, with its checksum; `None` when it was begun anew or failed.
    fn was_read(
        &mut self,
        slot: u32,
        result: i32,
        source: &mut End<'_>,
        offset: u64,
        length: u32,
    ) -> Option<Block> {
        let again = State::Reading(offset, length);
        if !self.is_complete(slot, result, source, (offset, length), again, Doing::Read)
            || self.fault.is_some()
        {
            return None;
        }
        self.meter.lap(Doing::Read);
        let hash = checksum(self.mover.bytes(slot, plain(Op::Read, offset, length))?);
        self.meter.lap(Doing::Checksum);
        Some(Block { offset, length, hash })
    }

    /// Whether a read brought all its bytes. A rest is read at once, a refused or interrupted read begun anew.
    fn is_complete(
        &mut self,
        slot: u32,
        result: i32,
        end: &mut End<'_>,
        (offset, length): (u64, u32),
        again: State,
        doing: Doing,
    ) -> bool {
        match u32::try_from(result) {
            Ok(got) if got >= length => return true,
            Ok(got) => {
                let rest = self.read_rest(slot, end, offset, length, got);
                self.meter.lap(doing);
                match rest {
                    Ok(()) => return true,
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => self.fail(Why::Changed),
                    Err(error) => self.fail(Why::io("read it", &error)),
                }
            }
            Err(_) if self.is_retried(-result, end) => {
                let request = end.request(Op::Read, offset, length);
                self.begin(slot, end.file, request, again);
            }
            Err(_) => self.fail(Why::io("read it", &io::Error::from_raw_os_error(-result))),
        }
        false
    }

    fn read_rest(
        &mut self,
        slot: u32,
        end: &mut End<'_>,
        offset: u64,
        length: u32,
        got: u32,
    ) -> io::Result<()> {
        // The rest of a direct read need not be aligned.
        if std::mem::take(&mut end.direct) {
            drop_direct(end.file)?;
        }
        let bytes = self.mover.bytes(slot, plain(Op::Read, offset, length)).unwrap_or_default();
        let rest = bytes.get_mut(got as usize..).unwrap_or_default();
        end.file.read_exact_at(rest, offset.saturating_add(u64::from(got)))
    }

    fn is_retried(&self, errno: i32, end: &mut End<'_>) -> bool {
        matches!(errno, libc::EINTR | libc::EAGAIN) || end.can_do_without_direct(errno)
    }

    fn write(&mut self, slot: u32, part: &End<'_>, index: usize, block: Block) {
        let request = part.request(Op::Write, block.offset, block.length);
        // A direct write ends on an aligned byte; what lies behind the end of the file is cut off again later.
        let padding =
            self.mover.bytes(slot, request).and_then(|bytes| bytes.get_mut(block.length as usize..));
        padding.unwrap_or_default().fill(0);
        self.begin(slot, part.file, request, State::Writing(index));
    }

    /// Whether a block is written now. A rest is written at once, a refused or interrupted write begun anew.
    fn was_written(
        &mut self,
        slot: u32,
        result: i32,
        part: &mut End<'_>,
        index: usize,
        block: Block,
    ) -> bool {
        match u32::try_from(result) {
            Ok(put) if put >= block.length => return true,
            Ok(put) => {
                let rest = self.write_rest(slot, part, block, put);
                self.meter.lap(Doing::Write);
                match rest {
                    Ok(()) => return true,
                    Err(error) => self.fail(Why::io("write it", &error)),
                }
            }
            Err(_) if self.is_retried(-result, part) => self.write(slot, part, index, block),
            Err(_) => self.fail(Why::io("write it", &io::Error::from_raw_os_error(-result))),
        }
        false
    }

    fn write_rest(&mut self, slot: u32, part: &mut End<'_>, block: Block, put: u32) -> io::Result<()> {
        if std::mem::take(&mut part.direct) {
            drop_direct(part.file)?;
        }
        let bytes = self.mover.bytes(slot, plain(Op::Write, block.offset, block.length)).unwrap_or_default();
        let rest = bytes.get(put as usize..).unwrap_or_default();
        part.file.write_all_at(rest, block.offset.saturating_add(u64::from(put)))
    }
}

/// A request by its exact length, to find the bytes of a slot.
fn plain(op: Op, offset: u64, length: u32) -> Request {
    Request { op, offset, length }
}

#[cfg(test)]
mod tests;
