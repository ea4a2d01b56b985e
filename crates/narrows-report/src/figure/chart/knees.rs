//! Rates of many hosts together over what changes along a series of runs, with the knee.

use super::lines::{Axis, Event, Line, from_zero, lines};
use super::picture;
use crate::figure::whole::{Data, Figure};
use crate::fleet_run::{FleetRunReport, in_words, shown, title};
use narrows_base::units::{BytesPerSec, human};
use narrows_verdict::fleet::series::{Along, Series};

/// A figure for each series of a run on many hosts.
pub fn fleet_knees(report: &FleetRunReport) -> Vec<Figure> {
    report.series.iter().enumerate().map(|(at, series)| knee(series, at + 1)).collect()
}

fn knee(series: &Series, number: usize) -> Figure {
    let name = match series.along {
        Along::Jobs => "jobs of each host, logarithmic",
        Along::Depth => "depth of each job, logarithmic",
        Along::BlockSize => "block size, logarithmic",
    };
    let places = || series.points.iter().map(|point| point.x);
    let across = Axis {
        range: [places().fold(f64::INFINITY, f64::min), places().fold(0.0, f64::max)],
        is_logarithmic: true,
        ticks: places().map(|place| (place, tick(series.along, place))).collect(),
        name,
    };
    let most = series.points.iter().map(|point| point.bytes_per_second.get()).fold(0.0, f64::max);
    let up = from_zero(most, &|value| human::rate(BytesPerSec::new(value)), "rate of all hosts");
    let values = series.points.iter().map(|point| format!("{}={}", point.x, point.bytes_per_second.get()));
    let line = Line {
        name: format!("{} hosts together", series.hosts),
        points: series
            .points
            .iter()
            .map(|point| {
                (point.x, point.bytes_per_second.get(), point.ci95.map(|ends| ends.map(BytesPerSec::get)))
            })
            .collect(),
        is_dotted: true,
        data: vec![("points", values.collect::<Vec<_>>().join(" "))],
        ..Line::default()
    };
    let event = |at: f64, rate| Event {
        at,
        name: format!("knee at {}: {} from here on", shown(series.along, at), human::rate(rate)),
    };
    let events: Vec<Event> =
        series.shape.plateau.iter().map(|plateau| event(plateau.from, plateau.bytes_per_second)).collect();
    let mut data = Data::new(&["at#", "rate#", "95 % interval#"]);
    for point in &series.points {
        let ends = point.ci95.map(|[low, high]| format!("{} to {}", human::rate(low), human::rate(high)));
        data.push([
            shown(series.along, point.x),
            human::rate(point.bytes_per_second),
            ends.unwrap_or_else(|| "not known".to_owned()),
        ]);
    }
    Figure {
        id: format!("fleet-knee-{number}"),
        title: title(series),
        alternative: format!("{}.", in_words(series)),
        pictures: vec![picture(|width| {
            lines(width, "Rate of all hosts and its knee", &across, &up, std::slice::from_ref(&line), &events)
        })],
        data,
    }
}

fn tick(along: Along, at: f64) -> String {
    if along == Along::BlockSize { shown(along, at) } else { format!("{at}") }
}
