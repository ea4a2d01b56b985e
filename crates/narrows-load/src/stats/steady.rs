//! Whether a rate held steady: the test of SNIA, and one of the trend.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::math::{mean, slope, student_t, window_means};
use narrows_base::units::BytesPerSec;

/// Windows of the steadiness test, as rounds in the SNIA test.
const WINDOWS: usize = 5;
/// SNIA SSS PTS v2.0.2, 2.1.24 "Steady State": the greatest excursion may be 20 % of the average …
const MAX_RANGE: f64 = 0.20;
/// … and the least-squares line may rise or fall by 10 % of the average over the window.
const MAX_DRIFT: f64 = 0.10;
/// Batches of the trend test: enough for a standard error of the slope, long enough to be nearly independent.
const BATCHES: usize = 10;
/// A trend below this fraction of the mean over the whole run is none, however sure it is: half of what SNIA allows.
const LEAST_TREND: f64 = 0.05;

/// Whether a rate held steady, and how far it did not.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Steadiness {
    /// Whether both criteria hold.
    pub steady: bool,
    /// The fastest window less the slowest, as a fraction of the mean; 0.2 at most when steady.
    pub range: f64,
    /// How much the least-squares line changes from the first window to the last, as a fraction of the mean; negative
    /// when the rate falls; between −0.1 and 0.1 when steady.
    pub slope: f64,
}

impl Steadiness {
    /// Judges the rates of the five rounds of a window; `None` for another number of rounds or a mean of zero.
    fn of_rounds(rounds: &[f64]) -> Option<Self> {
        let mean = mean(rounds);
        if rounds.len() != WINDOWS || mean <= 0.0 {
            return None;
        }
        let most = rounds.iter().copied().fold(f64::MIN, f64::max);
        let least = rounds.iter().copied().fold(f64::MAX, f64::min);
        let range = (most - least) / mean;
        let slope = slope(rounds).0 * (WINDOWS - 1) as f64 / mean;
        Some(Self { steady: range <= MAX_RANGE && slope.abs() <= MAX_DRIFT, range, slope })
    }
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
    Steadiness::of_rounds(&window_means(&plain(series), WINDOWS))
}

/// Applies the SNIA test as it is written, to rounds of a minute each (or what the caller takes for a round): the index of
/// the first round of the first window of five that is steady, with the figures of that window; `None` when none is. The
/// specification gives up after 25 rounds.
pub fn first_steady_window(rounds: &[BytesPerSec]) -> Option<(usize, Steadiness)> {
    let windows = plain(rounds);
    let judged = windows.windows(WINDOWS).map(Steadiness::of_rounds).enumerate();
    judged.into_iter().find_map(|(index, test)| test.filter(|test| test.steady).map(|test| (index, test)))
}

/// Where a rate was heading.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trend {
    /// Whether the rate neither rose nor fell: the interval holds zero, or the change is less than 5 %.
    pub steady: bool,
    /// The change of the least-squares line over the run, as a fraction of the mean; negative when the rate falls.
    pub change: f64,
    /// The 95 % confidence interval of the change.
    pub ci95: [f64; 2],
}

/// Tests whether a rate was rising or falling: the least-squares slope over ten batch means with its standard error
/// (Student's t with 8 degrees of freedom). fio's `steadystate=bw_slope` compares the same slope with a limit, without
/// asking whether it can be told from noise. `None` for fewer than 20 samples, or when nothing was moved at all.
pub fn trend(series: &[BytesPerSec]) -> Option<Trend> {
    if series.len() < 2 * BATCHES {
        return None;
    }
    let means = window_means(&plain(series), BATCHES);
    let mean = mean(&means);
    if mean <= 0.0 {
        return None;
    }
    let (slope, error) = slope(&means);
    let whole = (BATCHES - 1) as f64 / mean;
    let (change, half) = (slope * whole, student_t(0.95, (BATCHES - 2) as f64) * error * whole);
    let ci95 = [change - half, change + half];
    let is_told_from_noise = ci95[0] > 0.0 || ci95[1] < 0.0;
    Some(Trend { steady: !is_told_from_noise || change.abs() < LEAST_TREND, change, ci95 })
}

fn plain(series: &[BytesPerSec]) -> Vec<f64> {
    series.iter().map(|rate| rate.get()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{autoregressive, rates};
    use super::*;
    use crate::random::Random;
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
        assert_eq!(trend(&rates(&[1.0; 19])), None);
        assert_eq!(trend(&rates(&[0.0; 30])), None);
    }

    #[test]
    fn rounds_are_steady_from_the_first_window_that_holds() {
        // An SSD that falls from its fresh state: 1000, 800, 650, 560, 520, 505, 500 … The window of rounds 2 … 6 has the
        // range 150/547 = 27 %; that of rounds 3 … 7 60/517 = 12 % but the slope (2×(500−560) + (500−520))/10 × 4 =
        // −56 / 517 = 10.8 %; that of rounds 4 … 8 20/505 and 4 × (2×(500−520) + (500−505)) / 10 = −18 / 505.
        let rounds = [1000.0, 800.0, 650.0, 560.0, 520.0, 505.0, 500.0, 500.0, 500.0, 500.0];
        let (first, test) = first_steady_window(&rates(&rounds)).unwrap();
        assert_eq!(first, 4);
        assert!((test.range - 20.0 / 505.0).abs() < 1e-12 && (test.slope + 18.0 / 505.0).abs() < 1e-12);
        assert_eq!(first_steady_window(&rates(&rounds[..8])), None);
        assert_eq!(first_steady_window(&[]), None);
    }

    #[test]
    fn a_slow_fall_is_a_trend_and_noise_is_none() {
        let mut random = Random::seeded(3);
        let mut told = 0;
        for _ in 0..200 {
            let noise = autoregressive(&mut random, 200, 0.3, 1000.0, 0.05);
            told += u32::from(!trend(&rates(&noise)).unwrap().steady);
            let falling: Vec<f64> = noise.iter().enumerate().map(|(i, x)| x - i as f64 * 1.5).collect();
            let test = trend(&rates(&falling)).unwrap();
            assert!(!test.steady && test.ci95[0] < test.change && test.change < test.ci95[1], "{test:?}");
        }
        assert!(told <= 10, "{told} of 200 steady series have a trend");
    }

    #[test]
    fn a_sure_but_small_trend_is_steady() {
        let series: Vec<f64> = (0..100).map(|i| 1000.0 + f64::from(i) * 0.4).collect();
        let test = trend(&rates(&series)).unwrap();
        assert!(test.steady && (test.change - 36.0 / 1019.8).abs() < 1e-9 && test.ci95[0] > 0.0, "{test:?}");
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
