//! The picture in characters.

use super::scale::{labels, place, rates};
use super::{axis_name, is_empty, label, tick};
use crate::text::Style;
use crate::text::{Line as Ink, Tone, fit};
use narrows_base::units::{BytesPerSec, human};
use narrows_model::predict::roofline::Roofline;

/// Rows of the picture.
const ROWS: usize = 18;

/// Columns for the scale at its left.
const MARGIN: usize = 11;

/// What a cell shows; what comes later covers what came before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Cell {
    Empty,
    Grid,
    /// A ceiling, by its place in the list.
    Line(usize),
    /// What the workload gets.
    Curve,
    /// A workload.
    Mark,
}

/// The picture as text, no line wider than the style allows.
pub fn text(roofline: &Roofline, style: &Style) -> String {
    let mut out = String::new();
    let title = format!("rate against {}: {}", axis_name(roofline.axis), roofline.fixed);
    put(&mut out, style, Tone::Strong, &title);
    if is_empty(roofline) {
        put(&mut out, style, Tone::Normal, "  nothing is known that bounds it");
        return out;
    }
    let columns = style.width.saturating_sub(MARGIN + 2).clamp(20, 110);
    let range = rates(roofline);
    let cells = draw(roofline, columns, range);
    let scale = labels(range);
    for (row, line) in cells.iter().enumerate() {
        let at = |step: &&f64| row_of(**step, range) == Some(row);
        let name = scale.iter().find(at).map(|step| human::rate(BytesPerSec::new(*step))).unwrap_or_default();
        let mut shown = Ink::new(style);
        shown.put_right(Tone::Faint, &name, MARGIN - 1);
        shown.put(Tone::Faint, if style.unicode { "│" } else { "|" });
        for cell in line {
            let (tone, text) = shape(*cell, style.unicode);
            shown.put(tone, &text);
        }
        shown.end(&mut out);
    }
    put_axis(&mut out, style, roofline, columns);
    put_legend(&mut out, style, roofline);
    out
}

fn put(out: &mut String, style: &Style, tone: Tone, text: &str) {
    let mut line = Ink::new(style);
    line.put(tone, &fit(style, text, style.width));
    line.end(out);
}

fn row_of(rate: f64, range: (f64, f64)) -> Option<usize> {
    let up = place(rate, range);
    (-0.001..=1.001).contains(&up).then(|| ((1.0 - up) * (ROWS - 1) as f64).round() as usize)
}

fn draw(roofline: &Roofline, columns: usize, range: (f64, f64)) -> Vec<Vec<Cell>> {
    let mut cells = vec![vec![Cell::Empty; columns]; ROWS];
    let mut cover = |row: usize, column: usize, cell: Cell| {
        if let Some(there) = cells.get_mut(row).and_then(|row| row.get_mut(column))
            && *there < cell
        {
            *there = cell;
        }
    };
    for row in labels(range).into_iter().filter_map(|step| row_of(step, range)) {
        (0..columns).step_by(4).for_each(|column| cover(row, column, Cell::Grid));
    }
    let across = (roofline.at.first().copied().unwrap_or(1.0), roofline.at.last().copied().unwrap_or(2.0));
    let mut trace = |values: &[BytesPerSec], cell: Cell| {
        for column in 0..columns {
            let part = column as f64 / (columns - 1).max(1) as f64;
            if let Some(row) = between(values, part).and_then(|rate| row_of(rate, range)) {
                cover(row, column, cell);
            }
        }
    };
    // The narrowest is drawn over the others.
    for (at, line) in roofline.lines.iter().enumerate() {
        trace(&line.rates, Cell::Line(roofline.lines.len() - at));
    }
    trace(&roofline.rates, Cell::Curve);
    for mark in &roofline.marks {
        let column = (place(mark.at, across) * (columns - 1) as f64).round();
        if let (Some(row), true) = (row_of(mark.rate.get(), range), column >= 0.0) {
            cover(row, column as usize, Cell::Mark);
        }
    }
    // Back from the order of covering to the place in the list.
    let count = roofline.lines.len();
    for cell in cells.iter_mut().flatten() {
        if let Cell::Line(at) = cell {
            *cell = Cell::Line(count - *at);
        }
    }
    cells
}

