//! Several targets: each alone, then groups of them at the same time, as the verdict takes them, with the runs that it asks for
//! afterwards; and those that ran at the same time as one measurement.

use super::evidence::Witness;
use super::{Asked, Engine, Follower, Seen, Session};
use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};
use narrows_load::error::LoadError;
use narrows_load::measurement::Measurement;
use narrows_machine::Machine;
use narrows_model::ceiling::Direction;
use narrows_verdict::together::hidden::{self, HiddenVerdict};
use narrows_verdict::together::{
    Conclusion, Group, GroupVerdict, Outcome, Rate, conclude, doubt_by_drift, judge_groups,
};
use narrows_verdict::{Run, Subject};

/// What several targets came to.
#[derive(Debug)]
pub struct Together {
    /// Each with its run alone.
    pub subjects: Vec<Subject>,
    /// What the groups say.
    pub verdicts: Vec<GroupVerdict>,
    /// What changed from the first run to the same at the end.
    pub drift: Option<String>,
    /// Who shares a limit that no topology shows, where it was looked for.
    pub hidden: Option<HiddenVerdict>,
    /// What is known after all runs.
    pub conclusion: Conclusion,
    /// What ended the runs early.
    pub cut_short: Option<String>,
}

/// Several targets that are run alone and in groups.
pub struct Several<'a, 'm, W, E: Engine, F> {
    /// What measures.
    pub session: &'a Session<'m, W, E>,
    /// The load of each run.
    pub asked: &'a Asked,
    pub targets: &'a [E::Target],
    /// Who is told how far a run is.
    pub follower: &'a F,
    /// Is told which targets come next.
    pub ahead: &'a dyn Fn(&[usize]),
}

impl<W: Witness, E: Engine, F: Follower> Several<'_, '_, W, E, F> {
    /// Runs each alone, each group of the `plan`, and the first once more; then as many as tell who shares a limit that no known
    /// ceiling explains.
    ///
    /// # Errors
    /// Nothing could be measured at all.
    pub fn measure(
        &self,
        machine: &Machine,
        mut subjects: Vec<Subject>,
        plan: &[Vec<usize>],
    ) -> Result<Together, LoadError> {
        let (ran, cut_short) = self.rounds(&mut subjects, plan)?;
        let mut verdicts = judge_groups(machine, &subjects, &ran);
        let is_whole = cut_short.is_none();
        let drift = if is_whole { self.drift(&subjects, &mut verdicts) } else { None };
        let hidden = if is_whole { self.hidden(&subjects, &ran, &verdicts) } else { None };
        let conclusion = conclude(machine, &subjects, &verdicts);
        Ok(Together { subjects, verdicts, drift, hidden, conclusion, cut_short })
    }

    /// Runs each target alone and then each group of the `plan` at the same time, in that order. Each run goes to whom it speaks for:
    /// those alone to the targets, the others to their groups. A run that is cut short or fails ends the rest and is not kept:
    /// nothing can be compared with it.
    ///
    /// # Errors
    /// Nothing could be measured at all.
    pub(super) fn rounds(
        &self,
        subjects: &mut [Subject],
        plan: &[Vec<usize>],
    ) -> Result<(Vec<Group>, Option<String>), LoadError> {
        let mut ran = Vec::new();
        let singles: Vec<Vec<usize>> = (0..self.targets.len()).map(|index| vec![index]).collect();
        for members in singles.iter().chain(plan) {
            let runs = match self.run(members) {
                Err(error) if subjects.iter().all(|subject| subject.runs.is_empty()) => return Err(error),
                came => came.unwrap_or_else(|error| Err(error.to_string())),
            };
            match (runs, members.as_slice()) {
                (Err(why), _) => return Ok((ran, Some(why))),
                (Ok(runs), [one]) => {
                    if let Some(subject) = subjects.get_mut(*one) {
                        subject.runs = runs;
                        subject.settle_links();
                    }
                }
                (Ok(runs), _) => ran.push(Group { members: members.clone(), runs }),
            }
        }
        Ok((ran, None))
    }

    /// Runs these targets at the same time: what each gave, or what cut that short.
    ///
    /// # Errors
    /// On one of them nothing could be measured.
    fn run(&self, members: &[usize]) -> Result<Result<Vec<Run>, String>, LoadError> {
        (self.ahead)(members);
        let those: Vec<&E::Target> = members.iter().filter_map(|at| self.targets.get(*at)).collect();
        let Seen { measurements, activity, .. } = self.session.run(self.asked, &those, self.follower)?;
        if let Some(why) = measurements.iter().find_map(|one| one.cut_short.clone()) {
            return Ok(Err(why));
        }
        if self.session.is_stopped() {
            return Ok(Err("interrupted".to_owned()));
        }
        let judged = |one| self.session.judged(Direction::Read, one, activity.clone());
        Ok(Ok(measurements.into_iter().map(judged).collect()))
    }

    /// The same, whatever is wrong.
    fn again(&self, members: &[usize]) -> Result<Vec<Run>, String> {
        self.run(members).unwrap_or_else(|error| Err(error.to_string()))
    }

