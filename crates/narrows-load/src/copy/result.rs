//! What came of a copy.

use serde::{Deserialize, Serialize};

use super::fault::{Fault, Why};
use super::spent::Spent;
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
