//! One run: its latencies and its rate over time.

use super::lines::{Axis, Event, Line, decades, from_zero, lines};
use super::picture;
use crate::figure::whole::{Data, Figure};
use narrows_base::units::{BytesPerSec, Nanos, human};
use narrows_load::measurement::Latency;
use narrows_load::percentile::{PERCENTILES, Percentile};

/// Bytes that a second of a series stands for: each value is the rate of so many seconds.
const STEP: f64 = 0.1;

/// Latencies of several runs, each with its name, over the share of I/Os that are slower. A line ends where there are too few
/// I/Os for the next percentile; `None` where none has two of them.
pub fn percentiles(id: &str, runs: &[(String, &Latency)]) -> Option<Figure> {
    let mut data = Data::new(&["run", "percentile", "latency#", "I/Os#"]);
    let mut all = Vec::new();
    for (name, latency) in runs {
        let known: Vec<(&Percentile, Nanos)> = PERCENTILES
            .iter()
            .filter(|percentile| latency.count >= percentile.least_samples())
            .filter_map(|percentile| Some((percentile, value(latency, percentile)?)))
            .collect();
        for (percentile, span) in &known {
            data.push([
                name.clone(),
                percentile.label.to_owned(),
                human::time(*span),
                human::grouped(latency.count),
            ]);
        }
        let written: Vec<String> =
            known.iter().map(|(it, span)| format!("{}={}", it.key, span.get())).collect();
        all.push(Line {
            name: name.clone(),
            points: known.iter().map(|(it, span)| (slower(it), span.get() as f64, None)).collect(),
            is_dotted: true,
            data: vec![("run", name.clone()), ("percentiles", written.join(" "))],
            ..Line::default()
        });
    }
    let points = || all.iter().flat_map(|line: &Line| &line.points);
    if !all.iter().any(|line| line.points.len() >= 2) {
        return None;
    }
    let low = points().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let high = points().map(|point| point.1).fold(0.0, f64::max);
    let last = points().map(|point| point.0).fold(0.0, f64::max);
    let across = Axis {
        range: [1.0 / 0.5, last.max(20.0)],
        is_logarithmic: true,
        ticks: PERCENTILES
            .iter()
            .filter(|it| slower(it) <= last * 1.01)
            .map(|it| (slower(it), it.label.to_owned()))
            .collect(),
        name: "share of I/Os that are faster; equal distances are tenfold fewer slower ones",
    };
    let up = decades(
        [low, high],
        &|value| human::time(Nanos::new(value as u64)),
        "completion latency, logarithmic",
    );
    Some(Figure {
        id: id.to_owned(),
        title: "Completion latencies".to_owned(),
        alternative: "Percentiles of the completion latency of each run. A line ends where the run has too few I/Os for the next \
                      percentile to be known with 95 % confidence."
            .to_owned(),
        pictures: vec![picture(|width| lines(width, "Percentiles of completion latencies", &across, &up, &all, &[]))],
        data,
    })
}

/// One of how many I/Os is slower.
fn slower(percentile: &Percentile) -> f64 {
    1.0 / (1.0 - percentile.fraction)
}

fn value(latency: &Latency, percentile: &Percentile) -> Option<Nanos> {
    match percentile.key {
        "p50" => latency.p50,
        "p90" => latency.p90,
        "p95" => latency.p95,
        "p99" => latency.p99,
        "p999" => latency.p999,
        "p9999" => latency.p9999,
        "p99999" => latency.p99999,
        _ => None,
    }
}

/// The rate in each tenth of a second, with what happened meanwhile (seconds from the beginning, and words) and the ceiling of the
/// path; `None` for fewer than three values.
pub fn rate_over_time(
    id: &str,
    name: &str,
    series: &[BytesPerSec],
    ceiling: Option<BytesPerSec>,
    events: &[(f64, String)],
) -> Option<Figure> {
    if series.len() < 3 {
        return None;
    }
    let points = || series.iter().enumerate().map(|(at, rate)| ((at as f64 + 0.5) * STEP, rate.get(), None));
    let length = series.len() as f64 * STEP;
    let written: Vec<String> = series.iter().map(|rate| format!("{}", rate.get())).collect();
    let mut all = vec![Line {
        name: name.to_owned(),
        points: points().collect(),
        data: vec![("run", name.to_owned()), ("series", written.join(" "))],
        ..Line::default()
    }];
    let mut most = series.iter().map(|rate| rate.get()).fold(0.0, f64::max);
    // A ceiling far above what was reached would flatten the line; its number is in the words.
    if let Some(ceiling) = ceiling.filter(|ceiling| ceiling.get() <= most * 4.0) {
        most = most.max(ceiling.get());
        all.push(Line {
            name: format!("ceiling of the path, {}", human::rate(ceiling)),
            points: vec![(0.0, ceiling.get(), None), (length, ceiling.get(), None)],
            is_bound: true,
            ..Line::default()
        });
    }
    let across = from_zero(length, &|value| format!("{value} s"), "time");
    let across = Axis { range: [0.0, length], ticks: kept(across.ticks, length), ..across };
    let up = from_zero(most, &|value| human::rate(BytesPerSec::new(value)), "rate");
    let events: Vec<Event> = events.iter().map(|(at, name)| Event { at: *at, name: name.clone() }).collect();
    let mut data = Data::new(&["second#", "rate#"]);
    // At most a row for each second: the whole series is in the JSON.
    for (second, part) in series.chunks(10).enumerate() {
        let mean = part.iter().map(|rate| rate.get()).sum::<f64>() / part.len() as f64;
        data.push([format!("{second}"), human::rate(BytesPerSec::new(mean))]);
    }
    let told: Vec<String> =
        events.iter().map(|event| format!("At {:.1} s: {}.", event.at, event.name)).collect();
    Some(Figure {
        id: id.to_owned(),
        title: format!("Rate over time: {name}"),
        alternative: format!("The rate in each tenth of a second. {}", told.join(" ")).trim_end().to_owned(),
        pictures: vec![picture(|width| lines(width, "Rate over time", &across, &up, &all, &events))],
        data,
    })
}

fn kept(ticks: Vec<(f64, String)>, length: f64) -> Vec<(f64, String)> {
    ticks.into_iter().filter(|(at, _)| *at <= length * 1.000_001).collect()
}
