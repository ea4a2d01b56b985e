//! A table whose cells have the colour of their value, and the value in words.

use crate::figure::svg::{Anchor, Svg};
use crate::figure::width::{SMALL, SMALL_STRONG};

/// One cell.
#[derive(Debug, Clone, Default)]
pub(super) struct Cell {
    /// From 0 to 1, in the order of the colours; `None` where nothing is known.
    pub(super) part: Option<f64>,
    /// The value in words.
    pub(super) shown: String,
    /// What the pointer that rests on it tells.
    pub(super) tip: String,
    pub(super) data: Vec<(&'static str, String)>,
    /// Whether it is set off by a frame.
    pub(super) is_marked: bool,
}

/// Steps of colour.
pub(super) const SHADES: usize = 6;

/// The cells under the names of their columns and beside those of their rows. `tone` is the colour: `warm` where much is bad, `cool`
/// where it is good.
pub(super) fn heat(
    width: f64,
    label: &str,
    tone: &str,
    (corner, columns): (&str, &[String]),
    rows: &[(String, Vec<Cell>)],
) -> Svg {
    let mut svg = Svg::new(width, label);
    let longest = rows.iter().map(|(name, _)| SMALL.width(name)).fold(SMALL.width(corner), f64::max);
    let left = (longest + 14.0).min(if width > 600.0 { 260.0 } else { 96.0 });
    let each = ((width - left - 4.0) / columns.len().max(1) as f64).min(110.0);
    // Names that do not fit beside each other are shown where there is room: every second, every third one.
    let widest = columns.iter().map(|name| SMALL.width(name)).fold(0.0, f64::max);
    let every = ((widest + 8.0) / each).ceil().clamp(1.0, 50.0) as usize;
    svg.text("t-small soft", (2.0, 14.0), Anchor::Start, &SMALL.fit(corner, left - 6.0));
    for (at, name) in columns.iter().enumerate().filter(|(at, _)| at % every == 0) {
        let middle = left + each * (at as f64 + 0.5);
        let room = each * every as f64 - 4.0;
        let name = SMALL.fit(name, room);
        let half = SMALL.width(&name) / 2.0;
        svg.text("t-small soft", (middle.clamp(half, width - half), 14.0), Anchor::Middle, &name);
    }
    let high = if rows.len() > 24 { 17.0 } else { 26.0 };
    for (row, (name, cells)) in rows.iter().enumerate() {
        let top = 22.0 + high * row as f64;
        svg.text("t-small", (left - 8.0, top + high / 2.0 + 4.0), Anchor::End, &SMALL.fit(name, left - 10.0));
        for (at, cell) in cells.iter().enumerate() {
            put(&mut svg, tone, cell, (left + each * at as f64, top), (each, high));
        }
    }
    svg.reach(22.0 + high * rows.len() as f64 + 6.0);
    svg
}

fn put(svg: &mut Svg, tone: &str, cell: &Cell, (x, y): (f64, f64), (width, height): (f64, f64)) {
    svg.group("cell", &cell.data, &cell.tip);
    let shade = cell.part.map(|part| ((part.clamp(0.0, 1.0) * SHADES as f64) as usize).min(SHADES - 1));
    let class = shade.map_or("heat none".to_owned(), |shade| format!("heat {tone}{shade}"));
    svg.rect(&class, (x + 1.0, y + 1.0), (width - 2.0, height - 2.0), 2.0);
    if cell.is_marked {
        svg.rect("framed", (x + 2.5, y + 2.5), (width - 5.0, height - 5.0), 1.0);
    }
    let words = SMALL_STRONG;
    if !cell.shown.is_empty() && words.width(&cell.shown) <= width - 4.0 && height > 16.0 {
        let on = shade.map_or("on-none".to_owned(), |shade| format!("on-{tone}{shade}"));
        let class = format!("{} {on}", words.class);
        svg.text(&class, (x + width / 2.0, y + height / 2.0 + 4.0), Anchor::Middle, &cell.shown);
    }
    svg.end();
}
