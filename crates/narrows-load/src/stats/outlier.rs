//! Samples that stand out from the rest.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::math::{mean, median};
use narrows_base::units::{BytesPerSec, Nanos};

/// A modified z-score beyond this is an outlier (Iglewicz and Hoaglin, "How to Detect and Handle Outliers", ASQC 1993,
/// chapter 3).
const THRESHOLD: f64 = 3.5;
/// The same source: the 75 % quantile of the normal distribution, which makes the median deviation comparable with a
/// standard deviation.
const OF_MEDIAN_DEVIATION: f64 = 0.6745;
/// For a median deviation of zero (more than half of the samples are the same) the mean deviation stands in, with
/// √(2/π) (IBM SPSS Statistics, "Modified z score").
const OF_MEAN_DEVIATION: f64 = 0.7979;
/// A sample that is nearer to the median than this fraction of it never is an outlier, however alike the others are.
const LEAST: f64 = 0.05;

/// A sample that stands out.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outlier {
    /// When it began, since the measured time began.
    pub at_ns: Nanos,
    /// Its rate.
    pub bytes_per_second: BytesPerSec,
    /// Its modified z-score: how many standard deviations it would be from the median of a normal distribution; negative
    /// when it is slower.
    pub score: f64,
}

/// Names the samples whose modified z-score, 0.6745 × (x − median) / median deviation, is beyond ±3.5, and that are 5 %
/// or more away from the median. Nothing for fewer than five samples.
pub fn outliers(series: &[BytesPerSec]) -> Vec<Outlier> {
    let samples: Vec<f64> = series.iter().map(|rate| rate.get()).collect();
    let middle = median(&samples);
    let deviations: Vec<f64> = samples.iter().map(|x| (x - middle).abs()).collect();
    let (typical, usual) = (median(&deviations), mean(&deviations));
    let unit = if typical > 0.0 { typical / OF_MEDIAN_DEVIATION } else { usual / OF_MEAN_DEVIATION };
    if series.len() < 5 || unit <= 0.0 {
        return Vec::new();
    }
    let judged = samples.iter().zip(0u64..).map(|(rate, index)| Outlier {
        at_ns: Nanos::new(index.saturating_mul(super::SAMPLE.get())),
        bytes_per_second: BytesPerSec::new(*rate),
        score: (rate - middle) / unit,
    });
    let is_far = |x: f64| (x - middle).abs() >= LEAST * middle;
    judged.filter(|o| o.score.abs() > THRESHOLD && is_far(o.bytes_per_second.get())).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{autoregressive, rates};
    use super::*;
    use crate::random::Random;

    #[test]
    fn the_score_of_a_worked_example() {
        // The median is (99 + 100) / 2 = 99.5; the deviations are 0.5, 0.5, 1.5, 1.5, 2.5 and 39.5, their median 1.5.
        let found = outliers(&rates(&[100.0, 99.0, 101.0, 98.0, 102.0, 60.0]));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].at_ns, Nanos::from_millis(500));
        assert!((found[0].score + 39.5 * 0.6745 / 1.5).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn one_stall_in_an_otherwise_constant_rate_is_named() {
        let mut series = [500.0; 30];
        series[7] = 0.0;
        let found = outliers(&rates(&series));
        assert_eq!(found.iter().map(|o| o.at_ns).collect::<Vec<_>>(), [Nanos::from_millis(700)]);
        assert!(found[0].score < -3.5);
    }

    #[test]
    fn a_small_wobble_in_an_otherwise_constant_rate_is_none() {
        let mut series = [500.0; 30];
        series[7] = 490.0;
        assert_eq!(outliers(&rates(&series)), []);
        assert_eq!(outliers(&rates(&[500.0; 30])), []);
        assert_eq!(outliers(&rates(&[1.0, 2.0])), []);
    }

    #[test]
    fn plain_noise_has_hardly_any() {
        // |z| > 3.5 has a probability of 0.05 % for normal noise: 10 of 20 000.
        let noise = autoregressive(&mut Random::seeded(6), 20_000, 0.0, 1000.0, 0.1);
        assert!(outliers(&rates(&noise)).len() < 30);
    }
}
