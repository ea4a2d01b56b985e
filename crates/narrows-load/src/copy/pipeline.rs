//! Carries the blocks of one file through the slots of a mover: read, checksum, write; or read back and compare.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::libc;

use super::block::{Block, Cursor, aligned, checksum};
use super::fault::{Why, cannot};
use super::result::{Doing, Meter};
use crate::engine::{Completion, Engine, Op, PATIENCE, Request};
use crate::memory::Memory;
use crate::psync::carry_out;
use crate::ring::{Ring, RingEngine};
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
                        let asked = plain(Op::Write, block.offset, block.length);
                        if self.is_whole(slot, result, part, asked, State::Writing(index), Doing::Write) {
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
                let asked = plain(Op::Read, block.offset, block.length);
                if !self.is_whole(slot, result, part, asked, again, Doing::Verify) {
                    continue;
                }
                self.meter.lap(Doing::Verify);
                let found = self.mover.bytes(slot, asked).map(|bytes| checksum(bytes));
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
        self.mover.reap(&mut done).map_err(cannot("wait for I/O on it"))?;
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
        if !self.is_whole(slot, result, source, plain(Op::Read, offset, length), again, Doing::Read)
            || self.fault.is_some()
        {
            return None;
        }
        self.meter.lap(Doing::Read);
        let hash = checksum(self.mover.bytes(slot, plain(Op::Read, offset, length))?);
        self.meter.lap(Doing::Checksum);
        Some(Block { offset, length, hash })
    }

    /// Whether an I/O moved all its bytes. A rest is moved at once, a refused or interrupted one begun anew.
    fn is_whole(
        &mut self,
        slot: u32,
        result: i32,
        end: &mut End<'_>,
        asked: Request,
        again: State,
        doing: Doing,
    ) -> bool {
        let action = if asked.op == Op::Read { "read it" } else { "write it" };
        match u32::try_from(result) {
            Ok(moved) if moved >= asked.length => return true,
            Ok(moved) => {
                let rest = self.move_rest(slot, end, asked, moved);
                self.meter.lap(doing);
                match rest {
                    Ok(()) => return true,
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => self.fail(Why::Changed),
                    Err(error) => self.fail(Why::io(action, &error)),
                }
            }
            Err(_) if self.is_retried(-result, end) => {
                self.begin(slot, end.file, end.request(asked.op, asked.offset, asked.length), again);
            }
            Err(_) => self.fail(Why::io(action, &io::Error::from_raw_os_error(-result))),
        }
        false
    }

    fn move_rest(&mut self, slot: u32, end: &mut End<'_>, asked: Request, moved: u32) -> io::Result<()> {
        // The rest of a direct I/O need not be aligned.
        if std::mem::take(&mut end.direct) {
            drop_direct(end.file)?;
        }
        let bytes = self.mover.bytes(slot, asked).unwrap_or_default();
        let rest = bytes.get_mut(moved as usize..).unwrap_or_default();
        let at = asked.offset.saturating_add(u64::from(moved));
        match asked.op {
            Op::Read => end.file.read_exact_at(rest, at),
            Op::Write => end.file.write_all_at(rest, at),
        }
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
}

/// A request by its exact length, to find the bytes of a slot.
fn plain(op: Op, offset: u64, length: u32) -> Request {
    Request { op, offset, length }
}

/// A way to do I/O on any file. A slot's block stays in its part of the memory from the read to the write.
pub(super) enum Mover<'r> {
    /// io_uring.
    Ring(Box<RingEngine<'r, 'static>>),
    /// `pread(2)` and `pwrite(2)`: each I/O has ended when it was begun.
    Calls(Memory, Vec<Completion>),
    /// A ring that failed. What it had in flight could end in the middle of another file, so nothing more is begun.
    Broken,
}

impl<'r> Mover<'r> {
    /// Memory for `depth` blocks. What is read into a slot is written from it.
    ///
    /// # Errors
    /// There is not enough memory.
    pub(super) fn memory(block_size: u32, depth: u32) -> io::Result<Memory> {
        // Memory keeps reads and writes apart; one that knows only writes has one part for both.
        Memory::new(u64::from(block_size), depth, false, true, 1)
    }

    pub(super) fn ring(ring: &'r mut Ring, memory: Memory) -> Self {
        Self::Ring(Box::new(RingEngine::on_any(ring, memory)))
    }

    pub(super) fn calls(memory: Memory) -> Self {
        Self::Calls(memory, Vec::new())
    }

    /// Begins an I/O on `file` for a slot that has none.
    ///
    /// # Errors
    /// The request does not fit the slot, or the ring broke down before.
    pub(super) fn begin(&mut self, file: &File, slot: u32, request: Request) -> io::Result<()> {
        match self {
            Self::Ring(engine) => engine.prepare_on(file, slot, request),
            Self::Calls(memory, done) => {
                let bytes = memory.bytes(slot, request).ok_or(io::ErrorKind::InvalidInput)?;
                let result = carry_out(file, bytes, request);
                done.push(Completion { slot, result });
                Ok(())
            }
            Self::Broken => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Appends what ended, after waiting a while for at least one.
    ///
    /// # Errors
    /// The ring broke down.
    pub(super) fn reap(&mut self, into: &mut Vec<Completion>) -> io::Result<()> {
        match self {
            Self::Ring(engine) => {
                let reaped = engine.submit_and_reap(1, PATIENCE, into);
                if reaped.is_err() {
                    *self = Self::Broken;
                }
                reaped
            }
            Self::Calls(_, done) => {
                into.append(done);
                Ok(())
            }
            Self::Broken => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// The bytes of the I/O of a slot that is not in flight.
    pub(super) fn bytes(&mut self, slot: u32, request: Request) -> Option<&mut [u8]> {
        match self {
            Self::Ring(engine) => engine.memory()?.bytes(slot, request),
            Self::Calls(memory, _) => memory.bytes(slot, request),
            Self::Broken => None,
        }
    }
}

#[cfg(test)]
mod tests;
