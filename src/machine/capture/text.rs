//! A pasted text, cleaned of what mail, forums and terminals put around it.

/// A text with a name, its line ends unified and its quoting taken away.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text {
    name: String,
    body: String,
}

impl Text {
    /// Cleans `content`, which was called `name` (a file name, or `standard input`).
    pub fn new(name: impl Into<String>, content: &[u8]) -> Self {
        Self { name: name.into(), body: clean(&String::from_utf8_lossy(content)) }
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The cleaned text. It has as many lines as the original, so that line numbers agree.
    pub fn body(&self) -> &str {
        &self.body
    }

    /// Its lines with their numbers, from 1.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.body.lines())
    }

    /// The source of a fact in this line: `lspci.txt:12`.
    pub fn source(&self, line: usize) -> String {
        format!("{}:{line}", self.name)
    }
}

fn clean(text: &str) -> String {
    let lines = text.lines().map(|line| line.trim_end_matches(['\r', ' ', '\t']));
    lines.flat_map(|line| [line, "\n"]).collect()
}
