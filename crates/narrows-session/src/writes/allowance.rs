//! What one test may write, and how long it may take.

use std::sync::Arc;
use std::time::Duration;

use super::{Writes, whole_gib};
use crate::measure::Timing;
use narrows_base::units::{Bytes, human};
use narrows_load::guard::{Budget, OverBudget};
use narrows_load::preset::{LoadSpec, StopRule};

/// A run writes no more than this of what it was estimated to.
pub(super) const HELD_WITHIN: f64 = 1.5;
/// Its tests are over in this part of the time that it was estimated to take: what comes with them varies, too.
const HELD_WITHIN_TIME: f64 = 1.4;
/// A test that is over sooner than this is sampled finer: there would be too few samples of 100 ms.
const SHORT: Duration = Duration::from_millis(2400);

/// What one test may write, and how long it may take.
#[derive(Debug, Clone)]
pub struct Allowance {
    /// What its writes are taken from.
    pub budget: Arc<Budget>,
    /// How long it may take, where that was announced.
    pub time: Option<Duration>,
    /// How long it can run with these bytes, at the rate that it is thought to have, and at the highest that it may have.
    lasts: [Duration; 2],
    /// Whether it is what was estimated that it may not exceed; more may be written.
    pub is_held: bool,
}

impl Allowance {
    /// Whether it is over so soon that it is sampled finer.
    pub fn is_short(&self) -> bool {
        self.lasts.first().is_some_and(|lasts| *lasts < SHORT)
    }

    /// The part of a warm-up that does not use up what is meant for the test.
    pub fn warm_up(&self, asked: Duration) -> Duration {
        self.lasts.last().map_or(asked, |lasts| asked.min(*lasts / 10))
    }

    /// What is needed for a load to be measured at all: twice what it has in flight.
    ///
    /// # Errors
    /// There is less.
    pub fn suffices(&self, load: &LoadSpec) -> Result<(), OverBudget> {
        let in_flight = load.total_depth().saturating_mul(load.block_size.get());
        self.budget.announce(Bytes::new(in_flight.saturating_mul(2)))
    }
}

impl Writes {
    /// Why a load that runs in rounds cannot, if it cannot: it needs far more than other tests, so it is not begun with
    /// less.
    pub fn obstacle(&self, load: &LoadSpec, timing: &Timing) -> Option<String> {
        if !matches!(timing.stop, StopRule::SteadyRounds(_)) || load.write_percent == 0 {
            return None;
        }
        let state = self.state();
        let most = state.ahead.most(load)?;
        let all: Option<u64> =
            state.ahead.tried().iter().map(|load| Some(state.ahead.most(load)?.get())).sum();
        let needed = Bytes::new(all?.saturating_add(self.size.get()));
        (needed > self.limit.data).then(|| {
            format!(
                "its rounds need at most {}, more than may be written; --max-writes {} allows them all",
                human::bytes(most),
                whole_gib(needed)
            )
        })
    }

    /// What the next test with this load may have (`None`: a scan).
    pub fn allow(&self, load: Option<&LoadSpec>) -> Allowance {
        let mut state = self.state();
        let others = state.to_fill;
        let allowed = self.budget.left().saturating_sub(others).saturating_sub(state.debt);
        let held = state.estimate.filter(|_| self.holds_bytes);
        let spent = self.spent(&state);
        let most = held.map_or(allowed, |estimate| {
            let most = Bytes::new((estimate.bytes.as_f64() * HELD_WITHIN) as u64);
            most.saturating_sub(spent).saturating_sub(others)
        });
        let time = state.estimate.filter(|_| !self.is_patient);
        let time =
            time.map(|estimate| estimate.time.mul_f64(HELD_WITHIN_TIME).saturating_sub(self.begun.elapsed()));
        let share = state.ahead.take(load, allowed.min(most), time.unwrap_or(Duration::MAX / 4));
        Allowance {
            budget: Arc::new(Budget::part_of(&self.budget, share.bytes)),
            time: time.map(|_| share.time),
            lasts: share.lasts,
            is_held: most < allowed,
        }
    }
}
