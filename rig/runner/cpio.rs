//! Writes archives that the kernel unpacks as its first file system: the "newc" format of cpio, without compression, as an
//! emulated processor unpacks slowly (kernel Documentation/driver-api/early-userspace/buffer-format.rst).

use std::collections::BTreeMap;

/// A file of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    Directory,
    File(Vec<u8>),
    Link(String),
}

impl Entry {
    /// Kind and permissions, as stat(2) has them. All may be executed: that does no harm to a text.
    const fn mode(&self) -> u32 {
        match self {
            Self::Directory => 0o040_755,
            Self::File(_) => 0o100_755,
            Self::Link(_) => 0o120_777,
        }
    }

    fn contents(&self) -> &[u8] {
        match self {
            Self::Directory => &[],
            Self::File(bytes) => bytes,
            Self::Link(target) => target.as_bytes(),
        }
    }
}

/// A tree of files. Paths are relative, parts are separated by `/`; directories above a file come by themselves.
#[derive(Debug, Default)]
pub(crate) struct Tree(BTreeMap<String, Entry>);

impl Tree {
    /// Adds a directory.
    pub(crate) fn directory(&mut self, path: &str) {
        self.add(path, Entry::Directory);
    }

    /// Adds a file.
    pub(crate) fn file(&mut self, path: &str, contents: impl Into<Vec<u8>>) {
        self.add(path, Entry::File(contents.into()));
    }

    /// Adds a symbolic link, unless something has this name.
    pub(crate) fn link(&mut self, path: &str, target: &str) {
        if !self.0.contains_key(path) {
            self.add(path, Entry::Link(target.to_owned()));
        }
    }

    fn add(&mut self, path: &str, entry: Entry) {
        for (at, _) in path.match_indices('/') {
            let above = path.get(..at).unwrap_or_default();
            self.0.entry(above.to_owned()).or_insert(Entry::Directory);
        }
        self.0.insert(path.to_owned(), entry);
    }

    /// The archive.
    pub(crate) fn archive(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        // By name, so a directory comes before what is in it.
        for (index, (path, entry)) in self.0.iter().enumerate() {
            append(&mut bytes, index + 1, path, entry.mode(), entry.contents());
        }
        append(&mut bytes, 0, "TRAILER!!!", 0, &[]);
        bytes
    }
}

fn append(bytes: &mut Vec<u8>, inode: usize, path: &str, mode: u32, contents: &[u8]) {
    let (links, owner, time, device) = (1, 0, 0, 0);
    bytes.extend(b"070701");
    bytes.extend(format!("{inode:08x}{mode:08x}{owner:08x}{owner:08x}{links:08x}{time:08x}").bytes());
    bytes.extend(format!("{:08x}{device:08x}{device:08x}{device:08x}{device:08x}", contents.len()).bytes());
    bytes.extend(format!("{:08x}{:08x}", path.len() + 1, 0).bytes());
    bytes.extend(path.bytes());
    bytes.push(0);
    pad(bytes);
    bytes.extend(contents);
    pad(bytes);
}

/// The kernel wants each header, and what follows it, at a multiple of four bytes.
fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}
