//! Qualifies a drive that is blank: runs the parts of a [`Plan`] that fit, one after another, and keeps what each came to.

mod came;
mod part;
mod said;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use crate::measure::Timing;
use crate::objection::Objection;
use crate::runner::{Outcome, Runner, of_error, with_what_is_gone};
use crate::scene::Scene;
use crate::teller::Teller;
pub use came::{PartRan, Qualified, Ran, Rested, Steady, WriteAmplification};
use narrows_base::units::Bytes;
use narrows_load::error::LoadError;
use narrows_load::guard::Budget;
use narrows_load::latency_target::LatencyTarget;
use narrows_load::measurement::{Measurement, Pattern, RunFailure};
use narrows_load::preset::LoadSpec;
use narrows_load::qualify::{Part, Plan};
use narrows_load::target::Target as Opened;
pub use said::{announcement, in_words};

/// What is asked of a qualification beside its plan.
#[derive(Debug, Clone)]
pub struct Terms {
    /// The limit of latency within which the highest rate is looked for.
    pub target: Option<LatencyTarget>,
    /// How long the drive is left alone before it is looked what of its cache is back.
    pub rest: Duration,
    /// The time of a round.
    pub round: Duration,
    /// How long loads run that are no rounds.
    pub timing: Timing,
}

/// Runs every part of `plan` that fits, in order, on `target`, of which the first pass writes each byte for the first time.
pub fn qualify<T: Teller>(
    scene: &Scene,
    (runner, target): (&Runner<'_, T>, &Opened),
    plan: &Plan,
    terms: &Terms,
) -> Qualified {
    let mut run = Qualifying { scene, runner, target, plan, terms, free: None, came: Qualified::of(plan) };
    run.all();
    run.came
}

struct Qualifying<'a, T: Teller> {
    scene: &'a Scene,
    runner: &'a Runner<'a, T>,
    target: &'a Opened,
    plan: &'a Plan,
    terms: &'a Terms,
    /// The mixed load as fast as it goes, for the target of latency.
    free: Option<Measurement>,
    came: Qualified,
}

/// Ends the parts.
struct End;

impl<T: Teller> Qualifying<'_, T> {
    fn all(&mut self) {
        let plan = self.plan;
        for (index, planned) in plan.parts.iter().enumerate().filter(|(_, planned)| planned.fits) {
            if self.is_over() {
                break;
            }
            self.runner.progress.test(index, plan.parts.len(), in_words(planned.part));
            let budget = self.budget(planned.most);
            let ran = match planned.part {
                Part::Cache => self.cache(&budget),
                Part::Steady => self.steady(&budget),
                Part::Reads => self.reads(),
                Part::Mixed => self.mixed(&budget),
                Part::LatencyTarget => self.latency_target(&budget),
                Part::Recovery => self.recovery(&budget),
            };
            self.came.part(planned.part, |part| part.written_bytes = budget.spent());
            if ran.is_err() {
                break;
            }
        }
        if self.came.cut_short.is_none() {
            self.is_over();
        }
    }

    /// Whether something ended all, which is noted.
    fn is_over(&mut self) -> bool {
        let why = if !self.target.is_alone() {
            "somebody else wrote to the device"
        } else if self.runner.is_stopped() {
            "interrupted"
        } else {
            return self.came.cut_short.is_some();
        };
        self.came.cut_short.get_or_insert_with(|| {
            format!("{why}; the drive is cleared, so that a qualification begins anew")
        });
        true
    }

    /// A part of what may be written.
    fn budget(&self, most: Bytes) -> Arc<Budget> {
        let whole = self.runner.writes().map(|writes| writes.budget().clone());
        Arc::new(Budget::part_of(&whole.unwrap_or_else(|| Arc::new(Budget::new(Bytes::new(0)))), most))
    }

    fn load(&self, pattern: Pattern, kib: u64, depth: u32, writes: u8) -> LoadSpec {
        LoadSpec::reading(pattern, Bytes::from_kib(kib), depth).writing(writes)
    }

    /// Runs a load to its end. What failed or was cut short is kept then.
    fn ran(
        &mut self,
        load: &LoadSpec,
        name: &str,
        timing: &Timing,
        budget: Option<&Arc<Budget>>,
    ) -> Result<Outcome, End> {
        let outcome = match self.runner.within(load, self.target, timing, (budget.cloned(), None)) {
            Ok(outcome) => outcome,
            Err(error) => return Err(self.failed(name, load, error)),
        };
        let (failure, cut_short) = (&outcome.measurement.failure, &outcome.measurement.cut_short);
        if failure.is_none() && cut_short.is_none() {
            return Ok(outcome);
        }
        if let Some(failure) = failure {
            let failure = with_what_is_gone(failure, self.runner.root(), &self.scene.subject.path);
            self.end(name, &failure, None);
        }
        self.keep(name, load, outcome);
        self.is_over();
        self.came.cut_short.get_or_insert_with(|| format!("{name} was cut short"));
        Err(End)
    }

    fn failed(&mut self, name: &str, load: &LoadSpec, error: LoadError) -> End {
        if !self.is_over() {
            let (failure, hint) = of_error(&error, self.runner.root(), &self.scene.subject.path);
            self.end(name, &failure, hint);
            self.came.add(name, load, Err(error));
        }
        End
    }

    /// Notes what failed.
    fn end(&mut self, name: &str, failure: &RunFailure, hint: Option<&str>) {
        self.came.cut_short = Some(format!("{name} failed: {failure}"));
        let trouble = Objection::new(format!("{name} failed: {failure} ({})", failure.detail));
        self.came.trouble = Some(trouble.with_hint(hint.unwrap_or_else(|| failure.cause.hint())));
    }

    fn keep(&mut self, name: &str, load: &LoadSpec, outcome: Outcome) {
        self.came.add(name, load, Ok(outcome));
    }
}

fn name(load: &LoadSpec) -> String {
    format!("{} {}", load.mark(), load.direction())
}
