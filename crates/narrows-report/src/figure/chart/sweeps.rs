//! Many loads: block size against depth, and streams with their knee.

use super::heat::{Cell, Heat, Legend, heat};
use super::lines::{Axis, Event, Line, from_zero, lines};
use super::picture;
use crate::bench::sweep::{Along, Curve, SweepPoint, SweepReport};
use crate::figure::whole::{Data, Figure};
use narrows_base::units::{Bytes, BytesPerSec, human};
use narrows_load::preset::{LoadSpec, Parallel};

/// Rates that differ by less than this part are alike.
const ALIKE: f64 = 0.05;

/// What is asked beside block size and depth.
fn others(load: &LoadSpec) -> String {
    let load = LoadSpec { block_size: Bytes::new(4096), queue_depth: 1, ..load.clone() };
    format!("{load:?}")
}

fn said(load: &LoadSpec) -> String {
    let mix = match load.write_percent {
        0 => "reads".to_owned(),
        100 => "writes".to_owned(),
        part => format!("{part} % writes"),
    };
    let pattern = format!("{:?}", load.pattern).to_lowercase();
    let count = load.parallel.count();
    format!("{pattern} {mix}, {count} {}{}", streams(load), if count == 1 { "" } else { "s" })
}

const fn streams(load: &LoadSpec) -> &'static str {
    match load.parallel {
        Parallel::Threads(_) => "thread",
        Parallel::Streams(_) => "stream",
    }
}

/// Rates over block size and depth, one for each mix that has at least two of each.
pub fn sweep_heat(report: &SweepReport) -> Vec<Figure> {
    let mut kinds: Vec<(String, Vec<&SweepPoint>)> = Vec::new();
    for point in &report.points {
        let key = others(&point.load);
        match kinds.iter_mut().find(|(kind, _)| *kind == key) {
            Some((_, points)) => points.push(point),
            None => kinds.push((key, vec![point])),
        }
    }
    kinds.iter().enumerate().filter_map(|(at, (_, points))| heat_of(points, at)).collect()
}

const fn rate(point: &SweepPoint) -> f64 {
    point.bytes_per_second.get()
}

/// The block sizes and depths of some points; `None` where there is one alone of either.
fn grid(points: &[&SweepPoint]) -> Option<(Vec<Bytes>, Vec<u32>)> {
    let mut sizes: Vec<Bytes> = points.iter().map(|point| point.load.block_size).collect();
    let mut depths: Vec<u32> = points.iter().map(|point| point.load.queue_depth).collect();
    sizes.sort_unstable();
    sizes.dedup();
    depths.sort_unstable();
    depths.dedup();
    (sizes.len() > 1 && depths.len() > 1).then_some((sizes, depths))
}

fn heat_data(points: &[&SweepPoint]) -> Data {
    let mut data = Data::new(&["block size#", "queue depth#", "rate#", "95 % interval#", "trusted"]);
    for point in points {
        let interval = point.ci95.map(|[low, high]| format!("{} to {}", human::rate(low), human::rate(high)));
        data.push([
            human::block_size(point.load.block_size),
            point.load.queue_depth.to_string(),
            human::rate(point.bytes_per_second),
            interval.unwrap_or_default(),
            point.trusted.map_or("not judged", |trusted| if trusted { "yes" } else { "no" }).to_owned(),
        ]);
    }
    data
}

fn heat_cell(points: &[&SweepPoint], size: Bytes, depth: u32, most: f64) -> Cell {
    let found = points.iter().find(|it| it.load.block_size == size && it.load.queue_depth == depth);
    let Some(point) = found else {
        return Cell { shown: "–".to_owned(), tip: "not measured".to_owned(), ..Cell::default() };
    };
    let doubt = if point.trusted == Some(false) { "?" } else { "" };
    let shown = human::rate(point.bytes_per_second);
    Cell {
        part: Some(rate(point) / most),
        tip: format!("{}, depth {depth}: {shown}", human::block_size(size)),
        shown: format!("{shown}{doubt}"),
        data: vec![
            ("block", size.get().to_string()),
            ("depth", depth.to_string()),
            ("rate", format!("{}", rate(point))),
        ],
        // Rates that differ by less are one plateau of a sweep.
        is_marked: rate(point) >= most * (1.0 - ALIKE),
    }
}

