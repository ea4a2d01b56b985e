//! When the next I/O is due, for runs that do not go as fast as they can.

/// A schedule of amounts: I/Os or bytes. Its rate climbs from zero in a straight line during the ramp and is constant
/// from then on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Schedule {
    /// The tick at which it begins.
    start: u64,
    /// Amount for each tick after the ramp.
    rate: f64,
    /// The ramp in ticks.
    ramp: f64,
    /// What is scheduled so far.
    amount: f64,
}

impl Schedule {
    /// A schedule of `rate` for each tick, whose first I/O is due when `phase` would be.
    pub(super) fn new(start: u64, rate: f64, ramp: u64, phase: f64) -> Self {
        Self { start, rate, ramp: ramp as f64, amount: phase }
    }

    /// The tick at which the next I/O is due.
    #[inline]
    pub(super) fn due(&self) -> u64 {
        // The integral of the rate is rate·t²/(2·ramp) up to the end of the ramp, and rate·(t − ramp/2) after it.
        let climbed = self.rate * self.ramp / 2.0;
        let ticks = if self.amount < climbed {
            (2.0 * self.ramp * self.amount / self.rate).sqrt()
        } else {
            self.amount / self.rate + self.ramp / 2.0
        };
        self.start.saturating_add(ticks as u64)
    }

    /// Goes on to the I/O after one of this amount.
    #[inline]
    pub(super) fn advance(&mut self, amount: f64) {
        self.amount += amount;
    }

    /// The amount that is due by `now` and not scheduled yet.
    pub(super) fn overdue(&self, now: u64) -> f64 {
        let ticks = now.saturating_sub(self.start) as f64;
        let due = if ticks < self.ramp {
            self.rate * ticks * ticks / (2.0 * self.ramp)
        } else {
            self.rate * (ticks - self.ramp / 2.0)
        };
        (due - self.amount).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn times(mut schedule: Schedule, count: usize) -> Vec<u64> {
        let next = || {
            let due = schedule.due();
            schedule.advance(1.0);
            due
        };
        std::iter::repeat_with(next).take(count).collect()
    }

    #[test]
    fn without_a_ramp_it_is_even() {
        assert_eq!(times(Schedule::new(1000, 0.01, 0, 0.0), 4), [1000, 1100, 1200, 1300]);
        assert_eq!(times(Schedule::new(1000, 0.01, 0, 0.5), 2), [1050, 1150]);
    }

    #[test]
    fn the_ramp_climbs_in_a_straight_line() {
        // 1 in each 10 ticks after a ramp of 1000: 50 in the ramp, a quarter of them in its first half.
        let times = times(Schedule::new(0, 0.1, 1000, 0.0), 100);
        let before = |tick| times.iter().filter(|at| **at < tick).count();
        assert_eq!((before(500), before(1000), before(1200)), (13, 50, 70));
        assert_eq!(Schedule::new(0, 0.1, 1000, 0.0).overdue(1200), 70.0);
    }

    proptest! {
        #[test]
        fn due_times_never_go_back_and_what_is_due_is_overdue(
            rate in 1e-6f64..1.0, ramp in 0u64..1_000_000, steps in 1usize..200,
        ) {
            let mut schedule = Schedule::new(5, rate, ramp, 0.0);
            let mut last = 0;
            for _ in 0..steps {
                let due = schedule.due();
                prop_assert!(due >= last);
                last = due;
                schedule.advance(1.0);
                // The step before is due at `last`, rounded down to a whole tick.
                prop_assert!(schedule.overdue(last) <= 1e-6);
            }
        }
    }
}
