//! Every source file of the workspace, by the name that `ARCHITECTURE.md` gives it.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "a test reads the source tree and may panic"
)]

use std::fs;
use std::path::{Path, PathBuf};

/// Each other file below the directories of the program and of what is installed: scripts, units.
pub(crate) fn others() -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    for name in ["src", "contrib"] {
        below(name, &Path::new(env!("CARGO_MANIFEST_DIR")).join(name), false, &mut found);
    }
    found
}

/// Each Rust file below `src/` of each crate: `load/scratch.rs` is `crates/narrows-load/src/scratch.rs`, and the files of the
/// program itself are below `narrows/`.
pub(crate) fn all() -> Vec<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    below("narrows", &root.join("src"), true, &mut found);
    for entry in fs::read_dir(root.join("crates")).expect("crates is readable").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        below(name.trim_start_matches("narrows-"), &entry.path().join("src"), true, &mut found);
    }
    found
}

fn below(name: &str, directory: &Path, is_rust: bool, found: &mut Vec<(String, PathBuf)>) {
    for entry in fs::read_dir(directory).expect("a source directory is readable").flatten() {
        let path = entry.path();
        let name = format!("{name}/{}", entry.file_name().to_string_lossy());
        if path.is_dir() {
            below(&name, &path, is_rust, found);
        } else if path.extension().is_some_and(|ext| ext == "rs") == is_rust {
            found.push((name, path));
        }
    }
}
