//! Many loads: block size against depth, and streams with their knee.

use std::collections::BTreeSet;

use super::knees::{Growth, knee};
use crate::measure::MeasureReport;
use crate::measure::sweep::{Along, Curve, SweepPoint, fixed};
use narrows_base::lists::grouped;
use narrows_base::stats::sweep::Point;
use narrows_base::units::{Bytes, BytesPerSec, human};
use narrows_load::preset::{LoadSpec, Parallel};
use narrows_report::figure::chart::{Cell, Event, Heat, Legend, heat, known, picture};
use narrows_report::figure::{Data, Figure};

/// Rates that differ by less than this part are alike.
const ALIKE: f64 = 0.05;

fn said(load: &LoadSpec) -> String {
    let mix = match load.write_percent {
        0 => "reads".to_owned(),
        100 => "writes".to_owned(),
        part => format!("{part} % writes"),
    };
    let way = match load.parallel {
        Parallel::Threads(_) => "thread",
        Parallel::Streams(_) => "stream",
    };
    format!("{} {mix}, {}", load.pattern.word(), human::counted(load.parallel.count(), way))
}

/// Rates over block size and depth, one for each mix that has at least two of each.
pub(crate) fn sweep_heat(report: &MeasureReport) -> Vec<Figure> {
    // What is asked beside block size and depth.
    let others = |load: &LoadSpec| LoadSpec { block_size: Bytes::new(4096), queue_depth: 1, ..load.clone() };
    let kinds = grouped(report.points().into_iter().map(|point| (others(point.load), point)));
    kinds.iter().enumerate().filter_map(|(at, (_, points))| heat_of(points, at)).collect()
}

const fn rate(point: &SweepPoint<'_>) -> f64 {
    point.bytes_per_second.get()
}

fn heat_cell(points: &[SweepPoint<'_>], size: Bytes, depth: u32, most: f64) -> Cell {
    let found = points.iter().find(|it| it.load.block_size == size && it.load.queue_depth == depth);
    let Some(point) = found else {
        return Cell { shown: "–".to_owned(), tip: "not measured".to_owned(), ..Cell::default() };
    };
    let doubt = if point.trusted == Some(false) { "?" } else { "" };
    let shown = human::rate(point.bytes_per_second);
    let (block, rate) = (size.get().to_string(), rate(point));
    Cell {
        part: Some(rate / most),
        tip: format!("{}, depth {depth}: {shown}", human::block_size(size)),
        shown: format!("{shown}{doubt}"),
        data: vec![("block", block), ("depth", depth.to_string()), ("rate", format!("{rate}"))],
        // Rates that differ by less are one plateau of a sweep.
        is_marked: rate >= most * (1.0 - ALIKE),
    }
}

fn heat_of(points: &[SweepPoint<'_>], at: usize) -> Option<Figure> {
    let sizes: BTreeSet<Bytes> = points.iter().map(|point| point.load.block_size).collect();
    let depths: BTreeSet<u32> = points.iter().map(|point| point.load.queue_depth).collect();
    let first = points.first().filter(|_| sizes.len() > 1 && depths.len() > 1)?;
    let most = points.iter().map(rate).fold(0.0, f64::max);
    let highest = human::rate(BytesPerSec::new(most));
    let columns: Vec<String> = depths.iter().map(|depth| format!("depth {depth}")).collect();
    let cells = |size| depths.iter().map(move |depth| heat_cell(points, size, *depth, most)).collect();
    let rows: Vec<(String, Vec<Cell>)> =
        sizes.iter().map(|size| (human::block_size(*size), cells(*size))).collect();
    let is_doubted = points.iter().any(|point| point.trusted == Some(false));
    let map = Heat {
        label: "Rates by block size and queue depth",
        tone: "cool",
        corner: "block size",
        columns: &columns,
        rows: &rows,
        data: &[],
        legend: Legend {
            scale: Some(["0".to_owned(), highest.clone()]),
            frame: "within 5 % of the highest",
            notes: if is_doubted { vec!["?: not trusted"] } else { Vec::new() },
            ..Legend::default()
        },
    };
    let place = points.iter().find(|point| rate(point) >= most).map(|point| {
        format!(", at {} and depth {}", human::block_size(point.load.block_size), point.load.queue_depth)
    });
    let place = place.unwrap_or_default();
    let title = format!("Block size and queue depth: {}", said(first.load));
    let alternative = format!(
        "Rates for each block size and queue depth; the highest is {highest}{place}. Framed cells are within 5 % of it. A question mark \
         says that a result is not trusted.",
    );
    let mut data = Data::new(&["block size#", "queue depth#", "rate#", "95 % interval#", "trusted"]);
    for point in points {
        data.push([
            human::block_size(point.load.block_size),
            point.load.queue_depth.to_string(),
            human::rate(point.bytes_per_second),
            known(point.ci95),
            point.trusted.map_or("not judged", |trusted| if trusted { "yes" } else { "no" }).to_owned(),
        ]);
    }
    let pictures = vec![picture(|width| heat(width, &map))];
    Some(Figure { id: format!("sweep-heat-{}", at + 1), title, alternative, pictures, data })
}

/// Rates over depth or streams with the knee, one for each curve of the sweep.
pub(crate) fn sweep_knee(report: &MeasureReport) -> Vec<Figure> {
    let points = report.points();
    report.curves.iter().enumerate().filter_map(|(at, curve)| knee_of(&points, curve, at)).collect()
}

fn knee_of(all: &[SweepPoint<'_>], curve: &Curve, at: usize) -> Option<Figure> {
    let what = match curve.along {
        Along::Depth => "queue depth",
        Along::Streams => "streams",
    };
    let of_curve = all.iter().filter(|point| fixed(point.load) == fixed(&curve.of));
    let points: Vec<Point> = of_curve.map(SweepPoint::on_curve).collect();
    if points.len() < 3 || points.iter().any(|point| point.x <= 0.0) {
        return None;
    }
    let knee = curve.shape.plateau.map(|plateau| knee(&plateau, &plateau.from.to_string()));
    let told = knee.as_ref().map_or("No knee was found.".to_owned(), |event| format!("A {}.", event.name));
    let events: Vec<Event> = knee.into_iter().collect();
    let mut data = Data::new(&["at#", "rate#"]);
    points.iter().for_each(|it| data.push([it.x.to_string(), human::rate(it.bytes_per_second)]));
    let (size, said) = (human::block_size(curve.of.block_size), said(&curve.of));
    let across = &format!("{what}, logarithmic");
    let (label, up, name) = ("Rate and its knee", "rate", said.clone());
    let growth = Growth { label, across, up, name, points: &points };
    let alternative = format!("{size}, {said}: the rate over {what}. {told}");
    let pictures = vec![growth.picture(|place| place.to_string(), &events)];
    let title = format!("Scaling: {size}");
    Some(Figure { id: format!("sweep-knee-{}", at + 1), title, alternative, pictures, data })
}
