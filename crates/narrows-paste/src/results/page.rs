//! A text as the parsers see it.

use crate::text::{is_in, numbered};

/// A text with its name, already cleaned of quoting and of what terminals obey.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// What it is called: a file, or `standard input`.
    pub name: &'a str,
    /// The text.
    pub body: &'a str,
}

impl<'a> Page<'a> {
    /// Its lines with their numbers, from 1. A progress display that returns to the line's beginning is many lines.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &'a str)> + use<'a> {
        numbered(self.body)
    }

    /// Whether one of the marks stands in it; a cheap test before a parser looks at lines.
    pub fn has(&self, marks: &[&str]) -> bool {
        is_in(marks, self.body)
    }
}
