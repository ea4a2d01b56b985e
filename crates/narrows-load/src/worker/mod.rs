//! One worker: keeps its slots in flight until the measured time is over, and counts what ends.

mod batch;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::libc;

use super::clock::Clock;
use super::control::{Control, Teller};
use super::effort::Effort;
use super::engine::{Completion, Engine, Op, PATIENCE, Request};
use super::failure::{self, Streak};
use super::guard::{Budget, Census, OverBudget};
use super::in_order::InOrder;
use super::measurement::RunFailure;
use super::slot::{Flight, Slots};
use super::source::{Schedule, Source};
use super::tally::{Group, Tally, Window};
use narrows_base::units::{Bytes, Nanos};

/// Offsets of reads that are drawn at once.
const DRAWN: usize = 32;
/// Writes that are sent with one entry of the kernel where completions are taken as they arrive. The kernel ends a write
/// to a file in a task of its own. On a processor that both share, more that were sent together also end together, and each
/// then waits until the others have been sent: 32 took 11 % off the rate of a drive that needs 4 ms for each, 4 take 1 %.
const SENT_TOGETHER: u32 = 4;
/// How long the I/Os in flight at the end may take to come back. A device that hangs is given up then.
const DRAIN_LIMIT: Duration = Duration::from_secs(10);

/// When the worker takes completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reap {
    /// As they arrive, one at a time if need be, and sends the next I/O at once. The latencies are what an application
    /// at this depth sees.
    #[default]
    AsTheyArrive,
    /// In batches of so many, which saves kernel entries and adds the waiting for the rest of the batch to each latency:
    /// for the highest rate, not for latencies.
    Batch(u32),
}

/// Closer to the time of the next I/O than this a worker polls instead of sleeping: a sleep ends up to 50 µs late by
/// default (timer slack, prctl(2)).
const POLL_WITHIN: Nanos = Nanos::new(100_000);

/// What all workers of a run share.
#[derive(Clone, Copy)]
pub(super) struct Shared<'a> {
    pub(super) control: &'a Control,
    /// Set when one worker fails, so that the others end too.
    pub(super) abort: &'a AtomicBool,
    pub(super) clock: Clock,
    pub(super) reap: Reap,
}

/// Why the loop ended.
enum End {
    Time,
    Stopped,
    /// Another worker failed, and says why.
    Aborted,
    /// No more may be written.
    OverBudget(OverBudget),
    /// What this run may write of the whole is used up: it was long enough.
    Allowance,
    Failed(RunFailure),
}

/// One worker at work.
pub(super) struct Worker<'a, E> {
    shared: Shared<'a>,
    engine: &'a mut E,
    source: Source,
    slots: Slots,
    /// What is in flight without slots; nothing is while one is given out.
    in_order: InOrder,
    window: Window,
    tally: Tally,
    pace: Option<Schedule>,
    /// The last tick that was looked at.
    now: u64,
    /// What may be written, where that is limited.
    budget: Option<&'a Budget>,
    /// Told what is sent.
    census: Option<&'a Census>,
    over_budget: Option<OverBudget>,
    /// Writes so far, the generation of each.
    writes: u64,
    done: Vec<Completion>,
    streak: Streak,
    teller: Teller<'a>,
}

impl<'a, E: Engine> Worker<'a, E> {
    /// A worker that keeps `depth` I/Os in flight.
    pub(super) fn new(
        shared: Shared<'a>,
        engine: &'a mut E,
        mut source: Source,
        depth: u32,
        window: Window,
    ) -> Self {
        let in_order = InOrder::new(depth, source.only_reads().map_or(0, |(_, length)| length));
        Self {
            shared,
            engine,
            source,
            slots: Slots::new(depth),
            in_order,
            window,
            tally: Tally::new(window),
            pace: None,
            now: shared.clock.ticks(),
            budget: shared.control.budget(),
            census: None,
            over_budget: None,
            writes: 0,
            done: Vec::with_capacity(2 * depth as usize),
            streak: Streak::default(),
            teller: Teller::new(shared.control, &shared.clock),
        }
    }

    /// The same worker, which tells what it sends.
    pub(super) fn counted_by(self, census: Option<&'a Census>) -> Self {
        Self { census, ..self }
    }

    /// The same worker, held to a pace.
    pub(super) fn with_pace(self, pace: Option<Schedule>) -> Self {
        Self { pace, ..self }
    }

    /// Works until the window is over, the run is stopped or the target fails; then waits for what is in flight.
    pub(super) fn run(mut self) -> Tally {
        let (end, before) = self.work();
        let after = self.effort();
        self.tally.stopped = self.shared.clock.ticks();
        self.tally.effort = before.map_or_else(Effort::default, |before| after.since(&before));
        self.tally.cut_short = self.why(end);
        self.give_out_slots();
        self.drain();
        self.teller.tell();
        self.tally
    }

