//! The first engine: io_uring with a registered buffer, file and ring descriptor, where the kernel grants them.

#![expect(
    unsafe_code,
    reason = "the kernel reads and writes memory that the submission queue names by address"
)]

use std::fmt;
use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use std::time::Duration;

use io_uring::types::{Fd, Fixed, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{Builder, CompletionQueue, EnterFlags, IoUring, SubmissionQueue, Submitter, opcode, squeue};
use nix::libc;

use super::engine::{Completion, Engine, Op, Request};
use super::memory::Memory;

/// What the kernel granted of what makes a ring fast. All of it is optional; none of it changes what is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Granted {
    /// `IORING_SETUP_CQSIZE` (Linux 5.5): a completion queue no larger than the depth.
    pub(super) small_queue: bool,
    /// `IORING_SETUP_COOP_TASKRUN` (5.19): no inter-processor interrupt for a completion.
    pub(super) cooperative: bool,
    /// `IORING_SETUP_SINGLE_ISSUER` with `IORING_SETUP_DEFER_TASKRUN` (6.1): completions are worked off only when the
    /// worker waits for them.
    pub(super) deferred: bool,
    /// `IORING_SETUP_NO_SQARRAY` (6.6): no index array in front of the submission queue.
    pub(super) no_array: bool,
    /// `IORING_REGISTER_BUFFERS`: pages are pinned once instead of for each I/O.
    pub(super) fixed_buffer: bool,
    /// `IORING_REGISTER_FILES`: the file is looked up once.
    pub(super) fixed_file: bool,
    /// `IORING_REGISTER_RING_FDS` (5.18): the ring itself is looked up once.
    pub(super) ring_descriptor: bool,
}

impl Granted {
    /// The steps of the ladder, best first. Each drops what the youngest kernel feature was; SINGLE_ISSUER and
    /// DEFER_TASKRUN go together, since the second requires the first.
    const LADDER: [Self; 5] = {
        let none = Self {
            small_queue: false,
            cooperative: false,
            deferred: false,
            no_array: false,
            fixed_buffer: false,
            fixed_file: false,
            ring_descriptor: false,
        };
        let small = Self { small_queue: true, ..none };
        let cooperative = Self { cooperative: true, ..small };
        let deferred = Self { deferred: true, ..cooperative };
        [Self { no_array: true, ..deferred }, deferred, cooperative, small, none]
    };

    fn builder(self, depth: u32) -> Builder {
        let mut builder = IoUring::builder();
        builder.dontfork();
        if self.small_queue {
            builder.setup_cqsize(depth);
        }
        if self.cooperative {
            builder.setup_coop_taskrun();
        }
        if self.deferred {
            builder.setup_single_issuer().setup_defer_taskrun();
        }
        if self.no_array {
            builder.setup_no_sqarray();
        }
        builder
    }
}

impl fmt::Display for Granted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (self.small_queue, "cqsize"),
            (self.cooperative, "coop_taskrun"),
            (self.deferred, "single_issuer, defer_taskrun"),
            (self.no_array, "no_sqarray"),
            (self.fixed_buffer, "fixed buffer"),
            (self.fixed_file, "fixed file"),
            (self.ring_descriptor, "registered ring"),
        ];
        let names: Vec<&str> = names.into_iter().filter_map(|(on, name)| on.then_some(name)).collect();
        write!(f, "io_uring ({})", if names.is_empty() { "no extras".to_owned() } else { names.join(", ") })
    }
}

/// A ring before it is used. Make it on the thread that will use it: DEFER_TASKRUN ties it to that thread.
pub(super) struct Ring {
    ring: IoUring,
    granted: Granted,
}

impl Ring {
    /// Sets up a ring of at least `depth` entries with the most that the kernel grants.
    ///
    /// # Errors
    /// The kernel has no io_uring (ENOSYS), forbids it (EPERM), lacks locked memory for it (ENOMEM), or is older than
    /// 5.11, which cannot wait with a time-out (reported as ENOSYS).
    pub(super) fn open(depth: u32) -> io::Result<Self> {
        let entries = depth.max(1).next_power_of_two();
        let mut refusal = io::Error::from_raw_os_error(libc::EINVAL);
        for granted in Granted::LADDER {
            match granted.builder(entries).build(entries) {
                Ok(ring) if ring.params().is_feature_ext_arg() => return Ok(Self { ring, granted }),
                Ok(_) => return Err(io::Error::from_raw_os_error(libc::ENOSYS)),
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => refusal = error,
                Err(error) => return Err(error),
            }
        }
        Err(refusal)
    }
}

/// How a trim asks for a hole (fallocate(2)).
const PUNCH: i32 = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;

/// How I/Os name their file.
#[derive(Clone, Copy)]
enum Place {
    /// By its place in the table of registered files.
    Registered,
    /// By its descriptor.
    Descriptor(Fd),
    /// Not at all: every I/O is a NOP, the cost of the engine itself.
    Nowhere,
}