/// The value at a part of the way along, between its neighbours by logarithm.
fn between(values: &[BytesPerSec], part: f64) -> Option<f64> {
    let at = part * values.len().checked_sub(1)? as f64;
    let low = values.get(at.floor() as usize)?.get();
    let high = values.get(at.ceil() as usize)?.get();
    (low > 0.0 && high > 0.0).then(|| (low.ln() + (high.ln() - low.ln()) * at.fract()).exp())
}

fn letter(at: usize) -> char {
    u8::try_from(at)
        .ok()
        .and_then(|at| b'a'.checked_add(at))
        .filter(u8::is_ascii_lowercase)
        .map_or('*', char::from)
}

fn shape(cell: Cell, unicode: bool) -> (Tone, String) {
    match cell {
        Cell::Empty => (Tone::Normal, " ".to_owned()),
        Cell::Grid => (Tone::Faint, if unicode { "·" } else { "." }.to_owned()),
        Cell::Line(at) => (if at == 0 { Tone::Bad } else { Tone::Warn }, letter(at).to_string()),
        Cell::Curve => (Tone::Good, if unicode { "█" } else { "#" }.to_owned()),
        Cell::Mark => (Tone::Strong, if unicode { "◆" } else { "@" }.to_owned()),
    }
}

fn put_axis(out: &mut String, style: &Style, roofline: &Roofline, columns: usize) {
    let (corner, bar) = if style.unicode { ("└", "─") } else { ("+", "-") };
    let mut line = Ink::new(style);
    line.pad_to(MARGIN - 1).put(Tone::Faint, corner).put(Tone::Faint, &bar.repeat(columns));
    line.end(out);
    let across = (roofline.at.first().copied().unwrap_or(1.0), roofline.at.last().copied().unwrap_or(2.0));
    let mut line = Ink::new(style);
    let mut free = 0;
    for at in &roofline.at {
        let name = tick(roofline.axis, *at);
        let middle = MARGIN + (place(*at, across) * (columns - 1) as f64).round() as usize;
        let start = middle.saturating_sub(name.len() / 2);
        if start >= free && start + name.len() <= style.width {
            line.pad_to(start).put(Tone::Faint, &name);
            free = start + name.len() + 2;
        }
    }
    line.end(out);
}

fn put_legend(out: &mut String, style: &Style, roofline: &Roofline) {
    let (curve, mark) = if style.unicode { ("█", "◆") } else { ("#", "@") };
    let mut line = Ink::new(style);
    line.put(Tone::Normal, "  ").put(Tone::Good, curve);
    if roofline.marks.is_empty() {
        line.put(Tone::Normal, " the lowest of the ceilings; what the workload gets is not known");
        line.end(out);
        return put_lines(out, style, roofline);
    }
    line.put(Tone::Normal, " what the workload gets   ");
    line.put(Tone::Strong, mark);
    let names: Vec<String> =
        roofline.marks.iter().map(|mark| format!("{} {}", mark.name, human::rate(mark.rate))).collect();
    line.put(Tone::Normal, &fit(style, &format!(" {}", names.join(", ")), style.width.saturating_sub(32)));
    line.end(out);
    put_lines(out, style, roofline);
}

fn put_lines(out: &mut String, style: &Style, roofline: &Roofline) {
    for (at, shown) in roofline.lines.iter().enumerate() {
        let mut line = Ink::new(style);
        let tone = if at == 0 { Tone::Bad } else { Tone::Warn };
        line.put(Tone::Normal, "  ").put(tone, &letter(at).to_string()).put(Tone::Normal, " ");
        let high = shown.rates.iter().map(|rate| rate.get()).fold(0.0, f64::max);
        let low = shown.rates.iter().map(|rate| rate.get()).fold(f64::INFINITY, f64::min);
        let rates = match high - low <= high * 1e-6 {
            true => human::rate(BytesPerSec::new(high)),
            false => {
                format!("{} to {}", human::rate(BytesPerSec::new(low)), human::rate(BytesPerSec::new(high)))
            }
        };
        line.put(
            Tone::Normal,
            &fit(style, &format!("{}, {rates}", label(shown)), style.width.saturating_sub(4)),
        );
        line.end(out);
    }
}
