//! bench.sh and scripts with its table: 1 GiB of zeros written three times by dd with `conv=fdatasync`.
//!
//! The rates are dd's, of 1e6 and 1e9 bytes. The mean that the script prints takes 1 GB/s for 1024 MB/s and is not taken
//! over; nor are the rates of networks below.

use super::number::{Base, rate};
use super::{Durability, Imported, Op, Page, Side, Tool, Work};
use narrows_base::units::Bytes;
use narrows_base::workload::Pattern;

/// The tables in a text.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["I/O Speed(", "I/O speed("]) {
        return Vec::new();
    }
    let mut found: Vec<Imported> = Vec::new();
    let (mut version, mut begins) = (None, true);
    for (number, line) in page.lines() {
        let Some((name, text)) = line.split_once(':') else { continue };
        let (name, text) = (name.trim().to_ascii_lowercase(), text.trim());
        if name == "version" && text.starts_with("v20") {
            version = Some(text.to_owned());
        }
        let run = name.strip_prefix("i/o speed(").and_then(|rest| rest.strip_suffix("run)"));
        let Some(run) = run.map(str::trim) else { continue };
        begins |= run == "1st";
        let Some(rate) = rate(text, Base::Decimal).filter(|_| text.ends_with("B/s")) else { continue };
        if std::mem::replace(&mut begins, false) {
            let mut result = Imported::new(Tool::Benchsh, page.name, number);
            result.version = version.take();
            found.push(result);
        }
        let side = Side { bytes_per_second: rate, bytes: Some(Bytes::from_mib(1024)), ..Side::default() };
        if let Some(result) = found.last_mut() {
            result.push(number, work(format!("{run} run")), Op::Write, side);
        }
    }
    found
}

/// What dd is asked for in all versions: 1 GiB, flushed at the end.
pub(super) fn work(label: String) -> Work {
    Work {
        label,
        pattern: Some(Pattern::Sequential),
        queue_depth: Some(1),
        jobs: Some(1),
        direct: Some(false),
        durability: Some(Durability::AtEnd),
        working_set: Some(Bytes::from_mib(1024)),
        zeros: Some(true),
        ..Work::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runs_are_rates_of_dd_and_the_mean_is_none() {
        let body = " Version            : v2023-06-10\n I/O Speed(1st run) : 371 MB/s\n I/O Speed(2nd run) : 1.0 GB/s\n \
            I/O Speed(average) : 697.5 MB/s\n Speedtest.net    891.81 Mbps\nI/O speed(1st run)   : 9 MB/s\n";
        let found = read(&Page { name: "x", body });
        let rates = |result: &Imported| {
            let sides = result.measurements.iter().filter_map(|one| one.write.as_ref());
            sides.map(|side| side.bytes_per_second.get()).collect::<Vec<_>>()
        };
        assert_eq!(found.iter().map(rates).collect::<Vec<_>>(), [vec![371e6, 1e9], vec![9e6]]);
        assert_eq!(found[0].version.as_deref(), Some("v2023-06-10"));
    }
}
