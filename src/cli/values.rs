//! Values that options take: times, sizes, rates, parts, and choices of drives.

use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use narrows_base::units::{Bytes, BytesPerSec};
use narrows_load::preset;
use narrows_model::path::choice::Choice;
use narrows_verdict::results::against::Stated;

/// The longest time that can be asked for.
pub(super) const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

const KIB: f64 = 1024.0;

/// The number at the beginning of a text, and the unit behind it.
fn measured(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(unit_at)?;
    Some((number.parse().ok()?, unit.trim()))
}

/// What a unit stands for, of a list in which bars stand between the names of one.
fn factor(unit: &str, units: &[(&str, f64)]) -> Option<f64> {
    units.iter().find(|(names, _)| names.split('|').any(|name| name == unit)).map(|(_, factor)| *factor)
}

/// What was typed, or else what is usual.
pub(super) fn or<T: Clone>(typed: &[T], usual: &[T]) -> Vec<T> {
    if typed.is_empty() { usual.to_vec() } else { typed.to_vec() }
}

/// All with all: each of the one with each of the other, in their order.
pub(super) fn each_with_each<A: Clone, B: Clone>(one: &[A], other: &[B]) -> Vec<(A, B)> {
    one.iter().flat_map(|a| other.iter().map(move |b| (a.clone(), b.clone()))).collect()
}

/// Reads `4s`, `500ms`, `2m`, `1h`, or seconds alone.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let seconds = measured(text).and_then(|(number, unit)| {
        let factor = factor(unit, &[("ms", 1e-3), ("s|", 1.0), ("m|min", 60.0), ("h", 3600.0)])?;
        Duration::try_from_secs_f64(number * factor).ok()
    });
    match seconds {
        None => Err(format!("`{text}` is not a time such as 4s, 500ms or 2m")),
        Some(span) if span.is_zero() || span > LONGEST => {
            Err(format!("`{text}` is not between 1 ms and 24 h"))
        }
        Some(span) => Ok(span),
    }
}

/// Bytes from a number that may be anything: at least one, and no more than an exabyte.
fn bytes(number: f64) -> Option<Bytes> {
    (1.0..=1e18).contains(&number).then(|| Bytes::new(number as u64))
}

/// Reads `512MiB`, `4G`, `1048576`: units are binary, as block sizes and files are.
pub(super) fn size(text: &str) -> Result<Bytes, String> {
    let size = measured(text).and_then(|(number, unit)| {
        let power = match unit.to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "k" | "ki" | "kib" => 1,
            "m" | "mi" | "mib" => 2,
            "g" | "gi" | "gib" => 3,
            "t" | "ti" | "tib" => 4,
            _ => return None,
        };
        bytes(number * KIB.powi(power)).filter(|_| number.fract() == 0.0)
    });
    size.ok_or_else(|| format!("`{text}` is not a size such as 4KiB, 512MiB or 4GiB"))
}

/// Reads the size of a block of a copy.
pub(super) fn copied_block(text: &str) -> Result<Bytes, String> {
    let is_fine = |size: &Bytes| (4096..=64 << 20).contains(&size.get()) && size.get().is_multiple_of(4096);
    let size = size(text).ok().filter(is_fine);
    size.ok_or_else(|| format!("`{text}` is not a size between 4k and 64M, a multiple of 4k"))
}

/// Reads `96GB/s`, `400MiB/s`, `25Gbit/s`, or `500m`: units are decimal, as rates are.
pub(super) fn rate(text: &str) -> Result<BytesPerSec, String> {
    let rate = measured(text).and_then(|(number, unit)| {
        let factor = match unit.strip_suffix("/s").unwrap_or(unit) {
            "" | "B" => 1.0,
            "k" | "K" | "kB" => 1e3,
            "m" | "M" | "MB" => 1e6,
            "g" | "G" | "GB" => 1e9,
            "t" | "T" | "TB" => 1e12,
            "KiB" => KIB,
            "MiB" => KIB.powi(2),
            "GiB" => KIB.powi(3),
            "Mbit" => 125e3,
            "Gbit" => 125e6,
            _ => return None,
        };
        Some(number * factor).filter(|rate| (1.0..1e15).contains(rate))
    });
    rate.map(BytesPerSec::new)
        .ok_or_else(|| format!("`{text}` is not a rate such as 500MB/s, 2GB/s, 400MiB/s or 25Gbit/s"))
}

/// Reads `10ms`, `80us`, `1s`.
pub(super) fn latency(text: &str) -> Result<Duration, String> {
    let seconds = measured(text).and_then(|(number, unit)| {
        let factor = factor(unit, &[("ns", 1e-9), ("us|µs|μs", 1e-6), ("ms", 1e-3), ("s", 1.0)])?;
        Duration::try_from_secs_f64(number * factor).ok()
    });
    seconds.ok_or_else(|| format!("`{text}` is not a latency such as 10ms, 80us or 1s"))
}

/// Reads `100000`, `100k`, `1.2M`.
pub(super) fn count(text: &str) -> Result<f64, String> {
    let count = measured(text)
        .and_then(|(number, unit)| Some(number * factor(unit, &[("", 1.0), ("k|K", 1e3), ("m|M", 1e6)])?));
    count.ok_or_else(|| format!("`{text}` is not a number such as 5000, 100k or 1.2M"))
}

