//! Statistics on the series of a measurement: how sure the mean is, whether the rate held steady and from when on, and when
//! enough was measured (`precision`).
//!
//! Everything here is a pure function of rates. A series has one rate for each [`SAMPLE`] of the measured time, as
//! [`Measurement::series`](crate::measurement::Measurement::series) and `Control::series`
//! hold it.

mod precision;
pub mod sweep;
#[cfg(test)]
mod testing;

pub use precision::{Decision, Outlook, Precision};

use serde::{Deserialize, Serialize};

use crate::units::{BytesPerSec, Nanos};

/// The time that one rate of a series stands for.
pub const SAMPLE: Nanos = Nanos::from_millis(100);

/// Batches that the samples are divided into. Between 10 and 30 is enough for a valid interval however long the run,
/// and fewer batches are longer and so less correlated (Schmeiser, "Batch size effects in the analysis of simulation
/// output", Operations Research 30(3), 1982).
const BATCHES: usize = 10;
/// Fewer samples than this make batches of one, which would not allow for autocorrelation.
const MIN_SAMPLES: usize = 2 * BATCHES;

/// The means of ten batches of neighbours, summed up.
///
/// Neighbouring 100 ms samples resemble each other (caches fill, drives tidy up in the background), so taking them as
/// independent gives an interval that is too narrow. The means of long batches are nearly independent, and their spread
/// with Student's t gives the interval (Law, "Simulation Modeling and Analysis", 5th ed., section 9.5.3).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BatchMeans {
    /// The mean of the means.
    pub mean: BytesPerSec,
    /// The sample variance of the means, in (bytes per second)².
    pub variance: f64,
    /// How many means there are.
    pub batches: usize,
}

impl BatchMeans {
    /// Divides a series into batches. Samples that fill no batch are left out at the beginning. `None` for fewer than 20
    /// samples (2 s).
    pub fn of(series: &[BytesPerSec]) -> Option<Self> {
        if series.len() < MIN_SAMPLES {
            return None;
        }
        let samples: Vec<f64> = series.iter().map(|rate| rate.get()).collect();
        let means = window_means(&samples, BATCHES);
        Some(Self { mean: BytesPerSec::new(mean(&means)), variance: variance(&means), batches: means.len() })
    }

    /// Degrees of freedom of the variance.
    pub fn freedom(&self) -> f64 {
        self.batches.saturating_sub(1).max(1) as f64
    }

    /// The square of the standard error of the mean.
    pub fn squared_error(&self) -> f64 {
        self.variance / self.batches.max(1) as f64
    }

    /// Half the width of the interval that holds the true mean with a probability of `confidence` (0 to 1).
    pub fn half_width(&self, confidence: f64) -> f64 {
        student_t(confidence, self.freedom()) * self.squared_error().sqrt()
    }
}

/// A 95 % confidence interval of the mean rate by [`BatchMeans`]. `None` for fewer than 20 samples (2 s).
pub fn ci95(series: &[BytesPerSec]) -> Option<[BytesPerSec; 2]> {
    let means = BatchMeans::of(series)?;
    let (middle, half) = (means.mean.get(), means.half_width(0.95));
    Some([BytesPerSec::new(middle - half), BytesPerSec::new(middle + half)])
}

/// The arithmetic mean; 0 of nothing.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The sample variance (divided by one less than the count); 0 for fewer than two values.
pub fn variance(values: &[f64]) -> f64 {
    squares(values) / values.len().saturating_sub(1).max(1) as f64
}

/// The sum of the squared distances from the mean.
fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|x| (x - mean).powi(2)).sum()
}

/// The median; 0 of nothing.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let at = |index: usize| sorted.get(index).copied().unwrap_or(0.0);
    if sorted.len() % 2 == 1 { at(middle) } else { (at(middle.wrapping_sub(1)) + at(middle)) / 2.0 }
}

