//! What came of a copy.

use std::fs::File;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use super::fault::{Fault, Why};
use crate::effort;
use narrows_base::units::{Bytes, Nanos};

/// Files from this size on are large: their blocks are read and written several at a time. Smaller ones are copied whole,
/// several files at a time.
pub const LARGE: Bytes = Bytes::from_mib(1);

/// Files of one kind that were copied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many.
    pub files: u64,
    /// Their data; holes are left out.
    pub bytes: Bytes,
    /// From the first to the last of them, verification and syncing included.
    pub elapsed: Nanos,
}

/// How the data were read back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReadBack {
    /// Files that were read with O_DIRECT, past the page cache.
    #[serde(rename = "direct_files")]
    pub direct: u64,
    /// Files that could not be: the kernel was asked to drop them from its cache first, and may not have done so.
    #[serde(rename = "advised_files")]
    pub advised: u64,
}

/// What a copy can be limited by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Reading the source.
    Source,
    /// Writing the destination.
    Destination,
    /// Reading the destination back.
    Verification,
    /// Names, attributes and directories.
    Metadata,
    /// Processors.
    Processor,
    /// Other threads on the processors, those of other programs above all.
    Contention,
}

/// Processors that are busy for more than this part of the time limit a copy, whatever its threads wait for: then they
/// wait for a processor as well.
const PROCESSORS_BUSY: f64 = 0.9;

/// What was copied, where the time went, and what was not copied.
#[derive(Debug, Clone, Default)]
pub struct CopyResult {
    /// Files below [`LARGE`].
    pub small: Tally,
    /// Files from [`LARGE`] on.
    pub large: Tally,
    /// Directories that were made.
    pub directories: u64,
    /// Symbolic links that were made.
    pub symlinks: u64,
    /// Further names of files that were copied.
    pub hard_links: u64,
    /// Files that an earlier run had completed, and, where its manifest is gone, those that are as their sources.
    pub earlier: u64,
    /// Bytes of files that an earlier run had begun, and that were kept.
    pub kept: Bytes,
    /// Devices, pipes and sockets, which are not copied: a path and what it is.
    pub skipped: Vec<(std::path::PathBuf, &'static str)>,
    /// What was not copied, and why.
    pub faults: Vec<Fault>,
    /// Names whose owner could not be kept.
    pub lost_owners: u64,
    /// Names with extended attributes that could not be kept.
    pub lost_xattrs: u64,
    /// The time of all threads, split.
    pub spent: Spent,
    /// Processor time of the process in user mode, kernel mode; helpers of io_uring included.
    pub cpu: (Nanos, Nanos),
    /// The processors that it could use.
    pub processors: u64,
    /// From the beginning to the last sync.
    pub elapsed: Nanos,
    /// How data were read back; `None` when they were not.
    pub read_back: Option<ReadBack>,
    /// How large files were moved.
    pub engine: String,
    /// Files whose source was read with O_DIRECT.
    pub direct_reads: u64,
    /// Whether it was stopped before the end.
    pub interrupted: bool,
    /// The manifest that `--resume` goes on from, if there is something to go on with.
    pub manifest: Option<std::path::PathBuf>,
}

impl CopyResult {
    /// Whether everything was copied that narrows copies.
    pub fn is_whole(&self) -> bool {
        self.faults.is_empty() && !self.interrupted
    }

    /// Whether it ended because the destination is full.
    pub fn is_out_of_space(&self) -> bool {
        self.faults.iter().any(|fault| fault.why == Why::NoSpace)
    }

    /// What took the largest part of the time, and that part: of the time of all processors if they were busy nearly
    /// throughout, else of the time that the threads were at work. `None` when nothing was copied.
    pub fn limit(&self) -> Option<(Side, f64)> {
        let available = self.elapsed.as_secs_f64() * self.processors as f64;
        let busy = (self.cpu.0.as_secs_f64() + self.cpu.1.as_secs_f64()) / available;
        if busy.is_finite() && busy >= PROCESSORS_BUSY {
            return Some((Side::Processor, busy.min(1.0)));
        }
        let Spent { read, write, verify, metadata, cpu, checksum, queue } = self.spent;
        let sides = [
            (Side::Source, read.get()),
            (Side::Destination, write.get()),
            (Side::Verification, verify.get()),
            (Side::Metadata, metadata.get()),
            (Side::Processor, cpu.get().saturating_add(checksum.get())),
            (Side::Contention, queue.get()),
        ];
        let (side, time) = sides.into_iter().max_by_key(|(_, time)| *time)?;
        let total = self.spent.total().get();
        (total > 0 && time > 0).then(|| (side, time as f64 / total as f64))
    }

