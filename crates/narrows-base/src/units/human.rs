//! The only number formatter: three significant digits, decimal units, the unit always spelled out.

use super::{BitsPerSec, Bytes, BytesPerSec, Celsius, Nanos};

/// Three significant digits without trailing zeros after the point: `3.94`, `394`, `39.4`, `4`.
fn three_digits(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

fn scaled(value: f64, steps: &[(f64, &str)], base: &str) -> String {
    for (size, unit) in steps {
        // 999.5 of the smaller unit would print as 1000 of it; go to the larger one instead.
        if value >= size * 0.9995 {
            return format!("{} {unit}", three_digits(value / size));
        }
    }
    format!("{} {base}", three_digits(value))
}

/// A rate in decimal units: `3.94 GB/s`, `374 MB/s`.
pub fn rate(rate: BytesPerSec) -> String {
    scaled(rate.get(), &[(1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")], "B/s")
}

/// A rate in decimal units with the binary unit that hdparm, fio and dd print beside it: `392 MB/s (374 MiB/s)`.
pub fn rate_with_binary(value: BytesPerSec) -> String {
    let mib = value.get() / f64::from(1 << 20);
    format!("{} ({} MiB/s)", rate(value), three_digits(mib))
}

/// A size in decimal units, as drives are sold: `1 TB`, `500 GB`.
pub fn bytes(size: Bytes) -> String {
    scaled(size.as_f64(), &[(1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")], "B")
}

/// A block or chunk size, which is always binary: `4 KiB`, `1 MiB`, `512 B`.
pub fn block_size(size: Bytes) -> String {
    let count = size.as_f64();
    let (unit, name) = match size.get() {
        n if n >= 1 << 30 => (f64::from(1 << 30), "GiB"),
        n if n >= 1 << 20 => (f64::from(1 << 20), "MiB"),
        n if n >= 1 << 10 => (1024.0, "KiB"),
        _ => (1.0, "B"),
    };
    format!("{} {name}", three_digits(count / unit))
}

/// A line rate: `10 Gbit/s`.
pub fn bit_rate(rate: BitsPerSec) -> String {
    scaled(rate.get(), &[(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")], "bit/s")
}

/// A time span: `85.3 µs`, `12 ms`, `1.5 s`.
pub fn time(span: Nanos) -> String {
    scaled(span.get() as f64, &[(1e9, "s"), (1e6, "ms"), (1e3, "µs")], "ns")
}

/// A temperature in whole degrees, which is what drives measure: `38 °C`.
pub fn temperature(value: Celsius) -> String {
    format!("{:.0} °C", value.get())
}

/// A large count: `978 k`, `1.26 M`, `42`.
pub fn count(value: f64) -> String {
    scaled(value, &[(1e9, "G"), (1e6, "M"), (1e3, "k")], "").trim_end().to_owned()
}

/// A fraction as a percentage: `0.95` → `95 %`.
pub fn percent(fraction: f64) -> String {
    format!("{} %", three_digits(fraction * 100.0))
}

/// A count with a comma before each three digits.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// How many there are of what is called `one`: `1 job`, `16 jobs`.
pub fn counted<N: std::fmt::Display + PartialEq + From<u8>>(count: N, one: &str) -> String {
    if count == N::from(1) { format!("1 {one}") } else { format!("{count} {one}s") }
}

/// A small share in percent, with two digits that count.
pub fn small_percent(share: f64) -> String {
    let percent = share * 100.0;
    let places = if percent > 0.0 { (1.0 - percent.log10().floor()).clamp(0.0, 9.0) } else { 0.0 };
    format!("{percent:.*} %", places as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        assert_eq!([counted(0_u64, "job"), counted(1_u32, "job")], ["0 jobs", "1 job"]);
    }

    #[test]
    fn rates_are_decimal_and_carry_their_unit() {
        assert_eq!(rate(BytesPerSec::new(3_938_461_538.0)), "3.94 GB/s");
        assert_eq!(rate(BytesPerSec::new(391_745_536.0)), "392 MB/s");
        assert_eq!(rate(BytesPerSec::new(999_600_000.0)), "1 GB/s");
        assert_eq!(rate(BytesPerSec::new(0.0)), "0 B/s");
        assert_eq!(rate(BytesPerSec::new(12.5e12)), "12.5 TB/s");
    }

    #[test]
    fn the_binary_rate_beside_is_what_hdparm_prints() {
        // hdparm's 373.60 "MB/sec" is MiB/s.
        assert_eq!(rate_with_binary(BytesPerSec::new(373.60 * 1_048_576.0)), "392 MB/s (374 MiB/s)");
    }

    #[test]
    fn sizes_of_drives_are_decimal_and_of_blocks_binary() {
        assert_eq!(bytes(Bytes::new(1_000_204_886_016)), "1 TB");
        assert_eq!(block_size(Bytes::new(4096)), "4 KiB");
        assert_eq!(block_size(Bytes::new(512)), "512 B");
        assert_eq!(block_size(Bytes::from_mib(1)), "1 MiB");
    }

    #[test]
    fn times_counts_and_percentages_read_well() {
        assert_eq!(time(Nanos::new(85_300)), "85.3 µs");
        assert_eq!(time(Nanos::new(999)), "999 ns");
        assert_eq!(count(978_000.0), "978 k");
        assert_eq!(count(42.0), "42");
        assert_eq!(percent(0.951), "95.1 %");
        assert_eq!(percent(1.0), "100 %");
    }
}
