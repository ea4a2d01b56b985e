//! The view model of what moves now (`narrows top`): exactly what `--json` prints, and all that the text and the screen are
//! made of.
//!
//! Rates are bytes per second, times nanoseconds. What is absent is `null`, and the same object then says why in `reason`.

pub mod screen;
mod table;
pub(crate) use table::full;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::report as sample;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::chart;
use narrows_base::units::{BytesPerSec, Iops, Nanos};
use narrows_machine::activity::{LinkState, Mover, Resync};
use narrows_machine::pci::PciAddress;
use narrows_model::ceiling::{Basis, Ceiling, Direction};
use narrows_model::path::{HopId, HopKind};
use narrows_report::document::{
    Audience, Block, Blocks, Cell, Column, Content, Document, Place, Table, Tone, Width,
};
use narrows_report::names::Names;
use narrows_report::view::{Tool, speed_and_width, tool};
use narrows_verdict::live::{Lane, LaneNow, Lanes, Picture};

/// The name and version of the schema, in [`TopReport::schema`].
pub const SCHEMA: &str = "narrows/top/1";

/// What moves over the hops of a machine now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TopReport {
    /// Always `narrows/top/1`.
    pub schema: String,
    /// The program that made this report.
    pub tool: Tool,
    /// The target whose path is shown; `null` for every storage path.
    pub target: Option<String>,
    /// The time between the two looks that the rates are about.
    pub elapsed_ns: Nanos,
    /// What all drives and interfaces of the lanes read.
    pub read_bytes_per_second: BytesPerSec,
    /// What they write.
    pub write_bytes_per_second: BytesPerSec,
    /// The hops, from main memory to the media, each behind the one that it hangs on; then what is built on drives.
    pub lanes: Vec<LaneView>,
    /// The hop that is nearest to its ceiling; estimated ceilings do not count.
    pub fullest_hop: Option<String>,
    /// Processes that move bytes, most first.
    pub processes: Vec<ProcessView>,
    /// Arrays that work on themselves, by kernel name; the rate is that at which each member is gone through.
    pub resyncs: BTreeMap<String, Resync>,
    /// All of it in words.
    pub sentence: String,
    /// What is not seen, and what would show it.
    pub notes: Vec<String>,
    /// Why there is no fullest hop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// One hop and what crosses it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LaneView {
    /// The hop's id.
    pub hop: String,
    /// What it is.
    pub kind: HopKind,
    /// Its name for a person.
    pub name: String,
    /// How many hops of the list are between it and main memory.
    pub depth: usize,
    /// The drives and interfaces whose bytes cross it, by kernel name.
    pub sources: Vec<String>,
    /// Towards the application.
    pub read: SideView,
    /// Towards the medium.
    pub write: SideView,
    /// I/Os completed each second; `null` where interfaces are among the sources, or counters are gone.
    pub iops: Option<Iops>,
    /// The mean time of these I/Os.
    pub latency_ns: Option<Nanos>,
    /// The mean number of requests in flight, of one device.
    pub in_flight: Option<f64>,
    /// The fraction of time with a request in flight, of one device. 1 does not mean that it can do no more.
    pub busy: Option<f64>,
    /// What crosses as a part of the ceiling, in the fuller direction, or of both where they share one capacity.
    pub part_of_ceiling: Option<f64>,
    /// Whether the ceiling is an estimate.
    pub is_estimate: bool,
    /// What its link runs at, or that the device below it sleeps and was not asked; `null` for what is no link.
    pub link: Option<String>,
    /// Why something is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// One direction of a hop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SideView {
    /// What crosses; `null` where counters are gone.
    pub bytes_per_second: Option<BytesPerSec>,
    /// The most that it carries.
    pub ceiling_bytes_per_second: Option<BytesPerSec>,
    /// What the ceiling rests on.
    pub basis: Option<Basis>,
}

/// A process that moves bytes to or from storage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessView {
    /// What it moves.
    #[serde(flatten)]
    pub mover: Mover,
    /// The hops that these bytes cross, as far as its open files tell.
    pub hops: Vec<HopId>,
}

/// What a report is about, beside what moves.
#[derive(Debug, Clone, Default)]
pub struct About<'a> {
    /// The target, where one was asked for.
    pub target: Option<&'a str>,
    /// The state of links, by the function below each.
    pub links: BTreeMap<PciAddress, LinkState>,
    /// Functions that sleep and were not asked.
    pub asleep: BTreeSet<PciAddress>,
    /// What is not seen, and what would show it.
    pub notes: Vec<String>,
}

