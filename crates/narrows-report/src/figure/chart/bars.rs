//! Bars on a scale that begins at zero.

use super::{picture, steps};
use crate::figure::svg::{Anchor, Stroke, Svg};
use crate::figure::whole::{Data, Figure};
use crate::figure::width::{PLAIN_TEXT, SMALL, SMALL_STRONG};

/// One bar.
#[derive(Debug, Clone, Default)]
pub struct Bar {
    /// Its colour.
    pub class: &'static str,
    /// What it shows, in the unit of the chart.
    pub value: f64,
    /// Where what follows the value ends: what was lost, hatched by its outline alone.
    pub lost_from: Option<f64>,
    pub interval: Option<[f64; 2]>,
    /// A ceiling, or what was predicted, as a line across the bar.
    pub ceiling: Option<f64>,
    /// The value in words, and what is said of it.
    pub shown: String,
    /// What is read back by a program: names and values as in JSON.
    pub data: Vec<(&'static str, String)>,
}

/// Bars that belong together, and their name.
#[derive(Debug, Clone, Default)]
pub struct Row {
    pub name: String,
    pub bars: Vec<Bar>,
    /// What is said below the name.
    pub note: String,
    pub class: &'static str,
}

const THICK: f64 = 18.0;
/// Room of a sign before what it is called.
const SIGN: f64 = 22.0;

/// What signs are called.
#[derive(Debug, Clone)]
pub struct Signs {
    /// Lines across bars.
    pub line: &'static str,
    /// Outlines behind bars.
    pub outline: &'static str,
    /// Whiskers.
    pub interval: &'static str,
    /// What else is said, a line each.
    pub notes: Vec<String>,
}

impl Default for Signs {
    fn default() -> Self {
        Self {
            line: "ceiling",
            outline: "what the layers below give more",
            interval: "95 % interval",
            notes: Vec::new(),
        }
    }
}

/// A figure of bars that is being made.
pub struct BarChart {
    pub rows: Vec<Row>,
    data: Data,
    pub signs: Signs,
}

/// What a figure of one drawing is called: its identity, its title, and the name of the drawing.
pub struct Named<'a> {
    pub id: String,
    pub title: &'a str,
    pub label: &'a str,
}

impl BarChart {
    /// A chart without rows, and the columns of its values.
    pub fn new(columns: &'static [&'static str]) -> Self {
        Self { rows: Vec::new(), data: Data::new(columns), signs: Signs::default() }
    }

    /// One more row, and its values.
    pub fn put(&mut self, row: Row, values: impl IntoIterator<Item = String>) {
        self.rows.push(row);
        self.data.push(values);
    }

    /// The figure, with what it shows in sentences; `None` without rows. `shown` writes a value of the scale.
    pub fn figure(
        self,
        Named { id, title, label }: Named<'_>,
        alternative: String,
        shown: &dyn Fn(f64) -> String,
    ) -> Option<Figure> {
        let Self { rows, data, signs } = self;
        let pictures = vec![picture(|width| bars(width, label, &rows, shown, &signs))];
        let title = title.to_owned();
        (!rows.is_empty()).then_some(Figure { id, title, alternative, pictures, data })
    }
}

/// All rows below each other. `shown` writes a value of the scale.
pub(super) fn bars(
    width: f64,
    label: &str,
    rows: &[Row],
    shown: &dyn Fn(f64) -> String,
    signs: &Signs,
) -> Svg {
    let mut svg = Svg::new(width, label);
    let all = rows.iter().flat_map(|row| &row.bars);
    let ends = all.flat_map(|it| [Some(it.value), it.lost_from, it.interval.map(|it| it[1]), it.ceiling]);
    let scale = steps(ends.flatten().filter(|end| end.is_finite()).fold(0.0, f64::max));
    let is_wide = width > 600.0;
    let left = if is_wide { 250.0 } else { 6.0 };
    // Room for the last value in words, which stands right of its bar.
    let right = if is_wide { width - 240.0 } else { width - 14.0 };
    let last = scale.last().copied().unwrap_or(1.0);
    let x = |value: f64| left + (value / last).clamp(0.0, 1.0) * (right - left);
    let plan: Vec<f64> = rows.iter().map(|row| height(row, is_wide)).collect();
    let bottom = 6.0 + plan.iter().sum::<f64>();
    for step in &scale {
        svg.path("grid", &Stroke::from(x(*step), 2.0).to(x(*step), bottom));
    }
    let mut top = 6.0;
    for (row, high) in rows.iter().zip(&plan) {
        put(&mut svg, row, (top, left), is_wide, &x);
        top += high;
    }
    svg.path("axis", &Stroke::from(left, bottom).to(right, bottom));
    for (at, step) in scale.iter().enumerate().step_by(if is_wide { 1 } else { 2 }) {
        let anchor = match at {
            0 => Anchor::Start,
            _ if at + 1 == scale.len() => Anchor::End,
            _ => Anchor::Middle,
        };
        svg.text("t-small soft", (x(*step), bottom + 16.0), anchor, &shown(*step));
    }
    svg.reach(bottom + 22.0);
    legend(&mut svg, rows, (left, bottom + 42.0), signs);
    svg
}

