//! What tells a file from all others, whatever path leads to it: `stat(2)`, `statfs(2)` and `kcmp(2)`.
//!
//! A tree has no inodes: there each resolved path is a file of its own, and a path below `/dev` is the device that
//! `/sys/class/block` tells of. A fixture says more under [`PROBES`]`/stat`: `block 8:32`, `char 21:0`, `file 8:1 77`
//! (and its length, 0 where there is none), `socket`; and under [`PROBES`]`/again` what [`Root::stands_elsewhere`] is true of.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::{Backing, PROBES, Root};
use crate::block::dm_table::parse_number_pair;
use crate::kernel;
use crate::tree::{Tree, normalise};

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    Directory,
    /// A block device with this major and minor number.
    Block(u32, u32),
    /// A character device with this major and minor number.
    Character(u32, u32),
    Pipe,
    Socket,
}

/// What tells a file from all others: the device number of its file system, and its inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId {
    /// `st_dev`, major and minor.
    pub device: (u32, u32),
    /// `st_ino`.
    pub inode: u64,
}

/// What a path leads to, and what tells it from all else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// What it is.
    pub kind: FileKind,
    /// Which one it is.
    pub file: FileId,
    /// How long a regular file is, in bytes.
    pub bytes: u64,
}

/// File systems whose files stand elsewhere, too (their numbers in `include/uapi/linux/magic.h`): overlay, FUSE and virtiofs, eCryptfs, NFS, SMB in its three versions, 9P, Ceph, AFS, Coda, VirtualBox.
const ELSEWHERE: [u64; 12] = [
    0x794c_7630,
    0x6573_5546,
    0xf15f,
    0x6969,
    0x517b,
    0xff53_4d42,
    0xfe53_4d42,
    0x0102_1997,
    0x00c3_6400,
    0x5346_414f,
    0x7375_7245,
    0x786f_4256,
];

/// A file system of the kernel's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelFs {
    Proc,
    Sys,
}

impl KernelFs {
    /// `PROC_SUPER_MAGIC` and `SYSFS_MAGIC` of `include/uapi/linux/magic.h`.
    const fn magic(self) -> u64 {
        match self {
            Self::Proc => 0x9fa0,
            Self::Sys => 0x6265_6572,
        }
    }
}

impl Root {
    /// What is at `path`, links followed; `None` when nothing is, or when it may not be looked at. It is not recorded.
    pub fn stat(&self, path: &str) -> Option<Stat> {
        match &self.backing {
            Backing::Tree(tree) => stat_in(tree, path),
            Backing::Live => kernel::stat(path),
        }
    }

    /// Whether `path` is on a file system whose files stand on another one, too, under other identities: an overlay, a file
    /// system in user space, one of the network. `false` when that cannot be told.
    pub fn stands_elsewhere(&self, path: &str) -> bool {
        match &self.backing {
            Backing::Tree(tree) => {
                let real = tree.read_link(path).map_or_else(|_| path.to_owned(), str::to_owned);
                tree.read(&format!("{PROBES}/again{}", normalise(&real))).is_ok()
            }
            Backing::Live => kernel::file_system(path).is_some_and(|magic| ELSEWHERE.contains(&magic)),
        }
    }

    /// Which file is at `path`, links followed, and when its content or what is known of it was last changed, in nanoseconds.
    /// Of the live machine only; not recorded.
    pub fn changed(&self, path: &str) -> Option<(FileId, i128)> {
        self.is_live().then(|| kernel::changed(path))?
    }

    /// What kind of thing is at `path`, links followed; `None` when nothing is.
    pub fn kind(&self, path: &str) -> Option<FileKind> {
        self.stat(path).map(|stat| stat.kind)
    }

    /// Whether `path` is on this file system of the kernel. Of a tree it is what a fixture says, and yes otherwise.
    pub fn is_on(&self, path: &str, wanted: KernelFs) -> bool {
        match &self.backing {
            Backing::Tree(tree) => tree.read(&format!("{PROBES}/statfs{path}")).is_err(),
            Backing::Live => kernel::file_system(path) == Some(wanted.magic()),
        }
    }

    /// The number of the mount that holds `path` (Linux 5.8), of the live machine only; not recorded.
    pub fn mount_id(&self, path: &str) -> Option<u64> {
        self.is_live().then(|| kernel::mount_id(path))?
    }

    /// The kind of file system that holds `path`, where its number tells it (`include/uapi/linux/magic.h`). Of the live
    /// machine only; not recorded.
    pub fn file_system(&self, path: &str) -> Option<&'static str> {
        Some(match kernel::file_system(path).filter(|_| self.is_live())? {
            // ext2, ext3 and ext4 have one number.
            0xef53 => "ext4",
            0x5846_5342 => "xfs",
            0x9123_683e => "btrfs",
            0xf2f5_2010 => "f2fs",
            0x0102_1994 => "tmpfs",
            0x794c_7630 => "overlay",
            _ => return None,
        })
    }

    /// Whether a thread is known to share the open files of its process; `false` when that cannot be told.
    pub fn shares_files(&self, process: u32, thread: u32) -> bool {
        self.is_live() && kernel::same_files(process, thread)
    }
}

