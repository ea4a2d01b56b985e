//! `narrows import`: what did another tool measure, and is it to be believed?

mod gather;

use std::path::PathBuf;

use clap::Args;

use super::args::ColorWhen;
use super::{FINDINGS, Failure, NOTHING_FOUND, output};
use crate::report::import::{ImportReport, build};
use crate::report::sanitize::inert;
use crate::report::text::{self, Colour, Style};
use crate::results::UNDERSTOOD;

pub(super) use gather::Seen;

/// What `import` is asked.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ImportArgs {
    /// Texts with results, directories or archives of them; - is standard input
    ///
    /// What is in a file is told by its content: outputs of fio (text, JSON, terse and logs), dd, hdparm, KDiskMark,
    /// CrystalDiskMark, diskspd, IOzone, IOR, elbencho, bonnie++ and cryptsetup benchmark, with any text around them.
    /// What stands beside a result is evidence: the command, `free`, `zpool iostat`, logs of fio, what the storage is
    /// called, and the outputs that `check --from` understands. All that is given is of one machine.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Print JSON (schema narrows/import/1: bytes per second, bytes, nanoseconds)
    #[arg(long, conflicts_with = "plain")]
    pub json: bool,

    /// Print ASCII without colour, at most 78 columns wide
    #[arg(long)]
    pub plain: bool,

    /// When to use colour; auto means on a terminal, unless NO_COLOR is set
    #[arg(long, value_name = "WHEN", value_enum, default_value_t)]
    pub color: ColorWhen,
}

/// Reads the results, judges them, and shows both: 0 when all are to be trusted, 1 when one is not.
///
/// # Errors
/// [`Failure`] when a file cannot be read, or none holds a result.
pub(super) fn run(args: &ImportArgs) -> Result<u8, Failure> {
    let mut seen = Seen::default();
    let gathered = gather::from(&args.files, &mut seen)?;
    gathered.notes.iter().for_each(|note| output::note(&format!("narrows: {}", inert(note))));
    // Logs without a result beside them become results only when all was seen.
    let verdicts = seen.judge(&gathered.merger.finish());
    if seen.results.is_empty() {
        return Err(Failure::new("there is no result of a benchmark in what was given")
            .hint(format!("narrows understands {UNDERSTOOD}")));
    }
    let report = build(&seen.results, &verdicts);
    output::data(&render(&report, args)?)?;
    Ok(if report.is_trusted() { NOTHING_FOUND } else { FINDINGS })
}

fn render(report: &ImportReport, args: &ImportArgs) -> Result<String, Failure> {
    if args.json {
        let json = serde_json::to_string_pretty(report)
            .map_err(|error| Failure::new(format!("cannot write the report as JSON: {error}")))?;
        return Ok(json + "\n");
    }
    let colour = match args.color {
        ColorWhen::Auto => Colour::Auto,
        ColorWhen::Always => Colour::Always,
        ColorWhen::Never => Colour::Never,
    };
    Ok(text::import::render(report, &Style::detect(colour, args.plain)))
}
