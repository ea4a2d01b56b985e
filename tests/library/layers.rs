//! The import table of ARCHITECTURE.md, enforced: every `use crate::…` in `src/` must be an arrow that it allows.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "a test reads the source tree and may panic"
)]
use std::fs;
use std::path::{Path, PathBuf};

/// Folder, and the folders that it may import. The table in ARCHITECTURE.md says why.
const ALLOWED: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("workload", &["units"]),
    ("fact", &[]),
    ("catalog", &["units"]),
    ("machine", &["units", "fact"]),
    ("path", &["units", "machine", "catalog"]),
    ("ceiling", &["units", "machine", "catalog", "path"]),
    ("predict", &["units", "machine", "catalog", "path", "ceiling"]),
    ("plan", &["units", "machine", "catalog", "path", "ceiling", "predict"]),
    ("load", &["units", "workload"]),
    ("compare", &["units", "workload", "load", "results"]),
    ("results", &["units", "workload"]),
    ("verdict", &["units", "workload", "machine", "catalog", "path", "ceiling", "load", "results"]),
    ("lab", &["units", "machine", "ceiling", "predict", "plan", "load", "verdict"]),
    ("cohort", &["units", "verdict"]),
    (
        "report",
        &[
            "units", "machine", "path", "ceiling", "predict", "plan", "load", "compare", "results",
            "verdict", "cohort", "lab",
        ],
    ),
    (
        "cli",
        &[
            "units", "machine", "catalog", "path", "ceiling", "predict", "plan", "load", "compare",
            "results", "verdict", "cohort", "lab", "report",
        ],
    ),
];

/// Modules of a folder that folders above it may not import, although they may import its types.
const TYPES_ONLY: &[(&str, &str)] = &[
    ("path", "machine::root"),
    ("ceiling", "machine::root"),
    ("predict", "machine::root"),
    ("plan", "machine::root"),
    ("verdict", "machine::root"),
    ("report", "machine::root"),
    ("verdict", "load::engine"),
    ("report", "load::engine"),
    ("compare", "load::engine"),
];

fn rust_files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("src is readable").flatten() {
        let path = entry.path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            found.push(path);
        }
    }
}

fn imports(text: &str) -> impl Iterator<Item = &str> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    code.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| line.split("crate::").skip(1))
        .map(|rest| {
            rest.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).next().unwrap_or_default()
        })
}

#[test]
fn every_import_follows_the_table() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&src, &mut files);
    assert!(files.len() > 20, "the walk found only {} files", files.len());
    let mut broken = Vec::new();
    for file in files {
        let relative = file.strip_prefix(&src).expect("below src").to_path_buf();
        let Some(folder) = relative
            .components()
            .next()
            .and_then(|c| c.as_os_str().to_str())
            .map(|name| name.trim_end_matches(".rs"))
        else {
            continue;
        };
        let Some((_, allowed)) = ALLOWED.iter().find(|(name, _)| *name == folder) else {
            assert!(folder == "lib" || folder == "main", "{folder} has no row in the import table");
            continue;
        };
        let text = fs::read_to_string(&file).expect("a source file is readable");
        for import in imports(&text) {
            let to = import.split("::").next().unwrap_or_default();
            let types_only =
                TYPES_ONLY.iter().any(|(from, module)| *from == folder && import.starts_with(module));
            if (to != folder && !allowed.contains(&to)) || types_only {
                broken.push(format!("{}: crate::{import}", relative.display()));
            }
        }
    }
    assert!(broken.is_empty(), "imports against the table in ARCHITECTURE.md:\n{}", broken.join("\n"));
}
