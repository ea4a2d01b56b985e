//! Finds and reads the files that were named.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::cli::Failure;
use narrows_model::path::file::MOST_BYTES;
use narrows_paste::capture::foreign::{self, MOST_OF_FILE, Refusal};

/// What the names of descriptions end in.
const SUFFIX: &str = ".path.toml";

/// The most descriptions that are read at once.
const MOST_FILES: usize = 1000;

/// The texts of the files, and of those in directories by name.
///
/// # Errors
/// [`Failure`] when one cannot be read, is too long or no text, or a directory has none.
pub(in crate::cli) fn texts(named: &[PathBuf]) -> Result<Vec<(String, String)>, Failure> {
    let mut texts = Vec::new();
    for path in named {
        for file in if path.is_dir() { inside(path)? } else { vec![path.clone()] } {
            texts.push((file.display().to_string(), read(&file)?));
        }
    }
    Ok(texts)
}

#[expect(clippy::disallowed_methods, reason = "a directory that the user named, not a fact of the machine")]
fn inside(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = fs::read_dir(path).map_err(|error| unreadable(path, &error))?;
    let is_one = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().ends_with(SUFFIX);
    let paths = entries.flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = paths.filter(is_one).take(MOST_FILES + 1).collect();
    if files.is_empty() {
        return Err(Failure::new(format!("{} has no *{SUFFIX} in it", path.display())));
    }
    if files.len() > MOST_FILES {
        return Err(Failure::new(format!("{} has more than {MOST_FILES} *{SUFFIX} in it", path.display()))
            .hint("name those that matter"));
    }
    files.sort();
    Ok(files)
}

fn read(path: &Path) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    // One byte more than allowed, so that what is too long is told, and no more.
    foreign::open(path, MOST_OF_FILE)
        .and_then(|file| file.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes))
        .map_err(|error| unreadable(path, &error))?;
    String::from_utf8(bytes).map_err(|_| {
        Failure::new(format!("{} is no text (UTF-8)", path.display()))
            .hint("a description is TOML; `narrows --to-path FILE` writes one")
    })
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    let hint = Refusal::of(error).map(|why| why.hint().to_owned());
    Failure::new(format!("cannot read {}: {error}", path.display())).hints(hint)
}
