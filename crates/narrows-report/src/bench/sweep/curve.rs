//! The points of a sweep as curves: everything but depth, or but the number of streams, held fixed.

use serde::{Deserialize, Serialize};

use super::SweepPoint;
use narrows_load::preset::{LoadSpec, Parallel};
use narrows_load::stats::sweep::{Point, Shape, shape};

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
pub fn curves(points: &[SweepPoint]) -> Vec<Curve> {
    let mut firsts: Vec<&SweepPoint> = Vec::new();
    for point in points {
        if !firsts.iter().any(|first| fixed(&first.load) == fixed(&point.load)) {
            firsts.push(point);
        }
    }
    firsts
        .into_iter()
        .filter_map(|first| {
            let along = along(&first.load);
            let of_curve: Vec<Point> = points
                .iter()
                .filter(|point| fixed(&point.load) == fixed(&first.load))
                .map(|point| Point {
                    x: x(&point.load),
                    bytes_per_second: point.bytes_per_second,
                    ci95: point.ci95,
                })
                .collect();
            (of_curve.len() >= 3).then(|| Curve { along, of: first.load.clone(), shape: shape(&of_curve) })
        })
        .collect()
}

/// What changes along the curve that a load lies on.
const fn along(load: &LoadSpec) -> Along {
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
    use narrows_base::units::{Bytes, BytesPerSec, Iops};
    use narrows_load::measurement::{Latency, Pattern};

    /// A point of so many MB/s.
    pub(in super::super) fn point(load: LoadSpec, mb: f64) -> SweepPoint {
        let rate = BytesPerSec::from_mb(mb);
        SweepPoint {
            load,
            bytes_per_second: rate,
            ci95: Some([rate * 0.99, rate * 1.01]),
            iops: Iops::new(mb),
            latency_ns: Latency::default(),
            trusted: Some(true),
            errors: 0,
            ended: String::new(),
            allowance: None,
            checks: None,
            reason: None,
        }
    }

    fn streams(count: u32) -> LoadSpec {
        LoadSpec::reading(Pattern::Sequential, Bytes::from_kib(128), 1).on(Parallel::Streams(count))
    }

    #[test]
    fn streams_make_a_curve_whose_anomaly_and_drop_are_named() {
        // Shaped like the published series of a file server: rises to 16 streams, one bad point at 64, 10 % less at 1024.
        let rates = [6.0, 12.0, 24.0, 48.0, 90.0, 100.0, 60.0, 100.0, 101.0, 100.0, 89.0];
        let points: Vec<SweepPoint> =
            rates.iter().enumerate().map(|(power, mb)| point(streams(1 << power), *mb)).collect();
        let curves = curves(&points);
        assert_eq!(curves.len(), 1);
        let shape = &curves[0].shape;
        assert_eq!((curves[0].along, shape.knee()), (Along::Streams, Some(32.0)));
        assert_eq!(shape.anomalies.iter().map(|anomaly| anomaly.x).collect::<Vec<_>>(), [64.0]);
        assert_eq!(shape.drops.iter().map(|drop| drop.from).collect::<Vec<_>>(), [1024.0]);
    }

    #[test]
    fn each_block_size_and_mix_has_its_curve() {
        let mut points = Vec::new();
        for percent in [0, 30] {
            for kib in [4, 64] {
                for depth in [1, 4, 16] {
                    let load =
                        LoadSpec::reading(Pattern::Random, Bytes::from_kib(kib), depth).writing(percent);
                    points.push(point(load, f64::from(depth)));
                }
            }
        }
        assert_eq!(curves(&points).len(), 4);
        assert!(curves(&points[..2]).is_empty(), "two points are no curve");
    }
}