    /// Makes the first run once more, and says what changed.
    pub(super) fn drift(&self, subjects: &[Subject], verdicts: &mut [GroupVerdict]) -> Option<String> {
        let first = subjects.first()?;
        match self.again(&[0]) {
            Ok(again) => doubt_by_drift(first, again.first()?, verdicts),
            Err(why) => Some(format!("the first run could not be repeated: {why}")),
        }
    }

    /// Finds out who shares a limit, from the runs of each alone and of all; `None` where nobody loses, a known ceiling says why,
    /// or two are all there are.
    fn hidden(
        &self,
        subjects: &[Subject],
        ran: &[Group],
        verdicts: &[GroupVerdict],
    ) -> Option<HiddenVerdict> {
        let (all, verdict) = ran.last().zip(verdicts.last())?;
        if subjects.len() < 3 || verdict.outcome != Outcome::LimitEachOther {
            return None;
        }
        let alone: Vec<Rate> =
            subjects.iter().filter_map(|subject| subject.runs.first()).map(Rate::of).collect();
        let together: Vec<Rate> = all.runs.iter().map(Rate::of).collect();
        let mut run = |who: &[usize]| -> Result<Vec<Rate>, String> {
            Ok(self.again(who)?.iter().map(Rate::of).collect())
        };
        let found = hidden::find(&alone, &together, &mut run);
        Some(hidden::judge(found, verdict))
    }
}

/// The measurements of several targets that ran at once as one: rates add up, and the interval is that of a sum of
/// independent means.
pub fn at_once(mut all: Vec<Measurement>) -> Measurement {
    if all.len() < 2 {
        return all.pop().unwrap_or_default();
    }
    let sum = |of: fn(&Measurement) -> f64| all.iter().map(of).sum::<f64>();
    let rate = BytesPerSec::new(sum(|one| one.bytes_per_second.get()));
    let halves: Option<f64> = all
        .iter()
        .map(|one| one.ci95.map(|[low, high]| ((high.get() - low.get()) / 2.0).powi(2)))
        .sum::<Option<f64>>();
    let iops = Iops::new(sum(|one| one.iops.get()));
    let bytes = Bytes::new(all.iter().map(|one| one.bytes.get()).fold(0, u64::saturating_add));
    let longest = all.iter().map(|one| one.elapsed_ns).max().unwrap_or(Nanos::new(0));
    let depth = all.iter().map(|one| one.workload.queue_depth).fold(0, u32::saturating_add);
    let buckets = all.iter().map(|one| one.series.len()).min().unwrap_or(0);
    let series = (0..buckets)
        .map(|bucket| all.iter().filter_map(|one| one.series.get(bucket).copied()).sum())
        .collect();
    let busiest = all.iter().map(|one| one.generator.cpu).fold(0.0, f64::max);
    let cut_short = all.iter().find_map(|one| one.cut_short.clone());
    let failed = all.iter().find_map(|one| one.failure.clone());
    let errors = all.iter().map(|one| one.errors).fold(0, u64::saturating_add);
    let region = Bytes::new(all.iter().map(|one| one.region.get()).fold(0, u64::saturating_add));
    let by_latency = |one: &&Measurement| one.latency.mean;
    let slowest = all.iter().max_by_key(by_latency).cloned().unwrap_or_default();
    let mut together = Measurement {
        bytes,
        bytes_per_second: rate,
        iops,
        ci95: halves.map(|squares| {
            let half = squares.sqrt();
            [BytesPerSec::new(rate.get() - half), BytesPerSec::new(rate.get() + half)]
        }),
        elapsed_ns: longest,
        series,
        cut_short,
        failure: failed,
        errors,
        region,
        ..slowest
    };
    together.workload.queue_depth = depth;
    together.generator.cpu = busiest;
    together.generator.queue_depth = depth;
    together.generator.threads = u32::try_from(all.len()).unwrap_or(u32::MAX);
    together
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_load::measurement::{GeneratorUse, Latency};

    fn measurement(megabytes: f64, half: f64, cpu: f64) -> Measurement {
        let rate = BytesPerSec::from_mb(megabytes);
        let mut measurement = Measurement {
            bytes: Bytes::new(rate.get() as u64),
            bytes_per_second: rate,
            ci95: Some([rate - BytesPerSec::from_mb(half), rate + BytesPerSec::from_mb(half)]),
            series: vec![rate; 3],
            latency: Latency { mean: Nanos::new((1e9 / megabytes) as u64), ..Latency::default() },
            generator: GeneratorUse { cpu, ..GeneratorUse::default() },
            ..Measurement::default()
        };
        measurement.workload.queue_depth = 8;
        measurement
    }

    #[test]
    fn what_runs_at_once_adds_up_and_its_interval_is_that_of_the_sum() {
        let together = at_once(vec![measurement(80.0, 3.0, 0.2), measurement(20.0, 4.0, 0.1)]);
        assert_eq!(together.bytes_per_second, BytesPerSec::from_mb(100.0));
        assert_eq!(together.workload.queue_depth, 16);
        assert_eq!(together.series, vec![BytesPerSec::from_mb(100.0); 3]);
        let [low, high] = together.ci95.expect("both have one");
        assert!((low.get() - 95e6).abs() < 1.0 && (high.get() - 105e6).abs() < 1.0);
        assert_eq!(together.generator.cpu, 0.2);
        assert_eq!(together.latency.mean.get(), 50_000_000, "that of the slower one");
    }
}
