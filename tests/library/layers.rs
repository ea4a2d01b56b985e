//! The arrows of ARCHITECTURE.md that cargo cannot see: those between folders of one crate, and what of another crate may
//! not be used although its types may.

#![expect(clippy::disallowed_methods, reason = "a test reads the source tree")]

use std::fs;

use crate::sources;

/// Folder of a crate, and the folders of the same crate that it may not import.
const FORBIDDEN: &[(&str, &[&str])] = &[
    ("base/units", &["catalog", "fact", "workload"]),
    ("base/fact", &["catalog", "units", "workload"]),
    ("base/workload", &["catalog", "fact"]),
    ("base/catalog", &["fact", "workload"]),
    ("paste/capture", &["results"]),
    ("model/path", &["ceiling", "predict", "plan"]),
    ("model/ceiling", &["predict", "plan"]),
    ("model/predict", &["plan"]),
    ("session/lab", &["measure", "scene", "fleet"]),
    ("session/measure", &["lab", "scene", "fleet"]),
    ("session/fleet", &["lab", "measure", "scene"]),
    ("verdict/", &["compare", "cohort", "fleet"]),
    ("verdict/fleet", &["compare", "cohort"]),
    ("verdict/compare", &["cohort"]),
    ("verdict/cohort", &["compare"]),
];

/// Crates that may use the types of another, but not this module of it: same facts, same answer.
const TYPES_ONLY: &[(&str, &str)] = &[
    ("model/", "narrows_machine::root"),
    ("verdict/", "narrows_machine::root"),
    ("report/", "narrows_machine::root"),
];

/// What calls the engine, and what follows a run of it: everywhere but in the engine and the session.
const ENGINE: [&str; 7] = [
    "run::run(",
    "load::run::run",
    "load::run::{self",
    "run_logged",
    "scan::scan(",
    "load::scan::{self",
    "load::control",
];

/// What a file does outside of its tests, comments left out.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    code.lines().filter(|line| !line.trim_start().starts_with("//"))
}

/// What follows `crate::` in a line, up to the end of that name.
fn imports(line: &str) -> impl Iterator<Item = &str> {
    let rest = line.split("crate::").skip(1);
    rest.map(|rest| rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default())
}

/// The rows that hold for a file: those of the longest folder that has any.
fn forbidden(name: &str) -> &'static [&'static str] {
    let rows = FORBIDDEN.iter().filter(|(folder, _)| name.starts_with(folder));
    rows.max_by_key(|(folder, _)| folder.len()).map_or(&[], |(_, modules)| modules)
}

#[test]
fn every_import_follows_the_table() {
    let files = sources::all();
    assert!(files.len() > 700, "the walk found only {} files", files.len());
    let mut broken = Vec::new();
    for (name, path) in files {
        let is_test = name.ends_with("tests.rs") || name.ends_with("testing.rs") || name.contains("/tests/");
        let text = fs::read_to_string(&path).expect("a source file is readable");
        let types_only = TYPES_ONLY.iter().filter(|(from, _)| name.starts_with(from));
        let types_only: Vec<&str> = types_only.map(|(_, module)| *module).collect();
        for line in code(&text).filter(|_| !is_test) {
            let is_across = imports(line).any(|to| forbidden(&name).contains(&to));
            if is_across || types_only.iter().any(|module| line.contains(module)) {
                broken.push(format!("{name}: {}", line.trim()));
            }
        }
    }
    assert!(broken.is_empty(), "imports against the table in ARCHITECTURE.md:\n{}", broken.join("\n"));
}

#[test]
fn only_the_session_runs_the_engine() {
    let mut callers = Vec::new();
    let mut session = 0;
    for (name, path) in sources::all() {
        let text = fs::read_to_string(&path).expect("a source file is readable");
        let calls = code(&text).filter(|line| ENGINE.iter().any(|call| line.contains(call)));
        match name.split('/').next() {
            Some("load") => {}
            Some("session") => session += calls.count(),
            _ => callers.extend(calls.map(|line| format!("{name}: {}", line.trim()))),
        }
    }
    assert!(session > 0, "the session calls the engine: the words to look for are still the right ones");
    assert!(
        callers.is_empty(),
        "these measure by themselves; use narrows_session::measure:\n{}",
        callers.join("\n")
    );
}
