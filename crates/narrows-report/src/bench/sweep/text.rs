//! The terminal view of a sweep: a heat map for each mix, or a bar for each number of streams, and what they show.

use super::curve::x;
use super::{Along, Curve, FailedPoint, SweepPoint, SweepReport};
use crate::bench::text::in_batches;
use crate::text::{Line, Style, Tone, paragraph};
use crate::view::{ConditionView, DriveView};
use narrows_base::units::{BytesPerSec, human};
use narrows_load::preset::{LoadSpec, Parallel};

/// Columns of a cell of the heat map.
const CELL: usize = 13;
/// Columns of the bars.
const BAR: usize = 40;

/// The report as text. It ends with a newline.
pub fn render(report: &SweepReport, style: &Style) -> String {
    let mut out = String::new();
    let size = human::block_size(report.target.size_bytes);
    let until = format!(
        "{} ({size}): each load until ± {}, {} at most",
        report.target.name,
        human::percent(report.precision),
        human::time(report.max_time_ns)
    );
    paragraph(&mut out, style, (Tone::Strong, "sweep of "), Tone::Normal, &until);
    in_batches(&mut out, style, report.asked.iter().filter_map(|load| load.batch).max());
    let most = report.points.iter().map(|point| point.bytes_per_second.get()).fold(0.0, f64::max);
    let (streams, depths): (Vec<&SweepPoint>, Vec<&SweepPoint>) =
        report.points.iter().partition(|point| matches!(point.load.parallel, Parallel::Streams(_)));
    bars(&mut out, style, &streams, most);
    for group in depths.chunk_by(|a, b| a.load.direction() == b.load.direction()) {
        map(&mut out, style, group, most);
    }
    shapes(&mut out, style, report);
    self_checks(&mut out, style, report);
    doubts(&mut out, style, report);
    if let Some(FailedPoint { load, failed, .. }) = &report.failed {
        let text = format!("{} {}: {} ({})", load.mark(), load.direction(), failed.summary, failed.detail);
        paragraph(&mut out, style, (Tone::Bad, "failed: "), Tone::Normal, &text);
        paragraph(&mut out, style, (Tone::Normal, "hint: "), Tone::Normal, &failed.hint);
    }
    if let Some(reason) = report.reason.as_ref().filter(|_| !report.complete) {
        out.push('\n');
        paragraph(&mut out, style, (Tone::Warn, "not complete: "), Tone::Normal, reason);
    }
    out
}

/// One line for each number of streams.
fn bars(out: &mut String, style: &Style, points: &[&SweepPoint], most: f64) {
    if points.is_empty() {
        return;
    }
    out.push('\n');
    let mut line = Line::new(style);
    line.put(Tone::Faint, "streams").put_right(Tone::Faint, "rate", 20).put_right(Tone::Faint, "p99", 31);
    line.end(out);
    let room = style.width.saturating_sub(34).min(BAR);
    for point in points {
        let mut line = Line::new(style);
        line.put_right(Tone::Normal, &point.load.parallel.count().to_string(), 7);
        line.put_right(Tone::Strong, &human::rate(point.bytes_per_second), 20);
        line.put_right(Tone::Faint, &point.latency_ns.p99.map_or_else(|| "–".to_owned(), human::time), 31);
        let share = if most > 0.0 { point.bytes_per_second.get() / most } else { 0.0 };
        let full = (share * room as f64).round() as usize;
        line.put(Tone::Normal, "  ").put(Tone::Normal, &if style.unicode { "█" } else { "#" }.repeat(full));
        line.end(out);
    }
}

/// Block sizes down, depths across; the shade is the rate as a part of the highest. What does not fit on the page in its
/// width continues below.
fn map(out: &mut String, style: &Style, points: &[&SweepPoint], most: f64) {
    let Some(first) = points.first() else { return };
    let depths = distinct(points, |load| u64::from(load.queue_depth));
    let blocks = distinct(points, |load| load.block_size.get());
    let across = (style.width.saturating_sub(10) / CELL).max(1);
    for depths in depths.chunks(across) {
        out.push('\n');
        let mut line = Line::new(style);
        line.put(Tone::Strong, &first.load.direction()).put(Tone::Faint, ", depth");
        for (column, depth) in depths.iter().enumerate() {
            line.put_right(Tone::Faint, &depth.to_string(), 10 + (column + 1) * CELL);
        }
        line.end(out);
        for block in &blocks {
            let mut line = Line::new(style);
            line.put(Tone::Faint, &human::block_size(narrows_base::units::Bytes::new(*block)));
            for (column, depth) in depths.iter().enumerate() {
                let at = |point: &&&SweepPoint| {
                    point.load.block_size.get() == *block && u64::from(point.load.queue_depth) == *depth
                };
                if let Some(point) = points.iter().find(at) {
                    let text = format!(
                        "{} {}",
                        shade(point.bytes_per_second, most, style),
                        human::rate(point.bytes_per_second)
                    );
                    line.put_right(tone(point), &text, 10 + (column + 1) * CELL);
                }
            }
            line.end(out);
        }
    }
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
fn shade(rate: BytesPerSec, most: f64, style: &Style) -> char {
    const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];
    const ASCII: [char; 5] = [' ', '.', ':', '+', '#'];
    let share = if rate.get() > 0.0 && most > 0.0 { 1.0 + (rate.get() / most).log10() / 3.0 } else { 0.0 };
    let step = (share.clamp(0.0, 1.0) * 4.0).round() as usize;
    if style.unicode { SHADES } else { ASCII }.get(step).copied().unwrap_or(' ')
}