/// What lines and outlines mean: only those that there are, in a line each where they have no room beside each other.
fn legend(svg: &mut Svg, rows: &[Row], (left, top): (f64, f64), signs: &Signs) {
    let has = |of: fn(&Bar) -> bool| rows.iter().flat_map(|row| &row.bars).any(of);
    let (mut x, mut y) = (left, top);
    let mut put = |svg: &mut Svg, text: &str, draw: &dyn Fn(&mut Svg, (f64, f64))| {
        let need = SIGN + SMALL.width(text);
        if x > left && x + need > svg.width() - 4.0 {
            (x, y) = (left, y + 18.0);
        }
        draw(svg, (x, y - 4.0));
        svg.text("t-small soft", (x + SIGN, y), Anchor::Start, text);
        x += need + 20.0;
    };
    if has(|bar| bar.ceiling.is_some()) {
        let line = |x: f64, y: f64| Stroke::from(x + 8.0, y - 8.0).to(x + 8.0, y + 8.0);
        put(svg, signs.line, &|svg, (x, y)| svg.path("roof", &line(x, y)));
    }
    if has(|bar| bar.interval.is_some()) {
        put(svg, signs.interval, &|svg, (x, y)| whisker(svg, (x, x + 16.0), y));
    }
    if has(|bar| bar.lost_from.is_some_and(|from| from > bar.value)) {
        put(svg, signs.outline, &|svg, (x, y)| svg.rect("lost", (x, y - 6.0), (16.0, 12.0), 0.0));
    }
    // Without a sign the notes stand where signs would.
    if x <= left {
        y -= 16.0;
    }
    for text in &signs.notes {
        for line in SMALL.wrap(text, svg.width() - left - 4.0, 3) {
            y += 16.0;
            svg.text("t-small soft", (left, y), Anchor::Start, &line);
        }
    }
}

fn whisker(svg: &mut Svg, (from, to): (f64, f64), middle: f64) {
    let ends = Stroke::from(from, middle).to(to, middle).jump(from, middle - 4.0).to(from, middle + 4.0);
    svg.path("whisker", &ends.jump(to, middle - 4.0).to(to, middle + 4.0));
}

fn height(row: &Row, is_wide: bool) -> f64 {
    let bars = row.bars.len() as f64 * (THICK + 4.0);
    match is_wide {
        true => bars.max(names(row, true).len() as f64 * 16.0 + 4.0) + 10.0,
        false => row.bars.len() as f64 * (THICK + 18.0) + names(row, false).len() as f64 * 16.0 + 12.0,
    }
}

fn names(row: &Row, is_wide: bool) -> Vec<(&'static str, String)> {
    let room = if is_wide { 232.0 } else { 326.0 };
    let name = PLAIN_TEXT.wrap(&row.name, room, 2).into_iter().map(|line| (PLAIN_TEXT.class, line));
    let note = SMALL.wrap(&row.note, room, 4).into_iter().map(|line| ("t-small soft", line));
    name.chain(note).collect()
}

fn put(svg: &mut Svg, row: &Row, (top, left): (f64, f64), is_wide: bool, x: &dyn Fn(f64) -> f64) {
    let mut y = top;
    for (class, line) in names(row, is_wide) {
        y += 16.0;
        let (x, anchor) = if is_wide { (left - 12.0, Anchor::End) } else { (left, Anchor::Start) };
        svg.text(&format!("{class} {}", row.class), (x, y - 2.0), anchor, &line);
    }
    let mut y = if is_wide { top } else { y + 2.0 };
    for bar in &row.bars {
        // All of its values, for a program that reads them back.
        let mut data = bar.data.clone();
        data.extend(bar.interval.map(|[low, high]| ("interval", format!("{low} {high}"))));
        data.extend(bar.ceiling.map(|line| ("line", format!("{line}"))));
        data.extend(bar.lost_from.map(|from| ("outline", format!("{from}"))));
        svg.group("bar", &data, &format!("{}: {}", row.name, bar.shown));
        let end = x(bar.value);
        if bar.value > 0.0 || bar.lost_from.is_none() {
            svg.rect(&format!("fill {}", bar.class), (left, y), ((end - left).max(1.0), THICK), 2.0);
        }
        let mut last = end;
        if let Some(from) = bar.lost_from.filter(|from| *from > bar.value) {
            svg.rect("lost", (end, y), (x(from) - end, THICK), 0.0);
            last = x(from);
        }
        if let Some([from, to]) = bar.interval.map(|ends| ends.map(x)) {
            whisker(svg, (from, to), y + THICK / 2.0);
            last = last.max(to);
        }
        if let Some(ceiling) = bar.ceiling {
            svg.path("roof", &Stroke::from(x(ceiling), y - 3.0).to(x(ceiling), y + THICK + 3.0));
            last = last.max(x(ceiling));
        }
        // Behind the bar, or below it.
        let (place, room) = match is_wide {
            true => ((last + 8.0, y + 13.0), svg.width() - last - 12.0),
            false => ((left, y + THICK + 13.0), svg.width() - left - 4.0),
        };
        svg.text(SMALL_STRONG.class, place, Anchor::Start, &SMALL_STRONG.fit(&bar.shown, room));
        y += THICK + if is_wide { 4.0 } else { 18.0 };
        svg.end();
    }
}
