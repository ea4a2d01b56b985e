//! `narrows bench --preset qualify`: what a blank drive does as a whole, from its first byte to its steady state.
//!
//! The story: say what will be written, open the drive through the guard, run the parts that fit (`narrows_session::qualify`),
//! clear the drive, show all. What fits is decided by `narrows_load::qualify`.

mod asked;

use super::args::BenchArgs;
use super::runner::{self, Runner};
use super::{failed, judged, place};
use crate::cli::{Failure, guard, output, scene, status};
use asked::Asked;
use narrows_base::units::Bytes;
use narrows_base::units::peers::Peer;
use narrows_load::preset::job::{self, JobTarget, JobTime};
use narrows_load::preset::{self, Preset, StopRule, Test, Work};
use narrows_load::qualify::Plan;
use narrows_report::bench::qualify::{QualifyView, of_pass};
use narrows_report::bench::{
    self, BenchReport, Context, LeftOut, Settings, TargetKind, TargetView, TestResult, WritesView,
};
use narrows_session::measure::Command;
use narrows_session::place::Place;
use narrows_session::qualify::{Qualified, Ran, Terms, announcement, in_words, qualify};
use narrows_session::scene::Scene;
use narrows_session::writes::{Life, Wanted, Writes};
use std::time::Duration;

/// The name of the preset.
pub(super) const NAME: &str = "qualify";

/// Qualifies the drive that was named and typed.
///
/// # Errors
/// [`Failure`] when something that must be typed is missing, the guard refuses the drive, or it cannot be cleared.
pub(super) fn run(args: &BenchArgs) -> Result<u8, Failure> {
    let asked = Asked::of(args)?;
    let scene = scene::read(asked.typed)?;
    let place = place::of(&scene.subject.path, &args.common, false)?;
    let Place::Owned { name, own } = &place else { return Err(asked::no_device(asked.typed)) };
    let capacity = place.planned(Bytes::new(u64::MAX)).map_err(|error| place::no_place(&error))?.length;
    let plan = Plan::new(capacity, asked.max_writes, asked.target.is_some())
        .ok_or_else(|| asked::too_little(name, capacity, asked.max_writes))?;
    let (preset, context) = (preset(&asked)?, Context::new(&scene.subject, Peer::None));
    let ceiling = context.ceilings.write.as_ref().map(|ceiling| ceiling.bytes_per_second);
    let terms = asked.terms(args.common.timing(preset.stop));
    let writes = Writes::of(&Wanted {
        size: (plan.region, true),
        is_patient: true,
        ceiling,
        ..args.common.wanted(&scene, true, &terms.timing)
    })?
    .planned(plan.most());
    let life = Life::of_path(&scene.subject.path);
    announcement(name, &plan, life, ceiling).iter().for_each(|line| output::note(line));
    let runner = runner::begin(Command::Bench, &scene, Some(writes))?;
    let writable = guard::open_for_writing(runner.root(), name, own, plan.region, runner.session.stop())?;
    let opened = runner.leave_blank(writable, plan.region)?;
    let mut came = qualify(&scene, (&runner, &opened), &plan, &terms);
    let of = Of { scene: &scene, runner: &runner, context: &context, terms: &terms };
    let results = of.results(&mut came, &place.job_target(opened.region()));
    // Whatever came of the parts.
    let uncleared = runner::clear(&opened, &runner).err();
    let trouble = runner::with(came.trouble.take().map(Failure::from), uncleared);
    let settings = Settings::of(&terms.timing);
    let report = BenchReport { results, ..of.report((&preset, &plan), settings, came) };
    drop(runner);
    output::report(&report, &args.common.output, bench::document)?;
    trouble.map_or_else(|| Ok(status(report.complete, report.has_doubts())), Err)
}

fn preset(asked: &Asked<'_>) -> Result<Preset, Failure> {
    let mut preset = preset::by_name(NAME).ok_or_else(|| Failure::new("there is no preset `qualify`"))?;
    preset.stop = StopRule::SteadyRounds(asked.round_seconds());
    Ok(preset)
}

/// What a report is made of beside what came of the parts.
struct Of<'a> {
    scene: &'a Scene,
    runner: &'a Runner<'a>,
    context: &'a Context,
    terms: &'a Terms,
}

impl Of<'_> {
    /// The results of all loads, each judged.
    fn results(&self, came: &mut Qualified, target: &JobTarget) -> Vec<TestResult> {
        came.loads.drain(..).map(|ran| self.result(ran, target)).collect()
    }

    fn result(&self, ran: Ran, target: &JobTarget) -> TestResult {
        let is_pass = ran.is_pass();
        let test = Test { name: ran.name, work: Work::Load(ran.load.clone()) };
        let command = job::command(&test, target, JobTime { run: self.terms.round, warm_up: Duration::ZERO });
        let outcome = match ran.came {
            Ok(outcome) => outcome,
            Err(error) => {
                let failed = failed::of_error(&error, self.runner.root(), &self.scene.subject.path);
                return bench::not_begun(&test, &error.to_string(), Some(failed), command);
            }
        };
        let on = (self.scene, self.runner, self.context);
        let result = judged(on, (&test, &ran.load), outcome, command);
        if is_pass { of_pass(result) } else { result }
    }

    /// The report without results.
    fn report(&self, (preset, plan): (&Preset, &Plan), settings: Settings, came: Qualified) -> BenchReport {
        let name = self.scene.subject.path.target.clone();
        let target = TargetView { name, kind: TargetKind::OwnedDevice, size_bytes: plan.region };
        let left_out = came.parts.iter().filter_map(|part| {
            Some(LeftOut { name: in_words(part.part).to_owned(), reason: part.reason.clone()? })
        });
        let left_out = left_out.collect();
        let ceilings = self.context.ceilings.clone();
        let report = bench::report(&self.scene.machine, target, preset, settings, ceilings, left_out);
        BenchReport {
            qualify: Some(QualifyView::of(plan, self.terms.target.as_ref(), &came)),
            writes: self.runner.writes().map(|writes| WritesView::of(&writes.account(self.runner.root()))),
            complete: came.cut_short.is_none(),
            reason: came.cut_short,
            ..report
        }
    }
}
