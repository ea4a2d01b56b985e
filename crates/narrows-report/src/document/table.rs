//! Tables whose columns give way by priority where a terminal is narrow.

use super::{Block, Tone};

/// Rows below titles.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// What it is of, for pages.
    pub caption: String,
    /// Columns of a terminal before it.
    pub margin: usize,
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
    /// What its bars mean; empty where it says itself.
    pub bars: &'static str,
    /// Whether titles are shown on a terminal.
    pub titles: bool,
    /// Whether columns that have no room go on below, with the names of the rows before them.
    pub breaks: bool,
}

/// How wide a column is on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// So many columns.
    Fixed(usize),
    /// What its cells need, between two bounds.
    Fit(usize, usize),
    /// What its cells need, less where there is no room: but at least so much before long forms and bars give way.
    Flex(usize),
    /// As [`Width::Flex`], and never less than that where there is room, however short its cells are.
    Broad(usize),
    /// What lists of names need, but no more than one of so many parts of the terminal.
    Part(usize),
    /// What is left, and at least so much.
    Rest(usize),
    /// A bar, between two bounds, of what is left. It is left out where names would lose by it and the first bound is the
    /// second.
    Bar(usize, usize),
}

#[derive(Debug, Clone)]
pub struct Column {
    pub title: String,
    pub width: Width,
    /// Columns of a terminal before it.
    pub gap: usize,
    /// Whether its cells end below each other.
    pub right: bool,
    /// Which column gives way first when there is no room: the one with the lowest number but 0, which never does.
    pub yields: u8,
    /// Whether its cells are the names of the rows.
    pub names: bool,
    /// Whether its cells go on below where they are too long, rather than being cut off.
    pub wraps: bool,
}

impl Column {
    fn new(title: &str, width: Width, gap: usize) -> Self {
        Self { title: title.to_owned(), width, gap, right: false, yields: 0, names: false, wraps: false }
    }

    /// Text, from its left end.
    pub fn left(title: &str, width: Width) -> Self {
        Self::new(title, width, 2)
    }

    /// Numbers, up to their right end, in a column of a fixed width that includes the space before it.
    pub fn right(title: &str, width: usize) -> Self {
        Self { right: true, ..Self::new(title, Width::Fixed(width), 0) }
    }

    /// Numbers, in a column as wide as they are.
    pub fn number(title: &str) -> Self {
        Self { right: true, ..Self::new(title, Width::Fit(0, usize::MAX), 2) }
    }

    /// The names of the rows.
    pub fn name(title: &str, width: Width) -> Self {
        Self { names: true, ..Self::new(title, width, 0) }
    }

    pub fn bar(least: usize, most: usize) -> Self {
        Self::new("", Width::Bar(least, most), 2)
    }

    /// With another space before it.
    pub fn gap(self, gap: usize) -> Self {
        Self { gap, ..self }
    }

    /// Gives way at this turn when there is no room.
    pub fn yields(self, turn: u8) -> Self {
        Self { yields: turn, ..self }
    }

    /// Goes on below where a cell is too long.
    pub fn wrapping(self) -> Self {
        Self { wraps: true, ..self }
    }
}

/// A row, and what is said of it below.
#[derive(Debug, Clone, Default)]
pub struct Row {
    pub cells: Vec<Cell>,
    pub notes: Vec<Block>,
}

impl Row {
    /// A row without notes.
    pub const fn of(cells: Vec<Cell>) -> Self {
        Self { cells, notes: Vec::new() }
    }
}

/// What stands in a column of a row.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    pub content: Content,
    pub tone: Option<Tone>,
    /// It takes the room of all columns behind it, too.
    pub spans: bool,
}

/// What a cell holds.
#[derive(Debug, Clone, Default)]
pub enum Content {
    /// Nothing.
    #[default]
    None,
    Text(String),
    /// Text, and how it is put where there is room.
    Long {
        short: String,
        long: String,
    },
    /// Shown only where all of it fits.
    Whole(String),
    /// A name in a tree: what is drawn before its first line, and before the lines below.
    Branch {
        first: String,
        rest: String,
        depth: usize,
        text: String,
    },
    /// As many names as fit, then how many more there are.
    Names(Vec<String>),
    /// A bar, as a part of a full one.
    Bar(f64),
}

impl Cell {
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: Content::Text(text.into()), ..Self::default() }
    }

    /// Text of a tone.
    pub fn toned(tone: Tone, text: impl Into<String>) -> Self {
        Self::text(text).tone(tone)
    }

    /// Any content.
    pub fn of(content: Content) -> Self {
        Self { content, ..Self::default() }
    }

    pub fn bar(part: f64) -> Self {
        Self::of(Content::Bar(part))
    }

    pub fn tone(self, tone: Tone) -> Self {
        Self { tone: Some(tone), ..self }
    }

    /// Over all columns behind it.
    pub fn spanning(self) -> Self {
        Self { spans: true, ..self }
    }

    /// Its words for readers with room: pages.
    pub fn words(&self) -> String {
        match &self.content {
            Content::None | Content::Bar(_) => String::new(),
            Content::Text(text) | Content::Whole(text) | Content::Branch { text, .. } => text.clone(),
            Content::Long { long, .. } => long.clone(),
            Content::Names(names) => names.join(", "),
        }
    }
}

impl Table {
    /// A table with titles.
    pub fn new(caption: impl Into<String>, margin: usize, columns: Vec<Column>) -> Self {
        Self { caption: caption.into(), margin, columns, titles: true, ..Self::default() }
    }

    /// Its titles are for pages.
    pub fn untitled(self) -> Self {
        Self { titles: false, ..self }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(Row::of(cells));
    }

    /// Adds a row of texts that are all of one tone.
    pub fn texts(&mut self, tone: Tone, texts: impl IntoIterator<Item = String>) {
        self.row(texts.into_iter().map(|text| Cell::toned(tone, text)).collect());
    }

    /// Whether any row has something in a column.
    pub fn is_used(&self, column: usize) -> bool {
        self.rows.iter().filter_map(|row| row.cells.get(column)).any(|cell| match &cell.content {
            Content::Bar(_) => true,
            _ => !cell.words().is_empty(),
        })
    }
}
