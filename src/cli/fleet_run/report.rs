//! `narrows fleet report`: a run again, from its directory alone.

use super::args::ReportArgs;
use super::{kept, show};
use crate::cli::{Failure, output};
use narrows_report::fleet_run::build;

pub(super) fn run(args: &ReportArgs) -> Result<u8, Failure> {
    output::check_page(&args.output.shown)?;
    let (run, files) = kept::read(&args.directory)?;
    let report = build(&run, &files, args.output.shown.is_public());
    show(&report, args.csv, &args.output, args.partial)
}
