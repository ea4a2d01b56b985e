//! `narrows fleet report`: a run again, from its directory alone.

use super::args::ReportArgs;
use super::{kept, show};
use crate::cli::Failure;
use narrows_report::fleet_run::build;

pub(super) fn run(args: &ReportArgs) -> Result<u8, Failure> {
    let (run, files) = kept::read(&args.directory)?;
    let report = build(&run, &files, args.output.look.plain);
    show(&report, args.csv, args.output, args.partial)
}
