//! How long a thread ran, and how long it stood in the queue of a processor: `/proc/thread-self/schedstat` (kernel
//! `Documentation/scheduler/sched-stats.rst`). The time in which a group of control groups may not run counts as queued.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

/// The scheduler's account of the calling thread; `None` where the kernel keeps none.
#[expect(
    clippy::disallowed_methods,
    reason = "the account of our own thread is a clock, no fact of the machine"
)]
pub(super) fn open() -> Option<File> {
    File::open("/proc/thread-self/schedstat").ok()
}

/// The time that the thread spent in the queue of a processor, in nanoseconds: the second number of the account.
pub(super) fn queued(account: &File) -> u64 {
    let mut text = [0; 96];
    let length = account.read_at(&mut text, 0).unwrap_or(0);
    text.get(..length).and_then(|text| number(text, 1)).unwrap_or(0)
}

/// How long a thread has run, by its account at this path: the first number. `None` where there is none.
#[expect(
    clippy::disallowed_methods,
    reason = "the account of a thread of our own process is a clock, no fact of the machine"
)]
pub(super) fn ran(account: &Path) -> Option<Duration> {
    let account = File::open(account).ok()?;
    let mut text = [0; 96];
    let length = account.read_at(&mut text, 0).ok()?;
    number(text.get(..length)?, 0).map(Duration::from_nanos)
}

fn number(text: &[u8], index: usize) -> Option<u64> {
    let word = text.split(|byte| *byte == b' ').nth(index)?;
    std::str::from_utf8(word).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_begins_with_what_ran_and_what_queued() {
        let account = b"123456 789 42\n";
        assert_eq!((number(account, 0), number(account, 1)), (Some(123_456), Some(789)));
        for text in [&b""[..], b"1", b"1 x 3", b"1 99999999999999999999999 3", b"\xff \xff"] {
            assert_eq!(number(text, 1), None);
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
