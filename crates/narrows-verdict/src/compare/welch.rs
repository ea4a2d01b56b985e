//! The difference of two means with unequal variances.

use super::Difference;
use narrows_load::stats::{BatchMeans, student_t};

/// A mean and what is known of its error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Mean {
    /// The mean.
    pub(super) value: f64,
    /// The square of its standard error.
    squared_error: f64,
    /// The degrees of freedom of that.
    freedom: f64,
}

impl From<&BatchMeans> for Mean {
    fn from(means: &BatchMeans) -> Self {
        Self { value: means.mean.get(), squared_error: means.squared_error(), freedom: means.freedom() }
    }
}

impl Mean {
    /// The mean of values that are independent of each other; `None` for fewer than two.
    pub(super) fn of(values: &[f64]) -> Option<Self> {
        let count = values.len() as f64;
        if values.len() < 2 || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let value = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|one| (one - value).powi(2)).sum();
        Some(Self { value, squared_error: squares / (count - 1.0) / count, freedom: count - 1.0 })
    }
}

/// Half the width of the interval of the difference of two means, by Welch's method: the squared standard errors add up,
/// with the degrees of freedom of Satterthwaite ("An approximate distribution of estimates of variance components",
/// Biometrics Bulletin 2, 1946).
pub(super) fn half_width(a: &Mean, b: &Mean, confidence: f64) -> f64 {
    let (x, y) = (a.squared_error, b.squared_error);
    let parts = x * x / a.freedom + y * y / b.freedom;
    let freedom = if parts > 0.0 { (x + y).powi(2) / parts } else { a.freedom + b.freedom };
    student_t(confidence, freedom) * (x + y).sqrt()
}

/// The difference of the mean rate of `b` from that of `a`, with its interval.
pub(super) fn difference(a: &BatchMeans, b: &BatchMeans, confidence: f64) -> Difference {
    let half = half_width(&a.into(), &b.into(), confidence);
    let apart = b.mean.get() - a.mean.get();
    let interval = [apart - half, apart + half];
    let relative = |rate: f64| rate / a.mean.get();
    Difference {
        bytes_per_second: apart,
        interval,
        relative: relative(apart),
        relative_interval: interval.map(relative),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_base::units::BytesPerSec;
    use proptest::prelude::*;

    fn means(mean: f64, variance: f64, batches: usize) -> BatchMeans {
        BatchMeans { mean: BytesPerSec::new(mean), variance, batches }
    }

    #[test]
    fn the_interval_of_a_worked_example() {
        // 10 means each, 100 and 110 with variances 4 and 36: squared errors 0.4 and 3.6, degrees of freedom
        // 16 / (0.16/9 + 12.96/9) = 10.98, t = 2.201, half width 2.201 × 2 = 4.403.
        let found = difference(&means(100.0, 4.0, 10), &means(110.0, 36.0, 10), 0.95);
        assert_eq!(found.bytes_per_second, 10.0);
        assert!((found.interval[0] - 5.597).abs() < 0.005 && (found.interval[1] - 14.403).abs() < 0.005);
        assert!((found.relative - 0.1).abs() < 1e-12 && (found.relative_interval[0] - 0.055_97).abs() < 5e-5);
    }

    #[test]
    fn constant_rates_differ_exactly() {
        let found = difference(&means(100.0, 0.0, 10), &means(90.0, 0.0, 10), 0.95);
        assert_eq!((found.interval, found.relative), ([-10.0, -10.0], -0.1));
    }

    #[test]
    fn the_error_of_a_mean_is_that_of_its_values() {
        // 1, 2, 3, 4: mean 2.5, sample variance 5/3, squared error 5/12.
        let mean = Mean::of(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert!((mean.value - 2.5).abs() < 1e-12 && (mean.squared_error - 5.0 / 12.0).abs() < 1e-12);
        assert_eq!(Mean::of(&[1.0]), None);
        assert_eq!(Mean::of(&[1.0, f64::NAN]), None);
    }

    proptest! {
        #[test]
        fn turning_the_sides_round_turns_the_sign(
            a in 1.0f64..1e9, b in 1.0f64..1e9, va in 0.0f64..1e12, vb in 0.0f64..1e12,
        ) {
            let (a, b) = (means(a, va, 10), means(b, vb, 10));
            let (there, back) = (difference(&a, &b, 0.95), difference(&b, &a, 0.95));
            prop_assert!((there.interval[0] + back.interval[1]).abs() <= 1e-6 * (1.0 + there.interval[0].abs()));
            prop_assert!(there.interval[0] <= there.bytes_per_second && there.bytes_per_second <= there.interval[1]);
        }
    }
}
