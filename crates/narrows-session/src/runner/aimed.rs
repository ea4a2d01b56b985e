//! Looks for the highest rate of a load at which a percentile of its latency stays within a limit.

use std::time::Duration;

use super::{Runner, Shown};
use crate::measure::{Asked, Timing};
use crate::teller::Teller;
use narrows_base::units::{BytesPerSec, Iops, Nanos};
use narrows_load::error::LoadError;
use narrows_load::latency_target::{LatencyTarget, Search};
use narrows_load::measurement::Measurement;
use narrows_load::percentile::PERCENTILES;
use narrows_load::preset::LoadSpec;
use narrows_load::target::Target as Opened;

/// How long each rate is tried, and the longest where I/Os are few.
const TRY: Duration = Duration::from_secs(2);
const LONGEST_TRY: Duration = Duration::from_secs(30);
/// More I/Os than a percentile needs, since a run of a time has more or fewer than expected.
const SPARE: f64 = 1.2;

/// The highest rate of a load at which a percentile of its latency stays within a limit, as far as it was found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Aimed {
    /// The highest rate that met it; `None` where none did.
    pub iops: Option<Iops>,
    /// The same in bytes.
    pub bytes_per_second: Option<BytesPerSec>,
    /// The percentile at that rate.
    pub latency: Option<Nanos>,
    /// The lowest rate that was tried and did not meet it; `None` where the load met it as fast as it goes.
    pub missed_at: Option<Iops>,
    /// Why the search ended before its end.
    pub why: Option<String>,
}

impl Aimed {
    /// A run met it.
    #[must_use]
    pub fn met_by(self, target: &LatencyTarget, run: &Measurement) -> Self {
        let (iops, bytes_per_second) = (Some(run.iops), Some(run.bytes_per_second));
        Self { iops, bytes_per_second, latency: target.of(&run.latency), ..self }
    }

    /// The search ended before its end.
    #[must_use]
    pub fn because(self, why: impl Into<String>) -> Self {
        Self { why: Some(why.into()), ..self }
    }
}

impl<T: Teller> Runner<'_, T> {
    /// The highest rate of a load that meets a limit; `free` is its run as fast as it goes. Each rate is tried in an open loop,
    /// in which an I/O that is late counts from when it was due.
    ///
    /// # Errors
    /// A run failed.
    pub fn aimed(
        &self,
        target: &LatencyTarget,
        load: &LoadSpec,
        opened: &Opened,
        free: &Measurement,
    ) -> Result<Aimed, LoadError> {
        let name = format!("{} {}", load.mark(), load.direction());
        let mut found = Aimed::default();
        match target.is_met(&free.latency) {
            None => return Ok(found.because("too few I/Os ended for that percentile")),
            Some(true) => return Ok(found.met_by(target, free)),
            Some(false) => found.missed_at = Some(free.iops),
        }
        let mut search = Search::below(free.iops.get());
        while let Some(rate) = search.next() {
            if self.is_stopped() {
                return Ok(found.because("interrupted"));
            }
            let timing = Timing::exactly(time(target, rate), Duration::ZERO);
            self.progress.phase(&format!("{name} at {rate} IOPS"), timing.longest());
            let run = self.paced(load, opened, &timing, rate)?;
            if let Some(why) = &run.cut_short {
                return Ok(found.because(why.as_str()));
            }
            let is_met = target.is_met(&run.latency);
            match is_met {
                Some(true) => found = found.met_by(target, &run),
                Some(false) => found.missed_at = Some(Iops::new(search.between().1.min(rate as f64))),
                None => return Ok(found.because("too few I/Os ended for that percentile")),
            }
            search.told(rate, is_met == Some(true));
        }
        Ok(found)
    }

    /// Runs a load at a rate of so many I/Os a second, each due at its own time.
    fn paced(
        &self,
        load: &LoadSpec,
        target: &Opened,
        timing: &Timing,
        rate: u64,
    ) -> Result<Measurement, LoadError> {
        let (mut workload, options) = self.session.terms(load, timing);
        workload.paced_iops = Some(rate);
        let asked = Asked { workload, options, timing: *timing, budget: None, is_short: false };
        let shown = Shown { root: self.root, progress: &self.progress, timing, metered: None };
        Ok(self.session.run(&asked, &[target], &shown)?.single())
    }
}

/// How long a rate is tried: until enough I/Os have ended for the percentile.
fn time(target: &LatencyTarget, rate: u64) -> Duration {
    let known = PERCENTILES.iter().find(|known| known.label == target.percentile);
    let needed = known.map_or(0, |known| known.least_samples()) as f64 * SPARE / rate.max(1) as f64;
    Duration::try_from_secs_f64(needed).unwrap_or(LONGEST_TRY).clamp(TRY, LONGEST_TRY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_base::units::Nanos;

    #[test]
    fn a_rate_is_tried_until_there_are_enough_ios_for_the_percentile() {
        let of = |percentile, rate| {
            let target = LatencyTarget::new(percentile, Nanos::from_millis(1)).unwrap();
            time(&target, rate).as_secs_f64()
        };
        assert!((of("p99", 100_000) - 2.0).abs() < 1e-9);
        // 299 I/Os and a fifth more, at 20 in a second.
        assert!((of("p99", 20) - 299.0 * 1.2 / 20.0).abs() < 1e-9);
        assert!((of("p99.999", 1) - 30.0).abs() < 1e-9);
    }
}
