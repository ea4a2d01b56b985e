//! A figure as HTML.

use std::fmt::Write;

use super::style::MOST;
use super::whole::{Data, Figure, Picture};
use crate::sanitize::markup;

impl Figure {
    /// The figure as an element: pictures, words, and the values to unfold. It needs [`super::style`] on its page.
    pub fn html(&self) -> String {
        self.html_at((3, ""), &markup(&format!("Values: {}", self.title)))
    }

    /// As [`Figure::html`], with the level and class of its title, and the name of the region of its values.
    pub(crate) fn html_at(&self, (level, look): (usize, &str), label: &str) -> String {
        let id = self.id.as_str();
        let mut out = format!(
            "<figure class=\"figure\" id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h{level}{look} id=\"{0}-title\">{1}</h{level}>\n",
            markup(id),
            markup(&self.title)
        );
        let pictures = &self.pictures[..self.pictures.len().min(MOST)];
        match pictures {
            [only] => put_picture(&mut out, only),
            several => put_choice(&mut out, id, several),
        }
        let _ = writeln!(out, "<figcaption>{}</figcaption>", markup(&self.alternative));
        put_data(&mut out, (&self.title, label), &self.data);
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
        let checked = if at == 0 { " checked" } else { "" };
        let _ = writeln!(
            out,
            "<label><input type=\"radio\" name=\"{0}-shown\" class=\"show-{at}\"{checked}> {1}</label>",
            markup(id),
            markup(&picture.label)
        );
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
    let _ = writeln!(out, "<details class=\"data\">\n<summary>Values: {}</summary>", markup(title));
    let _ = writeln!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{label}\">\n<table>\n<thead><tr>"
    );
    for column in data.header {
        let (name, class) = column.strip_suffix('#').map_or((*column, ""), |name| (name, " class=\"n\""));
        let _ = write!(out, "<th scope=\"col\"{class}>{}</th>", markup(name));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &data.rows {
        out.push_str("<tr>");
        for (at, text) in row.iter().enumerate() {
            let is_number = data.header.get(at).is_some_and(|column| column.ends_with('#'));
            match (at, is_number) {
                (0, _) => _ = write!(out, "<th scope=\"row\">{}</th>", markup(text)),
                (_, true) => _ = write!(out, "<td class=\"n\">{}</td>", markup(text)),
                (_, false) => _ = write!(out, "<td>{}</td>", markup(text)),
            }
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n</details>\n");
}