/// The slope of the least-squares line through values at 0, 1, 2 …; 0 for fewer than two values.
fn slope(values: &[f64]) -> f64 {
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let mean = mean(values);
    let offsets = || (0..values.len()).map(|i| i as f64 - middle);
    let products: f64 = values.iter().zip(offsets()).map(|(y, x)| x * (y - mean)).sum();
    let spread: f64 = offsets().map(|x| x * x).sum();
    if spread > 0.0 { products / spread } else { 0.0 }
}

/// The means of `count` equally long windows that end with the values. A remainder is left out at the beginning.
fn window_means(values: &[f64], count: usize) -> Vec<f64> {
    let length = (values.len() / count.max(1)).max(1);
    let skipped = values.len().saturating_sub(length * count);
    values.get(skipped..).unwrap_or_default().chunks_exact(length).map(mean).collect()
}

/// The half width of a two-sided interval in standard errors: the quantile of Student's t distribution that leaves
/// (1 − `confidence`) / 2 above it.
///
/// By the expansion of Abramowitz and Stegun, "Handbook of Mathematical Functions", 26.7.5; within 0.001 of the exact
/// value for a confidence of 95 % from 6 degrees of freedom on, and within 1 % up to 99.9 % from 9 on.
pub fn student_t(confidence: f64, freedom: f64) -> f64 {
    let z = normal_quantile(0.5 + confidence.clamp(0.0, 1.0) / 2.0);
    let z2 = z * z;
    let g1 = z * (z2 + 1.0) / 4.0;
    let g2 = z * ((5.0 * z2 + 16.0) * z2 + 3.0) / 96.0;
    let g3 = z * (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / 384.0;
    let g4 = z * ((((79.0 * z2 + 776.0) * z2 + 1482.0) * z2 - 1920.0) * z2 - 945.0) / 92_160.0;
    z + (g1 + (g2 + (g3 + g4 / freedom) / freedom) / freedom) / freedom
}

/// The quantile of the normal distribution for `p` from 0.5 on, to a relative error of 1.2 × 10⁻⁹: the rational
/// approximations of P. J. Acklam, "An algorithm for computing the inverse normal cumulative distribution function"
/// (2003). Infinite at 1.
fn normal_quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969683028665376e1,
        2.209460984245205e2,
        -2.759285104469687e2,
        1.38357751867269e2,
        -3.066479806614716e1,
        2.506628277459239,
    ];
    const B: [f64; 6] = [
        -5.447609879822406e1,
        1.615858368580409e2,
        -1.556989798598866e2,
        6.680131188771972e1,
        -1.328068155288572e1,
        1.0,
    ];
    const C: [f64; 6] = [
        -7.784894002430293e-3,
        -3.223964580411365e-1,
        -2.400758277161838,
        -2.549732539343734,
        4.374664141464968,
        2.938163982698783,
    ];
    const D: [f64; 5] =
        [7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416, 1.0];
    /// Where the approximation of the middle gives way to that of the tail.
    const TAIL: f64 = 0.97575;
    let polynomial = |coefficients: &[f64], x: f64| coefficients.iter().fold(0.0, |sum, c| sum * x + c);
    if p >= 1.0 {
        return f64::INFINITY;
    }
    if p > TAIL {
        let q = (-2.0 * libm::log(1.0 - p)).sqrt();
        return -polynomial(&C, q) / polynomial(&D, q);
    }
    let q = p - 0.5;
    let r = q * q;
    q * polynomial(&A, r) / polynomial(&B, r)
}

/// Windows of the steadiness test, as rounds in the SNIA test.
pub const WINDOWS: usize = 5;
/// SNIA SSS PTS v2.0.2, 2.1.24 "Steady State": the greatest excursion may be 20 % of the average …
pub const MAX_RANGE: f64 = 0.20;
/// … and the least-squares line may rise or fall by 10 % of the average over the window.
pub const MAX_DRIFT: f64 = 0.10;

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
    Steadiness::of(&windows(series)?)
}

/// The means of equal windows of a series, in bytes per second. Samples that fill no window are left out at the beginning. `None`
/// for fewer samples than windows.
pub fn windows(series: &[BytesPerSec]) -> Option<[f64; WINDOWS]> {
    let rates: Vec<f64> = series.iter().map(|rate| rate.get()).collect();
    window_means(&rates, WINDOWS).try_into().ok()
}

