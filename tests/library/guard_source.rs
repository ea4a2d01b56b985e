//! Only eight files open anything for writing: those of the scratch file, the guard, the destination of a copy, the new files of
//! a held directory, the journal of a lab and its key, the journal of the recorder, and the device-mapper's control node.

#![expect(clippy::disallowed_methods, reason = "a test reads the source tree")]

use std::fs;
use std::path::PathBuf;

use crate::sources;

/// Files that may, and what they open.
const WRITERS: &[(&str, &str)] = &[
    ("load/scratch.rs", "a nameless file of its own"),
    ("load/guard/open.rs", "a device with a permit"),
    ("load/copy/destination.rs", "new files under names of its own beside the copy, and the manifest"),
    (
        "load/held/new_file.rs",
        "new files that were named on the command line, and the scratch files of a lab",
    ),
    ("session/lab/journal_file.rs", "the journal of a lab, which is only appended to"),
    ("session/trust.rs", "the key by which journals are sealed"),
    ("session/guard/record.rs", "the record of a run that writes to a device"),
    ("watch/file.rs", "the journal of the recorder, which is only appended to, and its lock"),
    (
        "machine/kernel/device_mapper.rs",
        "/dev/mapper/control, to ask for tables: its ioctls need a writable handle",
    ),
];

/// Every way of the standard library, of nix and of libc to open for writing that could appear.
const WAYS: &[&str] = &[
    "write(true)",
    "append(true)",
    "create(true)",
    "create_new(true)",
    "File::create",
    "fs::write",
    "O_RDWR",
    "O_WRONLY",
    "O_CREAT",
    "OFlags::RDWR",
    "OFlags::WRONLY",
    "OFlags::CREATE",
    "OFlags::APPEND",
];

/// What a file does outside of its tests, comments left out.
fn code(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    // The constructors of these types are called from elsewhere; a call is no way to open a file.
    ["ScratchFile", "SaveFile", "JournalFile"]
        .iter()
        .fold(code.join("\n"), |code, name| code.replace(&format!("{name}::create"), ""))
}

#[test]
fn nothing_else_opens_for_writing() {
    let mut writers: Vec<String> = Vec::new();
    for (name, file) in sources::all() {
        let is_test = ["tests.rs", "testing.rs"].iter().any(|end| name.ends_with(end));
        let is_test = is_test || name.contains("/tests/");
        let text = fs::read_to_string(&file).expect("a source file is readable");
        if !is_test && WAYS.iter().any(|way| code(&text).contains(way)) {
            writers.push(name);
        }
    }
    writers.sort();
    let mut allowed: Vec<&str> = WRITERS.iter().map(|(file, _)| *file).collect();
    allowed.sort_unstable();
    assert_eq!(writers, allowed);
}

#[test]
fn only_the_decision_makes_a_permit_and_only_four_functions_open_a_device_for_writing() {
    let files = sources::all().into_iter().filter(|(name, _)| name.starts_with("load/guard/"));
    let files: Vec<PathBuf> = files.map(|(_, file)| file).collect();
    let uses = |needle: &str| {
        let text = |file: &PathBuf| code(&fs::read_to_string(file).expect("is readable"));
        files.iter().map(|file| text(file).matches(needle).count()).sum::<usize>()
    };
    // One literal (in `decide`), one definition with its methods, a pattern where each kind is used up.
    assert_eq!(uses("CleaningPermit("), 2);
    assert_eq!(uses("Permit {"), 5);
    assert_eq!(uses("write(true)"), 1);
    // Its definition, and one call each: with a permit, to clear our marks, on what the lab built, on its slice, to clear what it
    // wrote.
    assert_eq!(uses("claim("), 6);
}