/// A ring at work on one file.
///
/// It owns the memory that the kernel reads and writes, and lives no longer than the file (`'f`) and the ring (`'r`).
pub(super) struct RingEngine<'r, 'f> {
    submitter: Submitter<'r>,
    submissions: SubmissionQueue<'r>,
    completions: CompletionQueue<'r>,
    memory: ManuallyDrop<Memory>,
    place: Place,
    granted: Granted,
    /// Prepared and not yet completed.
    in_flight: u64,
    enters: u64,
    _file: Option<&'f File>,
}

impl<'r, 'f> RingEngine<'r, 'f> {
    /// Reads and writes `file`, each slot with its own part of `memory`. Registers what can be registered: a refusal
    /// (locked memory is limited on kernels before 5.12) only costs speed.
    pub(super) fn on(ring: &'r mut Ring, file: &'f File, memory: Memory) -> Self {
        let mut engine = Self::on_any(ring, memory);
        engine.granted.fixed_file = engine.submitter.register_files(&[file.as_raw_fd()]).is_ok();
        engine.place = if engine.granted.fixed_file {
            Place::Registered
        } else {
            Place::Descriptor(Fd(file.as_raw_fd()))
        };
        engine._file = Some(file);
        engine
    }

    /// Reads and writes the file that each I/O names, see [`prepare_on`](Self::prepare_on).
    pub(super) fn on_any(ring: &'r mut Ring, memory: Memory) -> Self {
        let mut engine = Self::idle(ring, memory);
        let buffer = engine.memory.buffer();
        let whole = [libc::iovec { iov_base: buffer.start().as_ptr().cast(), iov_len: buffer.length() }];
        // SAFETY: the mapping stays until the engine is dropped. The kernel pins its pages, so even a ring that outlives
        // it writes to no memory that was reused.
        engine.granted.fixed_buffer = unsafe { engine.submitter.register_buffers(&whole) }.is_ok();
        engine
    }

    /// Prepares an I/O on `file` for a slot that is not in flight. The kernel takes the descriptor up, and holds the
    /// file from then on, in the next [`submit_and_reap`](Engine::submit_and_reap); keep it open until its completion.
    ///
    /// # Errors
    /// As for [`prepare`](Engine::prepare).
    pub(super) fn prepare_on(&mut self, file: &File, slot: u32, request: Request) -> io::Result<()> {
        self.push(Place::Descriptor(Fd(file.as_raw_fd())), slot, request)
    }

    /// Does nothing `in_flight` times over: each I/O is a NOP that passes through the ring.
    pub(super) fn idle(ring: &'r mut Ring, memory: Memory) -> Self {
        let mut granted = ring.granted;
        let (mut submitter, submissions, completions) = ring.ring.split();
        granted.ring_descriptor = submitter.register_ring_fd().is_ok();
        Self {
            submitter,
            submissions,
            completions,
            memory: ManuallyDrop::new(memory),
            place: Place::Nowhere,
            granted,
            in_flight: 0,
            enters: 0,
            _file: None,
        }
    }

    /// What the kernel granted.
    pub(super) fn granted(&self) -> Granted {
        self.granted
    }

    /// The submission for a slot; `None` when the slot has no room in the memory.
    #[inline]
    fn entry(&self, place: Place, slot: u32, request: Request) -> Option<squeue::Entry> {
        // A trim needs no memory.
        let from = if request.op == Op::Discard { 0 } else { self.memory.place(slot, request)? };
        let at = self.memory.buffer().start().as_ptr().wrapping_add(from);
        let is_fixed = self.granted.fixed_buffer;
        let Request { op, offset, length } = request;
        // The type of the descriptor is a parameter of each operation.
        macro_rules! on {
            ($file:expr) => {
                match (op, is_fixed) {
                    (Op::Read, true) => opcode::ReadFixed::new($file, at, length, 0).offset(offset).build(),
                    (Op::Read, false) => opcode::Read::new($file, at, length).offset(offset).build(),
                    (Op::Write, true) => opcode::WriteFixed::new($file, at, length, 0).offset(offset).build(),
                    (Op::Write, false) => opcode::Write::new($file, at, length).offset(offset).build(),
                    (Op::Discard, _) => {
                        opcode::Fallocate::new($file, length.into()).offset(offset).mode(PUNCH).build()
                    }
                    (Op::Fsync, _) => opcode::Fsync::new($file).build(),
                    (Op::Fdatasync, _) => opcode::Fsync::new($file).flags(FsyncFlags::DATASYNC).build(),
                }
            };
        }
        let entry = match place {
            Place::Registered => on!(Fixed(0)),
            Place::Descriptor(fd) => on!(fd),
            Place::Nowhere => opcode::Nop::new().build(),
        };
        Some(entry.user_data(u64::from(slot)))
    }