impl Steadiness {
    /// The same test of the means of windows; `None` when nothing was moved at all.
    pub fn of(windows: &[f64; WINDOWS]) -> Option<Self> {
        let mean = mean(windows);
        if mean <= 0.0 {
            return None;
        }
        let most = windows.iter().copied().fold(f64::MIN, f64::max);
        let least = windows.iter().copied().fold(f64::MAX, f64::min);
        let range = (most - least) / mean;
        let slope = slope(windows) * (WINDOWS - 1) as f64 / mean;
        Some(Self { steady: range <= MAX_RANGE && slope.abs() <= MAX_DRIFT, range, slope })
    }
}

/// Samples in each batch of the rule.
const BATCH: usize = 5;
/// Fewer batches than this say nothing of a beginning that differs.
const MIN_BATCHES: usize = 4;

/// The beginning of a series that is not like the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WarmUp {
    /// Samples to leave out.
    pub samples: usize,
    /// Whether the rest is likely steady. `false` when the best cut lies at the limit of half of the series: the series is
    /// too short, or not steady at all.
    pub is_over: bool,
}

/// Finds the warm-up of a series by MSER-5 (White, Cobb and Spratt, "A comparison of five steady-state truncation
/// heuristics for simulation", Winter Simulation Conference 2000): samples are averaged in batches of five, and as many
/// batches are left out as make the squared standard error of the mean of the rest least. At most half of the series is
/// left out; a cut there means that the run was too short to tell (Hoad, Robinson and Davies, "Automating warm-up length
/// estimation", Journal of the Operational Research Society 61, 2010). `None` for fewer than 20 samples.
pub fn warm_up(series: &[BytesPerSec]) -> Option<WarmUp> {
    let samples: Vec<f64> = series.iter().map(|rate| rate.get()).collect();
    let batches: Vec<f64> = samples.chunks_exact(BATCH).map(mean).collect();
    if batches.len() < MIN_BATCHES {
        return None;
    }
    let most = batches.len() / 2;
    // Mean and squares of the last batches, one batch more at a time (Welford), from the end to the first possible cut.
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    let (mut cut, mut least) = (0, f64::INFINITY);
    for (index, batch) in batches.iter().enumerate().rev() {
        count += 1.0;
        let apart = batch - mean;
        mean += apart / count;
        squares += apart * (batch - mean);
        let error = squares / (count * count);
        // From the end towards the beginning: of equal errors the smaller cut counts.
        if index <= most && error <= least {
            (cut, least) = (index, error);
        }
    }
    Some(WarmUp { samples: cut * BATCH, is_over: cut < most })
}

#[cfg(test)]
mod tests {
    use super::testing::{Random, autoregressive, rates};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_interval_of_a_worked_example() {
        // 20 samples in 10 batches with the means 95, 105, 95, 105 …: mean 100, standard deviation 5.2705 (variance
        // 250/9), half width 2.262 × 5.2705 / √10 = 3.770.
        let series: Vec<f64> = (0..20).map(|i| if i / 2 % 2 == 0 { 95.0 } else { 105.0 }).collect();
        let [low, high] = ci95(&rates(&series)).unwrap();
        assert!((low.get() - 96.230).abs() < 0.002, "{low:?}");
        assert!((high.get() - 103.770).abs() < 0.002, "{high:?}");
        assert_eq!(ci95(&rates(&series[1..])), None);
    }

    /// How many of 1000 intervals hold the true mean of 1000.
    fn hits(interval: impl Fn(&[f64], &mut Random) -> [f64; 2], phi: f64, count: usize) -> u32 {
        let (mut series, mut resampling) = (Random::seeded(11), Random::seeded(12));
        (0..1000)
            .map(|_| {
                let samples = autoregressive(&mut series, count, phi, 1000.0, 0.02);
                let [low, high] = interval(&samples, &mut resampling);
                u32::from(low <= 1000.0 && 1000.0 <= high)
            })
            .sum()
    }

