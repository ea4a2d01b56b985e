//! Logarithmic scales.

use narrows_model::predict::roofline::Roofline;

/// The part of the way from `low` to `high` at which `value` stands, by logarithm; outside of 0 to 1 beyond the ends.
pub(super) fn place(value: f64, (low, high): (f64, f64)) -> f64 {
    let span = high.ln() - low.ln();
    if span > 0.0 && value > 0.0 { (value.ln() - low.ln()) / span } else { 0.0 }
}

/// The rates that a picture shows, from a power of ten to 2 or 5 times one: all of what the workload gets, and as much above it
/// as shows the next ceilings.
pub(super) fn rates(roofline: &Roofline) -> (f64, f64) {
    let got = roofline.rates.iter().map(|rate| rate.get()).filter(|rate| *rate > 0.0);
    let (low, high) = got.fold((f64::INFINITY, 0.0_f64), |(low, high), rate| (low.min(rate), high.max(rate)));
    let near = roofline.lines.iter().flat_map(|line| &line.rates).map(|rate| rate.get());
    let above = near.filter(|rate| *rate <= high * 6.0).fold(high, f64::max);
    (step_below(low), step_above(above * 1.15))
}

/// 1, 2 and 5 times powers of ten between two rates.
pub(super) fn steps((low, high): (f64, f64)) -> Vec<f64> {
    let mut steps = Vec::new();
    let mut power = 10_f64.powf(low.log10().floor());
    while power <= high * 1.000_001 {
        steps.extend([1.0, 2.0, 5.0].map(|digit| digit * power));
        power *= 10.0;
    }
    steps.retain(|step| (low * 0.999_999..=high * 1.000_001).contains(step));
    steps
}

/// Powers of ten between two rates, or all steps where there are few.
pub(super) fn labels(range: (f64, f64)) -> Vec<f64> {
    let all = steps(range);
    let tens: Vec<f64> =
        all.iter().copied().filter(|step| (step.log10() - step.log10().round()).abs() < 1e-9).collect();
    if tens.len() >= 3 { tens } else { all }
}

fn step_below(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    [5.0, 2.0].into_iter().map(|digit| digit * power).find(|step| *step <= value * 1.000_001).unwrap_or(power)
}

fn step_above(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|digit| digit * power)
        .find(|step| *step >= value * 0.999_999)
        .unwrap_or(power * 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decade_is_as_long_as_the_next_and_steps_are_1_2_and_5() {
        assert!((place(1e7, (1e6, 1e8)) - 0.5).abs() < 1e-12);
        assert_eq!(steps((2e6, 5e7)), [2e6, 5e6, 1e7, 2e7, 5e7]);
        assert_eq!((step_below(3.1e6), step_above(3.1e6)), (2e6, 5e6));
        assert_eq!((step_below(9e6), step_above(9e6)), (5e6, 1e7));
        assert_eq!((step_below(1e6), step_above(1e6)), (1e6, 1e6));
    }
}
