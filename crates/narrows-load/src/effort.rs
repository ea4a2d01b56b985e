//! What a thread has used: how long it ran, and how long it stood in the queue of a processor, by
//! `/proc/thread-self/schedstat` (kernel `Documentation/scheduler/sched-stats.rst`), where the time in which a group of control
//! groups may not run counts as queued; and what the kernel's worker threads for its ring (io-wq) have used, which take the
//! I/Os that a device or a layer above it cannot take without waiting, such as those of dm-crypt or zram.

#![expect(
    clippy::disallowed_methods,
    reason = "accounts of threads of our own are clocks, no facts of the machine"
)]

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeVal;
use nix::unistd::gettid;
use rustix::time::{ClockId, clock_gettime};

use narrows_base::units::Nanos;

/// What threads of this process that look on beside a load have cost, in nanoseconds.
static LOOKING_ON: AtomicU64 = AtomicU64::new(0);

/// A look of a thread that is no load's and does not follow one: who else writes to a device, say.
pub fn looking_on<R>(look: impl FnOnce() -> R) -> R {
    let before = of_thread();
    let seen = look();
    let cost = of_thread().saturating_sub(before);
    LOOKING_ON.fetch_add(Nanos::from(cost).get(), Ordering::Relaxed);
    seen
}

/// What all looks of that kind have cost a processor so far.
pub fn of_lookers() -> Duration {
    Duration::from_nanos(LOOKING_ON.load(Ordering::Relaxed))
}

/// What the calling thread has cost a processor so far.
pub fn of_thread() -> Duration {
    let clock = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(clock.tv_sec.unsigned_abs(), clock.tv_nsec as u32)
}

/// Processor time and kernel entries between the beginning and the end of the measured time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Effort {
    /// Processor time in seconds: of the busiest worker.
    pub(super) processor_seconds: f64,
    /// Processor time of the kernel's io-wq workers for the ring in seconds.
    pub(super) io_worker_seconds: f64,
    /// The part of the busiest of them.
    pub(super) busiest_io_worker_seconds: f64,
    /// Seconds in the queue of a processor: of the worker that stood there longest.
    pub(super) queued_seconds: f64,
    /// Involuntary context switches.
    pub(super) involuntary_switches: u64,
    /// Kernel entries.
    pub(super) enters: u64,
}

impl Effort {
    /// That of the calling thread so far, beside `enters` kernel entries of its engine, and of its io-wq workers if it may have some.
    pub(super) fn of_thread(enters: u64, has_io_workers: bool) -> Self {
        let workers = if has_io_workers { io_workers() } else { Vec::new() };
        let usage = getrusage(UsageWho::RUSAGE_THREAD).ok();
        let seconds = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
        let processor = |usage: Usage| seconds(usage.user_time()) + seconds(usage.system_time());
        let switches = |usage: Usage| u64::try_from(usage.involuntary_context_switches()).unwrap_or(0);
        Self {
            processor_seconds: usage.map_or(0.0, processor),
            io_worker_seconds: workers.iter().sum::<Duration>().as_secs_f64(),
            busiest_io_worker_seconds: workers.iter().max().map_or(0.0, Duration::as_secs_f64),
            queued_seconds: open().map_or(0, |account| queued(&account)) as f64 / 1e9,
            involuntary_switches: usage.map_or(0, switches),
            enters,
        }
    }

    /// What was used since `before`.
    pub(super) fn since(&self, before: &Self) -> Self {
        let grown = |of: fn(&Self) -> f64| (of(self) - of(before)).max(0.0);
        Self {
            processor_seconds: self.processor_seconds - before.processor_seconds,
            // A worker that ended meanwhile takes its time along.
            io_worker_seconds: grown(|effort| effort.io_worker_seconds),
            // Less than the truth where another one was the busiest before.
            busiest_io_worker_seconds: grown(|effort| effort.busiest_io_worker_seconds),
            queued_seconds: self.queued_seconds - before.queued_seconds,
            involuntary_switches: self.involuntary_switches.saturating_sub(before.involuntary_switches),
            enters: self.enters.saturating_sub(before.enters),
        }
    }

    /// Adds that of another worker.
    pub(super) fn add(&mut self, other: &Self) {
        self.processor_seconds = self.processor_seconds.max(other.processor_seconds);
        self.io_worker_seconds += other.io_worker_seconds;
        self.busiest_io_worker_seconds = self.busiest_io_worker_seconds.max(other.busiest_io_worker_seconds);
        self.queued_seconds = self.queued_seconds.max(other.queued_seconds);
        self.involuntary_switches += other.involuntary_switches;
        self.enters += other.enters;
    }
}

/// The scheduler's account of the calling thread; `None` where the kernel keeps none.
pub(super) fn open() -> Option<File> {
    File::open("/proc/thread-self/schedstat").ok()
}

/// The time that the thread spent in the queue of a processor, in nanoseconds.
pub(super) fn queued(account: &File) -> u64 {
    number(account, 1).unwrap_or(0)
}

/// How long a thread has run, by its account at this path; `None` where there is none.
fn ran(account: &Path) -> Option<Duration> {
    number(&File::open(account).ok()?, 0).map(Duration::from_nanos)
}

/// A number of an account: first what ran, then what queued.
fn number(account: &File, index: usize) -> Option<u64> {
    let mut text = [0; 96];
    let length = account.read_at(&mut text, 0).ok()?;
    word(text.get(..length)?, index)
}

fn word(text: &[u8], index: usize) -> Option<u64> {
    let word = text.split(|byte| *byte == b' ').nth(index)?;
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// What each io-wq worker for the rings of the calling thread has run: threads of our process, `iou-wrk-` and the number of the
/// thread that they serve (Linux 5.12, `io_uring/io-wq.c`). One that has ended, as idle ones do after some seconds, is missing.
fn io_workers() -> Vec<Duration> {
    let name = format!("iou-wrk-{}\n", gettid());
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    threads
        .filter(|thread| fs::read_to_string(thread.path().join("comm")).is_ok_and(|comm| comm == name))
        .filter_map(|thread| ran(&thread.path().join("schedstat")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_begins_with_what_ran_and_what_queued() {
        let account = b"123456 789 42\n";
        assert_eq!((word(account, 0), word(account, 1)), (Some(123_456), Some(789)));
        for text in [&b""[..], b"1", b"1 x 3", b"1 99999999999999999999999 3", b"\xff \xff"] {
            assert_eq!(word(text, 1), None);
        }
    }

    #[test]
    fn what_this_thread_ran_is_in_its_account() {
        let path = Path::new("/proc/thread-self/schedstat");
        let Some(before) = ran(path) else {
            println!("skipped: this kernel keeps no accounts");
            return;
        };
        let sum = (0..1_000_000u64).fold(0, |sum, i| std::hint::black_box(sum ^ i));
        std::hint::black_box(sum);
        // A thread that stops running is accounted at once, one that goes on at the next tick.
        std::thread::sleep(Duration::from_millis(1));
        assert!(ran(path).is_some_and(|after| after > before));
        assert_eq!(ran(Path::new("/nowhere")), None);
    }
}