    #[test]
    fn the_interval_allows_for_autocorrelation() {
        // 100 samples (10 s) with coefficient 0.6. The interval must hold the true mean in about 95 % of runs; one that
        // takes the samples as independent holds it in about 67 %.
        let by_batches =
            |samples: &[f64], _: &mut Random| ci95(&rates(samples)).unwrap().map(BytesPerSec::get);
        let naive = |samples: &[f64], _: &mut Random| {
            let half = 1.984 * (variance(samples) / samples.len() as f64).sqrt();
            [mean(samples) - half, mean(samples) + half]
        };
        let (batches, independent) = (hits(by_batches, 0.6, 100), hits(naive, 0.6, 100));
        assert!((900..=975).contains(&batches), "{batches} of 1000 intervals hold the mean");
        assert!(independent < 750, "{independent}: the series is not autocorrelated enough to test anything");
    }

    /// A second way to the same interval: the circular block bootstrap (Politis and Romano, "A circular block-resampling
    /// procedure for stationary data", 1992), percentiles of the means of resampled series.
    fn block_bootstrap(samples: &[f64], random: &mut Random) -> [f64; 2] {
        const RESAMPLES: usize = 200;
        let (count, block) = (samples.len(), samples.len() / 10);
        let mut means: Vec<f64> = (0..RESAMPLES)
            .map(|_| {
                let sum: f64 = (0..count / block)
                    .map(|_| random.below(count as u64) as usize)
                    .flat_map(|start| (0..block).map(move |i| (start + i) % count))
                    .map(|index| samples[index])
                    .sum();
                sum / (count / block * block) as f64
            })
            .collect();
        means.sort_unstable_by(f64::total_cmp);
        [means[RESAMPLES / 40], means[RESAMPLES - 1 - RESAMPLES / 40]]
    }

    #[test]
    fn a_block_bootstrap_finds_intervals_like_those_of_batch_means() {
        let mut random = Random::seeded(5);
        let mut ratios: Vec<f64> = (0..100)
            .map(|_| {
                let samples = autoregressive(&mut random, 400, 0.6, 1000.0, 0.02);
                let [low, high] = block_bootstrap(&samples, &mut random);
                (high - low) / 2.0 / BatchMeans::of(&rates(&samples)).unwrap().half_width(0.95)
            })
            .collect();
        ratios.sort_unstable_by(f64::total_cmp);
        // The bootstrap has no factor of t for few blocks and is narrower by about 1.96 / 2.262 = 0.87.
        assert!((0.75..1.05).contains(&ratios[50]), "median ratio {}", ratios[50]);
    }

    proptest! {
        #[test]
        fn the_interval_surrounds_the_mean_and_scales_with_the_rates(
            values in prop::collection::vec(1.0f64..1e9, 20..300), factor in 0.5f64..1000.0,
        ) {
            let means = BatchMeans::of(&rates(&values)).unwrap();
            let scaled: Vec<f64> = values.iter().map(|value| value * factor).collect();
            let scaled = BatchMeans::of(&rates(&scaled)).unwrap();
            prop_assert!(means.half_width(0.95) >= 0.0);
            prop_assert!((scaled.mean.get() / (means.mean.get() * factor) - 1.0).abs() < 1e-9);
            prop_assert!((scaled.half_width(0.95) - means.half_width(0.95) * factor).abs()
                         <= 1e-6 * scaled.mean.get());
        }
    }

    #[test]
    fn quantiles_of_t_are_those_of_the_table() {
        // NIST/SEMATECH e-Handbook of Statistical Methods, table 1.3.6.7.2, upper critical values for 0.975.
        for (freedom, want) in
            [(6.0, 2.447), (9.0, 2.262), (10.0, 2.228), (19.0, 2.093), (29.0, 2.045), (100.0, 1.984)]
        {
            let got = student_t(0.95, freedom);
            assert!((got - want).abs() < 0.001, "{freedom}: {got}");
        }
        // The same table for 0.9, 0.995 and 0.999.
        for (confidence, freedom, want) in
            [(0.8, 9.0, 1.383), (0.99, 9.0, 3.250), (0.998, 9.0, 4.297), (0.998, 18.0, 3.610)]
        {
            let got = student_t(confidence, freedom);
            assert!((got / want - 1.0).abs() < 0.01, "{confidence} {freedom}: {got}");
        }
    }

