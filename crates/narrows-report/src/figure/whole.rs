//! What a figure is: pictures, words and values; and the same as HTML.

use std::fmt::Write;

use super::style::MOST;
use super::svg::Svg;
use crate::sanitize::markup;

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

impl Figure {
    /// All words of it that may hold names, to be changed.
    pub fn words_mut(&mut self) -> Vec<&mut String> {
        let mut all = vec![&mut self.title, &mut self.alternative];
        for picture in &mut self.pictures {
            all.extend([&mut picture.label, &mut picture.note]);
            all.extend(picture.wide.words_mut());
            all.extend(picture.narrow.iter_mut().flat_map(Svg::words_mut));
        }
        all.extend(self.data.rows.iter_mut().flatten());
        all
    }

    /// The figure as an element: pictures, words, and the values to unfold; with the level and class of its title, and the name of
    /// the region of its values. It needs [`super::style`] on its page.
    pub fn html(&self, (level, look): (usize, &str), label: &str) -> String {
        let (id, title) = (markup(&self.id), markup(&self.title));
        let mut out = format!("<figure class=\"figure\" id=\"{id}\" aria-labelledby=\"{id}-title\">\n");
        let _ = writeln!(out, "<h{level}{look} id=\"{id}-title\">{title}</h{level}>");
        match &self.pictures[..self.pictures.len().min(MOST)] {
            [only] => put_picture(&mut out, only),
            several => put_choice(&mut out, &id, several),
        }
        let _ = writeln!(out, "<figcaption>{}</figcaption>", markup(&self.alternative));
        put_data(&mut out, (&title, label), &self.data);
        out.push_str("</figure>\n");
        out
    }
}

fn put_picture(out: &mut String, picture: &Picture) {
    let class = if picture.narrow.is_some() { "drawing wide-only" } else { "drawing" };
    let _ = write!(out, "<div class=\"{class}\">\n{}</div>\n", picture.wide.element());
    if let Some(narrow) = &picture.narrow {
        let _ = write!(out, "<div class=\"drawing narrow-only\">\n{}</div>\n", narrow.element());
    }
    if !picture.note.is_empty() {
        let _ = writeln!(out, "<p class=\"note\">{}</p>", markup(&picture.note));
    }
}

/// Radio buttons, and after them the pictures in the same order: the style shows that of the button that is pressed.
fn put_choice(out: &mut String, id: &str, pictures: &[Picture]) {
    out.push_str("<fieldset class=\"choice\">\n<legend>What is shown</legend>\n");
    for (at, picture) in pictures.iter().enumerate() {
        let (checked, label) = (if at == 0 { " checked" } else { "" }, markup(&picture.label));
        let input = format!("<input type=\"radio\" name=\"{id}-shown\" class=\"show-{at}\"{checked}>");
        let _ = writeln!(out, "<label>{input} {label}</label>");
    }
    out.push_str("</fieldset>\n");
    for (at, picture) in pictures.iter().enumerate() {
        let _ = writeln!(out, "<div class=\"shown shown-{at}\">");
        let _ = writeln!(out, "<p class=\"shown-name\">{}</p>", markup(&picture.label));
        put_picture(out, picture);
        out.push_str("</div>\n");
    }
}

fn put_data(out: &mut String, (title, label): (&str, &str), data: &Data) {
    if data.rows.is_empty() {
        return;
    }
    let _ = writeln!(out, "<details class=\"data\">\n<summary>Values: {title}</summary>");
    let _ = writeln!(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{label}\">");
    out.push_str("<table>\n<thead><tr>\n");
    for column in data.header {
        let (name, class) = column.strip_suffix('#').map_or((*column, ""), |name| (name, " class=\"n\""));
        let _ = write!(out, "<th scope=\"col\"{class}>{}</th>", markup(name));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &data.rows {
        out.push_str("<tr>");
        for (at, text) in row.iter().enumerate() {
            let is_number = data.header.get(at).is_some_and(|column| column.ends_with('#'));
            let (tag, end) = match (at, is_number) {
                (0, _) => ("th scope=\"row\"", "th"),
                (_, true) => ("td class=\"n\"", "td"),
                (_, false) => ("td", "td"),
            };
            let _ = write!(out, "<{tag}>{}</{end}>", markup(text));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n</details>\n");
}
