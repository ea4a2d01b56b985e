//! The difference of two means with unequal variances.

use super::Difference;
use crate::load::stats::{BatchMeans, student_t};

/// The difference of the mean of `b` from that of `a`, with its interval by Welch's method: the squared standard errors
/// add up, with the degrees of freedom of Satterthwaite ("An approximate distribution of estimates of variance components",
/// Biometrics Bulletin 2, 1946).
pub(super) fn difference(a: &BatchMeans, b: &BatchMeans, confidence: f64) -> Difference {
    let (x, y) = (a.squared_error(), b.squared_error());
    let parts = x * x / a.freedom() + y * y / b.freedom();
    let freedom = if parts > 0.0 { (x + y).powi(2) / parts } else { a.freedom() + b.freedom() };
    let half = student_t(confidence, freedom) * (x + y).sqrt();
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
    use crate::units::BytesPerSec;
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
