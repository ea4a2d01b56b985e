//! The terminal view of a sweep: a heat map for each mix, or a bar for each number of streams, and what they show.

use super::curve::x;
use super::{Along, Curve, FailedPoint, SweepPoint, SweepReport};
use crate::answer;
use crate::document::table::Width;
use crate::document::{Audience, Block, Blocks, Cell, Column, Document, Place, Table};
use crate::figure::chart;
use crate::text::Tone;
use crate::view::{ConditionView, DriveView};
use narrows_base::units::{Bytes, BytesPerSec, human};
use narrows_load::preset::{LoadSpec, Parallel};

/// Columns of the names of rows of the heat map, and of a cell.
const NAME: usize = 10;
const CELL: usize = 13;
/// Columns of the bars.
const BAR: (usize, usize) = (6, 40);

/// The report as a document.
pub fn document(report: &SweepReport, audience: Audience) -> Document {
    let mut out = Document::new("sweep", &report.target.name, Some(&report.tool));
    let size = human::block_size(report.target.size_bytes);
    let until = format!(
        "{} ({size}): each load until ± {}, {} at most",
        report.target.name,
        human::percent(report.precision),
        report.max_time_ns
    );
    out.lead((Tone::Strong, "sweep of "), Tone::Normal, until);
    let most = report.points.iter().map(|point| point.bytes_per_second.get()).fold(0.0, f64::max);
    let (streams, depths): (Vec<&SweepPoint>, Vec<&SweepPoint>) =
        report.points.iter().partition(|point| matches!(point.load.parallel, Parallel::Streams(_)));
    out.part(Place::Data, "Rates");
    bars(&mut out, &streams, most);
    for group in depths.chunk_by(|a, b| a.load.direction() == b.load.direction()) {
        map(&mut out, group, most);
    }
    out.part(Place::Verdict, "");
    if let Some(answer) = answer::sweep(report) {
        out.gap();
        answer.put(&mut out);
    }
    shapes(&mut out, report);
    self_checks(&mut out, report);
    doubts(&mut out, report);
    if let Some(FailedPoint { load, failed, .. }) = &report.failed {
        let text =
            format!("{} {}: {} ({})", load.mark(), load.direction(), failed.summary, failed.failure.detail);
        out.lead((Tone::Bad, "failed: "), Tone::Normal, text);
        out.lead((Tone::Normal, "hint: "), Tone::Normal, &failed.hint);
    }
    out.not_complete(report.reason.as_ref().filter(|_| !report.complete));
    out.figures(Place::Charts, chart::sweep_heat(report).into_iter().chain(chart::sweep_knee(report)));
    if audience == Audience::Public { out.scrubbed() } else { out }
}

/// One line for each number of streams.
fn bars(out: &mut Document, points: &[&SweepPoint], most: f64) {
    if points.is_empty() {
        return;
    }
    out.gap();
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
            Cell::toned(Tone::Faint, point.latency_ns.p99.map_or_else(|| "–".to_owned(), human::time)),
            Cell::bar(share),
        ]);
    }
    out.add(Block::Table(table));
}

/// Block sizes down, depths across; the shade is the rate as a part of the highest.
fn map(out: &mut Document, points: &[&SweepPoint], most: f64) {
    let Some(first) = points.first() else { return };
    let depths = distinct(points, |load| u64::from(load.queue_depth));
    let blocks = distinct(points, |load| load.block_size.get());
    out.gap();
    let mut columns = vec![Column::name(&format!("{}, depth", first.load.direction()), Width::Fixed(NAME))];
    columns.extend(depths.iter().map(|depth| Column::right(&depth.to_string(), CELL)));
    let caption = format!("{}: rate by block size and depth", first.load.direction());
    let mut table = Table { breaks: true, ..Table::new(caption, 0, columns) };
    for block in &blocks {
        let mut cells = vec![Cell::toned(Tone::Faint, human::block_size(Bytes::new(*block)))];
        cells.extend(depths.iter().map(|depth| {
            let at = |point: &&&SweepPoint| {
                point.load.block_size.get() == *block && u64::from(point.load.queue_depth) == *depth
            };
            points.iter().find(at).map_or_else(Cell::default, |point| {
                let rate = point.bytes_per_second;
                Cell::toned(tone(point), format!("{} {rate}", shade(rate, most)))
            })
        }));
        table.row(cells);
    }
    out.add(Block::Table(table));
}

