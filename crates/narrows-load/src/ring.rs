//! The first engine: io_uring with a registered buffer, file and ring descriptor, where the kernel grants them.

#![expect(unsafe_code, reason = "an entry names memory by address")]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use io_uring::opcode;
use io_uring::types::{Fd, Fixed};

use super::engine::{Completion, Engine, Expected, Op, Request};
use super::memory::Memory;
use super::queue::Queue;
pub(super) use super::queue::Ring;
use super::ran::Granted;

/// How I/Os name their file.
#[derive(Clone, Copy)]
enum RingFile {
    /// By its place in the table of registered files.
    Registered,
    /// By its descriptor.
    Descriptor(Fd),
    /// Not at all: every I/O is a NOP, the cost of the engine itself.
    Nowhere,
}

/// A ring at work on one file, which lives no longer than the file (`'f`) and the ring (`'r`).
pub(super) struct RingEngine<'r, 'f> {
    queue: Queue<'r>,
    place: RingFile,
    _file: Option<&'f File>,
}

impl<'r, 'f> RingEngine<'r, 'f> {
    /// Reads and writes `file`, each slot with its own part of `memory`. Registers what can be registered.
    pub(super) fn on(ring: &'r mut Ring, file: &'f File, memory: Memory) -> Self {
        let mut engine = Self::on_any(ring, memory);
        engine.queue.register_file(file.as_raw_fd());
        engine.place = if engine.queue.granted.fixed_file {
            RingFile::Registered
        } else {
            RingFile::Descriptor(Fd(file.as_raw_fd()))
        };
        engine._file = Some(file);
        engine
    }

    /// Reads and writes the file that each I/O names, see [`prepare_on`](Self::prepare_on).
    pub(super) fn on_any(ring: &'r mut Ring, memory: Memory) -> Self {
        let mut engine = Self::idle(ring, memory);
        engine.queue.register_memory();
        engine
    }

    /// Prepares an I/O on `file` for a slot that is not in flight. The kernel takes the descriptor up, and holds the
    /// file from then on, in the next [`submit_and_reap`](Engine::submit_and_reap); keep it open until its completion.
    ///
    /// # Errors
    /// As for [`prepare`](Engine::prepare).
    pub(super) fn prepare_on(&mut self, file: &File, slot: u32, request: Request) -> io::Result<()> {
        self.push(RingFile::Descriptor(Fd(file.as_raw_fd())), slot, request)
    }

    /// Does nothing `in_flight` times over: each I/O is a NOP that passes through the ring.
    pub(super) fn idle(ring: &'r mut Ring, memory: Memory) -> Self {
        Self { queue: Queue::new(ring, memory), place: RingFile::Nowhere, _file: None }
    }

    /// What the kernel granted.
    pub(super) fn granted(&self) -> Granted {
        self.queue.granted
    }

    /// Queues the I/O of a slot. Each kind is queued where it is built: an entry that the kinds meet in first would be
    /// written to the stack and read back across the stores, which costs as much as the rest.
    #[inline(always)]
    fn push(&mut self, place: RingFile, slot: u32, request: Request) -> io::Result<()> {
        let memory = self.queue.memory();
        let from = memory.place(slot, request).ok_or(io::ErrorKind::InvalidInput)?;
        let at = memory.buffer().start().as_ptr().wrapping_add(from);
        let is_fixed = self.queue.granted.fixed_buffer;
        let Request { op, offset, length } = request;
        macro_rules! queue {
            ($operation:expr) => {
                // SAFETY: the entry names memory inside the queue's own, or none. The worker gives out a slot to one I/O
                // at a time, so no two use the same part; were it otherwise, the kernel would still write only into this
                // buffer.
                unsafe { self.queue.push(&$operation.build().user_data(u64::from(slot))) }
            };
        }
        // The type of the descriptor is a parameter of each operation.
        macro_rules! on {
            ($file:expr) => {
                match (op, is_fixed) {
                    (Op::Read, true) => queue!(opcode::ReadFixed::new($file, at, length, 0).offset(offset)),
                    (Op::Read, false) => queue!(opcode::Read::new($file, at, length).offset(offset)),
                    (Op::Write, true) => queue!(opcode::WriteFixed::new($file, at, length, 0).offset(offset)),
                    (Op::Write, false) => queue!(opcode::Write::new($file, at, length).offset(offset)),
                }
            };
        }
        match place {
            RingFile::Registered => on!(Fixed(0)),
            RingFile::Descriptor(fd) => on!(fd),
            RingFile::Nowhere => queue!(opcode::Nop::new()),
        }
    }
}

