//! `narrows snapshot`: records exactly what `check` reads.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use super::args::SnapshotArgs;
use super::{Failure, NOTHING_FOUND, facts, output};
use crate::machine::root::Root;
use crate::machine::snapshot;

/// Reads the machine as `check` does and writes the record.
///
/// # Errors
/// [`Failure`] when the file exists already or cannot be written.
pub(super) fn run(args: &SnapshotArgs) -> Result<u8, Failure> {
    let root = Root::recording();
    facts::read(&root);
    let Some(tree) = root.into_record() else {
        return Err(Failure::new("nothing was recorded"));
    };
    let mut packed = Vec::new();
    snapshot::write(&tree, &mut packed, !args.no_redact)
        .map_err(|error| Failure::new(format!("cannot pack the snapshot: {error}")))?;
    write(&args.output, &packed)?;
    if args.output != Path::new("-") {
        output::note(&describe(args, packed.len()));
    }
    Ok(NOTHING_FOUND)
}

fn describe(args: &SnapshotArgs, length: usize) -> String {
    let what = if args.no_redact {
        "with serial numbers, addresses and names: keep it to yourself"
    } else {
        "serial numbers, hardware and network addresses, host name and private paths are replaced"
    };
    format!(
        "wrote `{path}`, {length} bytes; {what}\nhint: `narrows check --from {path}` gives the same verdict anywhere",
        path = args.output.display()
    )
}

#[expect(clippy::disallowed_methods, reason = "the file was named on the command line")]
fn write(path: &Path, packed: &[u8]) -> Result<(), Failure> {
    let cannot = |error: &io::Error| {
        let failure = Failure::new(format!("cannot write `{}`: {error}", path.display()));
        match error.kind() {
            io::ErrorKind::AlreadyExists => failure.hint("choose another name; narrows overwrites nothing"),
            _ => failure,
        }
    };
    if path == Path::new("-") {
        return io::stdout().lock().write_all(packed).map_err(|error| cannot(&error));
    }
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .and_then(|mut file| file.write_all(packed))
        .map_err(|error| cannot(&error))
}
