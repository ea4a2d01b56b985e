//! The rate in five equal windows of a run, where a log of it was given.

use super::case::Case;
use narrows_paste::results::{Measured, Op, Side};

/// As many as the performance test specification of SNIA looks at (SSS PTS 2.0.1, "steady state").
const WINDOWS: usize = 5;

/// So many devices of one `iostat` are looked at.
pub(super) const DEVICES: usize = 64;

/// The means of five windows of a run, and what tells them: the result itself or its log.
pub(super) fn means(case: &Case<'_>, _: &Measured, _: Op, side: &Side) -> Option<([f64; WINDOWS], String)> {
    let each = side.series.len() / WINDOWS;
    if each < 2 {
        return None;
    }
    let mut means = [0.0; WINDOWS];
    for (mean, window) in means.iter_mut().zip(side.series.chunks_exact(each)) {
        *mean = window.iter().map(|rate| rate.get()).sum::<f64>() / each as f64;
    }
    Some((means, side.series_source.clone().unwrap_or_else(|| case.result.place())))
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
