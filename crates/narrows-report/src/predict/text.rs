//! What was predicted, for a person.

use super::{
    Before, BoundView, Outcome, PredictReport, PredictionView, PublishedView, SystemView, WorkloadView,
};
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
    let lead = if it.before.is_some() { "    after   " } else { "    " };
    match it.bytes_per_second {
        Some(rate) => put_known(out, style, lead, it, rate),
        None => put_not_known(out, style, lead, it),
    }
    for note in &it.notes {
        paragraph(out, style, (Tone::Normal, "    "), Tone::Faint, &format!("note: {note}"));
    }
}

fn put_known(out: &mut String, style: &Style, lead: &str, it: &PredictionView, rate: BytesPerSec) {
    let mut line = Line::new(style);
    line.put(Tone::Normal, lead);
    line.put(Tone::Strong, &human::rate_with_binary(rate));
    let iops = it.iops.map(|iops| format!("  {iops}")).unwrap_or_default();
    let each = it.latency_ns.map(|time| format!(", {} each", human::time(time))).unwrap_or_default();
    line.put(Tone::Faint, &format!("{iops}{each}"));
    line.end(out);
    if let (Some(in_80), Some(in_95)) = (it.interval_80, it.interval_95) {
        let text = format!("80 % of cases {}, 95 % {}", range(in_80), range(in_95));
        paragraph(out, style, (Tone::Normal, "            "), Tone::Faint, &text);
    }
    if let Some((before, gain)) = it.before.as_ref().and_then(|it| Some((it, it.gain_bytes_per_second?))) {
        put_gain(out, style, before, gain);
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
}

fn put_not_known(out: &mut String, style: &Style, lead: &str, it: &PredictionView) {
    let indent = " ".repeat(lead.chars().count());
    let bound = match &it.at_most {
        Some(bound) => {
            format!("not known; at most {}: {}", human::rate(bound.bytes_per_second), bound.name)
        }
        None => "not known, and nothing is known that bounds it".to_owned(),
    };
    paragraph(out, style, (Tone::Normal, lead), Tone::Strong, &bound);
    if let Some(because) = &it.not_known_because {
        paragraph(out, style, (Tone::Normal, &indent), Tone::Warn, &format!("because {because}"));
    }
    if let Some(measure) = &it.measure_instead {
        paragraph(out, style, (Tone::Normal, &indent), Tone::Normal, &format!("to know, measure {measure}"));
    }
}

/// `3.1 to 3.6 GB/s`.
fn range((low, high): (BytesPerSec, BytesPerSec)) -> String {
    format!("{} to {}", human::rate(low), human::rate(high))
}

fn put_gain(out: &mut String, style: &Style, before: &Before, gain: f64) {
    let factor = before.factor.map(|factor| format!(" (×{factor:.2})")).unwrap_or_default();
    let (tone, sign) = match gain {
        gain if gain > 0.0 => (Tone::Good, "+"),
        gain if gain < 0.0 => (Tone::Bad, "−"),
        _ => (Tone::Normal, "±"),
    };
    let text = format!("gain    {sign}{}{factor}", human::rate(BytesPerSec::new(gain.abs())));
    paragraph(out, style, (Tone::Normal, "    "), tone, &text);
}

fn put_before(out: &mut String, style: &Style, before: &Before) {
    let by = before.limiting_name.as_deref().map(|name| format!("  {name}")).unwrap_or_default();
    let mut line = Line::new(style);
    let rate = match (before.bytes_per_second, before.at_most_bytes_per_second) {
        (Some(rate), _) => human::rate_with_binary(rate),
        (None, Some(most)) => format!("not known; at most {}", human::rate(most)),
        (None, None) => "not known".to_owned(),
    };
    line.put(Tone::Normal, "    before  ").put(Tone::Normal, &rate);
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
    head.put(Tone::Normal, "  ").put_right(Tone::Faint, "predicted", 15).put_right(
        Tone::Faint,
        "published",
        27,
    );
    head.put_right(Tone::Faint, "difference", 39).put(Tone::Faint, "  what");
    head.end(out);
    for row in rows {
        put_row(out, style, row);
    }
}

fn put_row(out: &mut String, style: &Style, row: &PublishedView) {
    let tone = match row.outcome {
        Outcome::Inside => Tone::Good,
        Outcome::Refused => Tone::Warn,
        Outcome::Outside | Outcome::AboveBound => Tone::Bad,
    };
    let predicted = match (row.predicted, row.at_most) {
        (Some(predicted), _) => shown(&row.unit, predicted),
        (None, Some(most)) => format!("≤ {}", shown(&row.unit, most)),
        (None, None) => "not known".to_owned(),
    };
    let difference = row.difference.map_or("–".to_owned(), |part| format!("{:+.1} %", part * 100.0));
    let mut line = Line::new(style);
    line.put(Tone::Normal, "  ");
    line.put_right(Tone::Strong, &predicted, 15);
    line.put_right(Tone::Normal, &shown(&row.unit, row.published), 27);
    line.put_right(tone, &difference, 39);
    line.put(Tone::Normal, "  ").put(Tone::Normal, &fit(style, &row.what, style.width.saturating_sub(41)));
    line.end(out);
    let indent = " ".repeat(41);
    let mut put = |tone: Tone, text: &str| paragraph(out, style, (Tone::Normal, &indent), tone, text);
    if let (Outcome::Outside, Some((low, high))) = (row.outcome, row.interval_95) {
        let text = format!("outside of {} to {}", shown(&row.unit, low), shown(&row.unit, high));
        put(Tone::Bad, &text);
    }
    if row.outcome == Outcome::AboveBound {
        put(Tone::Bad, "above what is said to bound it");
    }
    if let Some(name) = &row.limiting_name {
        let verb = if row.predicted.is_some() { "narrows" } else { "at most:" };
        put(Tone::Faint, &format!("{verb} {name}"));
    }
    if let Some(because) = &row.not_known_because {
        put(Tone::Warn, &format!("not known: {because}"));
    }
    if let Some(why) = &row.why {
        put(Tone::Faint, &format!("the file says: {why}"));
    }
}

fn shown(unit: &str, value: f64) -> String {
    match unit {
        "iops" => Iops::new(value).to_string(),
        "latency_ns" => human::time(Nanos::new(value.max(0.0) as u64)),
        _ => human::rate(BytesPerSec::new(value)),
    }
}
