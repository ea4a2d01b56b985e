//! What a whole run will take, estimated when a part of it is filled and its tests were tried.

use std::sync::Arc;
use std::time::Duration;

use super::{State, Writes};
use narrows_base::units::{Bytes, BytesPerSec, human};
use narrows_load::guard::Budget;
use narrows_load::preset::LoadSpec;

/// After so much the rest of a run is estimated.
pub const ESTIMATED_AFTER: Bytes = Bytes::from_mib(256);
/// Of that, what is left for trying the tests.
const FOR_TRIALS: Bytes = Bytes::from_mib(64);

/// What the run was thought to take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Estimate {
    pub(super) after: Bytes,
    pub(super) bytes: Bytes,
    pub(super) time: Duration,
}

impl Writes {
    /// What the rest of the filling must leave when the tests are tried.
    pub fn filled_before_trials(&self) -> Bytes {
        ESTIMATED_AFTER.saturating_sub(FOR_TRIALS).min(self.size)
    }

    /// The loads that are tried before the rest is estimated, and what each may write.
    pub fn trials(&self) -> Vec<(LoadSpec, Arc<Budget>)> {
        let loads = self.state().ahead.tried();
        let count = loads.len().max(1) as u64;
        let left = self.budget.left();
        // Never a tenth of what the tests may write.
        let each = Bytes::new(FOR_TRIALS.get().min(left.get() / 10) / count);
        let budget = |_: &LoadSpec| Arc::new(Budget::part_of(&self.budget, each));
        loads.iter().map(budget).zip(&loads).map(|(budget, load)| (load.clone(), budget)).collect()
    }

    /// Estimates the whole run, in words: it was filled at `rate`, the filling will come to `size`, and these loads were
    /// tried and wrote so many bytes a second.
    pub fn estimate(
        &self,
        rate: BytesPerSec,
        (there, size): (Bytes, Bytes),
        tried: &[(LoadSpec, f64)],
    ) -> String {
        let mut state = self.state();
        state.ahead.learn(rate.get(), tried);
        let rest = size.saturating_sub(there);
        // What a device is filled with, and zeroing it, was set aside before.
        let (unspent, zeroed) = if self.cleared { (Bytes::new(0), size) } else { (rest, Bytes::new(0)) };
        let (spent, left) = (self.spent(&state), self.budget.left().saturating_sub(unspent));
        let bytes = spent + unspent + state.ahead.bytes(left);
        let filling = rest + zeroed;
        let filling = if rate.get() > 0.0 { filling.as_f64() / rate.get() } else { 0.0 };
        let time = self.begun.elapsed() + Duration::from_secs_f64(filling) + state.ahead.time(left);
        let after = if self.cleared { there } else { spent };
        self.tell(&mut state, Estimate { after, bytes, time })
    }

    /// The same for a run that fills several things: `there` of the first were written at `rate`.
    pub fn estimate_first(&self, rate: BytesPerSec, there: Bytes) -> String {
        let mut state = self.state();
        state.ahead.learn(rate.get(), &[]);
        let rest = state.to_fill.saturating_sub(there);
        let (spent, left) = (self.spent(&state) + there, self.budget.left().saturating_sub(state.to_fill));
        let filling = if rate.get() > 0.0 { rest.as_f64() / rate.get() } else { 0.0 };
        let bytes = spent + rest + state.ahead.bytes(left);
        let time = self.begun.elapsed() + Duration::from_secs_f64(filling) + state.ahead.time(left);
        self.tell(&mut state, Estimate { after: spent, bytes, time })
    }

    fn tell(&self, state: &mut State, estimate: Estimate) -> String {
        state.estimate = Some(estimate);
        let held = if self.is_patient { "at least" } else { "about" };
        let Estimate { after, bytes, time } = estimate;
        let (after, bytes, time) = (human::bytes(after), human::bytes(bytes), human::time(time.into()));
        format!("after {after}: about {bytes} and {held} {time} in all")
    }
}