/// What the curves show, a sentence each.
fn shapes(out: &mut String, style: &Style, report: &SweepReport) {
    if !report.curves.is_empty() {
        out.push('\n');
    }
    for curve in &report.curves {
        let lead = format!("{} {}: ", human::block_size(curve.of.block_size), curve.of.direction());
        let last = report
            .points
            .iter()
            .filter(|point| point.load.parallel == curve.of.parallel || curve.along == Along::Streams);
        let end = last.map(|point| x(&point.load)).fold(0.0, f64::max);
        paragraph(out, style, (Tone::Strong, &lead), Tone::Normal, &sentence(curve, end));
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
            human::count(plateau.from),
            human::rate(plateau.bytes_per_second),
            human::count(plateau.to)
        ),
        None => format!("no knee: the rate still rises at {unit} {}", human::count(end)),
    }];
    parts.extend(curve.shape.drops.iter().map(|drop| {
        format!("drop of {} from {unit} {} on", human::percent(drop.fraction), human::count(drop.from))
    }));
    parts.extend(curve.shape.anomalies.iter().map(|odd| {
        format!(
            "anomaly at {unit} {}: {} where its neighbours let expect {}",
            human::count(odd.x),
            human::rate(odd.bytes_per_second),
            human::rate(odd.expected)
        )
    }));
    parts.join("; ")
}

/// What the engine could do at most, and what drives and links did from the first point to the last.
fn self_checks(out: &mut String, style: &Style, report: &SweepReport) {
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
        let whole = ConditionView { links: last.links.clone(), drives: drives.collect() };
        parts.extend(whole.in_words());
    }
    if !parts.is_empty() {
        paragraph(out, style, (Tone::Faint, ""), Tone::Faint, &parts.join(" · "));
    }
    for point in &report.points {
        let condition = point.checks.as_ref().and_then(|checks| checks.condition.as_ref());
        for trouble in condition.iter().flat_map(|condition| condition.troubles()) {
            let lead = format!("{} {}: ", point.load.mark(), point.load.direction());
            paragraph(out, style, (Tone::Warn, &lead), Tone::Normal, &trouble);
        }
    }
}

fn doubts(out: &mut String, style: &Style, report: &SweepReport) {
    let doubtful = report.points.iter().filter(|point| point.trusted == Some(false)).count();
    if doubtful > 0 {
        let text = format!(
            "{doubtful} of {} points are not to be trusted; `narrows bench` says why",
            report.points.len()
        );
        paragraph(out, style, (Tone::Bad, ""), Tone::Normal, &text);
    }
}

#[cfg(test)]
mod tests {
    use super::super::curve::tests::point;
    use super::super::curves;
    use super::*;
    use crate::bench::sweep::PointTiming;
    use crate::bench::{Checks, PathCeilings, TargetKind, TargetView};
    use narrows_base::units::{Bytes, Celsius, Nanos};
    use narrows_load::measurement::GeneratorUse;
    use narrows_load::measurement::Pattern;
    use narrows_machine::Machine;
    use unicode_width::UnicodeWidthStr;

    fn report(points: Vec<SweepPoint>) -> SweepReport {
        let target = TargetView {
            name: "/srv".to_owned(),
            kind: TargetKind::Scratch,
            size_bytes: Bytes::from_mib(64),
        };
        let timing = PointTiming {
            precision: 0.02,
            max_time_ns: Nanos::from_millis(1000),
            duration_ns: None,
            warm_up_ns: Nanos::new(0),
        };
        let asked = points.iter().map(|point| point.load.clone()).collect();
        let mut report =
            SweepReport::new(&Machine::default(), target, PathCeilings::default(), timing, asked);
        report.curves = curves(&points);
        report.points = points;
        report
    }

    #[test]
    fn the_map_has_a_row_for_each_block_and_the_knee_is_named() {
        let mut points = Vec::new();
        for kib in [4, 1024] {
            for (depth, mb) in [(1, 50.0), (4, 180.0), (16, 400.0), (64, 402.0), (256, 401.0)] {
                points.push(point(LoadSpec::reading(Pattern::Random, Bytes::from_kib(kib), depth), mb));
            }
        }
        let style = Style { colour: false, width: 80, unicode: false, plain: false };
        let text = render(&report(points), &style);
        assert!(text.contains("\n4 KiB") && text.contains("\n1 MiB"), "{text}");
        assert!(text.contains("knee at depth 16, plateau of 401 MB/s up to 256"), "{text}");
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
            let condition = ConditionView { links: Vec::new(), drives: vec![drive(before, after)] };
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
