//! Copies a file or a tree, durably, and tells where the time went.
//!
//! The source is only read. At the destination nothing is ever overwritten, followed through a link, or removed but
//! parts of our own. [`copy`] lists the source, makes directories and links, then copies small files several at a time
//! and large ones block by block, reads overlapped with writes. A file is written to a part, made durable together with
//! others, read back if it is to be verified, noted in the manifest, and only then gets its name.

mod block;
mod destination;
mod fault;
mod job;
mod manifest;
mod pipeline;
mod result;
mod scan;
mod setup;
mod source;
mod tree;
mod worker;

pub use fault::{CopyError, Fault, Why};
pub use job::CopyControl;
#[cfg(feature = "fuzzing")]
pub use manifest::fuzz as fuzz_manifest;
pub use result::{CopyResult, LARGE, ReadBack, Side, Spent, Tally};
pub use source::{Extent, Room, Source};

use std::collections::HashSet;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;
use std::{io, thread};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

use super::ring::Ring;
use super::run::EngineChoice;
use block::ALIGNMENT;
use job::Job;
use narrows_base::units::{Bytes, Nanos};
use pipeline::Mover;
use result::{Doing, Meter};
use scan::{Entry, EntryKind};
use setup::Setup;
use tree::Directories;
use worker::Worker;

/// Threads that copy small files: enough to keep a few opens, reads and creates under way.
const MOST_THREADS: usize = 8;
/// The most blocks in flight.
const DEEPEST: u32 = 256;
/// The largest block.
const LARGEST_BLOCK: Bytes = Bytes::from_mib(64);
/// What blocks may take of memory at most: more in flight makes no drive faster.
pub const MOST_MEMORY: Bytes = Bytes::from_mib(1024);

/// How to copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyOptions {
    /// Whether to read everything back and compare checksums.
    pub verify: bool,
    /// Whether to read the source past the page cache where its file system can.
    pub direct: bool,
    /// Whether to go on with an interrupted copy.
    pub resume: bool,
    /// The size of a block of a large file, a multiple of 4 KiB.
    pub block_size: Bytes,
    /// Blocks in flight.
    pub depth: u32,
    /// How large files are moved.
    pub engine: EngineChoice,
    /// What all blocks together may take of memory.
    pub memory: Bytes,
}

impl Default for CopyOptions {
    /// Verified, through the page cache on the reading side, 8 blocks of 1 MiB in flight.
    fn default() -> Self {
        Self {
            verify: true,
            direct: false,
            resume: false,
            block_size: Bytes::from_mib(1),
            depth: 8,
            engine: EngineChoice::Auto,
            memory: MOST_MEMORY,
        }
    }
}

impl CopyOptions {
    /// The block size, once it is known to be one.
    fn block(&self) -> Result<u32, CopyError> {
        let size = self.block_size.get();
        if size == 0 || !size.is_multiple_of(ALIGNMENT) || size > LARGEST_BLOCK.get() {
            return Err(CopyError::Options("a block is a multiple of 4 KiB, and 64 MiB at most".to_owned()));
        }
        if self.depth == 0 || self.depth > DEEPEST {
            return Err(CopyError::Options(format!("the depth is between 1 and {DEEPEST}")));
        }
        self.refuse_too_much()?;
        u32::try_from(size).map_err(|_| CopyError::Options("the block is too large".to_owned()))
    }
}

impl CopyOptions {
    /// Refuses blocks that together take more memory than they may.
    fn refuse_too_much(&self) -> Result<(), CopyError> {
        let (block, depth) = (self.block_size.get(), u64::from(self.depth));
        let needed = Bytes::new(block.saturating_mul(depth));
        // A single block is what it takes to copy at all.
        if needed <= self.memory || (depth == 1 && block <= Bytes::from_mib(1).get()) {
            return Ok(());
        }
        Err(CopyError::Memory { needed, most: self.memory, block: self.block_size, depth: self.depth })
    }
}

