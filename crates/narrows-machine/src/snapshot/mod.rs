//! A recorded machine as a file: a tar archive of what was read, compressed with zstd.
//!
//! [`write()`] is deterministic (entries sorted, times zero), so that equal trees give equal files. [`read()`] takes files
//! of strangers: whatever they hold, it ends in bounded memory with a [`Tree`] or a [`SnapshotError`].
//!
//! The first entry is [`MANIFEST`]; every other is a path of the machine without its leading slash. A symbolic link is
//! a link entry, and an entry without any permission (mode 0) stands for something that could not be read.

pub mod redact;

use std::borrow::Cow;
use std::cell::Cell;
use std::io::{self, Read, Write};
use std::rc::Rc;

use crate::tree::{Node, Tree, normalise};
use redact::redacted;
use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde::{Deserialize, Serialize};
use tar::{Archive, Builder, Entry, EntryType, Header};

/// Where the manifest stands in the archive.
pub const MANIFEST: &str = "narrows/manifest.json";

/// The name and version of the format, in the manifest.
pub const SCHEMA: &str = "narrows/snapshot/1";

/// The bytes that a snapshot may unpack to, names included.
pub const MOST_BYTES: u64 = 256 << 20;

/// The entries that a snapshot may have.
pub const MOST_ENTRIES: usize = 200_000;

/// What made a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Always `narrows/snapshot/1`.
    pub schema: String,
    /// The version of narrows.
    pub tool_version: String,
    /// Whether serial numbers, addresses and names were replaced.
    pub redacted: bool,
}

/// Why a snapshot cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The file could not be written.
    #[error(
        "cannot write the snapshot: {0}\nhint: check free space and permissions at the place it is written to"
    )]
    Write(#[source] io::Error),
    /// The file is neither a tar archive nor one compressed with zstd.
    #[error(
        "this is no snapshot: it is neither a tar archive nor zstd data\nhint: make one with `narrows snapshot -o FILE`"
    )]
    NotASnapshot,
    /// The directory is the root of a running machine.
    #[error(
        "this directory is a running machine, not a record\nhint: `narrows` without a file looks at this machine"
    )]
    LiveDirectory,
    /// The file is damaged or cut off.
    #[error("the snapshot is damaged or cut off: {0}\nhint: copy it again; it may have been cut on the way")]
    Damaged(String),
    /// The file unpacks to more than a machine ever holds.
    #[error(
        "the snapshot holds more than {limit}\nhint: this is no record of a machine; do not trust where it is from"
    )]
    TooLarge {
        /// Which limit was passed, in words.
        limit: &'static str,
    },
    /// The file was made by a version whose format is not known here.
    #[error(
        "the snapshot has the format `{0}`, this narrows reads `narrows/snapshot/1`\nhint: update narrows"
    )]
    Version(String),
}

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

/// Longer link targets do not fit a tar header (POSIX.1-1988 `ustar`, field `linkname`).
const LINK_FIELD: usize = 100;

/// Writes `tree` to `out`; with `redact`, without what identifies its owner ([`redact`]).
///
/// # Errors
/// [`SnapshotError::Write`] when `out` does not take it.
pub fn write(tree: &Tree, mut out: impl Write, redact: bool) -> Result<(), SnapshotError> {
    let tree = if redact { Cow::Owned(redacted(tree)) } else { Cow::Borrowed(tree) };
    let archive = archive(&tree, redact).map_err(SnapshotError::Write)?;
    // Compressed in memory: the encoder cannot report that its drain failed.
    let packed = compress_to_vec(archive.as_slice(), CompressionLevel::Fastest);
    out.write_all(&packed).and_then(|()| out.flush()).map_err(SnapshotError::Write)
}

fn archive(tree: &Tree, is_redacted: bool) -> io::Result<Vec<u8>> {
    let manifest = Manifest {
        schema: SCHEMA.to_owned(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        redacted: is_redacted,
    };
    let mut builder = Builder::new(Vec::new());
    let manifest = serde_json::to_vec(&manifest)?;
    append(&mut builder, MANIFEST, &Node::File(manifest))?;
    for (path, node) in tree.iter() {
        let path = path.trim_start_matches('/');
        if !path.is_empty() && path != MANIFEST {
            append(&mut builder, path, node)?;
        }
    }
    builder.into_inner()
}

fn append(builder: &mut Builder<Vec<u8>>, path: &str, node: &Node) -> io::Result<()> {
    let mut header = Header::new_gnu();
    let (mode, content): (_, &[u8]) = match node {
        Node::File(content) => (0o644, content.as_slice()),
        Node::Denied => (0, &[]),
        Node::Dir => (0o755, &[]),
        Node::Link(_) => (0o777, &[]),
    };
    header.set_mode(mode);
    header.set_mtime(0);
    header.set_size(u64::try_from(content.len()).map_err(io::Error::other)?);
    match node {
        Node::File(_) | Node::Denied => {}
        Node::Dir => header.set_entry_type(EntryType::Directory),
        Node::Link(target) => {
            header.set_entry_type(EntryType::Symlink);
            if target.len() > LINK_FIELD {
                return builder.append_link(&mut header, path, target);
            }
            // Literally: `append_link` would tidy the target up.
            header.set_link_name_literal(target)?;
        }
    }
    builder.append_data(&mut header, path, content)
}

/// A reader that fails, rather than ends, when more is asked of it than it may give.
#[derive(Debug)]
pub struct Limited<R> {
    inner: R,
    left: u64,
    is_spent: Rc<Cell<bool>>,
}

impl<R: Read> Limited<R> {
    /// A reader of at most so many bytes, and what says later whether more were asked for.
    pub fn new(inner: R, most: u64) -> (Self, Rc<Cell<bool>>) {
        let is_spent = Rc::new(Cell::new(false));
        (Self { inner, left: most, is_spent: Rc::clone(&is_spent) }, is_spent)
    }
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(into.len());
        if most == 0 && !into.is_empty() {
            self.is_spent.set(true);
            return Err(io::Error::other("too large"));
        }
        let got = self.inner.read(into.get_mut(..most).unwrap_or_default())?;
        self.left = self.left.saturating_sub(u64::try_from(got).unwrap_or(u64::MAX));
        Ok(got)
    }
}
