//! Entries of a directory.
#![expect(clippy::disallowed_methods, reason = "the directory was named by the user; it is not the machine")]

use std::fs::{self, DirEntry};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use narrows_machine::snapshot::{Limited, MOST_ENTRIES, SnapshotError};
use narrows_machine::tree::Node;
use tar::{Archive, Entry, EntryType};

use super::MOST_UNPACKED;
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

/// The longest path, as of the kernel (`PATH_MAX`).
const LONGEST_PATH: usize = 4096;

/// Hands every entry of the archive in `plain` to `collector`. What is cut off or holds too much is read as far as it
/// goes.
///
/// # Errors
/// As [`Collector::entry`].
pub(super) fn read_archive(
    collector: &mut Collector,
    name: &str,
    plain: impl Read,
    depth: Depth,
) -> Result<(), SnapshotError> {
    let depth = Depth { archives: depth.archives + 1, ..depth };
    let (limited, is_spent) = Limited::new(plain, MOST_UNPACKED);
    let mut archive = Archive::new(limited);
    let entries = match archive.entries() {
        Ok(entries) => entries,
        Err(error) => {
            collector.note(format!("`{name}` cannot be read: {error}"));
            return Ok(());
        }
    };
    for entry in entries {
        let mut entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                collector.note(cut_off(name, is_spent.get(), &error));
                break;
            }
        };
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        if path.len() <= LONGEST_PATH {
            if let Some(found) = found_entry(&mut entry) {
                match collector.entry(&path, found, depth) {
                    Err(SnapshotError::TooLarge { limit }) => {
                        collector.note(format!("`{name}` holds more than {limit}; the rest is left out: unpack it and name what matters"));
                        break;
                    }
                    other => other?,
                }
            }
        } else {
            collector.note(format!("an entry of `{name}` with a path of {} bytes is left out", path.len()));
        }
    }
    Ok(())
}

fn cut_off(name: &str, is_spent: bool, error: &io::Error) -> String {
    match is_spent {
        true => format!("`{name}` unpacks to more than {} MiB; the rest is left out", MOST_UNPACKED >> 20),
        false => format!("`{name}` is damaged or cut off: {error}"),
    }
}

/// What an entry is; `None` for devices, pipes and extensions, which hold nothing to read.
fn found_entry<'e>(entry: &'e mut Entry<'_, impl Read>) -> Option<FoundInput<'e>> {
    let kind = entry.header().entry_type();
    let is_denied = entry.header().mode().is_ok_and(|mode| mode & 0o7777 == 0);
    let target = |entry: &Entry<'_, _>| {
        let target = entry.link_name_bytes().unwrap_or_default();
        String::from_utf8_lossy(&target).chars().take(LONGEST_PATH).collect::<String>()
    };
    Some(match kind {
        EntryType::Symlink => FoundInput::Node(Node::Link(target(entry))),
        // The other name of a file in the archive.
        EntryType::Link => {
            FoundInput::Node(Node::Link(format!("/{}", target(entry).trim_start_matches('/'))))
        }
        EntryType::Directory | EntryType::Regular | EntryType::Continuous if is_denied => {
            FoundInput::Node(Node::Denied)
        }
        EntryType::Directory => FoundInput::Node(Node::Dir),
        EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
            FoundInput::File(Box::new(entry))
        }
        _ => return None,
    })
}