/// Copies `source` to `destination`, which is the name of the copy. Blocks until it is done; `control` lets another thread
/// watch and stop it.
///
/// Files that cannot be copied do not end the copy; they are [faults](CopyResult::faults) of the result. A full
/// destination does end it.
///
/// # Errors
/// [`CopyError`] when nothing can be copied: the paths, the options, or an earlier copy stand in the way.
pub fn copy(
    source: &Path,
    destination: &Path,
    options: &CopyOptions,
    control: &CopyControl,
) -> Result<CopyResult, CopyError> {
    let block_size = options.block()?;
    let result = Setup::new(source, destination, options, control.stop())
        .and_then(|setup| conduct(&setup, options, control, block_size));
    control.end();
    result
}

fn conduct(
    setup: &Setup,
    options: &CopyOptions,
    control: &CopyControl,
    block_size: u32,
) -> Result<CopyResult, CopyError> {
    let begin = Instant::now();
    let cpu_before = process_cpu();
    let listing = &setup.listing;
    let (_, data) = listing.extent();
    control.expect(if options.verify { data + data } else { data });
    let job = setup.job(options, control);
    job.faults
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
        .extend(listing.faults.iter().cloned());
    let mut meter = Meter::start();
    if options.resume {
        tree::sweep(&job, listing, &job.useful_parts());
    }
    let directories = Directories::make(&job, listing);
    let open = |entry: &&Entry| !directories.is_closed(&entry.below);
    let of = |kind: EntryKind| listing.entries.iter().filter(move |entry| entry.kind == kind);
    let symlinks = tree::symlinks(&job, of(EntryKind::Symlink).filter(open));
    meter.lap(Doing::Metadata);
    let (small, large): (Vec<&Entry>, Vec<&Entry>) =
        of(EntryKind::File).filter(open).partition(|entry| entry.size() < LARGE.get());
    let mut result = CopyResult { directories: directories.made(), symlinks, ..CopyResult::default() };
    result.spent.add(&setup.spent);
    let at = Instant::now();
    result.spent.add(&copy_small(&job, &small, block_size)?);
    result.small.elapsed = at.elapsed().into();
    let at = Instant::now();
    let (spent, engine) = copy_large(&job, &large, block_size)?;
    result.spent.add(&spent);
    result.engine = engine;
    result.large.elapsed = at.elapsed().into();
    // The workers' time is theirs.
    let mut after = Meter::start();
    result.hard_links = tree::hard_links(&job, listing, &directories);
    if !job.known.runs.is_empty() && !job.leaves_work() {
        // What looked useful may have been of a file that has changed, or where others could change it: it was copied anew.
        tree::sweep(&job, listing, &HashSet::new());
    }
    directories.finish(&job, listing);
    after.lap(Doing::Metadata);
    result.spent.add(&meter.spent());
    result.spent.add(&after.spent());
    let cpu = process_cpu();
    result.cpu = (since(cpu_before.0, cpu.0), since(cpu_before.1, cpu.1));
    result.processors = thread::available_parallelism().map_or(1, |count| count.get() as u64);
    // What was done before this began: looking at both places, listing the source.
    result.elapsed = Nanos::new(Nanos::from(begin.elapsed()).get().saturating_add(setup.spent.total().get()));
    fill_in(&mut result, &job, setup);
    Ok(result)
}