impl Engine for RingEngine<'_, '_> {
    #[inline(always)]
    fn prepare(&mut self, slot: u32, request: Request) -> io::Result<()> {
        self.push(self.place, slot, request)
    }

    #[inline]
    fn submit_and_reap(
        &mut self,
        want: u32,
        patience: Duration,
        done: &mut Vec<Completion>,
    ) -> io::Result<()> {
        self.queue.submit_and_reap(want, patience, done)
    }

    #[inline]
    fn submit_and_reap_in_order(
        &mut self,
        want: u32,
        expected: Expected,
        done: &mut Vec<Completion>,
    ) -> io::Result<Option<u32>> {
        self.queue.submit_and_reap_in_order(want, expected, done)
    }

    fn memory(&mut self) -> Option<&mut Memory> {
        Some(self.queue.memory_mut())
    }

    fn enters(&self) -> u64 {
        self.queue.enters()
    }

    fn has_io_workers(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::PATIENCE;
    use crate::ran::EngineRan;
    use std::os::unix::fs::FileExt;

    fn read(offset: u64, length: u32) -> Request {
        Request { op: Op::Read, offset, length }
    }

    fn memory(part: u64, depth: u32) -> Memory {
        Memory::new(part, depth, true, true, 1).unwrap()
    }

    /// A ring, or `None` with a note where the kernel forbids io_uring.
    fn ring(depth: u32) -> Option<Ring> {
        match Ring::open(depth) {
            Ok(ring) => Some(ring),
            Err(error) => {
                println!("skipped: no io_uring here: {error}");
                None
            }
        }
    }

    fn reap(engine: &mut RingEngine<'_, '_>, count: usize) -> Vec<Completion> {
        let mut done = Vec::new();
        while done.len() < count {
            engine.submit_and_reap(1, PATIENCE, &mut done).unwrap();
        }
        done
    }

    #[test]
    fn every_read_returns_its_bytes_into_its_own_block() {
        let Some(mut ring) = ring(4) else { return };
        let file = tempfile::tempfile().unwrap();
        let data: Vec<u8> = (0..4u8).flat_map(|block| [block + 1; 4096]).collect();
        file.write_all_at(&data, 0).unwrap();
        let mut engine = RingEngine::on(&mut ring, &file, memory(4096, 4));
        for slot in 0..4 {
            engine.prepare(slot, read(u64::from(3 - slot) * 4096, 4096)).unwrap();
        }
        let mut done = reap(&mut engine, 4);
        done.sort_by_key(|completion| completion.slot);
        assert_eq!(done, [0, 1, 2, 3].map(|slot| Completion { slot, result: 4096 }));
        assert_eq!(engine.queue.in_flight, 0);
        let firsts =
            [0, 1, 2, 3].map(|slot| engine.queue.memory_mut().bytes(slot, read(0, 4096)).unwrap()[0]);
        assert_eq!(firsts, [4, 3, 2, 1]);
    }

    #[test]
    fn reads_that_end_in_their_order_are_told_of_as_one_and_others_one_by_one() {
        let Some(mut ring) = ring(4) else { return };
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[7; 3 * 512], 0).unwrap();
        let mut engine = RingEngine::on(&mut ring, &file, memory(512, 4));
        // The last of the second three begins at the end of the file.
        for (offsets, told) in [([0, 512, 1024], Some(3)), ([0, 512, 1536], None), ([1024, 0, 512], Some(3))]
        {
            let slots = [3, 0, 1];
            for (slot, offset) in slots.into_iter().zip(offsets) {
                engine.prepare(slot, read(offset, 512)).unwrap();
            }
            let mut done = Vec::new();
            let expected = Expected { first: 3, slots: 4, in_flight: 3, length: 512 };
            assert_eq!(engine.submit_and_reap_in_order(3, expected, &mut done).unwrap(), told, "{offsets:?}");
            let apart: Vec<_> = done.iter().map(|completion| (completion.slot, completion.result)).collect();
            assert_eq!(apart, if told.is_some() { vec![] } else { vec![(3, 512), (0, 512), (1, 0)] });
            assert_eq!(engine.queue.in_flight, 0);
        }
    }

