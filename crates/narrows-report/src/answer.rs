//! What a stranger needs first of a report: which hop limits, or that it does not tell; at what rate; and what to do next.
//!
//! Documents have it where their command gives no verdict of its own.

use crate::document::{Blocks, Place, Tone};

/// The answer of a report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// What limits and at what rate, or that it is not told.
    pub sentence: String,
    /// What to do next, the most useful first; an instruction begins with an arrow.
    pub todo: Vec<String>,
}

impl Answer {
    /// Puts it as the verdict of a document.
    pub fn put(&self, out: &mut impl Blocks) {
        out.part(Place::Verdict, "");
        self.put_sentence(out, Tone::Strong);
        self.put_todo(out);
    }

    /// Puts the sentence, in this tone.
    pub fn put_sentence(&self, out: &mut impl Blocks, tone: Tone) {
        out.say(0, tone, &self.sentence);
    }

    /// Puts what to do next.
    pub fn put_todo(&self, out: &mut impl Blocks) {
        for text in &self.todo {
            match text.strip_prefix("→ ") {
                Some(step) => out.lead((Tone::Strong, "→ "), Tone::Normal, step),
                None => out.say(0, Tone::Normal, text),
            }
        }
    }
}

/// What to do, as an instruction.
pub fn step(text: impl AsRef<str>) -> String {
    format!("→ {}", text.as_ref())
}