fn distinct(points: &[&SweepPoint], of: impl Fn(&LoadSpec) -> u64) -> Vec<u64> {
    let mut values: Vec<u64> = points.iter().map(|point| of(&point.load)).collect();
    values.sort_unstable();
    values.dedup();
    values
}

fn tone(point: &SweepPoint) -> Tone {
    if point.trusted == Some(false) { Tone::Bad } else { Tone::Normal }
}

/// The rate as a shade, on a logarithmic scale of three decades below the highest.
fn shade(rate: BytesPerSec, most: f64) -> char {
    const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];
    let share = if rate.get() > 0.0 && most > 0.0 { 1.0 + (rate.get() / most).log10() / 3.0 } else { 0.0 };
    let step = (share.clamp(0.0, 1.0) * 4.0).round() as usize;
    SHADES.get(step).copied().unwrap_or(' ')
}

/// What the curves show, a sentence each.
fn shapes(out: &mut impl Blocks, report: &SweepReport) {
    if !report.curves.is_empty() {
        out.gap();
    }
    for curve in &report.curves {
        let lead = format!("{} {}: ", human::block_size(curve.of.block_size), curve.of.direction());
        let last = report
            .points
            .iter()
            .filter(|point| point.load.parallel == curve.of.parallel || curve.along == Along::Streams);
        let end = last.map(|point| x(&point.load)).fold(0.0, f64::max);
        out.lead((Tone::Strong, &lead), Tone::Normal, sentence(curve, end));
    }
}

fn sentence(curve: &Curve, end: f64) -> String {
    let unit = match curve.along {
        Along::Depth => "depth",
        Along::Streams => "streams",
    };
    let mut parts = vec![match curve.shape.plateau {
        Some(plateau) => format!(
            "knee at {unit} {}, plateau of {} up to {}",
            human::grouped(plateau.from as u64),
            plateau.bytes_per_second,
            human::grouped(plateau.to as u64)
        ),
        None => format!("no knee: the rate still rises at {unit} {}", human::grouped(end as u64)),
    }];
    parts.extend(curve.shape.drops.iter().map(|drop| {
        format!(
            "drop of {} from {unit} {} on",
            human::percent(drop.fraction),
            human::grouped(drop.from as u64)
        )
    }));
    parts.extend(curve.shape.anomalies.iter().map(|odd| {
        format!(
            "anomaly at {unit} {}: {} where its neighbours let expect {}",
            human::grouped(odd.x as u64),
            odd.bytes_per_second,
            odd.expected
        )
    }));
    parts.join("; ")
}

/// What the engine could do at most, and what drives and links did from the first point to the last.
fn self_checks(out: &mut impl Blocks, report: &SweepReport) {
    let checks = || report.points.iter().filter_map(|point| point.checks.as_ref());
    let mut parts = Vec::new();
    if let Some(cost) = checks().filter_map(|checks| checks.nop_ns_per_io).find(|cost| *cost > 0.0) {
        parts.push(format!("a core here can do {} IOPS", human::count(1e9 / cost)));
    }
    let conditions = || checks().filter_map(|checks| checks.condition.as_ref());
    if let (Some(first), Some(last)) = (conditions().next(), conditions().next_back()) {
        let drives = last.drives.iter().map(|drive| {
            let before = first.drives.iter().find(|other| other.name == drive.name);
            DriveView { before_celsius: before.and_then(|drive| drive.before_celsius), ..drive.clone() }
        });
        let whole =
            ConditionView { links: last.links.clone(), drives: drives.collect(), ..ConditionView::default() };
        parts.extend(whole.in_words());
    }
    if !parts.is_empty() {
        out.say(0, Tone::Faint, parts.join(" · "));
    }
    for point in &report.points {
        let condition = point.checks.as_ref().and_then(|checks| checks.condition.as_ref());
        for trouble in condition.iter().flat_map(|condition| condition.troubles()) {
            let lead = format!("{} {}: ", point.load.mark(), point.load.direction());
            out.lead((Tone::Warn, &lead), Tone::Normal, trouble);
        }
    }
}