/// Takes over what the threads counted, and removes the manifest when nobody needs it any more.
fn fill_in(result: &mut CopyResult, job: &Job<'_>, setup: &Setup) {
    let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
    (result.small.files, result.small.bytes) = job.small.get();
    (result.large.files, result.large.bytes) = job.large.get();
    (result.lost_owners, result.lost_xattrs) = job.lost.counts();
    result.earlier = get(&job.earlier);
    result.kept = Bytes::new(get(&job.kept));
    result.direct_reads = get(&job.direct_reads);
    result.read_back = job
        .options
        .verify
        .then(|| ReadBack { direct: get(&job.read_direct), advised: get(&job.read_advised) });
    let special = setup.listing.entries.iter().filter_map(|entry| match entry.kind {
        EntryKind::Special(what) => Some((job.source.shown(&entry.below), what)),
        _ => None,
    });
    result.skipped = special.collect();
    result.interrupted = job.control.is_stopped();
    result.faults =
        std::mem::take(&mut *job.faults.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    result.faults.sort_by(|a, b| a.path.cmp(&b.path));
    let is_of_use = result.interrupted || result.faults.iter().any(|fault| fault.why.may_pass());
    result.manifest = if is_of_use { Some(setup.manifest_path()) } else { setup.remove_manifest() };
}

/// Copies small files in several threads.
fn copy_small(job: &Job<'_>, files: &[&Entry], block_size: u32) -> Result<Spent, CopyError> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let threads = (processors * 2).min(MOST_THREADS).min(files.len());
    // More than a whole small file is never read at once.
    let block_size = u32::try_from(LARGE.get()).map_or(block_size, |most| block_size.min(most));
    let next = AtomicUsize::new(0);
    let spent = Mutex::new(Spent::default());
    let work = || -> io::Result<()> {
        let memory = Mover::memory(block_size, 1)?;
        let mut worker = Worker::new(job, Mover::calls(memory), 1, block_size);
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)).filter(|_| !job.is_over()) {
            worker.copy(file);
        }
        worker.commit();
        spent.lock().unwrap_or_else(std::sync::PoisonError::into_inner).add(&worker.meter.spent());
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| thread::Builder::new().name("narrows-copy".to_owned()).spawn_scoped(scope, work))
            .collect();
        for worker in workers {
            let worker = worker.map_err(|error| CopyError::Worker(error.to_string()))?;
            let ended = worker.join().map_err(|_| CopyError::Worker("a thread died".to_owned()))?;
            ended.map_err(|error| CopyError::Worker(error.to_string()))?;
        }
        Ok(())
    })?;
    Ok(spent.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
}

/// Copies large files one after another; also says how.
fn copy_large(job: &Job<'_>, files: &[&Entry], block_size: u32) -> Result<(Spent, String), CopyError> {
    let worker_error = |error: io::Error| CopyError::Worker(error.to_string());
    let depth = job.options.depth;
    let mut ring = match job.options.engine {
        EngineChoice::Psync => None,
        _ if files.is_empty() => None,
        EngineChoice::IoUring => Some(Ring::open(depth).map_err(worker_error)?),
        EngineChoice::Auto => Ring::open(depth).ok(),
    };
    let (mover, depth, engine) = match &mut ring {
        Some(ring) => {
            let memory = Mover::memory(block_size, depth).map_err(worker_error)?;
            (Mover::ring(ring, memory), depth, "io_uring")
        }
        None => (Mover::calls(Mover::memory(block_size, 1).map_err(worker_error)?), 1, "psync"),
    };
    let mut worker = Worker::new(job, mover, depth, block_size);
    for file in files.iter().take_while(|_| !job.is_over()) {
        worker.copy(file);
    }
    worker.commit();
    Ok((worker.meter.spent(), engine.to_owned()))
}

/// User and system time of the process.
fn process_cpu() -> (Nanos, Nanos) {
    let nanos = |time: nix::sys::time::TimeVal| {
        Nanos::new(u64::try_from(time.num_microseconds()).unwrap_or(0).saturating_mul(1000))
    };
    getrusage(UsageWho::RUSAGE_SELF)
        .map_or_else(|_| Default::default(), |usage| (nanos(usage.user_time()), nanos(usage.system_time())))
}

fn since(before: Nanos, after: Nanos) -> Nanos {
    Nanos::new(after.get().saturating_sub(before.get()))
}
