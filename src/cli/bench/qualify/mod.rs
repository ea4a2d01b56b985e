//! `narrows bench --preset qualify`: what a blank drive does as a whole, from its first byte to its steady state.
//!
//! The story: say what will be written, open the drive through the guard, run the parts that fit one after another, clear the
//! drive, show all. What fits is decided by `narrows_load::qualify`.

mod asked;
mod parts;
mod said;

use super::args::BenchArgs;
use super::place;
use super::runner;
use crate::cli::{Failure, guard, output, scene, status};
use asked::Asked;
use narrows_base::units::{Bytes, Nanos};
use narrows_load::preset::{self, Preset, StopRule};
use narrows_load::qualify::Plan;
use narrows_report::bench::qualify::{QualifyView, in_words};
use narrows_report::bench::{
    self, BenchReport, Context, Engine, LeftOut, Settings, TargetKind, TargetView, WritesView,
};
use narrows_session::measure::{Command, Timing};
use narrows_session::place::Place;
use narrows_session::scene::Scene;
use narrows_session::writes::{Life, Wanted, Writes};
use parts::Parts;

/// The name of the preset.
pub(super) const NAME: &str = "qualify";

/// Qualifies the drive that was named and typed.
///
/// # Errors
/// [`Failure`] when something that must be typed is missing, the guard refuses the drive, or it cannot be cleared.
pub(super) fn run(args: &BenchArgs) -> Result<u8, Failure> {
    let asked = Asked::of(args)?;
    let node = args.common.cpu_node;
    let scene = scene::read(asked.typed, node)?;
    let place = place::of(&scene.subject.path, &args.common, false)?;
    let Place::Owned { name, own } = &place else { return Err(asked::no_device(asked.typed)) };
    let capacity = place.planned(Bytes::new(u64::MAX)).map_err(|error| place::no_place(&error))?.length;
    let plan = Plan::new(capacity, asked.max_writes, asked.target.is_some())
        .ok_or_else(|| asked::too_little(name, capacity, asked.max_writes))?;
    let (preset, context) =
        (preset(&asked)?, Context::new(&scene.subject, narrows_base::units::peers::Peer::None));
    let ceiling = context.ceilings.write.as_ref().map(|ceiling| ceiling.bytes_per_second);
    let timing = Timing {
        stop: StopRule::SteadyRounds(asked.round_seconds()),
        precision: args.common.precision,
        max_time: args.common.longest(),
        fixed: args.common.duration,
        warm_up: args.common.warm_up,
    };
    let writes = Writes::of(&Wanted {
        asked: Some(asked.max_writes),
        kept: None,
        size: (plan.region, true),
        is_device: true,
        works: &[],
        timing: &timing,
        again: 0,
        is_patient: true,
        path: Some((&scene.subject.path, &scene.root)),
        ceiling,
    })?
    .planned(plan.most(), asked.compressible);
    said::announce(name, &plan, Life::of_path(&scene.subject.path), ceiling);
    let runner = runner::begin(Command::Bench, &scene, node, Some(writes))?.polling(args.common.poll);
    let writable = guard::open_for_writing(runner.root(), name, own, plan.region, runner.session.stop())?;
    let opened = runner.leave_blank(writable, plan.region)?;
    let mut parts = Parts::new(&scene, &runner, &opened, &context, (&preset, &asked), plan.clone());
    parts.all(&timing);
    // Whatever came of the parts.
    let uncleared = runner::clear(&opened, &runner).err();
    let trouble = parts.trouble.take();
    let settings = settings(args, &timing);
    let report = report(&scene, (&preset, &context, &plan), settings, parts);
    let writes = runner.writes().map(|writes| WritesView::of(&writes.account(runner.root())));
    let report = BenchReport { writes, ..report };
    let trouble = runner::with(trouble, uncleared);
    drop(runner);
    output::report(&report, &args.common.output, bench::document)?;
    if let Some(trouble) = trouble {
        return Err(trouble);
    }
    Ok(status(report.complete, report.has_doubts()))
}

fn preset(asked: &Asked<'_>) -> Result<Preset, Failure> {
    let mut preset = preset::by_name(NAME).ok_or_else(|| Failure::new("there is no preset `qualify`"))?;
    preset.stop = StopRule::SteadyRounds(asked.round_seconds());
    Ok(preset)
}

fn settings(args: &BenchArgs, timing: &Timing) -> Settings {
    Settings {
        stop: timing.stop,
        precision: timing.precision,
        max_time_ns: timing.max_time.into(),
        duration_ns: timing.fixed.map(Nanos::from),
        warm_up_ns: timing.warm_up.into(),
        scan: None,
        cpu_node: args.common.cpu_node,
        poll: args.common.poll,
        batch: None,
        engine: Engine::Narrows,
        reason: timing.fixed.is_none().then(|| "duration_ns: tests stop by their rule".to_owned()),
    }
}

fn report(
    scene: &Scene,
    (preset, context, plan): (&Preset, &Context, &Plan),
    settings: Settings,
    parts: Parts<'_>,
) -> BenchReport {
    let name = scene.subject.path.target.clone();
    let target = TargetView { name, kind: TargetKind::OwnedDevice, size_bytes: plan.region };
    let left_out = parts.view.parts.iter().filter_map(|part| {
        Some(LeftOut { name: in_words(part.part).to_owned(), reason: part.reason.clone()? })
    });
    let left_out = left_out.collect();
    let Parts { view, results, cut_short, .. } = parts;
    let report = bench::report(&scene.machine, target, preset, settings, context.ceilings.clone(), left_out);
    let complete = cut_short.is_none();
    BenchReport { results, qualify: Some(explained(view)), complete, reason: cut_short, ..report }
}

/// Says of what is `null` why it is.
fn explained(view: QualifyView) -> QualifyView {
    let why = [
        (view.cache.is_none(), "cache: the first pass did not come to its end"),
        (view.steady.is_none(), "steady: the steady rounds did not run"),
        (view.recovery.is_none(), "recovery: no fall of the rate was seen, or it was not looked for"),
        (view.at_target.is_none(), "at_target: no --target was asked for, or it was not come to"),
        (
            view.write_amplification.is_none(),
            "write_amplification: the steady rounds did not run, or the drive does not tell what its medium wrote (log page C0h, \
             as root)",
        ),
    ];
    let why: Vec<&str> = why.into_iter().filter_map(|(is_so, why)| is_so.then_some(why)).collect();
    QualifyView { reason: (!why.is_empty()).then(|| why.join("; ")), ..view }
}