    /// Why the worker ended before its time, in words; what concerns the others as well ends them too.
    fn why(&mut self, end: End) -> Option<String> {
        match end {
            End::Time | End::Aborted => None,
            End::Stopped => Some("interrupted".to_owned()),
            End::OverBudget(over) => {
                self.shared.abort.store(true, Ordering::Relaxed);
                Some(over.to_string())
            }
            End::Allowance if self.now >= self.window.start => {
                self.shared.control.finish();
                None
            }
            End::Allowance => {
                self.shared.abort.store(true, Ordering::Relaxed);
                Some("what it may write was used up before its measured time began".to_owned())
            }
            End::Failed(failure) => {
                self.shared.abort.store(true, Ordering::Relaxed);
                let why = failure.detail.clone();
                self.tally.failure = Some(failure);
                Some(why)
            }
        }
    }

    /// The loop. Also returns what had been used when the window began.
    fn work(&mut self) -> (End, Option<Effort>) {
        let mut before = None;
        self.now = self.shared.clock.ticks();
        loop {
            let now = self.now;
            if before.is_none() && now >= self.window.start {
                before = Some(self.effort());
            }
            let is_enough = before.is_some() && self.shared.control.is_finished();
            if now >= self.window.end || is_enough {
                return (End::Time, before);
            }
            if self.shared.abort.load(Ordering::Relaxed) {
                return (End::Aborted, before);
            }
            if self.shared.control.is_stopped() {
                return (End::Stopped, before);
            }
            if let Err(error) = self.turn() {
                return (End::Failed(failure::of_engine(&error)), before);
            }
            if self.streak.is_failure()
                && let Some(failure) = self.streak.failure()
            {
                return (End::Failed(failure), before);
            }
            if let Some(over) = self.over_budget {
                let end = if over.is_part { End::Allowance } else { End::OverBudget(over) };
                return (end, before);
            }
        }
    }

    /// Fills the free slots, enters the kernel once and counts what ended.
    #[inline]
    fn turn(&mut self) -> io::Result<()> {
        if let Reap::Batch(size) = self.shared.reap
            && self.slots.in_flight() == 0
            && self.read_batches(size)?
        {
            return Ok(());
        }
        let (began, in_flight) = (self.now, self.slots.in_flight());
        let batch = match self.shared.reap {
            Reap::AsTheyArrive => u32::MAX,
            Reap::Batch(size) => size.max(1),
        };
        let mut left = batch;
        let mut wait = None;
        if self.pace.is_none() {
            left -= self.fill_with_reads(batch)?;
        }
        if self.shared.reap == Reap::AsTheyArrive {
            left = left.min(SENT_TOGETHER);
        }
        while left > 0 && !self.slots.is_full() {
            let due = self.pace.as_ref().map(Schedule::due);
            if let Some(due) = due.filter(|due| *due > self.now) {
                wait = Some(due - self.now);
                break;
            }
            let Some(request) = self.source.next() else { break };
            if request.op == Op::Write && !self.begin_write(request) {
                break;
            }
            if let Some(census) = self.census {
                census.sends(request)?;
            }
            if let Some(slot) = self.slots.take(request) {
                if let (Op::Write, Some(memory)) = (request.op, self.engine.memory()) {
                    memory.stamp(slot, request, self.writes);
                }
                self.engine.prepare(slot, request)?;
                if let (Some(pace), Some(due)) = (&mut self.pace, due) {
                    pace.advance();
                    self.slots.set_due(slot, due);
                }
            }
            left -= 1;
        }
        let want = match self.shared.reap {
            Reap::AsTheyArrive if left == 0 && !self.slots.is_full() => 0,
            Reap::AsTheyArrive => 1,
            Reap::Batch(_) if !self.slots.is_full() => 0,
            Reap::Batch(_) => batch.min(self.slots.in_flight()),
        };
        let (want, patience) = wait.map_or((want, PATIENCE), |ticks| self.doze(ticks));
        let sent = self.shared.clock.ticks();
        self.slots.stamp(sent);
        let sent_in_flight = self.slots.in_flight();
        self.engine.submit_and_reap(want, patience, &mut self.done)?;
        self.now = self.shared.clock.ticks();
        if self.window.contains(began) && self.window.contains(self.now) {
            let before = u128::from(sent.saturating_sub(began)) * u128::from(in_flight);
            let after = u128::from(self.now.saturating_sub(sent)) * u128::from(sent_in_flight);
            self.tally.flight_ticks += before + after;
        }
        self.count(self.now)
    }

