//! Slots: the I/Os that can be in flight at once, each with its own start stamp.
//!
//! A start stamp lives in the slot of its I/O and is written only when the slot is given out, so no later I/O can
//! overwrite it and a slow I/O keeps its true start. (A ring of a few shared stamps loses exactly the tail.)

use super::engine::{Completion, Op, Request};

/// An I/O in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Flight {
    /// When it was handed to the kernel, in ticks.
    pub(super) start: u64,
    /// What it does.
    pub(super) request: Request,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    flight: Flight,
    busy: bool,
}

/// All slots of a worker.
#[derive(Debug)]
pub(super) struct Slots {
    slots: Box<[Slot]>,
    /// First the slots to give out, the last one freed last; it goes first, because its buffer is still in the cache. Behind
    /// them those that were given out since the last stamp.
    order: Box<[u32]>,
    /// How many there are to give out.
    free: usize,
    /// How many were given out since the last stamp.
    fresh: usize,
}

impl Slots {
    /// `depth` free slots.
    pub(super) fn new(depth: u32) -> Self {
        let nothing = Request { op: Op::Read, offset: 0, length: 0 };
        let empty = Slot { flight: Flight { start: 0, request: nothing }, busy: false };
        Self {
            slots: vec![empty; depth as usize].into_boxed_slice(),
            order: (0..depth).rev().collect(),
            free: depth as usize,
            fresh: 0,
        }
    }

    /// How many I/Os are in flight.
    #[inline]
    pub(super) fn in_flight(&self) -> u32 {
        (self.slots.len() - self.free) as u32
    }

    /// How many further I/Os fit.
    #[inline]
    pub(super) fn free_count(&self) -> u32 {
        self.free as u32
    }

