//! Values that options of several commands take.

use std::time::Duration;

use narrows_base::units::Bytes;
use narrows_model::path::choice::Choice;

/// The longest time that can be asked for.
pub(super) const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Reads `4s`, `500ms`, `2m`, `1h`, or seconds alone.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let refused = || format!("`{text}` is not a time such as 4s, 500ms or 2m");
    let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let factor = match unit.trim() {
        "ms" => 1e-3,
        "s" | "" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(refused()),
    };
    let seconds = number.parse::<f64>().map_err(|_| refused())? * factor;
    let span = Duration::try_from_secs_f64(seconds).map_err(|_| refused())?;
    if span.is_zero() || span > LONGEST {
        return Err(format!("`{text}` is not between 1 ms and 24 h"));
    }
    Ok(span)
}

/// Reads `512MiB`, `4G`, `1048576`: units are binary, as block sizes and files are.
pub(super) fn size(text: &str) -> Result<Bytes, String> {
    let refused = || format!("`{text}` is not a size such as 4KiB, 512MiB or 4GiB");
    let unit_at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kib" => 10,
        "m" | "mib" => 20,
        "g" | "gib" => 30,
        "t" | "tib" => 40,
        _ => return Err(refused()),
    };
    let number: u64 = number.parse().map_err(|_| refused())?;
    let bytes = number.checked_mul(1 << shift).filter(|bytes| *bytes > 0).ok_or_else(refused)?;
    Ok(Bytes::new(bytes))
}

/// Which drives of a machine are meant: those of which all of this holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Choices(pub(super) Vec<Choice>);

/// What [`Choices`] without a condition is called.
pub(super) const EVERY: &str = "every";

/// Reads `every`, or choices such as `nvme,node0`.
pub(super) fn choices(text: &str) -> Result<Choices, String> {
    if text == EVERY {
        return Ok(Choices::default());
    }
    text.split(',').map(str::parse).collect::<Result<_, _>>().map(Choices)
}

/// Reads `2%` or `2`.
pub(super) fn percent(text: &str) -> Result<f64, String> {
    let refused = || format!("`{text}` is not a percentage between 0.1 and 50, such as 2%");
    let number: f64 = text.trim().trim_end_matches('%').trim_end().parse().map_err(|_| refused())?;
    if (0.1..=50.0).contains(&number) { Ok(number / 100.0) } else { Err(refused()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_carry_their_unit() {
        for (text, want) in [("4s", 4000), ("500ms", 500), ("2m", 120_000), ("1.5", 1500), ("1h", 3_600_000)]
        {
            assert_eq!(duration(text), Ok(Duration::from_millis(want)), "{text}");
        }
        for text in ["", "s", "0", "-1s", "1e9s", "25h", "1 fortnight", "1.2.3s", "99999999999999999999h"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_binary() {
        for (text, want) in
            [("4096", 4096), ("4K", 4096), ("1MiB", 1 << 20), ("2 GiB", 2 << 30), ("1t", 1 << 40)]
        {
            assert_eq!(size(text), Ok(Bytes::new(want)), "{text}");
        }
        for text in ["", "0", "-1", "1.5G", "1MB", "99999999999999999999", "99999999999T"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn choices_are_conditions_that_hold_together() {
        assert_eq!(choices("every"), Ok(Choices::default()));
        assert_eq!(choices("nvme,node1").map(|choices| choices.0.len()), Ok(2));
        for text in ["", "nvme,", "every,nvme", "disks"] {
            assert!(choices(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn nothing_typed_panics(text in "\\PC{0,30}") {
            let _ = (duration(&text), size(&text), percent(&text), choices(&text));
        }
    }
}
