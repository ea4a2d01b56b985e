//! `narrows export`: what `check` finds, for systems that watch many machines.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;

use super::{Failure, NOTHING_FOUND, answer, facts, files, output};
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

    /// A record or capture in the place of this machine
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub from: Vec<PathBuf>,
}

/// Checks the machine and writes what was found in the format that was asked for.
///
/// # Errors
/// [`Failure`] when the machine or the file cannot be used.
pub(super) fn run(args: &ExportArgs) -> Result<u8, Failure> {
    let facts = facts::open_gently(&args.from)?;
    facts.notes.iter().for_each(|note| output::note(note));
    let (subjects, verdict) = answer::judge(&facts.machine);
    let report = view::build(&facts.machine, &subjects, &verdict);
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let families = prometheus::of_check(&facts.machine, &report, since_1970.as_secs() as f64);
    let text = prometheus::render(&families);
    match args.prometheus.as_os_str() == "-" {
        true => output::data(&text)?,
        false => files::replace(&args.prometheus, &text)?,
    }
    Ok(NOTHING_FOUND)
}
