//! Entries of a directory.
#![expect(clippy::disallowed_methods, reason = "the directory was named by the user; it is not the machine")]

use std::fs::{self, DirEntry};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use narrows_machine::snapshot::{MOST_ENTRIES, SnapshotError};
use narrows_machine::tree::Node;

use super::collector::{Collector, Depth, FoundInput};
use crate::capture::foreign::{self, is_live};

/// The kernel's directories, that no record is made of.
const LIVE: [&str; 2] = ["sys", "proc"];

/// Directories in directories, deeper than any collector makes them.
const DEEPEST: usize = 64;

/// Hands everything in `directory` to `collector`, in order of the names. Links are entries of a record, and otherwise
/// nothing: none is followed.
///
/// # Errors
/// [`SnapshotError::LiveDirectory`] when it is the root of a running machine; else as [`Collector::entry`].
pub(super) fn walk(directory: &Path, collector: &mut Collector) -> Result<(), SnapshotError> {
    match walk_all(directory, collector) {
        Err(SnapshotError::TooLarge { limit }) => {
            collector.note(format!(
                "`{}` holds more than {limit}; the rest is left out: name what matters in it",
                directory.display()
            ));
            Ok(())
        }
        other => other,
    }
}

fn walk_all(directory: &Path, collector: &mut Collector) -> Result<(), SnapshotError> {
    let mut pending: Vec<(usize, PathBuf)> = vec![(0, directory.to_owned())];
    while let Some((depth, path)) = pending.pop() {
        if LIVE.iter().any(|part| is_live(&path.join(part))) || is_live(&path) {
            return Err(SnapshotError::LiveDirectory);
        }
        let mut inside = match list(&path) {
            Ok(inside) => inside,
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                collector.entry(
                    &name_below(directory, &path),
                    FoundInput::Node(Node::Denied),
                    Depth::default(),
                )?;
                continue;
            }
            Err(error) => {
                collector.note(format!("`{}` cannot be read: {error}", name_below(directory, &path)));
                continue;
            }
        };
        inside.sort_by_key(DirEntry::path);
        let mut below = Vec::new();
        for entry in inside {
            let at = entry.path();
            match visit(directory, &at, collector)? {
                true if depth < DEEPEST => below.push((depth + 1, at)),
                true => collector.note(format!("`{}` is too deep", name_below(directory, &at))),
                false => {}
            }
        }
        pending.extend(below.into_iter().rev());
    }
    Ok(())
}

fn list(path: &Path) -> io::Result<Vec<DirEntry>> {
    // One more than the bound, so that the collector tells that there are more.
    fs::read_dir(path)?.take(MOST_ENTRIES + 1).collect()
}

fn name_below(directory: &Path, path: &Path) -> String {
    path.strip_prefix(directory).unwrap_or(path).to_string_lossy().into_owned()
}

/// Hands over what is at `path`. Whether it is a directory, to be walked too.
fn visit(directory: &Path, path: &Path, collector: &mut Collector) -> Result<bool, SnapshotError> {
    let name = name_below(directory, path);
    let found = match found_file(path) {
        Ok(Some(found)) => found,
        Ok(None) => return Ok(false),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            collector.note(format!("`{name}` may not be read"));
            FoundInput::Node(Node::Denied)
        }
        Err(error) => {
            collector.note(format!("`{name}` cannot be read: {error}"));
            return Ok(false);
        }
    };
    let is_directory = matches!(found, FoundInput::Node(Node::Dir));
    collector.entry(&name, found, Depth::default())?;
    Ok(is_directory)
}

/// What is at `path`; `None` for devices, pipes and sockets, which hold nothing to read.
fn found_file(path: &Path) -> io::Result<Option<FoundInput<'static>>> {
    let meta = fs::symlink_metadata(path)?;
    let kind = meta.file_type();
    // As in a snapshot: without any permission it stands for what could not be read, even for root.
    let is_denied = meta.permissions().mode() & 0o7777 == 0;
    Ok(match () {
        () if kind.is_symlink() => {
            let target = fs::read_link(path)?.to_string_lossy().into_owned();
            Some(FoundInput::Node(Node::Link(target)))
        }
        () if !kind.is_dir() && !kind.is_file() => None,
        () if is_denied => Some(FoundInput::Node(Node::Denied)),
        () if kind.is_dir() => Some(FoundInput::Node(Node::Dir)),
        () => Some(FoundInput::File(Box::new(foreign::open_entry(path)?))),
    })
}
