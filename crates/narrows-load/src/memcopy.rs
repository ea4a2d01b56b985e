//! What copying from memory to memory gives: what buffered I/O costs at the least.

use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

use narrows_base::units::{Bytes, BytesPerSec};

/// The size of what is copied: several times the last-level cache of a core.
const BUFFER: usize = 64 << 20;

/// The rate at which `threads` threads copy between buffers of their own for `time`, all together. Each byte that is
/// copied crosses memory twice (read and write), or three times where the processor reads a line before it writes it.
/// `None` when no thread could be started.
pub fn memory_copy(threads: u32, time: Duration) -> Option<BytesPerSec> {
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(move || copy(time))).collect();
        workers.into_iter().map(|worker| worker.join().ok()).collect::<Option<Vec<_>>>()
    })
    .map(|rates| rates.into_iter().sum())
}

fn copy(time: Duration) -> BytesPerSec {
    let (source, mut target) = (vec![1u8; BUFFER], vec![2u8; BUFFER]);
    let begin = Instant::now();
    let mut copied = 0u64;
    while begin.elapsed() < time {
        target.copy_from_slice(black_box(&source));
        black_box(&mut target);
        copied = copied.saturating_add(BUFFER as u64);
    }
    Bytes::new(copied).per(begin.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copying_has_a_rate() {
        let rate = memory_copy(2, Duration::from_millis(20)).expect("threads start");
        assert!(rate.get() > 1e6, "{rate}");
    }
}