    #[test]
    fn quantiles_of_the_normal_distribution_are_known() {
        // NIST/SEMATECH e-Handbook, 1.3.6.7.1, and 6 sigma = 1 − 9.865876e-10.
        for (p, want) in [(0.5, 0.0), (0.841_344_746, 1.0), (0.975, 1.959_963_985), (0.999, 3.090_232_306)] {
            assert!((normal_quantile(p) - want).abs() < 1e-6, "{p}: {}", normal_quantile(p));
        }
        assert!((normal_quantile(1.0 - 9.865_876e-10) - 6.0).abs() < 1e-6);
        assert_eq!(student_t(1.0, 9.0), f64::INFINITY);
    }

    #[test]
    fn a_line_with_known_errors() {
        assert!((slope(&[1.0, 3.0, 2.0, 4.0]) - 0.8).abs() < 1e-12);
        assert_eq!(slope(&[5.0]), 0.0);
    }

    #[test]
    fn the_median_of_an_even_count_lies_between() {
        assert_eq!(median(&[4.0, 1.0, 3.0]), 3.0);
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(median(&[]), 0.0);
    }

    proptest! {
        #[test]
        fn more_confidence_is_a_wider_interval(freedom in 6.0f64..1000.0, p in 0.5f64..0.998, more in 1e-4f64..1e-3) {
            prop_assert!(student_t(p + more, freedom) > student_t(p, freedom));
            prop_assert!(student_t(p, freedom) > student_t(p, freedom * 2.0));
        }
    }

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
    fn the_windows_of_a_square_wave_fail_both_limits() {
        // By hand: mean 215.08, range 76.7 / 215.08 = 35.7 %, slope −10.92 a window, × 4 = 43.7 = 20.3 %.
        let wave = Steadiness::of(&[245.8, 201.8, 212.9, 245.8, 169.1]).unwrap();
        assert!((wave.range - 0.357).abs() < 5e-4 && (wave.slope + 0.203).abs() < 5e-4, "{wave:?}");
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

    #[test]
    fn a_constant_rate_has_no_warm_up() {
        assert_eq!(warm_up(&rates(&[100.0; 40])), Some(WarmUp { samples: 0, is_over: true }));
        assert_eq!(warm_up(&rates(&[100.0; 19])), None);
    }

    #[test]
    fn a_slow_start_is_cut_off_where_it_ends() {
        // 2 s at 300 MB/s, then 500 MB/s with noise of 2 %.
        let mut random = Random::seeded(8);
        let mut over = 0;
        for _ in 0..100 {
            let rest = autoregressive(&mut random, 100, 0.4, 500.0, 0.02);
            let series = [[300.0; 20].as_slice(), &rest].concat();
            let found = warm_up(&rates(&series)).unwrap();
            assert!((20..=60).contains(&found.samples), "{found:?}");
            over += u32::from(found.is_over);
        }
        assert!(over >= 95, "only {over} of 100 were seen to have an end");
    }

    #[test]
    fn an_exponential_rise_is_cut_off_when_it_is_within_the_noise() {
        // Time constant 1 s: after 4 s the rate is 2 % below its end, which is the noise.
        let mut random = Random::seeded(4);
        let series: Vec<f64> = autoregressive(&mut random, 200, 0.2, 1000.0, 0.02)
            .iter()
            .enumerate()
            .map(|(i, x)| x * (1.0 - (-(i as f64) / 10.0).exp()))
            .collect();
        let found = warm_up(&rates(&series)).unwrap();
        assert!(found.is_over && (20..=60).contains(&found.samples), "{found:?}");
    }

    #[test]
    fn a_rate_that_keeps_rising_is_never_over() {
        let series: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(warm_up(&rates(&series)), Some(WarmUp { samples: 50, is_over: false }));
    }
}
