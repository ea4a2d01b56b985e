//! Rates over what grows along a series of runs, with the knee.

use crate::fleet_run::{FleetRunReport, in_words, shown, title};
use narrows_base::stats::sweep::{Plateau, Point};
use narrows_base::units::{BytesPerSec, human};
use narrows_report::figure::chart::{Axis, Event, Line, from_zero, known, lines, picture, rate};
use narrows_report::figure::{Data, Figure, Picture};
use narrows_verdict::fleet::series::{Along, Series};

/// Runs along which one thing grows.
pub(super) struct Growth<'a> {
    /// What the picture is called, and what its axes are.
    pub(super) label: &'a str,
    pub(super) across: &'a str,
    pub(super) up: &'a str,
    /// What the line is called.
    pub(super) name: String,
    pub(super) points: &'a [Point],
}

impl Growth<'_> {
    /// The line over its axis, on which `tick` writes each place.
    pub(super) fn picture(&self, tick: impl Fn(f64) -> String, events: &[Event]) -> Picture {
        let places = || self.points.iter().map(|point| point.x);
        let rates = || self.points.iter().map(|point| point.bytes_per_second.get());
        let across = Axis {
            range: [places().fold(f64::INFINITY, f64::min), places().fold(0.0, f64::max)],
            is_logarithmic: true,
            ticks: places().map(|place| (place, tick(place))).collect(),
            name: self.across,
        };
        let up = from_zero(rates().fold(0.0, f64::max), &rate, self.up);
        let written: Vec<String> =
            places().zip(rates()).map(|(place, rate)| format!("{place}={rate}")).collect();
        let ends = |point: &Point| point.ci95.map(|ends| ends.map(BytesPerSec::get));
        let line = Line {
            name: self.name.clone(),
            points: self.points.iter().map(|it| (it.x, it.bytes_per_second.get(), ends(it))).collect(),
            is_dotted: true,
            data: vec![("points", written.join(" "))],
            ..Line::default()
        };
        picture(|width| lines(width, self.label, &across, &up, std::slice::from_ref(&line), events))
    }
}

/// Where more gives no more, at a place in words.
pub(super) fn knee(plateau: &Plateau, at: &str) -> Event {
    let rate = human::rate(plateau.bytes_per_second);
    Event { at: plateau.from, name: format!("knee at {at}: {rate} from here on") }
}

/// A figure for each series of a run on many hosts.
pub(crate) fn fleet_knees(report: &FleetRunReport) -> Vec<Figure> {
    report.series.iter().enumerate().map(|(at, series)| of_series(series, at + 1)).collect()
}

fn of_series(series: &Series, number: usize) -> Figure {
    let growth = Growth {
        label: "Rate of all hosts and its knee",
        across: match series.along {
            Along::Jobs => "jobs of each host, logarithmic",
            Along::Depth => "depth of each job, logarithmic",
            Along::BlockSize => "block size, logarithmic",
        },
        up: "rate of all hosts",
        name: format!("{} hosts together", series.hosts),
        points: &series.points,
    };
    let tick = |at: f64| match series.along {
        Along::BlockSize => shown(series.along, at),
        Along::Jobs | Along::Depth => at.to_string(),
    };
    let knees = series.shape.plateau.iter().map(|it| knee(it, &shown(series.along, it.from)));
    let mut data = Data::new(&["at#", "rate#", "95 % interval#"]);
    for point in &series.points {
        let ends = point.ci95.map_or_else(|| "not known".to_owned(), |ends| known(Some(ends)));
        data.push([shown(series.along, point.x), human::rate(point.bytes_per_second), ends]);
    }
    let pictures = vec![growth.picture(tick, &knees.collect::<Vec<_>>())];
    let alternative = format!("{}.", in_words(series));
    Figure { id: format!("fleet-knee-{number}"), title: title(series), alternative, pictures, data }
}
