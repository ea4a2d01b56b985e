//! Statistics on the series of a measurement: how sure the mean is, and whether the rate held steady.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::BytesPerSec;

/// Batches that the samples are divided into. Between 10 and 30 is enough for a valid interval however long the run,
/// and fewer batches are longer and so less correlated (Schmeiser, "Batch size effects in the analysis of simulation
/// output", Operations Research 30(3), 1982).
const BATCHES: usize = 10;
/// Fewer samples than this make batches of one, which would not allow for autocorrelation.
const MIN_SAMPLES: usize = 2 * BATCHES;
/// Windows of the steadiness test, as rounds in the SNIA test.
const WINDOWS: usize = 5;
/// SNIA SSS PTS v2.0.2, 2.1.24 "Steady State": the greatest excursion may be 20 % of the average …
const MAX_RANGE: f64 = 0.20;
/// … and the least-squares line may rise or fall by 10 % of the average over the window.
const MAX_DRIFT: f64 = 0.10;

/// A 95 % confidence interval of the mean rate by batch means.
///
/// Neighbouring 100 ms samples resemble each other (caches fill, drives tidy up in the background), so taking them as
/// independent gives an interval that is too narrow. Ten batches of neighbours are averaged; the means of long batches
/// are nearly independent, and their spread with Student's t for 9 degrees of freedom gives the interval (Law,
/// "Simulation Modeling and Analysis", 5th ed., section 9.5.3). Samples that fill no batch are left out at the
/// beginning. `None` for fewer than 20 samples (2 s).
pub fn ci95(series: &[BytesPerSec]) -> Option<[BytesPerSec; 2]> {
    if series.len() < MIN_SAMPLES {
        return None;
    }
    let means = window_means(series, BATCHES);
    let mean = mean(&means);
    let freedom = (BATCHES - 1) as f64;
    let variance = means.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / freedom;
    let half = student_t_975(freedom) * (variance / BATCHES as f64).sqrt();
    Some([BytesPerSec::new(mean - half), BytesPerSec::new(mean + half)])
}

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

/// Applies the steady-state test of the SNIA Solid State Storage Performance Test Specification to five equal windows of
/// a run: the means of the windows differ by at most 20 % of their average, and the slope of the least-squares line over
/// them, times the four steps between them, is at most 10 % of it. (SNIA's rounds last a minute; a run this short can
/// only be tested against itself.) Samples that fill no window are left out at the beginning. `None` for fewer than five
/// samples, or when nothing was read at all.
pub fn steadiness(series: &[BytesPerSec]) -> Option<Steadiness> {
    if series.len() < WINDOWS {
        return None;
    }
    let means = window_means(series, WINDOWS);
    let mean = mean(&means);
    if mean <= 0.0 {
        return None;
    }
    let most = means.iter().copied().fold(f64::MIN, f64::max);
    let least = means.iter().copied().fold(f64::MAX, f64::min);
    let range = (most - least) / mean;
    let slope = slope(&means) * (WINDOWS - 1) as f64 / mean;
    Some(Steadiness { steady: range <= MAX_RANGE && slope.abs() <= MAX_DRIFT, range, slope })
}

/// The means of `count` equally long windows that end with the series.
fn window_means(series: &[BytesPerSec], count: usize) -> Vec<f64> {
    let length = (series.len() / count).max(1);
    let skipped = series.len().saturating_sub(length * count);
    let rates: Vec<f64> = series.iter().skip(skipped).map(|rate| rate.get()).collect();
    rates.chunks_exact(length).map(mean).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The slope of the least-squares line through values at 0, 1, 2 …
fn slope(values: &[f64]) -> f64 {
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let mean = mean(values);
    let offsets = (0..values.len()).map(|i| i as f64 - middle);
    let (products, squares) = values
        .iter()
        .zip(offsets)
        .fold((0.0, 0.0), |(products, squares), (y, x)| (products + x * (y - mean), squares + x * x));
    if squares > 0.0 { products / squares } else { 0.0 }
}

/// The 97.5 % quantile of Student's t distribution by the expansion of Abramowitz and Stegun, "Handbook of Mathematical
/// Functions", 26.7.5; within 0.001 of the exact value from 6 degrees of freedom on.
fn student_t_975(freedom: f64) -> f64 {
    /// The 97.5 % quantile of the normal distribution.
    const Z: f64 = 1.959_963_984_540_054;
    let z2 = Z * Z;
    let g1 = Z * (z2 + 1.0) / 4.0;
    let g2 = Z * ((5.0 * z2 + 16.0) * z2 + 3.0) / 96.0;
    let g3 = Z * (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / 384.0;
    let g4 = Z * ((((79.0 * z2 + 776.0) * z2 + 1482.0) * z2 - 1920.0) * z2 - 945.0) / 92_160.0;
    Z + (g1 + (g2 + (g3 + g4 / freedom) / freedom) / freedom) / freedom
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::random::Random;

    fn rates(values: &[f64]) -> Vec<BytesPerSec> {
        values.iter().map(|value| BytesPerSec::new(*value)).collect()
    }

    /// A number that is nearly normal with mean 0 and variance 1: the sum of twelve uniform ones less six.
    fn normal(random: &mut Random) -> f64 {
        (0..12).map(|_| random.next() as f64 / u64::MAX as f64).sum::<f64>() - 6.0
    }

    #[test]
    fn quantiles_of_t_are_those_of_the_table() {
        // NIST/SEMATECH e-Handbook of Statistical Methods, table 1.3.6.7.2, upper critical values for 0.975.
        for (freedom, want) in
            [(6.0, 2.447), (9.0, 2.262), (10.0, 2.228), (19.0, 2.093), (29.0, 2.045), (100.0, 1.984)]
        {
            let got = student_t_975(freedom);
            assert!((got - want).abs() < 0.001, "{freedom}: {got}");
        }
    }

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

    #[test]
    fn the_interval_allows_for_autocorrelation() {
        // First-order autoregressive noise with coefficient 0.6 around 1000, 100 samples (10 s). The interval must hold
        // the true mean in about 95 % of runs; one that takes the samples as independent holds it in about 67 %.
        let mut random = Random::seeded(11);
        let (mut hits, mut naive_hits) = (0, 0);
        for _ in 0..1000 {
            let mut noise = normal(&mut random) * 1.25;
            let series: Vec<f64> = (0..100)
                .map(|_| {
                    noise = 0.6 * noise + normal(&mut random);
                    1000.0 + 10.0 * noise
                })
                .collect();
            let [low, high] = ci95(&rates(&series)).unwrap();
            hits += u32::from(low.get() <= 1000.0 && 1000.0 <= high.get());
            let m = mean(&series);
            let deviation = (series.iter().map(|x| (x - m).powi(2)).sum::<f64>() / 99.0).sqrt();
            naive_hits += u32::from((m - 1000.0).abs() <= 1.984 * deviation / 10.0);
        }
        assert!((900..=975).contains(&hits), "{hits} of 1000 intervals hold the mean");
        assert!(naive_hits < 750, "{naive_hits}: the series is not autocorrelated enough to test anything");
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
    fn a_remainder_is_left_out_at_the_beginning() {
        let series = [[1.0; 4].as_slice(), &[100.0; 25]].concat();
        assert!(steadiness(&rates(&series)).unwrap().steady);
    }

    #[test]
    fn too_little_or_nothing_read_is_not_judged() {
        assert_eq!(steadiness(&rates(&[1.0; 4])), None);
        assert_eq!(steadiness(&rates(&[0.0; 10])), None);
    }
}
