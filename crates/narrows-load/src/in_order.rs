//! Reads in flight that have so far ended in the order in which they were sent, as those of memory and of many devices do.
//!
//! They need no [slots](super::slot) of their own: it is enough to know when each batch was sent, and where its reads go in
//! case somebody asks. Their slots follow one another, and after the last comes the first.

use std::collections::VecDeque;

use super::engine::{Expected, Op, Request};
use super::slot::Flight;

/// So many reads may have to be given slots before order must pay: 32 times all of a queue of 128. A choice.
const TRIED: u64 = 4096;
/// Beyond that, one may for so many that ended in their order. A choice.
const OF_ENDED: u64 = 16;

/// Reads that were sent together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sent {
    /// When, in ticks.
    pub(super) at: u64,
    /// The slot of the first of them.
    pub(super) first: u32,
    /// How many they are.
    pub(super) count: u32,
}

/// All reads in flight.
#[derive(Debug)]
pub(super) struct InOrder {
    /// Where the read of each slot begins.
    offsets: Box<[u64]>,
    /// What is left of each batch, the oldest first.
    batches: VecDeque<Sent>,
    /// The slot of the oldest read.
    first: u32,
    in_flight: u32,
    /// The bytes that each read moves.
    length: u32,
    /// Reads that ended in their order.
    ended: u64,
    /// Reads that had to be [taken](Self::take), since one before them ended out of order.
    taken: u64,
}

impl InOrder {
    /// Nothing in flight, and room for `depth` reads of `length` bytes each.
    pub(super) fn new(depth: u32, length: u32) -> Self {
        let offsets = vec![0; depth as usize].into_boxed_slice();
        Self { offsets, batches: VecDeque::new(), first: 0, in_flight: 0, length, ended: 0, taken: 0 }
    }

    /// Whether reads mostly end in their order, so that it pays to count on it. Drives with several queues inside, and
    /// kernels that hand over what they deferred the other way round, have another one.
    pub(super) fn pays(&self) -> bool {
        self.taken <= TRIED + self.ended / OF_ENDED
    }

