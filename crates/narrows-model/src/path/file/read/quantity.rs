//! Quantities as text: a number and its unit. A number alone is none.

use narrows_base::units::{BitsPerSec, Bytes, BytesPerSec, Iops, Nanos};

/// What a text says, of which the unit decides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::path::file) enum Quantity {
    /// Bytes in a second.
    Rate(BytesPerSec),
    /// Bits in a second.
    BitRate(BitsPerSec),
    /// Bytes.
    Size(Bytes),
    /// I/Os in a second.
    Iops(Iops),
    /// A time.
    Time(Nanos),
}

/// The most that a quantity may be, in bytes, bytes per second, or nanoseconds: far above anything that exists.
const MOST: f64 = 1e18;

const UNITS: &[(&str, f64, Kind)] = &[
    ("B/s", 1.0, Kind::Rate),
    ("kB/s", 1e3, Kind::Rate),
    ("MB/s", 1e6, Kind::Rate),
    ("GB/s", 1e9, Kind::Rate),
    ("TB/s", 1e12, Kind::Rate),
    ("KiB/s", 1024.0, Kind::Rate),
    ("MiB/s", 1_048_576.0, Kind::Rate),
    ("GiB/s", 1_073_741_824.0, Kind::Rate),
    ("TiB/s", 1_099_511_627_776.0, Kind::Rate),
    ("kbit/s", 1e3, Kind::BitRate),
    ("Mbit/s", 1e6, Kind::BitRate),
    ("Gbit/s", 1e9, Kind::BitRate),
    ("Mb/s", 1e6, Kind::BitRate),
    ("Gb/s", 1e9, Kind::BitRate),
    ("B", 1.0, Kind::Size),
    ("kB", 1e3, Kind::Size),
    ("MB", 1e6, Kind::Size),
    ("GB", 1e9, Kind::Size),
    ("TB", 1e12, Kind::Size),
    ("PB", 1e15, Kind::Size),
    ("KiB", 1024.0, Kind::Size),
    ("MiB", 1_048_576.0, Kind::Size),
    ("GiB", 1_073_741_824.0, Kind::Size),
    ("TiB", 1_099_511_627_776.0, Kind::Size),
    ("IOPS", 1.0, Kind::Iops),
    ("kIOPS", 1e3, Kind::Iops),
    ("k IOPS", 1e3, Kind::Iops),
    ("MIOPS", 1e6, Kind::Iops),
    ("M IOPS", 1e6, Kind::Iops),
    ("ns", 1.0, Kind::Time),
    ("us", 1e3, Kind::Time),
    ("µs", 1e3, Kind::Time),
    ("μs", 1e3, Kind::Time),
    ("ms", 1e6, Kind::Time),
    ("s", 1e9, Kind::Time),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Rate,
    BitRate,
    Size,
    Iops,
    Time,
}

/// Reads `3.5 GB/s`, `512 KiB`, `80 us`, `640k IOPS`, `10 Gbit/s`.
pub(in crate::path::file) fn parse(text: &str) -> Result<Quantity, String> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: f64 =
        number.replace('_', "").parse().map_err(|_| format!("`{text}` begins with no number"))?;
    let unit = unit.trim();
    if unit.is_empty() {
        return Err(format!("`{text}` has no unit"));
    }
    let known = UNITS.iter().find(|(name, ..)| *name == unit);
    let Some((_, factor, kind)) = known else { return Err(format!("`{unit}` is no unit")) };
    let value = number * factor;
    if value > MOST {
        return Err(format!("`{text}` is more than anything carries or holds"));
    }
    Ok(match kind {
        Kind::Rate => Quantity::Rate(BytesPerSec::new(value)),
        Kind::BitRate => Quantity::BitRate(BitsPerSec::new(value)),
        Kind::Size => Quantity::Size(Bytes::new(value.round() as u64)),
        Kind::Iops => Quantity::Iops(Iops::new(value)),
        Kind::Time => Quantity::Time(Nanos::new(value.round() as u64)),
    })
}

/// Reads `4k`, `1M`, `2g`: a whole number and a binary multiple, as options of sizes are typed.
pub(in crate::path::file) fn short_size(text: &str) -> Option<Bytes> {
    let text = text.trim();
    let number = text.get(..text.len().checked_sub(1)?)?;
    let shift = match text.chars().next_back()?.to_ascii_lowercase() {
        'k' => 10,
        'm' => 20,
        'g' => 30,
        't' => 40,
        _ => return None,
    };
    let number: u64 = number.trim_end().parse().ok()?;
    let bytes = number.checked_mul(1 << shift).filter(|bytes| *bytes as f64 <= MOST)?;
    Some(Bytes::new(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_number_with_its_unit_is_a_quantity() {
        assert_eq!(parse("3.5 GB/s"), Ok(Quantity::Rate(BytesPerSec::from_gb(3.5))));
        assert_eq!(parse("373.60 MiB/s"), Ok(Quantity::Rate(BytesPerSec::new(373.60 * 1_048_576.0))));
        assert_eq!(parse("512KiB"), Ok(Quantity::Size(Bytes::new(524_288))));
        assert_eq!(parse("80 us"), Ok(Quantity::Time(Nanos::new(80_000))));
        assert_eq!(parse("80.9 µs"), Ok(Quantity::Time(Nanos::new(80_900))));
        assert_eq!(parse("640k IOPS"), Ok(Quantity::Iops(Iops::new(640_000.0))));
        assert_eq!(parse("10 Gbit/s"), Ok(Quantity::BitRate(BitsPerSec::new(10e9))));
    }

    #[test]
    fn a_bare_number_a_wrong_unit_and_a_sign_are_refused() {
        assert_eq!(parse("3500"), Err("`3500` has no unit".to_owned()));
        assert_eq!(parse("3500 mb"), Err("`mb` is no unit".to_owned()));
        assert_eq!(parse("-1 GB/s"), Err("`-1 GB/s` begins with no number".to_owned()));
        for text in ["", "GB/s", "1e9 B/s", "1..2 GB", "NaN GB/s", "inf GB", "99999999999 PB"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_may_be_typed_as_on_the_command_line() {
        for (text, want) in [("4k", 4096), ("1M", 1 << 20), ("2 g", 2 << 30), ("1t", 1 << 40)] {
            assert_eq!(short_size(text), Some(Bytes::new(want)), "{text}");
        }
        for text in ["", "k", "-1k", "1.5G", "4kB", "4", "99999999999999T", "µ"] {
            assert_eq!(short_size(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,30}") {
            let _ = (parse(&text), short_size(&text));
        }
    }
}
