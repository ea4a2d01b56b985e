//! Bars with intervals as SVG, each on a scale that begins at zero.

use std::fmt::Write;

use crate::sanitize::markup;

const WIDTH: f64 = 960.0;
const LEFT: f64 = 250.0;
const RIGHT: f64 = 130.0;
const ROW: f64 = 34.0;
const THICK: f64 = 18.0;
/// The most characters of a name; its whole text is its tooltip.
const LONGEST: usize = 30;

/// One bar.
pub(super) struct Bar {
    pub(super) rank: Option<usize>,
    pub(super) name: String,
    pub(super) marks: String,
    pub(super) value: f64,
    pub(super) shown: String,
    pub(super) interval: Option<[f64; 2]>,
    pub(super) predicted: Option<f64>,
    pub(super) best: bool,
    pub(super) tip: String,
}

/// All bars below each other; nothing for none.
pub(super) fn bars(out: &mut String, all: &[Bar]) {
    let ends = all.iter().flat_map(|bar| {
        [Some(bar.value), bar.interval.map(|[_, high]| high), bar.predicted].into_iter().flatten()
    });
    let most = ends.filter(|end| end.is_finite()).fold(0.0, f64::max);
    if all.is_empty() || most <= 0.0 {
        return;
    }
    let height = ROW * all.len() as f64 + 8.0;
    let _ = writeln!(
        out,
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"bars with intervals\">"
    );
    let x = |value: f64| LEFT + (value / most).clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT);
    for step in 0..=4_u32 {
        let at = LEFT + f64::from(step) / 4.0 * (WIDTH - LEFT - RIGHT);
        let _ = writeln!(out, "<path class=\"grid\" d=\"M{at:.1} 0V{height}\"/>");
    }
    for (row, bar) in all.iter().enumerate() {
        put(out, bar, ROW * row as f64 + 4.0, &x);
    }
    out.push_str("</svg>\n");
}

fn put(out: &mut String, bar: &Bar, top: f64, x: &impl Fn(f64) -> f64) {
    let (middle, base) = (top + ROW / 2.0, top + ROW / 2.0 + 4.5);
    let class = if bar.best { "bar best" } else { "bar" };
    let _ = writeln!(out, "<g><title>{}: {}</title>", markup(&bar.name), markup(&bar.tip));
    if let Some(rank) = bar.rank {
        let _ = writeln!(
            out,
            "<text class=\"soft n\" x=\"22\" y=\"{base:.1}\" text-anchor=\"end\">{rank}</text>"
        );
    }
    let name = shortened(&bar.name);
    let strong = if bar.best { " class=\"strong\"" } else { "" };
    let marks = if bar.marks.is_empty() {
        String::new()
    } else {
        format!(" <tspan class=\"mark\">{}</tspan>", markup(&bar.marks))
    };
    let _ = writeln!(out, "<text{strong} x=\"34\" y=\"{base:.1}\">{}{marks}</text>", markup(&name));
    let end = x(bar.value);
    let _ = writeln!(
        out,
        "<rect class=\"{class}\" x=\"{LEFT}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{THICK}\" rx=\"3\"/>",
        middle - THICK / 2.0,
        (end - LEFT).max(1.0)
    );
    let mut last = end;
    if let Some([low, high]) = bar.interval {
        let (from, to) = (x(low), x(high));
        last = last.max(to);
        let _ = writeln!(
            out,
            "<path class=\"whisker\" d=\"M{from:.1} {middle:.1}H{to:.1}M{from:.1} {:.1}v8M{to:.1} {:.1}v8\"/>",
            middle - 4.0,
            middle - 4.0
        );
    }
    if let Some(said) = bar.predicted {
        let at = x(said);
        last = last.max(at + 5.0);
        let _ = writeln!(
            out,
            "<path class=\"said\" d=\"M{at:.1} {:.1}l5 5l-5 5l-5 -5z\"/>",
            middle + THICK / 2.0 - 4.0
        );
    }
    let _ = writeln!(
        out,
        "<text class=\"n{}\" x=\"{:.1}\" y=\"{base:.1}\">{}</text></g>",
        if bar.best { " strong" } else { "" },
        last + 9.0,
        markup(&bar.shown)
    );
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    let kept: String = text.chars().take(LONGEST - 1).collect();
    format!("{}…", kept.trim_end())
}
