//! The terminal view of a ladder: a waterfall, one line for each rung from the media up, and why each loss is one.

use super::{LadderReport, LadderView, RungView};
use crate::bench::writes;
use crate::document::table::Width;
use crate::document::{Audience, Block, Blocks, Cell, Column, Document, Place, Table, half};
use crate::figure::chart;
use crate::text::{Style, Tone};
use narrows_base::units::{BytesPerSec, human};
use narrows_model::ceiling::Basis;
use narrows_verdict::ladder::{Leg, Loss};
use narrows_verdict::{Confidence, Severity};

/// Columns between the end of the name and the ends of rate, interval, loss and ceiling.
const COLUMNS: [usize; 4] = [11, 8, 21, 11];
/// The shortest name column.
const NAME: usize = 24;
/// The shortest and the longest bar.
const BAR: (usize, usize) = (6, 24);

/// The report as text. It ends with a newline.
pub fn render(report: &LadderReport, style: &Style) -> String {
    document(report, Audience::of(style)).text(style)
}

/// The report as a document.
pub fn document(report: &LadderReport, audience: Audience) -> Document {
    let mut out = Document::new("ladder", &report.target, Some(&report.tool));
    let about = format!("{}, from the media up, {} each", report.target, human::time(report.duration_ns));
    out.lead((Tone::Strong, "ladder of "), Tone::Normal, about);
    for ladder in &report.ladders {
        out.gap();
        one(&mut out, ladder);
    }
    legs(&mut out, &report.legs);
    if !report.left_out.is_empty() {
        out.gap();
        for left in &report.left_out {
            let text = format!("{}: {}", left.hop, left.reason);
            out.lead((Tone::Warn, "not measured: "), Tone::Normal, text);
        }
    }
    if let Some(written) = &report.writes {
        writes::put(&mut out, written, false);
    }
    out.not_complete(report.reason.as_ref());
    out.figures(Place::Charts, chart::ladder_waterfall(report));
    if audience == Audience::Public { out.scrubbed() } else { out }
}

fn one(out: &mut Document, ladder: &LadderView) {
    let load = format!("{} {}", ladder.load.mark(), ladder.load.direction());
    out.part(Place::Verdict, "");
    out.heading(load);
    out.say(2, Tone::Strong, &ladder.sentence);
    out.gap();
    out.part(Place::Data, "Layers");
    waterfall(out, ladder);
    let losses: Vec<(&RungView, &Loss)> =
        ladder.rungs.iter().rev().filter_map(|rung| Some((rung, rung.step.loss.as_ref()?))).collect();
    out.part(Place::Findings, "Why rate is lost");
    for (rung, loss) in losses {
        out.gap();
        why(out, rung, loss);
    }
    numa(out, ladder);
    let told = ladder.findings.iter().filter(|finding| finding.severity != Severity::Info);
    for finding in told {
        out.gap();
        let tone = if finding.severity == Severity::Fault { Tone::Bad } else { Tone::Warn };
        out.lead((tone, &format!("{}: ", finding.code.as_str())), Tone::Normal, &finding.summary);
        for advice in &finding.advice {
            out.lead((Tone::Faint, "  try: "), Tone::Normal, &advice.action);
        }
    }
}

/// One line for each rung; the bar is the part of the highest rate.
fn waterfall(out: &mut Document, ladder: &LadderView) {
    let rate = |rung: &RungView| Some(rung.measurement.as_ref()?.bytes_per_second);
    let most = ladder.rungs.iter().filter_map(rate).fold(BytesPerSec::default(), BytesPerSec::max);
    let mut columns =
        vec![Column::left("", Width::Fixed(2)).gap(0), Column::name("layer", Width::Broad(NAME))];
    let titles = ["rate", "±95 %", "loss", "ceiling"].into_iter().zip(COLUMNS);
    columns.extend(titles.map(|(title, width)| Column::right(title, width)));
    columns.push(Column::bar(BAR.0, BAR.1));
    let mut table = Table::new("Layers from the media up", 0, columns);
    for rung in &ladder.rungs {
        let is_limit = ladder.limiting_hop.read.as_ref().or(ladder.limiting_hop.write.as_ref())
            == Some(&rung.hop)
            && !rung.at_once;
        let tone = match (is_limit, rung.step.loss.is_some()) {
            (true, _) => Tone::Bad,
            (false, true) => Tone::Warn,
            _ => Tone::Normal,
        };
        let mut row =
            vec![Cell::toned(Tone::Bad, if is_limit { "▶" } else { "" }), Cell::toned(tone, &rung.name)];
        row.extend(cells(rung).map(|(text, tone)| Cell::toned(tone, text)));
        row.extend(rate(rung).map(|rate| Cell::bar(rate.fraction_of(most)).tone(tone)));
        table.row(row);
    }
    out.add(Block::Table(table));
}

fn cells(rung: &RungView) -> [(String, Tone); 4] {
    let Some(rate) = &rung.measurement else {
        let none = || (String::new(), Tone::Faint);
        return [("–".to_owned(), Tone::Faint), none(), none(), none()];
    };
    let half = half(rate.bytes_per_second, rate.ci95);
    let below = rung.step.below;
    let lost = match (rung.step.lost, below.map(|below| below - rate.bytes_per_second)) {
        (Some(part), _) if part.abs() < 0.0005 => human::percent(0.0),
        (Some(part), _) if part < 0.0 => format!("+{}", human::percent(-part)),
        (Some(part), Some(lost)) => format!("−{} (−{lost})", human::percent(part)),
        _ => String::new(),
    };
    let ceiling = rung.ceiling.as_ref().map_or_else(String::new, |ceiling| {
        let mark = if ceiling.basis == Basis::Guess { "~" } else { "" };
        format!("{mark}{}", ceiling.bytes_per_second)
    });
    let doubt = if rung.step.trusted == Some(true) { "" } else { "?" };
    let tone = if rung.step.loss.is_some() { Tone::Warn } else { Tone::Faint };
    [
        (format!("{}{doubt}", rate.bytes_per_second), Tone::Strong),
        (half, Tone::Faint),
        (lost, tone),
        (ceiling, Tone::Faint),
    ]
}

fn why(out: &mut impl Blocks, rung: &RungView, loss: &Loss) {
    let sure = match loss.confidence {
        Confidence::High => "",
        Confidence::Medium => " (likely)",
        Confidence::Low => " (a suspicion)",
    };
    let cause = serde_json::to_value(loss.cause).ok();
    let cause = cause.as_ref().and_then(|cause| cause.as_str()).unwrap_or_default();
    let text = format!("{}: {cause}{sure}: {}", rung.id, loss.summary);
    out.lead((Tone::Warn, "LOSS   "), Tone::Normal, text);
    for evidence in &loss.evidence {
        let text = format!("{}: {} ({})", evidence.fact, evidence.value, evidence.source);
        out.lead((Tone::Faint, "       · "), Tone::Faint, text);
    }
}

fn numa(out: &mut impl Blocks, ladder: &LadderView) {
    for run in &ladder.numa {
        let place = match run.local {
            Some(true) => " (where the device is)",
            Some(false) => " (remote)",
            None => "",
        };
        let text = format!("read from node {}{place}: {}", run.node, run.bytes_per_second);
        out.say(2, Tone::Normal, text);
    }
}

/// What the legs give alone.
fn legs(out: &mut Document, legs: &[Leg]) {
    if legs.is_empty() {
        return;
    }
    out.gap();
    out.part(Place::Data, "");
    out.heading("legs alone");
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
        out.say(2, Tone::Normal, text);
    }
}
