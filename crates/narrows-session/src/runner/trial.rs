//! Tries for a moment what is going to write, and estimates the whole run by that.

use std::time::Duration;

use super::Runner;
use crate::measure::{Asked, Timing};
use crate::teller::Teller;
use crate::writes::Writes;
use narrows_base::units::{Bytes, BytesPerSec};
use narrows_load::preset::LoadSpec;
use narrows_load::target::Target as Opened;

/// How long each test that writes is tried, and all of them together, before the run is estimated.
const TRIAL: Duration = Duration::from_millis(50);
const TRIALS: Duration = Duration::from_secs(2);

impl<T: Teller> Runner<'_, T> {
    /// Estimates the whole run and says what it takes: `there` of the `size` that are filled were written at `rate`. The
    /// loads are tried on what is there, where that can be.
    pub fn estimate(&self, target: Option<&Opened>, rate: BytesPerSec, (there, size): (Bytes, Bytes)) {
        let Some(writes) = self.writes.as_ref().filter(|writes| !writes.is_estimated()) else { return };
        let tried = target.map_or_else(Vec::new, |target| self.try_out(target, writes));
        let text = writes.estimate(rate, (there, size), &tried);
        self.progress.note(&text);
    }

    /// The bytes that each load writes in a second, as far as a moment of it tells.
    fn try_out(&self, target: &Opened, writes: &Writes) -> Vec<(LoadSpec, f64)> {
        let trials = writes.trials();
        let time = TRIAL.min(TRIALS / u32::try_from(trials.len()).unwrap_or(u32::MAX).max(1));
        let timing = Timing { precision: 0.5, ..Timing::exactly(time, Duration::ZERO) };
        self.progress.phase("trying what writes", TRIALS);
        let mut tried = Vec::new();
        for (load, budget) in trials {
            let in_flight = load.total_depth().saturating_mul(load.block_size.get());
            let is_fitting =
                in_flight <= budget.left().get() / 2 && in_flight <= target.region().length.get();
            if self.is_stopped() || !is_fitting {
                continue;
            }
            let (workload, options) = self.session.terms(&load, &timing);
            let asked = Asked { workload, options, timing, budget: Some(budget), is_short: true };
            if let Ok(run) = self.session.try_out(&asked, target) {
                let rate = run.writes.bytes_per_second.get();
                tried.extend((rate > 0.0).then_some((load, rate)));
            }
            writes.meter(self.root, None);
        }
        tried
    }
}
