//! The points of a sweep, and its curves: everything but depth, or but the number of streams, held fixed.

mod text;

pub(super) use text::{rates, shapes};

use serde::{Deserialize, Serialize};

use super::{MeasureReport, TestResult};
use narrows_base::lists::grouped;
use narrows_base::units::BytesPerSec;
use narrows_load::measurement::Latency;
use narrows_load::preset::{LoadSpec, Parallel};
use narrows_load::stats::sweep::{Point, Shape, shape};

/// A load of a sweep that ran to its end, reads and writes together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SweepPoint<'r> {
    pub load: &'r LoadSpec,
    pub bytes_per_second: BytesPerSec,
    pub ci95: Option<[BytesPerSec; 2]>,
    pub latency: &'r Latency,
    pub trusted: Option<bool>,
}

impl<'r> SweepPoint<'r> {
    /// The point of a test; `None` of one that did not run to its end.
    pub fn of(result: &'r TestResult) -> Option<Self> {
        let load = result.load.as_ref().filter(|_| result.is_whole())?;
        let side = result.whole()?;
        let (bytes_per_second, ci95, latency) = (side.bytes_per_second, side.ci95, &side.latency_ns);
        Some(Self { load, bytes_per_second, ci95, latency, trusted: result.trusted })
    }

    /// Where it lies on its curve, and its rate there.
    pub(crate) fn on_curve(&self) -> Point {
        Point { x: x(self.load), bytes_per_second: self.bytes_per_second, ci95: self.ci95 }
    }
}

impl MeasureReport {
    /// The points of a sweep so far.
    pub fn points(&self) -> Vec<SweepPoint<'_>> {
        self.results.iter().filter_map(SweepPoint::of).collect()
    }
}

/// The names of the tests whose points do not fit between their neighbours, and that were run once.
pub fn odd(results: &[TestResult]) -> Vec<String> {
    let shown = curves(&results.iter().filter_map(SweepPoint::of).collect::<Vec<_>>());
    let is_odd = |load: &LoadSpec| {
        let curve = shown.iter().find(|curve| fixed(&curve.of) == fixed(load));
        curve.is_some_and(|curve| curve.shape.anomalies.iter().any(|odd| odd.x == x(load)))
    };
    let once = results.iter().filter(|result| result.first.is_none());
    let odd = once.filter(|result| result.load.as_ref().is_some_and(is_odd));
    odd.map(|result| result.name.clone()).collect()
}

/// What changes along a curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Along {
    /// I/Os in flight.
    Depth,
    Streams,
}

/// A curve of a sweep, and what it shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Curve {
    /// What changes along it.
    pub along: Along,
    /// Its first load: all others differ from it in what changes alone.
    pub of: LoadSpec,
    /// Knee, plateau, drops and anomalies.
    pub shape: Shape,
}

/// Every curve of three points or more.
pub fn curves(points: &[SweepPoint<'_>]) -> Vec<Curve> {
    let all = grouped(points.iter().map(|point| (fixed(point.load), point)));
    let curve = |(_, points): (LoadSpec, Vec<&SweepPoint<'_>>)| {
        let first = points.first().filter(|_| points.len() >= 3)?;
        let of_curve: Vec<Point> = points.iter().map(|point| point.on_curve()).collect();
        Some(Curve { along: along(first.load), of: first.load.clone(), shape: shape(&of_curve) })
    };
    all.into_iter().filter_map(curve).collect()
}

/// What changes along the curve that a load lies on.
pub(crate) const fn along(load: &LoadSpec) -> Along {
    match load.parallel {
        Parallel::Threads(_) => Along::Depth,
        Parallel::Streams(_) => Along::Streams,
    }
}

/// Where a load lies on its curve.
pub(crate) fn x(load: &LoadSpec) -> f64 {
    match along(load) {
        Along::Depth => f64::from(load.queue_depth),
        Along::Streams => f64::from(load.parallel.count()),
    }
}

/// A load without what changes along its curve.
pub(crate) fn fixed(load: &LoadSpec) -> LoadSpec {
    match along(load) {
        Along::Depth => LoadSpec { queue_depth: 1, ..load.clone() },
        Along::Streams => load.clone().on(Parallel::Streams(1)),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::measure::SideView;
    use narrows_base::units::{Bytes, Iops, Nanos};
    use narrows_load::measurement::Pattern;

    /// A result of so many MB/s.
    pub(in super::super) fn result(load: LoadSpec, mb: f64) -> TestResult {
        let rate = BytesPerSec::from_mb(mb);
        let side = SideView {
            bytes_per_second: rate,
            ci95: Some([rate * 0.99, rate * 1.01]),
            iops: Iops::new(mb),
            latency_ns: Latency::default(),
            of_ceiling: None,
            reason: None,
        };
        let elapsed_ns = Nanos::from_millis(1000);
        let load = Some(load);
        TestResult { load, read: Some(side), elapsed_ns, trusted: Some(true), ..TestResult::default() }
    }

    fn curves_of(results: &[TestResult]) -> Vec<Curve> {
        curves(&results.iter().filter_map(SweepPoint::of).collect::<Vec<_>>())
    }

    fn streams(count: u32) -> LoadSpec {
        LoadSpec::reading(Pattern::Sequential, Bytes::from_kib(128), 1).on(Parallel::Streams(count))
    }

    #[test]
    fn streams_make_a_curve_whose_anomaly_and_drop_are_named() {
        // Shaped like the published series of a file server: rises to 16 streams, one bad point at 64, 10 % less at 1024.
        let rates = [6.0, 12.0, 24.0, 48.0, 90.0, 100.0, 60.0, 100.0, 101.0, 100.0, 89.0];
        let results: Vec<TestResult> =
            rates.iter().enumerate().map(|(power, mb)| result(streams(1 << power), *mb)).collect();
        let curves = curves_of(&results);
        assert_eq!(curves.len(), 1);
        let shape = &curves[0].shape;
        assert_eq!((curves[0].along, shape.knee()), (Along::Streams, Some(32.0)));
        assert_eq!(shape.anomalies.iter().map(|anomaly| anomaly.x).collect::<Vec<_>>(), [64.0]);
        assert_eq!(shape.drops.iter().map(|drop| drop.from).collect::<Vec<_>>(), [1024.0]);
        let named = |result: &TestResult| result.load.as_ref().expect("a load").parallel.count().to_string();
        let mut named: Vec<TestResult> =
            results.iter().map(|result| TestResult { name: named(result), ..result.clone() }).collect();
        assert_eq!(odd(&named), ["64"]);
        named[6].first = Some(BytesPerSec::from_mb(60.0));
        assert_eq!(odd(&named), Vec::<String>::new(), "it was measured once more");
    }

    #[test]
    fn each_block_size_and_mix_has_its_curve() {
        let mut results = Vec::new();
        for percent in [0, 30] {
            for kib in [4, 64] {
                for depth in [1, 4, 16] {
                    let load =
                        LoadSpec::reading(Pattern::Random, Bytes::from_kib(kib), depth).writing(percent);
                    results.push(result(load, f64::from(depth)));
                }
            }
        }
        assert_eq!(curves_of(&results).len(), 4);
        assert!(curves_of(&results[..2]).is_empty(), "two points are no curve");
    }
}
