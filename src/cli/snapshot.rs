//! `narrows snapshot`: records exactly what `check` reads.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::Args;

use super::bench::save::write_for;
use super::{Failure, NOTHING_FOUND, facts, output};
use narrows_base::shell;
use narrows_load::held::Readers;
use narrows_machine::root::Root;
use narrows_machine::snapshot;

/// What `snapshot` is asked.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct SnapshotArgs {
    /// The file to write (a tar archive compressed with zstd), or - for standard output
    #[arg(short, long, value_name = "FILE", required_unless_present = "script")]
    pub output: Option<PathBuf>,

    /// Print a shell script that collects the same as one text, for a machine on which narrows cannot run
    ///
    /// `narrows snapshot --script > collect.sh`, then there `sudo sh collect.sh - > capture.txt`, then here
    /// `narrows --from capture.txt`. The script needs nothing but a POSIX shell; what lspci, dmidecode and others
    /// tell is added where they are installed.
    #[arg(long, conflicts_with_all = ["output", "no_redact"])]
    pub script: bool,

    /// Keep serial numbers, addresses, names and mount points as they are
    #[arg(long)]
    pub no_redact: bool,
}

/// The collector for machines on which narrows cannot run.
const COLLECTOR: &str = include_str!("collect.sh");

/// Reads the machine as `check` does and writes the record.
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
    let root = Root::recording();
    facts::read(&root);
    let Some(tree) = root.into_record() else {
        return Err(Failure::new("nothing was recorded"));
    };
    let mut packed = Vec::new();
    snapshot::write(&tree, &mut packed, !args.no_redact)
        .map_err(|error| Failure::with_own_hint(&format!("cannot pack the snapshot: {error}")))?;
    write(to, &packed, args.no_redact)?;
    if to != Path::new("-") {
        output::note(&describe(to, args.no_redact, packed.len()));
    }
    Ok(NOTHING_FOUND)
}

fn describe(path: &Path, is_whole: bool, length: usize) -> String {
    let what = if is_whole {
        "with serial numbers, addresses and names: keep it to yourself"
    } else {
        "serial numbers, addresses, and all names that people gave are replaced"
    };
    format!(
        "wrote `{path}`, {length} bytes; {what}\nhint: `narrows check --from {word}` gives the same verdict anywhere",
        path = path.display(),
        word = shell::path(path)
    )
}

/// A whole snapshot is for its owner alone; one without private facts is made to be given away.
fn write(path: &Path, packed: &[u8], is_whole: bool) -> Result<(), Failure> {
    if path == Path::new("-") {
        return output::bytes(packed);
    }
    write_for(path, packed, if is_whole { Readers::Us } else { Readers::All })
}
