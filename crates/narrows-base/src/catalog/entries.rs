//! The entries of files below `data/`, read when they are first asked for.

use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;

use serde::de::DeserializeOwned;

/// The entries of one kind, in the order of their files. A file is read when one of its entries is first asked for: a command
/// that answers in milliseconds needs few of them.
pub struct Entries<T> {
    files: &'static [&'static str],
    read: OnceLock<Vec<T>>,
}

impl<T> Entries<T> {
    /// Those of files that are part of the program.
    pub(super) const fn of(files: &'static [&'static str]) -> Self {
        Self { files, read: OnceLock::new() }
    }
}

impl<T> From<Vec<T>> for Entries<T> {
    fn from(entries: Vec<T>) -> Self {
        Self { files: &[], read: OnceLock::from(entries) }
    }
}

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Self::of(&[])
    }
}

impl<T: DeserializeOwned> Deref for Entries<T> {
    type Target = [T];

    /// A test reads each file, so one that does not parse never ships; here it would be empty.
    fn deref(&self) -> &[T] {
        self.read.get_or_init(|| self.files.iter().flat_map(|file| parse(file).unwrap_or_default()).collect())
    }
}

impl<'a, T: DeserializeOwned> IntoIterator for &'a Entries<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: fmt::Debug + DeserializeOwned> fmt::Debug for Entries<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

/// Reads the `[[entry]]` tables of a file.
pub(super) fn parse<T: DeserializeOwned>(file: &str) -> Result<Vec<T>, toml::de::Error> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File<T> {
        entry: Vec<T>,
    }
    toml::from_str::<File<T>>(file).map(|file| file.entry)
}
