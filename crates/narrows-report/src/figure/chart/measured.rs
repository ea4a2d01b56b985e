//! The figures of what was measured on one path: by tests, and by a short measurement.

use super::runs::{Course, percentiles, rates_over_time};
use crate::figure::whole::Figure;
use crate::measure::{MeasureReport, TestResult};
use crate::view::{ConditionView, PathView, RunView};
use narrows_base::units::{BytesPerSec, human};
use narrows_load::measurement::{Latency, Workload};
use narrows_model::ceiling::Direction;

/// Lines of one figure that can be told apart.
const MOST_LINES: usize = 6;

/// The latencies of one direction of a test.
type LatencySide = fn(&TestResult) -> Option<&Latency>;

/// Latencies and rates over time of the tests of a bench.
pub fn measure(report: &MeasureReport) -> Vec<Figure> {
    let sides: [(&str, LatencySide); 2] = [
        ("reads", |it| it.read.as_ref().map(|side| &side.latency_ns)),
        ("writes", |it| it.write.as_ref().map(|side| &side.latency_ns)),
    ];
    let mut figures = Vec::new();
    for (what, latency) in sides {
        let runs = report.results.iter().filter_map(|it| Some((it.name.clone(), latency(it)?)));
        figures.extend(latencies(&format!("latencies-{what}"), what, &runs.collect::<Vec<_>>()));
    }
    let courses: Vec<Course<'_>> = report
        .results
        .iter()
        .map(|result| {
            let ceiling = match (&result.read, &result.write) {
                (Some(_), None) => report.ceilings.read.as_ref().map(|it| it.bytes_per_second),
                (None, Some(_)) => report.ceilings.write.as_ref().map(|it| it.bytes_per_second),
                _ => None,
            };
            let condition = result.checks.as_ref().and_then(|checks| checks.condition.as_ref());
            course(&result.name, &result.series, ceiling, condition)
        })
        .collect();
    figures.extend(rates_over_time("rates", &courses));
    figures
}

/// A run with what links, drives and arrays did meanwhile: of what was not seen in the run itself nobody knows when.
fn course<'a>(
    name: &str,
    series: &'a [BytesPerSec],
    ceiling: Option<BytesPerSec>,
    condition: Option<&ConditionView>,
) -> Course<'a> {
    let events = condition.iter().flat_map(|condition| &condition.events);
    let told =
        condition.iter().flat_map(|condition| condition.troubles().into_iter().chain(condition.in_words()));
    let events = events.map(|event| (event.at_ns.as_secs_f64(), event.what.clone())).collect();
    Course { name: name.to_owned(), series, ceiling, events, told: told.collect() }
}

/// Percentiles of some runs, so many in a figure as can be told apart.
fn latencies(id: &str, what: &str, runs: &[(String, &Latency)]) -> Vec<Figure> {
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
    let courses: Vec<Course<'_>> = runs
        .iter()
        .map(|(name, run)| {
            course(name, &run.measurement.series, ceiling(path, run.direction), run.condition.as_ref())
        })
        .collect();
    figures.extend(rates_over_time("rates", &courses));
    figures
}

/// What the application gets through the narrowest hop at most.
fn ceiling(path: &PathView, direction: Direction) -> Option<BytesPerSec> {
    let hop = path.hop(path.limiting_hop.of(direction)?)?;
    hop.ceiling.of(direction).path_bytes_per_second
}
