//! One command line: what is run, and what it reads.

use narrows_base::shell;

/// What a program gets on its standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// Nothing.
    Nothing,
    /// The key.
    Key,
    /// The passphrase.
    Passphrase,
    /// What tcplay asks for, each answer as one packet: the passphrase, the passphrase again, and whether to go on.
    Answers,
}

/// One command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The program, without a directory.
    pub program: &'static str,
    /// What it is told.
    pub arguments: Vec<String>,
    /// What it reads.
    pub input: Input,
}

impl Call {
    /// A call with these words.
    pub fn new<T: Into<String>>(program: &'static str, words: impl IntoIterator<Item = T>) -> Self {
        Self { program, arguments: words.into_iter().map(Into::into).collect(), input: Input::Nothing }
    }

    pub(super) fn and<T: Into<String>>(mut self, words: impl IntoIterator<Item = T>) -> Self {
        self.arguments.extend(words.into_iter().map(Into::into));
        self
    }

    /// The same call, which gets this on its standard input.
    pub(super) fn with(self, input: Input) -> Self {
        Self { input, ..self }
    }
}

impl std::fmt::Display for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.program)?;
        for argument in &self.arguments {
            write!(f, " {}", shell::word(argument))?;
        }
        f.write_str(match self.input {
            Input::Nothing => "",
            Input::Key => " < 64 random bytes, from memory",
            Input::Passphrase => " < a random passphrase, from memory",
            Input::Answers => " < a random passphrase twice, from memory, and y",
        })
    }
}
