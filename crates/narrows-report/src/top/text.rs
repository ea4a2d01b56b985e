//! One look, to be printed, pasted and shown as a page.

use super::{LaneView, TopReport, table};
use crate::document::table::{Content, Width};
use crate::document::{Audience, Block, Blocks, Cell, Column, Document, Place, Table};
use crate::figure::chart;
use crate::names::Names;
use crate::text::{Style, Tone};
use narrows_base::units::human;

/// The shortest and the longest bar.
const BAR: (usize, usize) = (6, 10);
/// The shortest column of names.
const NAME: usize = 16;
/// Columns behind the bar: titles, widths, and at which turn each gives way.
const COLUMNS: [(&str, usize, u8); 5] =
    [("full", 7, 0), ("read", 11, 0), ("written", 11, 0), ("IOPS", 8, 1), ("latency", 9, 2)];
/// Columns that a hop stands further to the right than the one that it hangs on.
const STEP: usize = 2;

/// The report as text. It ends with a newline.
pub fn render(report: &TopReport, style: &Style) -> String {
    document(report, Audience::of(style)).text(style)
}

/// The report as a document.
pub fn document(report: &TopReport, audience: Audience) -> Document {
    let mut out = Document::new("top", report.target.as_deref().unwrap_or_default(), Some(&report.tool));
    let about = report.target.as_deref().map_or_else(String::new, |target| format!("{target}, "));
    let about = format!("{about}{} over {}", counted(report.lanes.len()), human::time(report.elapsed_ns));
    out.say(0, Tone::Faint, about);
    out.part(Place::Data, "Hops");
    out.add(Block::Table(lanes(report)));
    for process in &report.processes {
        out.lead((Tone::Normal, "process: "), Tone::Normal, table::process(process));
    }
    out.part(Place::Verdict, "");
    out.gap();
    out.say(0, Tone::Strong, &report.sentence);
    for note in &report.notes {
        out.lead((Tone::Faint, "not seen: "), Tone::Faint, note);
    }
    out.figures(Place::Charts, chart::fullness(report));
    if audience == Audience::Owner {
        return out;
    }
    let mut names = Names::default();
    report.target.iter().for_each(|target| names.target(target));
    report.lanes.iter().for_each(|lane| names.hop(lane.kind, &lane.hop, &lane.name));
    out.without(names)
}

fn counted(hops: usize) -> String {
    if hops == 1 { "one hop".to_owned() } else { format!("{hops} hops") }
}

fn lanes(report: &TopReport) -> Table {
    let mut columns = vec![Column::name("hop", Width::Broad(NAME)), Column::bar(BAR.0, BAR.1).gap(1)];
    columns.extend(COLUMNS.map(|(title, width, turn)| Column::right(title, width).yields(turn)));
    let mut table = Table::new("Hops and what crosses them", 0, columns);
    for lane in &report.lanes {
        table.row(row(lane, report.fullest_hop.as_deref() == Some(lane.hop.as_str())));
    }
    table
}

fn row(lane: &LaneView, is_fullest: bool) -> Vec<Cell> {
    let tone = match lane.part_of_ceiling {
        Some(part) if is_fullest && part >= table::FULL => Tone::Bad,
        _ if is_fullest => Tone::Warn,
        _ if table::moves(lane) => Tone::Normal,
        _ => Tone::Faint,
    };
    let indent = " ".repeat(STEP * lane.depth);
    let name =
        Content::Branch { first: indent.clone(), rest: indent, depth: lane.depth, text: lane.name.clone() };
    let part = lane.part_of_ceiling.filter(|part| *part > 0.0);
    let mut cells = vec![Cell::of(name), part.map_or_else(Cell::default, Cell::bar)];
    let numbers = [
        table::part(lane),
        table::rate(&lane.read),
        table::rate(&lane.write),
        table::iops(lane),
        table::latency(lane),
    ];
    cells.extend(numbers.map(Cell::text));
    cells.into_iter().map(|cell| cell.tone(tone)).collect()
}
