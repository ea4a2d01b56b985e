//! The highest rate at which a percentile of latency stays below a limit.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::measurement::Latency;
use super::percentile::PERCENTILES;
use narrows_base::units::Nanos;

/// A percentile and its limit: `p99=1ms`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencyTarget {
    /// The percentile as people write it: `p99.9`.
    pub percentile: String,
    /// The most that it may be.
    pub most_ns: Nanos,
}

impl LatencyTarget {
    /// A limit for a percentile that is reported, such as `p99.9`; `None` for any other.
    pub fn new(percentile: &str, most: Nanos) -> Option<Self> {
        let known = PERCENTILES.iter().find(|known| known.label == percentile)?;
        Some(Self { percentile: known.label.to_owned(), most_ns: most })
    }

    /// The percentile of these latencies; `None` where there were too few I/Os for it.
    pub fn of(&self, latency: &Latency) -> Option<Nanos> {
        match self.percentile.as_str() {
            "p50" => latency.p50,
            "p90" => latency.p90,
            "p95" => latency.p95,
            "p99" => latency.p99,
            "p99.9" => latency.p999,
            "p99.99" => latency.p9999,
            "p99.999" => latency.p99999,
            _ => None,
        }
    }

    /// Whether they stay within the limit; `None` where there were too few I/Os to say.
    pub fn is_met(&self, latency: &Latency) -> Option<bool> {
        Some(self.of(latency)? <= self.most_ns)
    }
}

impl fmt::Display for LatencyTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of at most {}", self.percentile, self.most_ns)
    }
}

/// How often the interval is halved: to a sixty-fourth of the highest rate.
const HALVINGS: u32 = 6;

/// Looks for the highest rate that meets a limit, between none and the highest rate of a load, which does not.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    met: f64,
    missed: f64,
    left: u32,
}

impl Search {
    /// A search below a rate in I/Os per second at which the limit is not met.
    pub const fn below(missed: f64) -> Self {
        Self { met: 0.0, missed, left: HALVINGS }
    }

    /// The rate to try next; `None` when the interval is narrow enough, or lies below one I/O a second.
    pub fn next(&self) -> Option<u64> {
        let middle = self.met.midpoint(self.missed);
        (self.left > 0 && middle >= 1.0).then_some(middle as u64)
    }

    /// Says whether the limit was met at the rate that was tried.
    pub fn told(&mut self, tried: u64, is_met: bool) {
        let tried = tried as f64;
        if is_met {
            self.met = self.met.max(tried)
        } else {
            self.missed = self.missed.min(tried)
        }
        self.left = self.left.saturating_sub(1);
    }

    /// The highest rate known to meet the limit, and the lowest known not to.
    pub const fn between(&self) -> (f64, f64) {
        (self.met, self.missed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_target_is_of_a_percentile_that_is_reported() {
        let most = Nanos::from_millis(1);
        let target = LatencyTarget::new("p99.9", most).expect("is known");
        assert_eq!(target.to_string(), "p99.9 of at most 1 ms");
        assert_eq!(LatencyTarget::new("p98", most), None);
        let latency = |p999| Latency { p999, ..Latency::default() };
        assert_eq!(target.is_met(&latency(Some(most))), Some(true));
        assert_eq!(target.is_met(&latency(Some(Nanos::new(1_000_001)))), Some(false));
        assert_eq!(target.is_met(&latency(None)), None, "too few I/Os");
        for percentile in PERCENTILES {
            assert!(LatencyTarget::new(percentile.label, most).is_some());
        }
    }

    #[test]
    fn nothing_is_tried_below_one_io_a_second() {
        let mut search = Search::below(3.0);
        assert_eq!(search.next(), Some(1));
        search.told(1, false);
        assert_eq!((search.next(), search.between()), (None, (0.0, 1.0)));
        assert_eq!(Search::below(0.0).next(), None);
    }

    proptest! {
        #[test]
        fn the_highest_rate_is_found_to_a_sixty_fourth(free in 1000.0f64..1e7, share in 0.02f64..1.0) {
            let limit = free * share;
            let mut search = Search::below(free);
            let mut tries = 0;
            while let Some(rate) = search.next() {
                search.told(rate, rate as f64 <= limit);
                tries += 1;
            }
            let (met, missed) = search.between();
            prop_assert!(tries == 6 && met <= limit && limit < missed.max(met + 1.0));
            prop_assert!(missed - met <= free / 64.0 + 2.0, "{met} {missed}");
        }
    }
}
