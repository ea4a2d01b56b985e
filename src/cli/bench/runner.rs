//! The runner of `narrows-session`, with a bar on standard error.

use crate::cli::bar::Bar;
use crate::cli::guard::watching::Watching;
use crate::cli::signals::end_on_signals;
use crate::cli::{Failure, output};
use narrows_load::target::Target as Opened;
use narrows_session::measure::Command;
use narrows_session::runner;
use narrows_session::scene::Scene;
use narrows_session::writes::Writes;

/// A runner that shows how far it is.
pub(in crate::cli) type Runner<'a> = runner::Runner<'a, Bar>;

/// A runner of a command on the path of `scene`, which signals stop.
///
/// # Errors
/// Signals cannot be watched for.
pub(in crate::cli) fn begin(
    command: Command,
    scene: &Scene,
    writes: Option<Writes>,
) -> Result<Runner<'_>, Failure> {
    Ok(runner::Runner::begin(command, scene, writes, (Bar::on_stderr(), end_on_signals()?)))
}

/// Makes what was written of a device zero again.
///
/// # Errors
/// [`Failure`] when something is left.
pub(in crate::cli) fn clear(target: &Opened, runner: &Runner<'_>) -> Result<(), Failure> {
    let path = target.path().display().to_string();
    let mut watching = Watching::new(&path, None);
    let told = &mut |size, step| {
        // Clearing goes on, whatever comes.
        let _ = watching.step(size, step);
    };
    Ok(runner.clear(target, told)?)
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
