//! How long a thread stood in the queue of a processor: `/proc/thread-self/schedstat` (kernel
//! `Documentation/scheduler/sched-stats.rst`). The time in which a group of control groups may not run counts as well.

use std::fs::File;
use std::os::unix::fs::FileExt;

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
    text.get(..length).map_or(0, parse)
}

fn parse(text: &[u8]) -> u64 {
    let number = text.split(|byte| *byte == b' ').nth(1).and_then(|word| std::str::from_utf8(word).ok());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_is_the_second_number_of_the_account() {
        assert_eq!(parse(b"123456 789 42\n"), 789);
        for text in [&b""[..], b"1", b"1 x 3", b"1 99999999999999999999999 3", b"\xff \xff"] {
            assert_eq!(parse(text), 0);
        }
    }
}
