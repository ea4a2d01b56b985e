//! Many loads: block size against depth, streams with their knee, and the roofline.

use super::heat::{Cell, Heat, Legend, heat};
use super::lines::{Axis, Event, Line, decades, from_zero, lines};
use super::picture;
use crate::bench::sweep::{Along, SweepPoint, SweepReport};
use crate::figure::whole::{Data, Figure};
use narrows_base::units::{Bytes, BytesPerSec, human};
use narrows_load::preset::{LoadSpec, Parallel};
use narrows_model::predict::roofline::{Axis as Of, Roofline};

/// Rates that differ by less than this part are alike.
const ALIKE: f64 = 0.05;

/// What is asked beside block size and depth.
fn others(load: &LoadSpec) -> String {
    let load = LoadSpec { block_size: Bytes::new(4096), queue_depth: 1, batch: None, ..load.clone() };
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

fn heat_of(points: &[&SweepPoint], at: usize) -> Option<Figure> {
    let mut sizes: Vec<u64> = points.iter().map(|point| point.load.block_size.get()).collect();
    let mut depths: Vec<u32> = points.iter().map(|point| point.load.queue_depth).collect();
    sizes.sort_unstable();
    sizes.dedup();
    depths.sort_unstable();
    depths.dedup();
    if sizes.len() < 2 || depths.len() < 2 {
        return None;
    }
    let first = points.first()?;
    let rate = |point: &&SweepPoint| point.bytes_per_second.get();
    let most = points.iter().map(rate).fold(0.0, f64::max);
    let mut data = Data::new(&["block size#", "queue depth#", "rate#", "95 % interval#", "trusted"]);
    for point in points {
        data.push([
            human::block_size(point.load.block_size),
            point.load.queue_depth.to_string(),
            human::rate(point.bytes_per_second),
            point
                .ci95
                .map(|[low, high]| format!("{} to {}", human::rate(low), human::rate(high)))
                .unwrap_or_default(),
            point.trusted.map_or("not judged", |trusted| if trusted { "yes" } else { "no" }).to_owned(),
        ]);
    }
    let cell = |size: u64, depth: u32| {
        let found = points.iter().find(|it| it.load.block_size.get() == size && it.load.queue_depth == depth);
        let Some(point) = found else {
            return Cell { shown: "–".to_owned(), tip: "not measured".to_owned(), ..Cell::default() };
        };
        let doubt = if point.trusted == Some(false) { "?" } else { "" };
        Cell {
            part: Some(rate(point) / most),
            shown: format!("{}{doubt}", human::rate(point.bytes_per_second)),
            tip: format!(
                "{}, depth {depth}: {}",
                human::block_size(Bytes::new(size)),
                human::rate(point.bytes_per_second)
            ),
            data: vec![
                ("block", size.to_string()),
                ("depth", depth.to_string()),
                ("rate", format!("{}", point.bytes_per_second.get())),
            ],
            // Rates that differ by less are one plateau of a sweep.
            is_marked: rate(point) >= most * (1.0 - ALIKE),
        }
    };
    let columns: Vec<String> = depths.iter().map(|depth| format!("depth {depth}")).collect();
    let rows: Vec<(String, Vec<Cell>)> = sizes
        .iter()
        .map(|size| {
            (human::block_size(Bytes::new(*size)), depths.iter().map(|depth| cell(*size, *depth)).collect())
        })
        .collect();
    let what = said(&first.load);
    let is_doubted = points.iter().any(|point| point.trusted == Some(false));
    let legend = Legend {
        scale: Some(["0".to_owned(), human::rate(BytesPerSec::new(most))]),
        frame: "within 5 % of the highest",
        notes: if is_doubted { vec!["?: not trusted"] } else { Vec::new() },
        ..Legend::default()
    };
    let place = points.iter().find(|point| rate(point) >= most).map(|point| &point.load);
    let place = place
        .map(|load| format!(", at {} and depth {}", human::block_size(load.block_size), load.queue_depth));
    let place = place.unwrap_or_default();
    Some(Figure {
        id: format!("sweep-heat-{}", at + 1),
        title: format!("Block size and queue depth: {what}"),
        alternative: format!(
            "Rates for each block size and queue depth; the highest is {}{place}. Framed cells are within 5 % of it. A question mark \
             says that a result is not trusted.",
            human::rate(BytesPerSec::new(most))
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
        data,
    })
}

/// Rates over depth or streams with the knee, one for each curve of the sweep.
pub fn sweep_knee(report: &SweepReport) -> Vec<Figure> {
    let curves = report.curves.iter().enumerate();
    curves
        .filter_map(|(at, curve)| {
            let x = |load: &LoadSpec| match curve.along {
                Along::Depth => f64::from(load.queue_depth),
                Along::Streams => f64::from(load.parallel.count()),
            };
            let name = match curve.along {
                Along::Depth => "queue depth, logarithmic",
                Along::Streams => "streams, logarithmic",
            };
            let alike = |load: &LoadSpec| {
                let of = curve.of.clone();
                let load = match curve.along {
                    Along::Depth => LoadSpec { queue_depth: of.queue_depth, batch: of.batch, ..load.clone() },
                    Along::Streams => LoadSpec { batch: of.batch, ..load.clone().on(of.parallel) },
                };
                load == of
            };
            let points: Vec<&SweepPoint> = report.points.iter().filter(|point| alike(&point.load)).collect();
            let places = || points.iter().map(|point| x(&point.load));
            let (low, high) = (places().fold(f64::INFINITY, f64::min), places().fold(0.0, f64::max));
            if points.len() < 3 || low <= 0.0 {
                return None;
            }
            let most = points.iter().map(|point| point.bytes_per_second.get()).fold(0.0, f64::max);
            let line = Line {
                name: said(&curve.of),
                points: points
                    .iter()
                    .map(|it| {
                        (
                            x(&it.load),
                            it.bytes_per_second.get(),
                            it.ci95.map(|ends| ends.map(BytesPerSec::get)),
                        )
                    })
                    .collect(),
                is_dotted: true,
                data: vec![(
                    "points",
                    points
                        .iter()
                        .map(|it| format!("{}={}", x(&it.load), it.bytes_per_second.get()))
                        .collect::<Vec<_>>()
                        .join(" "),
                )],
                ..Line::default()
            };
            let across = Axis {
                range: [low, high],
                is_logarithmic: true,
                ticks: places().map(|place| (place, format!("{place}"))).collect(),
                name,
            };
            let up = from_zero(most, &|value| human::rate(BytesPerSec::new(value)), "rate");
            let knee = curve.shape.plateau.map(|plateau| Event {
                at: plateau.from,
                name: format!(
                    "knee at {}: {} from here on",
                    plateau.from,
                    human::rate(plateau.bytes_per_second)
                ),
            });
            let events: Vec<Event> = knee.into_iter().collect();
            let mut data = Data::new(&["at#", "rate#"]);
            for point in &points {
                data.push([format!("{}", x(&point.load)), human::rate(point.bytes_per_second)]);
            }
            let told =
                events.first().map_or("No knee was found.".to_owned(), |event| format!("A {}.", event.name));
            Some(Figure {
                id: format!("sweep-knee-{}", at + 1),
                title: format!("Scaling: {}", human::block_size(curve.of.block_size)),
                alternative: format!(
                    "{}, {}: the rate over {}. {told}",
                    human::block_size(curve.of.block_size),
                    said(&curve.of),
                    name.trim_end_matches(", logarithmic")
                ),
                pictures: vec![picture(|width| {
                    lines(width, "Rate and its knee", &across, &up, std::slice::from_ref(&line), &events)
                })],
                data,
            })
        })
        .collect()
}

/// The storage roofline with the points of workloads, as figure `number` of its kind; `None` where nothing bounds the rate.
pub fn roofline(picture_of: &Roofline, number: usize) -> Option<Figure> {
    let positive = |rates: &[BytesPerSec]| {
        rates.iter().map(|rate| rate.get()).filter(|rate| *rate > 0.0).collect::<Vec<_>>()
    };
    let got = positive(&picture_of.rates);
    let (low, high) =
        (got.iter().copied().fold(f64::INFINITY, f64::min), got.iter().copied().fold(0.0, f64::max));
    if picture_of.at.len() < 2 || got.is_empty() {
        return None;
    }
    let (name, shown): (&str, fn(f64) -> String) = match picture_of.axis {
        Of::BlockSize => ("block size, logarithmic", |at| human::block_size(Bytes::new(at as u64))),
        Of::Depth => ("I/Os under way for each job, logarithmic", |at| format!("{at:.0}")),
    };
    let points = |rates: &[BytesPerSec]| {
        let pairs = picture_of.at.iter().zip(rates).filter(|(_, rate)| rate.get() > 0.0);
        pairs.map(|(at, rate)| (*at, rate.get(), None)).collect::<Vec<_>>()
    };
    let written = |rates: &[BytesPerSec]| {
        let pairs = points(rates).into_iter().map(|(at, rate, _)| format!("{at}={rate}"));
        pairs.collect::<Vec<_>>().join(" ")
    };
    let mut all = vec![Line {
        name: "what the workload gets, at most".to_owned(),
        points: points(&picture_of.rates),
        data: vec![("points", written(&picture_of.rates))],
        ..Line::default()
    }];
    let up = decades([low, high], &|value| human::rate(BytesPerSec::new(value)), "rate, logarithmic");
    // A ceiling far above all else says nothing here, and above the axis it is not seen; it is in the table.
    let most = up.range[1].min(high * 6.0);
    for line in picture_of.lines.iter().filter(|line| positive(&line.rates).iter().any(|rate| *rate <= most))
    {
        all.push(Line {
            name: crate::roofline::label(line),
            points: points(&line.rates),
            is_bound: true,
            data: vec![("hop", line.hop.to_string()), ("points", written(&line.rates))],
            ..Line::default()
        });
    }
    for mark in picture_of.marks.iter().filter(|mark| mark.rate.get() > 0.0) {
        all.push(Line {
            name: format!("{} {}", mark.name, human::rate(mark.rate)),
            points: vec![(mark.at, mark.rate.get(), None)],
            is_dotted: true,
            data: vec![("workload", mark.name.clone()), ("rate", format!("{}", mark.rate.get()))],
            ..Line::default()
        });
    }
    let ends = [picture_of.at.first().copied().unwrap_or(1.0), picture_of.at.last().copied().unwrap_or(2.0)];
    let ticks = picture_of.at.iter().map(|at| (*at, shown(*at))).collect();
    let across = Axis { range: ends, is_logarithmic: true, ticks, name };
    let mut data = Data::new(&["ceiling", "lowest#", "highest#"]);
    for line in &picture_of.lines {
        let rates = positive(&line.rates);
        let of = |value: f64| human::rate(BytesPerSec::new(value));
        let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
        data.push([
            crate::roofline::label(line),
            of(if least.is_finite() { least } else { 0.0 }),
            of(rates.iter().copied().fold(0.0, f64::max)),
        ]);
    }
    Some(Figure {
        id: format!("roofline-{number}"),
        title: "Roofline".to_owned(),
        alternative: format!(
            "Ceilings of the hops over {}, {}.",
            name.trim_end_matches(", logarithmic"),
            picture_of.fixed
        ),
        pictures: vec![picture(|width| lines(width, "Rate and ceilings", &across, &up, &all, &[]))],
        data,
    })
}
