//! Numbers as they are printed: a true value that rounds to what stands there. Two printed values agree when some true
//! value rounds to both.

use super::Derived;
use super::number::leading;

/// The true values that a printed number may stand for. Tools round to the nearest, up or down, so that the truth is
/// less than one unit of the last digit away.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rounded {
    value: f64,
    low: f64,
    high: f64,
}

impl Rounded {
    /// A number that was counted, not rounded.
    pub(super) const fn exact(value: f64) -> Self {
        Self { value, low: value, high: value }
    }

    /// What is printed.
    pub(super) const fn value(self) -> f64 {
        self.value
    }

    /// The number at the beginning of a text, and what follows it.
    pub(super) fn leading(text: &str) -> Option<(Self, &str)> {
        let (value, rest) = leading(text)?;
        let printed = text.trim_start();
        let printed = printed.get(..printed.len() - rest.len())?;
        let unit = last_digit(printed);
        Some((Self { value, low: (value - unit).max(0.0), high: value + unit }, rest))
    }

    /// The same amount in another unit, of which `factor` make one of this.
    pub(super) fn times(self, factor: f64) -> Self {
        Self { value: self.value * factor, low: self.low * factor, high: self.high * factor }
    }

    /// This amount in each of `other`; without an upper end when that may be nothing.
    pub(super) fn over(self, other: Self) -> Self {
        Self { value: self.value / other.value, low: self.low / other.high, high: self.high / other.low }
    }

    /// Whether some true value rounds to both.
    pub(super) fn agrees(self, other: Self) -> bool {
        /// The tools' own arithmetic.
        const SLACK: f64 = 1e-3;
        self.low <= other.high * (1.0 + SLACK) && other.low <= self.high * (1.0 + SLACK)
    }

    fn half_width(self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

/// What one unit of the last printed digit is.
fn last_digit(printed: &str) -> f64 {
    let (digits, exponent) = printed.split_once(['e', 'E']).unwrap_or((printed, "0"));
    let decimals = digits.split_once(['.', ',']).map_or(0, |(_, decimals)| decimals.len());
    let power = exponent.parse::<i32>().unwrap_or(0) - i32::try_from(decimals).unwrap_or(0);
    10_f64.powi(power)
}

/// A rate that is printed beside the amount and the time that make it. `None` when they agree in one of the units that
/// the printed one may be, which are given as how many of the amount's unit it is.
pub(super) fn contradiction(
    name: &str,
    printed: Rounded,
    units: &[f64],
    amount: Rounded,
    time: Rounded,
) -> Option<Derived> {
    let made = amount.over(time);
    if units.iter().any(|unit| printed.times(*unit).agrees(made)) {
        return None;
    }
    let unit = units.first()?;
    let computed = made.times(1.0 / unit);
    let most = printed.value.max(computed.value);
    let rounding = (printed.half_width() + computed.half_width()) / most;
    let is_known = most > 0.0 && rounding.is_finite();
    is_known.then(|| Derived {
        name: name.to_owned(),
        printed: printed.value,
        computed: computed.value,
        rounding,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Rounded {
        Rounded::leading(text).expect("a number").0
    }

    #[test]
    fn values_agree_when_one_true_value_rounds_to_both() {
        // 22440 ÷ 1.99 is 11276; the time was between 1.98 and 2.00.
        assert_eq!(contradiction("x", of("11285.30"), &[1.0], of("22440"), of("1.99")), None);
        // 4.27 GB in 106 s, printed as 40.3 MB/s.
        let bytes = Rounded::exact(4_270_850_048.0);
        assert_eq!(contradiction("x", of("40,3"), &[1e6], bytes, of("106")), None);
        assert_eq!(contradiction("x", of("5.9"), &[1e6], Rounded::exact(512.0), of("8.6744e-05")), None);
    }

    #[test]
    fn a_contradiction_has_both_values_in_the_printed_unit() {
        let wrong =
            contradiction("x", of("9169.00"), &[1.0], of("510"), of("3.01")).expect("a contradiction");
        assert!((wrong.computed - 510.0 / 3.01).abs() < 1e-9 && !wrong.agrees(), "{wrong:?}");
    }

    #[test]
    fn one_of_the_units_is_enough() {
        // busybox means MiB/s, GNU dd MB/s.
        let bytes = Rounded::exact(1_073_741_824.0);
        for printed in ["198", "188"] {
            let all = [1e6, 1_048_576.0];
            assert_eq!(contradiction("x", of(printed), &all, bytes, of("5.43328")), None, "{printed}");
        }
    }

    #[test]
    fn the_last_digit_is_that_before_an_exponent() {
        assert!((last_digit("8.6744e-05") - 1e-9).abs() < 1e-15);
        assert!((last_digit("1,5") - 0.1).abs() < 1e-12);
        assert!((last_digit("120") - 1.0).abs() < 1e-12);
    }
}
