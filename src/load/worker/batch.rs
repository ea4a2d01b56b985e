//! A batch of reads that ends whole and in its order before the kernel returns, as most do that read from memory.
//!
//! Its slots need no look one by one, neither before nor after. They are given out only when the batch turns out to be
//! another one.

use std::io;

use super::{DRAWN, Worker};
use crate::load::engine::{Batch, Engine, Op, Request};

/// Batches that are counted together.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    reads: u64,
    /// What their times in flight come to.
    flight_ticks: u64,
    /// When the last of them ended.
    last: u64,
}

impl<E: Engine> Worker<'_, E> {
    /// With nothing in flight, sends batches of a load that does nothing but read, and counts what ended, until a batch
    /// is to be counted otherwise or the worker has to look up: after some milliseconds. `false`, with nothing done, for
    /// another load, and for batches of more than are drawn at once.
    ///
    /// A function of its own, for its code and what it looks at to lie together: the kernel has pushed it all out of
    /// the nearest cache in the meantime, and where an I/O takes less than a microsecond, that shows.
    #[inline(never)]
    pub(super) fn read_batches(&mut self, size: u32) -> io::Result<bool> {
        if self.pace.is_some() {
            return Ok(false);
        }
        let Some((offsets, length)) = self.source.only_reads() else { return Ok(false) };
        let slots = self.slots.upcoming(size);
        let mut drawn = [0; DRAWN];
        let Some(drawn) = drawn.get_mut(..slots.len()).filter(|drawn| !drawn.is_empty()) else {
            return Ok(false);
        };
        let count = slots.len() as u32;
        let want = if count == self.slots.free_count() { count } else { 0 };
        let until = self.tally.same_until(self.now).min(self.teller.next());
        let bar = self.tally.reads.slowest.bar();
        let mut sum = Sum::default();
        let (began, sent, reaped) = loop {
            let began = self.now;
            offsets.fill(drawn);
            let prepared = slots.iter().zip(&*drawn).try_for_each(|(slot, offset)| {
                self.engine.prepare(*slot, Request { op: Op::Read, offset: *offset, length })
            });
            let batch = Batch { slots, length };
            let sent = self.shared.clock.ticks();
            let reaped =
                prepared.and_then(|()| self.engine.submit_and_reap_batch(want, batch, &mut self.done));
            self.now = self.shared.clock.ticks();
            let ticks = self.now.saturating_sub(sent);
            let goes_on = self.now < until && !self.shared.control.is_stopped();
            if !matches!(reaped, Ok(true)) || ticks > bar || !goes_on {
                break (began, sent, reaped);
            }
            self.tally.reads.latencies.record_many(ticks, count.into());
            sum.reads += u64::from(count);
            sum.flight_ticks += ticks * u64::from(count);
            sum.last = self.now;
        };
        self.add(sum, length);
        if self.window.contains(began) && self.window.contains(self.now) {
            self.tally.flight_ticks += u128::from(self.now.saturating_sub(sent)) * u128::from(count);
        }
        if matches!(reaped, Ok(true)) {
            // Each by itself: it may be among the slowest, or in another sample of the series, or not in the window.
            let batch = Batch { slots: self.slots.upcoming(size), length };
            self.done.extend(batch.completions());
        }
        self.slots.take_reads(drawn, length);
        self.slots.stamp(sent);
        reaped?;
        self.count(self.now).map(|()| true)
    }

    /// Counts batches whose latencies are recorded.
    fn add(&mut self, sum: Sum, length: u32) {
        if sum.reads == 0 {
            return;
        }
        let bytes = sum.reads * u64::from(length);
        self.streak.end(sum.last);
        self.tally.add_reads(sum.reads, bytes);
        self.tally.flight_ticks += u128::from(sum.flight_ticks);
        if bytes > 0 {
            let shares = self.tally.add_to_series(bytes, sum.last);
            self.teller.add(bytes, shares, sum.last);
        }
    }
}
