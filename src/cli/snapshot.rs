//! `narrows snapshot`: records exactly what narrows reads.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::Args;

use super::files::write_for;
use super::{Failure, NOTHING_FOUND, facts, output};
use narrows_base::shell;
use narrows_load::held::Readers;

/// What `snapshot` is asked.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct SnapshotArgs {
    /// The file to write (a tar archive compressed with zstd), or - for standard output
    #[arg(short, long, value_name = "FILE", required_unless_present = "script")]
    pub output: Option<PathBuf>,

    /// Print a shell script that collects the same as one text, for a machine on which narrows cannot run
    #[arg(long, conflicts_with_all = ["output", "no_redact"])]
    pub script: bool,

    /// Keep serial numbers, addresses, names and mount points as they are
    #[arg(long)]
    pub no_redact: bool,
}

/// The collector for machines and hosts on which narrows cannot run.
pub(super) const COLLECTOR: &str = include_str!("collect.sh");

/// Reads the machine as every answer does and writes the record.
///
/// # Errors
/// [`Failure`] when the file exists already or cannot be written.
pub(super) fn run(args: &SnapshotArgs) -> Result<u8, Failure> {
    // One of the two is there: clap sees to it.
    let Some(to) = args.output.as_deref() else {
        output::data(COLLECTOR)?;
        return Ok(NOTHING_FOUND);
    };
    if to == Path::new("-") && io::stdout().is_terminal() {
        return Err(Failure::new("a snapshot is no text for a terminal")
            .hint("name a file, or send it on: `narrows snapshot -o - | …`"));
    }
    let packed = facts::record(!args.no_redact)?;
    // A whole snapshot is for its owner alone; one without private facts is made to be given away.
    let (readers, what) = match args.no_redact {
        true => (Readers::Us, "with serial numbers, addresses and names: keep it to yourself"),
        false => (Readers::All, "serial numbers, addresses, and all names that people gave are replaced"),
    };
    if to == Path::new("-") {
        output::bytes(&packed)?;
        return Ok(NOTHING_FOUND);
    }
    write_for(to, &packed, readers)?;
    output::note(&format!("wrote `{}`, {} bytes; {what}", to.display(), packed.len()));
    output::note(&format!("hint: `narrows {}` gives the same verdict anywhere", shell::path(to)));
    Ok(NOTHING_FOUND)
}