    /// Prepares up to so many I/Os of a load that does nothing but read, and says how many: all that fit, or none of another
    /// load. What other loads ask for at each I/O is not asked here.
    #[inline(always)]
    fn fill_with_reads(&mut self, most: u32) -> io::Result<u32> {
        let Some((offsets, length)) = self.source.only_reads() else { return Ok(0) };
        let count = most.min(self.slots.free_count());
        let mut drawn = [0; DRAWN];
        let mut left = count as usize;
        while left > 0 {
            let drawn = drawn.get_mut(..left.min(DRAWN)).unwrap_or_default();
            offsets.fill(drawn);
            for (slot, offset) in self.slots.take_reads(drawn, length).iter().zip(drawn.iter()) {
                self.engine.prepare(*slot, Request { op: Op::Read, offset: *offset, length })?;
            }
            left -= drawn.len();
        }
        Ok(count)
    }

    /// How to wait for an I/O that is due in so many ticks: for how many completions, and how long.
    fn doze(&self, ticks: u64) -> (u32, Duration) {
        let early = ticks.saturating_sub(self.shared.clock.ticks_in(POLL_WITHIN));
        if early == 0 {
            return (0, Duration::ZERO);
        }
        let nanos = early as f64 / self.shared.clock.ticks_in(Nanos::from_millis(1)).max(1) as f64 * 1e6;
        (1, Duration::from_nanos(nanos as u64).min(PATIENCE))
    }

    /// Whether a write may begin: not when the budget does not cover it.
    fn begin_write(&mut self, request: Request) -> bool {
        let bytes = Bytes::new(request.length.into());
        if let Some(Err(over)) = self.budget.map(|budget| budget.take(bytes)) {
            self.over_budget = Some(over);
            return false;
        }
        self.writes += 1;
        true
    }

    /// Counts the completions that were seen at `now`.
    #[inline]
    fn count(&mut self, now: u64) -> io::Result<()> {
        let inside = self.window.contains(now);
        let (mut good, mut moved) = (0, 0);
        let mut group: Option<Group> = None;
        let mut broken = Ok(());
        let mut done = std::mem::take(&mut self.done);
        let mut rest = done.as_slice();
        while let Some((completion, others)) = rest.split_first() {
            rest = others;
            let flight = match self.slots.finish_whole(completion.slot, completion.result) {
                Some(flight) => flight,
                None => match self.not_whole(*completion, now) {
                    Ok(Some(flight)) => flight,
                    Ok(None) => continue,
                    Err(error) => {
                        broken = Err(error);
                        continue;
                    }
                },
            };
            self.streak.end(flight.start);
            good += 1;
            moved += u64::from(flight.request.length);
            if !inside {
                continue;
            }
            if let Some(group) = group.take_if(|group| !group.has(flight)) {
                self.tally.record_group(&group);
            }
            let group = group.get_or_insert_with(|| self.tally.group_of(flight, now));
            self.tally.add_to(group, flight);
            // Reads that were sent together mostly end together.
            if flight.request.op == Op::Read && !group.is_slow() {
                let count = self.slots.finish_group(rest, flight);
                rest = rest.get(count..).unwrap_or_default();
                let bytes = u64::from(flight.request.length) * count as u64;
                group.add(count as u64, bytes);
                good += count as u64;
                moved += bytes;
            }
        }
        done.clear();
        self.done = done;
        self.tally.good += good;
        if let Some(group) = group {
            self.tally.record_group(&group);
        }
        if inside && moved > 0 {
            let shares = self.tally.add_to_series(moved, now);
            self.teller.add(moved, shares, now);
        }
        broken
    }

    /// An I/O whose result is not its length: one that is sent again because the kernel asks for that, or a failure.
    #[cold]
    fn not_whole(&mut self, completion: Completion, now: u64) -> io::Result<Option<Flight>> {
        let Some(request) = self.slots.request(completion.slot) else { return Ok(None) };
        if matches!(-completion.result, libc::EAGAIN | libc::EINTR) {
            return self.engine.prepare(completion.slot, request).map(|()| None);
        }
        if self.slots.finish(completion.slot).is_some() {
            let failure = failure::of_io(completion.result, request);
            self.tally.fail(now, || failure.detail.clone());
            self.streak.add(failure, now);
        }
        Ok(None)
    }

    /// Waits for what is in flight, uncounted. What does not come back within [`DRAIN_LIMIT`] is given up.
    fn drain(&mut self) {
        let deadline = Instant::now() + DRAIN_LIMIT;
        while self.slots.in_flight() > 0 && Instant::now() < deadline {
            if self.engine.submit_and_reap(self.slots.in_flight(), PATIENCE, &mut self.done).is_err() {
                break;
            }
            for completion in std::mem::take(&mut self.done) {
                self.slots.finish(completion.slot);
            }
        }
        let lost = self.slots.in_flight();
        if lost > 0 {
            let why = format!("{lost} I/Os did not come back within {} s", DRAIN_LIMIT.as_secs());
            self.tally.failure.get_or_insert_with(|| failure::hung(why.clone()));
            self.tally.cut_short.get_or_insert(why);
        }
    }

    /// What this thread and its engine have used so far.
    fn effort(&self) -> Effort {
        Effort::of_thread(self.engine.enters(), self.engine.has_io_workers())
    }
}
