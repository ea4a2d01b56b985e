//! When the next I/O is due, for runs that do not go as fast as they can.

/// A schedule of amounts, I/Os or bytes, at a constant rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Schedule {
    /// The tick at which it begins.
    start: u64,
    /// Amount for each tick.
    rate: f64,
    /// What is scheduled so far.
    amount: f64,
}

impl Schedule {
    /// A schedule of `rate` for each tick, whose first I/O is due when `phase` would be.
    pub(super) fn new(start: u64, rate: f64, phase: f64) -> Self {
        Self { start, rate, amount: phase }
    }

    /// The tick at which the next I/O is due.
    #[inline]
    pub(super) fn due(&self) -> u64 {
        self.start.saturating_add((self.amount / self.rate) as u64)
    }

    /// Goes on to the I/O after one of this amount.
    #[inline]
    pub(super) fn advance(&mut self, amount: f64) {
        self.amount += amount;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(mut schedule: Schedule, count: usize) -> Vec<u64> {
        let next = || {
            let due = schedule.due();
            schedule.advance(1.0);
            due
        };
        std::iter::repeat_with(next).take(count).collect()
    }

    #[test]
    fn due_times_are_even() {
        assert_eq!(times(Schedule::new(1000, 0.01, 0.0), 4), [1000, 1100, 1200, 1300]);
        assert_eq!(times(Schedule::new(1000, 0.01, 0.5), 2), [1050, 1150]);
    }
}
