//! The tests of a measurement: their latencies and their rates over time.

use crate::measure::{MeasureReport, TestResult};
use narrows_base::measurement::Latency;
use narrows_report::figure::Figure;
use narrows_report::figure::chart::{latencies, of_run, rates_over_time};

/// The latencies of one direction of a test.
type LatencySide = fn(&TestResult) -> Option<&Latency>;

/// Latencies and rates over time of the tests of a bench.
pub(crate) fn measure(report: &MeasureReport) -> Vec<Figure> {
    let sides: [(&str, LatencySide); 2] = [
        ("reads", |it| it.read.as_ref().map(|side| &side.latency_ns)),
        ("writes", |it| it.write.as_ref().map(|side| &side.latency_ns)),
    ];
    let mut figures = Vec::new();
    for (what, latency) in sides {
        let runs = report.results.iter().filter_map(|it| Some((it.name.clone(), latency(it)?)));
        figures.extend(latencies(&format!("latencies-{what}"), what, &runs.collect::<Vec<_>>()));
    }
    let courses = report.results.iter().map(|result| {
        let ceiling = match (&result.read, &result.write) {
            (Some(_), None) => report.ceilings.read.as_ref(),
            (None, Some(_)) => report.ceilings.write.as_ref(),
            _ => None,
        };
        let condition = result.checks.as_ref().and_then(|checks| checks.condition.as_ref());
        of_run(&result.name, &result.series, ceiling.map(|it| it.bytes_per_second), condition)
    });
    figures.extend(rates_over_time("rates", &courses.collect::<Vec<_>>()));
    figures
}