    /// Data that were copied.
    pub fn bytes(&self) -> Bytes {
        self.small.bytes + self.large.bytes
    }
}

/// What a thread did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    /// Reading the source.
    Read,
    /// Writing the destination and making it durable.
    Write,
    /// Computing checksums.
    Checksum,
    /// Reading the destination back.
    Verify,
    /// Listing, opening, creating, renaming, attributes, syncing directories.
    Metadata,
}

/// The time of all threads together, split. The parts add up to the time that threads were at work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spent {
    /// Waiting for reads of the source.
    #[serde(rename = "read_wait_ns")]
    pub read: Nanos,
    /// Waiting for writes, and for what was written to become durable.
    #[serde(rename = "write_wait_ns")]
    pub write: Nanos,
    /// Waiting for reads of the destination, to verify.
    #[serde(rename = "verify_wait_ns")]
    pub verify: Nanos,
    /// Waiting for the file system: names, attributes, directories.
    #[serde(rename = "metadata_wait_ns")]
    pub metadata: Nanos,
    /// On a processor, checksums apart.
    #[serde(rename = "cpu_ns")]
    pub cpu: Nanos,
    /// Computing checksums.
    #[serde(rename = "checksum_ns")]
    pub checksum: Nanos,
    /// Ready to go on while processors worked for others. Where the kernel does not tell, this is part of the waits.
    #[serde(rename = "queue_ns")]
    pub queue: Nanos,
}

impl Spent {
    /// All of it.
    pub fn total(&self) -> Nanos {
        let parts = [self.read, self.write, self.verify, self.metadata, self.cpu, self.checksum, self.queue];
        Nanos::new(parts.iter().fold(0, |sum: u64, part| sum.saturating_add(part.get())))
    }

    /// Adds the time of another thread.
    pub(super) fn add(&mut self, other: &Self) {
        let sum = |a: Nanos, b: Nanos| Nanos::new(a.get().saturating_add(b.get()));
        *self = Self {
            read: sum(self.read, other.read),
            write: sum(self.write, other.write),
            verify: sum(self.verify, other.verify),
            metadata: sum(self.metadata, other.metadata),
            cpu: sum(self.cpu, other.cpu),
            checksum: sum(self.checksum, other.checksum),
            queue: sum(self.queue, other.queue),
        };
    }

    fn grow(&mut self, doing: Doing, wait: u64, cpu: u64) {
        let add = |to: &mut Nanos, span: u64| *to = Nanos::new(to.get().saturating_add(span));
        match doing {
            Doing::Read => add(&mut self.read, wait),
            Doing::Write => add(&mut self.write, wait),
            Doing::Verify => add(&mut self.verify, wait),
            Doing::Metadata => add(&mut self.metadata, wait),
            // Nothing but a processor is waited for.
            Doing::Checksum => return add(&mut self.checksum, wait.saturating_add(cpu)),
        }
        add(&mut self.cpu, cpu);
    }
}

/// The clock of one thread.
#[derive(Debug)]
pub(super) struct Meter {
    spent: Spent,
    wall: Instant,
    cpu: u64,
    schedstat: Option<File>,
    queue: u64,
}

impl Meter {
    /// Starts on the calling thread, which is the one to use it.
    pub(super) fn start() -> Self {
        let schedstat = effort::open();
        let queue = schedstat.as_ref().map_or(0, effort::queued);
        Self { spent: Spent::default(), wall: Instant::now(), cpu: thread_cpu(), schedstat, queue }
    }

    /// Ascribes the time since the last lap.
    pub(super) fn lap(&mut self, doing: Doing) {
        let (wait, cpu) = self.since();
        self.spent.grow(doing, wait, cpu);
    }