    #[test]
    fn both_ways_work_where_nothing_can_be_registered() {
        for (fixed_file, fixed_buffer) in [(true, true), (true, false), (false, true), (false, false)] {
            let Some(mut ring) = ring(2) else { return };
            let file = tempfile::tempfile().unwrap();
            file.write_all_at(&[9; 512], 0).unwrap();
            let mut engine = RingEngine::on(&mut ring, &file, memory(512, 2));
            if !fixed_file {
                engine.place = RingFile::Descriptor(Fd(file.as_raw_fd()));
            }
            engine.queue.granted.fixed_buffer &= fixed_buffer;
            let write = Request { op: Op::Write, offset: 512, length: 512 };
            engine.prepare(0, write).unwrap();
            engine.prepare(1, read(0, 512)).unwrap();
            let mut done = reap(&mut engine, 2);
            done.sort_by_key(|completion| completion.slot);
            assert_eq!(done, [0, 1].map(|slot| Completion { slot, result: 512 }));
            assert_eq!(engine.queue.memory_mut().bytes(1, read(0, 512)).unwrap()[0], 9);
            let mut written = [0; 512];
            file.read_exact_at(&mut written, 512).unwrap();
            assert_eq!(engine.queue.memory_mut().bytes(0, write).unwrap(), written);
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test may open a directory")]
    fn a_failed_read_is_a_completion_with_its_errno() {
        let Some(mut ring) = ring(1) else { return };
        let directory = File::open("/").unwrap();
        let mut engine = RingEngine::on(&mut ring, &directory, memory(512, 1));
        engine.prepare(0, read(0, 512)).unwrap();
        assert_eq!(reap(&mut engine, 1), [Completion { slot: 0, result: -nix::libc::EISDIR }]);
    }

    #[test]
    fn waiting_for_nothing_ends() {
        let Some(mut ring) = ring(1) else { return };
        let mut engine = RingEngine::idle(&mut ring, memory(0, 1));
        let mut done = Vec::new();
        engine.submit_and_reap(1, PATIENCE, &mut done).unwrap();
        assert_eq!(done, []);
    }

    #[test]
    fn a_slot_outside_the_buffer_or_the_queue_is_refused() {
        let Some(mut ring) = ring(2) else { return };
        let file = tempfile::tempfile().unwrap();
        let mut engine = RingEngine::on(&mut ring, &file, memory(4096, 1));
        assert!(engine.prepare(2, read(0, 512)).is_err());
        assert!(engine.prepare(0, read(0, 4097)).is_err());
        engine.prepare(0, read(0, 512)).unwrap();
        engine.prepare(0, read(0, 512)).unwrap();
        assert!(engine.prepare(0, read(0, 512)).is_err());
        reap(&mut engine, 2);
    }

    #[test]
    fn the_ladder_only_ever_gives_things_up() {
        let count = |granted: &Granted| granted.to_string().matches(',').count();
        assert!(
            crate::queue::LADDER
                .windows(2)
                .all(|pair| count(&pair[0]) > count(&pair[1]) || pair[1] == Granted::default())
        );
        assert_eq!(EngineRan::IoUring(Granted::default()).to_string(), "io_uring (no extras)");
    }
}
