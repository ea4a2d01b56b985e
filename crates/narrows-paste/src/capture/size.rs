//! Sizes as tools print them for people.

use narrows_base::units::Bytes;

/// Reads `1.8T`, `63,9M`, `512`, `0B`, `4 KiB`, `<931.51g`: units are powers of 1024, as `lsblk`, `df -h`, LVM and ZFS
/// use them. A comma is the decimal point of many languages. `None` for anything else.
pub(super) fn binary(text: &str) -> Option<Bytes> {
    let (number, unit) = split(text)?;
    let unit = unit.trim_end_matches(['b', 'B']).trim_end_matches('i');
    scaled(number, 1024.0, power(unit)?)
}

/// Reads `2.00 TB` and `1.82 TiB`: a unit with an `i` is a power of 1024, one without a power of 1000 (IEC 80000-13).
pub(super) fn exact(text: &str) -> Option<Bytes> {
    let (number, unit) = split(text)?;
    let unit = unit.trim_end_matches(['b', 'B']);
    match unit.strip_suffix('i') {
        Some(unit) => scaled(number, 1024.0, power(unit)?),
        None => scaled(number, 1000.0, power(unit)?),
    }
}

/// The number and what follows it.
fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim().trim_start_matches(['<', '>', '~']);
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ',')).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end)?;
    let plain: String = number.chars().map(|c| if c == ',' { '.' } else { c }).collect();
    Some((plain.parse().ok()?, unit.trim()))
}

fn power(unit: &str) -> Option<i32> {
    let mut letters = unit.chars();
    let letter = letters.next();
    if letters.next().is_some() {
        return None;
    }
    match letter.map(|letter| letter.to_ascii_uppercase()) {
        None => Some(0),
        Some('K') => Some(1),
        Some('M') => Some(2),
        Some('G') => Some(3),
        Some('T') => Some(4),
        Some('P') => Some(5),
        Some('E') => Some(6),
        Some(_) => None,
    }
}

fn scaled(number: f64, base: f64, power: i32) -> Option<Bytes> {
    let bytes = number * base.powi(power);
    (0.0..u64::MAX as f64).contains(&bytes).then(|| Bytes::new(bytes.round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_of_lsblk_and_lvm_are_powers_of_1024_in_any_language() {
        assert_eq!(binary("1.5K"), Some(Bytes::new(1536)));
        assert_eq!(binary("63,5M"), Some(Bytes::new(66_584_576)));
        assert_eq!(binary("0B"), Some(Bytes::new(0)));
        assert_eq!(binary("274877906944"), Some(Bytes::new(274_877_906_944)));
        assert_eq!(binary("<1.00t"), Some(Bytes::new(1 << 40)));
        assert_eq!(binary("4 KiB"), Some(Bytes::new(4096)));
        for text in ["", "disk", "1.2.3G", "-1G", "1X", "G", "9999999E", "1GG"] {
            assert_eq!(binary(text), None, "{text}");
        }
    }

    #[test]
    fn a_unit_says_itself_whether_it_is_decimal() {
        assert_eq!(exact("1.00 TB"), Some(Bytes::new(1_000_000_000_000)));
        assert_eq!(exact("1.00 TiB"), Some(Bytes::new(1 << 40)));
        assert_eq!(exact("512 B"), Some(Bytes::new(512)));
    }

    proptest! {
        #[test]
        fn no_size_panics(text in "\\PC{0,24}") {
            let _ = (binary(&text), exact(&text));
        }
    }
}