    #[inline]
    fn push(&mut self, place: Place, slot: u32, request: Request) -> io::Result<()> {
        let entry = self.entry(place, slot, request).ok_or(io::ErrorKind::InvalidInput)?;
        // SAFETY: the entry names memory inside `self.memory`, which is not freed before the completion arrived (see
        // `drop`) and which no Rust reference points into while the kernel has it. A descriptor that was closed too
        // early, or names another file by then, is an error or a wrong file and no matter of memory. The worker gives
        // out a slot to one I/O at a time, so no two use the same part; were it otherwise, the kernel would still
        // write only into this buffer.
        unsafe { self.submissions.push(&entry) }.map_err(|_| io::ErrorKind::WouldBlock)?;
        self.in_flight += 1;
        Ok(())
    }

    /// One `io_uring_enter`. Submits all that is queued.
    #[inline]
    fn enter(&mut self, want: u32, patience: Duration) -> io::Result<usize> {
        self.enters += 1;
        if want > 0 {
            let patience = Timespec::from(patience);
            return self.submitter.submit_with_args(want as usize, &SubmitArgs::new().timespec(&patience));
        }
        // `submit` would not set GETEVENTS, without which a deferred completion never arrives.
        let queued = self.submissions.len() as u32;
        // SAFETY: no argument is passed, and the count is that of entries pushed, each of which `prepare` vouches for.
        unsafe { self.submitter.enter::<libc::sigset_t>(queued, 0, EnterFlags::GETEVENTS.bits(), None) }
    }
}

impl Engine for RingEngine<'_, '_> {
    #[inline]
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
        self.submissions.sync();
        if let Err(error) = self.enter(want, patience) {
            match error.raw_os_error() {
                // Nothing ended in time, a signal came, or completions must be taken first: look and come back.
                Some(libc::ETIME | libc::EINTR | libc::EAGAIN | libc::EBUSY) => {}
                _ => return Err(error),
            }
        }
        self.submissions.sync();
        self.completions.sync();
        let before = done.len();
        done.extend(
            (&mut self.completions)
                .map(|entry| Completion { slot: entry.user_data() as u32, result: entry.result() }),
        );
        self.completions.sync();
        self.in_flight = self.in_flight.saturating_sub((done.len() - before) as u64);
        Ok(())
    }

    fn memory(&mut self) -> Option<&mut Memory> {
        Some(&mut self.memory)
    }

    fn enters(&self) -> u64 {
        self.enters
    }
}

impl Drop for RingEngine<'_, '_> {
    fn drop(&mut self) {
        if self.in_flight == 0 {
            // The kernel takes a closed ring apart later, on its own time. Until then a registered file would stay open:
            // a device claimed, the space of a scratch file taken.
            let _ = self.submitter.unregister_files();
            let _ = self.submitter.unregister_buffers();
            // SAFETY: the memory is dropped here and nowhere else, and `self` is not used afterwards. No I/O is in
            // flight, so the kernel touches it no more.
            unsafe { ManuallyDrop::drop(&mut self.memory) };
        }
        // Else a device keeps I/Os and may yet write: the memory is given up instead of reused.
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::engine::PATIENCE;
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
        assert_eq!(engine.in_flight, 0);
        let firsts = [0, 1, 2, 3].map(|slot| engine.memory.bytes(slot, read(0, 4096)).unwrap()[0]);
        assert_eq!(firsts, [4, 3, 2, 1]);
    }

    #[test]
    fn both_ways_work_where_nothing_can_be_registered() {
        for (fixed_file, fixed_buffer) in [(true, true), (true, false), (false, true), (false, false)] {
            let Some(mut ring) = ring(2) else { return };
            let file = tempfile::tempfile().unwrap();
            file.write_all_at(&[9; 512], 0).unwrap();
            let mut engine = RingEngine::on(&mut ring, &file, memory(512, 2));
            if !fixed_file {
                engine.place = Place::Descriptor(Fd(file.as_raw_fd()));
            }
            engine.granted.fixed_buffer &= fixed_buffer;
            let write = Request { op: Op::Write, offset: 512, length: 512 };
            engine.prepare(0, write).unwrap();
            engine.prepare(1, read(0, 512)).unwrap();
            let mut done = reap(&mut engine, 2);
            done.sort_by_key(|completion| completion.slot);
            assert_eq!(done, [0, 1].map(|slot| Completion { slot, result: 512 }));
            assert_eq!(engine.memory.bytes(1, read(0, 512)).unwrap()[0], 9);
            let mut written = [0; 512];
            file.read_exact_at(&mut written, 512).unwrap();
            assert_eq!(engine.memory.bytes(0, write).unwrap(), written);
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test may open a directory")]
    fn a_failed_read_is_a_completion_with_its_errno() {
        let Some(mut ring) = ring(1) else { return };
        let directory = File::open("/").unwrap();
        let mut engine = RingEngine::on(&mut ring, &directory, memory(512, 1));
        engine.prepare(0, read(0, 512)).unwrap();
        assert_eq!(reap(&mut engine, 1), [Completion { slot: 0, result: -libc::EISDIR }]);
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
            Granted::LADDER
                .windows(2)
                .all(|pair| count(&pair[0]) > count(&pair[1]) || pair[1] == Granted::default())
        );
        assert_eq!(Granted::default().to_string(), "io_uring (no extras)");
    }
}
