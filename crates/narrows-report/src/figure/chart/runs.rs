//! Runs on one path: their latencies and their rates over time.

use super::lines::{Axis, Event, Line, decades, from_zero, lines};
use super::{picture, rate};
use crate::figure::style::MOST;
use crate::figure::svg::number;
use crate::figure::whole::{Data, Figure, Picture};
use crate::view::{ConditionView, PathView, RunView};
use narrows_base::measurement::{Latency, PERCENTILES, Percentile};
use narrows_base::units::{BytesPerSec, Nanos, human};
use narrows_base::workload::Workload;

/// Each value of a series is the rate of so many seconds.
const STEP: f64 = 0.1;
/// The most points of a line, on wide and on narrow drawings: of a longer series each is the mean of some values.
const MOST_POINTS: usize = 600;

/// One run over time.
pub struct Course<'a> {
    /// What was run.
    pub name: String,
    /// The rate in each tenth of a second.
    pub series: &'a [BytesPerSec],
    /// The ceiling of the path.
    pub ceiling: Option<BytesPerSec>,
    /// What happened meanwhile, by seconds from the beginning.
    pub events: Vec<Event>,
    /// What happened at a time that is not known.
    pub told: Vec<String>,
}

/// Latencies of several runs, each with its name, over the share of I/Os that are slower. A line ends where there are too few
/// I/Os for the next percentile; `None` where none has two of them.
pub fn percentiles(id: &str, runs: &[(String, &Latency)]) -> Option<Figure> {
    let mut data = Data::new(&["run", "percentile", "latency#", "I/Os#"]);
    let mut all = Vec::new();
    for (name, latency) in runs {
        let is_known = |it: &Percentile| latency.count >= it.least_samples();
        let known = latency.percentiles().into_iter().filter(|(it, _)| is_known(it));
        let known: Vec<(Percentile, Nanos)> = known.filter_map(|(it, span)| Some((it, span?))).collect();
        for (percentile, span) in &known {
            let (label, count) = (percentile.label.to_owned(), human::grouped(latency.count));
            data.push([name.clone(), label, human::time(*span), count]);
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
    let ticks = PERCENTILES.iter().map(|it| (slower(it), it.label.to_owned()));
    let across = Axis {
        range: [1.0 / 0.5, last.max(20.0)],
        is_logarithmic: true,
        ticks: ticks.filter(|(at, _)| *at <= last * 1.01).collect(),
        name: "share of I/Os that are faster; equal distances are tenfold fewer slower ones",
    };
    let time = |value: f64| human::time(Nanos::new(value as u64));
    let up = decades([low, high], &time, "completion latency, logarithmic");
    let label = "Percentiles of completion latencies";
    let alternative = "Percentiles of the completion latency of each run. A line ends where the run has too few I/Os for the next \
                       percentile to be known with 95 % confidence."
        .to_owned();
    let pictures = vec![picture(|width| lines(width, label, &across, &up, &all, &[]))];
    Some(Figure { id: id.to_owned(), title: "Completion latencies".to_owned(), alternative, pictures, data })
}

/// One of how many I/Os is slower.
fn slower(percentile: &Percentile) -> f64 {
    1.0 / (1.0 - percentile.fraction)
}

/// The rate in each tenth of a second of some runs, with what happened meanwhile and the ceiling of the path, shown in turn; `None`
/// where none has three values.
pub fn rates_over_time(id: &str, runs: &[Course<'_>]) -> Option<Figure> {
    let runs: Vec<&Course<'_>> = runs.iter().filter(|run| run.series.len() >= 3).take(MOST).collect();
    if runs.is_empty() {
        return None;
    }
    let mut data = Data::new(&["run", "second#", "rate#"]);
    for run in &runs {
        // At most a row for each second, and a hundred for a run: the whole series is in the JSON.
        let step = 10 * run.series.len().div_ceil(1000).max(1);
        for (at, mean) in means(run.series, step).enumerate() {
            data.push([run.name.clone(), format!("{:.0}", (at * step) as f64 * STEP), rate(mean)]);
        }
    }
    let told = runs.iter().flat_map(|run| {
        let timed = run.events.iter().map(|it| format!("{}: at {:.1} s {}.", run.name, it.at, it.name));
        timed.chain(run.told.iter().map(|what| format!("{}: {what}.", run.name)))
    });
    let told: Vec<String> = told.collect();
    let alternative = format!("The rate in each tenth of a second. {}", told.join(" ")).trim_end().to_owned();
    let pictures = runs.iter().map(|run| Picture { label: run.name.clone(), ..course(run) }).collect();
    Some(Figure { id: id.to_owned(), title: "Rate over time".to_owned(), alternative, pictures, data })
}

/// The means of so many values each.
pub fn means(series: &[BytesPerSec], step: usize) -> impl Iterator<Item = f64> {
    series.chunks(step.max(1)).map(|part| part.iter().map(|rate| rate.get()).sum::<f64>() / part.len() as f64)
}

fn course(run: &Course<'_>) -> Picture {
    let each = run.series.len().div_ceil(MOST_POINTS).max(1);
    let values: Vec<f64> = means(run.series, each).collect();
    let length = run.series.len() as f64 * STEP;
    let step = STEP * each as f64;
    let written: Vec<String> = values.iter().map(|rate| format!("{rate}")).collect();
    let points = values.iter().enumerate().map(|(at, rate)| ((at as f64 + 0.5) * step, *rate, None));
    let mut all = vec![Line {
        name: match each {
            1 => run.name.clone(),
            _ => format!("{}, means of {step:.1} s", run.name),
        },
        points: points.collect(),
        data: vec![("run", run.name.clone()), ("means-of", each.to_string()), ("series", written.join(" "))],
        ..Line::default()
    }];
    let mut most = values.iter().copied().fold(0.0, f64::max);
    // A ceiling far above what was reached would flatten the line; its number is in the words.
    if let Some(ceiling) = run.ceiling.filter(|ceiling| ceiling.get() <= most * 4.0) {
        most = most.max(ceiling.get());
        all.push(Line {
            name: format!("ceiling of the path, {ceiling}"),
            points: vec![(0.0, ceiling.get(), None), (length, ceiling.get(), None)],
            is_bound: true,
            data: vec![("ceiling", format!("{}", ceiling.get()))],
            ..Line::default()
        });
    }
    let mut across = from_zero(length, &|value| format!("{} s", number(value)), "time");
    across.range[1] = length;
    across.ticks.retain(|(at, _)| *at <= length * 1.000_001);
    let up = from_zero(most, &rate, "rate");
    picture(|width| lines(width, "Rate over time", &across, &up, &all, &run.events))
}

/// Lines of one figure that can be told apart.
const MOST_LINES: usize = 6;

/// A run with what links, drives and arrays did meanwhile: of what was not seen in the run itself nobody knows when.
pub fn of_run<'a>(
    name: &str,
    series: &'a [BytesPerSec],
    ceiling: Option<BytesPerSec>,
    condition: Option<&ConditionView>,
) -> Course<'a> {
    let events = condition.iter().flat_map(|condition| &condition.events);
    let told =
        condition.iter().flat_map(|condition| condition.troubles().into_iter().chain(condition.in_words()));
    let events = events.map(|it| Event { at: it.at_ns.as_secs_f64(), name: it.what.clone() }).collect();
    Course { name: name.to_owned(), series, ceiling, events, told: told.collect() }
}

/// Percentiles of some runs, so many in a figure as can be told apart.
pub fn latencies(id: &str, what: &str, runs: &[(String, &Latency)]) -> Vec<Figure> {
    let parts = runs.chunks(MOST_LINES).enumerate();
    let figures = parts.filter_map(|(at, part)| percentiles(&format!("{id}-{}", at + 1), part));
    figures.map(|figure| Figure { title: format!("{}, {what}", figure.title), ..figure }).collect()
}

/// Latencies and rates over time of the runs of a path.
pub fn check(path: &PathView) -> Vec<Figure> {
    let named = |run: &RunView| {
        let Workload { pattern, block_size, queue_depth: depth, .. } = &run.measurement.workload;
        let (pattern, size) = (pattern.word(), human::block_size(*block_size));
        format!("{pattern} {}s, {size} × {depth}", run.direction.word())
    };
    let runs: Vec<(String, &RunView)> = path.runs.iter().map(|run| (named(run), run)).collect();
    let of: Vec<(String, &Latency)> =
        runs.iter().map(|(name, run)| (name.clone(), &run.measurement.latency)).collect();
    let mut figures = latencies("latencies", "by direction", &of);
    let courses = runs.iter().map(|(name, run)| {
        let ceiling = path.narrowest(run.direction).map(|(_, rate)| rate);
        of_run(name, &run.measurement.series, ceiling, run.condition.as_ref())
    });
    figures.extend(rates_over_time("rates", &courses.collect::<Vec<_>>()));
    figures
}
