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
    ("session/lab", &["check", "measure", "runner", "scene", "fleet", "ladder", "trials", "writes"]),
    ("session/measure", &["check", "guard", "lab", "runner", "scene", "fleet", "ladder", "trials", "writes"]),
    ("session/fleet", &["check", "guard", "lab", "measure", "runner", "ladder", "scene", "trials", "writes"]),
    ("session/guard", &["check", "lab", "measure", "runner", "fleet", "ladder", "trials", "writes"]),
    ("session/writes", &["check", "guard", "lab", "runner", "fleet", "ladder", "trials"]),
    ("session/runner", &["check", "guard", "lab", "fleet", "ladder", "trials"]),
    ("session/copying", &["check", "guard", "lab", "fleet", "ladder", "runner", "scene", "trials", "writes"]),
    ("session/check", &["guard", "lab", "runner", "fleet", "ladder", "trials"]),
    ("session/trials", &["check", "guard", "fleet", "ladder"]),
    ("session/ladder", &["check", "guard", "lab", "fleet", "trials"]),
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
    ("runs/", "narrows_machine::root"),
];

/// What calls the engine, follows a run of it, or opens and fills what it runs on: everywhere but in the engine and the session.
const ENGINE: [&str; 12] = [
    "run::run(",
    "load::run::run",
    "load::run::{self",
    "scan::scan(",
    "load::scan::{self",
    "load::control",
    "copy::copy(",
    "ScratchFile::",
    "Target::open_",
    "Opened::open_",
    "owned::prepare",
    "load::overhead",
];

/// What decides whether a device may be written, opens or clears one, or divides what may be written: everywhere but in the
/// engine's guard and the session.
const DECIDING: [&str; 13] = [
    "guard::decide",
    "guard::examine",
    "guard::search_device",
    "guard::clean(",
    "guard::open_for_writing(permit",
    "Device::open(",
    "usage::watch(",
    "owned::clear",
    "owned::usable",
    "place::in_two_parts",
    "guard::Sentry",
    "struct Allowance {",
    "struct Life {",
];

/// The doors at which foreign text is made inert, and nowhere else: views hold it as it is.
const DOORS: [(&str, &str); 17] = [
    ("narrows/cli/files.rs", "saved runs: JSON that keeps names as they are"),
    ("narrows/cli/fleet/sink.rs", "rows and lines of a fleet"),
    ("narrows/cli/fleet_run/kept.rs", "the record of a run on many hosts"),
    ("narrows/cli/help.rs", "errors of clap, which repeat what was typed"),
    ("narrows/cli/output.rs", "standard output and standard error, with failures and their hints"),
    ("report/csv.rs", "cells of comma-separated values"),
    ("report/document/html.rs", "documents as a page"),
    ("report/document/terminal.rs", "commands of a document on a terminal"),
    ("report/document/terminal/ink.rs", "documents as text"),
    ("report/figure/svg.rs", "pictures"),
    ("report/figure/whole.rs", "figures of a page"),
    ("report/figure/width.rs", "lines of a picture, which break where the shown text does"),
    (
        "report/fleet/build.rs",
        "hosts of a fleet: what is kept of them is cut short, and compared with what was kept",
    ),
    ("report/prometheus.rs", "labels for Prometheus"),
    ("report/text/reply.rs", "an answer for a forum"),
    ("runs/progress.rs", "progress on standard error"),
    ("runs/top/screen.rs", "the screen of top"),
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
            // No command has a measuring loop of its own.
            Some("narrows") if code(&text).any(|line| line.contains("session.run(")) => callers.push(name),
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

#[test]
fn only_the_session_decides_what_may_be_written() {
    let (mut deciders, mut session) = (Vec::new(), 0);
    for (name, path) in sources::all() {
        let text = fs::read_to_string(&path).expect("a source file is readable");
        let lines = code(&text).filter(|line| DECIDING.iter().any(|what| line.contains(what)));
        match name.split('/').next() {
            Some("load") => {}
            Some("session") => session += lines.count(),
            _ => deciders.extend(lines.map(|line| format!("{name}: {}", line.trim()))),
        }
    }
    assert!(
        session > DECIDING.len() / 2,
        "the session decides: the words to look for are still the right ones"
    );
    assert!(
        deciders.is_empty(),
        "these decide by themselves; use narrows_session::guard, runner or writes:\n{}",
        deciders.join("\n")
    );
}

#[test]
fn only_the_doors_make_foreign_text_inert() {
    let mut found: Vec<String> = Vec::new();
    for (name, path) in sources::all() {
        let text = fs::read_to_string(&path).expect("a source file is readable");
        let is_its_own = name.starts_with("report/sanitize") || name == "report/lib.rs";
        if !is_its_own && code(&text).any(|line| line.contains("sanitize")) {
            found.push(name);
        }
    }
    found.sort_unstable();
    let doors: Vec<&str> = DOORS.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        found, doors,
        "views hold foreign text as it is, and the back ends make it inert (ARCHITECTURE.md): a new back end is added to \
         the list, with what it writes"
    );
}
