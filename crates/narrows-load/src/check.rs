//! Whether a workload makes sense, and whether it can be run on a target.

use super::error::LoadError;
use super::memory::Memory;
use super::offsets::Blocks;
use super::plan::stamped_block;
use super::run::RunOptions;
use super::target::{Kind, Target};
use super::worker::Reap;
use super::workload::Workload;
use narrows_base::units::{Bytes, Nanos, human};

/// The memory of all buffers together; also the limit of one registered buffer (io_uring_register(2)).
const MAX_MEMORY: u64 = 1 << 30;
/// I/Os in flight for each worker; the kernel's own limit is 32 768 entries (IORING_MAX_ENTRIES).
const MAX_DEPTH: u32 = 4096;
/// Streams in all.
const MAX_STREAMS: u32 = 65_536;
/// The longest run, so that its series stays small.
const MAX_DURATION: Nanos = Nanos::from_millis(7 * 24 * 3600 * 1000);

/// Whether the workload can be run on the target; returns the blocks to visit.
///
/// # Errors
/// It cannot be run there, or makes no sense.
pub(super) fn check(target: &Target, workload: &Workload, options: &RunOptions) -> Result<Blocks, LoadError> {
    check_limits(workload, options)?;
    if workload.writes() && !matches!(target.kind(), Kind::Scratch | Kind::Owned) {
        return Err(LoadError::NotOurs(target.path().to_owned()));
    }
    let logical = target.logical_block_size();
    let unit = workload.block_size;
    if !unit.get().is_multiple_of(logical.get()) {
        let (asked, logical) = (human::block_size(unit), human::block_size(logical));
        let why = format!("the block size {asked} is no multiple of the device's logical block of {logical}");
        return Err(LoadError::Workload(why));
    }
    let region = target.region();
    let blocks = Blocks::inside(region.start.get(), region.length.get(), unit.get());
    if workload.writes() && !target.may_change(blocks.first, blocks.end()) {
        return Err(LoadError::NotOurs(target.path().to_owned()));
    }
    if workload.writes() && target.marker().is_some() && stamped_block(workload).is_none() {
        let why = "only whole sectors of 512 bytes are written to a device, since each bears a mark";
        return Err(LoadError::Workload(why.to_owned()));
    }
    // Each stream must have room for an I/O.
    let slices = u64::from(options.workers.max(options.streams));
    if blocks.count < slices {
        return Err(LoadError::TooSmall {
            path: target.path().to_owned(),
            // What there is, rather than the whole blocks in it, of which there may be none.
            size: region.length,
            block_size: Bytes::new(unit.get().saturating_mul(slices)),
        });
    }
    Ok(blocks)
}

/// Whether the numbers make sense, whatever the target.
fn check_limits(workload: &Workload, options: &RunOptions) -> Result<(), LoadError> {
    let wrong = |what: String| Err(LoadError::Workload(what));
    if let Some(what) = zero(workload, options) {
        return wrong(format!("{what} must be at least 1"));
    }
    if workload.queue_depth > MAX_DEPTH {
        return wrong(format!("the queue depth {} is above the limit of {MAX_DEPTH}", workload.queue_depth));
    }
    if options.streams > MAX_STREAMS {
        return wrong(format!("{} streams are above the limit of {MAX_STREAMS}", options.streams));
    }
    if workload.write_percent > 100 {
        return wrong(format!("{} % of writes are more than all I/Os", workload.write_percent));
    }
    let is_paced = workload.paced_iops.is_some();
    if is_paced && matches!(options.reap, Reap::Batch(_)) {
        return wrong("a paced run takes completions as they arrive".to_owned());
    }
    let each =
        Memory::size(workload.block_size.get(), workload.queue_depth, workload.reads(), workload.writes());
    if u128::from(each) * u128::from(options.workers) > u128::from(MAX_MEMORY) {
        let limit = human::block_size(Bytes::new(MAX_MEMORY));
        return wrong(format!("block size times queue depth is above the limit of {limit} for buffers"));
    }
    if workload.duration_ns > MAX_DURATION || options.warm_up > MAX_DURATION {
        return wrong("a run may last 7 days at most".to_owned());
    }
    Ok(())
}

/// What must not be zero and is.
fn zero(workload: &Workload, options: &RunOptions) -> Option<&'static str> {
    let is_zero = [
        (workload.block_size.get() == 0, "the block size"),
        (workload.queue_depth == 0, "the queue depth"),
        (options.workers == 0, "the number of workers"),
        (options.streams == 0, "the number of streams"),
        (workload.paced_iops == Some(0), "the rate"),
    ];
    is_zero.into_iter().find_map(|(zero, what)| zero.then_some(what))
}
