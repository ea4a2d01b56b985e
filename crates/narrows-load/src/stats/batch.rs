//! How sure the mean of an autocorrelated series is: batch means.

use super::math::{mean, student_t, variance, window_means};
use narrows_base::units::BytesPerSec;

/// Batches that the samples are divided into. Between 10 and 30 is enough for a valid interval however long the run,
/// and fewer batches are longer and so less correlated (Schmeiser, "Batch size effects in the analysis of simulation
/// output", Operations Research 30(3), 1982).
const BATCHES: usize = 10;
/// Fewer samples than this make batches of one, which would not allow for autocorrelation.
pub(super) const MIN_SAMPLES: usize = 2 * BATCHES;

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

#[cfg(test)]
mod tests {
    use super::super::testing::{autoregressive, rates};
    use super::*;
    use crate::random::Random;
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
}
