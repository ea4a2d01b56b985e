//! Work on many things at once, with the results in order.
//!
//! Threads of the standard library are enough: the things are independent and coarse (milliseconds each), so that one
//! counter hands them out, and results must come back one by one and in order, which work stealing would not give.

use std::collections::BTreeMap;
use std::io;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

/// How far the fastest may be ahead of the slowest: what has been done and waits for its turn takes memory.
const WINDOW: usize = 512;

/// As much as the main thread has.
const STACK: usize = 8 << 20;

/// How many have been taken, and who waits for it.
#[derive(Default)]
struct Turn {
    taken: Mutex<usize>,
    moved: Condvar,
}

impl Turn {
    fn wait_for(&self, index: usize) {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let is_far = |taken: &mut usize| index >= taken.saturating_add(WINDOW);
        drop(self.moved.wait_while(taken, is_far).unwrap_or_else(PoisonError::into_inner));
    }

    fn set(&self, taken: usize) {
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner) = taken;
        self.moved.notify_all();
    }
}

/// Does `work` on every item, on as many threads as there are processors for this process, and hands the results to
/// `take` in the order of the items, until that breaks off. Where `work` panics, the result is that of `failed`.
///
/// # Errors
/// When not a single thread can be started.
pub(super) fn each<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
    failed: impl Fn(&T) -> R + Sync,
    take: impl FnMut(R) -> ControlFlow<()>,
) -> io::Result<()> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(items.len());
    let next = AtomicUsize::new(0);
    let turn = Turn::default();
    let (done, results) = sync_channel(threads.saturating_mul(2));
    let run = |done: SyncSender<(usize, R)>| {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { break };
            turn.wait_for(index);
            let result = catch_unwind(AssertUnwindSafe(|| work(item))).unwrap_or_else(|_| failed(item));
            if done.send((index, result)).is_err() {
                break;
            }
        }
    };
    thread::scope(|scope| {
        let mut refused = None;
        for _ in 0..threads {
            let (run, done) = (&run, done.clone());
            let started = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, move || run(done));
            refused = refused.or(started.err());
        }
        // Results end when the last thread does.
        drop(done);
        let taken = in_order(results, &turn, take);
        next.store(items.len(), Ordering::Relaxed);
        turn.set(items.len());
        refused.filter(|_| taken == 0).map_or(Ok(()), Err)
    })
}

/// Hands over what comes, in order; how many there were.
fn in_order<R>(
    results: Receiver<(usize, R)>,
    turn: &Turn,
    mut take: impl FnMut(R) -> ControlFlow<()>,
) -> usize {
    let mut waiting = BTreeMap::new();
    let mut taken = 0;
    for (index, result) in results {
        waiting.insert(index, result);
        while let Some(result) = waiting.remove(&taken) {
            taken += 1;
            turn.set(taken);
            if take(result).is_break() {
                return taken;
            }
        }
    }
    taken
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
