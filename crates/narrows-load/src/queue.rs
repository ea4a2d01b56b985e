//! A ring for reads and writes of files, and its queues: set-up, submission, completion, and the memory of both.

#![expect(
    unsafe_code,
    reason = "the kernel reads and writes memory that the submission queue names by address"
)]

use std::io;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::os::fd::RawFd;
use std::time::Duration;

use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{Builder, CompletionQueue, EnterFlags, IoUring, SubmissionQueue, Submitter, cqueue, squeue};
use nix::libc;

use super::engine::{Completion, Expected, PATIENCE};
use super::memory::Memory;
use super::ran::Granted;

/// Completions that are taken from the ring at once.
const TAKEN: usize = 32;

/// The steps of the ladder, best first. Each drops what the youngest kernel feature was; SINGLE_ISSUER and
/// DEFER_TASKRUN go together, since the second requires the first.
pub(super) const LADDER: [Granted; 5] = {
    let none = Granted {
        small_queue: false,
        cooperative: false,
        deferred: false,
        no_array: false,
        fixed_buffer: false,
        fixed_file: false,
        ring_descriptor: false,
    };
    let small = Granted { small_queue: true, ..none };
    let cooperative = Granted { cooperative: true, ..small };
    let deferred = Granted { deferred: true, ..cooperative };
    [Granted { no_array: true, ..deferred }, deferred, cooperative, small, none]
};

fn builder(granted: Granted, depth: u32) -> Builder<squeue::Entry, cqueue::Entry> {
    let mut builder = IoUring::builder();
    builder.dontfork();
    if granted.small_queue {
        builder.setup_cqsize(depth);
    }
    if granted.cooperative {
        builder.setup_coop_taskrun();
    }
    if granted.deferred {
        builder.setup_single_issuer().setup_defer_taskrun();
    }
    if granted.no_array {
        builder.setup_no_sqarray();
    }
    builder
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
        for granted in LADDER {
            match builder(granted, entries).build(entries) {
                Ok(ring) if ring.params().is_feature_ext_arg() => return Ok(Self { ring, granted }),
                Ok(_) => return Err(io::Error::from_raw_os_error(libc::ENOSYS)),
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => refusal = error,
                Err(error) => return Err(error),
            }
        }
        Err(refusal)
    }
}

/// What an entry of the completion queue says.
#[inline(always)]
fn completion(entry: &cqueue::Entry) -> Completion {
    Completion { slot: entry.user_data() as u32, result: entry.result() }
}

/// The queues of a ring at work.
///
/// They own the memory that the kernel reads and writes, and live no longer than the ring (`'r`).
pub(super) struct Queue<'r> {
    submitter: Submitter<'r>,
    submissions: SubmissionQueue<'r>,
    completions: CompletionQueue<'r>,
    memory: ManuallyDrop<Memory>,
    /// What the kernel granted.
    pub(super) granted: Granted,
    /// Pushed and not yet completed.
    pub(super) in_flight: u64,
    enters: u64,
}

impl<'r> Queue<'r> {
    /// The queues of a ring, for I/Os in `memory`.
    pub(super) fn new(ring: &'r mut Ring, memory: Memory) -> Self {
        let mut granted = ring.granted;
        let (mut submitter, submissions, completions) = ring.ring.split();
        granted.ring_descriptor = submitter.register_ring_fd().is_ok();
        let memory = ManuallyDrop::new(memory);
        Self { submitter, submissions, completions, memory, granted, in_flight: 0, enters: 0 }
    }

    /// Registers the memory. A refusal (locked memory is limited on kernels before 5.12) only costs speed.
    pub(super) fn register_memory(&mut self) {
        let buffer = self.memory.buffer();
        let whole = [libc::iovec { iov_base: buffer.start().as_ptr().cast(), iov_len: buffer.length() }];
        // SAFETY: the mapping stays until the queue is dropped. The kernel pins its pages, so even a ring that outlives
        // it writes to no memory that was reused.
        self.granted.fixed_buffer = unsafe { self.submitter.register_buffers(&whole) }.is_ok();
    }

    /// Registers the file that all entries are for. A refusal only costs speed.
    pub(super) fn register_file(&mut self, file: RawFd) {
        self.granted.fixed_file = self.submitter.register_files(&[file]).is_ok();
    }

