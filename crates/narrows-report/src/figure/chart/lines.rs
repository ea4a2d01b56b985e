//! Lines over an axis.

use super::steps;
use crate::figure::svg::{Anchor, Stroke, Svg};
use crate::figure::width::{SMALL, SMALL_STRONG};

/// One line.
#[derive(Debug, Clone, Default)]
pub struct Line {
    /// Its name, which stands in the legend.
    pub name: String,
    /// Place on the axis, value, and the interval of the value.
    pub points: Vec<(f64, f64, Option<[f64; 2]>)>,
    /// Whether its points are measured: they get a sign each.
    pub is_dotted: bool,
    /// Whether it is a bound, drawn dashed.
    pub is_bound: bool,
    /// What is read back by a program.
    pub data: Vec<(&'static str, String)>,
}

/// What happened at a place of the axis.
#[derive(Debug, Clone)]
pub struct Event {
    pub at: f64,
    pub name: String,
}

/// An axis: how a value becomes a place, and what stands at it.
pub struct Axis<'a> {
    /// The ends.
    pub range: [f64; 2],
    pub is_logarithmic: bool,
    /// Places that bear a name.
    pub ticks: Vec<(f64, String)>,
    pub name: &'a str,
}

impl Axis<'_> {
    fn part(&self, value: f64) -> f64 {
        self.place(value).clamp(0.0, 1.0)
    }

    /// From 0 at its beginning to 1 at its end; outside of that beyond them.
    fn place(&self, value: f64) -> f64 {
        let [low, high] = self.range;
        let part = match self.is_logarithmic {
            true if value > 0.0 && low > 0.0 => (value.ln() - low.ln()) / (high.ln() - low.ln()),
            true => 0.0,
            false => (value - low) / (high - low),
        };
        if part.is_finite() { part } else { 0.0 }
    }
}

/// A linear axis from zero.
pub fn from_zero<'a>(most: f64, shown: &dyn Fn(f64) -> String, name: &'a str) -> Axis<'a> {
    let all = steps(most);
    let range = [0.0, all.last().copied().unwrap_or(1.0)];
    Axis { range, is_logarithmic: false, ticks: all.iter().map(|step| (*step, shown(*step))).collect(), name }
}

/// A logarithmic axis over powers of ten.
pub fn decades<'a>([low, high]: [f64; 2], shown: &dyn Fn(f64) -> String, name: &'a str) -> Axis<'a> {
    let first = low.max(f64::MIN_POSITIVE).log10().floor();
    let last = high.max(low.max(f64::MIN_POSITIVE)).log10().ceil().max(first + 1.0).min(first + 30.0);
    let ticks =
        (first as i32..=last as i32).map(|power| 10_f64.powi(power)).map(|at| (at, shown(at))).collect();
    Axis { range: [10_f64.powf(first), 10_f64.powf(last)], is_logarithmic: true, ticks, name }
}

/// Classes of lines, told apart by colour, by dashes and by the sign at their points.
pub(super) const KINDS: usize = 6;

/// The lines over their axes.
pub fn lines(
    width: f64,
    label: &str,
    across: &Axis<'_>,
    up: &Axis<'_>,
    all: &[Line],
    events: &[Event],
) -> Svg {
    let mut svg = Svg::new(width, label);
    let is_wide = width > 600.0;
    let (left, right) = (84.0, width - 18.0);
    let top = 26.0 + 15.0 * events.len().min(6) as f64;
    let bottom = top + if is_wide { 280.0 } else { 210.0 };
    let x = |value: f64| left + across.part(value) * (right - left);
    let y = |value: f64| bottom - up.part(value) * (bottom - top);
    svg.text("t-small soft", (4.0, 14.0), Anchor::Start, &SMALL.fit(up.name, width - 8.0));
    for (at, name) in &up.ticks {
        svg.path("grid", &Stroke::from(left, y(*at)).to(right, y(*at)));
        svg.text("t-small soft", (left - 8.0, y(*at) + 4.0), Anchor::End, name);
    }
    let mut free = f64::NEG_INFINITY;
    for (at, name) in &across.ticks {
        svg.path("grid", &Stroke::from(x(*at), top).to(x(*at), bottom));
        let half = SMALL.width(name) / 2.0;
        let middle = x(*at).clamp(half + 2.0, width - half - 2.0);
        if middle - half > free + 6.0 {
            svg.text("t-small soft", (middle, bottom + 17.0), Anchor::Middle, name);
            free = middle + half;
        }
    }
    svg.path("axis", &Stroke::from(left, top).to(left, bottom).to(right, bottom));
    // What explains the axis gives way to its name.
    let whole = across.name;
    let short = whole.split_once(';').map_or(whole, |(name, _)| name);
    let name = SMALL.fit(if SMALL.width(whole) > width - 16.0 { short } else { whole }, width - 16.0);
    let half = SMALL.width(&name) / 2.0;
    let middle = f64::midpoint(left, right).min(width - half - 6.0).max(half + 6.0);
    svg.text("t-small soft", (middle, bottom + 35.0), Anchor::Middle, &name);
    for (row, event) in events.iter().take(6).enumerate() {
        let height = 26.0 + 15.0 * row as f64;
        svg.path("event", &Stroke::from(x(event.at), height + 4.0).to(x(event.at), bottom));
        let text = SMALL.fit(&event.name, width - 110.0);
        let (x, anchor) = match x(event.at) {
            x if x + SMALL.width(&text) > width - 4.0 => (width - 4.0, Anchor::End),
            x => (x, Anchor::Start),
        };
        svg.text("t-small", (x, height), anchor, &text);
    }
    for (kind, line) in all.iter().enumerate() {
        let trail = trail(line, across, up);
        let at = |(across, up): (f64, f64)| (left + across * (right - left), bottom - up * (bottom - top));
        put(&mut svg, (line, &trail), kind, &at, &|value, of| (x(value), y(of)));
    }
    legend(&mut svg, all, bottom + 54.0);
    svg
}

