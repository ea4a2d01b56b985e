//! Moments: when a reading was taken, on clocks that nobody sets and on the one that people read.

use jiff::Timestamp;
use rustix::time::{ClockId, clock_gettime};

/// A moment on three clocks of this boot, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moment {
    /// Since 1970, UTC. Somebody may set this clock.
    pub wall: i64,
    /// Since boot, with the time that the machine slept (`CLOCK_BOOTTIME`).
    pub boot: i64,
    /// Since boot, without it (`CLOCK_MONOTONIC`).
    pub awake: i64,
}

/// Nanoseconds of a second.
const SECOND: i64 = 1_000_000_000;
/// A clock that moved by more than this against another was set. Clocks that are disciplined drift by less in hours.
const STEP: i64 = 2 * SECOND;

impl Moment {
    pub fn now() -> Self {
        let read = |clock| {
            let time = clock_gettime(clock);
            time.tv_sec.saturating_mul(SECOND).saturating_add(time.tv_nsec)
        };
        // In this order: time since boot is never less than the part of it that was not slept.
        let awake = read(ClockId::Monotonic);
        Self { awake, boot: read(ClockId::Boottime), wall: read(ClockId::Realtime) }
    }

    /// This moment on the wall clock as it stands at `now`: setting the clock in between does not move it.
    #[must_use]
    pub const fn as_of(self, now: Self) -> Self {
        Self { wall: now.wall.saturating_sub(now.boot.saturating_sub(self.boot)), ..self }
    }

    /// How far the wall clock was set since `before`, in seconds; `None` where it was not.
    pub fn stepped_since(self, before: Self) -> Option<f64> {
        let step = (self.wall - before.wall).saturating_sub(self.boot - before.boot);
        (step.abs() > STEP).then_some(step as f64 / SECOND as f64)
    }

    /// How long the machine slept since `before`, in seconds; `None` where it did not.
    pub fn slept_since(self, before: Self) -> Option<f64> {
        let slept = (self.boot - before.boot).saturating_sub(self.awake - before.awake);
        (slept > SECOND).then_some(slept as f64 / SECOND as f64)
    }

    /// Seconds since `before`.
    pub fn seconds_since(self, before: Self) -> f64 {
        (self.boot - before.boot) as f64 / SECOND as f64
    }

    /// In UTC, the second that this moment ends in: nothing that was seen then happened later.
    pub fn at(self) -> String {
        utc(self.wall.saturating_add(SECOND - 1).div_euclid(SECOND))
    }

    /// In UTC, the second that this moment begins in: nothing that was still as before then happened earlier.
    pub fn after(self) -> String {
        utc(self.wall.div_euclid(SECOND))
    }
}

/// `2026-11-24T03:12:10Z`; a time that no calendar has is told as its seconds.
fn utc(seconds: i64) -> String {
    Timestamp::from_second(seconds).map_or_else(|_| format!("@{seconds}"), |time| time.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(wall: i64, boot: i64, awake: i64) -> Moment {
        Moment { wall: wall * SECOND, boot: boot * SECOND, awake: awake * SECOND }
    }

    #[test]
    fn a_clock_that_was_set_and_a_machine_that_slept_are_told_apart() {
        let before = moment(1000, 50, 50);
        assert_eq!(moment(1030, 80, 80).stepped_since(before), None);
        assert_eq!(moment(4630, 80, 80).stepped_since(before), Some(3600.0));
        assert_eq!(moment(30, 80, 80).stepped_since(before), Some(-1000.0));
        assert_eq!(moment(8030, 7080, 80).stepped_since(before), None);
        assert_eq!(moment(8030, 7080, 80).slept_since(before), Some(7000.0));
        assert_eq!(moment(1030, 80, 80).slept_since(before), None);
    }

    #[test]
    fn an_interval_holds_what_lies_in_it() {
        // 2026-11-24 03:11:40 UTC, by `date -u -d @1795489900`.
        let exact = Moment { wall: 1_795_489_900 * SECOND + 700_000_000, boot: 0, awake: 0 };
        assert_eq!(
            (exact.after().as_str(), exact.at().as_str()),
            ("2026-11-24T03:11:40Z", "2026-11-24T03:11:41Z")
        );
        assert_eq!(moment(-1, 0, 0).at(), "1969-12-31T23:59:59Z");
    }

    #[test]
    fn a_moment_keeps_its_distance_when_the_clock_is_set() {
        let (then, now) = (moment(1000, 50, 50), moment(5030, 80, 80));
        assert_eq!(then.as_of(now).wall, 5000 * SECOND);
    }

    #[test]
    fn the_clocks_of_this_machine_agree_with_the_calendar() {
        let now = Moment::now();
        assert!(now.boot >= now.awake && now.at().starts_with("20"), "{now:?}");
    }
}
