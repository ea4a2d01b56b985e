//! A recorded machine as a file: a tar archive of what was read, compressed with zstd.
//!
//! [`write()`] is deterministic (entries sorted, times zero), so that equal trees give equal files. [`read()`] takes files
//! of strangers: whatever they hold, it ends in bounded memory with a [`Tree`] or a [`SnapshotError`].
//!
//! The first entry is [`MANIFEST`]; every other is a path of the machine without its leading slash. A symbolic link is
//! a link entry, and an entry without any permission (mode 0) stands for something that could not be read.

mod limited;
mod read;
pub mod redact;
mod write;

pub use limited::Limited;
pub use read::read;
pub use read::{Budget, check_manifest, directories_cost, read_archive};
pub use write::write;

use std::io;

use serde::{Deserialize, Serialize};

#[cfg(doc)]
use super::tree::Tree;

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
        "this directory is a running machine, not a record\nhint: leave out --from to look at this machine"
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
