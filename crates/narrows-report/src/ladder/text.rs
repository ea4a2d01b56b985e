//! The terminal view of a ladder: a waterfall, one line for each rung from the media up, and why each loss is one.

use super::{LadderReport, LadderView, LossView, RungView};
use crate::bench::writes;
use crate::text::{Line, Style, Tone, fit, paragraph};
use narrows_base::units::{BytesPerSec, human};
use narrows_model::ceiling::Basis;
use narrows_verdict::ladder::Leg;
use narrows_verdict::{Confidence, Severity};

/// Columns between the end of the name and the ends of rate, interval, loss and ceiling.
const COLUMNS: [usize; 4] = [11, 8, 21, 11];
/// The shortest name column.
const NAME: usize = 24;
/// The longest bar.
const BAR: usize = 24;

/// The report as text. It ends with a newline.
pub fn render(report: &LadderReport, style: &Style) -> String {
    let mut out = String::new();
    let about = format!("{}, from the media up, {} each", report.target, human::time(report.duration_ns));
    paragraph(&mut out, style, (Tone::Strong, "ladder of "), Tone::Normal, &about);
    for ladder in &report.ladders {
        out.push('\n');
        one(&mut out, style, ladder);
    }
    legs(&mut out, style, &report.legs);
    if !report.left_out.is_empty() {
        out.push('\n');
        for left in &report.left_out {
            let text = format!("{}: {}", left.hop, left.reason);
            paragraph(&mut out, style, (Tone::Warn, "not measured: "), Tone::Normal, &text);
        }
    }
    if let Some(written) = &report.writes {
        writes::put(&mut out, style, written, false);
    }
    if let Some(reason) = &report.reason {
        out.push('\n');
        paragraph(&mut out, style, (Tone::Warn, "not complete: "), Tone::Normal, reason);
    }
    out
}

fn one(out: &mut String, style: &Style, ladder: &LadderView) {
    let load = format!("{} {}", ladder.load.mark(), ladder.load.direction());
    paragraph(out, style, (Tone::Strong, ""), Tone::Strong, &load);
    paragraph(out, style, (Tone::Strong, "  "), Tone::Strong, &ladder.sentence);
    out.push('\n');
    waterfall(out, style, ladder);
    let losses: Vec<(&RungView, &LossView)> =
        ladder.rungs.iter().rev().filter_map(|rung| Some((rung, rung.loss.as_ref()?))).collect();
    for (rung, loss) in losses {
        out.push('\n');
        why(out, style, rung, loss);
    }
    numa(out, style, ladder);
    let told = ladder.findings.iter().filter(|finding| finding.severity != Severity::Info);
    for finding in told {
        out.push('\n');
        let tone = if finding.severity == Severity::Fault { Tone::Bad } else { Tone::Warn };
        paragraph(
            out,
            style,
            (tone, &format!("{}: ", finding.code.as_str())),
            Tone::Normal,
            &finding.summary,
        );
        for advice in &finding.advice {
            paragraph(out, style, (Tone::Faint, "  try: "), Tone::Normal, &advice.action);
        }
    }
}

/// One line for each rung; the bar is the part of the highest rate.
fn waterfall(out: &mut String, style: &Style, ladder: &LadderView) {
    let rate = |rung: &RungView| rung.measured.as_ref()?.rate().map(|rate| rate.bytes_per_second);
    let most = ladder.rungs.iter().filter_map(rate).fold(BytesPerSec::default(), BytesPerSec::max);
    let fixed: usize = COLUMNS.iter().sum();
    let longest = ladder.rungs.iter().map(|rung| rung.name.chars().count()).max().unwrap_or(0);
    let room = style.width.saturating_sub(fixed + 2);
    let name = longest.min(room.saturating_sub(8)).max(NAME);
    let bar = room.saturating_sub(name + 2).min(BAR);
    let end = |column: usize| 2 + name + COLUMNS.iter().take(column + 1).sum::<usize>();
    let mut line = Line::new(style);
    line.pad_to(2).put(Tone::Faint, "layer");
    for (column, text) in ["rate", "±95 %", "loss", "ceiling"].into_iter().enumerate() {
        line.put_right(Tone::Faint, text, end(column));
    }
    line.end(out);
    for rung in &ladder.rungs {
        let is_limit = ladder.limiting_hop.read.as_ref().or(ladder.limiting_hop.write.as_ref())
            == Some(&rung.hop)
            && !rung.at_once;
        let tone = match (is_limit, rung.loss.is_some()) {
            (true, _) => Tone::Bad,
            (false, true) => Tone::Warn,
            _ => Tone::Normal,
        };
        let mut line = Line::new(style);
        let mark = if style.unicode { "▶" } else { ">" };
        line.put(Tone::Bad, if is_limit { mark } else { "" });
        line.pad_to(2).put(tone, &fit(style, &rung.name, name));
        let cells = cells(rung);
        for (column, (text, tone)) in cells.iter().enumerate() {
            line.put_right(*tone, text, end(column));
        }
        if let Some(rate) = rate(rung) {
            let full = (rate.fraction_of(most) * bar as f64).round() as usize;
            line.put(Tone::Normal, "  ").put(tone, &if style.unicode { "█" } else { "#" }.repeat(full));
        }
        line.end(out);
    }
}

