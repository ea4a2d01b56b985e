//! `narrows snapshot`: records exactly what `check` reads.

use std::fs::{self, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use super::args::SnapshotArgs;
use super::{Failure, NOTHING_FOUND, facts, output};
use crate::machine::root::Root;
use crate::machine::snapshot;
use crate::report::sanitize::inert;

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
    write(to, &packed)?;
    if to != Path::new("-") {
        output::note(&describe(to, args.no_redact, packed.len()));
    }
    Ok(NOTHING_FOUND)
}

fn describe(path: &Path, is_whole: bool, length: usize) -> String {
    let what = if is_whole {
        "with serial numbers, addresses and names: keep it to yourself"
    } else {
        "serial numbers, hardware and network addresses, host name and private paths are replaced"
    };
    format!(
        "wrote `{path}`, {length} bytes; {what}\nhint: `narrows check --from {path}` gives the same verdict anywhere",
        path = inert(&path.display().to_string())
    )
}

#[expect(clippy::disallowed_methods, reason = "the file was named on the command line")]
fn write(path: &Path, packed: &[u8]) -> Result<(), Failure> {
    let cannot = |error: &io::Error| {
        let failure = Failure::new(format!("cannot write `{}`: {error}", path.display()));
        match error.kind() {
            io::ErrorKind::AlreadyExists => failure.hint("choose another name; narrows overwrites nothing"),
            io::ErrorKind::NotFound => failure.hint("make the directory first"),
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                failure.hint("name a place that you may write to, such as /tmp")
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                failure.hint("free some space, or name a place that has some")
            }
            _ => failure,
        }
    };
    if path == Path::new("-") {
        let mut out = io::stdout().lock();
        return out.write_all(packed).and_then(|()| out.flush()).map_err(|error| cannot(&error));
    }
    let mut file =
        OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| cannot(&error))?;
    file.write_all(packed).map_err(|error| {
        // Half a snapshot is of no use, and it is ours.
        let _ = fs::remove_file(path);
        cannot(&error)
    })
}
