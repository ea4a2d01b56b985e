//! One rung of a ladder: a load on one target, or on several at once, for a time that is known beforehand.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::Runner;
use crate::measure::{Asked, Timing, at_once};
use crate::teller::{Moving, Teller};
use crate::writes::ESTIMATED_AFTER;
use narrows_base::units::Bytes;
use narrows_load::LoadError;
use narrows_load::preset::LoadSpec;
use narrows_load::target::Target as Opened;
use narrows_model::ceiling::Direction;
use narrows_verdict::Run;

impl<T: Teller> Runner<'_, T> {
    /// Runs `load` on all `targets` at once for `time` after a `warm_up`, on the processors of the session or on `cpus`.
    ///
    /// # Errors
    /// The load could not begin.
    pub fn rung(
        &self,
        label: &str,
        targets: &[&Opened],
        load: &LoadSpec,
        (time, warm_up): (Duration, Duration),
        cpus: Option<&[u32]>,
    ) -> Result<Run, LoadError> {
        self.progress.phase(label, warm_up + time);
        let timing = Timing::exactly(time, warm_up);
        let (workload, mut options) = self.session.terms(load, &timing);
        if let Some(cpus) = cpus {
            options.cpus = cpus.to_vec();
        }
        let workers = options.workers;
        let allowance = self.writes().map(|writes| writes.allow(Some(load)));
        let budget = allowance.filter(|_| load.write_percent > 0).map(|allowance| allowance.budget);
        let asked = Asked { workload, options, timing, budget, is_short: false };
        let bar = Moving { teller: &self.progress, before: warm_up };
        let seen = self.session.run(&asked, targets, &bar)?;
        let mut measurements = seen.measurements;
        for one in &mut measurements {
            // The verdict compares what all workers asked for with what waits in each layer.
            one.workload.queue_depth = one.workload.queue_depth.saturating_mul(workers);
        }
        let direction = if load.writes() { Direction::Write } else { Direction::Read };
        Ok(self.session.judged(direction, at_once(measurements), seen.activity))
    }

    /// Shows how far a scratch file of `size` is, breaks it off when a signal came, and says once what all is going to take.
    pub fn follow_to(&self, begin: Instant, written: Bytes, size: Bytes) -> ControlFlow<()> {
        let goes_on = self.follow(begin, written);
        if written >= size.min(ESTIMATED_AFTER) {
            self.estimate(None, written.per(begin.elapsed()), (written, size));
        }
        goes_on
    }
}