/// The pieces of a line that lie on the drawing, in parts of its axes: above the highest value a line is cut off.
fn trail(line: &Line, across: &Axis<'_>, up: &Axis<'_>) -> Vec<Vec<(f64, f64)>> {
    let mut pieces: Vec<Vec<(f64, f64)>> = vec![Vec::new()];
    let mut before: Option<(f64, f64)> = None;
    for (at, value, _) in &line.points {
        let here = (across.part(*at), up.place(*value).max(0.0));
        let edge = before.filter(|before| (before.1 > 1.0) != (here.1 > 1.0)).map(|before| {
            let share = (1.0 - before.1) / (here.1 - before.1);
            (before.0 + (here.0 - before.0) * share, 1.0)
        });
        // It comes back by a new piece, and leaves where the last one ends.
        if here.1 <= 1.0 {
            pieces.extend(edge.map(|edge| vec![edge]));
        }
        let end = if here.1 <= 1.0 { Some(here) } else { edge };
        pieces.last_mut().into_iter().for_each(|piece| piece.extend(end));
        before = Some(here);
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

fn put(
    svg: &mut Svg,
    (line, trail): (&Line, &[Vec<(f64, f64)>]),
    kind: usize,
    on: &dyn Fn((f64, f64)) -> (f64, f64),
    place: &dyn Fn(f64, f64) -> (f64, f64),
) {
    svg.group("line", &line.data, &line.name);
    let mut stroke = Stroke::default();
    for (number, point) in trail.iter().flat_map(|piece| piece.iter().enumerate()) {
        let (x, y) = on(*point);
        stroke = if number == 0 { stroke.jump(x, y) } else { stroke.to(x, y) };
    }
    if !trail.is_empty() {
        svg.path(&curve(kind, line), &stroke);
    }
    for (at, value, interval) in &line.points {
        if let Some([low, high]) = interval {
            let ((x, from), (_, to)) = (place(*at, *low), place(*at, *high));
            svg.path("whisker", &Stroke::from(x, from).to(x, to));
        }
        if line.is_dotted {
            sign(svg, kind, place(*at, *value));
        }
    }
    svg.end();
}

/// The class of a line: its colour, and whether it is dashed, and how where its colour comes again.
fn curve(kind: usize, line: &Line) -> String {
    let bound = if line.is_bound { " bound" } else { "" };
    let again = if kind >= KINDS { " again" } else { "" };
    format!("curve k{}{bound}{again}", kind % KINDS)
}

/// The sign of a line: a circle, a square, a triangle, a diamond, each filled or hollow.
fn sign(svg: &mut Svg, kind: usize, (x, y): (f64, f64)) {
    let class = format!("sign k{}", kind % KINDS);
    let stroke = match kind % 4 {
        0 => return svg.circle(&class, (x, y), 4.0),
        1 => Stroke::from(x - 3.6, y - 3.6).to(x + 3.6, y - 3.6).to(x + 3.6, y + 3.6).to(x - 3.6, y + 3.6),
        2 => Stroke::from(x, y - 4.8).to(x + 4.6, y + 3.6).to(x - 4.6, y + 3.6),
        _ => Stroke::from(x, y - 5.0).to(x + 5.0, y).to(x, y + 5.0).to(x - 5.0, y),
    };
    svg.path(&class, &stroke.close());
}

fn legend(svg: &mut Svg, all: &[Line], top: f64) {
    let left = if svg.width() < 600.0 { 6.0 } else { 84.0 };
    let (mut x, mut y) = (left, top);
    for (kind, line) in all.iter().enumerate().filter(|(_, line)| !line.name.is_empty()) {
        let name = SMALL_STRONG.fit(&line.name, svg.width() - left - 40.0);
        let width = 34.0 + SMALL_STRONG.width(&name) + 22.0;
        if x > left && x + width > svg.width() {
            x = left;
            y += 18.0;
        }
        svg.path(&curve(kind, line), &Stroke::from(x, y).to(x + 26.0, y));
        if line.is_dotted {
            sign(svg, kind, (x + 13.0, y));
        }
        svg.text(SMALL_STRONG.class, (x + 34.0, y + 4.0), Anchor::Start, &name);
        x += width;
    }
    svg.reach(y + 10.0);
}
