//! Numbers with units as people write them: `3.5 GB/s`, `512 KiB`, `80 us`, `640k IOPS`, `10 Gbit/s`.

use super::document::Value;

/// The most that a quantity may be, in bytes, bytes per second, or nanoseconds: far above anything that exists.
const MOST_DIGITS: f64 = 1e18;

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::path::file) enum Unit {
    /// Bytes in a second.
    Rate,
    /// Bits in a second.
    BitRate,
    /// Bytes.
    Size,
    /// I/Os in a second.
    Iops,
    /// Nanoseconds.
    Time,
}

impl Unit {
    /// How it is written, for a hint.
    pub(super) const fn example(self) -> &'static str {
        match self {
            Self::Rate => "3.5 GB/s",
            Self::BitRate => "10 Gbit/s",
            Self::Size => "512 KiB",
            Self::Iops => "640k IOPS",
            Self::Time => "80 us",
        }
    }
}

/// A value of a file as a number of `unit`. A size may be short as on the command line: `4k` is 4 KiB there, as in the tools that
/// measure.
pub(super) fn quantity(unit: Unit, value: &Value) -> Result<f64, String> {
    let text = value.as_text().ok_or_else(|| format!("{} has no unit", value.is_a()))?;
    if unit == Unit::Size
        && let Some(size) = short_size(text)
    {
        return Ok(size);
    }
    match (unit, parse_quantity(text)?) {
        (unit, (number, given)) if unit == given => Ok(number),
        (Unit::Rate, (bits, Unit::BitRate)) => Ok(bits / 8.0),
        (Unit::BitRate, (bytes, Unit::Rate)) => Ok(bytes * 8.0),
        _ => Err(format!("`{text}` has the unit of something else")),
    }
}

const UNITS: &[(&str, f64, Unit)] = &[
    ("B/s", 1.0, Unit::Rate),
    ("kB/s", 1e3, Unit::Rate),
    ("MB/s", 1e6, Unit::Rate),
    ("GB/s", 1e9, Unit::Rate),
    ("TB/s", 1e12, Unit::Rate),
    ("KiB/s", 1024.0, Unit::Rate),
    ("MiB/s", 1_048_576.0, Unit::Rate),
    ("GiB/s", 1_073_741_824.0, Unit::Rate),
    ("TiB/s", 1_099_511_627_776.0, Unit::Rate),
    ("kbit/s", 1e3, Unit::BitRate),
    ("Mbit/s", 1e6, Unit::BitRate),
    ("Gbit/s", 1e9, Unit::BitRate),
    ("Mb/s", 1e6, Unit::BitRate),
    ("Gb/s", 1e9, Unit::BitRate),
    ("B", 1.0, Unit::Size),
    ("kB", 1e3, Unit::Size),
    ("MB", 1e6, Unit::Size),
    ("GB", 1e9, Unit::Size),
    ("TB", 1e12, Unit::Size),
    ("PB", 1e15, Unit::Size),
    ("KiB", 1024.0, Unit::Size),
    ("MiB", 1_048_576.0, Unit::Size),
    ("GiB", 1_073_741_824.0, Unit::Size),
    ("TiB", 1_099_511_627_776.0, Unit::Size),
    ("IOPS", 1.0, Unit::Iops),
    ("kIOPS", 1e3, Unit::Iops),
    ("k IOPS", 1e3, Unit::Iops),
    ("MIOPS", 1e6, Unit::Iops),
    ("M IOPS", 1e6, Unit::Iops),
    ("ns", 1.0, Unit::Time),
    ("us", 1e3, Unit::Time),
    ("µs", 1e3, Unit::Time),
    ("μs", 1e3, Unit::Time),
    ("ms", 1e6, Unit::Time),
    ("s", 1e9, Unit::Time),
];

/// Reads `3.5 GB/s`, `512 KiB`, `80 us`, `640k IOPS`, `10 Gbit/s`.
pub(super) fn parse_quantity(text: &str) -> Result<(f64, Unit), String> {
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
    if value > MOST_DIGITS {
        return Err(format!("`{text}` is more than anything carries or holds"));
    }
    let is_whole = matches!(kind, Unit::Size | Unit::Time);
    Ok((if is_whole { value.round() } else { value }, *kind))
}

/// Reads `4k`, `1M`, `2g`: a whole number and a binary multiple, as options of sizes are typed.
pub(super) fn short_size(text: &str) -> Option<f64> {
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
    number.checked_mul(1 << shift).map(|bytes| bytes as f64).filter(|bytes| *bytes <= MOST_DIGITS)
}
