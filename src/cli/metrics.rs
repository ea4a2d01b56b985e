//! `narrows export`: what `check` finds, for systems that watch many machines.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;

use super::facts::{self, Facts};
use super::{Failure, NOTHING_FOUND, check, output};
use narrows_load::held::{Aim, Held, Readers};
use narrows_report::prometheus;
use narrows_report::view;

/// What `export` is asked.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ExportArgs {
    /// Write metrics for Prometheus to FILE (- is standard output), in the place of those before
    ///
    /// Text format 0.0.4, as node_exporter's textfile collector and `promtool check metrics` read it. FILE is put in place
    /// whole, by rename. What is not known is left out.
    #[arg(long, value_name = "FILE")]
    pub prometheus: PathBuf,

    /// Write only the wear of NVMe drives, which takes root to read
    #[arg(long)]
    pub spare: bool,

    /// A record or capture in the place of this machine
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub from: Vec<PathBuf>,
}

/// Checks the machine and writes what was found in the format that was asked for.
///
/// # Errors
/// [`Failure`] when the machine or the file cannot be used.
pub(super) fn run(args: &ExportArgs) -> Result<u8, Failure> {
    let at = now();
    let families = if args.spare {
        prometheus::of_health(&open(args)?.machine.health, at)
    } else {
        let facts = open(args)?;
        let report = report(&facts);
        prometheus::of_check(&facts.machine, &report, at)
    };
    let text = prometheus::render(&families);
    if args.prometheus == Path::new("-") {
        output::data(&text)?
    } else {
        replace(&args.prometheus, &text)?
    }
    Ok(NOTHING_FOUND)
}

fn open(args: &ExportArgs) -> Result<Facts, Failure> {
    let facts = facts::open_gently(&args.from)?;
    facts.notes.iter().for_each(|note| output::note(note));
    Ok(facts)
}

fn report(facts: &Facts) -> view::CheckReport {
    let (subjects, verdict) = check::judge(&facts.machine);
    view::build(&facts.machine, &subjects, &verdict)
}

/// Seconds since 1970.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs() as f64)
}

/// Puts a file in place whole: who reads it sees the old one or the new one.
fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display, hint: Option<&str>| {
        Failure::new(format!("cannot write `{}`: {error}", path.display()))
            .maybe_hint(hint.map(str::to_owned))
    };
    let place = Held::parent_of(path, Aim::Write).map_err(|error| {
        let shared =
            error.hint().map(|_| "run it as the user whose directory it is: `sudo -u USER narrows export …`");
        failed(&error, shared)
    })?;
    let Some((directory, name)) = place else { return Err(failed(&"it is no name of a file", None)) };
    let meanwhile: OsString = [OsStr::new("."), &name, OsStr::new(".unfinished")].into_iter().collect();
    directory.replace(&name, &meanwhile, text.as_bytes(), Readers::All).map_err(|error| failed(&error, None))
}
