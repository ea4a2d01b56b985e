//! What was predicted, for a person.

use super::{Before, BoundView, PredictReport, PredictionView, PublishedView, SystemView, WorkloadView};
use crate::text::Style;
use crate::text::{Line, Tone, fit, paragraph};
use narrows_base::units::{BytesPerSec, Iops, Nanos, human};

/// Bounds that are listed; `--json` has all.
const MOST_BOUNDS: usize = 6;

/// The report as text. It ends with a newline.
pub fn render(report: &PredictReport, style: &Style) -> String {
    let mut out = String::new();
    for (number, system) in report.systems.iter().enumerate() {
        if number > 0 {
            out.push('\n');
        }
        put_system(&mut out, style, system);
    }
    out
}

fn put_system(out: &mut String, style: &Style, system: &SystemView) {
    paragraph(out, style, (Tone::Normal, ""), Tone::Strong, &format!("{}  {}", system.file, system.name));
    for change in &system.changes {
        paragraph(out, style, (Tone::Normal, "  "), Tone::Faint, &format!("with {change}"));
    }
    for prediction in &system.predictions {
        out.push('\n');
        put_prediction(out, style, prediction);
    }
    if !system.published.is_empty() {
        put_published(out, style, &system.published);
    }
}

fn what(work: &WorkloadView) -> String {
    let mix = match work.read_share {
        share if share >= 1.0 => "reads".to_owned(),
        share if share <= 0.0 => "writes".to_owned(),
        share => format!("{} reads, rest writes,", human::percent(share)),
    };
    let jobs = if work.jobs == 1 { "1 job".to_owned() } else { format!("{} jobs", work.jobs) };
    format!(
        "{}: {} {mix} of {} on {}, depth {}, {jobs} ({})",
        work.name,
        work.pattern,
        human::block_size(work.block_size),
        work.target,
        work.queue_depth,
        work.engine
    )
}

fn put_prediction(out: &mut String, style: &Style, it: &PredictionView) {
    paragraph(out, style, (Tone::Normal, "  "), Tone::Normal, &what(&it.workload));
    if let Some(before) = &it.before {
        put_before(out, style, before);
    }
    let mut line = Line::new(style);
    line.put(Tone::Normal, if it.before.is_some() { "    after   " } else { "    " });
    line.put(Tone::Strong, &human::rate_with_binary(it.bytes_per_second));
    let (low, high) = it.expected_error;
    let rest = format!(
        "  {}, {} each  (expected error {:+.0} to {:+.0} %)",
        it.iops,
        human::time(it.latency_ns),
        low * 100.0,
        high * 100.0
    );
    line.put(Tone::Faint, &rest);
    line.end(out);
    if let Some(before) = &it.before {
        let factor = before.factor.map(|factor| format!(" (×{factor:.2})")).unwrap_or_default();
        let gain = BytesPerSec::new(before.gain_bytes_per_second.abs());
        let (tone, sign) = match before.gain_bytes_per_second {
            gain if gain > 0.0 => (Tone::Good, "+"),
            gain if gain < 0.0 => (Tone::Bad, "−"),
            _ => (Tone::Normal, "±"),
        };
        let text = format!("gain    {sign}{}{factor}", human::rate(gain));
        paragraph(out, style, (Tone::Normal, "    "), tone, &text);
    }
    if let Some(limiting) = &it.limiting {
        paragraph(out, style, (Tone::Normal, "    "), Tone::Bad, &format!("narrows {}", limiting.name));
        paragraph(out, style, (Tone::Normal, "            "), Tone::Faint, &limiting.formula);
    }
    if let Some(next) = &it.next {
        let text = format!("next    {}, {}", next.name, human::rate(next.bytes_per_second));
        paragraph(out, style, (Tone::Normal, "    "), Tone::Warn, &text);
    }
    put_bounds(out, style, &it.bounds);
    let felt: Vec<String> =
        it.sensitivity.iter().take(4).map(|it| format!("{} {:+.2} %", it.hop, it.elasticity)).collect();
    if !felt.is_empty() {
        let text = format!("1 % more of a hop gives: {}", felt.join(", "));
        paragraph(out, style, (Tone::Normal, "    "), Tone::Faint, &text);
    }
    for note in &it.notes {
        paragraph(out, style, (Tone::Normal, "    "), Tone::Faint, &format!("note: {note}"));
    }
}