    /// Ascribes the time since the last lap to reads and writes that were in flight together, by their numbers: the
    /// slower side is the one whose I/Os pile up (Little's law).
    pub(super) fn lap_between(&mut self, reading: Doing, reads: u32, writes: u32) {
        let (wait, cpu) = self.since();
        let all = u64::from(reads) + u64::from(writes);
        let for_writes = wait.saturating_mul(u64::from(writes)).checked_div(all).unwrap_or(0);
        self.spent.grow(reading, wait - for_writes, cpu);
        self.spent.grow(Doing::Write, for_writes, 0);
    }

    /// What was spent so far.
    pub(super) fn spent(&self) -> Spent {
        self.spent
    }

    /// Waiting and processor time since the last lap, which ends.
    fn since(&mut self) -> (u64, u64) {
        let queue = self.schedstat.as_ref().map_or(0, effort::queued);
        let (wall, cpu) = (Instant::now(), thread_cpu());
        let elapsed = Nanos::from(wall.duration_since(self.wall)).get();
        let on_cpu = cpu.saturating_sub(self.cpu).min(elapsed);
        let in_queue = queue.saturating_sub(self.queue).min(elapsed - on_cpu);
        (self.wall, self.cpu, self.queue) = (wall, cpu, queue);
        self.spent.queue = Nanos::new(self.spent.queue.get().saturating_add(in_queue));
        (elapsed - on_cpu - in_queue, on_cpu)
    }
}

/// Processor time of the calling thread, in nanoseconds.
fn thread_cpu() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let (seconds, nanos) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_nsec));
    seconds.unwrap_or(0).saturating_mul(1_000_000_000).saturating_add(nanos.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn spent(read: u64, write: u64, cpu: u64) -> CopyResult {
        let millis = Nanos::from_millis;
        let spent = Spent { read: millis(read), write: millis(write), cpu: millis(cpu), ..Spent::default() };
        CopyResult { spent, elapsed: millis(1000), processors: 2, ..CopyResult::default() }
    }

    #[test]
    fn the_largest_part_is_what_limits() {
        assert_eq!(spent(600, 300, 100).limit(), Some((Side::Source, 0.6)));
        assert_eq!(spent(200, 300, 100).limit(), Some((Side::Destination, 0.5)));
        assert_eq!(spent(0, 0, 0).limit(), None);
    }

    #[test]
    fn busy_processors_limit_whatever_threads_wait_for() {
        let result =
            CopyResult { cpu: (Nanos::from_millis(900), Nanos::from_millis(950)), ..spent(600, 300, 100) };
        assert_eq!(result.limit(), Some((Side::Processor, 0.925)));
    }

    #[test]
    fn sleeping_is_waiting_and_the_parts_add_up() {
        let begin = Instant::now();
        let mut meter = Meter::start();
        std::thread::sleep(Duration::from_millis(20));
        meter.lap(Doing::Read);
        let whole = Nanos::from(begin.elapsed()).get();
        let spent = meter.spent();
        assert!(spent.read.get() + spent.queue.get() >= 15_000_000, "{spent:?}");
        assert!(spent.total().get() <= whole);
        assert_eq!((spent.write, spent.verify, spent.metadata), Default::default());
    }

    #[test]
    fn a_shared_wait_is_divided_by_what_was_in_flight() {
        let mut meter = Meter::start();
        std::thread::sleep(Duration::from_millis(20));
        meter.lap_between(Doing::Read, 1, 3);
        let Spent { read, write, .. } = meter.spent();
        assert!(write.get() > 0 && write.get().abs_diff(read.get() * 3) <= 8, "{read:?} {write:?}");
    }

    #[test]
    fn waiting_during_a_checksum_is_for_a_processor() {
        let mut spent = Spent::default();
        spent.grow(Doing::Checksum, 5, 7);
        spent.grow(Doing::Metadata, 1, 2);
        assert_eq!(
            (spent.checksum, spent.cpu, spent.metadata),
            (Nanos::new(12), Nanos::new(2), Nanos::new(1))
        );
        let mut both = spent;
        both.add(&spent);
        assert_eq!(both.total(), Nanos::new(30));
    }
}