fn doubts(out: &mut impl Blocks, report: &SweepReport) {
    let doubtful = report.points.iter().filter(|point| point.trusted == Some(false)).count();
    if doubtful > 0 {
        let text = format!(
            "{doubtful} of {} points are not to be trusted; `narrows bench` says why",
            report.points.len()
        );
        out.lead((Tone::Bad, ""), Tone::Normal, text);
    }
}

#[cfg(test)]
mod tests {
    use super::super::curve::tests::point;
    use super::super::curves;
    use super::*;
    use crate::bench::{Checks, PathCeilings, TargetKind, TargetView};
    use crate::text::Style;
    use narrows_base::units::Celsius;
    use narrows_load::measurement::GeneratorUse;
    use narrows_load::measurement::Pattern;
    use narrows_load::preset::StopRule;
    use narrows_machine::Machine;
    use narrows_session::measure::Timing;
    use std::time::Duration;
    use unicode_width::UnicodeWidthStr;

    fn render(report: &SweepReport, style: &Style) -> String {
        document(report, Audience::of(style)).text(style)
    }

    fn report(points: Vec<SweepPoint>) -> SweepReport {
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
        let asked = points.iter().map(|point| point.load.clone()).collect();
        let mut report =
            SweepReport::new(&Machine::default(), target, PathCeilings::default(), &timing, asked);
        report.curves = curves(&points);
        report.points = points;
        report
    }

    #[test]
    fn the_map_has_a_row_for_each_block_and_the_knee_is_named() {
        let mut points = Vec::new();
        for kib in [4, 1024] {
            for (depth, mb) in [(1, 50.0), (4, 180.0), (16, 400.0), (64, 402.0), (1024, 401.0)] {
                points.push(point(LoadSpec::reading(Pattern::Random, Bytes::from_kib(kib), depth), mb));
            }
        }
        let style = Style { colour: false, width: 80, unicode: false, plain: false, verbose: false };
        let text = render(&report(points), &style);
        assert!(text.contains("\n4 KiB") && text.contains("\n1 MiB"), "{text}");
        assert!(text.contains("knee at depth 16, plateau of 401 MB/s up to 1,024"), "{text}");
        assert!(text.lines().all(|line| line.width() <= 80), "{text}");
    }

    #[test]
    fn the_engine_and_the_drives_are_shown_from_the_first_point_to_the_last() {
        let drive = |before, after| DriveView {
            name: "nvme0n1".to_owned(),
            before_celsius: Some(Celsius::new(before)),
            after_celsius: Some(Celsius::new(after)),
            warning_celsius: None,
            smart: None,
            reason: None,
        };
        let checked = |depth, before, after| {
            let condition = ConditionView { drives: vec![drive(before, after)], ..ConditionView::default() };
            let checks = Checks {
                in_flight_of_asked: None,
                recorded_of_completed: None,
                device_of_asked: None,
                nop_ns_per_io: Some(80.0),
                condition: Some(condition),
                generator: GeneratorUse::default(),
                reason: None,
            };
            let load = LoadSpec::reading(Pattern::Random, Bytes::from_kib(4), depth);
            SweepPoint { checks: Some(checks), ..point(load, 100.0) }
        };
        let text = render(&report(vec![checked(1, 38.0, 40.0), checked(2, 40.0, 47.0)]), &Style::PLAIN);
        assert!(text.contains("a core here can do 12.5 M IOPS"), "{text}");
        assert!(text.contains("nvme0n1 38") && text.contains("47"), "{text}");
    }

    #[test]
    fn what_still_rises_has_no_knee() {
        let points = (0..4)
            .map(|power| {
                let load = LoadSpec::reading(Pattern::Random, Bytes::from_kib(4), 1 << power);
                point(load, f64::from(1 << power))
            })
            .collect();
        let text = render(&report(points), &Style::PLAIN);
        assert!(text.contains("no knee: the rate still rises at depth 8"), "{text}");
    }
}
