//! A drawing that tells all by itself: what it is, what it shows, and what to do.

use super::svg::{Anchor, Svg};
use super::width::{Face, LEAD, PLAIN_TEXT, TITLE};

/// Around the words.
const MARGIN: f64 = 8.0;
/// The most lines of what it shows, and of each thing to do.
const LINES: usize = 4;

/// A drawing with its title, a sentence above and what to do below. All words wrap within its width.
pub fn poster(title: &str, sentence: &str, todo: &[String], drawing: &Svg) -> Svg {
    let room = drawing.width() - 2.0 * MARGIN;
    let mut svg = Svg::new(drawing.width(), &format!("{title}: {sentence}"));
    let mut y = 8.0;
    put(&mut svg, (TITLE, "soft"), title, 20.0, &mut y, room);
    y += 4.0;
    put(&mut svg, (LEAD, ""), sentence, 27.0, &mut y, room);
    y += 14.0;
    svg.place(drawing, (0.0, y));
    y = svg.height() + 6.0;
    for text in todo {
        let class = if text.starts_with('→') { "todo" } else { "soft" };
        put(&mut svg, (PLAIN_TEXT, class), text, 20.0, &mut y, room);
    }
    svg.reach(y + 10.0);
    svg
}

fn put(svg: &mut Svg, (face, class): (Face, &str), text: &str, high: f64, y: &mut f64, room: f64) {
    for line in face.wrap(text, room, LINES) {
        *y += high;
        svg.text(&format!("{} {class}", face.class), (MARGIN, *y), Anchor::Start, &line);
    }
}
