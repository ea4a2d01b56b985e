//! What ends the program early: a message for a person, and what to do next.

use std::fmt;

use narrows_report::sanitize::{inert, inert_within};
use narrows_session::Objection;

/// No hint is longer than this many characters: it may list all that there is to choose from.
const LONGEST_HINT: usize = 20_000;

/// A failure with its hints. Shown on standard error; the program then ends with status 2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    message: String,
    hints: Vec<String>,
}

impl Failure {
    /// A failure that nothing can be said to but itself.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hints: Vec::new() }
    }

    /// A failure of a lower layer that brings its hint along, on a line of its own.
    pub fn with_own_hint(text: &str) -> Self {
        match text.rsplit_once("\nhint: ") {
            Some((message, hint)) => Self::new(message).hint(hint),
            None => Self::new(text),
        }
    }

    /// Adds what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds what to do next, one for each of several causes.
    #[must_use]
    pub fn hints(mut self, hints: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.hints.extend(hints.into_iter().map(Into::into));
        self
    }

    /// What went wrong, without what to do next.
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// The same for a session that asked the program. Of several hints it has the first.
    pub(super) fn into_objection(self) -> Objection {
        Objection::new(self.message).with_maybe(self.hints.into_iter().next())
    }

    /// Adds what to do next, if there is anything.
    #[must_use]
    pub fn maybe_hint(self, hint: Option<impl Into<String>>) -> Self {
        self.hints(hint)
    }
}

/// What speaks against what was asked for, whoever of a session says so, with what to do.
impl<E: Into<Objection>> From<E> for Failure {
    fn from(error: E) -> Self {
        let objection = error.into();
        Self::new(objection.to_string()).maybe_hint(objection.hint())
    }
}

/// A line for the message and one for each hint, inert whatever is in it: a name with an end of line in it does not begin
/// another.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "narrows: {}", inert(&self.message))?;
        self.hints.iter().try_for_each(|hint| write!(f, "\nhint: {}", inert_within(hint, LONGEST_HINT)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_makes_no_hint_and_no_line_of_its_own() {
        let failure = Failure::new("cannot read `a\nhint: run this\x1b[2J`").hint("name another");
        assert_eq!(
            failure.to_string(),
            "narrows: cannot read `a\\nhint: run this\\x1b[2J`\nhint: name another"
        );
    }

    #[test]
    fn a_hint_of_a_lower_layer_stays_a_hint() {
        let failure = Failure::with_own_hint("it is damaged\nhint: copy it again");
        assert_eq!(failure.to_string(), "narrows: it is damaged\nhint: copy it again");
    }
}
