//! `narrows measure --as quick` and `full`: the path against its ceilings, with a load of some seconds.

use super::{How, MeasureArgs};
use crate::cli::signals::end_on_signals;
use crate::cli::{Failure, facts, output, status, target};
use narrows_load::error::LoadError;
use narrows_report::require::Known;
use narrows_report::text;
use narrows_runs::progress::Progress;
use narrows_session::Teller;
use narrows_session::check::{CutShort, Plan};
use narrows_session::measure::Command;
use narrows_session::place::{Place, Use};
use narrows_session::scene::Scene;

/// Runs load on the path to what was typed, judges it with its runs, and shows it.
///
/// # Errors
/// [`Failure`] when the target does not exist, the path has nothing to read from, or it may not be read.
pub(super) fn run(args: &MeasureArgs, typed: &str) -> Result<u8, Failure> {
    let mut scene = target::scene(typed)?;
    if !std::path::Path::new(typed).is_file() {
        target::check_way(&scene.machine, typed, &scene.subject.path.asked)?;
    }
    let unseen = facts::unseen(&scene.root, &scene.machine);
    unseen.iter().for_each(output::failure);
    let cut_short = measure(args, &mut scene)?;
    let subjects = std::slice::from_ref(&scene.subject);
    let (report, has_findings) = narrows_answer::judged(&scene.machine, subjects, Default::default(), None);
    output::report(&report, &args.shown(), text::document)?;
    match cut_short {
        Some(why) => Err(why),
        // A part of the path is no answer to what limits it.
        None => Ok(args.rules.status(status(unseen.is_empty(), has_findings), || Known::of(&report))),
    }
}

/// Runs the load and adds the runs to the path, the last one marked when it was cut short, and says by what.
///
/// # Errors
/// [`Failure`] when nothing could be measured.
fn measure(args: &MeasureArgs, scene: &mut Scene) -> Result<Option<Failure>, Failure> {
    let interrupted = || Failure::new("interrupted; the report holds what was measured until then");
    let plan = if args.how == How::Full { Plan::full(args.duration) } else { Plan::quick(args.duration) };
    let (bar, stop) = (Progress::on_stderr(), end_on_signals()?);
    let place = Place::of(&scene.subject.path, Use::ReadOrScratch).map_err(|error| {
        Failure::new(error.to_string()).hint("measure a device, mount or directory behind it")
    })?;
    let writes = match place.scratch() {
        Some(dir) => {
            let writes = plan.writes(&scene.subject.path, &scene.root, dir)?;
            output::note(&writes.filling(&dir.display().to_string()));
            Some(writes)
        }
        None => None,
    };
    let target = match plan.open(&place, writes.as_ref(), &bar, &stop) {
        Ok(target) => target,
        Err(LoadError::Interrupted) => return Ok(Some(interrupted())),
        Err(error) => return Err(error.into()),
    };
    bar.phase("watching the idle machine", plan.idle);
    let mut runs = Vec::new();
    let ran = plan.run(&scene.session(Command::Check, stop, plan.idle), &target, &bar, &mut runs);
    scene.subject.runs = runs;
    scene.subject.settle_links();
    match ran {
        Ok(()) => Ok(None),
        Err(CutShort::Interrupted) => Ok(Some(interrupted())),
        Err(CutShort::Failed(error)) if scene.subject.runs.is_empty() => Err(error.into()),
        Err(CutShort::Failed(error)) => Ok(Some(error.into())),
        Err(CutShort::Run { step, why }) => {
            let path = target.path().display();
            Ok(Some(Failure::new(format!("the {step} of `{path}` was cut short: {why}")).hint(
                "look for the device in the kernel log (`dmesg`); the report holds what was read until then",
            )))
        }
    }
}