    /// The memory of the I/Os.
    #[inline]
    pub(super) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The memory of the I/Os, to look at or prepare the part of one that is not in flight.
    pub(super) fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// Queues an entry.
    ///
    /// # Errors
    /// The queue is full.
    ///
    /// # Safety
    /// The entry must name no memory but that of this queue, in a part that no other I/O in flight uses. A descriptor that
    /// was closed too early, or names another file by then, is an error or a wrong file and no matter of memory.
    #[inline]
    pub(super) unsafe fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        // SAFETY: the memory is not freed before the completion arrived (see `drop`), and no Rust reference points into
        // a part in flight; the rest is what the caller vouches for.
        unsafe { self.submissions.push(entry) }.map_err(|_| io::ErrorKind::WouldBlock)?;
        self.in_flight += 1;
        Ok(())
    }

    /// One `io_uring_enter`. Submits all that is queued, waits for `want` completions, and without any to wait for looks for
    /// deferred ones if it `looks`: else they never arrive.
    #[inline]
    fn enter(&mut self, want: u32, patience: Duration, looks: bool) -> io::Result<usize> {
        self.enters += 1;
        if want > 0 {
            let patience = Timespec::from(patience);
            return self.submitter.submit_with_args(want as usize, &SubmitArgs::new().timespec(&patience));
        }
        let queued = self.submissions.len() as u32;
        let flags = if looks { EnterFlags::GETEVENTS } else { EnterFlags::empty() };
        // SAFETY: no argument is passed, and the count is that of entries pushed, each of which `push`'s caller vouches
        // for.
        unsafe { self.submitter.enter::<libc::sigset_t>(queued, 0, flags.bits(), None) }
    }

    /// Submits what was pushed, waits for `want` entries to end or `patience` to be over, and appends all that ended, with
    /// the user data of each as its slot.
    ///
    /// # Errors
    /// The ring broke down.
    #[inline]
    pub(super) fn submit_and_reap(
        &mut self,
        want: u32,
        patience: Duration,
        done: &mut Vec<Completion>,
    ) -> io::Result<()> {
        self.submit(want, patience, true)?;
        let mut taken = [const { MaybeUninit::uninit() }; TAKEN];
        while !self.completions.is_empty() {
            done.extend(self.completions.fill(&mut taken).iter().map(completion));
        }
        // The kernel learns that all were taken.
        self.completions.sync();
        Ok(())
    }

    /// The same for reads that end in their order, see
    /// [`Engine::submit_and_reap_in_order`](super::engine::Engine::submit_and_reap_in_order).
    ///
    /// # Errors
    /// As for [`submit_and_reap`](Self::submit_and_reap).
    #[inline]
    pub(super) fn submit_and_reap_in_order(
        &mut self,
        want: u32,
        expected: Expected,
        done: &mut Vec<Completion>,
    ) -> io::Result<Option<u32>> {
        // What is deferred would come in parts. It is in order as a whole, and can wait until some are wanted.
        self.submit(want, PATIENCE, false)?;
        let mut taken = [const { MaybeUninit::uninit() }; TAKEN];
        let (mut count, mut are_next) = (0, true);
        while !self.completions.is_empty() {
            let ended = self.completions.fill(&mut taken);
            if are_next && expected.are_next(count, ended, completion) {
                count += ended.len() as u32;
                continue;
            }
            if are_next {
                are_next = false;
                done.extend(expected.completions(count));
            }
            done.extend(ended.iter().map(completion));
        }
        self.completions.sync();
        Ok(are_next.then_some(count))
    }

    /// Enters the kernel, and learns what ended.
    #[inline(always)]
    fn submit(&mut self, want: u32, patience: Duration, looks: bool) -> io::Result<()> {
        self.submissions.sync();
        if let Err(error) = self.enter(want, patience, looks) {
            match error.raw_os_error() {
                // Nothing ended in time, a signal came, or completions must be taken first: look and come back.
                Some(libc::ETIME | libc::EINTR | libc::EAGAIN | libc::EBUSY) => {}
                _ => return Err(error),
            }
        }
        self.submissions.sync();
        self.completions.sync();
        self.in_flight = self.in_flight.saturating_sub(self.completions.len() as u64);
        Ok(())
    }

    /// Kernel entries so far.
    pub(super) fn enters(&self) -> u64 {
        self.enters
    }
}

impl Drop for Queue<'_> {
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
