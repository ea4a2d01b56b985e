//! `--measure`: which loads run on one path, and where.

use super::args::{CheckArgs, Measure};
use super::bar::Bar;
use super::signals::end_on_signals;
use super::{Failure, output};
use narrows_load::error::LoadError;
use narrows_machine::Machine;
use narrows_machine::root::Root;
use narrows_model::path::Path;
use narrows_session::check::{CutShort, Plan};
use narrows_session::measure::{Command, Kernel, Processors, Session};
use narrows_session::place::{Place, Use};
use narrows_session::scene;
use narrows_verdict::Subject;

/// Whether everything that was planned was measured.
pub(super) enum Completion {
    /// It was.
    Whole,
    /// It was not, for this reason; the runs so far are there.
    CutShort(Failure),
}

/// Runs load on the path of `subject` and adds the runs to it, the last one marked when it was cut short.
///
/// # Errors
/// [`Failure`] when the path has nothing to read from, or it may not be read.
pub(super) fn run(
    extent: Measure,
    root: &Root,
    machine: &Machine,
    subject: &mut Subject,
    args: &CheckArgs,
) -> Result<Completion, Failure> {
    let plan = match extent {
        Measure::Quick => Plan::quick(args.duration),
        Measure::Full => Plan::full(args.duration),
    };
    let (bar, stop) = (Bar::on_stderr(), end_on_signals()?);
    let place = place(&subject.path, args)?;
    let writes = match place.scratch() {
        Some(dir) => {
            let writes = plan.writes(&subject.path, root)?;
            plan.fits(dir, &writes)?;
            output::note(&writes.filling(&dir.display().to_string()));
            Some(writes)
        }
        None => None,
    };
    let target = match plan.open(&place, writes.as_ref(), &bar, &stop) {
        Ok(target) => target,
        Err(LoadError::Interrupted) => return Ok(interrupted()),
        Err(error) => return Err(error.into()),
    };
    bar.phase("watching the idle machine", plan.idle);
    let path = &subject.path;
    let on = (Processors::of(machine, path), scene::drives(path));
    let session = Session::begin(Command::Check, (root, Kernel), on, stop, plan.idle);
    match plan.run(&session, &target, &bar, &mut subject.runs) {
        Ok(()) => Ok(Completion::Whole),
        Err(CutShort::Interrupted) => Ok(interrupted()),
        Err(CutShort::Failed(error)) if subject.runs.is_empty() => Err(error.into()),
        Err(CutShort::Failed(error)) => Ok(Completion::CutShort(error.into())),
        Err(CutShort::Run { step, why }) => {
            let path = target.path().display();
            Ok(Completion::CutShort(
                Failure::new(format!("the {step} of `{path}` was cut short: {why}"))
                    .hint("look for the device in the kernel log (`dmesg`); the report holds what was read until then"),
            ))
        }
    }
}

fn interrupted() -> Completion {
    Completion::CutShort(Failure::new("interrupted; the report holds what was measured until then"))
}

/// Where the bytes are read from.
fn place(path: &Path, args: &CheckArgs) -> Result<Place, Failure> {
    if let Some(dir) = &args.scratch {
        return Ok(Place::Scratch(dir.clone()));
    }
    Place::of(path, Use::ReadOrScratch).map_err(|error| {
        Failure::new(error.to_string()).hint("measure a device, mount or directory behind it")
    })
}
