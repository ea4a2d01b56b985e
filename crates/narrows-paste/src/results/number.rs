//! Numbers as tools print them: decimal commas, suffixes, units.

use narrows_base::units::{Bytes, BytesPerSec, Nanos};

pub(super) use crate::capture::number::{Base, factor, leading};

/// The whole number at the beginning of a text, and what follows it.
pub(super) fn whole(text: &str) -> Option<(u64, &str)> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text.get(..end)?.parse().ok()?, text.get(end..)?))
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
    leading(after(text, key)?).map(|(number, _)| number)
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
        _ => return Some((number * 1e9, rest)),
    };
    Some((number * factor, behind))
}

/// Nanoseconds from a float of seconds; `None` of what is no time of a run.
pub(super) fn seconds(number: f64) -> Option<Nanos> {
    (number > 0.0 && number < 1e9).then(|| Nanos::new((number * 1e9) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
}