    /// Whether no further I/O fits.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.free == 0
    }

    /// Gives out a slot for an I/O; `None` when all are in flight. Its start is the next
    /// [`stamp`](Self::stamp).
    #[inline]
    pub(super) fn take(&mut self, request: Request) -> Option<u32> {
        let index = self.free.checked_sub(1)?;
        let slot = *self.order.get(index)?;
        let entry = self.slots.get_mut(slot as usize)?;
        *entry = Slot { flight: Flight { start: 0, request }, busy: true };
        self.free = index;
        self.fresh += 1;
        Some(slot)
    }

    /// Gives out slots for reads of `length` bytes at these offsets, one for each; fewer when not so many are free. Their
    /// start is the next [`stamp`](Self::stamp).
    #[inline(always)]
    pub(super) fn take_reads(&mut self, offsets: &[u64], length: u32) -> &[u32] {
        let left = self.free.saturating_sub(offsets.len());
        let taken = self.order.get(left..self.free).unwrap_or_default();
        for (slot, offset) in taken.iter().zip(offsets) {
            if let Some(entry) = self.slots.get_mut(*slot as usize) {
                let request = Request { op: Op::Read, offset: *offset, length };
                *entry = Slot { flight: Flight { start: 0, request }, busy: true };
            }
        }
        self.free = left;
        self.fresh += taken.len();
        taken
    }

    /// Takes over I/Os that are in flight, each in its slot and none in two. None was before.
    pub(super) fn hold(&mut self, flights: impl Iterator<Item = (u32, Flight)>) {
        for (slot, flight) in flights {
            if let Some(entry) = self.slots.get_mut(slot as usize) {
                *entry = Slot { flight, busy: true };
            }
        }
        let free = (0..self.slots.len() as u32).zip(&self.slots).rev().filter(|(_, slot)| !slot.busy);
        self.free = 0;
        for ((slot, _), place) in free.zip(&mut self.order) {
            *place = slot;
            self.free += 1;
        }
        self.fresh = 0;
    }

    /// Makes a slot free. One that is freed between two stamps takes the place of one that waits for its stamp.
    #[inline]
    fn free(&mut self, slot: u32) {
        if self.fresh > 0 {
            let displaced = self.order.get(self.free).copied();
            if let (Some(waiting), Some(place)) = (displaced, self.order.get_mut(self.free + self.fresh)) {
                *place = waiting;
            }
        }
        if let Some(place) = self.order.get_mut(self.free) {
            *place = slot;
            self.free += 1;
        }
    }

    /// Sets the start of an I/O that was due before it is sent; the next [`stamp`](Self::stamp) leaves it as it is.
    #[inline]
    pub(super) fn set_due(&mut self, slot: u32, due: u64) {
        if let Some(entry) = self.slots.get_mut(slot as usize) {
            entry.flight.start = due;
        }
    }

    /// Stamps all slots that were given out since the last stamp.
    #[inline]
    pub(super) fn stamp(&mut self, now: u64) {
        for slot in self.order.get(self.free..self.free + self.fresh).unwrap_or_default() {
            if let Some(entry) = self.slots.get_mut(*slot as usize).filter(|entry| entry.flight.start == 0) {
                entry.flight.start = now;
            }
        }
        self.fresh = 0;
    }

    /// The I/O that a slot has in flight.
    #[inline]
    pub(super) fn request(&self, slot: u32) -> Option<Request> {
        self.slots.get(slot as usize).filter(|entry| entry.busy).map(|entry| entry.flight.request)
    }

    /// Ends an I/O that moved `moved` bytes if those are all of it, and frees its slot. Otherwise it stays in flight.
    #[inline]
    pub(super) fn finish_whole(&mut self, slot: u32, moved: i32) -> Option<Flight> {
        let entry = self.slots.get_mut(slot as usize)?;
        if !entry.busy || i64::from(moved) != i64::from(entry.flight.request.length) {
            return None;
        }
        entry.busy = false;
        let flight = entry.flight;
        self.free(slot);
        Some(flight)
    }

    /// Ends I/Os from the beginning of `done` on, as long as they are whole and like `first`: do the same, equally long,
    /// since the same tick. Frees their slots and says how many they are; none while an I/O waits for its stamp.
    #[inline(always)]
    pub(super) fn finish_group(&mut self, done: &[Completion], first: Flight) -> usize {
        let Flight { start, request: Request { op, length, .. } } = first;
        let free = self.order.get_mut(self.free..).filter(|_| self.fresh == 0).unwrap_or_default();
        let mut count = 0;
        for (completion, place) in done.iter().zip(free) {
            let Some(entry) = self.slots.get_mut(completion.slot as usize) else { break };
            let Flight { start: since, request } = entry.flight;
            let is_alike = entry.busy && since == start && request.op == op && request.length == length;
            if !is_alike || i64::from(completion.result) != i64::from(length) {
                break;
            }
            entry.busy = false;
            *place = completion.slot;
            count += 1;
        }
        self.free += count;
        count
    }

    /// Ends an I/O and frees its slot; `None` when the slot was not in flight, so that no completion can be counted
    /// twice.
    #[inline]
    pub(super) fn finish(&mut self, slot: u32) -> Option<Flight> {
        let entry = self.slots.get_mut(slot as usize).filter(|entry| entry.busy)?;
        entry.busy = false;
        let flight = entry.flight;
        self.free(slot);
        Some(flight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(offset: u64) -> Request {
        Request { op: Op::Read, offset, length: 4096 }
    }

    #[test]
    fn the_slot_that_was_freed_last_is_given_out_first() {
        let mut slots = Slots::new(4);
        let taken: Vec<u32> = (0..4).filter_map(|i| slots.take(at(i))).collect();
        assert_eq!(taken, [0, 1, 2, 3]);
        slots.finish(1);
        slots.finish(3);
        assert_eq!((slots.take(at(9)), slots.take(at(9)), slots.take(at(9))), (Some(3), Some(1), None));
    }

    #[test]
    fn an_io_that_waits_for_its_stamp_gets_it_although_another_ends_first() {
        let mut slots = Slots::new(3);
        let early = slots.take(at(0)).unwrap();
        slots.stamp(5);
        let (late, due) = (slots.take(at(512)).unwrap(), slots.take(at(1024)).unwrap());
        slots.set_due(due, 6);
        assert_eq!(slots.finish(early).map(|flight| flight.start), Some(5));
        slots.stamp(9);
        assert_eq!(slots.finish(late).map(|flight| flight.start), Some(9));
        assert_eq!(slots.finish(due).map(|flight| flight.start), Some(6), "its own start stays");
        assert_eq!(slots.in_flight(), 0);
    }

    #[test]
    fn only_a_whole_io_is_finished_as_one() {
        let mut slots = Slots::new(1);
        let slot = slots.take(at(0)).unwrap();
        assert_eq!((slots.finish_whole(slot, 512), slots.finish_whole(slot, -5)), (None, None));
        assert_eq!(slots.in_flight(), 1);
        assert!(slots.finish_whole(slot, 4096).is_some());
        assert_eq!(slots.finish_whole(slot, 4096), None);
    }

    #[test]
    fn reads_that_are_alike_end_together_up_to_the_first_that_is_not() {
        let mut slots = Slots::new(8);
        let early = slots.take(at(0)).unwrap();
        slots.stamp(5);
        let taken = slots.take_reads(&[0, 4096, 8192, 12288, 16384], 4096).to_vec();
        let whole = |slot: &u32| Completion { slot: *slot, result: 4096 };
        let done: Vec<_> = taken.iter().map(whole).collect();
        let first = Flight { start: 9, request: at(0) };
        assert_eq!(slots.finish_group(&done, first), 0, "they wait for their stamp");
        slots.stamp(9);
        assert_eq!(slots.finish_whole(taken[0], 4096), Some(first));
        let mut rest = done[1..].to_vec();
        rest[2].result = 512;
        assert_eq!(slots.finish_group(&rest, first), 2, "the third is short");
        assert_eq!(slots.finish_group(&[whole(&early)], first), 0, "since another tick");
        assert_eq!(slots.finish_group(&rest[..1], first), 0, "it has ended");
        assert_eq!(slots.finish_group(&[whole(&99)], first), 0, "there is no such slot");
        let other = Request { op: Op::Write, ..at(0) };
        assert_eq!(slots.finish_group(&done[4..], Flight { start: 9, request: other }), 0);
        assert_eq!(slots.finish(taken[4]).map(|flight| flight.request.offset), Some(16384));
        assert_eq!(slots.in_flight(), 2);
        assert_eq!(slots.take_reads(&[0; 9], 4096).len(), 6, "as many as are free");
    }

    #[test]
    fn ios_that_are_taken_over_end_in_their_slots_and_no_other_is_given_them() {
        let mut slots = Slots::new(5);
        let flight = |start| Flight { start, request: at(start * 4096) };
        slots.hold([(3, flight(7)), (4, flight(7)), (0, flight(8))].into_iter());
        assert_eq!(slots.in_flight(), 3);
        assert_eq!([slots.take(at(0)), slots.take(at(0)), slots.take(at(0))], [Some(1), Some(2), None]);
        assert_eq!([slots.finish(0), slots.finish(3)], [Some(flight(8)), Some(flight(7))]);
        slots.stamp(9);
        assert_eq!(slots.finish(4), Some(flight(7)), "its own start");
        assert_eq!(slots.finish(1).map(|flight| flight.start), Some(9));
        assert_eq!(slots.in_flight(), 1);
    }

    #[test]
    fn a_completion_that_nobody_waits_for_is_refused() {
        let mut slots = Slots::new(2);
        assert_eq!(slots.finish(0), None);
        assert_eq!(slots.finish(77), None);
        let slot = slots.take(at(512)).unwrap();
        assert!(slots.finish(slot).is_some());
        assert_eq!(slots.finish(slot), None);
        assert_eq!(slots.in_flight(), 0);
    }

    proptest! {
        // Random completion order: every I/O is recorded once, with its own start and offset.
        #[test]
        fn every_completion_meets_its_own_start_once(
            depth in 1u32..64, steps in prop::collection::vec((1usize..9, any::<u64>()), 1..120),
        ) {
            let mut slots = Slots::new(depth);
            let mut flying: Vec<(u32, Flight)> = Vec::new();
            let (mut begun, mut ended, mut now) = (0u64, 0u64, 1000);
            for (batch, pick) in steps {
                let mut fresh = Vec::new();
                if pick % 2 == 0 {
                    let offsets: Vec<u64> = (begun..begun + batch as u64).map(|i| i * 4096).collect();
                    let taken = slots.take_reads(&offsets, 4096).iter().zip(&offsets);
                    fresh.extend(taken.map(|(slot, offset)| (*slot, Flight { start: now, request: at(*offset) })));
                    begun += fresh.len() as u64;
                }
                for _ in fresh.len()..batch {
                    let offset = begun * 4096;
                    let Some(slot) = slots.take(at(offset)) else { break };
                    prop_assert!(flying.iter().chain(&fresh).all(|(other, _)| *other != slot));
                    fresh.push((slot, Flight { start: now, request: at(offset) }));
                    begun += 1;
                }
                slots.stamp(now);
                flying.append(&mut fresh);
                now += 17;
                if pick % 3 == 0 && let Some((_, first)) = flying.last().copied() {
                    let done: Vec<_> =
                        flying.iter().rev().map(|(slot, _)| Completion { slot: *slot, result: 4096 }).collect();
                    let alike = flying.iter().rev().take_while(|(_, flight)| flight.start == first.start).count();
                    prop_assert_eq!(slots.finish_group(&done, first), alike);
                    flying.truncate(flying.len() - alike);
                    ended += alike as u64;
                }
                for _ in 0..(pick % 7) {
                    if flying.is_empty() { break }
                    let (slot, want) = flying.swap_remove((pick % flying.len() as u64) as usize);
                    prop_assert_eq!(slots.finish(slot), Some(want));
                    ended += 1;
                }
                prop_assert_eq!(u64::from(slots.in_flight()), begun - ended);
            }
        }
    }
}
