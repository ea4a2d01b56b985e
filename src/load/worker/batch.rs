//! A batch of reads that ends whole and in its order before the kernel returns, as most do that read from memory.
//!
//! Its slots need no look one by one, neither before nor after. They are given out only when the batch turns out to be
//! another one.

use std::io;

use super::{DRAWN, Worker};
use crate::load::engine::{Batch, Engine, Op, Request};
use crate::load::slot::Flight;

impl<E: Engine> Worker<'_, E> {
    /// With nothing in flight, sends a batch of a load that does nothing but read, and counts what ended. `false`, with
    /// nothing done, for another load, and for a batch of more than are drawn at once.
    ///
    /// A function of its own, for its code to lie together: where an I/O takes less than a microsecond, it shows.
    #[inline(never)]
    pub(super) fn read_batch(&mut self, size: u32) -> io::Result<bool> {
        if self.pace.is_some() {
            return Ok(false);
        }
        let Some((offsets, length)) = self.source.only_reads() else { return Ok(false) };
        let slots = self.slots.upcoming(size);
        let mut drawn = [0; DRAWN];
        let Some(drawn) = drawn.get_mut(..slots.len()).filter(|drawn| !drawn.is_empty()) else {
            return Ok(false);
        };
        offsets.fill(drawn);
        let began = self.now;
        let prepared = slots.iter().zip(&*drawn).try_for_each(|(slot, offset)| {
            self.engine.prepare(*slot, Request { op: Op::Read, offset: *offset, length })
        });
        let count = slots.len() as u32;
        let want = if count == self.slots.free_count() { count } else { 0 };
        let batch = Batch { slots, length };
        let sent = self.shared.clock.ticks();
        let reaped = prepared.and_then(|()| self.engine.submit_and_reap_batch(want, batch, &mut self.done));
        self.now = self.shared.clock.ticks();
        let is_inside = self.window.contains(began) && self.window.contains(self.now);
        if is_inside {
            self.tally.flight_ticks += u128::from(self.now.saturating_sub(sent)) * u128::from(count);
        }
        let is_whole = matches!(reaped, Ok(true));
        if is_whole && is_inside && self.count_whole(sent, length, count.into()) {
            return Ok(true);
        }
        if is_whole {
            let batch = Batch { slots: self.slots.upcoming(size), length };
            self.done.extend(batch.completions());
        }
        self.slots.take_reads(drawn, length);
        self.slots.stamp(sent);
        reaped?;
        self.count(self.now).map(|()| true)
    }

    /// Counts so many reads that ended well in the window; `false`, with nothing counted, when they may be among the
    /// slowest, of which each is kept with its offset.
    #[inline(always)]
    fn count_whole(&mut self, sent: u64, length: u32, count: u64) -> bool {
        let request = Request { op: Op::Read, offset: 0, length };
        let mut alike = self.tally.alike(Flight { start: sent, request }, self.now);
        if alike.is_slow() {
            return false;
        }
        let bytes = u64::from(length) * count;
        alike.add(count, bytes);
        self.tally.settle(&alike);
        self.tally.good += count;
        self.streak.end();
        if bytes > 0 {
            let shares = self.tally.add_to_series(bytes, self.now);
            self.teller.add(bytes, shares, self.now);
        }
        true
    }
}
