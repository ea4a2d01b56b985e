//! Entries of an archive.

use std::io::{self, Read};

use narrows_machine::snapshot::{Limited, SnapshotError};
use narrows_machine::tree::Node;
use tar::{Archive, Entry, EntryType};

use super::MOST_UNPACKED;
use super::collector::{Collector, Depth, FoundInput};

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
