//! The arithmetic that the statistics share.

/// The arithmetic mean; 0 of nothing.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The sample variance (divided by one less than the count); 0 for fewer than two values.
pub(super) fn variance(values: &[f64]) -> f64 {
    squares(values) / values.len().saturating_sub(1).max(1) as f64
}

/// The sum of the squared distances from the mean.
pub(super) fn squares(values: &[f64]) -> f64 {
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
pub(super) fn slope(values: &[f64]) -> f64 {
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let mean = mean(values);
    let offsets = || (0..values.len()).map(|i| i as f64 - middle);
    let products: f64 = values.iter().zip(offsets()).map(|(y, x)| x * (y - mean)).sum();
    let spread: f64 = offsets().map(|x| x * x).sum();
    if spread > 0.0 { products / spread } else { 0.0 }
}

/// The means of `count` equally long windows that end with the values. A remainder is left out at the beginning.
pub(super) fn window_means(values: &[f64], count: usize) -> Vec<f64> {
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
        let q = (-2.0 * (1.0 - p).ln()).sqrt();
        return -polynomial(&C, q) / polynomial(&D, q);
    }
    let q = p - 0.5;
    let r = q * q;
    q * polynomial(&A, r) / polynomial(&B, r)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
}
