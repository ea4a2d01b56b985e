//! Where the time of a copy goes.
//!
//! A thread's time is cut into laps, each ascribed to one category when it ends. Of a lap the part on a processor
//! (`CLOCK_THREAD_CPUTIME_ID`) is processor time, the part in a processor's queue is due to other threads
//! (`/proc/thread-self/schedstat`, kernel `Documentation/scheduler/sched-stats.rst`), and the rest is waiting for what
//! the category names.

use serde::{Deserialize, Serialize};

use std::fs::File;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

use crate::schedstat;
use narrows_base::units::Nanos;

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
        let schedstat = schedstat::open();
        let queue = schedstat.as_ref().map_or(0, schedstat::queued);
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
        let queue = self.schedstat.as_ref().map_or(0, schedstat::queued);
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
