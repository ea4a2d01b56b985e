//! Batches of reads that end whole and in their order, as they do that read from memory: before the kernel returns, or
//! when it is asked for them.
//!
//! They need no look one by one, neither before nor after. Slots are given out only when one ends otherwise; from then on
//! I/Os are counted one by one, until nothing is in flight.

use std::io;

use super::Worker;
use crate::engine::{Engine, Op, Request};
use crate::in_order::InOrder;
use crate::tally::{OpTally, Slow};

/// So many latencies are recorded at once. One by one each would wait for its bucket to come into the cache, from where
/// the kernel has pushed it; together they wait once.
const TOGETHER: usize = 8;

/// Reads that ended and are yet to be counted.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    /// Latencies that are yet to be recorded, each with the number of reads that took so long: the first so many.
    latencies: [(u64, u64); TOGETHER],
    unrecorded: usize,
    reads: u64,
    /// When the last of them was sent.
    sent: u64,
    /// When it was seen to have ended.
    ended: u64,
    /// The I/Os in flight, summed over the ticks in which these were waited for.
    flight_ticks: u64,
}

impl Sum {
    /// Ends so many reads, the oldest ones, that were seen to have ended at `now`.
    #[inline(always)]
    fn end(&mut self, mut ended: u32, now: u64, in_order: &mut InOrder, tally: &mut OpTally) {
        while let Some(sent) = in_order.end(&mut ended) {
            let ticks = now.saturating_sub(sent.at);
            if ticks > tally.slowest.threshold() {
                for offset in in_order.offsets(sent) {
                    tally.slowest.offer(Slow { ticks, offset: *offset, end: now });
                }
            }
            if let Some(latency) = self.latencies.get_mut(self.unrecorded) {
                *latency = (ticks, sent.count.into());
                self.unrecorded += 1;
            }
            if self.unrecorded == TOGETHER {
                self.record(tally);
            }
            self.reads += u64::from(sent.count);
            (self.sent, self.ended) = (sent.at, now);
        }
    }

    /// Records the latencies that are yet to be recorded.
    #[inline(never)]
    fn record(&mut self, tally: &mut OpTally) {
        for (ticks, times) in self.latencies.iter().take(self.unrecorded) {
            tally.latencies.record_many(*ticks, *times);
        }
        self.unrecorded = 0;
    }
}

impl<E: Engine> Worker<'_, E> {
    /// With nothing in flight but what it sent before, sends batches of a load that does nothing but read, and counts
    /// what ended, until an I/O ends otherwise or the worker has to look up: after some milliseconds. `false`, with
    /// nothing done, for another load, and where reads seldom end in their order.
    ///
    /// A function of its own, for its code and what it looks at to lie together: the kernel has pushed it all out of
    /// the nearest cache in the meantime, and where an I/O takes less than a microsecond, that shows.
    #[inline(never)]
    pub(super) fn read_batches(&mut self, size: u32) -> io::Result<bool> {
        if self.pace.is_some() || (self.in_order.in_flight() == 0 && !self.in_order.pays()) {
            return Ok(false);
        }
        let Some((offsets, length)) = self.source.only_reads() else { return Ok(false) };
        let size = size.max(1);
        let until = self.tally.same_until(self.now).min(self.teller.next());
        let mut sum = Sum::default();
        let (began, flight_ticks, reaped) = loop {
            let (began, before) = (self.now, self.in_order.in_flight());
            let (first, fresh) = self.in_order.upcoming(size);
            offsets.fill(fresh);
            let count = fresh.len() as u32;
            let prepared = (first..).zip(&*fresh).try_for_each(|(slot, offset)| {
                self.engine.prepare(slot, Request { op: Op::Read, offset: *offset, length })
            });
            let sent = self.shared.clock.ticks();
            self.in_order.send(count, sent);
            let in_flight = before + count;
            let want = if self.in_order.is_full() { size.min(in_flight) } else { 0 };
            let expected = self.in_order.expected();
            let reaped =
                prepared.and_then(|()| self.engine.submit_and_reap_in_order(want, expected, &mut self.done));
            self.now = self.shared.clock.ticks();
            let flight_ticks = sent.saturating_sub(began) * u64::from(before)
                + self.now.saturating_sub(sent) * u64::from(in_flight);
            match reaped {
                Ok(Some(ended)) if self.now < until && !self.shared.control.is_stopped() => {
                    sum.end(ended, self.now, &mut self.in_order, &mut self.tally.reads);
                    sum.flight_ticks += flight_ticks;
                }
                _ => break (began, flight_ticks, reaped),
            }
        };
        self.add(&mut sum);
        if self.window.contains(began) && self.window.contains(self.now) {
            self.tally.flight_ticks += u128::from(flight_ticks);
        }
        match reaped {
            Ok(Some(ended)) => self.end_reads(ended),
            Ok(None) => {
                self.give_out_slots();
                self.count(self.now)?;
            }
            Err(error) => return Err(error),
        }
        Ok(true)
    }

    /// Ends so many reads, which may belong to another sample of the series than those before, or not to the window.
    fn end_reads(&mut self, mut ended: u32) {
        if self.window.contains(self.now) {
            let mut sum = Sum::default();
            sum.end(ended, self.now, &mut self.in_order, &mut self.tally.reads);
            return self.add(&mut sum);
        }
        self.tally.good += u64::from(ended);
        while let Some(sent) = self.in_order.end(&mut ended) {
            self.streak.end(sent.at);
        }
    }

    /// Counts reads whose latencies are recorded.
    fn add(&mut self, sum: &mut Sum) {
        sum.record(&mut self.tally.reads);
        self.tally.flight_ticks += u128::from(sum.flight_ticks);
        if sum.reads == 0 {
            return;
        }
        let bytes = sum.reads * u64::from(self.in_order.length());
        self.streak.end(sum.sent);
        self.tally.add_reads(sum.reads, bytes);
        if bytes > 0 {
            let shares = self.tally.add_to_series(bytes, sum.ended);
            self.teller.add(bytes, shares, sum.ended);
        }
    }

    /// Gives a slot to each read that is in flight without one.
    pub(super) fn give_out_slots(&mut self) {
        if self.in_order.in_flight() > 0 {
            self.slots.hold(self.in_order.take().into_iter());
        }
    }
}