/// The whole report of one look.
pub fn report(about: &About<'_>, lanes: &Lanes, picture: &Picture) -> TopReport {
    let id = |at: usize| lanes.all().get(at).map(|lane| lane.id.to_string());
    let fullest = picture.fullest.and_then(id);
    let views = lanes.all().iter().zip(&picture.lanes).map(|(lane, now)| lane_view(about, lane, now));
    let processes = picture.movers.iter().map(|mover| {
        let behind = lanes.all().iter().filter(|lane| lanes.is_behind(mover, lane));
        ProcessView { mover: mover.clone(), hops: behind.map(|lane| lane.id.clone()).collect() }
    });
    TopReport {
        schema: SCHEMA.to_owned(),
        tool: tool(),
        target: about.target.map(str::to_owned),
        elapsed_ns: picture.elapsed,
        read_bytes_per_second: picture.moved.read,
        write_bytes_per_second: picture.moved.write,
        lanes: views.collect(),
        reason: fullest.is_none().then(|| "no hop of known ceiling moves anything".to_owned()),
        fullest_hop: fullest,
        processes: processes.collect(),
        resyncs: picture.resyncs.clone(),
        sentence: picture.sentence.clone(),
        notes: about.notes.clone(),
    }
}

fn lane_view(about: &About<'_>, lane: &Lane, now: &LaneNow) -> LaneView {
    let is_whole = now.gone.is_empty();
    let side = |direction| {
        let limit = lane.ceilings.of(direction).limit();
        SideView {
            bytes_per_second: is_whole.then(|| now.flow.of(direction)),
            ceiling_bytes_per_second: limit.map(|limit| limit.rate),
            basis: limit.map(|limit| limit.basis),
        }
    };
    LaneView {
        hop: lane.id.to_string(),
        kind: lane.kind,
        name: lane.name.clone(),
        depth: lane.depth,
        sources: lane.sources.iter().map(|source| source.name().to_owned()).collect(),
        read: side(Direction::Read),
        write: side(Direction::Write),
        iops: now.iops.filter(|_| is_whole),
        latency_ns: now.latency.filter(|_| is_whole),
        in_flight: now.in_flight,
        busy: now.busy,
        part_of_ceiling: now.fraction,
        is_estimate: now.is_estimate,
        link: lane.link().and_then(|address| match about.asleep.contains(&address) {
            true => Some("asleep".to_owned()),
            false => about.links.get(&address).map(speed_and_width),
        }),
        reason: reason(lane, now),
    }
}

fn reason(lane: &Lane, now: &LaneNow) -> Option<String> {
    if !now.gone.is_empty() {
        let gone: Vec<&str> = now.gone.iter().map(|source| source.name()).collect();
        return Some(format!("the counters of {} are gone", gone.join(", ")));
    }
    let why = |ceiling: &Ceiling| match ceiling {
        Ceiling::Unknown(why) | Ceiling::Transparent(why) => Some(why.to_owned()),
        Ceiling::Known(_) => None,
    };
    why(&lane.ceilings.read).or_else(|| why(&lane.ceilings.write))
}

/// The shortest and the longest bar.
const BAR: (usize, usize) = (6, 10);
/// The shortest column of names.
const NAME: usize = 16;
/// Columns behind the bar: titles, widths, and at which turn each gives way.
const COLUMNS: [(&str, usize, u8); 5] =
    [("full", 7, 0), ("read", 11, 0), ("written", 11, 0), ("IOPS", 8, 1), ("latency", 9, 2)];
/// Columns that a hop stands further to the right than the one that it hangs on.
const STEP: usize = 2;

/// The report as a document.
pub fn document(report: &TopReport, audience: Audience) -> Document {
    let mut out = Document::new("top", report.target.as_deref().unwrap_or_default(), Some(&report.tool));
    let about = report.target.as_deref().map_or_else(String::new, |target| format!("{target}, "));
    let hops = match report.lanes.len() {
        1 => "one hop".to_owned(),
        hops => format!("{hops} hops"),
    };
    out.say(0, Tone::Faint, format!("{about}{hops} over {}", report.elapsed_ns));
    out.part(Place::Data, "Hops");
    out.add(Block::Table(lanes(report)));
    out.leads((Tone::Normal, "process: "), Tone::Normal, report.processes.iter().map(table::process));
    out.part(Place::Verdict, "");
    out.gap();
    out.say(0, Tone::Strong, &report.sentence);
    out.leads((Tone::Faint, "not seen: "), Tone::Faint, &report.notes);
    out.figures(Place::Charts, chart::fullness(report));
    if audience == Audience::Owner {
        return out;
    }
    let mut names = Names::default();
    report.target.iter().for_each(|target| names.target(target));
    report.lanes.iter().for_each(|lane| names.hop(lane.kind, &lane.hop, &lane.name));
    out.without(names)
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
    cells.extend(table::numbers(lane).map(Cell::text));
    cells.into_iter().map(|cell| cell.tone(tone)).collect()
}