fn stat_in(tree: &Tree, path: &str) -> Option<Stat> {
    let told = |path: &str| {
        let text = tree.read(&format!("{PROBES}/stat{}", normalise(path))).ok()?;
        parse_told(std::str::from_utf8(text).ok()?)
    };
    if let Some(stat) = told(path) {
        return Some(stat);
    }
    // A link that leads nowhere in the tree, such as `/proc/5/fd/3`, may lead to something that a fixture tells of.
    let dangling = tree.read_link(path).ok().filter(|target| target.starts_with('/')).and_then(told);
    if dangling.is_some() {
        return dangling;
    }
    let real = tree.resolve(path).ok()?;
    if let Some(stat) = told(&real) {
        return Some(stat);
    }
    let kind = match tree.list(&real) {
        Ok(_) => FileKind::Directory,
        Err(_) => device_in(tree, &real).unwrap_or(FileKind::File),
    };
    Some(Stat { kind, file: id_of(&real), bytes: 0 })
}

/// The device that a node of a tree stands for.
fn device_in(tree: &Tree, path: &str) -> Option<FileKind> {
    let name = path.strip_prefix("/dev/")?.replace('/', "!");
    let text = tree.read(&format!("/sys/class/block/{name}/dev")).ok()?;
    let (major, minor) = parse_number_pair(std::str::from_utf8(text).ok()?.trim())?;
    Some(FileKind::Block(major, minor))
}

fn id_of(path: &str) -> FileId {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    FileId { device: (0, 0), inode: hasher.finish() }
}

fn parse_told(text: &str) -> Option<Stat> {
    let mut words = text.split_whitespace();
    let kind = words.next()?;
    let number = words.next().and_then(parse_number_pair);
    let (kind, file) = match (kind, number) {
        ("block", Some((major, minor))) => (FileKind::Block(major, minor), id_of(text)),
        ("char", Some((major, minor))) => (FileKind::Character(major, minor), id_of(text)),
        ("file", Some(device)) => (FileKind::File, FileId { device, inode: words.next()?.parse().ok()? }),
        ("socket", _) => (FileKind::Socket, id_of(text)),
        _ => return None,
    };
    let bytes = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
    Some(Stat { kind, file, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_to_a_file_a_directory_or_a_device() {
        assert_eq!(Root::live().kind("/dev/null"), Some(FileKind::Character(1, 3)));
        assert_eq!(Root::live().kind("/proc"), Some(FileKind::Directory));
        assert_eq!(Root::live().kind("/proc/version"), Some(FileKind::File));
        assert_eq!(Root::live().kind("/no/such/thing"), None);
    }

    #[test]
    fn the_kernels_file_systems_are_told_by_their_numbers() {
        let live = Root::live();
        assert!(live.is_on("/proc", KernelFs::Proc) && !live.is_on("/proc", KernelFs::Sys));
        assert!(!live.is_on("/", KernelFs::Proc) && !live.is_on("/no/such/thing", KernelFs::Proc));
    }

    #[test]
    fn two_names_of_one_file_have_one_identity() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name).to_string_lossy().into_owned();
        std::fs::write(path("one"), "1").expect("a file");
        std::fs::write(path("other"), "1").expect("a file");
        std::fs::hard_link(path("one"), path("link")).expect("a link");
        let id = |name: &str| Root::live().stat(&path(name)).expect("is there").file;
        assert_eq!(id("one"), id("link"));
        assert_ne!(id("one"), id("other"));
    }

    #[test]
    fn a_tree_tells_devices_by_their_names_and_the_rest_as_a_fixture_says() {
        let mut tree = Tree::new();
        tree.file("/sys/class/block/sdc/dev", "8:32\n")
            .file("/dev/sdc", "")
            .link("/dev/disk/by-id/x", "../../sdc")
            .link("/proc/5/fd/3", "/tmp/node (deleted)")
            .file("/narrows/probe/stat/tmp/node (deleted)", "block 8:32")
            .file("/narrows/probe/stat/srv/link", "file 8:1 77")
            .file("/srv/link", "")
            .file("/srv/other", "");
        let root = Root::from_tree(tree);
        for path in ["/dev/sdc", "/dev/disk/by-id/x", "/proc/5/fd/3"] {
            assert_eq!(root.kind(path), Some(FileKind::Block(8, 32)), "{path}");
        }
        let link = root.stat("/srv/link").expect("is there");
        assert_eq!(link.file, FileId { device: (8, 1), inode: 77 });
        assert_ne!(root.stat("/srv/other").expect("is there").file, link.file);
        assert_eq!(root.kind("/srv/none"), None);
    }

    #[test]
    fn a_thread_shares_the_files_of_its_own_process() {
        let own = std::process::id();
        let live = Root::live();
        let is_told = live.shares_files(own, own);
        assert!(is_told || !std::path::Path::new("/proc/sys/kernel/kcmp").exists());
        assert!(!live.shares_files(own, 0));
    }
}
