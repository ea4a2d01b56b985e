//! What ends the program early: a message for a person, and what to do next.

use std::fmt;

/// A failure with its hint. Shown on standard error; the program then ends with status 2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    message: String,
    hint: Option<String>,
}

impl Failure {
    /// A failure that nothing can be said to but itself.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    /// Adds what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What went wrong, without what to do next.
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// Adds what to do next, if there is anything.
    #[must_use]
    pub fn maybe_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint;
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "narrows: {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}
