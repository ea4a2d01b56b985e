//! From a file to a tree, whoever made the file.

use std::io::{self, Read};

use ruzstd::decoding::StreamingDecoder;
use tar::{Archive, Entry, EntryType};

use super::limited::Limited;
use super::{MANIFEST, MOST_BYTES, MOST_ENTRIES, Manifest, SCHEMA, SnapshotError};
use crate::tree::{Node, Tree, normalise};

/// The magic number of a zstd frame (RFC 8878, section 3.1.1), little-endian.
const ZSTD: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();

/// The most memory that a zstd frame may ask for as its window. Our own writer uses less than 1 MiB, and `zstd -19`
/// 8 MiB; RFC 8878, section 3.1.1.1.2 recommends 8 MiB as the least to support.
const WINDOW: u64 = 16 << 20;

/// Where `ustar` stands in a tar header (POSIX.1-1988).
const TAR_MAGIC: std::ops::Range<usize> = 257..262;

/// The longest path, as of the kernel (`PATH_MAX`).
const LONGEST_PATH: usize = 4096;

/// Reads a snapshot. Paths are taken within the tree (`..` never climbs out of it), links are kept as links.
///
/// # Errors
/// [`SnapshotError`] when `input` is no snapshot, is damaged, or holds too much.
pub fn read(mut input: impl Read) -> Result<Tree, SnapshotError> {
    let mut start = Vec::new();
    (&mut input).take(512).read_to_end(&mut start).map_err(damaged)?;
    let is_zstd = start.starts_with(&ZSTD);
    let is_tar = start.get(TAR_MAGIC) == Some(b"ustar");
    let mut whole = io::Cursor::new(start).chain(input);
    if is_zstd {
        decompress(whole)
    } else if is_tar {
        read_archive(&mut whole)
    } else {
        Err(SnapshotError::NotASnapshot)
    }
}

fn decompress(packed: impl Read) -> Result<Tree, SnapshotError> {
    let mut plain = StreamingDecoder::new_with_max_window_size(packed, WINDOW)
        .map_err(|error| SnapshotError::Damaged(error.to_string()))?;
    let tree = read_archive(&mut plain)?;
    // What follows the archive's end mark is padding; the checksum stands behind it.
    io::copy(&mut (&mut plain).take(MOST_BYTES), &mut io::sink()).map_err(damaged)?;
    let frame = plain.into_frame_decoder();
    match (frame.get_checksum_from_data(), frame.get_calculated_checksum()) {
        (Some(stated), Some(found)) if stated != found => {
            Err(SnapshotError::Damaged("its checksum is wrong".to_owned()))
        }
        _ => Ok(tree),
    }
}

fn damaged(error: io::Error) -> SnapshotError {
    SnapshotError::Damaged(error.to_string())
}

/// What may still be unpacked.
#[derive(Debug)]
pub struct Budget {
    bytes: u64,
    entries: usize,
}

impl Budget {
    /// That of a whole snapshot.
    pub const fn whole() -> Self {
        Self { bytes: MOST_BYTES, entries: MOST_ENTRIES }
    }

    /// The bytes that may still be read.
    pub const fn bytes_left(&self) -> u64 {
        self.bytes
    }

    /// Takes one entry from what is left.
    ///
    /// # Errors
    /// [`SnapshotError::TooLarge`] when there is none.
    pub fn entry(&mut self) -> Result<(), SnapshotError> {
        self.entries =
            self.entries.checked_sub(1).ok_or(SnapshotError::TooLarge { limit: "200 000 entries" })?;
        Ok(())
    }

    /// Takes `count` bytes from what is left.
    ///
    /// # Errors
    /// [`SnapshotError::TooLarge`] when there are fewer.
    pub fn bytes(&mut self, count: usize) -> Result<(), SnapshotError> {
        let left = u64::try_from(count).ok().and_then(|count| self.bytes.checked_sub(count));
        self.bytes = left.ok_or(TOO_MANY_BYTES)?;
        Ok(())
    }
}

const TOO_MANY_BYTES: SnapshotError = SnapshotError::TooLarge { limit: "256 MiB" };

