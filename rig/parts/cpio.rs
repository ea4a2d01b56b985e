//! Tests of `runner/cpio.rs`.

#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "runs cpio on what was written")]

use std::process::{Command, Stdio};

use crate::runner::cpio::Tree;

#[test]
fn cpio_itself_reads_what_was_written() {
    let mut tree = Tree::default();
    tree.file("lib/x86_64/libc.so.6", "library");
    tree.file("bin/dash", "shell");
    tree.link("bin/sh", "dash");
    tree.link("bin/dash", "not this one: the name is taken");
    tree.directory("proc");
    let directory = tempfile::tempdir().expect("a directory");
    let mut cpio = match Command::new("cpio")
        .args(["--extract", "--quiet", "--no-absolute-filenames"])
        .current_dir(directory.path())
        .stdin(Stdio::piped())
        .spawn()
    {
        Ok(cpio) => cpio,
        Err(error) => return eprintln!("skipped: cpio: {error}"),
    };
    std::io::Write::write_all(&mut cpio.stdin.take().expect("a pipe"), &tree.archive()).expect("it is read");
    assert!(cpio.wait().expect("it ends").success());
    let read = |path: &str| std::fs::read_to_string(directory.path().join(path)).expect("is there");
    assert_eq!(read("lib/x86_64/libc.so.6"), "library");
    assert_eq!(read("bin/sh"), "shell");
    assert!(directory.path().join("proc").is_dir());
}