fn put_before(out: &mut String, style: &Style, before: &Before) {
    let by = before.limiting_name.as_deref().map(|name| format!("  {name}")).unwrap_or_default();
    let mut line = Line::new(style);
    line.put(Tone::Normal, "    before  ")
        .put(Tone::Normal, &human::rate_with_binary(before.bytes_per_second));
    line.put(Tone::Faint, &by);
    line.end(out);
}

/// The bounds, with a bar as long as they are wide: logarithmic, since they differ by powers of ten.
fn put_bounds(out: &mut String, style: &Style, bounds: &[BoundView]) {
    let mut seen: Vec<(String, f64)> = Vec::new();
    let mut shown = 0;
    for bound in bounds {
        let key = (
            format!("{}{}", bound.kind, bound.hop.split(':').next().unwrap_or_default()),
            bound.bytes_per_second.get(),
        );
        if seen.iter().any(|(kind, rate)| *kind == key.0 && (rate - key.1).abs() <= key.1 * 1e-9) {
            continue;
        }
        seen.push(key);
        if shown == MOST_BOUNDS {
            break;
        }
        shown += 1;
        let mut line = Line::new(style);
        let tone = if shown == 1 { Tone::Strong } else { Tone::Normal };
        line.put(Tone::Normal, "    ").put_right(tone, &human::rate(bound.bytes_per_second), 16);
        line.put(Tone::Normal, "  ")
            .put(Tone::Normal, &fit(style, &bound.name, style.width.saturating_sub(32)));
        let what = if bound.kind == "bandwidth" { String::new() } else { format!("  {}", bound.kind) };
        line.put(Tone::Faint, &what);
        line.end(out);
    }
}

fn put_published(out: &mut String, style: &Style, rows: &[PublishedView]) {
    let mut head = Line::new(style);
    head.put(Tone::Normal, "  ").put_right(Tone::Faint, "predicted", 13).put_right(
        Tone::Faint,
        "published",
        25,
    );
    head.put_right(Tone::Faint, "difference", 37).put(Tone::Faint, "  what");
    head.end(out);
    for row in rows {
        let tone = match (row.agrees, &row.why) {
            (true, _) => Tone::Good,
            (false, Some(_)) => Tone::Warn,
            (false, None) => Tone::Bad,
        };
        let mut line = Line::new(style);
        line.put(Tone::Normal, "  ");
        line.put_right(Tone::Strong, &shown(&row.unit, row.predicted), 13);
        line.put_right(Tone::Normal, &shown(&row.unit, row.published), 25);
        line.put_right(tone, &format!("{:+.1} %", row.difference * 100.0), 37);
        line.put(Tone::Normal, "  ")
            .put(Tone::Normal, &fit(style, &row.what, style.width.saturating_sub(39)));
        line.end(out);
        if let Some(name) = &row.limiting_name {
            paragraph(out, style, (Tone::Normal, &" ".repeat(39)), Tone::Faint, &format!("narrows {name}"));
        }
        match (&row.why, row.agrees) {
            (Some(why), _) => {
                paragraph(out, style, (Tone::Normal, &" ".repeat(39)), Tone::Warn, &format!("why: {why}"))
            }
            (None, false) => {
                paragraph(out, style, (Tone::Normal, &" ".repeat(39)), Tone::Bad, "why: nobody says");
            }
            _ => {}
        }
    }
}

fn shown(unit: &str, value: f64) -> String {
    match unit {
        "iops" => Iops::new(value).to_string(),
        "latency_ns" => human::time(Nanos::new(value.max(0.0) as u64)),
        _ => human::rate(BytesPerSec::new(value)),
    }
}