/// Reads a snapshot that is not compressed. Its names and extensions are read into memory before an entry is seen, so the archive as a
/// whole is limited too.
pub fn read_archive(plain: &mut impl Read) -> Result<Tree, SnapshotError> {
    let (limited, is_spent) = Limited::new(plain, MOST_BYTES);
    entries(Archive::new(limited)).map_err(|error| if is_spent.get() { TOO_MANY_BYTES } else { error })
}

fn entries(mut archive: Archive<impl Read>) -> Result<Tree, SnapshotError> {
    let mut budget = Budget::whole();
    let mut tree = Tree::new();
    let mut before = String::new();
    for entry in archive.entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        budget.entry()?;
        let path = normalise(&String::from_utf8_lossy(&entry.path_bytes()));
        if path.len() > LONGEST_PATH {
            return Err(SnapshotError::Damaged(format!("a path of {} bytes", path.len())));
        }
        budget.bytes(directories_cost(&before, &path))?;
        if path.trim_start_matches('/') == MANIFEST {
            check_manifest(&content(&mut entry, &mut budget)?)?;
        } else if let Some(node) = node(&mut entry, &mut budget)? {
            tree.insert(&path, node);
            before = path;
        }
    }
    Ok(tree)
}

/// The bytes of names that a path adds: its own and those of the directories above it that the path before it did not
/// have. A tree makes every directory that is missing, so a deep path costs more than its length.
pub fn directories_cost(before: &str, path: &str) -> usize {
    let common = before.bytes().zip(path.bytes()).take_while(|(a, b)| a == b).count();
    let above: usize = path.match_indices('/').map(|(at, _)| at).filter(|at| *at > common).sum();
    path.len().saturating_add(above)
}

fn node(entry: &mut Entry<'_, impl Read>, budget: &mut Budget) -> Result<Option<Node>, SnapshotError> {
    let kind = entry.header().entry_type();
    let is_denied = entry.header().mode().map_err(damaged)? & 0o7777 == 0;
    Ok(match kind {
        EntryType::Symlink => Some(Node::Link(link_target(entry, budget)?)),
        // The other name of a file in the archive: the same as a link to it within the tree.
        EntryType::Link => {
            Some(Node::Link(format!("/{}", link_target(entry, budget)?.trim_start_matches('/'))))
        }
        EntryType::Directory | EntryType::Regular | EntryType::Continuous if is_denied => Some(Node::Denied),
        EntryType::Directory => Some(Node::Dir),
        EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
            Some(Node::File(content(entry, budget)?))
        }
        // Devices, pipes and archive extensions hold nothing to read.
        _ => None,
    })
}

fn link_target(entry: &Entry<'_, impl Read>, budget: &mut Budget) -> Result<String, SnapshotError> {
    let target = entry.link_name_bytes();
    let target = String::from_utf8_lossy(target.as_deref().unwrap_or_default()).into_owned();
    if target.len() > LONGEST_PATH {
        return Err(SnapshotError::Damaged(format!("a link of {} bytes", target.len())));
    }
    budget.bytes(target.len())?;
    Ok(target)
}

/// The content of an entry. Its header is not believed: a sparse entry of one block may claim to be of any size.
fn content(entry: &mut Entry<'_, impl Read>, budget: &mut Budget) -> Result<Vec<u8>, SnapshotError> {
    let mut content = Vec::new();
    let stated = entry.header().entry_size().map_err(damaged)?;
    let most = budget.bytes_left().saturating_add(1);
    let got = entry.take(most).read_to_end(&mut content).map_err(damaged)?;
    budget.bytes(got)?;
    if u64::try_from(got).is_ok_and(|got| got < stated) {
        return Err(SnapshotError::Damaged(format!("an entry of {stated} bytes ends after {got}")));
    }
    Ok(content)
}

/// Refuses a record whose manifest is not one that is understood here.
pub fn check_manifest(json: &[u8]) -> Result<(), SnapshotError> {
    let manifest: Manifest = serde_json::from_slice(json)
        .map_err(|error| SnapshotError::Damaged(format!("its manifest cannot be read: {error}")))?;
    if manifest.schema != SCHEMA {
        return Err(SnapshotError::Version(
            manifest.schema.chars().filter(|c| !c.is_control()).take(60).collect(),
        ));
    }
    Ok(())
}
