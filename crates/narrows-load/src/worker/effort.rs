//! What the thread of a worker has used.

use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeVal;

use super::io_workers::{self, Spent};
use crate::schedstat;
use crate::tally::Effort;

/// Processor time and switches of the calling thread so far, beside `enters` kernel entries of its engine, and the time of
/// its io-wq workers if it may have some.
pub(super) fn of_thread(enters: u64, has_io_workers: bool) -> Effort {
    let io_workers = if has_io_workers { io_workers::processor_time() } else { Spent::default() };
    let usage = getrusage(UsageWho::RUSAGE_THREAD).ok();
    let seconds = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    let processor = |usage: Usage| seconds(usage.user_time()) + seconds(usage.system_time());
    let switches = |usage: Usage| u64::try_from(usage.involuntary_context_switches()).unwrap_or(0);
    Effort {
        processor_seconds: usage.map_or(0.0, processor),
        io_worker_seconds: io_workers.all.as_secs_f64(),
        busiest_io_worker_seconds: io_workers.most.as_secs_f64(),
        queued_seconds: schedstat::open().map_or(0, |account| schedstat::queued(&account)) as f64 / 1e9,
        involuntary_switches: usage.map_or(0, switches),
        enters,
    }
}

/// What was used between two looks.
pub(super) fn between(before: &Effort, after: &Effort) -> Effort {
    Effort {
        processor_seconds: after.processor_seconds - before.processor_seconds,
        // A worker that ended meanwhile takes its time along.
        io_worker_seconds: (after.io_worker_seconds - before.io_worker_seconds).max(0.0),
        // Less than the truth where another one was the busiest before.
        busiest_io_worker_seconds: (after.busiest_io_worker_seconds - before.busiest_io_worker_seconds)
            .max(0.0),
        queued_seconds: after.queued_seconds - before.queued_seconds,
        involuntary_switches: after.involuntary_switches.saturating_sub(before.involuntary_switches),
        enters: after.enters.saturating_sub(before.enters),
    }
}
