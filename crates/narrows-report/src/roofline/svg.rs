//! The picture as SVG: one file without scripts or other files, readable on light and on dark.

use std::fmt::Write;

use super::scale::{labels, place, rates, steps};
use super::{axis_name, is_empty, label, tick};
use crate::sanitize::markup as escape;
use narrows_base::units::{BytesPerSec, human};
use narrows_model::predict::roofline::{Line, Roofline};

const WIDTH: f64 = 1080.0;
const PANEL: f64 = 460.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 330.0;
const TOP: f64 = 64.0;
const BOTTOM: f64 = 62.0;

/// The least distance of two labels.
const LABEL_GAP: f64 = 19.0;

/// The most characters of a label; its whole text is its tooltip.
const LABEL_LENGTH: usize = 44;

/// Colours are those of the palette of primer.style, chosen apart in lightness too; the second half is for dark paper.
const STYLE: &str = r#"text { font: 13px ui-sans-serif, system-ui, "Segoe UI", Helvetica, Arial, sans-serif }
.title { font-size: 17px; font-weight: 600 } .strong { font-weight: 600 } .tick { font-size: 12px }
.grid { stroke-width: 1 } .minor { stroke-width: 0.6; stroke-dasharray: 2 4 } .axis { stroke-width: 1; fill: none }
.line { fill: none; stroke-width: 1.8; stroke-linejoin: round } .lead { stroke-width: 0.8; opacity: 0.55; fill: none }
.curve { fill: none; stroke-width: 4; stroke-linejoin: round; stroke-linecap: round } .under { opacity: 0.09; stroke: none }
.mark { stroke-width: 2.4 }
.paper { fill: #ffffff }
text { fill: #1b1f24 }
.soft, .tick { fill: #656d76 }
.grid, .minor { stroke: #e3e7ec }
.axis, .lead { stroke: #656d76 }
.curve { stroke: #0b6bcb }
.under { fill: #0b6bcb }
.mark { fill: #ffffff; stroke: #1b1f24 }
.s0 { stroke: #d1242f }
.f0 { fill: #d1242f }
.s1 { stroke: #bc6c00 }
.f1 { fill: #bc6c00 }
.s2 { stroke: #6f42c1 }
.f2 { fill: #6f42c1 }
.s3 { stroke: #1a7f37 }
.f3 { fill: #1a7f37 }
.s4 { stroke: #0e7490 }
.f4 { fill: #0e7490 }
.s5 { stroke: #a03570 }
.f5 { fill: #a03570 }
.s6 { stroke: #57606a }
.f6 { fill: #57606a }
@media (prefers-color-scheme: dark) {
  .paper { fill: #0f1318 }
  text { fill: #e8ecf1 }
  .soft, .tick { fill: #98a2ad }
  .grid, .minor { stroke: #252c35 }
  .axis, .lead { stroke: #98a2ad }
  .curve { stroke: #5fb1ff }
  .under { fill: #5fb1ff }
  .mark { fill: #0f1318; stroke: #e8ecf1 }
  .s0 { stroke: #ff7b72 }
  .f0 { fill: #ff7b72 }
  .s1 { stroke: #e3a13a }
  .f1 { fill: #e3a13a }
  .s2 { stroke: #bc9cff }
  .f2 { fill: #bc9cff }
  .s3 { stroke: #56d364 }
  .f3 { fill: #56d364 }
  .s4 { stroke: #4cc9de }
  .f4 { fill: #4cc9de }
  .s5 { stroke: #f390c3 }
  .f5 { fill: #f390c3 }
  .s6 { stroke: #a8b2bd }
  .f6 { fill: #a8b2bd }
}
"#;

/// The pictures below each other.
pub fn svg(pictures: &[Roofline]) -> String {
    let height = PANEL * pictures.len().max(1) as f64;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         role=\"img\">\n<title>Storage roofline</title>\n<style>\n{STYLE}</style>\n\
         <rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n"
    );
    for (at, picture) in pictures.iter().enumerate() {
        let _ = writeln!(out, "<g transform=\"translate(0 {})\">", PANEL * at as f64);
        panel(&mut out, picture);
        out.push_str("</g>\n");
    }
    out.push_str("</svg>\n");
    out
}

/// Where values stand on a panel.
struct Plane {
    across: (f64, f64),
    up: (f64, f64),
}

impl Plane {
    fn x(&self, at: f64) -> f64 {
        LEFT + place(at, self.across) * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, rate: f64) -> f64 {
        PANEL - BOTTOM - place(rate, self.up) * (PANEL - TOP - BOTTOM)
    }

    /// The line through these rates, cut off at the top and bottom of the panel.
    fn path(&self, at: &[f64], rates: &[BytesPerSec]) -> String {
        let points: Vec<(f64, f64)> = at
            .iter()
            .zip(rates)
            .filter(|(_, rate)| rate.get() > 0.0)
            .map(|(at, rate)| (self.x(*at), self.y(rate.get())))
            .collect();
        let mut out = String::new();
        for pair in points.windows(2) {
            if let Some(((x, y), (to_x, to_y))) = clip(pair[0], pair[1], (TOP, PANEL - BOTTOM)) {
                let _ = write!(out, "M{x:.1} {y:.1}L{to_x:.1} {to_y:.1}");
            }
        }
        out
    }
}

/// The part of a segment between two heights.
fn clip(from: (f64, f64), to: (f64, f64), (top, bottom): (f64, f64)) -> Option<((f64, f64), (f64, f64))> {
    let at = |y: f64| from.0 + (to.0 - from.0) * (y - from.1) / (to.1 - from.1);
    let cut = |(x, y): (f64, f64)| match y {
        y if y < top => (at(top), top),
        y if y > bottom => (at(bottom), bottom),
        y => (x, y),
    };
    let outside = (from.1 < top && to.1 < top) || (from.1 > bottom && to.1 > bottom);
    (!outside).then(|| (cut(from), cut(to)))
}

fn panel(out: &mut String, picture: &Roofline) {
    let title = format!("Rate against {}", axis_name(picture.axis));
    let _ = writeln!(out, "<text class=\"title\" x=\"{LEFT}\" y=\"28\">{}</text>", escape(&title));
    let _ = writeln!(out, "<text class=\"soft\" x=\"{LEFT}\" y=\"48\">{}</text>", escape(&picture.fixed));
    if is_empty(picture) {
        let _ = writeln!(out, "<text x=\"{LEFT}\" y=\"120\">nothing is known that bounds it</text>");
        return;
    }
    let across = (picture.at.first().copied().unwrap_or(1.0), picture.at.last().copied().unwrap_or(2.0));
    let plane = Plane { across, up: rates(picture) };
    grid(out, picture, &plane);
    for (at, line) in picture.lines.iter().enumerate().rev() {
        let path = plane.path(&picture.at, &line.rates);
        let dash = if at == 0 { "" } else { " stroke-dasharray=\"7 4\"" };
        let _ = writeln!(out, "<path class=\"line s{}\"{dash} d=\"{path}\"/>", at % 7);
    }
    curve(out, picture, &plane);
    names(out, picture, &plane);
    marks(out, picture, &plane);
}

fn grid(out: &mut String, picture: &Roofline, plane: &Plane) {
    let (right, bottom) = (WIDTH - RIGHT, PANEL - BOTTOM);
    let named = labels(plane.up);
    for step in steps(plane.up) {
        let y = plane.y(step);
        let is_named = named.contains(&step);
        let class = if is_named { "grid" } else { "minor" };
        let _ = writeln!(out, "<path class=\"{class}\" d=\"M{LEFT} {y:.1}H{right}\"/>");
        if is_named {
            let name = human::rate(BytesPerSec::new(step));
            let _ = writeln!(
                out,
                "<text class=\"tick\" text-anchor=\"end\" x=\"{}\" y=\"{:.1}\">{name}</text>",
                LEFT - 10.0,
                y + 4.0
            );
        }
    }
    for (at, place) in picture.at.iter().enumerate() {
        let x = plane.x(*place);
        let shown = picture.at.len() <= 11 || at % 2 == 1;
        let class = if shown { "grid" } else { "minor" };
        let _ = writeln!(out, "<path class=\"{class}\" d=\"M{x:.1} {TOP}V{bottom}\"/>");
        if shown {
            let name = tick(picture.axis, *place);
            let _ = writeln!(
                out,
                "<text class=\"tick\" text-anchor=\"middle\" x=\"{x:.1}\" y=\"{}\">{name}</text>",
                bottom + 20.0
            );
        }
    }
    let _ = writeln!(out, "<path class=\"axis\" d=\"M{LEFT} {TOP}V{bottom}H{right}\" fill=\"none\"/>");
    let middle = f64::midpoint(LEFT, right);
    let _ = writeln!(
        out,
        "<text class=\"soft\" text-anchor=\"middle\" x=\"{middle}\" y=\"{}\">{} (logarithmic)</text>",
        bottom + 42.0,
        axis_name(picture.axis)
    );
}

fn curve(out: &mut String, picture: &Roofline, plane: &Plane) {
    let bottom = PANEL - BOTTOM;
    let mut area = String::new();
    for (at, rate) in picture.at.iter().zip(&picture.rates) {
        let (x, y) = (plane.x(*at), plane.y(rate.get().max(plane.up.0)));
        let _ = write!(area, "{}{x:.1} {y:.1}", if area.is_empty() { "M" } else { "L" });
    }
    let (first, last) = (plane.x(plane.across.0), plane.x(plane.across.1));
    let _ = writeln!(out, "<path class=\"under\" d=\"{area}L{last:.1} {bottom}L{first:.1} {bottom}Z\"/>");
    let _ = writeln!(out, "<path class=\"curve\" d=\"{area}\"/>");
}

/// Names at the right, each beside the end of its line and far enough from the others.
fn names(out: &mut String, picture: &Roofline, plane: &Plane) {
    let right = WIDTH - RIGHT;
    let end =
        |line: &Line| line.rates.last().map_or(TOP, |rate| plane.y(rate.get()).clamp(TOP, PANEL - BOTTOM));
    let mut order: Vec<(usize, &Line, f64)> =
        picture.lines.iter().enumerate().map(|(at, line)| (at, line, end(line))).collect();
    order.sort_by(|a, b| a.2.total_cmp(&b.2));
    let mut free = TOP - LABEL_GAP;
    for (left, (at, line, height)) in
        order.iter().enumerate().map(|(place, it)| (order.len() - place - 1, it))
    {
        // Room for those below.
        let lowest = PANEL - BOTTOM + 14.0 - LABEL_GAP * left as f64;
        let y = height.max(free + LABEL_GAP).min(lowest.max(free + LABEL_GAP));
        free = y;
        let colour = at % 7;
        let _ = writeln!(
            out,
            "<path class=\"lead s{colour}\" d=\"M{right} {height:.1}C{} {height:.1} {} {y:.1} {} {y:.1}\"/>",
            right + 14.0,
            right + 10.0,
            right + 24.0
        );
        let whole = label(line);
        let weight = if *at == 0 { " strong" } else { "" };
        let _ = writeln!(
            out,
            "<text class=\"f{colour}{weight}\" x=\"{}\" y=\"{:.1}\"><title>{}</title>{}</text>",
            right + 29.0,
            y + 4.0,
            escape(&whole),
            escape(&shortened(&whole, LABEL_LENGTH))
        );
    }
}

fn marks(out: &mut String, picture: &Roofline, plane: &Plane) {
    for (index, mark) in picture.marks.iter().filter(|mark| mark.rate.get() > 0.0).enumerate() {
        let (x, y) = (plane.x(mark.at), plane.y(mark.rate.get()));
        let text = format!("{}  {}", shortened(&mark.name, 28), human::rate(mark.rate));
        let (anchor, to) = if x > WIDTH - RIGHT - 180.0 { ("end", x - 11.0) } else { ("start", x + 11.0) };
        let _ = writeln!(
            out,
            "<circle class=\"mark\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"6\"><title>{}</title></circle>",
            escape(&text)
        );
        let _ = writeln!(
            out,
            "<text class=\"strong\" text-anchor=\"{anchor}\" x=\"{to:.1}\" y=\"{:.1}\">{}</text>",
            // Labels of marks that stand at one height keep apart.
            y + 22.0 + 17.0 * (index % 3) as f64,
            escape(&text)
        );
    }
}

fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}
