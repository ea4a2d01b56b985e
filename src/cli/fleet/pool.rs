//! Work on many things at once, with the results in order.
//!
//! Threads of the standard library are enough: the things are independent and coarse (milliseconds each). Each thread takes every
//! so manieth, so that whose turn it is follows from the number.

use std::io;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::sync_channel;
use std::thread;

/// How far a thread may be ahead: what has been done and waits for its turn takes memory.
const AHEAD: usize = 64;

/// As much as the main thread has.
const STACK: usize = 8 << 20;

/// Does `work` on every item, on as many threads as there are processors for this process, and hands the results to
/// `take` in the order of the items, until that breaks off. Where `work` panics, the result is that of `failed`.
///
/// # Errors
/// When a thread cannot be started.
pub(super) fn each<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
    failed: impl Fn(&T) -> R + Sync,
    mut take: impl FnMut(R) -> ControlFlow<()>,
) -> io::Result<()> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(items.len());
    let (work, failed) = (&work, &failed);
    thread::scope(|scope| {
        let mut turns = Vec::new();
        for first in 0..threads {
            let (done, results) = sync_channel(AHEAD);
            let run = move || {
                for item in items.iter().skip(first).step_by(threads) {
                    let result = catch_unwind(AssertUnwindSafe(|| work(item)));
                    // Nobody takes more once it was broken off.
                    if done.send(result.unwrap_or_else(|_| failed(item))).is_err() {
                        break;
                    }
                }
            };
            thread::Builder::new().stack_size(STACK).spawn_scoped(scope, run)?;
            turns.push(results);
        }
        let mut results = turns.iter().cycle().take(items.len()).map_while(|turn| turn.recv().ok());
        let _ = results.try_for_each(&mut take);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(items: &[usize], most: usize) -> Vec<usize> {
        let mut taken = Vec::new();
        let work = |item: &usize| {
            assert!(item % 7 != 3, "this one is broken");
            // The first are the slowest.
            std::thread::sleep(std::time::Duration::from_micros(if *item < 4 { 3000 } else { 1 }));
            item * 2
        };
        each(
            items,
            work,
            |_| 0,
            |result| {
                taken.push(result);
                if taken.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            },
        )
        .expect("threads start");
        taken
    }

    #[test]
    fn results_come_in_order_and_a_panic_costs_one_of_them() {
        let items: Vec<usize> = (0..3000).collect();
        let wanted: Vec<usize> = items.iter().map(|item| if item % 7 == 3 { 0 } else { item * 2 }).collect();
        assert_eq!(run(&items, usize::MAX), wanted);
        assert!(run(&[], usize::MAX).is_empty());
    }

    #[test]
    fn nothing_hangs_when_nobody_wants_more() {
        let items: Vec<usize> = (0..3000).collect();
        assert_eq!(run(&items, 5), [0, 2, 4, 0, 8]);
    }
}
