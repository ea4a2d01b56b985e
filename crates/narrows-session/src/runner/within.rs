//! Runs a load for a time, within bytes that are set aside for it.

use std::sync::Arc;

use super::{Outcome, Runner, Shown};
use crate::measure::{Asked, Timing};
use crate::teller::Teller;
use narrows_load::error::LoadError;
use narrows_load::guard::Budget;
use narrows_load::preset::LoadSpec;
use narrows_load::target::Target as Opened;

impl<T: Teller> Runner<'_, T> {
    /// Runs a load once. It ends with its time, or when `budget` is used up; at a rate of `paced` I/Os a second, each due at its
    /// own time, where there is one.
    ///
    /// # Errors
    /// Nothing could be measured.
    pub fn within(
        &self,
        load: &LoadSpec,
        target: &Opened,
        timing: &Timing,
        (budget, paced): (Option<Arc<Budget>>, Option<u64>),
    ) -> Result<Outcome, LoadError> {
        let (mut workload, options) = self.session.terms(load, timing);
        workload.paced_iops = paced;
        let asked = Asked { workload, options, timing: *timing, budget, is_short: false };
        let shown = Shown { root: self.root, progress: &self.progress, timing, metered: None };
        let mut seen = self.session.run(&asked, &[target], &shown)?;
        let measurement = seen.single();
        let ended = match &measurement.cut_short {
            Some(why) => format!("ended early: {why}"),
            None => format!("ran for {}", measurement.elapsed_ns),
        };
        Ok(Outcome { measurement, ended, allowance: None, rounds: Vec::new(), activity: seen.activity })
    }
}
