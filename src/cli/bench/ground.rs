//! A device of the user's as what is tested: proven empty, filled, and made as it was found.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use super::runner::Runner;
use super::writes::ESTIMATED_AFTER;
use crate::cli::guard::watching::Watching;
use crate::cli::{Failure, guard, output};
use narrows_base::units::{Bytes, human};
use narrows_load::guard::Others;
use narrows_load::target::Target as Opened;
use narrows_load::{LoadError, owned};
use narrows_report::progress::Progress;
use narrows_session::place;

/// How many places of foreign data are named.
const NAMED: usize = 3;

/// Opens and fills `size` bytes of a device if the guard permits that. What clearing them may take is set aside first.
pub(super) fn open(
    name: &str,
    own: &str,
    size: Bytes,
    compressible: u8,
    runner: &Runner<'_>,
) -> Result<Opened, Failure> {
    let writable = guard::open_for_writing(runner.root(), name, own, size, runner.session.stop())?;
    runner.keep_watch(&writable)?;
    let length = writable.region().length;
    if let Some(writes) = runner.writes() {
        let taken = writes.budget().take(length + length);
        taken.map_err(|over| {
            Failure::new(over.to_string()).hint("allow more with --max-writes, or use a smaller --size")
        })?;
    }
    runner.progress.phase("filling the device", Duration::ZERO);
    let begin = Instant::now();
    let progress = &mut |written: Bytes, all: Bytes| {
        if written >= ESTIMATED_AFTER {
            runner.estimate(None, written.per(begin.elapsed()), (written, all));
        }
        runner.follow(begin, written)
    };
    let path = writable.path().to_owned();
    let prepared = place::fill(writable, size, compressible, progress);
    let target = prepared.map_err(|error| match &error {
        LoadError::Others(others) => stopped(others, &path),
        _ => Failure::from(&error),
    })?;
    let filled = target.region().length;
    runner.estimate(Some(&target), filled.per(begin.elapsed()), (filled, filled));
    Ok(target)
}

/// Opens `size` bytes of a device if the guard permits that, and leaves them blank: the first test that writes them sees the
/// drive as it is when nothing was written to it. What clearing them may take is set aside first.
pub(super) fn open_blank(name: &str, own: &str, size: Bytes, runner: &Runner<'_>) -> Result<Opened, Failure> {
    let writable = guard::open_for_writing(runner.root(), name, own, size, runner.session.stop())?;
    runner.keep_watch(&writable)?;
    if let Some(writes) = runner.writes() {
        let taken = writes.budget().take(writable.region().length);
        taken.map_err(|over| Failure::new(over.to_string()).hint("allow more with --max-writes"))?;
    }
    let path = writable.path().to_owned();
    owned::blank(writable, size).map_err(|error| match &error {
        LoadError::Others(others) => stopped(others, &path),
        _ => Failure::from(&error),
    })
}

/// What is said when somebody else wrote to a device that was filled.
fn stopped(others: &Others, path: &Path) -> Failure {
    let path = path.display().to_string();
    let message = others.to_string();
    Failure::new(format!("{message}: all was stopped, and nothing was cleared")).hint(format!(
        "find out who writes to it (`fuser -v {path}`) and look at what was written; what narrows wrote bears its mark, and \
         `narrows guard --clean {path} --i-own SERIAL` clears exactly that; results of this run are not to be trusted"
    ))
}

/// Makes what was written of a device zero again: exactly what bears our marks. A signal does not end that; a second one
/// ends the program.
///
/// # Errors
/// [`Failure`] when something is left: data that somebody else wrote meanwhile, which stay, or what cannot be cleared.
pub(in crate::cli) fn clear(target: &Opened, runner: &Runner<'_>) -> Result<(), Failure> {
    if !target.is_marked() {
        return Ok(());
    }
    let path = target.path().display().to_string();
    let budget = runner.writes().map(|writes| writes.budget());
    if let Some(budget) = budget {
        // What was set aside.
        budget.give_back(target.changeable().length);
    }
    runner.end_watch();
    let progress = Progress::on_stderr(false);
    let mut watching = Watching::new(&path, target.size(), &progress, None);
    let follow = &mut |step| {
        let _ = watching.step(step);
        ControlFlow::Continue(())
    };
    let cleared = owned::clear(target, budget.map(|budget| &**budget), follow);
    let left = "what is left bears our marks: `narrows guard --clean DEVICE --i-own SERIAL` clears it";
    let cleared = cleared.map_err(|error| {
        if let LoadError::Others(others) = &error {
            return stopped(others, target.path());
        }
        let failed = Failure::from(&error);
        Failure::new(format!("{path} was not cleared: {failed}")).hint(left)
    })?;
    let Some(cleared) = cleared.filter(|cleared| !cleared.is_blank()) else { return Ok(()) };
    if cleared.foreign_bytes.get() == 0 {
        let bytes = human::bytes(cleared.left);
        return Err(Failure::new(format!("{bytes} of {path} could not be cleared")).hint(left));
    }
    let places: Vec<String> = cleared
        .foreign
        .iter()
        .take(NAMED)
        .map(|found| format!("at byte {}: {}", found.at.get(), found.looks()))
        .collect();
    let bytes = human::bytes(cleared.foreign_bytes);
    Err(Failure::new(format!(
        "somebody else wrote to {path} while narrows used it: {bytes} that bear no mark of ours ({}); they were not \
         touched, and all else was cleared",
        places.join("; ")
    ))
    .hint("find out who writes to it (`fuser -v`); results of this run are not to be trusted"))
}

/// A failure that ended everything, beside what could not be cleared.
pub(in crate::cli) fn beside(failure: Failure, uncleared: Option<&Failure>) -> Failure {
    if let Some(uncleared) = uncleared {
        output::failure(uncleared);
    }
    failure
}

/// What ended a run early, with what could not be cleared said as well.
pub(in crate::cli) fn with(trouble: Option<Failure>, uncleared: Option<Failure>) -> Option<Failure> {
    match trouble {
        Some(trouble) => Some(beside(trouble, uncleared.as_ref())),
        None => uncleared,
    }
}
