//! A sweep in tables: a heat map for each mix, or a bar for each number of streams, and what they show.

use std::collections::BTreeSet;

use super::{Along, Curve, SweepPoint, fixed, x};
use crate::measure::MeasureReport;
use narrows_base::units::{Bytes, BytesPerSec, human};
use narrows_load::preset::Parallel;
use narrows_load::stats::sweep::Plateau;
use narrows_report::document::{Block, Blocks, Cell, Column, Document, Place, Table, Tone, Width};

/// Columns of the names of rows of the heat map, and of a cell.
const NAME: usize = 10;
const CELL: usize = 13;
/// Columns of the bars.
const BAR: (usize, usize) = (6, 40);

/// A heat map for each mix, or a bar for each number of streams.
pub(in super::super) fn rates(out: &mut Document, points: &[SweepPoint<'_>]) {
    let most = points.iter().map(|point| point.bytes_per_second.get()).fold(0.0, f64::max);
    let (streams, depths): (Vec<SweepPoint<'_>>, Vec<SweepPoint<'_>>) =
        points.iter().partition(|point| matches!(point.load.parallel, Parallel::Streams(_)));
    bars(out, &streams, most);
    for (number, group) in depths.chunk_by(|a, b| a.load.direction() == b.load.direction()).enumerate() {
        if number > 0 {
            out.gap();
        }
        map(out, group, most);
    }
}

/// One line for each number of streams.
fn bars(out: &mut Document, points: &[SweepPoint<'_>], most: f64) {
    if points.is_empty() {
        return;
    }
    let columns = vec![
        Column { names: true, ..Column::right("streams", 7) },
        Column::right("rate", 13),
        Column::right("p99", 11),
        Column::bar(BAR.0, BAR.1),
    ];
    let mut table = Table::new("Rate by number of streams", 0, columns);
    for point in points {
        let share = if most > 0.0 { point.bytes_per_second.get() / most } else { 0.0 };
        table.row(vec![
            Cell::text(point.load.parallel.count().to_string()),
            Cell::toned(Tone::Strong, human::rate(point.bytes_per_second)),
            Cell::toned(Tone::Faint, point.latency.p99.map_or_else(|| "–".to_owned(), human::time)),
            Cell::bar(share),
        ]);
    }
    out.add(Block::Table(table));
}

/// Block sizes down, depths across; the shade is the rate as a part of the highest.
fn map(out: &mut Document, points: &[SweepPoint<'_>], most: f64) {
    let Some(first) = points.first() else { return };
    let depths: BTreeSet<u32> = points.iter().map(|point| point.load.queue_depth).collect();
    let blocks: BTreeSet<Bytes> = points.iter().map(|point| point.load.block_size).collect();
    let mut columns = vec![Column::name(&format!("{}, depth", first.load.direction()), Width::Fixed(NAME))];
    columns.extend(depths.iter().map(|depth| Column::right(&depth.to_string(), CELL)));
    let caption = format!("{}: rate by block size and depth", first.load.direction());
    let mut table = Table { breaks: true, ..Table::new(caption, 0, columns) };
    for block in &blocks {
        let mut cells = vec![Cell::toned(Tone::Faint, human::block_size(*block))];
        cells.extend(depths.iter().map(|depth| {
            let at =
                |point: &&SweepPoint<'_>| point.load.block_size == *block && point.load.queue_depth == *depth;
            points.iter().find(at).map_or_else(Cell::default, |point| {
                let rate = point.bytes_per_second;
                let tone = if point.trusted == Some(false) { Tone::Bad } else { Tone::Normal };
                Cell::toned(tone, format!("{} {rate}", shade(rate, most)))
            })
        }));
        table.row(cells);
    }
    out.add(Block::Table(table));
}

/// The rate as a shade, on a logarithmic scale of three decades below the highest.
fn shade(rate: BytesPerSec, most: f64) -> char {
    const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];
    let share = if rate.get() > 0.0 && most > 0.0 { 1.0 + (rate.get() / most).log10() / 3.0 } else { 0.0 };
    let step = (share.clamp(0.0, 1.0) * 4.0).round() as usize;
    SHADES.get(step).copied().unwrap_or(' ')
}

/// What the curves show, a sentence each.
pub(in super::super) fn shapes(out: &mut Document, report: &MeasureReport) {
    if report.curves.is_empty() {
        return;
    }
    out.part(Place::Data, "What the curves show");
    out.gap();
    let points = report.points();
    for curve in &report.curves {
        let lead = format!("{} {}: ", human::block_size(curve.of.block_size), curve.of.direction());
        let last =
            points.iter().filter(|it| it.load.parallel == curve.of.parallel || curve.along == Along::Streams);
        let end = last.map(|point| x(point.load)).fold(0.0, f64::max);
        let of_curve = points.iter().filter(|point| fixed(point.load) == fixed(&curve.of));
        let trust: Vec<Option<bool>> = of_curve.map(|point| point.trusted).collect();
        let text = match trust.iter().filter(|trusted| **trusted == Some(false)).count() {
            0 => sentence(curve, end),
            some => {
                format!("{some} of {} points are not to be trusted: too little for a knee", trust.len())
            }
        };
        out.lead((Tone::Strong, &lead), Tone::Normal, text);
    }
}

fn sentence(curve: &Curve, end: f64) -> String {
    let unit = match curve.along {
        Along::Depth => "depth",
        Along::Streams => "streams",
    };
    let number = |x: f64| human::grouped(x as u64);
    let mut parts = vec![match curve.shape.plateau {
        Some(Plateau { from, to, bytes_per_second: rate }) => {
            format!("knee at {unit} {}, plateau of {rate} up to {}", number(from), number(to))
        }
        None => format!("no knee: the rate still rises at {unit} {}", number(end)),
    }];
    let drops = curve.shape.drops.iter().map(|drop| (human::percent(drop.fraction), number(drop.from)));
    parts.extend(drops.map(|(part, from)| format!("drop of {part} from {unit} {from} on")));
    parts.extend(curve.shape.anomalies.iter().map(|odd| {
        let (rate, expected) = (odd.bytes_per_second, odd.expected);
        format!("anomaly at {unit} {}: {rate} where its neighbours let expect {expected}", number(odd.x))
    }));
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::super::curves;
    use super::super::tests::result;
    use super::*;
    use crate::measure::{self, PathCeilings, Settings, TargetKind, TargetView, TestResult};
    use narrows_load::measurement::Pattern;
    use narrows_load::preset::{LoadSpec, Preset, StopRule};
    use narrows_machine::Machine;
    use narrows_report::document::{Audience, Style};
    use narrows_session::measure::Timing;
    use std::time::Duration;
    use unicode_width::UnicodeWidthStr;

    fn render(results: Vec<TestResult>, style: &Style) -> String {
        let target = TargetView {
            name: "/srv".to_owned(),
            kind: TargetKind::Scratch,
            size_bytes: Bytes::from_mib(64),
        };
        let timing = Timing {
            stop: StopRule::Precision,
            precision: 0.02,
            max_time: Duration::from_secs(1),
            fixed: None,
            warm_up: Duration::ZERO,
        };
        let preset = Preset::sweep("sweep", results.iter().filter_map(|result| result.load.clone()));
        let (settings, ceilings) = (Settings::of(&timing), PathCeilings::default());
        let mut report =
            measure::report(&Machine::default(), target, &preset, settings, ceilings, Vec::new());
        report.results = results;
        report.curves = curves(&report.points());
        measure::document(&report, Audience::of(style)).text(style)
    }

    #[test]
    fn the_map_has_a_row_for_each_block_and_the_knee_is_named() {
        let mut results = Vec::new();
        for kib in [4, 1024] {
            for (depth, mb) in [(1, 50.0), (4, 180.0), (16, 400.0), (64, 402.0), (1024, 401.0)] {
                results.push(result(LoadSpec::reading(Pattern::Random, Bytes::from_kib(kib), depth), mb));
            }
        }
        let style = Style { colour: false, width: 80, unicode: false, plain: false, verbose: false };
        let text = render(results, &style);
        assert!(text.contains("\n4 KiB") && text.contains("\n1 MiB"), "{text}");
        assert!(text.contains("knee at depth 16, plateau of 401 MB/s up to 1,024"), "{text}");
        assert!(text.lines().all(|line| line.width() <= 80), "{text}");
    }

    #[test]
    fn what_still_rises_has_no_knee() {
        let results = (0..4)
            .map(|power| {
                let load = LoadSpec::reading(Pattern::Random, Bytes::from_kib(4), 1 << power);
                result(load, f64::from(1 << power))
            })
            .collect();
        let text = render(results, &Style::PLAIN);
        assert!(text.contains("no knee: the rate still rises at depth 8"), "{text}");
    }
}
