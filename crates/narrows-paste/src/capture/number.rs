//! Numbers and sizes as tools print them: decimal commas, exponents, prefixes of units.

use narrows_base::units::{BitsPerSec, Bytes};

/// The number at the beginning of a text, and what follows it. A comma between digits is a decimal point, as many
/// languages write it. An exponent is part of the number when it has a sign, as C prints it.
pub(crate) fn leading(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ',')).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    let bare = digits.trim_end_matches([',', '.']);
    if bare.is_empty() || !bare.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let exponent = if bare == digits { exponent(rest) } else { "" };
    let length = bare.len() + exponent.len();
    let number = text.get(..length)?.replace(',', ".").parse().ok()?;
    Some((number, text.get(length..)?))
}

/// The whole number at the beginning of a text, and what follows it.
pub(crate) fn whole(text: &str) -> Option<(u64, &str)> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text.get(..end)?.parse().ok()?, text.get(end..)?))
}

/// The whole number at the beginning of a text, where it is no larger than such a number can be.
pub(crate) fn count<T: TryFrom<u64>>(text: &str) -> Option<T> {
    whole(text)?.0.try_into().ok()
}

/// The exponent at the beginning of a text, with its letter and sign; empty if there is none.
fn exponent(text: &str) -> &str {
    let digits = text.strip_prefix(['e', 'E']).and_then(|rest| rest.strip_prefix(['+', '-']));
    let count = digits.map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
    text.get(..if count > 0 { 2 + count } else { 0 }).unwrap_or_default()
}

/// The rate of a link at the beginning of a text: `6.0Gb/s`, `480Mbps`, `1Gbit/s`, `10 gbps`.
pub(super) fn bit_rate(text: &str) -> Option<BitsPerSec> {
    let (number, unit) = leading(text)?;
    let megabits = match unit.trim_start().get(..2)? {
        "Gb" | "gb" => number * 1000.0,
        "Mb" | "mb" => number,
        _ => return None,
    };
    // What is not known is a number without end.
    (megabits > 0.0 && megabits < 1e8).then(|| BitsPerSec::from_mbit(megabits))
}

/// The share that a text in percent says.
pub(super) fn percent(text: &str) -> Option<f64> {
    text.trim()
        .parse()
        .ok()
        .filter(|percent| (0.0..=100.0).contains(percent))
        .map(|percent: f64| percent / 100.0)
}

/// Which powers a bare `K` or `M` stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Base {
    /// 1000, 1000², …
    Decimal,
    /// 1024, 1024², …
    Binary,
}

/// The factor of a unit such as `k`, `MB`, `MiB/s` or `GByte`: its prefix, where an `i` behind it makes it binary in
/// any case. A unit without prefix is 1.
pub(crate) fn factor(unit: &str, base: Base) -> f64 {
    let mut letters = unit.trim_start().chars();
    let power = match letters.next() {
        Some('k' | 'K' | 'К' | 'к') => 1,
        Some('m' | 'M' | 'М' | 'м') => 2,
        Some('g' | 'G' | 'Г' | 'г') => 3,
        Some('t' | 'T' | 'Т' | 'т') => 4,
        Some('p' | 'P') => 5,
        _ => 0,
    };
    let is_binary = power > 0 && matches!(letters.next(), Some('i' | 'I'));
    let step: f64 = if is_binary || base == Base::Binary { 1024.0 } else { 1000.0 };
    step.powi(power)
}

/// Reads `1.8T`, `63,9M`, `512`, `0B`, `4 KiB`, `<931.51g`: units are powers of 1024, as `lsblk`, `df -h`, LVM and ZFS
/// use them. A comma is the decimal point of many languages. `None` for anything else.
pub(super) fn binary_size(text: &str) -> Option<Bytes> {
    sized(text, 1024.0)
}

/// Reads `2.00 TB` and `1.82 TiB`: a unit with an `i` is a power of 1024, one without a power of 1000 (IEC 80000-13).
pub(super) fn exact_size(text: &str) -> Option<Bytes> {
    sized(text, 1000.0)
}

/// A number and its unit, of which one without an `i` is a power of `base`.
fn sized(text: &str, base: f64) -> Option<Bytes> {
    const PREFIXES: &str = "KMGTPE";
    let text = text.trim().trim_start_matches(['<', '>', '~']);
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ',')).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end)?;
    let unit = unit.trim().trim_end_matches(['b', 'B']);
    let (unit, base) = unit.strip_suffix('i').map_or((unit, base), |unit| (unit, 1024.0));
    let mut letters = unit.chars();
    let power = match (letters.next(), letters.next()) {
        (None, _) => 0,
        (Some(letter), None) => 1 + PREFIXES.find(letter.to_ascii_uppercase())?,
        _ => return None,
    };
    let bytes = number.replace(',', ".").parse::<f64>().ok()? * base.powi(i32::try_from(power).ok()?);
    (0.0..u64::MAX as f64).contains(&bytes).then(|| Bytes::new(bytes.round() as u64))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sizes_of_lsblk_and_lvm_are_powers_of_1024_in_any_language() {
        assert_eq!(binary_size("1.5K"), Some(Bytes::new(1536)));
        assert_eq!(binary_size("63,5M"), Some(Bytes::new(66_584_576)));
        assert_eq!(binary_size("0B"), Some(Bytes::new(0)));
        assert_eq!(binary_size("274877906944"), Some(Bytes::new(274_877_906_944)));
        assert_eq!(binary_size("<1.00t"), Some(Bytes::new(1 << 40)));
        assert_eq!(binary_size("4 KiB"), Some(Bytes::new(4096)));
        for text in ["", "disk", "1.2.3G", "-1G", "1X", "G", "9999999E", "1GG"] {
            assert_eq!(binary_size(text), None, "{text}");
        }
    }

    #[test]
    fn a_unit_says_itself_whether_it_is_decimal() {
        assert_eq!(exact_size("1.00 TB"), Some(Bytes::new(1_000_000_000_000)));
        assert_eq!(exact_size("1.00 TiB"), Some(Bytes::new(1 << 40)));
        assert_eq!(exact_size("512 B"), Some(Bytes::new(512)));
    }

    proptest! {
        #[test]
        fn no_size_panics(text in "\\PC{0,24}") {
            let _ = (binary_size(&text), exact_size(&text));
        }
    }
}
