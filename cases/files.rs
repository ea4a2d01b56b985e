//! The files of a scorer: cases in, a summary out.

#![expect(clippy::disallowed_methods, reason = "the cases and the summary are files")]

use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::Value;

/// What each `case.json` below a directory says, with its own directory, by name.
pub(crate) fn cases<C: DeserializeOwned>(directory: &Path) -> Result<Vec<(PathBuf, C)>, String> {
    let listed = fs::read_dir(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut directories: Vec<PathBuf> = listed.flatten().map(|entry| entry.path()).collect();
    directories.sort();
    let cases: Vec<(PathBuf, C)> = directories
        .into_iter()
        .filter(|directory| directory.join("case.json").is_file())
        .map(one)
        .collect::<Result<_, _>>()?;
    if cases.is_empty() {
        return Err(format!("{}: no directory in it has a case.json", directory.display()));
    }
    Ok(cases)
}

fn one<C: DeserializeOwned>(directory: PathBuf) -> Result<(PathBuf, C), String> {
    let path = directory.join("case.json");
    let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = fs::read_to_string(&path).map_err(|error| wrong(&error))?;
    let case = serde_json::from_str(&text).map_err(|error| wrong(&error))?;
    Ok((directory, case))
}

/// Writes a summary.
pub(crate) fn write(path: &Path, summary: &Value) -> Result<(), String> {
    let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = serde_json::to_string_pretty(summary).map_err(|error| wrong(&error))?;
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(|error| wrong(&error))?;
    }
    fs::write(path, text + "\n").map_err(|error| wrong(&error))
}

/// The list under a key of an answer.
pub(crate) fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// The text under a key of an answer.
pub(crate) fn word<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
