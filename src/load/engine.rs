//! What the worker needs of an engine: hand over I/Os, and tell which ended.

use std::io;
use std::time::Duration;

use super::memory::Memory;

/// The longest time that an engine waits before it lets the worker look at the stop flag and the clock.
pub(super) const PATIENCE: Duration = Duration::from_millis(20);

/// What an I/O does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    Read,
    Write,
    /// The blocks are given back, see [`TrimMethod`](super::trim::TrimMethod).
    Discard,
    /// fsync(2) of the whole file.
    Fsync,
    /// fdatasync(2) of the whole file.
    Fdatasync,
}

/// An I/O to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) op: Op,
    /// The first byte.
    pub(super) offset: u64,
    /// How many bytes; none for a sync.
    pub(super) length: u32,
}

/// An I/O that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Completion {
    /// Its slot.
    pub(super) slot: u32,
    /// Bytes moved, or a negated errno, as the kernel returns them.
    pub(super) result: i32,
}

/// Reads that are sent together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Batch<'a> {
    /// Their slots, in the order in which they were prepared.
    pub(super) slots: &'a [u32],
    /// The bytes that each of them moves.
    pub(super) length: u32,
}

impl Batch<'_> {
    /// Whether these completions are those of the batch, all of them, in its order, and each is whole.
    #[inline(always)]
    pub(super) fn is_whole(self, ended: impl ExactSizeIterator<Item = Completion>) -> bool {
        // No early end: the batch is mostly whole, and a loop without exits is a short one.
        ended.len() == self.slots.len()
            && ended.zip(self.slots).fold(true, |whole, (completion, slot)| {
                whole & (completion.slot == *slot) & (i64::from(completion.result) == i64::from(self.length))
            })
    }

    /// The completions of a batch that is [whole](Self::is_whole).
    pub(super) fn completions(self) -> impl Iterator<Item = Completion> {
        // A length beyond this is that of no I/O: the kernel moves at most 2 GiB at once (read(2)).
        let result = i32::try_from(self.length).unwrap_or(i32::MAX);
        self.slots.iter().map(move |slot| Completion { slot: *slot, result })
    }
}

/// Carries I/Os to the kernel. Each slot has its own part of the engine's buffer.
pub(super) trait Engine {
    /// Prepares an I/O for a slot that is not in flight.
    ///
    /// # Errors
    /// The engine is out of room, which more slots than its depth would cause.
    fn prepare(&mut self, slot: u32, request: Request) -> io::Result<()>;

    /// Hands over what was prepared, waits until at least `want` I/Os have ended or `patience` is over, and appends all
    /// that ended to `done`. With nothing in flight it waits as well.
    ///
    /// # Errors
    /// The engine broke down. Failed I/Os are no errors here; they are completions.
    fn submit_and_reap(
        &mut self,
        want: u32,
        patience: Duration,
        done: &mut Vec<Completion>,
    ) -> io::Result<()>;

    /// The same for a batch that was prepared while nothing was in flight. `true` if exactly the batch ended,
    /// [whole](Batch::is_whole); then nothing is appended to `done`, which was empty.
    ///
    /// # Errors
    /// As for [`submit_and_reap`](Self::submit_and_reap).
    fn submit_and_reap_batch(
        &mut self,
        want: u32,
        batch: Batch<'_>,
        done: &mut Vec<Completion>,
    ) -> io::Result<bool> {
        self.submit_and_reap(want, PATIENCE, done)?;
        let is_whole = batch.is_whole(done.iter().copied());
        if is_whole {
            done.clear();
        }
        Ok(is_whole)
    }

    /// The memory that writes come from, to stamp a write before it is prepared; `None` for an engine that writes
    /// nothing.
    fn memory(&mut self) -> Option<&mut Memory> {
        None
    }

    /// Kernel entries so far.
    fn enters(&self) -> u64;

    /// Whether the kernel may hand its I/Os to worker threads of its own (io-wq).
    fn has_io_workers(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_whole_when_all_of_it_ended_in_its_order_at_full_length() {
        let batch = Batch { slots: &[3, 1, 2], length: 512 };
        let whole: Vec<Completion> = batch.completions().collect();
        assert_eq!(
            whole.iter().map(|completion| (completion.slot, completion.result)).collect::<Vec<_>>(),
            [(3, 512), (1, 512), (2, 512)]
        );
        let is_whole = |ended: &[Completion]| batch.is_whole(ended.iter().copied());
        assert!(is_whole(&whole));
        assert!(!is_whole(&whole[..2]), "one is missing");
        assert!(!is_whole(&[&whole[..], &whole[..1]].concat()), "one of something else");
        assert!(!is_whole(&[whole[1], whole[0], whole[2]]), "another order");
        for result in [511, 0, -5, 513] {
            let short = Completion { result, ..whole[2] };
            assert!(!is_whole(&[whole[0], whole[1], short]), "{result}");
        }
    }
}
