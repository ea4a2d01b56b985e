//! `narrows report`: pages and text of what was saved.

use std::path::{Path, PathBuf};

use clap::Args;

use super::output::ShownArgs;
use super::{Failure, NOTHING_FOUND, files, output};
use narrows_report::saved::Saved;

/// What `report` is asked.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ReportArgs {
    /// Reports as JSON, one file each
    #[arg(required = true, value_name = "RUN")]
    pub files: Vec<PathBuf>,

    /// How they are shown.
    #[command(flatten)]
    pub shown: ShownArgs,
}

/// Reads all reports, then shows them.
///
/// # Errors
/// [`Failure`] when one cannot be read, is no report, or the page cannot be written.
pub(super) fn run(args: &ReportArgs) -> Result<u8, Failure> {
    let saved: Vec<Saved> = args.files.iter().map(|file| read(file)).collect::<Result<_, _>>()?;
    output::documents(&args.shown, |audience| saved.iter().map(|saved| saved.document(audience)).collect())?;
    Ok(NOTHING_FOUND)
}

fn read(file: &Path) -> Result<Saved, Failure> {
    let text = files::text(file, files::LARGEST, "name a file that --json or --save made")?;
    Saved::read(&text).map_err(|error| {
        Failure::new(format!("cannot show `{}`: {error}", file.display())).hint(error.hint())
    })
}
