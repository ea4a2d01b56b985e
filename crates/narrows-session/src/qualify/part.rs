//! The parts of a qualification, each by itself.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use super::said;
use super::{End, Qualifying, Rested, Steady, WriteAmplification, name};
use crate::measure::{Timing, is_steady, rounds};
use crate::runner::{Allowed, Outcome};
use crate::scene;
use crate::teller::Teller;
use narrows_base::units::{Bytes, BytesPerSec};
use narrows_load::guard::Budget;
use narrows_load::measurement::{Measurement, Pattern};
use narrows_load::preset::{LoadSpec, StopRule};
use narrows_load::qualify::{Cache, Part, Recovery};
use narrows_machine::health;

/// The longest pass, and the rate below which it is not waited for.
const LONGEST_PASS: Duration = Duration::from_secs(24 * 60 * 60);
const SLOWEST: f64 = 5e6;
/// After a rest so many times what the cache held is written, to see its end.
const BEYOND: u64 = 2;
/// A round of less than this part of its time is none.
const WHOLE: f64 = 0.9;

impl<T: Teller> Qualifying<'_, T> {
    /// A pass over the region writes each byte once, and shows a fast cache where there is one.
    pub(super) fn cache(&mut self, budget: &Arc<Budget>) -> Result<(), End> {
        let run = self.pass("first pass", budget)?;
        let cache = Cache::of_pass(&run.series, run.bytes, run.bytes_per_second);
        self.came.cache = Some(cache);
        let last = match cache {
            Cache::Seen { slow_bytes_per_second, .. } => slow_bytes_per_second,
            _ => run.bytes_per_second,
        };
        if let Some(text) = said::rest(self.plan, last, self.terms.rest) {
            self.runner.progress.note(&text);
        }
        Ok(())
    }

    /// The second pass, and rounds until five agree.
    pub(super) fn steady(&mut self, budget: &Arc<Budget>) -> Result<(), End> {
        self.pass("second pass", &Arc::new(Budget::part_of(budget, self.plan.region)))?;
        let preconditioned = self.came.in_passes().as_f64() / self.plan.capacity.as_f64().max(1.0);
        let load = self.load(Pattern::Random, 4, 32, 100);
        let (medium, before) = (self.medium_written(), budget.spent());
        let (rounds, last) = self.rounds(&load, budget)?;
        let sent = budget.spent().saturating_sub(before);
        self.came.write_amplification = WriteAmplification::of(medium, self.medium_written(), sent);
        let is_steady = is_steady(&rounds);
        if let Some(mut outcome) = last {
            let count = rounds.len();
            outcome.ended = match (is_steady, budget.is_exhausted()) {
                (true, _) => format!("steady after {count} rounds"),
                (false, true) => {
                    format!("not steady after {count} rounds, and no more may be written (--max-writes)")
                }
                (false, false) => format!("not steady after {count} rounds"),
            };
            outcome.rounds.clone_from(&rounds);
            self.keep("steady rounds, RND4K Q32T1 write", &load, outcome);
        }
        self.came.steady = Some(Steady { is_steady, rounds, preconditioned });
        Ok(())
    }

    /// Rounds of random writes: their rates, and the last of them.
    fn rounds(
        &mut self,
        load: &LoadSpec,
        budget: &Arc<Budget>,
    ) -> Result<(Vec<BytesPerSec>, Option<Outcome>), End> {
        let round = self.terms.round;
        let timing = Timing::exactly(round, Duration::ZERO);
        let once = &mut |number| -> Result<_, End> {
            if budget.is_exhausted() {
                return Ok(ControlFlow::Break(None));
            }
            self.runner.progress.name(&format!("random writes, round {number}"));
            let outcome = self.ran(load, "random writes", &timing, Some(budget))?;
            // A round that its budget ended is no round.
            let is_short = outcome.measurement.elapsed_ns.duration() < round.mul_f64(WHOLE);
            Ok(match budget.is_exhausted() && is_short {
                true => ControlFlow::Break(None),
                false => ControlFlow::Continue(outcome),
            })
        };
        rounds(once, |outcome: &Outcome| outcome.measurement.bytes_per_second)
    }

    pub(super) fn reads(&mut self) -> Result<(), End> {
        let timing = Timing { stop: StopRule::Precision, ..self.terms.timing };
        for (pattern, kib, depth) in
            [(Pattern::Random, 4, 32), (Pattern::Random, 4, 1), (Pattern::Sequential, 128, 32)]
        {
            let load = self.load(pattern, kib, depth, 0);
            let outcome = self.ran(&load, &name(&load), &timing, None)?;
            self.keep(&name(&load), &load, outcome);
        }
        Ok(())
    }

    pub(super) fn mixed(&mut self, budget: &Arc<Budget>) -> Result<(), End> {
        // What may be written is kept for what counts.
        let timing = Timing { stop: StopRule::Precision, warm_up: Duration::ZERO, ..self.terms.timing };
        let load = self.load(Pattern::Random, 4, 32, 30);
        let outcome = self.ran(&load, &name(&load), &timing, Some(budget))?;
        self.free = Some(outcome.measurement.clone());
        self.keep(&name(&load), &load, outcome);
        Ok(())
    }

    pub(super) fn latency_target(&mut self, budget: &Arc<Budget>) -> Result<(), End> {
        let (Some(target), Some(free)) = (&self.terms.target, self.free.take()) else { return Ok(()) };
        let load = self.load(Pattern::Random, 4, 32, 30);
        match self.runner.aimed(target, &load, self.target, &free, Some(budget)) {
            Ok(found) => self.came.aimed = Some((name(&load), found)),
            Err(error) => return Err(self.failed("rate at the latency target", &load, error)),
        }
        Ok(())
    }

    /// Leaves the drive alone, and looks how much of the cache is back.
    pub(super) fn recovery(&mut self, budget: &Arc<Budget>) -> Result<(), End> {
        let Some(Cache::Seen { bytes, fast_bytes_per_second, slow_bytes_per_second }) = self.came.cache
        else {
            self.came.part(Part::Recovery, |part| {
                part.reason = Some("no fall of the rate was seen in the first pass".to_owned());
            });
            return Ok(());
        };
        let (rest, progress) = (self.terms.rest, &self.runner.progress);
        progress.phase("a rest", rest);
        self.runner.session.rest(rest, &|elapsed| progress.say(elapsed, ""));
        if self.is_over() {
            return Err(End);
        }
        let enough = Bytes::new(bytes.get().saturating_mul(BEYOND));
        let some = Arc::new(Budget::part_of(budget, enough.min(budget.left())));
        let run = self.pass("after a rest", &some)?;
        let rates = (fast_bytes_per_second, slow_bytes_per_second);
        let recovery = Recovery::of(&run.series, run.bytes, bytes, rates);
        self.came.recovery = Some(Rested { rest_ns: rest.into(), recovery });
        Ok(())
    }

    /// Writes in sequence from the beginning of the region until the budget is used up.
    fn pass(&mut self, what: &str, budget: &Arc<Budget>) -> Result<Measurement, End> {
        let load = self.load(Pattern::Sequential, 128, 32, 100);
        let timing = Timing::exactly(longest_pass(budget.limit()), Duration::ZERO);
        let name = format!("{what}, {}", name(&load));
        let mut outcome = self.ran(&load, &name, &timing, Some(budget))?;
        let (is_whole, written) = (budget.is_exhausted(), budget.spent());
        outcome.ended = match is_whole {
            true => format!("{written} were written in sequence"),
            false => format!("{written} were written within the longest time of a pass"),
        };
        let bytes = budget.limit();
        outcome.allowance = Some(Allowed { bytes, written, ended_test: false, needed: None });
        let run = outcome.measurement.clone();
        self.keep(&name, &load, outcome);
        if !is_whole && self.came.cut_short.is_none() {
            self.came.cut_short = Some(format!("{what} did not come to its end"));
            return Err(End);
        }
        Ok(run)
    }

    /// What the medium of the drive has written, where it is one drive that tells.
    fn medium_written(&self) -> Option<(Bytes, String)> {
        let drives = scene::drives(&self.scene.subject.path);
        let [drive] = drives.as_slice() else { return None };
        let written = health::medium_written(self.runner.root(), drive);
        Some((written.get()?, written.source().as_str().to_owned()))
    }
}

/// How long a pass may take that writes so much.
pub(super) fn longest_pass(bytes: Bytes) -> Duration {
    Duration::try_from_secs_f64(60.0 + bytes.as_f64() / SLOWEST)
        .map_or(LONGEST_PASS, |time| time.min(LONGEST_PASS))
}
