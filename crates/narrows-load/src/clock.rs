//! The clock of the engine: processor ticks where they are steady, else the system's monotonic clock.
//!
//! Reading the time-stamp counter costs about 10 ns, `clock_gettime` about 23 ns; the engine reads it twice for each
//! batch. Ticks become nanoseconds only in the result, by the ratio of the two clocks over the whole run, so no
//! frequency has to be known in advance.

#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "the time-stamp counter is read by an intrinsic")
)]

use std::time::{Duration, Instant};

use narrows_base::units::Nanos;

/// How long the first estimate of the ratio takes.
const CALIBRATION: Duration = Duration::from_millis(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClockSource {
    /// The time-stamp counter.
    #[cfg(target_arch = "x86_64")]
    Tsc,
    /// `CLOCK_MONOTONIC` in nanoseconds since the clock was made.
    Monotonic,
}

/// A source of ticks with its origin.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    source: ClockSource,
    origin_ticks: u64,
    origin: Instant,
    /// Estimated ticks for each nanosecond; good to some 10⁻⁵, which is enough for deadlines.
    ticks_per_nano: f64,
}

impl Clock {
    /// A clock on the best source; takes some milliseconds to calibrate.
    pub(super) fn start() -> Self {
        #[cfg(target_arch = "x86_64")]
        if tsc_is_invariant() {
            let clock = Self::calibrated(ClockSource::Tsc);
            let again = clock.ratio();
            // Ticks that change their pace, or differ between CPUs, within a few milliseconds are no clock.
            if clock.ticks_per_nano > 0.0 && (again / clock.ticks_per_nano - 1.0).abs() < 0.01 {
                return clock;
            }
        }
        Self::calibrated(ClockSource::Monotonic)
    }

    fn calibrated(source: ClockSource) -> Self {
        let mut clock = Self { source, origin_ticks: 0, origin: Instant::now(), ticks_per_nano: 1.0 };
        if source != ClockSource::Monotonic {
            (clock.origin, clock.origin_ticks) = clock.both();
            std::thread::sleep(CALIBRATION);
            clock.ticks_per_nano = clock.ratio();
            std::thread::sleep(CALIBRATION);
        }
        clock
    }

    /// Both clocks at one moment: the closest of some readings, so that an interruption between the two does no harm.
    fn both(&self) -> (Instant, u64) {
        let reading = || {
            let before = self.ticks();
            let instant = Instant::now();
            let after = self.ticks();
            (after.saturating_sub(before), instant, before + after.saturating_sub(before) / 2)
        };
        let readings: [_; 8] = std::array::from_fn(|_| reading());
        let [first, ..] = readings;
        let best = readings.into_iter().fold(first, |best, one| if one.0 < best.0 { one } else { best });
        (best.1, best.2)
    }

    /// Now, in ticks.
    #[inline]
    pub(super) fn ticks(&self) -> u64 {
        match self.source {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: every x86-64 processor has the instruction, and Linux does not forbid it to user space (PR_SET_TSC
            // would have to be set in this process). It has no effect on memory.
            ClockSource::Tsc => unsafe { std::arch::x86_64::_rdtsc() },
            ClockSource::Monotonic => Nanos::from(self.origin.elapsed()).get(),
        }
    }

    /// About how many ticks a span takes, for deadlines.
    pub(super) fn ticks_in(&self, span: Nanos) -> u64 {
        (span.get() as f64 * self.ticks_per_nano) as u64
    }

    /// The ratio of ticks to nanoseconds since the clock was made.
    fn ratio(&self) -> f64 {
        let (now, ticks) = self.both();
        let nanos = now.saturating_duration_since(self.origin).as_nanos() as f64;
        let ticks = ticks.saturating_sub(self.origin_ticks) as f64;
        if nanos > 0.0 { ticks / nanos } else { 0.0 }
    }

    /// A converter by the ratio over the whole time since the clock was made; ask for it once, at the end of a run.
    pub(super) fn scale(&self) -> Scale {
        match self.source {
            ClockSource::Monotonic => Scale { nanos_per_tick: 1.0 },
            #[cfg(target_arch = "x86_64")]
            ClockSource::Tsc => Scale { nanos_per_tick: 1.0 / self.ratio() },
        }
    }
}

/// Converts ticks to nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    nanos_per_tick: f64,
}

impl Scale {
    /// A number of ticks, possibly a fraction, in nanoseconds.
    pub(super) fn nanos_f64(self, ticks: f64) -> f64 {
        ticks * self.nanos_per_tick
    }

    /// A span in nanoseconds, rounded.
    pub(super) fn nanos(self, ticks: u64) -> Nanos {
        Nanos::new(self.nanos_f64(ticks as f64).round() as u64)
    }
}

/// Whether the time-stamp counter runs at a constant rate in all power states: CPUID 8000_0007h, EDX bit 8 (Intel SDM
/// volume 3, "Invariant TSC"; AMD APM volume 3, "TscInvariant"). Linux shows it as `constant_tsc` and `nonstop_tsc`.
#[cfg(target_arch = "x86_64")]
fn tsc_is_invariant() -> bool {
    const POWER_LEAF: u32 = 0x8000_0007;
    // SAFETY: every x86-64 processor has the CPUID instruction and the leaf 8000_0000h, which tells the highest one.
    #[allow(unused_unsafe, reason = "the intrinsic is unsafe up to Rust 1.93 and safe from then on")]
    unsafe {
        use std::arch::x86_64::__cpuid;
        __cpuid(0x8000_0000).eax >= POWER_LEAF && __cpuid(POWER_LEAF).edx & (1 << 8) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_do_not_run_backwards() {
        for clock in [Clock::start(), Clock::calibrated(ClockSource::Monotonic)] {
            let mut last = clock.ticks();
            for _ in 0..10_000 {
                let now = clock.ticks();
                assert!(now >= last);
                last = now;
            }
        }
    }

    #[test]
    fn ticks_convert_to_the_time_that_passed() {
        let clock = Clock::start();
        // The ticks are read between two instants at either end, so they must lie between the two spans of instants,
        // however long the thread was kept waiting.
        let outer = Instant::now();
        let before = clock.ticks();
        let inner = Instant::now();
        std::thread::sleep(Duration::from_millis(30));
        let least = inner.elapsed().as_nanos() as f64;
        let ticks = clock.ticks() - before;
        let most = outer.elapsed().as_nanos() as f64;
        for nanos in [clock.scale().nanos(ticks).get() as f64, ticks as f64 / clock.ticks_per_nano] {
            assert!(nanos > least * 0.995 && nanos < most * 1.005, "{least} < {nanos} < {most}");
        }
        assert_eq!(clock.ticks_in(Nanos::new(0)), 0);
    }
}
