//! What is wrong with a description, and where.

use std::fmt;

/// Where something stands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct At {
    /// The file, or the option by which it was given (`--set slot3.width=4`).
    pub origin: String,
    /// Line and column from 1; `None` for an option.
    pub line: Option<(usize, usize)>,
}

impl At {
    /// The place without its column, as facts cite it.
    pub fn cited(&self) -> String {
        match self.line {
            Some((line, _)) => format!("{}:{line}", self.origin),
            None => self.origin.clone(),
        }
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some((line, column)) => write!(f, "{}:{line}:{column}", self.origin),
            None => f.write_str(&self.origin),
        }
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub at: At,
    /// What.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.message)
    }
}

/// Everything that is wrong with a description, in the order of the file. Never empty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct FileError {
    /// What is wrong.
    pub problems: Vec<Problem>,
}

impl FileError {
    /// One problem.
    pub fn one(at: At, message: impl Into<String>, hint: Option<String>) -> Self {
        Self { problems: vec![Problem { at, message: message.into(), hint }] }
    }
}

/// The one of `known` that `typed` was probably meant to be.
pub(super) fn nearest<'k>(typed: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let most = (typed.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|name| (distance(typed, name), name))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Edits from one text to another, two neighbours that changed places counting as one (Damerau's distance, restricted).
/// Long texts are no typing errors: the first 40 characters count.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(40).collect(), b.chars().take(40).collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let above = &rows[i];
            let mut best = (above[j] + usize::from(x != y)).min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(rows[i - 1][j - 1] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows.last().and_then(|row| row.last()).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_finds_what_was_meant_and_another_word_nothing() {
        assert_eq!(nearest("widht", ["width", "connector"]), Some("width"));
        assert_eq!(nearest("chipst", ["chipset", "host"]), Some("chipset"));
        assert_eq!(nearest("colour", ["width", "connector"]), None);
    }
}
