//! One look as text, to be printed and pasted.

use super::{LaneView, TopReport, table};
use crate::names::Names;
use crate::text::{Line, Style, Tone, fit, paragraph};
use narrows_base::units::human;

/// Cells of the bar.
const BAR: usize = 10;
/// Columns between the end of the bar and the ends of the five cells behind it.
const COLUMNS: [usize; 5] = [7, 11, 11, 8, 9];
/// The shortest column of names.
const NAME: usize = 16;

/// The report as text. It ends with a newline.
pub fn render(report: &TopReport, style: &Style) -> String {
    let cleaned;
    let report = if style.plain {
        cleaned = without_identity(report);
        &cleaned
    } else {
        report
    };
    let mut out = String::new();
    let about = report.target.as_deref().map_or_else(String::new, |target| format!("{target}, "));
    let about = format!("{about}{} over {}", counted(report.lanes.len()), human::time(report.elapsed_ns));
    paragraph(&mut out, style, (Tone::Normal, ""), Tone::Faint, &about);
    let longest = report.lanes.iter().map(|lane| 2 * lane.depth + lane.name.chars().count()).max();
    let room = style.width.saturating_sub(1 + BAR + COLUMNS.iter().sum::<usize>());
    let name = longest.unwrap_or(0).min(room).max(NAME);
    head(&mut out, style, name);
    for lane in &report.lanes {
        let is_fullest = report.fullest_hop.as_deref() == Some(lane.hop.as_str());
        put_lane(&mut out, style, name, lane, is_fullest);
    }
    for process in &report.processes {
        paragraph(&mut out, style, (Tone::Normal, "process: "), Tone::Normal, &table::process(process));
    }
    out.push('\n');
    paragraph(&mut out, style, (Tone::Normal, ""), Tone::Strong, &report.sentence);
    for note in &report.notes {
        paragraph(&mut out, style, (Tone::Faint, "not seen: "), Tone::Faint, note);
    }
    out
}

fn counted(hops: usize) -> String {
    if hops == 1 { "one hop".to_owned() } else { format!("{hops} hops") }
}

fn head(out: &mut String, style: &Style, name: usize) {
    let mut line = Line::new(style);
    line.put(Tone::Faint, "hop");
    let mut end = name + 1 + BAR;
    for (cell, width) in ["full", "read", "written", "IOPS", "latency"].iter().zip(COLUMNS) {
        end += width;
        line.put_right(Tone::Faint, cell, end);
    }
    line.end(out);
}

fn put_lane(out: &mut String, style: &Style, name: usize, lane: &LaneView, is_fullest: bool) {
    let tone = match lane.part_of_ceiling {
        Some(part) if is_fullest && part >= table::FULL => Tone::Bad,
        _ if is_fullest => Tone::Warn,
        _ if table::moves(lane) => Tone::Normal,
        _ => Tone::Faint,
    };
    let mut line = Line::new(style);
    let indented = format!("{:width$}{}", "", lane.name, width = 2 * lane.depth);
    line.put(tone, &fit(style, &indented, name)).pad_to(name + 1);
    line.put(tone, &table::bar(lane.part_of_ceiling, BAR, style.unicode));
    let mut end = name + 1 + BAR;
    let cells = [
        table::part(lane),
        table::rate(&lane.read),
        table::rate(&lane.write),
        table::iops(lane),
        table::latency(lane),
    ];
    for (cell, width) in cells.iter().zip(COLUMNS) {
        end += width;
        line.put_right(tone, cell, end);
    }
    line.end(out);
}

/// The report without what identifies its owner. The names of programs stay: they are those of public software, or tell
/// nothing without the machine.
fn without_identity(report: &TopReport) -> TopReport {
    let hops = report.lanes.iter().map(|lane| (lane.kind, lane.hop.as_str(), lane.name.as_str()));
    let names = Names::of_targets(report.target.as_deref(), hops);
    let mut report = report.clone();
    let mut texts: Vec<&mut String> = vec![&mut report.sentence];
    texts.extend(&mut report.target);
    texts.extend(&mut report.fullest_hop);
    for lane in &mut report.lanes {
        texts.extend([&mut lane.hop, &mut lane.name]);
    }
    texts.extend(&mut report.notes);
    names.hide(&mut texts);
    report
}
