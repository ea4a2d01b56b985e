//! From a tree to a file.

use std::borrow::Cow;
use std::io::{self, Write};

use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use tar::{Builder, EntryType, Header};

use super::redact::redacted;
use super::{MANIFEST, Manifest, SCHEMA, SnapshotError};
use crate::tree::{Node, Tree};

/// Longer link targets do not fit a tar header (POSIX.1-1988 `ustar`, field `linkname`).
const LINK_FIELD: usize = 100;

/// Writes `tree` to `out`; with `redact`, without what identifies its owner ([`super::redact`]).
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
    header.set_mtime(0);
    header.set_size(0);
    match node {
        Node::File(content) => {
            header.set_mode(0o644);
            header.set_size(u64::try_from(content.len()).map_err(io::Error::other)?);
            builder.append_data(&mut header, path, content.as_slice())
        }
        Node::Denied => {
            header.set_mode(0);
            builder.append_data(&mut header, path, io::empty())
        }
        Node::Dir => {
            header.set_entry_type(EntryType::Directory);
            header.set_mode(0o755);
            builder.append_data(&mut header, path, io::empty())
        }
        Node::Link(target) => {
            header.set_entry_type(EntryType::Symlink);
            header.set_mode(0o777);
            if target.len() > LINK_FIELD {
                return builder.append_link(&mut header, path, target);
            }
            // Literally: `append_link` would tidy the target up.
            header.set_link_name_literal(target)?;
            builder.append_data(&mut header, path, io::empty())
        }
    }
}
