//! What a roofline tells: what limits small I/Os and what large ones, and where one takes over from the other.

use super::{Answer, step};
use crate::roofline::label;
use narrows_base::units::{Bytes, BytesPerSec, human};
use narrows_model::predict::roofline::{Axis, Line, Roofline};

/// So many parts of the axis are named.
const MOST: usize = 3;

/// A part of the axis in which one line is the lowest.
struct Part<'r> {
    line: &'r Line,
    from: usize,
    to: usize,
}

/// The answer; `None` where nothing bounds the rate.
pub fn roofline(picture: &Roofline) -> Option<Answer> {
    let parts = parts(picture);
    let last = parts.last()?;
    let place = |at: usize| place(picture, at);
    let rate = |at: usize| picture.rates.get(at).copied().unwrap_or(BytesPerSec::new(0.0));
    let of = match picture.axis {
        Axis::BlockSize => "I/Os of",
        Axis::Depth => "depths of",
    };
    let said: Vec<String> = parts
        .iter()
        .take(MOST)
        .map(|part| {
            let name = label(part.line);
            match (part.from == 0, part.to + 1 == picture.at.len()) {
                (true, true) => format!("{name} limits everywhere: {} at most", human::rate(rate(part.to))),
                (true, false) => format!("{of} up to {} are limited by {name}", place(part.to)),
                (false, true) => {
                    format!(
                        "{of} {} and more are limited by {name}: {} at most",
                        place(part.from),
                        human::rate(rate(part.to))
                    )
                }
                (false, false) => {
                    format!("{of} {} to {} are limited by {name}", place(part.from), place(part.to))
                }
            }
        })
        .collect();
    let mut sentence = format!("{}: {}.", picture.fixed, said.join("; "));
    sentence.get_mut(..1).into_iter().for_each(str::make_ascii_uppercase);
    if let Some(mark) = picture.marks.first() {
        let rate = human::rate(mark.rate);
        sentence.push_str(&format!(
            " The workload `{}` gets {rate}; `narrows predict` prints its interval.",
            mark.name
        ));
    }
    let what = match picture.axis {
        Axis::BlockSize => "I/Os of",
        Axis::Depth => "a depth of",
    };
    let mut todo = Vec::new();
    if last.from > 0 {
        todo.push(step(format!(
            "Use {what} {} or more; then the hop to change is {}.",
            place(last.from),
            label(last.line)
        )));
    } else {
        todo.push(step(format!("The hop to change is {}.", label(last.line))));
    }
    Some(Answer { sentence, todo })
}

fn place(picture: &Roofline, at: usize) -> String {
    let at = picture.at.get(at).copied().unwrap_or_default();
    match picture.axis {
        Axis::BlockSize => human::block_size(Bytes::new(at as u64)),
        Axis::Depth => format!("{at:.0}"),
    }
}

/// The lowest line at each place, places beside each other as one.
fn parts(picture: &Roofline) -> Vec<Part<'_>> {
    let mut parts: Vec<Part<'_>> = Vec::new();
    for at in 0..picture.at.len() {
        let rate = |line: &Line| line.rates.get(at).map_or(f64::INFINITY, |rate| rate.get());
        let lowest = picture.lines.iter().min_by(|a, b| rate(a).total_cmp(&rate(b)));
        let Some(line) = lowest.filter(|line| rate(line).is_finite()) else { continue };
        match parts.last_mut().filter(|part| std::ptr::eq(part.line, line)) {
            Some(part) => part.to = at,
            None => parts.push(Part { line, from: at, to: at }),
        }
    }
    parts
}