    /// How many reads are in flight.
    #[inline(always)]
    pub(super) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Whether no further read fits.
    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.in_flight as usize == self.offsets.len()
    }

    /// Room for the offsets of up to so many further reads, and the slot of the first of them. They are in flight from
    /// [`send`](Self::send) on.
    #[inline(always)]
    pub(super) fn upcoming(&mut self, most: u32) -> (u32, &mut [u64]) {
        let depth = self.offsets.len() as u32;
        let next = self.slot_after(self.in_flight);
        let count = most.min(depth - self.in_flight).min(depth - next);
        (next, self.offsets.get_mut(next as usize..(next + count) as usize).unwrap_or_default())
    }

    /// Notes that so many of the [upcoming](Self::upcoming) reads were sent at a tick.
    #[inline(always)]
    pub(super) fn send(&mut self, count: u32, at: u64) {
        if count > 0 {
            self.batches.push_back(Sent { at, first: self.slot_after(self.in_flight), count });
            self.in_flight += count;
        }
    }

    /// The bytes that each read moves.
    pub(super) fn length(&self) -> u32 {
        self.length
    }

    /// What ends next.
    #[inline(always)]
    pub(super) fn expected(&self) -> Expected {
        let slots = self.offsets.len() as u32;
        Expected { first: self.first, slots, in_flight: self.in_flight, length: self.length }
    }

    /// Ends up to `most` reads, the oldest ones, as far as they were sent together. `most` is less by them afterwards.
    #[inline(always)]
    pub(super) fn end(&mut self, most: &mut u32) -> Option<Sent> {
        let oldest = self.batches.front_mut().filter(|_| *most > 0)?;
        let ended = Sent { count: oldest.count.min(*most), ..*oldest };
        *most -= ended.count;
        oldest.count -= ended.count;
        oldest.first += ended.count;
        if oldest.count == 0 {
            self.batches.pop_front();
        }
        self.in_flight -= ended.count;
        self.ended += u64::from(ended.count);
        // What was used last is given out first while nothing is in flight: its memory is still in the cache.
        self.first = if self.in_flight == 0 { 0 } else { self.slot_after(ended.count) };
        Some(ended)
    }

    /// Where the reads of a batch begin, or of a part of it.
    pub(super) fn offsets(&self, of: Sent) -> &[u64] {
        let first = of.first as usize;
        self.offsets.get(first..first + of.count as usize).unwrap_or_default()
    }

    /// All that is in flight, each with its slot. Then nothing is.
    pub(super) fn take(&mut self) -> Vec<(u32, Flight)> {
        let batches = std::mem::take(&mut self.batches);
        self.taken += u64::from(self.in_flight);
        (self.first, self.in_flight) = (0, 0);
        let flight = |offset, start| {
            let request = Request { op: Op::Read, offset, length: self.length };
            Flight { start, request }
        };
        let one_by_one = |sent: &Sent| {
            let (slots, offsets, start) = (sent.first.., self.offsets(*sent), sent.at);
            slots.zip(offsets).map(move |(slot, offset)| (slot, flight(*offset, start)))
        };
        batches.iter().flat_map(one_by_one).collect()
    }

    /// The slot so many after that of the oldest read.
    #[inline(always)]
    fn slot_after(&self, count: u32) -> u32 {
        let slot = self.first + count;
        let depth = self.offsets.len() as u32;
        if slot >= depth { slot - depth } else { slot }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LENGTH: u32 = 512;

    /// Sends up to so many reads, whose offsets are the numbers from `next` on.
    fn send(reads: &mut InOrder, most: u32, at: u64, next: &mut u64) -> Vec<(u32, u64)> {
        let (first, offsets) = reads.upcoming(most);
        let sent: Vec<(u32, u64)> = (first..).zip(*next..).take(offsets.len()).collect();
        for (place, (_, offset)) in offsets.iter_mut().zip(&sent) {
            *place = *offset;
        }
        *next += sent.len() as u64;
        reads.send(sent.len() as u32, at);
        sent
    }

    #[test]
    fn the_slots_used_last_are_used_again_once_nothing_is_in_flight() {
        let (mut reads, mut next) = (InOrder::new(8, LENGTH), 0);
        for at in 1..=3 {
            assert_eq!(send(&mut reads, 3, at, &mut next)[0].0, 0);
            let mut most = 9;
            assert_eq!(reads.end(&mut most), Some(Sent { at, first: 0, count: 3 }));
            assert_eq!((most, reads.in_flight(), reads.end(&mut most)), (6, 0, None));
        }
    }

    #[test]
    fn order_is_no_longer_counted_on_where_too_few_reads_keep_it() {
        let (mut reads, mut next) = (InOrder::new(64, LENGTH), 0);
        let mut rounds = 0;
        while reads.pays() {
            send(&mut reads, 64, 1, &mut next);
            reads.take();
            rounds += 1;
        }
        assert_eq!(rounds, TRIED / 64 + 1);
        for _ in 0..OF_ENDED {
            send(&mut reads, 64, 1, &mut next);
            reads.end(&mut 64);
        }
        assert!(reads.pays());
    }

    #[test]
    fn behind_the_last_slot_comes_the_first_in_a_batch_of_its_own() {
        let (mut reads, mut next) = (InOrder::new(5, LENGTH), 0);
        send(&mut reads, 3, 1, &mut next);
        assert_eq!(send(&mut reads, 3, 2, &mut next), [(3, 3), (4, 4)]);
        assert!(reads.is_full());
        assert_eq!(reads.end(&mut 2), Some(Sent { at: 1, first: 0, count: 2 }));
        assert_eq!(send(&mut reads, 3, 3, &mut next), [(0, 5), (1, 6)]);
        assert_eq!(reads.expected().first, 2);
        let told: Vec<(u32, u64, u64)> =
            reads.take().iter().map(|(slot, flight)| (*slot, flight.request.offset, flight.start)).collect();
        assert_eq!(told, [(2, 2, 1), (3, 3, 2), (4, 4, 2), (0, 5, 3), (1, 6, 3)]);
        assert_eq!((reads.in_flight(), reads.take().len()), (0, 0));
        assert_eq!(send(&mut reads, 9, 4, &mut next).len(), 5);
    }

    proptest! {
        // Whatever ends how early: reads end once, in the order in which they were sent, with their own start and place.
        #[test]
        fn reads_end_in_their_order(
            depth in 1u32..40, steps in prop::collection::vec((0u32..12, 0u32..40), 1..80),
        ) {
            let (mut reads, mut next) = (InOrder::new(depth, LENGTH), 0);
            let mut flying: VecDeque<(u32, u64, u64)> = VecDeque::new();
            for (at, (most, ends)) in (1..).zip(steps) {
                for (slot, offset) in send(&mut reads, most, at, &mut next) {
                    prop_assert!(flying.iter().all(|(other, ..)| *other != slot), "slot {} is in use", slot);
                    flying.push_back((slot, offset, at));
                }
                prop_assert_eq!(reads.in_flight() as usize, flying.len());
                prop_assert!(flying.len() <= depth as usize);
                let expected: Vec<u32> =
                    reads.expected().completions(reads.in_flight()).map(|ended| ended.slot).collect();
                prop_assert_eq!(expected, flying.iter().map(|(slot, ..)| *slot).collect::<Vec<_>>());
                let mut left = ends;
                while let Some(sent) = reads.end(&mut left) {
                    for (slot, offset) in (sent.first..).zip(reads.offsets(sent)) {
                        prop_assert_eq!(flying.pop_front(), Some((slot, *offset, sent.at)));
                    }
                }
                prop_assert!(left == 0 || flying.is_empty());
            }
        }
    }
}
