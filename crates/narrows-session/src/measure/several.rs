//! Runs of targets alone and together as the verdict takes them, and those that it asks for afterwards.

use super::alone_and_together::{Rounds, alone_and_together};
use super::engine::Engine;
use super::evidence::Witness;
use super::follow::Follower;
use super::session::{Asked, Seen, Session};
use narrows_load::error::LoadError;
use narrows_machine::Machine;
use narrows_model::ceiling::Direction;
use narrows_verdict::together::hidden::{self, HiddenVerdict};
use narrows_verdict::together::{
    Conclusion, Group, GroupVerdict, Rate, conclude, doubt_by_drift, judge_groups,
};
use narrows_verdict::{Run, Subject};

/// What each target of a run gave.
fn runs<W: Witness, E: Engine>(session: &Session<'_, W, E>, seen: Seen) -> Vec<Run> {
    let Seen { measurements, activity, .. } = seen;
    let judged = |one| session.judged(Direction::Read, one, activity.clone());
    measurements.into_iter().map(judged).collect()
}

/// Hands each run to whom it speaks for: those alone to the targets, the others to their groups, which `plan` has.
pub(super) fn collect<W: Witness, E: Engine>(
    session: &Session<'_, W, E>,
    mut subjects: Vec<Subject>,
    plan: &[Vec<usize>],
    rounds: Rounds,
) -> (Vec<Subject>, Vec<Group>) {
    for (subject, seen) in subjects.iter_mut().zip(rounds.alone) {
        subject.runs = runs(session, seen);
        subject.settle_links();
    }
    let ran = plan.iter().zip(rounds.together);
    let ran =
        ran.map(|(members, seen)| Group { members: members.clone(), runs: runs(session, seen) }).collect();
    (subjects, ran)
}

/// What several targets came to.
#[derive(Debug)]
pub struct Together {
    /// Each with its run alone.
    pub subjects: Vec<Subject>,
    /// What the groups say.
    pub verdicts: Vec<GroupVerdict>,
    /// What changed from the first run to the same at the end.
    pub drift: Option<String>,
    /// Who shares a limit that no topology shows, where that was to be found.
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
    /// All targets.
    pub targets: &'a [E::Target],
    /// Who is told how far a run is.
    pub follower: &'a F,
    /// Is told which targets come next.
    pub ahead: &'a dyn Fn(&[usize]),
}

impl<W: Witness, E: Engine, F: Follower> Several<'_, '_, W, E, F> {
    /// Runs each alone, each group of the `plan`, and the first once more; then as many as tell who shares a limit, if that is to
    /// be found.
    ///
    /// # Errors
    /// Nothing could be measured at all.
    pub fn measure(
        &self,
        machine: &Machine,
        subjects: Vec<Subject>,
        plan: &[Vec<usize>],
        finds: bool,
    ) -> Result<Together, LoadError> {
        let on = (self.targets, plan);
        let rounds = alone_and_together(self.session, self.asked, on, self.follower, self.ahead)?;
        let cut_short = rounds.cut_short.clone();
        let (subjects, ran) = collect(self.session, subjects, plan, rounds);
        let mut verdicts = judge_groups(machine, &subjects, &ran);
        let is_whole = cut_short.is_none();
        let drift = if is_whole { self.drift(&subjects, &mut verdicts) } else { None };
        let hidden = (finds && is_whole).then(|| self.hidden(&subjects, &ran, &verdicts));
        let conclusion = conclude(machine, &subjects, &verdicts);
        Ok(Together { subjects, verdicts, drift, hidden, conclusion, cut_short })
    }

    /// Runs these targets at the same time.
    fn run(&self, members: &[usize]) -> Result<Vec<Run>, String> {
        (self.ahead)(members);
        let those: Vec<&E::Target> = members.iter().filter_map(|at| self.targets.get(*at)).collect();
        let seen = self.session.run(self.asked, &those, self.follower).map_err(|error| error.to_string())?;
        if let Some(why) = seen.measurements.iter().find_map(|one| one.cut_short.clone()) {
            return Err(why);
        }
        if self.session.is_stopped() {
            return Err("interrupted".to_owned());
        }
        Ok(runs(self.session, seen))
    }

    /// Makes the first run once more, and says what changed.
    pub(super) fn drift(&self, subjects: &[Subject], verdicts: &mut [GroupVerdict]) -> Option<String> {
        let first = subjects.first()?;
        match self.run(&[0]) {
            Ok(again) => doubt_by_drift(first, again.first()?, verdicts),
            Err(why) => Some(format!("the first run could not be repeated: {why}")),
        }
    }

    /// Finds out who shares a limit, from the runs of each alone and of all.
    fn hidden(&self, subjects: &[Subject], ran: &[Group], verdicts: &[GroupVerdict]) -> HiddenVerdict {
        let Some((all, verdict)) = ran.last().zip(verdicts.last()) else { return HiddenVerdict::default() };
        let found = hidden::may_search(verdict).and_then(|()| {
            let alone: Vec<Rate> =
                subjects.iter().filter_map(|subject| subject.runs.first()).map(Rate::of).collect();
            let together: Vec<Rate> = all.runs.iter().map(Rate::of).collect();
            let mut run = |who: &[usize]| -> Result<Vec<Rate>, String> {
                Ok(self.run(who)?.iter().map(Rate::of).collect())
            };
            hidden::find(&alone, &together, &mut run)
        });
        let name = |at: usize| subjects.get(at).map_or("", |subject| subject.path.target.as_str());
        hidden::judge(found, verdict, &name)
    }
}
