//! Whether a workload makes sense, and whether it can be run on a target.

use super::error::LoadError;
use super::memory::Memory;
use super::offsets::Blocks;
use super::plan::{Tempo, stamped_block};
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

/// Whether the workload can be run on the target; returns the blocks to visit, those of each region apart.
///
/// # Errors
/// It cannot be run there, or makes no sense.
pub(super) fn check(
    target: &Target,
    workload: &Workload,
    options: &RunOptions,
) -> Result<Vec<Blocks>, LoadError> {
    check_limits(workload, options)?;
    if workload.changes() && !matches!(target.kind(), Kind::Scratch | Kind::Owned) {
        return Err(LoadError::NotOurs(target.path().to_owned()));
    }
    let logical = target.logical_block_size();
    let unit = human::block_size(logical);
    for (what, bytes) in [("block size", workload.block_size), ("offset", workload.alignment_offset)] {
        if !bytes.get().is_multiple_of(logical.get()) {
            let asked = human::block_size(bytes);
            let why = format!("the {what} {asked} is no multiple of the device's logical block of {unit}");
            return Err(LoadError::Workload(why));
        }
    }
    let regions = regions(target, workload);
    if workload.changes() && regions.iter().any(|blocks| !target.may_change(blocks.first, blocks.end())) {
        return Err(LoadError::NotOurs(target.path().to_owned()));
    }
    if workload.writes() && target.marker().is_some() && stamped_block(workload).is_none() {
        let why = "only whole sectors of 512 bytes are written to a device, since each bears a mark";
        return Err(LoadError::Workload(why.to_owned()));
    }
    // Each stream must have room for an I/O.
    let slices = u64::from(options.workers.max(options.streams));
    match regions.iter().find(|blocks| blocks.count < slices) {
        None => Ok(regions),
        Some(small) => Err(LoadError::TooSmall {
            path: target.path().to_owned(),
            // What there is, rather than the whole blocks in it, of which there may be none.
            size: if workload.regions.is_empty() && workload.working_set.is_none() {
                target.region().length
            } else {
                Bytes::new(small.count.saturating_mul(small.block_size))
            },
            block_size: Bytes::new(workload.block_size.get().saturating_mul(slices)),
        }),
    }
}

/// The blocks of each region inside that of the target, as far as the working set goes.
fn regions(target: &Target, workload: &Workload) -> Vec<Blocks> {
    let whole = target.region();
    let all = if workload.regions.is_empty() { vec![whole] } else { workload.regions.clone() };
    let mut left = workload.working_set.map_or(u64::MAX, Bytes::get);
    let (unit, shift) = (workload.block_size.get(), workload.alignment_offset.get());
    let end = whole.start + whole.length;
    let mut blocks = Vec::new();
    for region in all {
        let start = region.start.max(whole.start);
        let length = (region.start + region.length).min(end).saturating_sub(start).get().min(left);
        if left > 0 {
            left -= length;
            let aligned = Blocks::inside(start.get(), length.saturating_sub(shift), unit);
            blocks.push(Blocks { first: aligned.first.saturating_add(shift), ..aligned });
        }
    }
    blocks
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
    let (writes, trims) = (u32::from(workload.write_percent), u32::from(workload.trim_percent));
    if writes + trims > 100 {
        return wrong(format!("{} % of writes and trims are more than all I/Os", writes + trims));
    }
    if workload.compressible_percent > 100 {
        return wrong(format!("{} % of a block are more than all of it", workload.compressible_percent));
    }
    let is_paced = workload.paced_iops.is_some();
    if is_paced && (workload.rate_limit.is_some() || matches!(options.reap, Reap::Batch(_))) {
        return wrong("a paced run has no other rate limit and takes completions as they arrive".to_owned());
    }
    if workload.ramp_ns > Nanos::new(0) && Tempo::of(workload).is_none() {
        return wrong("a ramp needs a paced or limited rate to climb to".to_owned());
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
    let sync = workload.sync.map_or(1, |sync| sync.every_writes);
    let is_zero = [
        (workload.block_size.get() == 0, "the block size"),
        (workload.queue_depth == 0, "the queue depth"),
        (options.workers == 0, "the number of workers"),
        (options.streams == 0, "the number of streams"),
        (sync == 0, "the number of writes between two syncs"),
        (Tempo::of(workload).is_some_and(|tempo| tempo.amount == 0), "the rate"),
        (workload.working_set == Some(Bytes::new(0)), "the working set"),
    ];
    is_zero.into_iter().find_map(|(zero, what)| zero.then_some(what))
}

/// Whether what is written can be verified later.
///
/// # Errors
/// It cannot be told what is where in the end.
pub(super) fn check_loggable(
    workload: &Workload,
    regions: &[Blocks],
    stamped: Option<u64>,
) -> Result<(), LoadError> {
    if workload.trims() {
        return Err(LoadError::Workload("writes beside trims cannot be verified".to_owned()));
    }
    if stamped.is_none() {
        let why = "only writes of whole sectors of 512 bytes can be verified";
        return Err(LoadError::Workload(why.to_owned()));
    }
    let mut ends: Vec<(u64, u64)> =
        regions.iter().map(|r| (r.first, r.first + r.count * r.block_size)).collect();
    ends.sort_unstable();
    if ends.windows(2).any(|pair| matches!(pair, [a, b] if b.0 < a.1)) {
        return Err(LoadError::Workload("writes to regions that overlap cannot be verified".to_owned()));
    }
    Ok(())
}
