//! What can be typed for many captures.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// What `check --fleet` is asked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct FleetArgs {
    /// Take each entry of the directories behind --from for a machine of its own, and compare the machines
    ///
    /// An entry is a file, an archive or a directory; its name without the ending is the host's. A directory that holds
    /// two or more directories or archives and nothing else is a group, whose entries are hosts. Names that begin with a
    /// dot and links are left out. A capture that is broken is a row of its own and stops nothing.
    ///
    /// After one row for each host and finding comes what hosts of a model have in common, and who differs from nine in
    /// ten of them. Exit status: 0 no fault and no limit, 1 some (with --since: new or worse ones), 2 nothing could be
    /// read.
    #[arg(
        long,
        requires = "from",
        conflicts_with_all = ["target", "measure", "why", "scratch"]
    )]
    pub fleet: bool,

    /// How --fleet is written; --json is the same as --format jsonl
    #[arg(
        long,
        hide_short_help = true,
        value_name = "FORMAT",
        value_enum,
        requires = "fleet",
        conflicts_with = "json"
    )]
    pub format: Option<Format>,

    /// An earlier run of --fleet (its JSON lines), or an earlier directory: say what is new, changed and gone
    #[arg(long, hide_short_help = true, value_name = "PATH", requires = "fleet")]
    pub since: Option<PathBuf>,
}

/// How a fleet is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    /// Lines for a person: faults and limits, groups, outliers
    #[default]
    Table,
    /// One row for each host and finding, for a spreadsheet; a cell is never a formula
    Csv,
    /// One JSON object in each line (schema narrows/fleet/1)
    Jsonl,
}