/// One of several words, each with its help and what it stands for.
pub(super) fn word<T: Copy + Send + Sync + 'static, const COUNT: usize>(
    all: [(&'static str, &'static str, T); COUNT],
) -> impl TypedValueParser<Value = T> {
    let shown = all.map(|(name, help, _)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(shown).try_map(move |typed| {
        all.iter().find(|(name, ..)| *name == typed).map(|(.., value)| *value).ok_or("it is none of these")
    })
}

/// Which drives of a machine are meant: those of which all of this holds.
pub(super) type Choices = Vec<Choice>;

/// What [`Choices`] without a condition is called.
pub(super) const EVERY: &str = "every";

/// Reads `every`, or choices such as `nvme,node0`.
pub(super) fn choices(text: &str) -> Result<Choices, String> {
    if text == EVERY {
        return Ok(Choices::default());
    }
    text.split(',').map(str::parse).collect()
}

/// The names of presets of tests.
pub(super) fn preset_names() -> PossibleValuesParser {
    preset::names().collect::<Vec<_>>().into()
}

/// Reads `2%` or `2` as a part of the whole.
pub(super) fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end().parse().ok();
    let number = number.filter(|number| (0.0..=100.0).contains(number)).map(|number: f64| number / 100.0);
    number.ok_or_else(|| format!("`{text}` is not a percentage between 0% and 100%"))
}

/// Reads how narrow an interval is to be.
pub(super) fn precision(text: &str) -> Result<f64, String> {
    let part = percent(text).ok().filter(|part| (0.001..=0.5).contains(part));
    part.ok_or_else(|| format!("`{text}` is not a percentage between 0.1 and 50, such as 2%"))
}

/// Reads how many of 100 I/Os read.
pub(super) fn reads(text: &str) -> Result<u8, String> {
    let reads = text.trim().parse().ok().filter(|reads| *reads <= 100);
    reads.ok_or_else(|| {
        format!("`{text}` is not one number from 0 to 100, the share of reads: 70 reads 70 % and writes 30 %")
    })
}

/// A host name or address: nothing that another program could take for an option.
pub(super) fn host(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".:-_%[]".contains(c);
    if !text.is_empty() && !text.starts_with('-') && text.len() <= 255 && text.chars().all(is_plain) {
        Ok(text.to_owned())
    } else {
        Err(format!("`{text}` is not a host name or address"))
    }
}

/// Reads `NAME=RATE`, such as `EDR=96GB/s`, `wire=25Gbit/s` or `slot=400MB/s`.
pub(super) fn stated(text: &str) -> Result<Stated, String> {
    let (name, typed) = text.split_once('=').ok_or("it is not NAME=RATE, such as EDR=96GB/s")?;
    let rate = rate(typed)?;
    if name.trim().is_empty() || !typed.ends_with("/s") {
        return Err(format!("`{text}` is not NAME=RATE, such as EDR=96GB/s"));
    }
    Ok(Stated { name: name.trim().to_owned(), rate })
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
        assert_eq!(copied_block("64k"), Ok(Bytes::from_kib(64)));
        for text in ["0", "2k", "65M", "4097", "1x", "64MB", "99999999999999999999k"] {
            assert!(copied_block(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates_are_decimal_unless_their_unit_is_not() {
        for (text, want) in
            [("500m", 5e8), ("2G", 2e9), ("96GB/s", 96e9), ("25Gbit/s", 3.125e9), ("1 MiB/s", 1_048_576.0)]
        {
            assert_eq!(rate(text).map(|rate| rate.get()), Ok(want), "{text}");
        }
        for text in ["", "x", "-5m", "0", "nan", "infg", "5q", "1e99t", "25Gb/s", "1 furlong/s"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn parts_are_percentages_counts_of_a_hundred_or_shares() {
        assert_eq!((percent("0"), percent("12.5 %"), percent("100%")), (Ok(0.0), Ok(0.125), Ok(1.0)));
        assert!(["-1", "101", "nan", "", "%"].iter().all(|text| percent(text).is_err()));
        assert_eq!(precision("2%"), Ok(0.02));
        assert!(["0", "0.05", "51"].iter().all(|text| precision(text).is_err()));
        assert_eq!((reads("0"), reads("70"), reads("100")), (Ok(0), Ok(70), Ok(100)));
        assert!(["70:30", "101", "-1", "0.7"].iter().all(|text| reads(text).is_err()));
    }

    #[test]
    fn choices_are_conditions_that_hold_together() {
        assert_eq!(choices("every"), Ok(Choices::default()));
        assert_eq!(choices("nvme,node1").map(|choices| choices.len()), Ok(2));
        for text in ["", "nvme,", "every,nvme", "disks"] {
            assert!(choices(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_ceiling_has_a_name_and_a_unit() {
        let of = |text: &str| stated(text).map(|one| (one.name, one.rate.get()));
        assert_eq!(of("EDR=96GB/s"), Ok(("EDR".to_owned(), 96e9)));
        assert_eq!(of("wire = 25 Gbit/s"), Ok(("wire".to_owned(), 3.125e9)));
        for text in ["96GB/s", "x=96", "x=GB/s", "=1GB/s", "x=0GB/s", "x=1MB"] {
            assert!(of(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn nothing_typed_panics(text in "\\PC{0,30}") {
            let _ = (duration(&text), size(&text), percent(&text), choices(&text), rate(&text), stated(&text));
        }
    }
}
