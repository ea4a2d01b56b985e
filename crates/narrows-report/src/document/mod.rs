//! One document for every reader: what a command has to say as blocks, and back ends that make terminal text
//! ([`Document::text`]) and a page ([`page()`]) of them.
//!
//! A block says what something is (a sentence, a table, a finding), never how it looks. Foreign text is put in as it is:
//! each back end makes it inert, in one place.

mod finding;
mod html;
mod scrub;
mod style;
pub mod table;
mod terminal;

pub use html::{page, parts, style};
pub use terminal::{Style, Tone};

pub use finding::{doubt, findings, findings_in_brief, findings_once};
pub use table::{Cell, Column, Content, Row, Table, Width};

use crate::figure::Figure;
use crate::view::Tool;
use narrows_base::units::{Bytes, BytesPerSec, human};

/// What a command has to say.
#[derive(Debug, Clone, Default)]
pub struct Document {
    /// The command: `lab`; empty where there is none.
    pub command: &'static str,
    /// What it is about: a target, a machine, files.
    pub subject: String,
    /// The program, and the version of it, that found it out; empty where the report does not say.
    pub tool: String,
    /// The blocks, in the order in which a terminal shows them.
    pub blocks: Vec<Block>,
}

/// Who the reader is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// The owner of the machine: names and addresses stay.
    Owner,
    /// Anybody: addresses, UUIDs, WWNs and the names that people chose are left out.
    Public,
}

impl Audience {
    /// Who reads text of this style.
    pub const fn of(style: &Style) -> Self {
        if style.plain { Self::Public } else { Self::Owner }
    }
}

/// Where a part stands on a page. A terminal shows parts in the order in which they were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The answer.
    Verdict,
    /// The path as a map.
    Map,
    /// What was found, and what to do.
    Findings,
    /// Pictures.
    Charts,
    /// The numbers.
    Data,
    /// The numbers, folded away.
    Folded,
    /// What to do next.
    Next,
}

/// A part of a document.
#[derive(Debug, Clone)]
pub enum Block {
    /// From here on a part of the page with this title; nothing on a terminal.
    Part(Place, String),
    /// An empty line on a terminal.
    Gap,
    /// A title.
    Heading(String),
    /// A paragraph.
    Text(Paragraph),
    /// Names and what is said of each.
    Pairs(Pairs),
    Table(Table),
    Finding(finding::Finding),
    /// Commands, each in a line however long, so that they can be copied, and what they are on a terminal. They are left out of
    /// text that is narrow by promise.
    Commands(&'static str, Vec<String>),
    /// The rates of samples by their offsets on a device, drawn in characters as wide as the terminal is; a page has a figure in its place.
    Positions(Vec<(Bytes, BytesPerSec)>),
    /// A figure on a page; nothing elsewhere, where tables say the same.
    Figure(Box<Figure>),
    /// What only pages show, folded away.
    Details(String, Vec<Block>),
    /// What a terminal shows when all is asked for, and a page always.
    Verbose(Vec<Block>),
    /// What a terminal shows in its place when not all is asked for.
    Brief(Vec<Block>),
}

/// Words, wrapped.
#[derive(Debug, Clone)]
pub struct Paragraph {
    /// What stands before it, with its margin: `FAULT  `, `       · `.
    pub lead: (Tone, String),
    pub tone: Tone,
    pub text: String,
}

/// Names and what is said of each.
#[derive(Debug, Clone)]
pub struct Pairs {
    /// Columns before the names.
    pub margin: usize,
    /// Columns of the names, with the space behind them.
    pub width: usize,
    /// Whether the texts are commands.
    pub commands: bool,
    pub pairs: Vec<(String, String)>,
}

/// Puts blocks one after the other.
pub trait Blocks {
    /// Adds a block.
    fn add(&mut self, block: Block);

    /// Begins a part of the page.
    fn part(&mut self, place: Place, title: impl Into<String>) {
        self.add(Block::Part(place, title.into()));
    }

