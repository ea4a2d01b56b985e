//! An unpacked record: a directory with the `sys`, `proc` and `dev` of a machine, from a snapshot or another collector.
#![expect(clippy::disallowed_methods, reason = "the directory was named by the user; it is not the machine")]

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::libc::{O_NOFOLLOW, O_NONBLOCK};
use nix::sys::statfs::{PROC_SUPER_MAGIC, SYSFS_MAGIC, statfs};

use super::read::{Budget, check_manifest};
use super::{MANIFEST, SnapshotError};
use crate::machine::tree::{Node, Tree};

/// What is looked at in the directory; anything else in it is none of our business.
const PARTS: [&str; 4] = ["sys", "proc", "dev", "narrows"];

/// Reads the record in `directory`. Links are kept as links and resolved within the tree, so none leads out of it.
///
/// # Errors
/// [`SnapshotError`] when the directory holds no record, holds too much, or is the root of a running machine.
pub fn read_directory(directory: &Path) -> Result<Tree, SnapshotError> {
    let parts: Vec<PathBuf> =
        PARTS.iter().map(|part| directory.join(part)).filter(|part| part.is_dir()).collect();
    if parts.is_empty() {
        return Err(SnapshotError::EmptyDirectory);
    }
    if parts.iter().any(|part| is_live(part)) {
        return Err(SnapshotError::LiveDirectory);
    }
    let mut walk = Walk { directory, budget: Budget::whole(), tree: Tree::new(), pending: parts };
    while let Some(path) = walk.pending.pop() {
        walk.visit(&path)?;
    }
    Ok(walk.tree)
}

/// Whether a kernel answers at `path`. Its files may block, change, or never end.
fn is_live(path: &Path) -> bool {
    statfs(path).is_ok_and(|fs| [PROC_SUPER_MAGIC, SYSFS_MAGIC].contains(&fs.filesystem_type()))
}

struct Walk<'a> {
    directory: &'a Path,
    budget: Budget,
    tree: Tree,
    pending: Vec<PathBuf>,
}

impl Walk<'_> {
    fn visit(&mut self, path: &Path) -> Result<(), SnapshotError> {
        self.budget.entry()?;
        let name = path.strip_prefix(self.directory).unwrap_or(path).to_string_lossy().into_owned();
        self.budget.bytes(name.len())?;
        let node = match self.node(path) {
            Ok(None) => return Ok(()),
            Ok(Some(node)) => node,
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Node::Denied,
            Err(error) => return Err(SnapshotError::Damaged(format!("`{name}`: {error}"))),
        };
        match &node {
            Node::File(content) => self.budget.bytes(content.len())?,
            Node::Link(target) => self.budget.bytes(target.len())?,
            Node::Dir | Node::Denied => {}
        }
        match node {
            Node::File(content) if name == MANIFEST => check_manifest(&content)?,
            node => self.tree.insert(&name, node),
        }
        Ok(())
    }

    /// What is at `path`; `None` for devices, pipes and sockets, which hold nothing to read.
    fn node(&mut self, path: &Path) -> io::Result<Option<Node>> {
        let meta = fs::symlink_metadata(path)?;
        let kind = meta.file_type();
        // As in a snapshot: without any permission it stands for what could not be read, even for root.
        let is_denied = meta.permissions().mode() & 0o7777 == 0;
        Ok(match () {
            () if kind.is_symlink() => Some(Node::Link(fs::read_link(path)?.to_string_lossy().into_owned())),
            () if !kind.is_dir() && !kind.is_file() => None,
            () if is_denied => Some(Node::Denied),
            () if kind.is_dir() => {
                for entry in fs::read_dir(path)? {
                    self.pending.push(entry?.path());
                }
                Some(Node::Dir)
            }
            () => Some(Node::File(self.content(path)?)),
        })
    }

    fn content(&self, path: &Path) -> io::Result<Vec<u8>> {
        let file = OpenOptions::new().read(true).custom_flags(O_NOFOLLOW | O_NONBLOCK).open(path)?;
        let mut content = Vec::new();
        // One byte more than is left, so that the budget is seen to be overdrawn.
        file.take(self.budget.bytes_left().saturating_add(1)).read_to_end(&mut content)?;
        Ok(content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::tree::Miss;
    use std::os::unix::fs::symlink;

    fn record() -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let device = dir.path().join("sys/devices/pci0000:00/0000:00:02.0");
        fs::create_dir_all(&device).expect("is ours");
        fs::create_dir_all(dir.path().join("sys/bus/pci/devices")).expect("is ours");
        fs::write(device.join("class"), "0x010802\n").expect("is ours");
        symlink(
            "../../../devices/pci0000:00/0000:00:02.0",
            dir.path().join("sys/bus/pci/devices/0000:00:02.0"),
        )
        .expect("is ours");
        dir
    }

    #[test]
    fn an_unpacked_record_is_read_like_a_packed_one() {
        let dir = record();
        fs::write(dir.path().join("unrelated"), "x").expect("is ours");
        let tree = read_directory(dir.path()).expect("is a record");
        assert_eq!(tree.read("/sys/bus/pci/devices/0000:00:02.0/class"), Ok(&b"0x010802\n"[..]));
        assert_eq!(tree.read("/unrelated"), Err(Miss::Absent));
    }

    #[test]
    fn a_link_out_of_the_directory_leads_nowhere() {
        let dir = record();
        symlink("/etc/passwd", dir.path().join("sys/out")).expect("is ours");
        symlink("../../../../../../../etc/passwd", dir.path().join("sys/up")).expect("is ours");
        let tree = read_directory(dir.path()).expect("is a record");
        assert_eq!(tree.read("/sys/out"), Err(Miss::Absent));
        assert_eq!(tree.read("/sys/up"), Err(Miss::Absent));
    }

    #[test]
    fn what_has_no_permission_could_not_be_read() {
        let dir = record();
        let closed = dir.path().join("sys/closed");
        fs::write(&closed, "").expect("is ours");
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).expect("is ours");
        let tree = read_directory(dir.path()).expect("is a record");
        assert_eq!(tree.read("/sys/closed"), Err(Miss::Denied));
    }

    #[test]
    fn a_running_machine_and_an_unrelated_directory_are_refused() {
        assert!(matches!(read_directory(Path::new("/")), Err(SnapshotError::LiveDirectory)));
        let empty = tempfile::tempdir().expect("a temporary directory");
        assert!(matches!(read_directory(empty.path()), Err(SnapshotError::EmptyDirectory)));
    }

    #[test]
    fn a_record_of_another_format_is_refused_by_name() {
        let dir = record();
        fs::create_dir(dir.path().join("narrows")).expect("is ours");
        let manifest = r#"{"schema":"narrows/snapshot/9","tool_version":"9.0.0","redacted":true}"#;
        fs::write(dir.path().join(MANIFEST), manifest).expect("is ours");
        assert!(matches!(read_directory(dir.path()), Err(SnapshotError::Version(_))));
    }
}