fn heat_of(points: &[&SweepPoint], at: usize) -> Option<Figure> {
    let (sizes, depths) = grid(points)?;
    let first = points.first()?;
    let most = points.iter().map(|point| rate(point)).fold(0.0, f64::max);
    let highest = human::rate(BytesPerSec::new(most));
    let columns: Vec<String> = depths.iter().map(|depth| format!("depth {depth}")).collect();
    let row = |size: &Bytes| {
        let cells = depths.iter().map(|depth| heat_cell(points, *size, *depth, most));
        (human::block_size(*size), cells.collect())
    };
    let rows: Vec<(String, Vec<Cell>)> = sizes.iter().map(row).collect();
    let is_doubted = points.iter().any(|point| point.trusted == Some(false));
    let legend = Legend {
        scale: Some(["0".to_owned(), highest.clone()]),
        frame: "within 5 % of the highest",
        notes: if is_doubted { vec!["?: not trusted"] } else { Vec::new() },
        ..Legend::default()
    };
    let place = points.iter().find(|point| rate(point) >= most).map(|point| &point.load);
    let place = place
        .map(|load| format!(", at {} and depth {}", human::block_size(load.block_size), load.queue_depth))
        .unwrap_or_default();
    Some(Figure {
        id: format!("sweep-heat-{}", at + 1),
        title: format!("Block size and queue depth: {}", said(&first.load)),
        alternative: format!(
            "Rates for each block size and queue depth; the highest is {highest}{place}. Framed cells are within 5 % of it. A question mark \
             says that a result is not trusted.",
        ),
        pictures: vec![picture(|width| {
            let label = "Rates by block size and queue depth";
            heat(
                width,
                &Heat {
                    label,
                    tone: "cool",
                    corner: "block size",
                    columns: &columns,
                    rows: &rows,
                    data: &[],
                    legend: &legend,
                },
            )
        })],
        data: heat_data(points),
    })
}

/// Rates over depth or streams with the knee, one for each curve of the sweep.
pub fn sweep_knee(report: &SweepReport) -> Vec<Figure> {
    let curves = report.curves.iter().enumerate();
    curves.filter_map(|(at, curve)| knee_of(&report.points, curve, at)).collect()
}

/// Where a load stands along a curve.
fn along(curve: &Curve, load: &LoadSpec) -> f64 {
    match curve.along {
        Along::Depth => f64::from(load.queue_depth),
        Along::Streams => f64::from(load.parallel.count()),
    }
}

/// Whether a load is that of a curve but for its place along it.
fn is_on(curve: &Curve, load: &LoadSpec) -> bool {
    let of = &curve.of;
    let load = match curve.along {
        Along::Depth => LoadSpec { queue_depth: of.queue_depth, ..load.clone() },
        Along::Streams => load.clone().on(of.parallel),
    };
    load == *of
}

fn knee_of(all: &[SweepPoint], curve: &Curve, at: usize) -> Option<Figure> {
    let name = match curve.along {
        Along::Depth => "queue depth, logarithmic",
        Along::Streams => "streams, logarithmic",
    };
    let points: Vec<&SweepPoint> = all.iter().filter(|point| is_on(curve, &point.load)).collect();
    let places: Vec<f64> = points.iter().map(|point| along(curve, &point.load)).collect();
    let (low, high) =
        (places.iter().copied().fold(f64::INFINITY, f64::min), places.iter().copied().fold(0.0, f64::max));
    if points.len() < 3 || low <= 0.0 {
        return None;
    }
    let measured = || places.iter().zip(points.iter().copied());
    let written = measured().map(|(place, it)| format!("{place}={}", rate(it)));
    let line = Line {
        name: said(&curve.of),
        data: vec![("points", written.collect::<Vec<_>>().join(" "))],
        points: measured()
            .map(|(place, it)| (*place, rate(it), it.ci95.map(|ends| ends.map(BytesPerSec::get))))
            .collect(),
        is_dotted: true,
        ..Line::default()
    };
    let across = Axis {
        range: [low, high],
        is_logarithmic: true,
        ticks: places.iter().map(|place| (*place, format!("{place}"))).collect(),
        name,
    };
    let most = points.iter().map(|point| rate(point)).fold(0.0, f64::max);
    let up = from_zero(most, &|value| human::rate(BytesPerSec::new(value)), "rate");
    let knee = curve.shape.plateau.map(|plateau| Event {
        at: plateau.from,
        name: format!("knee at {}: {} from here on", plateau.from, human::rate(plateau.bytes_per_second)),
    });
    let events: Vec<Event> = knee.into_iter().collect();
    let mut data = Data::new(&["at#", "rate#"]);
    for (place, point) in measured() {
        data.push([format!("{place}"), human::rate(point.bytes_per_second)]);
    }
    let told = events.first().map_or("No knee was found.".to_owned(), |event| format!("A {}.", event.name));
    let size = human::block_size(curve.of.block_size);
    Some(Figure {
        id: format!("sweep-knee-{}", at + 1),
        title: format!("Scaling: {size}"),
        alternative: format!(
            "{size}, {}: the rate over {}. {told}",
            said(&curve.of),
            name.trim_end_matches(", logarithmic")
        ),
        pictures: vec![picture(|width| {
            lines(width, "Rate and its knee", &across, &up, std::slice::from_ref(&line), &events)
        })],
        data,
    })
}