fn cells(rung: &RungView) -> [(String, Tone); 4] {
    let Some(rate) = rung.measured.as_ref().and_then(super::RungPair::rate) else {
        let none = || (String::new(), Tone::Faint);
        return [("–".to_owned(), Tone::Faint), none(), none(), none()];
    };
    let half = rate.ci95.map_or_else(
        || "–".to_owned(),
        |[low, high]| human::percent((high - low).fraction_of(rate.bytes_per_second) / 2.0),
    );
    let lost = match (rung.lost, rung.lost_bytes_per_second) {
        (Some(part), _) if part.abs() < 0.0005 => human::percent(0.0),
        (Some(part), _) if part < 0.0 => format!("+{}", human::percent(-part)),
        (Some(part), Some(lost)) => format!("−{} (−{lost})", human::percent(part)),
        _ => String::new(),
    };
    let ceiling = rung.ceiling.as_ref().map_or_else(String::new, |ceiling| {
        let mark = if ceiling.basis == Basis::Guess { "~" } else { "" };
        format!("{mark}{}", ceiling.bytes_per_second)
    });
    let doubt = if rate.trusted { "" } else { "?" };
    let tone = if rung.loss.is_some() { Tone::Warn } else { Tone::Faint };
    [
        (format!("{}{doubt}", rate.bytes_per_second), Tone::Strong),
        (half, Tone::Faint),
        (lost, tone),
        (ceiling, Tone::Faint),
    ]
}

fn why(out: &mut String, style: &Style, rung: &RungView, loss: &LossView) {
    let sure = match loss.confidence {
        Confidence::High => "",
        Confidence::Medium => " (likely)",
        Confidence::Low => " (a suspicion)",
    };
    let cause = serde_json::to_value(loss.cause).ok();
    let cause = cause.as_ref().and_then(|cause| cause.as_str()).unwrap_or_default();
    let text = format!("{}: {cause}{sure}: {}", rung.id, loss.summary);
    paragraph(out, style, (Tone::Warn, "LOSS   "), Tone::Normal, &text);
    for evidence in &loss.evidence {
        let text = format!("{}: {} ({})", evidence.fact, evidence.value, evidence.source);
        paragraph(out, style, (Tone::Faint, "       · "), Tone::Faint, &text);
    }
}

fn numa(out: &mut String, style: &Style, ladder: &LadderView) {
    for run in &ladder.numa {
        let place = match run.local {
            Some(true) => " (where the device is)",
            Some(false) => " (remote)",
            None => "",
        };
        let text = format!("read from node {}{place}: {}", run.node, run.bytes_per_second);
        paragraph(out, style, (Tone::Faint, "  "), Tone::Normal, &text);
    }
}

/// What the legs give alone.
fn legs(out: &mut String, style: &Style, legs: &[Leg]) {
    if legs.is_empty() {
        return;
    }
    out.push('\n');
    paragraph(out, style, (Tone::Strong, "legs alone"), Tone::Normal, "");
    for leg in legs {
        let cores = match leg.cores {
            0 => String::new(),
            1 => ", 1 core".to_owned(),
            cores => format!(", {cores} cores"),
        };
        let text = match (leg.bytes_per_second, &leg.reason) {
            (Some(rate), _) => format!("{rate}  ({})", leg.means),
            (None, Some(reason)) => format!("not measured: {reason}"),
            (None, None) => "not measured".to_owned(),
        };
        let text = format!("{}{cores}: {text}", leg.name);
        paragraph(out, style, (Tone::Faint, "  "), Tone::Normal, &text);
    }
}