    /// Figures, in a part of the page of their own.
    fn figures(&mut self, place: Place, figures: impl IntoIterator<Item = Figure>) {
        let mut figures = figures.into_iter().peekable();
        if figures.peek().is_some() {
            self.part(place, "");
            figures.for_each(|figure| self.add(Block::Figure(Box::new(figure))));
        }
    }

    /// An empty line on a terminal.
    fn gap(&mut self) {
        self.add(Block::Gap);
    }

    /// A table that has rows.
    fn table(&mut self, table: Table) {
        if !table.rows.is_empty() {
            self.add(Block::Table(table));
        }
    }

    /// A title.
    fn heading(&mut self, text: impl Into<String>) {
        self.add(Block::Heading(text.into()));
    }

    /// A part of the page that begins with a title, behind an empty line on a terminal.
    fn section(&mut self, place: Place, title: impl Into<String>) {
        self.gap();
        self.part(place, "");
        self.heading(title);
    }

    /// A paragraph behind a lead.
    fn lead(&mut self, lead: (Tone, &str), tone: Tone, text: impl Into<String>) {
        self.add(Block::Text(Paragraph { lead: (lead.0, lead.1.to_owned()), tone, text: text.into() }));
    }

    /// A paragraph, so many columns from the margin.
    fn say(&mut self, margin: usize, tone: Tone, text: impl Into<String>) {
        self.lead((Tone::Normal, &" ".repeat(margin)), tone, text);
    }

    /// A paragraph for each text, behind a lead.
    fn leads<T: Into<String>>(&mut self, lead: (Tone, &str), tone: Tone, texts: impl IntoIterator<Item = T>) {
        texts.into_iter().for_each(|text| self.lead(lead, tone, text));
    }

    /// A paragraph for each text, so many columns from the margin.
    fn says<T: Into<String>>(&mut self, margin: usize, tone: Tone, texts: impl IntoIterator<Item = T>) {
        self.leads((Tone::Normal, &" ".repeat(margin)), tone, texts);
    }

    /// At most so many texts, each behind a lead, then how many more there are, and where all of them are.
    fn first(&mut self, most: usize, lead: (Tone, &str), tone: Tone, texts: &[String], all: &str) {
        self.leads(lead, tone, texts.iter().take(most));
        if let Some(more @ 1..) = texts.len().checked_sub(most) {
            self.lead(lead, tone, format!("and {more} more{all}"));
        }
    }

    /// What is shown when all is asked for.
    fn verbose(&mut self, put: impl FnOnce(&mut Vec<Block>)) {
        let mut blocks = Vec::new();
        put(&mut blocks);
        if !blocks.is_empty() {
            self.add(Block::Verbose(blocks));
        }
    }

    /// What is shown in its place when not all is asked for.
    fn brief(&mut self, put: impl FnOnce(&mut Vec<Block>)) {
        let mut blocks = Vec::new();
        put(&mut blocks);
        self.add(Block::Brief(blocks));
    }

    /// A run that did not end, and why.
    fn not_complete(&mut self, reason: Option<&String>) {
        if let Some(reason) = reason {
            self.gap();
            self.lead((Tone::Warn, "not complete: "), Tone::Normal, reason);
        }
    }
}

impl Blocks for Vec<Block> {
    fn add(&mut self, block: Block) {
        self.push(block);
    }
}

impl Blocks for Document {
    fn add(&mut self, block: Block) {
        self.blocks.push(block);
    }
}

impl Document {
    /// A document of a command, about something, by a version of the program.
    pub fn new(command: &'static str, subject: impl Into<String>, tool: Option<&Tool>) -> Self {
        let tool = tool.map(|tool| format!("{} {}", tool.name, tool.version)).unwrap_or_default();
        Self { command, subject: subject.into(), tool, blocks: Vec::new() }
    }
}

/// Half of a confidence interval as a part of the rate: `0.4 %`; a dash where there is none.
pub fn half(rate: BytesPerSec, ends: Option<[BytesPerSec; 2]>) -> String {
    ends.map_or_else(|| "–".to_owned(), |[low, high]| human::percent((high - low).fraction_of(rate) / 2.0))
}

#[cfg(test)]
mod tests;
