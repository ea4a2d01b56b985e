//! Numbers as tools print them: decimal commas, suffixes, units.

use narrows_base::units::{Bytes, BytesPerSec, Nanos};

use super::Derived;

/// Bytes of a MiB.
pub(super) const MIB: f64 = 1_048_576.0;
/// Bytes of a GiB.
pub(super) const GIB: f64 = 1_073_741_824.0;

pub(super) use crate::capture::number::{Base, count, factor, leading, whole};

/// The number at the beginning of a text.
pub(super) fn number(text: &str) -> Option<f64> {
    leading(text).map(|(number, _)| number)
}

/// A finite, non-negative number that is the whole word.
pub(super) fn plain(word: &str) -> Option<f64> {
    word.trim().parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

/// A number with a unit: `12.3k`, `1024MiB`.
pub(super) fn scaled(text: &str, base: Base) -> Option<f64> {
    let (number, unit) = leading(text)?;
    Some(number * factor(unit, base))
}

/// A size such as `1M`, `4096`, `4k`, `1GiB`, `2g`. A share (`100%`) of something else is none.
pub(super) fn size(text: &str, base: Base) -> Option<Bytes> {
    let (number, unit) = leading(text)?;
    let is_share = unit.trim_start().starts_with('%');
    to_bytes(number * factor(unit, base)).filter(|_| !is_share)
}

/// Bytes from a float that may be anything.
pub(super) fn to_bytes(number: f64) -> Option<Bytes> {
    (number.is_finite() && (0.0..1.8e19).contains(&number)).then(|| Bytes::new(number.round() as u64))
}

/// A rate such as `196MiB/s` or `57875KB/s`.
pub(super) fn rate(text: &str, base: Base) -> Option<BytesPerSec> {
    Some(BytesPerSec::new(scaled(text, base)?))
}

/// The text behind `key`, up to one of the ends. Keys are unique enough to search for: `min=`, `avg=`.
pub(super) fn after<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let at = text.find(key)? + key.len();
    text.get(at..).map(str::trim_start)
}

/// The number behind `key`: `stdev= 9.26`.
pub(super) fn value(text: &str, key: &str) -> Option<f64> {
    number(after(text, key)?)
}

/// A time such as `281 us`, `6.72ms` or `1.65 min` in nanoseconds, and what follows it; of a bare number, seconds.
pub(super) fn span(text: &str) -> Option<(f64, &str)> {
    let (number, rest) = leading(text)?;
    let unit = rest.trim_start();
    let end = unit.find(|c: char| !c.is_alphabetic()).unwrap_or(unit.len());
    let (word, behind) = unit.split_at_checked(end)?;
    let factor = match word {
        "ns" | "nsec" => 1.0,
        "us" | "µs" | "μs" | "usec" => 1e3,
        "ms" | "msec" => 1e6,
        "s" | "sec" | "secs" | "seconds" => 1e9,
        "m" | "min" => 60e9,
        "h" | "hour" => 3600e9,
        "d" => 86_400e9,
        _ => return Some((number * 1e9, rest)),
    };
    Some((number * factor, behind))
}

/// Seconds of a clock: `1:29:49`, `00:00:05.48`.
pub(super) fn clock(text: &str) -> Option<f64> {
    text.split(':').try_fold(0.0, |sum, part| Some(sum * 60.0 + plain(part)?))
}

/// Nanoseconds from a float of seconds; `None` of what is no time of a run.
pub(super) fn seconds(number: f64) -> Option<Nanos> {
    (number > 0.0 && number < 1e9).then(|| Nanos::new((number * 1e9) as u64))
}

/// Numbers as they are printed: a true value that rounds to what stands there. Two printed values agree when some true
/// value rounds to both.
///
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

    /// The number at the beginning of a text.
    pub(super) fn of(text: &str) -> Option<Self> {
        Self::leading(text).map(|(number, _)| number)
    }

    /// The same amount in another unit, of which `factor` make one of this.
    pub(super) fn times(self, factor: f64) -> Self {
        Self { value: self.value * factor, low: self.low * factor, high: self.high * factor }
    }

    /// The same and a number that is known exactly.
    pub(super) fn plus(self, other: f64) -> Self {
        Self { value: self.value + other, low: self.low + other, high: self.high + other }
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
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_comma_may_be_a_decimal_point_and_ends_a_number_at_the_end_of_it() {
        assert_eq!(leading("5,43328 s"), Some((5.43328, " s")));
        assert_eq!(leading(" 12.5, 3"), Some((12.5, ", 3")));
        assert_eq!(leading("8.6744e-05 s, 5.9 MB/s"), Some((8.6744e-5, " s, 5.9 MB/s")));
        assert_eq!(leading("1e+03x"), Some((1000.0, "x")));
        assert_eq!(leading("3 e"), Some((3.0, " e")));
        assert_eq!(leading("2e5"), Some((2.0, "e5")), "part of a word");
        assert_eq!(leading("x1"), None);
        assert_eq!(leading(".5"), None);
    }

    #[test]
    fn an_i_makes_a_unit_binary_whatever_the_tool_means_by_a_bare_one() {
        assert_eq!(scaled("4k", Base::Binary), Some(4096.0));
        assert_eq!(scaled("12.3k", Base::Decimal), Some(12_300.0));
        assert_eq!(scaled("1MiB/s", Base::Decimal), Some(1_048_576.0));
        assert_eq!(scaled("19.7MB/s", Base::Decimal), Some(19_700_000.0));
        assert_eq!(scaled("22B", Base::Binary), Some(22.0));
        assert_eq!((size("100%", Base::Binary), size("50 %", Base::Binary)), (None, None));
    }

    #[test]
    fn values_are_found_behind_their_keys() {
        let line = "min=10519, max=57976, avg= 4.34, stdev=2609.65";
        assert_eq!(value(line, "avg="), Some(4.34));
        assert_eq!(value(line, "stdev="), Some(2609.65));
        assert_eq!(value(line, "per="), None);
    }

    #[test]
    fn times_have_many_units() {
        assert_eq!(span("281 us, x"), Some((281e3, ", x")));
        assert_eq!(span("1.65 min"), Some((99e9, "")));
        assert_eq!(span("300.0106s"), Some((300.0106e9, "")));
        assert_eq!(span("2 / 3"), Some((2e9, " / 3")));
        assert_eq!(seconds(0.0), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,40}") {
            let _ = (leading(&text), whole(&text), scaled(&text, Base::Binary), size(&text, Base::Decimal));
        }
    }

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
