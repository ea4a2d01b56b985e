//! What a figure is: pictures, words and values.

use super::svg::Svg;

/// A picture with all that a reader needs who does not see it.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Its identity on a page: small letters, digits and `-`, once in a document.
    pub id: String,
    /// What it is, in a few words.
    pub title: String,
    /// What it shows, in sentences: the text alternative.
    pub alternative: String,
    /// The picture; more than one are shown in turn, chosen by radio buttons. Never empty.
    pub pictures: Vec<Picture>,
    /// All of its values.
    pub data: Data,
}

/// One drawing.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// What it is called among others of its figure; empty for the only one.
    pub label: String,
    /// What is said below it, if anything.
    pub note: String,
    /// The drawing.
    pub wide: Svg,
    /// What takes its place where there are fewer than 600 pixels, if it cannot be read there.
    pub narrow: Option<Svg>,
}

impl Picture {
    /// The only drawing of a figure, for every width.
    pub const fn only(wide: Svg) -> Self {
        Self { label: String::new(), note: String::new(), wide, narrow: None }
    }
}

/// The values that a figure shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Data {
    /// Names of the columns; those that end in `#` hold numbers, which stand at their right, and the sign is left out.
    pub header: &'static [&'static str],
    /// One text for each column.
    pub rows: Vec<Vec<String>>,
}

impl Figure {
    /// All words of it that may hold names, to be changed.
    pub(crate) fn words_mut(&mut self) -> Vec<&mut String> {
        let mut all = vec![&mut self.title, &mut self.alternative];
        for picture in &mut self.pictures {
            all.extend([&mut picture.label, &mut picture.note]);
            all.extend(picture.wide.words_mut());
            all.extend(picture.narrow.iter_mut().flat_map(Svg::words_mut));
        }
        all.extend(self.data.rows.iter_mut().flatten());
        all
    }
}

impl Data {
    /// Columns by name, and no rows.
    pub const fn new(header: &'static [&'static str]) -> Self {
        Self { header, rows: Vec::new() }
    }

    /// One more row.
    pub fn push(&mut self, row: impl IntoIterator<Item = String>) {
        self.rows.push(row.into_iter().collect());
    }
}
