//! The rate in five equal windows of a run, where a log of it was given.

use super::case::Case;
use crate::results::{Measured, Op, Side, Tool};
use crate::units::BytesPerSec;

/// As many as the performance test specification of SNIA looks at (SSS PTS 2.0.1, "steady state").
const WINDOWS: usize = 5;

/// The log that belongs to a measurement: of the same direction, and as long.
pub(super) fn means(case: &Case<'_>, _: &Measured, op: Op, side: &Side) -> Option<([f64; WINDOWS], String)> {
    if let Some(means) = of_series(side) {
        return Some((means, case.result.place()));
    }
    if case.result.tool != Tool::Fio {
        return None;
    }
    let elapsed = side.elapsed_ns?.as_secs_f64();
    case.around.logs.iter().find_map(|log| {
        let points = match op {
            Op::Read => &log.read,
            Op::Write => &log.write,
        };
        let end = points.last()?.0;
        let is_own = points.len() >= 2 * WINDOWS && (end / elapsed - 1.0).abs() < 0.2;
        is_own.then(|| of(points, end)).flatten().map(|means| (means, log.name.clone()))
    })
}

/// The windows of a series that the result itself holds.
fn of_series(side: &Side) -> Option<[f64; WINDOWS]> {
    let each = side.series.len() / WINDOWS;
    if each < 2 {
        return None;
    }
    let mut means = [0.0; WINDOWS];
    for (mean, window) in means.iter_mut().zip(side.series.chunks_exact(each)) {
        *mean = window.iter().map(|rate| rate.get()).sum::<f64>() / each as f64;
    }
    Some(means)
}

fn of(points: &[(f64, BytesPerSec)], end: f64) -> Option<[f64; WINDOWS]> {
    let mut sums = [(0.0, 0u32); WINDOWS];
    for (at, rate) in points {
        let window = (at / end * WINDOWS as f64 - 1e-9).max(0.0) as usize;
        if let Some((sum, count)) = sums.get_mut(window.min(WINDOWS - 1)) {
            *sum += rate.get();
            *count += 1;
        }
    }
    let mut means = [0.0; WINDOWS];
    for (mean, (sum, count)) in means.iter_mut().zip(sums) {
        if count == 0 {
            return None;
        }
        *mean = sum / f64::from(count);
    }
    Some(means)
}

/// Range and slope of SNIA's steady state, as fractions of the mean: steady when at most 0.2 and 0.1.
pub(super) fn range_and_slope(means: &[f64; WINDOWS]) -> Option<(f64, f64)> {
    let count = means.len() as f64;
    let mean = means.iter().sum::<f64>() / count;
    if mean <= 0.0 {
        return None;
    }
    let most = means.iter().copied().fold(f64::MIN, f64::max);
    let least = means.iter().copied().fold(f64::MAX, f64::min);
    let middle = (count - 1.0) / 2.0;
    let places = || (0..means.len()).map(|place| place as f64 - middle);
    let slope = places().zip(means).map(|(x, y)| x * y).sum::<f64>() / places().map(|x| x * x).sum::<f64>();
    Some(((most - least) / mean, (slope * (count - 1.0)).abs() / mean))
}

/// Whether the last window is clearly below the ones before it.
pub(super) fn is_still_falling(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> bool {
    means(case, measured, op, side).is_some_and(|([first, second, third, fourth, last], _)| {
        last < 0.85 * ((first + second + third + fourth) / 4.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_windows_of_a_square_wave_fail_both_limits() {
        // By hand: mean 215.08, range 76.7 / 215.08 = 35.7 %, slope −10.92 a window, × 4 = 43.7 = 20.3 %.
        let (range, slope) = range_and_slope(&[245.8, 201.8, 212.9, 245.8, 169.1]).expect("a mean");
        assert!((range - 0.357).abs() < 5e-4 && (slope - 0.203).abs() < 5e-4, "{range} {slope}");
    }
}
