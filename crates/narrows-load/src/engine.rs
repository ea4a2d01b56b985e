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
}

/// An I/O to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) op: Op,
    /// The first byte.
    pub(super) offset: u64,
    /// How many bytes.
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

/// Reads that end next, if they end in the order in which they were sent: their slots follow one another, and after the
/// last comes the first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expected {
    /// The slot of the oldest.
    pub(super) first: u32,
    /// How many slots there are.
    pub(super) slots: u32,
    /// How many reads are in flight.
    pub(super) in_flight: u32,
    /// The bytes that each of them moves.
    pub(super) length: u32,
}

impl Expected {
    /// Whether these are the completions of the next reads behind `skipped` ones, each of them whole. Any `T` says what
    /// it completes.
    #[inline(always)]
    pub(super) fn are_next<T>(
        self,
        skipped: u32,
        ended: &[T],
        completion: impl Fn(&T) -> Completion,
    ) -> bool {
        // A length beyond this is that of no I/O: the kernel moves at most 2 GiB at once (read(2)).
        let whole = i32::try_from(self.length).unwrap_or(i32::MAX);
        let are_those_from = |first: u32, ended: &[T]| {
            ended.iter().zip(first..).all(|(ended, slot)| {
                let completion = completion(ended);
                completion.slot == slot && completion.result == whole
            })
        };
        let first = self.slot_after(skipped);
        let (before_the_last, behind) = ended.split_at(ended.len().min((self.slots - first) as usize));
        ended.len() <= self.in_flight.saturating_sub(skipped) as usize
            && are_those_from(first, before_the_last)
            && are_those_from(0, behind)
    }

    /// The completions of the first so many reads, each of them whole.
    pub(super) fn completions(self, count: u32) -> impl Iterator<Item = Completion> {
        let result = i32::try_from(self.length).unwrap_or(i32::MAX);
        (0..count).map(move |skipped| Completion { slot: self.slot_after(skipped), result })
    }

    #[inline(always)]
    fn slot_after(self, skipped: u32) -> u32 {
        let slot = self.first + skipped;
        if slot >= self.slots { slot - self.slots } else { slot }
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

    /// The same for reads that have so far ended in their order. Says how many ended if they did so again, and each whole;
    /// then nothing is appended to `done`, which was empty. With none wanted, what ended may be told of later.
    ///
    /// # Errors
    /// As for [`submit_and_reap`](Self::submit_and_reap).
    fn submit_and_reap_in_order(
        &mut self,
        want: u32,
        expected: Expected,
        done: &mut Vec<Completion>,
    ) -> io::Result<Option<u32>> {
        self.submit_and_reap(want, PATIENCE, done)?;
        let are_next = expected.are_next(0, done, |completion| *completion);
        let count = done.len() as u32;
        if are_next {
            done.clear();
        }
        Ok(are_next.then_some(count))
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
    fn only_the_oldest_reads_in_their_order_and_whole_are_as_expected() {
        let expected = Expected { first: 3, slots: 5, in_flight: 4, length: 512 };
        let all: Vec<Completion> = expected.completions(4).collect();
        let told: Vec<_> = all.iter().map(|completion| (completion.slot, completion.result)).collect();
        assert_eq!(told, [(3, 512), (4, 512), (0, 512), (1, 512)], "after the last slot comes the first");
        let are_next = |skipped: u32, ended: &[Completion]| expected.are_next(skipped, ended, |ended| *ended);
        for count in 0..=4 {
            assert!(are_next(0, &all[..count]), "{count} of them");
            assert!(are_next(count as u32, &all[count..]), "those behind {count}");
        }
        assert!(!are_next(0, &all[1..]), "the oldest is missing");
        assert!(!are_next(1, &all), "the oldest again");
        assert!(
            !are_next(0, &[&all[..], &[Completion { slot: 2, result: 512 }]].concat()),
            "one not in flight"
        );
        assert!(!are_next(0, &[all[0], all[2], all[1]]), "another order");
        for result in [511, 0, -5, 513] {
            assert!(!are_next(0, &[all[0], all[1], Completion { result, ..all[2] }]), "{result}");
        }
    }
}
