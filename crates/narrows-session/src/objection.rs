//! Why something that was asked for is not done, and what to do about it.

use narrows_load::LoadError;
use narrows_load::copy::CopyError;

/// What speaks against something, with what to do about it where that is known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Objection {
    message: String,
    hint: Option<String>,
}

impl Objection {
    /// An objection to which nothing can be said but itself.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    /// The same, with what to do next.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The same, with what to do next where that is known.
    #[must_use]
    pub fn with_maybe(self, hint: Option<String>) -> Self {
        Self { hint, ..self }
    }

    /// What to do next.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl From<&LoadError> for Objection {
    fn from(error: &LoadError) -> Self {
        Self { message: error.to_string(), hint: error.hint().map(str::to_owned) }
    }
}

impl From<CopyError> for Objection {
    fn from(error: CopyError) -> Self {
        Self { message: error.to_string(), hint: error.hint() }
    }
}

impl From<LoadError> for Objection {
    fn from(error: LoadError) -> Self {
        Self::from(&error)
    }
}
