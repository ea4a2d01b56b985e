//! When the next I/O is due, for runs that do not go as fast as they can.

/// A schedule of I/Os at a constant rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Schedule {
    /// The tick at which it begins.
    start: u64,
    /// I/Os for each tick.
    rate: f64,
    /// I/Os that are scheduled so far.
    count: f64,
}

impl Schedule {
    /// A schedule of `rate` for each tick, whose first I/O is due when `phase` would be.
    pub(super) fn new(start: u64, rate: f64, phase: f64) -> Self {
        Self { start, rate, count: phase }
    }

    /// The tick at which the next I/O is due.
    #[inline]
    pub(super) fn due(&self) -> u64 {
        self.start.saturating_add((self.count / self.rate) as u64)
    }

    /// Goes on to the next I/O.
    #[inline]
    pub(super) fn advance(&mut self) {
        self.count += 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(mut schedule: Schedule, count: usize) -> Vec<u64> {
        let next = || {
            let due = schedule.due();
            schedule.advance();
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
