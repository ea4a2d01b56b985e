//! How sure a run's mean rate is, by its own samples: one rule for our runs and those of other tools.

use narrows_base::units::BytesPerSec;
use narrows_load::stats::{ci95, student_t};

/// A mean that its own samples put within this part of it, and no closer, is no measurement of a rate yet.
pub(crate) const WIDEST: f64 = 0.1;

/// Half the width of the 95 % confidence interval of a series, as a part of its mean: by the means of batches, which allow
/// for autocorrelation. `None` when it has too few samples, or nothing moved.
pub(crate) fn of_series(series: &[BytesPerSec]) -> Option<f64> {
    let [low, high] = ci95(series)?;
    let mean = (low.get() + high.get()) / 2.0;
    (mean > 0.0).then(|| (high.get() - low.get()) / 2.0 / mean)
}

/// The same where a tool tells the standard deviation of so many samples, as a part of their mean, and not how they follow
/// each other. They are taken to resemble their neighbours by a half, of which an independent sample is worth three.
pub(crate) fn of_samples(deviation: f64, samples: u64) -> Option<f64> {
    const FEWEST: u64 = 10;
    /// (1 + ρ) ÷ (1 − ρ) with ρ = ½.
    const WORTH: f64 = 3.0;
    let independent = samples as f64 / WORTH;
    (samples >= FEWEST)
        .then(|| student_t(0.95, (independent - 1.0).max(1.0)) * deviation / independent.sqrt())
}

/// The same of samples that do not hang on each other: Student's t for one less than there are, over √n.
pub(crate) fn of_independent(deviation: f64, samples: u64) -> Option<f64> {
    /// Below six degrees of freedom, where the expansion is not exact: any table of the distribution.
    const FEW: [f64; 5] = [12.706, 4.303, 3.182, 2.776, 2.571];
    let freedom = samples.checked_sub(1).filter(|freedom| *freedom > 0 && deviation.is_finite())?;
    let few = usize::try_from(freedom - 1).ok().and_then(|at| FEW.get(at)).copied();
    let quantile = few.unwrap_or_else(|| student_t(0.95, freedom as f64));
    Some(quantile * deviation / (samples as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_worked_example() {
        // Batch means 95 and 105 in turn: 3.770 of 100, as `stats::ci95` works it out.
        let series: Vec<BytesPerSec> =
            (0..20).map(|i| BytesPerSec::new(if i / 2 % 2 == 0 { 95.0 } else { 105.0 })).collect();
        assert!((of_series(&series).expect("enough") - 0.0377).abs() < 1e-4);
        assert_eq!(of_series(&series[..10]), None);
    }

    #[test]
    fn few_independent_samples_have_a_wide_interval() {
        // t = 12.706 with one degree of freedom, ÷ √2; 3.182 with three, ÷ 2.
        assert!((of_independent(0.01, 2).expect("two") - 0.089_85).abs() < 1e-4);
        assert!((of_independent(0.35, 4).expect("four") - 0.556_9).abs() < 1e-3);
        assert_eq!(of_independent(0.01, 1), None);
    }

    #[test]
    fn samples_are_worth_a_third() {
        // 30 samples are worth 10: t = 2.262 with 9 degrees of freedom, ÷ √10 = 0.7153 standard deviations.
        assert!((of_samples(0.1, 30).expect("enough") - 0.071_53).abs() < 1e-4);
        assert_eq!(of_samples(0.1, 9), None);
    }
}
