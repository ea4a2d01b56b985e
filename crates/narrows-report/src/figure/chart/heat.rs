//! A table whose cells have the colour of their value, and the value in words.

use std::collections::BTreeMap;

use crate::figure::svg::{Anchor, Stroke, Svg};
use crate::figure::width::{SMALL, SMALL_STRONG};

/// One cell.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    /// From 0 to 1, in the order of the colours; `None` where nothing is known.
    pub part: Option<f64>,
    /// The value in words.
    pub shown: String,
    /// What the pointer that rests on it tells.
    pub tip: String,
    pub data: Vec<(&'static str, String)>,
    /// Whether it is set off by a frame.
    pub is_marked: bool,
}

/// What colours and frames mean.
#[derive(Debug, Clone, Default)]
pub struct Legend {
    /// What the palest and the darkest of a scale stand for.
    pub scale: Option<[String; 2]>,
    /// Shades that stand for a kind rather than for a value: their place among the colours, and the kind.
    pub kinds: Vec<(usize, &'static str)>,
    /// What a frame says; empty where no cell has one.
    pub frame: &'static str,
    /// What else is said.
    pub notes: Vec<&'static str>,
}

/// More cells in a row have no words and no tips.
const MOST_CELLS: usize = 24;

/// What is read back of a row.
pub type RowData = Vec<(&'static str, String)>;

/// The least room of a column's name, and its lines.
const LEAST_NAME: f64 = 64.0;
const MOST_LINES: usize = 3;

/// Steps of colour.
pub(super) const SHADES: usize = 6;

/// All that a heat map is drawn of.
pub struct Heat<'a> {
    /// Its name for those who do not see it.
    pub label: &'a str,
    /// The colour: `warm` where much is bad, `cool` where it is good.
    pub tone: &'a str,
    /// What the rows are.
    pub corner: &'a str,
    /// The names of the columns.
    pub columns: &'a [String],
    /// The name of each row and its cells.
    pub rows: &'a [(String, Vec<Cell>)],
    /// What is read back of each row, if anything.
    pub data: &'a [RowData],
    pub legend: Legend,
}

/// The cells under the names of their columns and beside those of their rows.
pub fn heat(width: f64, of: &Heat<'_>) -> Svg {
    let Heat { label, tone, corner, columns, rows, data, legend } = of;
    let mut svg = Svg::new(width, label);
    let longest = rows.iter().map(|(name, _)| SMALL.width(name)).fold(SMALL.width(corner), f64::max);
    let left = (longest + 14.0).min(if width > 600.0 { 260.0 } else { 96.0 });
    let each = ((width - left - 4.0) / columns.len().max(1) as f64).min(110.0);
    // Long names without room become numbers, with a key below; of short ones every second or third is shown.
    let widest = columns.iter().map(|name| SMALL.width(name)).fold(0.0, f64::max);
    let is_keyed = each < LEAST_NAME && widest > LEAST_NAME;
    let numbers: Vec<String> = (1..=columns.len()).map(|number| number.to_string()).collect();
    let shown: &[String] = if is_keyed { &numbers } else { columns };
    let need = if is_keyed { SMALL.width("00") + 4.0 } else { LEAST_NAME.min(widest + 8.0) };
    let every = (need / each).ceil().clamp(1.0, 50.0) as usize;
    let room = each * every as f64 - 6.0;
    let names: Vec<Vec<String>> =
        shown.iter().step_by(every).map(|name| SMALL.wrap(name, room, MOST_LINES)).collect();
    let head = 14.0 * names.iter().map(Vec::len).max().unwrap_or(1).max(1) as f64;
    svg.text("t-small soft", (2.0, head), Anchor::Start, &SMALL.fit(corner, left - 6.0));
    for (at, lines) in names.iter().enumerate() {
        let middle = left + each * ((at * every) as f64 + 0.5);
        let half = lines.iter().map(|line| SMALL.width(line)).fold(0.0, f64::max) / 2.0;
        if middle + half > width {
            continue;
        }
        // The last line stands next to the cells.
        let mut y = head - 14.0 * (lines.len() as f64 - 1.0);
        for line in lines {
            svg.text("t-small soft", (middle, y), Anchor::Middle, line);
            y += 14.0;
        }
    }
    let top_of_cells = head + 8.0;
    let high = if rows.len() > 24 { 17.0 } else { 26.0 };
    for (row, (name, cells)) in rows.iter().enumerate() {
        let top = top_of_cells + high * row as f64;
        let data = data.get(row).map(Vec::as_slice).unwrap_or_default();
        // What is read back stands in one of both drawings: it is as long as they are.
        svg.group("row", if width > 600.0 { data } else { &[] }, "");
        svg.text("t-small", (left - 8.0, top + high / 2.0 + 4.0), Anchor::End, &SMALL.fit(name, left - 10.0));
        if cells.len() > MOST_CELLS {
            strip(&mut svg, tone, cells, (left, top), (each, high));
        } else {
            for (at, cell) in cells.iter().enumerate() {
                put(&mut svg, tone, cell, (left + each * at as f64, top), (each, high));
            }
        }
        svg.end();
    }
    let mut bottom = top_of_cells + high * rows.len() as f64 + 6.0;
    if is_keyed {
        let key: Vec<String> =
            columns.iter().zip(&numbers).map(|(name, number)| format!("{number} {name}")).collect();
        for line in SMALL.wrap(&key.join(" · "), width - 4.0, 12) {
            bottom += 15.0;
            svg.text("t-small soft", (2.0, bottom), Anchor::Start, &line);
        }
        bottom += 6.0;
    }
    svg.reach(bottom);
    put_legend(&mut svg, tone, legend, bottom + 16.0);
    svg
}

/// Room of a swatch with the space behind it, and its height.
const SWATCH: f64 = 20.0;
const HIGH: f64 = 12.0;

/// What colours and frames mean, in as many lines as it needs.
fn put_legend(svg: &mut Svg, tone: &str, legend: &Legend, top: f64) {
    let width = svg.width();
    let (mut x, mut y) = (2.0, top);
    let mut room = |need: f64| {
        if x > 2.0 && x + need > width {
            (x, y) = (2.0, y + 20.0);
        }
        let at = (x, y);
        x += need + 22.0;
        at
    };
    let word = |svg: &mut Svg, at: (f64, f64), text: &str| svg.text("t-small soft", at, Anchor::Start, text);
    if let Some([low, high]) = &legend.scale {
        let strip = SWATCH * SHADES as f64;
        let (x, y) = room(SMALL.width(low) + strip + SMALL.width(high) + 12.0);
        word(svg, (x, y), low);
        let left = x + SMALL.width(low) + 6.0;
        for shade in 0..SHADES {
            let at = (left + SWATCH * shade as f64, y - 10.0);
            svg.rect(&class_of(Some(shade), tone), at, (SWATCH, HIGH), 0.0);
        }
        word(svg, (left + strip + 6.0, y), high);
    }
    let mut swatch = |svg: &mut Svg, class: &str, text: &str, round: f64| {
        let (x, y) = room(SWATCH + 6.0 + SMALL.width(text));
        svg.rect(class, (x, y - 10.0), (SWATCH, HIGH), round);
        word(svg, (x + SWATCH + 6.0, y), text);
    };
    for (shade, text) in &legend.kinds {
        swatch(svg, &class_of(Some(*shade), tone), text, 2.0);
    }
    if !legend.frame.is_empty() {
        swatch(svg, "framed", legend.frame, 1.0);
    }
    for text in &legend.notes {
        let at = room(SMALL.width(text));
        word(svg, at, text);
    }
    svg.reach(y + 8.0);
}

/// Many cells of a row, without words: one shape for each colour.
fn strip(svg: &mut Svg, tone: &str, cells: &[Cell], (left, top): (f64, f64), (each, high): (f64, f64)) {
    let mut shapes: BTreeMap<String, Stroke> = BTreeMap::new();
    let mut at = 0;
    for alike in cells.chunk_by(|a, b| shade_of(a) == shade_of(b)) {
        let place = (left + each * at as f64, top + 0.5);
        at += alike.len();
        let class = class_of(alike.first().and_then(shade_of), tone);
        let shape = shapes.remove(&class).unwrap_or_default();
        shapes.insert(class, shape.block(place, (each * alike.len() as f64, high - 1.0)));
    }
    for (class, shape) in &shapes {
        svg.path(class, shape);
    }
}

fn shade_of(cell: &Cell) -> Option<usize> {
    cell.part.map(|part| ((part.clamp(0.0, 1.0) * SHADES as f64) as usize).min(SHADES - 1))
}

fn class_of(shade: Option<usize>, tone: &str) -> String {
    shade.map_or("heat none".to_owned(), |shade| format!("heat {tone}{shade}"))
}

fn put(svg: &mut Svg, tone: &str, cell: &Cell, (x, y): (f64, f64), (width, height): (f64, f64)) {
    svg.group("cell", &cell.data, &cell.tip);
    let shade = shade_of(cell);
    svg.rect(&class_of(shade, tone), (x + 1.0, y + 1.0), (width - 2.0, height - 2.0), 2.0);
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
