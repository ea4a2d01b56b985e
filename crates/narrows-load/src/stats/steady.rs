//! Whether a rate held steady: the test of SNIA.

use serde::{Deserialize, Serialize};

use super::math::{mean, slope, window_means};
use narrows_base::units::BytesPerSec;

/// Windows of the steadiness test, as rounds in the SNIA test.
const WINDOWS: usize = 5;
/// SNIA SSS PTS v2.0.2, 2.1.24 "Steady State": the greatest excursion may be 20 % of the average …
const MAX_RANGE: f64 = 0.20;
/// … and the least-squares line may rise or fall by 10 % of the average over the window.
const MAX_DRIFT: f64 = 0.10;

/// Whether a rate held steady, and how far it did not.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Steadiness {
    /// Whether both criteria hold.
    pub steady: bool,
    /// The fastest window less the slowest, as a fraction of the mean; 0.2 at most when steady.
    pub range: f64,
    /// How much the least-squares line changes from the first window to the last, as a fraction of the mean; negative
    /// when the rate falls; between −0.1 and 0.1 when steady.
    pub slope: f64,
}

/// Applies the steady-state test of the SNIA Solid State Storage Performance Test Specification to five equal windows of
/// a run: the means of the windows differ by at most 20 % of their average, and the slope of the least-squares line over
/// them, times the four steps between them, is at most 10 % of it. (SNIA's rounds last a minute; a run this short can
/// only be tested against itself.) Samples that fill no window are left out at the beginning. `None` for fewer than five
/// samples, or when nothing was moved at all.
pub fn steadiness(series: &[BytesPerSec]) -> Option<Steadiness> {
    if series.len() < WINDOWS {
        return None;
    }
    let rates: Vec<f64> = series.iter().map(|rate| rate.get()).collect();
    let windows = window_means(&rates, WINDOWS);
    let mean = mean(&windows);
    if mean <= 0.0 {
        return None;
    }
    let most = windows.iter().copied().fold(f64::MIN, f64::max);
    let least = windows.iter().copied().fold(f64::MAX, f64::min);
    let range = (most - least) / mean;
    let slope = slope(&windows) * (WINDOWS - 1) as f64 / mean;
    Some(Steadiness { steady: range <= MAX_RANGE && slope.abs() <= MAX_DRIFT, range, slope })
}

#[cfg(test)]
mod tests {
    use super::super::testing::rates;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_flat_rate_is_steady_and_the_criteria_are_those_of_snia() {
        let flat = steadiness(&rates(&[100.0; 50])).unwrap();
        assert_eq!(flat, Steadiness { steady: true, range: 0.0, slope: 0.0 });
        // Means 91, 109, 100, 91, 109: range 18 %, slope (−2×91 − 109 + 91 + 2×109)/10 = 1.8 for each step, 7.2 % in all.
        let wavy = steadiness(&rates(&[91.0, 109.0, 100.0, 91.0, 109.0])).unwrap();
        assert!(wavy.steady && (wavy.range - 0.18).abs() < 1e-12 && (wavy.slope - 0.072).abs() < 1e-12);
        // 90 … 110: the range is just allowed, the drift of 20 % is not.
        let rising = steadiness(&rates(&[90.0, 95.0, 100.0, 105.0, 110.0])).unwrap();
        assert!(!rising.steady && rising.range <= 0.2 + 1e-12 && (rising.slope - 0.2).abs() < 1e-12);
        // A dip in the middle drifts nowhere but excurses by 30 / 94.
        let dip = steadiness(&rates(&[100.0, 100.0, 70.0, 100.0, 100.0])).unwrap();
        assert!(!dip.steady && dip.slope.abs() < 1e-12 && (dip.range - 30.0 / 94.0).abs() < 1e-12);
    }

    #[test]
    fn a_remainder_is_left_out_at_the_beginning() {
        let series = [[1.0; 4].as_slice(), &[100.0; 25]].concat();
        assert!(steadiness(&rates(&series)).unwrap().steady);
    }

    #[test]
    fn too_little_or_nothing_moved_is_not_judged() {
        assert_eq!(steadiness(&rates(&[1.0; 4])), None);
        assert_eq!(steadiness(&rates(&[0.0; 10])), None);
    }

    proptest! {
        #[test]
        fn a_test_does_not_depend_on_the_unit(
            values in prop::collection::vec(1.0f64..1e6, 20..100), factor in 1.0f64..1e6,
        ) {
            let scaled: Vec<f64> = values.iter().map(|value| value * factor).collect();
            let (one, other) = (steadiness(&rates(&values)).unwrap(), steadiness(&rates(&scaled)).unwrap());
            prop_assert!((one.range - other.range).abs() < 1e-9 && (one.slope - other.slope).abs() < 1e-9);
        }
    }
}
